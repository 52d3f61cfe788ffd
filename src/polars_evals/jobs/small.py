"""Small files, which cost more than their rows: those that are alike are read and scored together."""

from __future__ import annotations

import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow.parquet as pq

from polars_evals._polars import scan_ndjson, scan_ndjson_files
from polars_evals.jobs.memory import line_bytes
from polars_evals.traces.alike import likeness, scan_apart, unanswered
from polars_evals.traces.content import Kind, is_packed, pieces
from polars_evals.traces.plan import ScanPlan
from polars_evals.traces.rows import Rows

# What is small enough to be read with many others, when it is unpacked.
SMALL_BYTES, SMALL_ROWS = 1 << 20, 2_000

# The columns that say where a row of several files is from: the path, and the number over all of them.
PATH, ROW = "__path", "__row"


class Way(ABC):
    """How to read the files of one likeness."""

    @property
    @abstractmethod
    def likeness(self) -> Hashable:
        """What these files have in common: two with the same likeness can be read in one scan."""

    @abstractmethod
    def scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Scan files with all their columns, `PATH` and `ROW`."""

    def refused(self, paths: Sequence[str]) -> dict[str, str]:
        """Say which of the files are not taken, and why."""
        return {}


@dataclass(frozen=True)
class Small:
    """A small file: what is read, how, and how much that is; the number of rows where it is known."""

    path: str
    way: Way
    size: int
    rows: int | None = None

    @property
    def likeness(self) -> Hashable:
        """What it has in common with those that it can be read with."""
        return self.way.likeness

    def row_bytes(self) -> float:
        """Return the size of a row, about."""
        return line_bytes(self.path) if self.rows is None else max(self.size, 1) / max(self.rows, 1)


@dataclass(frozen=True)
class Tables(Way):
    """Parquet files that are taken as they are: of one folder, which may say something too."""

    folder: str
    columns: bytes

    @property
    def likeness(self) -> Hashable:
        """The folder and the columns."""
        return self

    def scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Scan tables with the columns of the first, which are those of all."""
        return pl.scan_parquet(
            list(paths),
            schema=pl.scan_parquet(paths[0], glob=False).collect_schema(),
            glob=False,
            hive_partitioning=False,
            include_file_paths=PATH,
            row_index_name=ROW,
        )


@dataclass(frozen=True)
class Lines(Way):
    """JSON Lines that are taken as they are."""

    schema: tuple[tuple[str, pl.DataType], ...]

    @property
    def likeness(self) -> Hashable:
        """The columns."""
        return self

    def scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Scan lines with the columns that were found in each of the files."""
        return scan_ndjson_files(paths, dict(self.schema), path=PATH, row=ROW)


@dataclass(frozen=True)
class Exports(Way):
    """Files of a platform."""

    plan: ScanPlan
    rows: Rows

    @property
    def likeness(self) -> Hashable:
        """The platform, and where its files hold what they say."""
        return likeness(self.plan)

    def scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Scan the answers of each file."""
        return scan_apart(self.plan, paths, self.rows, PATH).with_row_index(ROW)

    def refused(self, paths: Sequence[str]) -> dict[str, str]:
        """Say which files have no answers."""
        return {} if self.rows == "all" else unanswered(self.plan, paths)


def small_table(path: str, folder: str) -> Small | None:
    """Look at a Parquet file, which may be of no platform; None if it is large."""
    metadata = pq.read_metadata(path)
    size = sum(metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups))
    if metadata.num_rows > SMALL_ROWS or size > SMALL_BYTES:
        return None
    columns = metadata.schema.to_arrow_schema().remove_metadata().serialize().to_pybytes()
    return Small(path, Tables(folder, columns), size, metadata.num_rows)


def small_lines(path: str, size: int) -> Small | None:
    """Look at JSON Lines that are of no platform; None if there is nothing in them."""
    schema = scan_ndjson(path, glob=False).collect_schema()
    return Small(path, Lines(tuple(schema.items())), size) if schema else None


def unpacked_bytes(path: str, kind: Kind) -> int | None:
    """Return how many bytes a file holds; None if they are many."""
    size = 0
    if kind == "eval":
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    elif is_packed(path):
        for piece in pieces(path, size=SMALL_BYTES):
            size += len(piece)
            if size > SMALL_BYTES:
                break
    else:
        size = os.path.getsize(path)
    return size if size <= SMALL_BYTES else None
