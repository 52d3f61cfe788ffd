"""The native core at its edges: Arrow layouts, threads, processes, broken callers."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow as pa
import pytest

import polars_evals as pe
from polars_evals import _native

TEXTS = ["", "short", "a text that is longer than a view holds inline", None, "naïve café", "x" * 5000]


def test_views_of_every_length_chunked_and_sliced() -> None:
    column = pl.Series([*TEXTS, *TEXTS[::-1]])
    chunks = pl.concat([column[1:5], column[:0], column[5:]], rechunk=False)
    frame = pl.DataFrame({"output": chunks, "expected": column[1:]})
    distance = frame.select(pe.levenshtein_distance("output", "expected")).to_series()
    assert distance.to_list() == [None if text is None else 0 for text in column[1:]]


def test_a_field_outlives_its_struct() -> None:
    frame = pl.DataFrame({"output": TEXTS}).select(pe.levenshtein("output", "output", details=True))
    distance = frame["levenshtein"].struct.field("distance")
    del frame
    assert distance.to_list() == [None if text is None else 0 for text in TEXTS]


def test_lines_are_taken_once() -> None:
    lines, *_ = _native.split_lines(b"one\ntwo", name="line")
    assert len(pa.array(lines)) == 2
    with pytest.raises(ValueError, match="for one Arrow consumer, and were taken before"):
        pa.array(lines)


def long_frame() -> pl.DataFrame:
    texts = [f"{n} sheep jump over {n % 7} fences" * 9 for n in range(3000)]
    return pl.DataFrame({"output": texts, "expected": texts[::-1]})


def mean_score() -> float:
    return float(
        long_frame().select(pe.levenshtein("output", "expected").struct.field("score").mean()).item()
    )


def test_many_callers_share_one_pool() -> None:
    expected = mean_score()
    with ThreadPoolExecutor(8) as executor:
        assert list(executor.map(lambda _: mean_score(), range(24))) == [expected] * 24


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_threads_do_not_grow_with_callers() -> None:
    """The pool has as many threads as Polars', whoever calls it at once."""
    script = """
import contextlib, pathlib, threading, polars as pl
from tests.test_native import mean_score
threads = [threading.Thread(target=mean_score) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
names = []
for task in pathlib.Path("/proc/self/task").iterdir():
    with contextlib.suppress(OSError):  # a thread that was joined, and ends only now
        names.append(task.joinpath("comm").read_text().strip())
print(names.count("polars-evals") == pl.thread_pool_size())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning")
def test_a_forked_child_starts_its_own_pool() -> None:
    """Polars itself does not survive a fork, so the child calls the core directly."""
    column = pl.Series([f'{{"a": "{n} sheep"}}' * 50 for n in range(3000)])

    def total() -> int:
        plan = [("a", [("a", "hash")])]
        read = _native.read_records(column, plan, broken="broken", threads=2)
        return sum(len(pa.array(piece)) for piece in read)

    expected = total()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(total()), daemon=True)
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert queue.get() == expected


def test_the_interpreter_is_free_meanwhile() -> None:
    """Other Python threads run while a kernel does."""
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    text = pl.Series(["ab" * 60_000] * 4)
    pl.select(pe.levenshtein(text, text.str.reverse() + "x", max_chars=None))
    stop.set()
    ticker.join()
    assert ticks > 3


def test_import_costs_little_more_than_polars() -> None:
    """No heavy module is imported until it is used."""
    script = (
        "import sys, polars; old = set(sys.modules); import polars_evals; print(*(set(sys.modules) - old))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "scipy", "rapidfuzz", "yaml", "pyarrow", "altair", "deltalake", "typer"}, (
        loaded
    )


SCORES = """
import random, polars as pl, polars_evals as pe
rng = random.Random(3)
alphabets, sizes = ["ab", "the quick Brown fox ", "aé中🙂"], [5, 30, 60, 90, 500, 2000]
texts = ["".join(rng.choices(rng.choice(alphabets), k=rng.choice(sizes))) for _ in range(600)]
frame = pl.DataFrame({"output": texts[::2], "expected": texts[1::2]})
metrics = [pe.levenshtein, pe.osa, pe.indel, pe.damerau_levenshtein, pe.hamming, pe.jaro_winkler]
print(frame.select(metric("output", "expected", decimals=None) for metric in metrics).hash_rows().to_list())
"""


def run_with_target(name: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"POLARS_EVALS_TARGET": name}
    return subprocess.run(
        [sys.executable, "-c", SCORES], env=environment, capture_output=True, text=True, check=False
    )


def test_every_target_gives_the_same_scores() -> None:
    assert _native.targets()[0] == "portable"
    scores = {run_with_target(name).stdout for name in ["", *_native.targets()]}
    assert len(scores) == 1
    assert len(scores.pop()) > 300


def test_an_unknown_target_is_refused() -> None:
    failed = run_with_target("mmx")
    assert failed.returncode != 0
    assert "POLARS_EVALS_TARGET is 'mmx'; this machine can do: portable" in failed.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_importing_the_package_starts_no_threads_of_polars() -> None:
    """A fork takes no threads along: its queries would wait for ever."""
    code = """
import os, signal
import polars as pl
import polars_evals as pe

child = os.fork()
if child == 0:
    signal.alarm(120)
    frame = pl.LazyFrame({"output": ["abc"] * 200_000, "expected": ["abd"] * 200_000})
    os._exit(frame.select(pe.levenshtein("output", "expected")).collect(engine="streaming").height != 200_000)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout == "0\n", ended.stderr
