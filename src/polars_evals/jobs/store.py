"""The store: a Delta table of data files that never change, and a log that says which of them count.

Everything that a run writes is invisible until its commit, which happens at once or not at all. A commit
adds and removes data files and records which inputs they hold, so that a run that was killed leaves what was
there before, and the next one does the same work again. The data files are written by Polars; the commit
carries the number of a state file, as the application's transaction identifier that Delta has for this.

    scores/
        part-<name>.parquet       data files
        _delta_log/               the commits
        _evals/state-<name>.json  what a commit knows beside its rows
        _evals/lock               held by the run that is at work
        _evals/staging-<name>/    what that run is writing
        _evals/runs/<time>.json   what became of each run
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from secrets import randbits
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4
from weakref import finalize

import polars as pl

from polars_evals._errors import JobError, StoreError, is_failure
from polars_evals._polars import sink_parts
from polars_evals.jobs.columns import Schema
from polars_evals.jobs.inputs import row_bytes, small_steps
from polars_evals.storage.objects import Folder, open_folder
from polars_evals.storage.secrets import one_line
from polars_evals.wording import listed

if TYPE_CHECKING:
    from deltalake import DeltaTable

LAYOUT = 2
STATES_KEPT = 10
PART_BYTES = 512 << 20
# Data files smaller than this are put together when there are so many of them.
SMALL_BYTES, SMALL_FILES = 16 << 20, 32
# How much larger texts are than the file that holds them, at most of the time.
UNPACKED = 8

# Data files that no commit names are removed when they are older: a young one may be about to be committed.
ABANDONED_NS = 24 * 3600 * 10**9

# Stands until the first commit.
FIRST = "first"
APPLICATION = "polars-evals"

# What the library unquotes once too often, or takes for a separator, in the URL of a folder.
UNSAFE = re.compile(r"^file:.*%(25|5C)")

# Columns that joins add for a while.
HASH, PART = "__key_hash", "__part"


def _deltalake() -> Any:
    """Import the library, or say how to install it."""
    try:
        import deltalake
    except ModuleNotFoundError:
        raise JobError(
            "a store of scores needs the package deltalake: pip install 'polars-evals[jobs]'"
        ) from None
    return deltalake


class NewerStoreError(StoreError):
    """A newer version wrote the store: nothing is wrong with it, and nothing of it may be dropped."""


class DamagedStoreError(StoreError):
    """Something of the store is missing or changed: says what, and what to do."""

    def __str__(self) -> str:
        return ". ".join(self.args)


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
        return {"layout": LAYOUT, **vars(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> State:
        """Read the state, or say that this version cannot."""
        layout = stored["layout"]
        if layout != LAYOUT:
            is_newer = isinstance(layout, int) and layout > LAYOUT
            raise (NewerStoreError if is_newer else StoreError)(
                f"the store has layout {layout}, and this version of polars-evals reads {LAYOUT}: "
                "install a version that reads it, or name another store"
            )
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in stored.items()
            if key != "layout"
        }
        # What is not known here would be lost with the next commit.
        if unknown := given.keys() - {one.name for one in fields(cls)}:
            raise NewerStoreError(
                f"the store was written by a newer version of polars-evals, with "
                f"{listed(sorted(unknown))}: upgrade polars-evals"
            )
        return cls(**given)


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


Parts: TypeAlias = Sequence[Part]


@dataclass(frozen=True)
class Snapshot:
    """What one commit made of the store."""

    version: int
    state: State
    parts: tuple[Part, ...]
    schema: Schema

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(part.rows for part in self.parts)

    def scan(self) -> pl.LazyFrame:
        """Scan all rows, as they were at this commit."""
        return scan_parts(self.parts, self.schema)


def scan_parts(parts: Parts, schema: Schema, *, include_file_paths: str | None = None) -> pl.LazyFrame:
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


@dataclass(frozen=True)
class Writer:
    """Writes data files to a staging folder, complete on disk when done."""

    folder: Path
    metadata: Mapping[str, str]

    def write(self, frame: pl.LazyFrame, read: Sequence[str | Part]) -> list[Part]:
        """Write a frame that reads some files to data files of about `PART_BYTES`."""
        folder = self.folder / uuid4().hex
        folder.mkdir()
        sizes = (row_bytes(one) if isinstance(one, str) else one.row_bytes() for one in read)
        longest = max(sizes, default=1.0)
        try:
            with small_steps(longest) as rows:
                written = sink_parts(
                    frame,
                    folder,
                    part_bytes=PART_BYTES,
                    row_bytes=longest,
                    metadata=self.metadata,
                    row_group_size=rows,
                )
        except BaseException:
            # Whoever tries again with less needs the room.
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return [Part(*part) for part in written if part[1]]

    def merged(self, parts: Parts, schema: Schema, *, least: int) -> list[Part]:
        """Put small data files together where there are so many of them."""
        small = [part for part in parts if part.size < SMALL_BYTES]
        if len(small) < least:
            return list(parts)
        return [part for part in parts if part not in small] + self.write(scan_parts(small, schema), small)


class Store:
    """A folder of scores: a Delta table, and a state file for each of the last commits."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.address = folder.address
        self.library = _deltalake()
        self.mirror: Path | None = None
        self.uses_mirror = bool(UNSAFE.search(folder.url))

    @property
    def _options(self) -> dict[str, str] | None:
        return dict(self.folder.options) if self.folder.options else None

    def table(self, version: int | None = None) -> DeltaTable:
        """Open the table, as it is or as it was at a version."""
        return self.library.DeltaTable(self._location(), version=version, storage_options=self._options)

    def _location(self) -> str:
        """Return the URL of the table or, where the library would misread it, of a copy of its log."""
        if not self.uses_mirror:
            return self.folder.url
        if self.mirror is None:
            self.mirror = Path(mkdtemp(prefix="polars-evals-"))
            finalize(self, shutil.rmtree, self.mirror, ignore_errors=True)
        log = self.mirror / "_delta_log"
        log.mkdir(exist_ok=True)
        for name in self.folder.files("_delta_log"):
            if not (log / name).exists():
                (log / name).write_bytes(self.folder.read(f"_delta_log/{name}"))
        return self.mirror.as_uri()

    def _publish(self) -> None:
        """Give the table what was written to the copy of its log, unless another commit has that number."""
        mirror, self.mirror = self.mirror, None
        held = self.folder.files("_delta_log")
        for file in sorted(mirror.glob("_delta_log/*.json")) if mirror else []:
            if file.name not in held:
                self.folder.create(f"_delta_log/{file.name}", file.read_bytes())

    def exists(self) -> bool:
        """Whether the table has a log."""
        return any(name.endswith((".json", ".parquet")) for name in self.folder.files("_delta_log"))

    def load(self, version: int | None = None) -> Snapshot:
        """Read the table's log, up to a version, and the state that it refers to."""
        table = self.table(version)
        number = table.transaction_version(APPLICATION)
        if number is None:
            raise StoreError(
                f"{self.address!r} is a Delta table, but not a store of scores; name another folder"
            )
        state = State.from_dict(json.loads(self.folder.read(_state_file(number))))
        actions = pl.DataFrame(table.get_add_actions(flatten=True))
        files = actions.select("path", "num_records", "size_bytes").sort("path").rows()
        for file, *_ in files:
            if not _is_part(file):
                raise self.broken(f"its log names {file!r}, which is not a data file of a store")
        parts = tuple(
            Part(self.folder.path(file), rows, size, self.folder.options) for file, rows, size in files
        )
        return Snapshot(table.version(), state, parts, dict(pl.Schema(table.schema().to_arrow())))

    def write_commit(
        self, before: Snapshot | None, state: State, schema: Schema, added: Parts, removed: Parts
    ) -> None:
        """Write one transaction."""
        number, log = randbits(62), "_delta_log"
        self.folder.create(_state_file(number), json.dumps(state.to_dict(), ensure_ascii=False).encode())
        try:
            try:
                self.transact(before, number, schema, added, removed)
            except self.library.exceptions.DeltaError as error:
                # Some servers list nothing after a name that is the last; the log itself is fine.
                if "Invalid table version" not in str(error) or self.uses_mirror:
                    raise
                self.uses_mirror = True
                self.transact(before, number, schema, added, removed)
            self._publish()
            known = -1 if before is None else before.version
            self.folder.sync(f"{log}/{name}" for name in self.folder.files(log) if _version_of(name) > known)
        except BaseException as error:
            if (
                is_failure(error)
                and not isinstance(error, StoreError)
                and self.exists()
                and (before is None or self.table().version() > before.version)
            ):
                raise self._overtaken() from error
            raise

    def transact(
        self, before: Snapshot | None, number: int, schema: Schema, added: Parts, removed: Parts
    ) -> None:
        """Commit files by their names."""
        from deltalake.transaction import (
            AddAction,
            CommitProperties,
            RemoveAction,
            Transaction,
            create_table_with_add_actions,
        )

        now = int(time.time() * 1000)
        adds = [
            AddAction(part.name, part.size, {}, now, True, json.dumps({"numRecords": part.rows}))
            for part in added
        ]
        removes = [RemoveAction(part.name, deletion_timestamp=now, data_change=True) for part in removed]
        # No retry on top of another run's commit: what this one did rests on the commit that it read.
        properties = CommitProperties(
            max_commit_retries=0, app_transactions=[Transaction(APPLICATION, number, now)]
        )
        wanted = self.library.Schema.from_arrow(pl.Schema(schema))
        if before is None:
            create_table_with_add_actions(
                self._location(),
                wanted,
                adds,
                mode="error",
                name="scores",
                storage_options=self._options,
                commit_properties=properties,
            )
            return
        table = self.table()
        if table.version() != before.version:
            raise self._overtaken()
        changed = any(schema.get(name) != dtype for name, dtype in before.schema.items())
        if len(removed) == len(before.parts) and changed:
            # All rows were written again, with other columns: the table takes over their schema.
            table.create_write_transaction(adds, "overwrite", wanted, commit_properties=properties)
            return
        new = [field for field in wanted.fields if field.name not in before.schema]
        if new:
            # Only adds columns, which are null everywhere: no reader sees other rows.
            table.alter.add_columns(new, commit_properties=CommitProperties(max_commit_retries=0))
        table.create_write_transaction([*adds, *removes], "append", wanted, commit_properties=properties)

    def _tidy(self) -> None:
        """Keep the states of the last commits, and no file of a run that was killed."""
        states = {
            f"_evals/{name}": entry.time_ns
            for name, entry in self.folder.files("_evals").items()
            if name.startswith("state-")
        }
        current = _state_file(self.table().transaction_version(APPLICATION) or 0)
        oldest = sorted(states, key=lambda name: states[name])[:-STATES_KEPT]
        self.folder.remove(name for name in oldest if name != current)
        self._remove_abandoned()

    def vacuum(self, keep_days: float) -> int:
        """Remove data files that were replaced so long ago or never committed, and old entries of the log."""
        table = self.table()
        # Only listed by Delta: it would remove whatever path a log names.
        replaced = table.vacuum(
            retention_hours=int(keep_days * 24), dry_run=True, enforce_retention_duration=False
        )
        gone = [name for name in replaced if _is_part(name)]
        self.folder.remove(gone)
        if not self.uses_mirror:
            table.create_checkpoint()
            self.folder.sync([f"_delta_log/{name}" for name in self.folder.files("_delta_log")])
            table.cleanup_metadata()
        return len(gone) + self._remove_abandoned()

    def last_commit(self) -> Snapshot | None:
        """Read the last commit and check that its files are there; None if there was none.

        Another process may commit meanwhile and remove what an older commit needs, so that a commit with
        which something is wrong is the last word only if it is still the last one.
        """
        while True:
            log = self.folder.files("_delta_log")
            try:
                return self._sound_commit() if self.exists() else None
            except StoreError:
                if self.folder.files("_delta_log").keys() == log.keys():
                    raise

    def _sound_commit(self) -> Snapshot:
        try:
            snapshot = self.load()
        except StoreError:
            raise
        except Exception as error:
            # Whatever a broken log makes a library raise: it must never look like an empty store.
            raise self.broken(f"{type(error).__name__}: {error}") from error
        for part, problem in self.damaged(snapshot).items():
            raise self.broken(f"{part.path} {problem}")
        return snapshot

    def damaged(self, snapshot: Snapshot) -> dict[Part, str]:
        """Find the data files that are not there, or not whole."""
        held, found = self.folder.files(), dict[Part, str]()
        for part in snapshot.parts:
            size = held[part.name].size if part.name in held else None
            if size != part.size:
                found[part] = "is missing" if size is None else f"has {size:,} bytes, not {part.size:,}"
        return found

    def restore(self) -> Snapshot:
        """Step back to the last sound version; where there is none, drop the data files that are lost.

        The inputs whose rows are lost with that are no longer known, so that the next run takes them again.
        """
        log = {name: _version_of(name) for name in self.folder.files("_delta_log")}
        for version in sorted({*log.values()} - {-1}, reverse=True):
            try:
                snapshot = self.load(version)
            except NewerStoreError:
                raise
            except Exception:
                # Whatever a broken log makes a library raise: an older version may be sound.
                continue
            if self.damaged(snapshot):
                continue
            later = sorted((name for name, number in log.items() if number > version), reverse=True)
            if later:
                self.folder.remove(f"_delta_log/{name}" for name in ("_last_checkpoint", *later))
            return snapshot
        try:
            snapshot = self.load()
        except Exception as error:
            reason = error.args[0] if isinstance(error, DamagedStoreError) else one_line(error)
            raise StoreError(
                f"no version of the store is sound: {reason}. Restore it from a copy, or name another path"
            ) from error
        lost = self.damaged(snapshot)
        sound = [part for part in snapshot.parts if part not in lost]
        self.commit(snapshot, replace(snapshot.state, inputs={}), snapshot.schema, sound)
        return self.load()

    def broken(self, what: str) -> StoreError:
        """Say that the store is not what a run left there."""
        return DamagedStoreError(
            f"the store {self.address!r} is damaged and was left as it is: {what}",
            "`polars-evals maintain JOB --restore` steps back to the last sound version; or restore it "
            "from a copy, or name another path to start anew",
        )

    def _overtaken(self) -> StoreError:
        return StoreError(
            f"another run changed the store {self.address!r} meanwhile; nothing was added, run again"
        )

    def _check_place(self) -> None:
        """Refuse a folder of something else, or of a store whose commits are gone."""
        files, folders = self.folder.files(), self.folder.folders()
        has_runs = "_evals" in folders
        # A first run that was killed may leave anything of its own but a commit.
        first = has_runs and FIRST in self.folder.files("_evals")
        known = ["_evals", *(["_delta_log"] if first or (has_runs and self.exists()) else [])]
        strangers = [name for name in [*files, *folders] if name not in known and not _is_part(name)]
        if strangers:
            raise StoreError(
                f"{self.address!r} is not a store of scores: it holds {listed(sorted(strangers), 3)}; "
                "name another folder"
            )
        if any(map(_is_part, files)) and not first and not self.exists():
            raise self.broken("there are data files, but no commit")

    @contextmanager
    def locked(self, say: Callable[[str], None]) -> Iterator[None]:
        """Hold the store for one run, where there are locks; say so and wait if another has it."""
        self._check_place()
        self.folder.check()
        with self.folder.locked(lambda: say(f"another run holds {self.address}; waiting for it")):
            self._check_place()
            if not self.exists():
                with suppress(FileExistsError):
                    self.folder.create(f"_evals/{FIRST}", b"")
            yield

    def commit(self, before: Snapshot | None, state: State, schema: Schema, after: Parts) -> None:
        """Commit what the store holds from now on: data files that it had, and staged files."""
        old = before.parts if before else ()
        held, kept = {part.path for part in old}, {part.path for part in after}
        placed, removed = list[Part](), [part for part in old if part.path not in kept]
        try:
            for part in after:
                if part.path not in held:
                    name = f"part-{uuid4().hex}.parquet"
                    options = self.folder.options
                    placed.append(Part(self.folder.path(name), part.rows, part.size, options))
                    self.folder.take(part.path, name)
            self.write_commit(before, state, schema, placed, removed)
        except BaseException as error:
            if not is_failure(error):
                raise
            names = [part.name for part in placed]
            if not self._is_committed(state, names, error):
                self.folder.remove(names)
                if isinstance(error, StoreError):
                    raise
                raise StoreError(
                    f"the store {self.address!r} cannot be written: {one_line(error)}; nothing was added"
                ) from error
        self.folder.remove([f"_evals/{FIRST}"])
        self._tidy()

    def _is_committed(self, state: State, names: Sequence[str], error: BaseException) -> bool:
        """Whether a commit counts, although its writer got an error."""
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

    def _remove_abandoned(self) -> int:
        """Remove old data files that the log does not name: a run that was killed left them."""
        table, now = self.table(), time.time_ns()
        replaced = table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False)
        named = {*replaced, *pl.DataFrame(table.get_add_actions(flatten=True))["path"]}
        old = [
            name
            for name, entry in self.folder.files().items()
            if _is_part(name) and name not in named and now - entry.time_ns > ABANDONED_NS
        ]
        self.folder.remove(old)
        return len(old)


def _version_of(name: str) -> int:
    """Return the version that a file of the log belongs to; -1 for another file."""
    return int(name[:20]) if name[:20].isdigit() else -1


def _state_file(number: int) -> str:
    return f"_evals/state-{number:016x}.json"


def _is_part(name: str) -> bool:
    return name.startswith("part-") and name.endswith(".parquet") and not re.search(r"[/\\%]|\.\.", name)


def find_store(path: str | Path, storage_options: Mapping[str, str] | None = None) -> Snapshot | None:
    """Read the last commit of a store; None if there is none."""
    folder = open_folder(path, storage_options)
    return Store(folder).last_commit() if "_delta_log" in folder.folders() else None


def scan_store(path: str | Path, *, storage_options: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """
    Scan the scores that a job keeps.

    Parameters
    ----------
    path
        The folder that `path` in `[store]` names, on this machine or in an object store.
    storage_options
        How to get to the object store, as in `pl.scan_parquet`; without them the environment says it.

    Returns
    -------
    LazyFrame
        The rows of the last complete run, whatever a run does meanwhile.
    """
    snapshot = find_store(path, storage_options)
    if snapshot is None:
        raise StoreError(f"there is no store of scores at {str(path)!r}")
    return snapshot.scan()
