"""The store: data files that never change, and a commit that says which of them count.

Everything that a run writes is invisible until its commit, which happens at once or not at all. A commit
adds and removes data files and records which inputs they hold, so that a run that was killed leaves what was
there before, and the next one does the same work again.

    scores/
        part-<name>.parquet     data files
        _evals/lock             held by the run that is at work
        _evals/staging-<name>/  what that run is writing
        _evals/runs/<time>.json what became of each run
        _delta_log/, _evals/state-<name>.json   the commits of a Delta table
        _evals/manifest-<number>.json           the commits of plain Parquet files
"""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import polars as pl

from polars_evals._polars import sink_parts
from polars_evals.jobs.errors import ConfigError, StoreError, is_failure, one_line
from polars_evals.jobs.folder import Folder
from polars_evals.jobs.memory import row_bytes, small_steps
from polars_evals.wording import listed

LAYOUT = 1
KEPT = 10
PART_BYTES = 512 << 20
# Data files smaller than this are put together when there are so many of them.
SMALL_BYTES, SMALL_FILES = 16 << 20, 32
# How much larger texts are than the file that holds them, at most of the time.
UNPACKED = 8

# Data files that no commit names are removed when they are older: a young one may be about to be committed.
ABANDONED_NS = 24 * 3600 * 10**9


