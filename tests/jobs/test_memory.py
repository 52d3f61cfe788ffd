"""Frames larger than memory: what a run holds does not grow with its input."""

import subprocess
import sys
from pathlib import Path

import polars as pl

from tests.jobs.support import make_job

# The peak of the process, in MB, after so much work; imports included.
PEAK = r"""
import re, sys
from polars_evals.jobs import run
if len(sys.argv) > 1:
    assert run(sys.argv[1]).exit_code() == 0
print(int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


def peak(*arguments: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def test_what_a_run_holds_hardly_grows(tmp_path: Path) -> None:
    """The texts repeat, so that making and writing them is quick."""
    text, peaks, raw = "x" * 1_000, list[float](), list[float]()
    for rows in (100_000, 500_000):
        folder = tmp_path / str(rows)
        job = make_job(folder, suite='metric = [{ type = "exact_match" }]')
        pl.LazyFrame({"trace_id": pl.int_range(rows, eager=True).cast(pl.String)}).with_columns(
            output=pl.lit(text) + pl.col("trace_id"), expected=pl.lit(text) + pl.col("trace_id")
        ).sink_parquet(folder / "traces/a.parquet", row_group_size=20_000)
        peaks.append(peak(str(job)))
        raw.append(2 * rows * len(text) / 1e6)
        scored = pl.scan_parquet(folder / "scores/part-*.parquet")
        assert scored.select(pl.len(), pl.col("exact_match_score").mean()).collect().row(0) == (rows, 1.0)
    assert peaks[1] < raw[1]
    assert peaks[1] - peaks[0] < 0.5 * (raw[1] - raw[0])
