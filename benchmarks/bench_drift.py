"""
Compare two versions of five million items each, with four metrics: under 15 seconds and 4 GB on 2 cores.

Run as ``python -m benchmarks.bench_drift [items]``. The rows are written to temporary Parquet files, with
texts, and compared in a process of their own, so that the peak of memory is that of the comparison alone. The
exit code is 1 where a full-size run is over its budget.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

ITEMS = 5_000_000
SECONDS, GIGABYTES = 15.0, 4.0
METRICS = ["levenshtein", "rougeL", "jaccard", "token_f1"]

MEASURED = """
import json, resource, sys, time
import polars as pl
import polars_evals as pe

started = time.perf_counter()
scored = pl.scan_parquet(sys.argv[1] + "/*.parquet")
comparison = pe.compare(scored, version="model", baseline="v1", candidate="v2", item="item_id")
seconds = time.perf_counter() - started
used = resource.getrusage(resource.RUSAGE_SELF)
result = {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "gigabytes": used.ru_maxrss / 1e6}
print(json.dumps(result | {"n": comparison.summary["n"].to_list()}))
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


def main() -> int:
    items = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else ITEMS
    with tempfile.TemporaryDirectory() as folder:
        for seed, (version, shift) in enumerate((("v1", 0.0), ("v2", -0.002)), start=1):
            write_version(Path(folder), version, items, shift, seed)
        run = subprocess.run(
            [sys.executable, "-c", MEASURED, folder],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ,
        )
    result = json.loads(run.stdout)
    print(f"compare: 2 versions x {items:,} items x {len(METRICS)} metrics, {pl.thread_pool_size()} threads")
    print(f"  {result['seconds']:.1f} s of {SECONDS:g} s ({result['cpu']:.1f} s of processor time)")
    print(f"  {result['gigabytes']:.2f} GB of {GIGABYTES:g} GB at its peak")
    assert result["n"] == [items] * len(METRICS)
    over = result["seconds"] > SECONDS or result["gigabytes"] > GIGABYTES
    return int(over and items >= ITEMS)


if __name__ == "__main__":
    sys.exit(main())
