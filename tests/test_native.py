"""The native core at its edges: Arrow layouts, threads, processes, broken callers."""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import polars_evals as pe
from polars_evals import _native

TEXTS = ["", "short", "a text that is longer than a view holds inline", None, "naïve café", "x" * 5000]
OPTIONS = {"weights": (1, 1, 1), "score_cutoff": None, "threads": 2}


class Stream:
    """An Arrow producer that is not a Series."""

    def __init__(self, chunks: list[pa.Array]) -> None:
        self.chunked = pa.chunked_array(chunks)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.chunked.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_every_string_layout_chunked_and_sliced(kind: pa.DataType) -> None:
    array = pa.array([*TEXTS, *TEXTS[::-1]], pa.string()).cast(kind)
    column = Stream([array.slice(1, 4), array.slice(0, 0), array.slice(5, 7)])
    other = pl.Series([*TEXTS, *TEXTS[::-1]])[1:]
    result = pl.DataFrame(_native.levenshtein_distance(column, other, **OPTIONS))["distance"]  # type: ignore[arg-type]
    assert result.to_list() == [None if text is None else 0 for text in other]


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string_view())], ids=str)
def test_list_layouts(kind: pa.DataType) -> None:
    rows = [["a", "b"], None, [], ["c", None, "a long token that is not inline"]]
    array = pa.array(rows, pa.list_(pa.string())).cast(kind)
    column = Stream([array.slice(1, 3), array.slice(0, 1)])
    other = pl.Series([*rows[1:], rows[0]])
    result = _native.levenshtein_lists(column, other, weights=(1, 1, 1), score_cutoff=None, threads=2)  # type: ignore[arg-type]
    assert pl.DataFrame(result)["distance"].to_list() == [None, 0, 0, 0]


def test_other_layouts_are_refused() -> None:
    with pytest.raises(ValueError, match="string array, got format 'l'"):
        _native.levenshtein_distance(pl.Series([1]), pl.Series([1]), **OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 and 3 rows"):
        _native.levenshtein_distance(pl.Series(["a"] * 2), pl.Series(["a"] * 3), **OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="__arrow_c_stream__"):
        _native.levenshtein_distance(["a"], ["a"], **OPTIONS)  # type: ignore[arg-type]


def test_a_result_outlives_its_parts() -> None:
    frame = pl.DataFrame(
        _native.edit_similarity(
            pl.Series(TEXTS),
            pl.Series(TEXTS),
            metric="levenshtein",
            fold_case=True,
            max_chars=None,
            decimals=2,
            details=True,
            threads=2,
        )
    )
    distance = frame["distance"]
    del frame
    assert distance.to_list() == [None if text is None else 0 for text in TEXTS]


@pytest.mark.parametrize(
    "make",
    [
        lambda texts: _native.json_readable(texts, max_depth=5, threads=1),
        lambda texts: _native.split_lines(b"one\ntwo", name="line"),
        lambda texts: _native.clean(texts, step="json", words=[], case_sensitive=False, threads=1)[0],
    ],
    ids=["numbers", "lines", "texts"],
)
def test_a_result_is_taken_once(make: Callable[[pl.Series], Any]) -> None:
    result = make(pl.Series(TEXTS))
    taken = pa.array(result)
    with pytest.raises(ValueError, match="for one Arrow consumer, and were taken before"):
        pa.array(result)
    assert len(taken) in {2, len(TEXTS)}


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
    column = pa.array([f"{n} sheep" * 50 for n in range(3000)])
    other = pa.array([f"{n} goats" * 50 for n in range(3000)])

    def total(column: pa.Array, other: pa.Array) -> int:
        result = _native.levenshtein_distance(Stream([column]), Stream([other]), **OPTIONS)  # type: ignore[arg-type]
        return int(pa.array(result).field("distance").to_numpy().sum())

    expected = total(column, other)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(total(column, other)), daemon=True)
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
