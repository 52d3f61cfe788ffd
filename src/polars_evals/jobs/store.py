"""The store: data files that never change, and a commit that says which of them count.

Everything that a run writes is invisible until its commit, which happens at once or not at all. A commit
adds and removes data files and records which inputs they hold, so that a run that was killed leaves what was
there before, and the next one does the same work again.

    scores/
        part-<name>.parquet     data files
        _evals/lock             held by the run that is at work
        _evals/staging-<name>/  what that run is writing
        _delta_log/, _evals/state-<name>.json   the commits of a Delta table
        _evals/manifest-<number>.json           the commits of plain Parquet files
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from polars_evals.jobs.errors import ConfigError, StoreError
from polars_evals.jobs.memory import small_steps

LAYOUT = 1
KEPT = 10
PART_BYTES = 512 << 20

# The folders that this process is writing to.
staged: set[Path] = set()


@dataclass(frozen=True)
class State:
    """What the store knows beside its rows."""

    key: tuple[str, ...]
    newest: str | None
    signatures: Mapping[str, str]
    score_columns: tuple[str, ...]
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON holds it."""
        return {"layout": LAYOUT, **asdict(self)}

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
        )


@dataclass(frozen=True)
class Part:
    """A data file: where it is, and how many rows and bytes it has."""

    path: str
    rows: int
    size: int


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
    return pl.scan_parquet(
        [part.path for part in parts],
        glob=False,
        hive_partitioning=False,
        schema=dict(schema),
        missing_columns="insert",
        include_file_paths=include_file_paths,
    )


def write_parts(
    frame: pl.LazyFrame,
    folder: Path,
    metadata: Mapping[str, str],
    *,
    read: Sequence[str],
    size: int | None = PART_BYTES,
) -> list[Part]:
    """Write a frame that reads some files to data files of about a size, complete on disk when done."""
    folder.mkdir()
    written = list[Part]()
    with small_steps(read) as rows:
        frame.sink_parquet(
            pl.PartitionBy(folder, approximate_bytes_per_file=size),
            metadata=dict(metadata),
            row_group_size=rows,
            sync_on_close="all",
            engine="streaming",
            sinked_paths_callback=lambda sunk: written.extend(
                Part(str(file.path), file.num_rows, file.num_bytes) for file in sunk.paths
            ),
        )
    return written


class Store(ABC):
    """A folder of scores."""

    format: str

    def __init__(self, path: Path) -> None:
        self.path, self.own = path, path / "_evals"
        # Stands until the first commit.
        self.first = self.own / "first"

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
        for part in snapshot.parts:
            size = os.path.getsize(part.path) if os.path.exists(part.path) else None
            if size != part.size:
                found = "is missing" if size is None else f"has {size:,} bytes, not {part.size:,}"
                raise self.broken(f"{part.path} {found}")
        return snapshot

    def broken(self, what: str) -> StoreError:
        """Say that the store is not what a run left there."""
        return StoreError(
            f"the store {str(self.path)!r} is damaged and was left as it is: {what}. "
            "Restore it from a copy, or name another path to start anew"
        )

    def overtaken(self) -> StoreError:
        """Say that another run committed first, which the lock prevents where locks work."""
        return StoreError(
            f"another run changed the store {str(self.path)!r} meanwhile; nothing was added, run again"
        )

    def check_place(self) -> None:
        """Refuse a folder of something else, of the other format, or of a store whose commits are gone."""
        from polars_evals.jobs.open import kind_of

        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise StoreError(f"the store {str(self.path)!r} is a file; name a folder")
        kind = kind_of(self.path)
        if kind not in (None, self.format):
            raise ConfigError(f'the store {str(self.path)!r} has format = "{kind}", not "{self.format}"')
        # A first run that was killed may leave anything of its own but a commit.
        own = [
            "_evals",
            *(["_delta_log"] if self.first.exists() or (self.own.exists() and self.exists()) else []),
        ]
        others = [entry for entry in self.path.iterdir() if entry.name not in own]
        strangers = sorted(entry.name for entry in others if not is_part(entry))
        if strangers:
            raise StoreError(
                f"{str(self.path)!r} is no store of scores: it holds "
                f"{', '.join(strangers[:3])}; name another folder"
            )
        if others and not self.exists() and not self.first.exists():
            raise self.broken("there are data files, but no commit")

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the store for one run; another that comes meanwhile waits. The lock ends with the process."""
        self.check_place()
        self.own.mkdir(parents=True, exist_ok=True)
        with open(self.own / "lock", "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(lock, fcntl.LOCK_EX)
            self.check_place()
            for abandoned in self.own.glob("staging-*"):
                shutil.rmtree(abandoned, ignore_errors=True)
            if not self.exists():
                self.first.touch()
                for abandoned in filter(is_part, self.path.iterdir()):
                    abandoned.unlink()
            yield

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a folder to write data files to, which nobody reads."""
        folder = self.own / f"staging-{uuid4().hex}"
        folder.mkdir()
        staged.add(folder)
        try:
            yield folder
        finally:
            clear_staging()

    def commit(
        self,
        before: Snapshot | None,
        state: State,
        schema: Mapping[str, pl.DataType],
        added: Sequence[Part],
        removed: Sequence[Part],
    ) -> None:
        """Take staged files into the store and commit them."""
        placed = []
        for part in added:
            path = self.path / f"part-{uuid4().hex}.parquet"
            os.rename(part.path, path)
            placed.append(Part(str(path), part.rows, part.size))
        sync_folder(self.path)
        try:
            self.write_commit(before, state, schema, placed, removed)
        except StoreError:
            # Only where it is certain that no commit names them.
            for part in placed:
                Path(part.path).unlink(missing_ok=True)
            raise
        self.first.unlink(missing_ok=True)
        self.tidy()

    @abstractmethod
    def tidy(self) -> None:
        """Remove what no reader needs any more."""


def clear_staging() -> None:
    """Remove what this process was writing; what it cannot, the next run does."""
    while staged:
        shutil.rmtree(staged.pop(), ignore_errors=True)


def is_part(path: Path) -> bool:
    """Whether a file has the name of a data file."""
    return path.name.startswith("part-") and path.suffix == ".parquet"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a file that is complete on disk when it has its name."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link fails where the name is taken: two commits cannot have the same number.
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make new names in a folder last."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