@dataclass(frozen=True)
class State:
    """What the store knows beside its rows."""

    key: tuple[str, ...]
    newest: str | None
    signatures: Mapping[str, str]
    score_columns: tuple[str, ...]
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: int = 0
    # Before which time rows are gone for good, and by which column, if rows are not kept for ever.
    forgotten: Mapping[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON holds it."""
        return {"layout": LAYOUT, **{one.name: getattr(self, one.name) for one in fields(self)}}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> State:
        """Read the state, or say that this version cannot."""
        if stored["layout"] != LAYOUT:
            raise StoreError(
                f"the store has layout {stored['layout']}; this version reads {LAYOUT}: upgrade polars-evals"
            )
        return cls(
            tuple(stored["key"]),
            stored["newest"],
            dict(stored["signatures"]),
            tuple(stored["score_columns"]),
            dict(stored["inputs"]),
            int(stored["runs"]),
            stored.get("forgotten"),
        )


class Read(Protocol):
    """What is read, and knows how long its rows are."""

    def row_bytes(self) -> float:
        """Return the size of a row, about."""


@dataclass(frozen=True)
class Part:
    """A data file: where it is, how many rows and bytes it has, and how to get there."""

    path: str
    rows: int
    size: int
    options: Mapping[str, str] | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the file."""
        return re.split(r"[/\\]", self.path)[-1]

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store."""
        return "://" in self.path

    def row_bytes(self) -> float:
        """Return the size of a row, about; of an object, by its size as it is packed."""
        return UNPACKED * self.size / max(self.rows, 1) if self.is_remote else row_bytes(self.path)


@dataclass(frozen=True)
class Snapshot:
    """What one commit made of the store."""

    version: int
    state: State
    parts: tuple[Part, ...]
    schema: Mapping[str, pl.DataType]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(part.rows for part in self.parts)

    def scan(self) -> pl.LazyFrame:
        """Scan all rows, as they were at this commit."""
        return scan_parts(self.parts, self.schema)


def scan_parts(
    parts: Sequence[Part], schema: Mapping[str, pl.DataType], *, include_file_paths: str | None = None
) -> pl.LazyFrame:
    """Scan data files; a column that came later is null in the older ones."""
    if not parts:
        path = {include_file_paths: pl.String()} if include_file_paths else {}
        return pl.LazyFrame(schema={**schema, **path})
    places = [[part for part in parts if part.is_remote == remote] for remote in (False, True)]
    if all(places):
        return pl.concat(scan_parts(place, schema, include_file_paths=include_file_paths) for place in places)
    options = parts[0].options
    return pl.scan_parquet(
        [part.path for part in parts],
        glob=False,
        hive_partitioning=False,
        schema=dict(schema),
        missing_columns="insert",
        include_file_paths=include_file_paths,
        storage_options=dict(options) if options else None,
    )


def write_parts(
    frame: pl.LazyFrame,
    folder: Path,
    metadata: Mapping[str, str],
    *,
    read: Sequence[str | Read],
    size: int | None = PART_BYTES,
) -> list[Part]:
    """Write a frame that reads some files to data files of about a size, complete on disk when done."""
    folder.mkdir()
    longest = max((row_bytes(one) if isinstance(one, str) else one.row_bytes() for one in read), default=1.0)
    with small_steps(longest) as rows:
        written = sink_parts(
            frame, folder, part_bytes=size, row_bytes=longest, metadata=metadata, row_group_size=rows
        )
    return [Part(*part) for part in written]


class Store(ABC):
    """A folder of scores."""

    format: str

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @property
    def address(self) -> str:
        """What people call it."""
        return self.folder.address

    @abstractmethod
    def exists(self) -> bool:
        """Whether there has been a commit."""

    @abstractmethod
    def load(self) -> Snapshot:
        """Read the last commit."""

    @abstractmethod
    def write_commit(
        self,
        before: Snapshot | None,
        state: State,
        schema: Mapping[str, pl.DataType],
        added: Sequence[Part],
        removed: Sequence[Part],
    ) -> None:
        """Make the new state that of the store, unless another commit came in between."""

    @abstractmethod
    def tidy(self) -> None:
        """Remove what no reader needs any more."""

    @abstractmethod
    def vacuum(self, keep_days: float) -> int:
        """Remove files that were replaced so long ago, and return how many."""

    def check_schema(self, schema: Mapping[str, pl.DataType]) -> None:  # noqa: B027
        """Refuse columns that the store cannot hold, with an InputError."""

    def read(self) -> Snapshot | None:
        """Read the last commit and check that its files are there; None if there was none."""
        if not self.exists():
            return None
        try:
            snapshot = self.load()
        except StoreError:
            raise
        except Exception as error:
            # Whatever a broken log makes a library raise: it must never look like an empty store.
            raise self.broken(f"{type(error).__name__}: {error}") from error
        held = self.folder.files()
        for part in snapshot.parts:
            entry = held.get(part.name)
            if entry is None or entry.size != part.size:
                found = "is missing" if entry is None else f"has {entry.size:,} bytes, not {part.size:,}"
                raise self.broken(f"{part.path} {found}")
        return snapshot

    def broken(self, what: str) -> StoreError:
        """Say that the store is not what a run left there."""
        return StoreError(
            f"the store {self.address!r} is damaged and was left as it is: {what}. "
            "Restore it from a copy, or name another path to start anew"
        )

    def overtaken(self) -> StoreError:
        """Say that another run committed first, which the lock prevents where locks work."""
        return StoreError(
            f"another run changed the store {self.address!r} meanwhile; nothing was added, run again"
        )

    def check_place(self) -> None:
        """Refuse a folder of something else, of the other format, or of a store whose commits are gone."""
        kind = kind_of(self.folder)
        if kind not in (None, self.format):
            raise ConfigError(f'the store {self.address!r} has format = "{kind}", not "{self.format}"')
        files, folders = self.folder.files(), self.folder.folders()
        own = "_evals" in folders
        # A first run that was killed may leave anything of its own but a commit.
        first = own and FIRST in self.folder.files("_evals")
        known = ["_evals", *(["_delta_log"] if first or (own and self.exists()) else [])]
        strangers = [name for name in [*files, *folders] if name not in known and not is_part(name)]
        if strangers:
            raise StoreError(
                f"{self.address!r} is no store of scores: it holds {listed(sorted(strangers), 3)}; "
                "name another folder"
            )
        if any(map(is_part, files)) and not first and not self.exists():
            raise self.broken("there are data files, but no commit")

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the store for one run, where there are locks; another that comes meanwhile waits."""
        self.check_place()
        self.folder.check()
        with self.folder.locked(waiting):
            self.check_place()
            if not self.exists():
                with suppress(FileExistsError):
                    self.folder.create(f"_evals/{FIRST}", b"")
            yield

    def commit(
        self,
        before: Snapshot | None,
        state: State,
        schema: Mapping[str, pl.DataType],
        added: Sequence[Part],
        removed: Sequence[Part],
    ) -> None:
        """Take staged files into the store and commit them."""
        names = [f"part-{uuid4().hex}.parquet" for _ in added]
        placed = [
            Part(self.folder.path(name), part.rows, part.size, self.folder.options)
            for name, part in zip(names, added, strict=True)
        ]
        try:
            for part, name in zip(added, names, strict=True):
                self.folder.take(part.path, name)
            self.write_commit(before, state, schema, placed, removed)
        except BaseException as error:
            if not is_failure(error):
                raise
            if not self.is_committed(state, names, error):
                self.folder.remove(names)
                raise error if isinstance(error, StoreError) else self.unwritten(error) from error
        self.folder.remove([f"_evals/{FIRST}"])
        self.tidy()

    def is_committed(self, state: State, names: Sequence[str], error: BaseException) -> bool:
        """Whether a commit counts, although its writer was told of an error."""
        try:
            snapshot = self.load() if self.exists() else None
        except Exception as unreadable:
            # The files stay: they may be part of the store.
            raise StoreError(
                f"the store {self.address!r} could not be written: {one_line(error)}; then it could not be "
                f"read: {one_line(unreadable)}. The next run finds out whether the rows were added"
            ) from error
        if snapshot is None:
            return False
        return snapshot.state == state and {part.name for part in snapshot.parts} >= set(names)

    def unwritten(self, error: BaseException) -> StoreError:
        """Say that nothing was committed."""
        return StoreError(
            f"the store {self.address!r} cannot be written: {one_line(error)}; nothing was added"
        )

    def remove_abandoned(self, named: set[str], age_ns: float = ABANDONED_NS) -> int:
        """Remove old data files that no commit of interest names."""
        now = time.time_ns()
        old = [
            name
            for name, entry in self.folder.files().items()
            if is_part(name) and name not in named and now - entry.time_ns > age_ns
        ]
        self.folder.remove(old)
        return len(old)


# Stands until the first commit.
FIRST = "first"


def kind_of(folder: Folder) -> str | None:
    """Tell the format of the store in a folder; None if there is none."""
    if "_delta_log" in folder.folders():
        return "delta"
    return "parquet" if any(map(is_manifest, folder.files("_evals"))) else None


def is_part(name: str) -> bool:
    """Whether a file has the name of a data file."""
    return name.startswith("part-") and name.endswith(".parquet")


def is_manifest(name: str) -> bool:
    """Whether a file has the name of a commit of plain Parquet files."""
    return name.startswith("manifest-") and name.endswith(".json")


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON."""
    return json.dumps(document, ensure_ascii=False).encode()
