"""Memory that does not grow with the input: a query holds some steps and row groups, which are small here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from polars_evals._errors import InputError
from polars_evals.traces.content import kind_of, pieces

# How a full disk is told.
NO_ROOM = (ENOSPC, EDQUOT, EFBIG)

# What a step of a query and a row group of its result may hold. A query has some tens of steps at work.
STEP_BYTES, STEP_ROWS = 4 << 20, 10_000
ROW_GROUP_BYTES, ROW_GROUP_ROWS = 16 << 20, 100_000

# A reader unpacks several row groups as a whole. Files with larger ones are written again first.
LARGEST_ROW_GROUP = 128 << 20

# How much of a file of lines is looked at, unless it is packed by gzip or Zstandard.
SAMPLES, SAMPLE_BYTES = 32, 1 << 18
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
# The longest line that is read from one, and the size below which none can be that long.
LONGEST_LINE = 256 << 20
SMALLEST_PACKED = 16 << 10


@contextmanager
def small_steps(longest: float) -> Iterator[int]:
    """Let streaming queries over rows of a size go in small steps; gives the number of rows for a row group.

    Polars reads ahead by a number of steps, each of about 100,000 rows however long their texts are. Where
    scoring is slower than reading that is gigabytes of traces in waiting; smaller steps cost no speed.
    """
    with pl.Config(streaming_chunk_size=min(int(STEP_BYTES / longest) + 1, STEP_ROWS)):
        yield min(int(ROW_GROUP_BYTES / longest) + 1, ROW_GROUP_ROWS)


def row_bytes(file: str) -> float:
    """Return the size of a row where the rows of a file are longest, about."""
    if kind_of(file) == "parquet":
        return max((size / rows for rows, size in row_groups(file)), default=1.0)
    return line_bytes(file)


def with_small_row_groups(file: str, folder: Path) -> str:
    """Return the file or, where its row groups are too large to unpack, a copy in `folder` with smaller ones.

    Unlike Polars, Arrow reads a row group page by page. What it cannot read, or not as Polars does, is left
    as it is.
    """
    if kind_of(file) != "parquet" or all(size <= LARGEST_ROW_GROUP for _, size in row_groups(file)):
        return file
    # The folders keep their names, for some formats say with them what is inside.
    copy = folder / uuid4().hex / Path(file).absolute().relative_to(Path(file).absolute().anchor)
    copy.parent.mkdir(parents=True)
    # Rows unpack to more than the file says where texts repeat.
    rows = min(int(STEP_BYTES / row_bytes(file)) + 1, STEP_ROWS)
    try:
        with (
            pq.ParquetFile(
                file, pre_buffer=False, buffer_size=1 << 20, coerce_int96_timestamp_unit="us"
            ) as source,
            pq.ParquetWriter(copy, source.schema_arrow, compression="lz4") as target,
        ):
            for batch in source.iter_batches(batch_size=rows):
                target.write_batch(batch)
        same = pl.read_parquet_schema(copy) == pl.read_parquet_schema(file)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        same = False
    if not same:
        copy.unlink(missing_ok=True)
    return str(copy) if same else file


def row_groups(file: str) -> Sequence[tuple[int, int]]:
    """Return rows and bytes, unpacked, of each row group that has any, where Arrow can tell."""
    about = os.stat(file)
    return read_row_groups(file, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=4096)
def read_row_groups(file: str, size: int, mtime_ns: int) -> Sequence[tuple[int, int]]:
    """Read them from the file, which is not asked twice unless it changes."""
    try:
        metadata = pq.read_metadata(file)
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    except (pa.ArrowException, OSError):
        # What Arrow does not know, such as whole numbers of 128 bits, or does not forgive, Polars may read.
        return ()
    return tuple((group.num_rows, group.total_byte_size) for group in groups if group.num_rows)


def refuse_long_lines(file: str) -> None:
    """Refuse a packed file with a line that no memory should have to hold; a small file can unpack to one."""
    with open(file, "rb") as stream:
        begin = stream.read(4)
    kind = next((name for start, name in PACKED.items() if begin.startswith(start)), None)
    about = os.stat(file)
    if kind is not None and about.st_size > SMALLEST_PACKED:
        check_lines(file, kind, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=64)
def check_lines(file: str, kind: str, size: int, mtime_ns: int) -> None:
    """Unpack a file, a piece at a time, and look for the ends of lines."""
    length = 0
    with pa.input_stream(file, compression=kind) as stream:
        while piece := stream.read(SAMPLE_BYTES):
            last = piece.rfind(b"\n")
            length = len(piece) - last - 1 if last >= 0 else length + len(piece)
            if length > LONGEST_LINE:
                raise InputError(
                    f"it unpacks to a line of more than {LONGEST_LINE >> 20} MB; JSON Lines have an object "
                    "on each line"
                )


def line_bytes(file: str) -> float:
    """Look at some places of a file of lines, and return how long they are where they are longest."""
    size = os.path.getsize(file)
    longest = 1.0
    with open(file, "rb") as stream:
        if stream.read(4).startswith(tuple(PACKED)):
            head = b""
            for piece in pieces(file, size=SAMPLE_BYTES):
                head += piece
                if len(head) >= SAMPLE_BYTES:
                    break
            return max(len(head) / (head.count(b"\n") + 1), 1.0)
        for place in range(0, max(size - SAMPLE_BYTES, 0) + 1, max(size // SAMPLES, SAMPLE_BYTES)):
            stream.seek(place)
            sample = stream.read(SAMPLE_BYTES)
            longest = max(longest, len(sample) / (sample.count(b"\n") + 1))
    return longest
