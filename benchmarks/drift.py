"""Compare two versions of five million items each, with four metrics, from Parquet files with texts.

The comparison runs in a process of its own, so that the peak of memory is its own.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.harness import OURS, Row

ITEMS = 5_000_000
METRICS = ["levenshtein", "rougeL", "jaccard", "token_f1"]

MEASURED = """
import json, resource, sys, time
import polars as pl
import polars_evals as pe

started, began = time.perf_counter(), time.process_time()
scored = pl.scan_parquet(sys.argv[1] + "/*.parquet")
comparison = pe.compare(scored, version="model", baseline="v1", candidate="v2", item="item_id")
seconds = time.perf_counter() - started
processor = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
n = comparison.summary["n"].to_list()
print(json.dumps({"seconds": seconds, "processor": processor, "gigabytes": peak, "n": n}))
"""


def write_version(folder: Path, version: str, items: int, shift: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(0).beta(5, 2, (len(METRICS), items))
    order = rng.permutation(items)
    frame = pl.DataFrame({"item_id": order}).select(
        pl.format("item-{}", "item_id").alias("item_id"),
        pl.lit(version).alias("model"),
        pl.format("What is the answer to question {}?", "item_id").alias("input"),
        pl.format(version + " answers question {} in a sentence or two.", "item_id").alias("output"),
    )
    for name, scores in zip(METRICS, base, strict=True):
        score = np.clip(scores[order] + rng.normal(shift, 0.1, items), 0, 1)
        # Levenshtein is rounded as its default is; the others are as continuous as scores get.
        score = np.round(score, 2) if name == "levenshtein" else score
        label = pl.Series(np.where(score >= 0.7, "pass", "fail")).cast(pl.Enum(["fail", "pass"]))
        frame = frame.with_columns(pl.Series(f"{name}_score", score), label.alias(f"{name}_label"))
    frame.write_parquet(folder / f"{version}.parquet")


def rows() -> Iterator[Row]:
    """Run everything of this part."""
    with tempfile.TemporaryDirectory() as folder:
        for seed, (version, shift) in enumerate((("v1", 0.0), ("v2", -0.002)), start=1):
            write_version(Path(folder), version, ITEMS, shift, seed)
        done = subprocess.run([sys.executable, "-c", MEASURED, folder], check=True, stdout=subprocess.PIPE)
    result = json.loads(done.stdout)
    assert result["n"] == [ITEMS] * len(METRICS)
    case = f"2 versions of {ITEMS:,} items, {len(METRICS)} metrics"
    contender = f"{OURS}, peak {result['gigabytes']:.2f} GB"
    print(f"{'compare':12} {case:44} {contender}", file=sys.stderr, flush=True)
    yield Row("compare", case, contender, 2 * ITEMS, result["seconds"], result["processor"])
