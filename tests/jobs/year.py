"""A simulated year of a job: `python -m tests.jobs.year [days] [seed]`.

Each day brings a file, and chance brings more: rows that are delivered late or again, files that are cut
off, empty, of a wrong clock, runs that are killed, maintenance. In the end the store must hold what one run
over the same files gives.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

import polars as pl
from polars.testing import assert_frame_equal

from polars_evals.jobs import JobError, maintain, run, scan_store
from polars_evals.jobs.store import find_store
from tests.jobs.support import deliver, make_job, traces

ROWS = 20
START = datetime(2026, 1, 1, tzinfo=UTC)
MORE = """
[compare]
version = "model"
baseline = "v1"
item = "item_id"
by = ["topic"]
[[gate]]
max_drop = 0.9
[[gate]]
fail_on = "regressed"
level = "advisory"
[report]
junit = "report.xml"
summary = "summary.json"
markdown = "report.md"
"""
KILLED = (
    "import os, sys, threading; from polars_evals.jobs import run; "
    "threading.Timer(float(sys.argv[2]), lambda: os._exit(9)).start(); run(sys.argv[1]); os._exit(0)"
)


def rows_of(day: int, chance: random.Random) -> pl.DataFrame:
    """Make the traces of a day: of one version, with times, now and then with a column that is new."""
    model = "v2" if day % 2 else "v1"
    frame = traces(range(day * ROWS, day * ROWS + ROWS), model, ts=[START + timedelta(days=day)] * ROWS)
    frame = frame.with_columns(item_id=pl.format("item-{}", pl.int_range(pl.len())))
    return frame.with_columns(cost=pl.lit(chance.random())) if day % 7 == 0 else frame


def remove(files: Iterable[Path]) -> None:
    """Remove files."""
    for file in files:
        file.unlink()


def a_day(folder: Path, day: int, chance: random.Random, seen: Counter[str]) -> None:
    """Deliver what a day brings."""
    when = int(START.timestamp()) + day * 86_400
    frame = rows_of(day, chance)
    if chance.random() < 0.2:
        frame.write_ndjson(folder / f"traces/{day:03}.jsonl")
        os.utime(folder / f"traces/{day:03}.jsonl", (when, when))
    else:
        deliver(frame, folder / f"traces/{day:03}.parquet", when)
    folder = folder / "traces"
    right = frame.with_columns(output=pl.col("expected"))
    cut = '{"trace_id": "b", "output": "x", "expected": "x"}\n{"cut\n'.replace("b", f"b{day}", 1)
    events: dict[str, tuple[float, Callable[[], object]]] = {
        "late": (
            0.1,
            lambda: deliver(rows_of(max(0, day - 9), chance), folder / f"l{day}.parquet", when - 9),
        ),
        "again": (0.1, lambda: deliver(right, folder / f"a{day}.parquet", when + 9)),
        "wrong clock": (0.05, lambda: deliver(right, folder / f"w{day}.parquet", when + 10**9)),
        "cut": (0.1, lambda: (folder / f"cut-{day}.parquet").write_bytes(b"PAR1" + bytes(50))),
        "empty": (0.05, lambda: (folder / f"e{day}.jsonl").write_bytes(b"")),
        "broken line": (0.05, lambda: (folder / f"b{day}.jsonl").write_text(cut)),
        "mended": (0.1, lambda: remove(folder.glob("cut-*"))),
    }
    for name, (share, happen) in events.items():
        if chance.random() < share:
            happen()
            seen[name] += 1


def main(days: int = 365, seed: int = 1) -> None:
    """Live through the year, and compare with one run over all files."""
    folder = Path(mkdtemp(prefix="year-"))
    job, chance, seen, codes = (
        make_job(folder, more=MORE),
        random.Random(seed),
        Counter[str](),
        Counter[int](),
    )
    began = time.monotonic()
    for day in range(days):
        a_day(folder, day, chance, seen)
        if chance.random() < 0.1:
            seconds = str(chance.uniform(0.5, 3.0))
            ended = subprocess.run(
                [sys.executable, "-c", KILLED, str(job), seconds], check=False, capture_output=True
            )
            seen["killed" if ended.returncode == 9 else "not killed in time"] += 1
        try:
            outcome = run(job)
            codes[outcome.exit_code()] += 1
            assert json.loads((folder / "summary.json").read_text())["exit_code"] == outcome.exit_code()
        except JobError as error:
            raise AssertionError(f"day {day}: {error}") from error
        if chance.random() < 0.05:
            maintain(job, keep_days=0 if chance.random() < 0.5 else 7)
            seen["maintained"] += 1
    held = scan_store(folder / "scores").drop("source_time").collect().sort("trace_id")
    assert not held["trace_id"].is_duplicated().any()
    once = Path(mkdtemp(prefix="year-once-"))
    make_job(once, more=MORE)
    shutil.copytree(folder / "traces", once / "traces", dirs_exist_ok=True)
    run(once / "job.toml")
    wanted = scan_store(once / "scores").drop("source_time").collect().sort("trace_id")
    assert_frame_equal(held.select(sorted(held.columns)), wanted.select(sorted(wanted.columns)))
    snapshot = find_store(folder / "scores")
    assert snapshot is not None
    print(
        f"{days} days in {time.monotonic() - began:.0f} s: {held.height:,} rows, equal to one run; exit "
        f"codes {dict(codes)}; {len(snapshot.parts)} data files; {dict(seen)}"
    )
    shutil.rmtree(folder)
    shutil.rmtree(once)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
