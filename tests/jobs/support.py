"""Jobs to try things on, and the command in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
from typer.testing import CliRunner

from polars_evals.cli.app import app
from polars_evals.jobs import scan_store
from polars_evals.jobs.store import Snapshot, find_store

DATA = Path(__file__).parents[2] / "data/traces.parquet"
COMPARED = ["--version", "model", "--baseline", "assistant-1.0", "--item", "item_id", "--by", "topic"]
SUITE = 'metric = [{ type = "exact_match" }, { type = "levenshtein" }]'


def traces(rows: range, model: str = "v1", **columns: Any) -> pl.DataFrame:
    """Make traces; the same row of two models has the same item and another key."""
    return pl.DataFrame(
        {
            "trace_id": [f"{model}-{n}" for n in rows],
            "item_id": [f"item-{n}" for n in rows],
            "model": [model] * len(rows),
            "topic": ["even" if n % 2 == 0 else "odd" for n in rows],
            "output": [f"the answer is {n * 7919 % 1000}" for n in rows],
            "expected": [f"the answer is {n * 7919 % 1000 if n % 3 else 'none'}" for n in rows],
            **columns,
        }
    )


def make_job(folder: Path, more: str = "", suite: str = SUITE, key: str = "") -> Path:
    """Write a job file over the folder `traces`."""
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    job = folder / "job.toml"
    job.write_text(
        f"""
[input]
path = "traces/**/*.*"
[suite]
{suite}
[store]
path = "scores"
{key}
{more}
"""
    )
    return job


def deliver(frame: pl.DataFrame, path: Path, time: int) -> None:
    """Write a file with a modification time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)
    os.utime(path, (time, time))


def table(folder: Path) -> pl.DataFrame:
    """Read the whole store, in an order of its own."""
    scored = scan_store(folder / "scores").collect()
    return scored.select(sorted(scored.columns)).sort("trace_id", "source_file", "source_row")


def read_store(path: Path) -> Snapshot:
    """Read the last commit of a store that is there."""
    snapshot = find_store(path)
    assert snapshot is not None
    return snapshot


def invoke(*arguments: object) -> tuple[int, str, str]:
    """Run the command in this process, for speed; tests of whole ways of use take one of its own."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "polars_evals.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **{"timeout": 120, **options},
    )


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, "-m", "polars_evals.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
