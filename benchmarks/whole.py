"""The whole way: answers of ten models scored and compared, and their page, by call and by command."""

import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import ttest_rel

import polars_evals as pe
from benchmarks.harness import OURS, Row, race
from benchmarks.report import PACKING, PIVOT
from benchmarks.texts import answers

ITEMS, SLICES = 1_000_000, 8
SUITE = pe.Suite([pe.Metric(name) for name in ("levenshtein", "rouge", "jaccard", "token_f1")])
COMMAND = "from polars_evals_command import main; main()"


def paired_tests(scored: pl.DataFrame) -> None:
    """Test each version against the first, for every metric, as one would by hand."""
    for metric in [name for name in scored.columns if name.endswith("_score")]:
        wide = scored.pivot("model", index="item_id", values=metric)
        baseline, *candidates = (wide[name].to_numpy() for name in wide.columns[1:])
        for candidate in candidates:
            ttest_rel(candidate, baseline)


def pack(texts: pl.DataFrame) -> None:
    """Compress the texts of all models, in blocks of 64 items, those that models share once."""
    ordered = texts.sort("item_id").select("input", "output", "expected")
    for block in ordered.iter_slices(64 * texts["model"].n_unique()):
        shared = [block[name].unique(maintain_order=True).to_list() for name in ("input", "expected")]
        zlib.compress(json.dumps([*shared, block["output"].to_list()], ensure_ascii=False).encode(), 4)


def scored(texts: pl.DataFrame, case: str) -> Iterator[Row]:
    """Run everything about ten models; also run on the texts of a file."""
    case = f"{case}, {texts['item_id'].n_unique():,} items"
    results = SUITE.score(texts)
    baseline = texts["model"][0]

    def compare() -> pe.Comparison:
        return pe.compare(results, version="model", baseline=baseline, item="item_id")

    def race_all(part: str, contenders: Mapping[str, Callable[[], object]]) -> list[Row]:
        return race(part, case, len(texts), contenders, rounds=5)

    yield from race_all("four metrics scored", {OURS: lambda: SUITE.score(texts)})
    yield from race_all("compare ten models", {OURS: compare, PIVOT: lambda: paired_tests(results)})
    # A page is written once of each comparison.
    fresh = iter([compare() for _ in range(5)])
    page = {OURS: lambda: next(fresh).to_html(items="all"), PACKING: lambda: pack(texts)}
    yield from race_all("page of ten models", page)
    with tempfile.TemporaryDirectory() as folder:
        results.write_parquet(Path(folder) / "scored.parquet")

        def command(*options: str) -> None:
            given = ["scored.parquet", "--version", "model", "--baseline", baseline, "--item", "item_id"]
            line = [sys.executable, "-c", COMMAND, "compare", *given, "--exit-zero", *options]
            subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        plain, with_page, packed = race_all(
            "command on ten models",
            {
                f"{OURS} compare": command,
                f"{OURS} compare --html": lambda: command("--html", "page.html"),
                PACKING: lambda: pack(texts),
            },
        )
    processor = (with_page.processor or 0) - (plain.processor or 0)
    seconds = with_page.seconds - plain.seconds
    yield from (plain, with_page, packed)
    yield Row(plain.part, case, f"{OURS}, --html less without", len(texts), seconds, processor)


def slices() -> list[Row]:
    """Compare two versions of a million items by slice."""
    rng = np.random.default_rng(1)
    base = rng.beta(5, 2, (2, ITEMS))
    versions = []
    for version in ("v1", "v2"):
        scores = np.clip(base + rng.normal(0, 0.1, base.shape), 0, 1)
        versions.append(
            pl.DataFrame({"first_score": scores[0], "second_score": scores[1]}).with_columns(
                pl.int_range(ITEMS).alias("item_id"),
                pl.lit(version).alias("model"),
                (pl.int_range(ITEMS) % SLICES).cast(pl.String).alias("topic"),
            )
        )
    frame = pl.concat(versions)

    def by_hand() -> None:
        paired_tests(frame)
        for part in frame.partition_by("topic"):
            paired_tests(part)

    def compare() -> pe.Comparison:
        return pe.compare(frame, version="model", baseline="v1", item="item_id", by="topic")

    contenders = {OURS: compare, PIVOT: by_hand}
    return race(
        "compare by slices", f"{ITEMS:,} items, 2 metrics, {SLICES} slices", 2 * ITEMS, contenders, rounds=5
    )


def rows() -> Iterator[Row]:
    """Run everything of this part."""
    yield from scored(answers(), "made text")
    yield from slices()
