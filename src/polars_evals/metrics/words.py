"""Kernels of the word metrics, which share their work where they compare the same texts.

A suite asks for several metrics over the same two columns, and Polars asks for each of them by itself: it
drops those that a query does not use. So each metric that is going to be asked announces itself first, batch
by batch, and the first one that is asked scores for all that did.

What was announced belongs to the query: where that fails half-way, its batches go when it goes.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from weakref import WeakSet

import polars as pl

from polars_evals import _native


@dataclass(frozen=True)
class WordKernel:
    """A word metric with all of its options, as the native core knows them."""

    metric: str
    options: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, metric: str, **options: Any) -> Self:
        """Make a kernel of its options."""
        return cls(metric, tuple(options.items()))

    def __call__(self, left: pl.Series, right: pl.Series) -> pl.DataFrame:
        """Score two columns of texts, together with all that announced themselves for them."""
        return pl.DataFrame(score(self, left, right))


def score_together(kernels: Sequence[WordKernel], left: pl.Series, right: pl.Series) -> list[_native.Result]:
    """Score two columns of texts with several metrics in one pass: the texts are read once."""
    metrics = [(kernel.metric, dict(kernel.options)) for kernel in kernels]
    return _native.words(left, right, metrics, threads=pl.thread_pool_size())


@dataclass
class Batch:
    """Two columns, and the kernels that announced themselves for them."""

    # Kept, so that no other text can come to stand in the same place of memory.
    texts: tuple[pl.Series, pl.Series]
    kernels: Counter[WordKernel] = field(default_factory=Counter)
    results: dict[WordKernel, list[_native.Result]] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def score(self) -> dict[WordKernel, list[_native.Result]]:
        """Score for all kernels, each as often as it announced itself."""
        kernels = list(self.kernels.elements())
        results: dict[WordKernel, list[_native.Result]] = {}
        for kernel, result in zip(kernels, score_together(kernels, *self.texts), strict=True):
            results.setdefault(kernel, []).append(result)
        return results


class Batches:
    """The batches of a query that are waited for. There are few: Polars works on some at a time."""

    def __init__(self) -> None:
        self.batches: OrderedDict[object, Batch] = OrderedDict()
        self.lock = threading.Lock()
        with OPEN_LOCK:
            OPEN.add(self)

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        # A query that goes to another process announces anew there.
        return type(self), ()

    def announce(self, kernel: WordKernel, left: pl.Series, right: pl.Series) -> None:
        """Note that a kernel is going to be called with just these columns."""
        key = place(left), place(right)
        with self.lock:
            batch = self.batches.get(key)
            if batch is None or batch.results is not None:
                batch = self.batches[key] = Batch((left, right))
            batch.kernels[kernel] += 1
            # A run that failed leaves batches behind that nobody asks for.
            while len(self.batches) > 4 * pl.thread_pool_size():
                self.batches.popitem(last=False)

    def take(self, kernel: WordKernel, key: object) -> _native.Result | None:
        """Give a kernel its result of a batch; the first to ask scores for all that announced themselves."""
        with self.lock:
            batch = self.batches.get(key)
        if batch is None:
            return None
        # The others wait here for the first. It runs nothing of Polars meanwhile, whose threads they are.
        with batch.lock:
            if batch.results is None:
                batch.results = batch.score()
            waiting = batch.results.get(kernel)
            result = waiting.pop() if waiting else None
            is_done = not any(batch.results.values())
        if is_done:
            with self.lock:
                if self.batches.get(key) is batch:
                    del self.batches[key]
        return result


# Those of all queries that there are: a query holds its own.
OPEN: WeakSet[Batches] = WeakSet()
OPEN_LOCK = threading.Lock()


def score(kernel: WordKernel, left: pl.Series, right: pl.Series) -> _native.Result:
    """Score two columns: for all kernels that announced themselves, or for this one alone."""
    with OPEN_LOCK:
        waited_for = [batches for batches in OPEN if batches.batches]
    key = (place(left), place(right)) if waited_for else None
    for batches in waited_for:
        result = batches.take(kernel, key)
        if result is not None:
            return result
    return score_together([kernel], left, right)[0]


def place(texts: pl.Series) -> object:
    """Say where the texts of a column are in memory. A literal, made anew each time, is its value."""
    return texts.item() if len(texts) == 1 else _native.place(texts)
