"""The command over files: `score` beside a plain Polars scan and sink of the same file, with peak memory.

Each contender runs in a process of its own, so that its peak memory is its own.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks.harness import OURS, Row
from benchmarks.texts import alike

ROWS = 2_000_000
CHARACTERS = 500
FILES, FEW = 10_000, 5
SUITE = '[[metric]]\ntype = "exact_match"\n[[metric]]\ntype = "levenshtein"\n[[metric]]\ntype = "rouge"\n'

# Reports the peak memory of the process itself, in bytes, after its work.
MEASURED = r"""
import json, re, sys, time
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
# Not ru_maxrss, which a process has from the one that started it.
peak = re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())
print(json.dumps([seconds, int(peak[1]) * 1024]))
"""

SCORE = """
from contextlib import redirect_stdout
from polars_evals.cli.app import app
with redirect_stdout(sys.stderr):
    app(["score", "texts.parquet", "--suite", "evals.toml", "--output", "out.parquet"], standalone_mode=False)
"""
PLAIN = """
import polars as pl
pl.scan_parquet("texts.parquet").sink_parquet("out.parquet", engine="streaming")
"""
JOB = """
from polars_evals.jobs import run
assert run("job.toml").rows == {rows}
"""
JOB_FILE = """
[input]
path = "texts.parquet"
[suite]
path = "evals.toml"
[store]
path = "scores"
key = ["item"]
"""


def write_texts(path: Path) -> None:
    """Write the rows in pieces, so that making them needs no more memory than scoring them."""
    piece = 100_000
    some = alike(piece, CHARACTERS, 0.1)
    # The order differs from piece to piece, the texts do not: making them would take longer than scoring.
    pieces = [
        some.sample(fraction=1.0, shuffle=True, seed=number)
        .lazy()
        .with_columns(item=pl.int_range(number * piece, (number + 1) * piece))
        for number in range(ROWS // piece)
    ]
    pl.concat(pieces).sink_parquet(path)


def many_files() -> Iterator[Row]:
    """Run a job for the first time over many small files, which each cost more than their rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        some = alike(FEW, CHARACTERS, 0.1)
        for kind in ("parquet", "jsonl"):
            (folder / kind).mkdir()
        for number in range(FILES):
            items = some.with_columns(item=pl.int_range(number * FEW, (number + 1) * FEW))
            items.write_parquet(folder / f"parquet/{number:05}.parquet")
            items.write_ndjson(folder / f"jsonl/{number:05}.jsonl")
        (folder / "evals.toml").write_text(SUITE)
        for kind in ("parquet", "jsonl"):
            subprocess.run(["rm", "-rf", folder / "scores"], check=True)
            (folder / "job.toml").write_text(JOB_FILE.replace("texts.parquet", kind))
            work = JOB.format(rows=FILES * FEW)
            seconds, peak = measured(work, folder)
            contender = f"{OURS} run, peak {peak / 1e9:.2f} GB"
            case = f"{FILES:,} files of {FEW} rows ({kind}), first run"
            yield Row("command", case, contender, FILES * FEW, seconds)


def measured(work: str, folder: Path) -> tuple[float, int]:
    """Run some code in a process of its own; returns its seconds and its peak memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED.format(work=work)], cwd=folder, stdout=subprocess.PIPE, check=True
    )
    seconds, peak = json.loads(done.stdout)
    return float(seconds), int(peak)


def rows() -> Iterator[Row]:
    """Run everything of this part."""
    yield from many_files()
    contenders = {
        f"{OURS} score": SCORE,
        "Polars scan and sink, nothing scored": PLAIN,
        f"{OURS} run": JOB.format(rows=ROWS),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_texts(folder / "texts.parquet")
        size = (folder / "texts.parquet").stat().st_size
        (folder / "evals.toml").write_text(SUITE)
        case = f"{ROWS:,} rows of {CHARACTERS} characters"
        for contender, work in contenders.items():
            subprocess.run(["rm", "-rf", folder / "scores", folder / "out.parquet"], check=True)
            (folder / "job.toml").write_text(JOB_FILE)
            seconds, peak = measured(work, folder)
            row = Row("command", case, f"{contender}, peak {peak / 1e9:.2f} GB", ROWS, seconds)
            rate = f"{ROWS / seconds:,.0f} rows/s, {size / seconds / 1e6:,.0f} MB/s of Parquet"
            print(f"{row.part:12} {case:44} {row.contender:52} {rate}", file=sys.stderr, flush=True)
            yield row


if __name__ == "__main__":
    began = time.perf_counter()
    list(rows())
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
