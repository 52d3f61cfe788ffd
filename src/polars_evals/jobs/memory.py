"""Memory that does not grow with the input."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

STEP_ROWS = 10_000

# Polars holds a row group until it is full, and its readers do so again.
ROW_GROUP_ROWS = 20_000


@contextmanager
def small_steps() -> Iterator[None]:
    """Let streaming queries go in steps of fewer rows.

    Polars reads ahead by a number of steps, each of about 100,000 rows however long their texts are. Where
    scoring is slower than reading that is gigabytes of traces in waiting; smaller steps cost no speed.
    """
    if "POLARS_IDEAL_MORSEL_SIZE" in os.environ:
        yield
        return
    with pl.Config(streaming_chunk_size=STEP_ROWS):
        yield
