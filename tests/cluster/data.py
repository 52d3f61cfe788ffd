"""What the engines are tested with, and a worker that dies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import polars_evals as pe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

PARTS = 8
ROOT = str(Path(__file__).parents[2])
DATA = Path(ROOT) / "data" / "traces.parquet"

SUITE = pe.Suite(
    [
        pe.Metric("levenshtein"),
        pe.Metric("levenshtein", name="exactly", decimals=None),
        pe.Metric("rouge", variant="rougeL", details=True),
        pe.Metric("exact_match", missing="null"),
    ]
)


def answers() -> pl.DataFrame:
    """Answers with items, versions and a few gaps: nulls, empty texts, other scripts."""
    rng = np.random.default_rng(0)
    words = ["Paris", "ist", "die", "Hauptstadt", "Москва", "東京", "naïve", "answer", "", "the"]
    count = 2_000
    frame = pl.DataFrame(
        {
            "item_id": [f"item-{n // 2}" for n in range(count)],
            "model": ["v1", "v2"] * (count // 2),
            "output": [" ".join(rng.choice(words, 6)) for _ in range(count)],
            "expected": [" ".join(rng.choice(words, 6)) for _ in range(count)],
        }
    )
    return frame.with_row_index("row").with_columns(
        pl.col("row").cast(pl.Int64),
        user=pl.format("user-{}", pl.col("row") // 10),
        part=pl.col("row").cast(pl.Int64) % PARTS,
        expected=pl.when(pl.col("row") % 50 != 0).then("expected"),
        output=pl.when(pl.col("row") % 31 != 0).then("output"),
    )


def wanted(*, signatures: bool = False) -> pl.DataFrame:
    """The scores on one machine, with labels as text."""
    scored = SUITE.score(answers(), signatures=signatures)
    return scored.with_columns(pl.col(pl.Enum(["fail", "pass"])).cast(pl.String))


def assert_example_scored(folder: Path) -> None:
    """Check the scores of `DATA`, and that columns of all its types came through."""
    found = pl.read_parquet(folder / "*.parquet").sort("trace_id")
    expected = SUITE.score(pl.read_parquet(DATA), signatures=True).sort("trace_id")
    times = pl.col("ts").dt.replace_time_zone(None).cast(pl.Datetime("us"))
    assert_frame_equal(
        found.with_columns(times),
        expected.with_columns(times, pl.col(pl.Enum(["fail", "pass"])).cast(pl.String)),
        check_exact=True,
    )


def dies_once(table: pa.Table, marker: str, *, parent: bool = False) -> pa.Table:
    """Pass a table on; but the first to come with part 5 kills its worker."""
    path = Path(marker)
    if 5 in table["part"].to_pylist() and not path.exists():
        time.sleep(0.5)
        path.write_text(str(os.getpid()))
        os.kill(_grandparent() if parent else os.getpid(), signal.SIGKILL)
        time.sleep(60)
    return table


def executor_dies_once(batches: Iterable[pa.RecordBatch], marker: str) -> Iterator[pa.RecordBatch]:
    """Do the same to the executor, the process that has started the Python worker's parent."""
    for batch in batches:
        yield dies_once(batch, marker, parent=True)


def _grandparent() -> int:
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))
