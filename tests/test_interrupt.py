"""Ctrl-C ends a long native call, on whatever thread Polars runs it, and leaves other handlers alone."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be sent Ctrl-C alone")

# Processor seconds of a whole script, which a busy machine does not change. Each query would take minutes.
LIMIT = 20.0
START = """
import random, signal, sys, time
import polars as pl
import polars_evals as pe

def score(rows):
    scored = frame.head(rows).select(long)["damerau_levenshtein"]
    return scored.struct.field("score").count()

texts = ["".join(random.Random(i).choices("abcdefgh ", k=9_000)) for i in range(60)]
frame = pl.DataFrame({"output": texts * 40, "expected": texts[::-1] * 40})
long = pe.damerau_levenshtein("output", "expected")
letters = pl.col("output").str.split(""), pl.col("expected").str.split("")
pair = lambda size: (pl.lit("ab" * size), pl.lit("cb" * size))
words = lambda size: (pl.lit("a b " * size), pl.lit("c b " * size))
print("ready", flush=True)
"""
QUERIES = {
    "eager": "frame.select(long)",
    "lazy": "frame.lazy().select(long).collect()",
    "streaming": 'frame.lazy().select(long).collect(engine="streaming")',
    "collect_all": 'pl.collect_all([frame.lazy().select(long), frame.lazy().select(long.alias("b"))])',
    "several columns": 'frame.with_columns(long.alias(name) for name in "abcdef")',
    "group_by": 'frame.with_columns(g=pl.int_range(pl.len()) % 3).group_by("g").agg(long)',
    "suite": 'pe.Suite([pe.Metric("damerau_levenshtein"), pe.Metric("osa", max_chars=9_000)]).score(frame)',
    "series": 'frame["output"].evals.damerau_levenshtein(frame["expected"])',
    "one pair": "pl.select(pe.damerau_levenshtein(*pair(300_000), max_chars=None))",
    "long pair": "pl.select(pe.levenshtein(*pair(2_000_000), max_chars=None))",
    "weights": "pl.select(pe.levenshtein_distance(*pair(300_000), weights=(1, 2, 5)))",
    "words": "pl.select(pe.rouge(*words(2_000_000), variant='rougeL'))",
    "lists": "frame.head(400).select(pe.levenshtein_distance(*letters, weights=(1, 2, 5)))",
}


def run(tmp_path: Path, code: str) -> tuple[list[str], float, int]:
    """Run code that gets SIGINT after half a second: its lines, its processor time, the exit code."""
    script = tmp_path / "script.py"
    script.write_text(START + code)
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        lines = process.stdout.read().splitlines()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code_of_exit = process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return lines, after.ru_utime - before.ru_utime, code_of_exit


@pytest.mark.parametrize("query", QUERIES)
def test_ctrl_c_ends_a_query(tmp_path: Path, query: str) -> None:
    code = f"""
before = signal.getsignal(signal.SIGINT)
try:
    try:
        {QUERIES[query]}
    finally:
        time.sleep(0)  # as behind any query of Polars, Python's own handler may raise once more
    print("finished")
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert signal.getsignal(signal.SIGINT) is before
# The next query is not interrupted.
print(score(4))
"""
    lines, seconds, code_of_exit = run(tmp_path, code)
    assert lines == ["interrupted", "4"], lines
    assert code_of_exit == 0
    assert seconds < LIMIT, seconds


def test_a_handler_of_the_user_decides(tmp_path: Path) -> None:
    code = """
calls = []
signal.signal(signal.SIGINT, lambda *_: calls.append("called"))
print(score(30))
print(*calls)
"""
    lines, _, code_of_exit = run(tmp_path, code)
    assert (lines, code_of_exit) == (["30", "called"], 0)


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    code = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
score(30)
print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
"""
    lines, _, code_of_exit = run(tmp_path, code)
    assert (lines, code_of_exit) == (["True"], 0)
