"""Memory that does not grow with the input: a query holds some steps and row groups, which are small here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from polars_evals.traces.files import is_parquet

# What a step of a query and a row group of its result may hold. A query has some tens of steps at work.
STEP_BYTES, STEP_ROWS = 4 << 20, 10_000
ROW_GROUP_BYTES, ROW_GROUP_ROWS = 16 << 20, 100_000

# A reader unpacks several row groups as a whole. Files with larger ones are written again first.
LARGEST_ROW_GROUP = 128 << 20

# How much of a file of lines is looked at, unless it is packed by gzip or Zstandard.
SAMPLES, SAMPLE_BYTES = 32, 1 << 18
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


@contextmanager
def small_steps(files: Sequence[str]) -> Iterator[int]:
    """Let streaming queries over files go in small steps; gives the number of rows for a row group.

    Polars reads ahead by a number of steps, each of about 100,000 rows however long their texts are. Where
    scoring is slower than reading that is gigabytes of traces in waiting; smaller steps cost no speed.
    """
    longest = max(map(row_bytes, files), default=1.0)
    with pl.Config(streaming_chunk_size=min(int(STEP_BYTES / longest) + 1, STEP_ROWS)):
        yield min(int(ROW_GROUP_BYTES / longest) + 1, ROW_GROUP_ROWS)


def row_bytes(file: str) -> float:
    """Return the size of a row where the rows of a file are longest, about."""
    if is_parquet(file):
        return max((size / rows for rows, size in row_groups(file)), default=1.0)
    return line_bytes(file)


def with_small_row_groups(file: str, folder: Path) -> str:
    """Return the file or, where its row groups are too large to unpack, a copy in `folder` with smaller ones.

    Other than Polars, Arrow reads a row group page by page.
    """
    if not is_parquet(file) or all(size <= LARGEST_ROW_GROUP for _, size in row_groups(file)):
        return file
    # The path stays as it is, because folders can hold values: model=v2/day.parquet.
    copy = folder / os.path.abspath(file).lstrip("/")
    copy.parent.mkdir(parents=True, exist_ok=True)
    rows = int(STEP_BYTES / row_bytes(file)) + 1
    with (
        pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as source,
        pq.ParquetWriter(copy, source.schema_arrow, compression="lz4") as target,
    ):
        for batch in source.iter_batches(batch_size=rows):
            target.write_batch(batch)
    return str(copy)


def row_groups(file: str) -> list[tuple[int, int]]:
    """Return rows and bytes, unpacked, of each row group that has any, where Arrow can tell."""
    try:
        metadata = pq.read_metadata(file)
    except pa.ArrowNotImplementedError:
        # A type that Arrow does not know, such as whole numbers of 128 bits.
        return []
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    return [(group.num_rows, group.total_byte_size) for group in groups if group.num_rows]


def line_bytes(file: str) -> float:
    """Look at some places of a file of lines, and return how long they are where they are longest."""
    size = os.path.getsize(file)
    longest = 1.0
    with open(file, "rb") as stream:
        if stream.read(4).startswith(PACKED):
            head = pl.scan_lines(file, name="line", glob=False, n_rows=1_000)
            return head.select(pl.col("line").str.len_bytes().mean()).collect().item() or 1.0
        for place in range(0, max(size - SAMPLE_BYTES, 0) + 1, max(size // SAMPLES, SAMPLE_BYTES)):
            stream.seek(place)
            sample = stream.read(SAMPLE_BYTES)
            longest = max(longest, len(sample) / (sample.count(b"\n") + 1))
    return longest
