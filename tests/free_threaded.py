"""
The extension on a free-threaded Python, for which Polars has no wheels: `python3.14t tests/free_threaded.py`.

It is loaded on its own, without the package, which imports Polars. Threads call all kernels at once, on
columns that they share, and must leave the interpreter free-threaded and get what one thread gets.
"""

import importlib.util
import random
import sys
import sysconfig
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

THREADS = 8
TURNS = 20
EDITS = ("levenshtein", "osa", "indel", "damerau_levenshtein", "hamming")
WORDS: list[tuple[str, dict[str, Any]]] = [
    ("rouge", {"variant": "rougeL", "measure": "f1", "tokenizer": "rouge", "stemmer": True, "details": True}),
]


def load() -> Any:
    """Return the extension that is installed."""
    package = Path(sysconfig.get_path("platlib")) / "polars_evals"
    (path,) = package.glob("_native.*.so")
    spec = importlib.util.spec_from_file_location("polars_evals._native", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def columns() -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return two columns of texts of many kinds and lengths, some of them JSON, some null."""
    rng = random.Random(5)
    alphabets = ["ab", "the quick Brown fox ", "aé中🙂Σ ", '{"a": [1, 2]} ']
    texts = [
        "".join(rng.choices(rng.choice(alphabets), k=rng.choice([0, 5, 30, 90, 400]))) for _ in range(4000)
    ]
    rows = [None if rng.random() < 0.05 else text for text in [*texts, '{"a": 1}', '{"b": "c"}']]
    halves = (pa.array(half, pa.string_view()) for half in (rows[::2], rows[1::2]))
    left, right = (pa.chunked_array([half.slice(0, 700), half.slice(700)]) for half in halves)
    return left, right


def kernels(native: Any) -> dict[str, Callable[[], Any]]:
    """Return a call of each kernel, on columns that all calls share."""
    left, right = columns()
    vectors = pa.chunked_array([pa.array([[n, 1.0, n % 7] for n in range(2000)], pa.list_(pa.float64()))])
    lists = pa.chunked_array([pa.array([["a", str(n % 5), "c"] for n in range(2000)])])
    edit = {"fold_case": True, "max_chars": None, "decimals": 2, "details": True, "threads": 2}
    weighted = {"weights": (1, 2, 3), "score_cutoff": None, "threads": 2}
    trigrams = {"words": False, "n": 3, "fold_case": True, "threads": 2}
    plan = [("a", [("a", "text")])]
    cleaning = {"step": "json", "words": [], "case_sensitive": False, "threads": 2}
    return {
        **{name: partial(native.edit_similarity, left, right, metric=name, **edit) for name in EDITS},
        "jaro_winkler": partial(native.jaro_winkler, left, right, **edit),
        "weighted": partial(native.levenshtein_distance, left, right, **weighted),
        "lists": partial(native.levenshtein_lists, lists, lists.slice(0, 1), **weighted),
        "words": partial(native.words, left, right, WORDS, threads=2),
        "similarity": partial(native.similarity, left, right, **trigrams),
        "cosine": partial(native.cosine, vectors, vectors.slice(1, 1), threads=2),
        "json_match": partial(native.json_match, left, right, subset=False, threads=2),
        "json_readable": partial(native.json_readable, left, max_depth=50, threads=2),
        "read_records": partial(native.read_records, left, plan, broken="broken", threads=2),
        "split_lines": partial(native.split_lines, b"one\ntwo\n" * 1000, name="line"),
        "clean": partial(native.clean, left, **cleaning),
    }


def arrays(result: Any) -> list[pa.Array]:
    """Return what a kernel gave, which may be one column or some."""
    return [pa.array(column) for column in (result if isinstance(result, list | tuple) else [result])]


def run_at_once(calls: dict[str, Callable[[], Any]], expected: dict[str, list[pa.Array]]) -> set[str]:
    """Run all calls on each of some threads, each in an order of its own; return what went wrong."""
    wrong: list[str] = []
    start = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        start.wait()
        for _ in range(TURNS):
            for name in rng.sample(sorted(calls), len(calls)):
                try:
                    if arrays(calls[name]()) != expected[name]:
                        wrong.append(f"{name}: not what one thread gets")
                except Exception as error:
                    wrong.append(f"{name}: {error!r}")

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return set(wrong)


def share_objects(native: Any) -> None:
    """Use the same objects in all threads: each record comes out once, and one thread gets columns."""
    document = b'{"text": "some words"}\n'
    with ThreadPoolExecutor(THREADS) as executor:
        splitter = native.JsonSplitter([])
        records = [
            record
            for found in executor.map(lambda _: splitter.feed(document * 500), range(THREADS * TURNS))
            for record in found
        ]
        assert records == [(True, document.strip())] * (500 * THREADS * TURNS), len(records)
        for _ in range(500):
            lines, *_ = native.split_lines(document * 3, name="line")
            assert sum(executor.map(is_taken, [lines] * THREADS)) == 1


def is_taken(columns: Any) -> bool:
    """Whether columns are there to be taken."""
    try:
        return len(pa.array(columns)) == 3
    except ValueError:
        return False


def main() -> None:
    is_gil_enabled: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    assert not is_gil_enabled(), "this Python is not free-threaded, or a package needs its lock"
    native = load()
    calls = kernels(native)
    expected = {name: arrays(call()) for name, call in calls.items()}
    wrong = run_at_once(calls, expected)
    assert not wrong, sorted(wrong)
    share_objects(native)
    assert not is_gil_enabled(), "the extension needs the lock of the interpreter"
    rows = sum(len(column) for columns in expected.values() for column in columns)
    print(f"{len(calls)} kernels, {THREADS} threads, {TURNS} turns each: {rows} rows, all as of one thread")


if __name__ == "__main__":
    main()
