"""Read new files in batches, score them into data files, and set bad files apart."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals._errors import InputError, StoreError
from polars_evals.jobs.inputs import CHANGED, READ_ERRORS, Input
from polars_evals.jobs.retention import HASH, PART
from polars_evals.jobs.schema import SOURCE, conform, merge_schemas
from polars_evals.jobs.store import Part, scan_parts, write_parts
from polars_evals.storage.objects import Entry, is_remote
from polars_evals.storage.secrets import one_line
from polars_evals.suite import Suite
from polars_evals.traces.detect import UNKNOWN
from polars_evals.traces.scan import Reading, is_broken
from polars_evals.wording import counted, listed, verb

# Files that are read and scored together. The rows of a batch of small files are held at once.
SMALL_BYTES = 1 << 20
SMALL_BATCH, LARGE_BATCH = (1024, 16 << 20), (64, 256 << 20)
# How much larger packed files are taken to be.
PACKED, UNPACKED = (".gz", ".zst", ".zip", ".eval", ".parquet", ".pq"), 16
# Of the files that were left out, so many are named.
NAMED = 5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Source:
    """An input file as it was when the run began."""

    file: str
    name: str
    entry: Entry

    @classmethod
    def of(cls, file: str, folder: Path) -> Source:
        """Look at a file; its name is relative to the job's folder, so that both can move together."""
        about = os.stat(file)
        return cls(file, relative(file, folder), Entry(about.st_size, about.st_mtime_ns))

    @property
    def _is_packed(self) -> bool:
        return self.file.lower().endswith(PACKED)

    @property
    def mark(self) -> dict[str, int | str]:
        """What tells this content of the file from another."""
        mark: dict[str, int | str] = {"size": self.entry.size, "mtime_ns": self.entry.time_ns}
        return {**mark, "etag": self.entry.etag} if self.entry.etag else mark

    @property
    def time(self) -> datetime:
        """When the file was written."""
        return EPOCH + timedelta(microseconds=self.entry.time_ns // 1000)

    def change(self) -> str | None:
        """Say that the file is another one by now; the copy of an object is of the one that was listed."""
        if self.entry.etag:
            return None
        try:
            about = os.stat(self.file)
        except OSError:
            return f"{self.file!r} no longer exists"
        is_same = (about.st_size, about.st_mtime_ns) == (self.entry.size, self.entry.time_ns)
        return None if is_same else CHANGED


def relative(file: str, folder: Path) -> str:
    """Name a file as seen from the job's folder; an address stays as it is."""
    if is_remote(file):
        return file
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:
        # On another drive of Windows, to which no path leads from here.
        return Path(file).as_posix()


@dataclass
class Ingest:
    """Scores files into a staging folder, and keeps account of them."""

    source: Input
    suite: Suite
    key: Sequence[str]
    newest: str | None
    folder: Path
    progress: Callable[[int], None] = lambda _: None
    check_schema: Callable[[Mapping[str, pl.DataType]], None] = lambda _: None
    schema: dict[str, pl.DataType] = field(default_factory=dict)
    score_columns: set[str] = field(default_factory=set)
    parts: list[Part] = field(init=False, default_factory=list)
    rows: dict[str, int] = field(init=False, default_factory=dict)
    marks: dict[str, dict[str, int | str]] = field(init=False, default_factory=dict)
    # Files that cannot be taken; files that hold no traces; and how many records of a file cannot be read.
    failures: dict[str, str] = field(init=False, default_factory=dict)
    left_out: dict[str, str] = field(init=False, default_factory=dict)
    broken: dict[str, int] = field(init=False, default_factory=dict)
    # Files of no known format: whether they are left out does not depend on the batch that they were read in.
    strays: list[Source] = field(init=False, default_factory=list)
    # The columns with which each part was written, as long as they can still change.
    written: dict[str, dict[str, pl.DataType]] = field(init=False, default_factory=dict)

    def take(self, sources: Sequence[Source]) -> None:
        """Score the files; one that cannot be read or does not fit is in `failures`."""
        for batch in _batches(sources):
            entries = {one.file: one.entry for one in batch}
            with self.source.copies(entries, self.folder / f"{uuid4().hex}-inputs") as (paths, unread):
                for one in batch:
                    if one.file in unread:
                        self.failures[one.name] = one.change() or unread[one.file]
                self.score([one for one in batch if one.file in paths], paths)
            self.progress(len(batch))
        if self.schema:
            for one in self.strays:
                del self.failures[one.name]
                self.leave_out(one, UNKNOWN)
        self._widen()

    def leave_out(self, source: Source, reason: str) -> None:
        """Note a file that holds no traces; it is not looked at again unless it changes."""
        self.left_out[source.name] = reason
        self.rows[source.name], self.marks[source.name] = 0, source.mark

    def score(self, sources: Sequence[Source], paths: Mapping[str, str]) -> None:
        """Score files together; if that fails, halves of them, down to the file that is the reason."""
        if not sources:
            return
        folder = self.folder / uuid4().hex
        try:
            reading = self.source.read(
                {one.file: paths[one.file] for one in sources}, self._needed_columns, apart=True
            )
            for one in sources:
                if one.file in reading.failed:
                    change = one.change()
                    reason = reading.failed[one.file].replace(paths[one.file], one.file)
                    self.failures[one.name] = change or reason
                    if one.file in reading.strays and not change:
                        self.strays.append(one)
                elif one.file in reading.left_out:
                    self.leave_out(one, reading.left_out[one.file])
            sources = [one for one in sources if one.file in reading.formats]
            if not sources:
                return
            frame, schema, added = self._query(reading, sources)
            # The rows of other small files are few, however long they are.
            longest = [paths[one.file] for one in sources if one.entry.size > SMALL_BYTES or one._is_packed]
            parts = write_parts(frame, folder, self.suite.metadata, read=longest)
        except (InputError, *READ_ERRORS) as error:
            # A half needs the room.
            shutil.rmtree(folder, ignore_errors=True)
            if len(sources) > 1:
                middle = len(sources) // 2
                self.score(sources[:middle], paths)
                self.score(sources[middle:], paths)
                return
            self._set_apart(sources[0], paths, error)
            return
        refused = self._unfit_files(sources, parts, schema)
        if refused:
            # Without them, as they may have had a say in the types of columns.
            shutil.rmtree(folder, ignore_errors=True)
            self.failures |= refused
            self.score([one for one in sources if one.name not in refused], paths)
            return
        self.schema = schema
        self.score_columns |= added
        self._account(sources, parts)

    @property
    def _needed_columns(self) -> list[str]:
        read = (column for metric in self.suite.metrics for column in metric.columns)
        return list(dict.fromkeys([*read, *(name for name in self.key if name not in SOURCE)]))

    def _query(
        self, reading: Reading, sources: Sequence[Source]
    ) -> tuple[pl.LazyFrame, dict[str, pl.DataType], set[str]]:
        """Make the query that scores files; returns also the columns of the store and those of scores."""
        assert reading.frame is not None
        frame = reading.frame.drop("source_broken")
        given = frame.collect_schema()
        for role, names in {"key": self.key, "newest": [self.newest] if self.newest else []}.items():
            for name in names:
                if name not in given and name not in SOURCE:
                    raise InputError(f"there is no column {name!r}, which is `{role}` in [store]")
        for name in ("source_time", HASH, PART):
            if name in given:
                raise InputError(f"the column {name!r} has a name that the store reserves; rename it")
        scored = self.suite.score(frame)
        present = scored.collect_schema()
        rows = pl.Schema({name: dtype for name, dtype in present.items() if name not in SOURCE})
        schema = merge_schemas(self.schema, rows)
        self.check_schema(schema)
        places = {name: SOURCE[name] for name in ("source_file", "source_row")}
        placed = conform(scored, {**schema, **places}).with_columns(
            source_file=_by_file({one.file: one.name for one in sources}, SOURCE["source_file"]),
            source_time=_by_file({one.file: one.time for one in sources}, SOURCE["source_time"]),
        )
        return placed.select(*schema, *SOURCE), schema, set(present) - set(given)

    def _set_apart(self, source: Source, paths: Mapping[str, str], error: BaseException) -> None:
        """Set a file apart that cannot be scored, unless it is the store that cannot be written."""
        if change := source.change():
            self.failures[source.name] = change
        elif isinstance(error, InputError) or self._is_at_fault(source, paths):
            self.failures[source.name] = one_line(error).replace(paths[source.file], source.file)
        else:
            raise StoreError(
                f"the scores of {source.name!r} cannot be written: {one_line(error)}; nothing was added"
            ) from error

    def _is_at_fault(self, source: Source, paths: Mapping[str, str]) -> bool:
        """Whether a file cannot be read, scored and converted to its end, when nothing is written."""
        try:
            reading = self.source.read({source.file: paths[source.file]}, self._needed_columns, apart=True)
            frame, *_ = self._query(reading, [source])
            frame.select(pl.all().null_count()).collect(engine="streaming")
        except (InputError, *READ_ERRORS):
            return True
        return False

    def _unfit_files(
        self, sources: Sequence[Source], parts: Sequence[Part], schema: Mapping[str, pl.DataType]
    ) -> dict[str, str]:
        """Find the files that cannot be kept: they changed meanwhile, or have rows without a key."""
        known = {one.name: change for one in sources if (change := one.change())}
        columns = [name for name in self.key if name not in SOURCE]
        if not columns:
            return known
        lacking = scan_parts(parts, {**schema, **SOURCE}).filter(~_broken_rows(schema))
        counts = (
            lacking.group_by("source_file")
            .agg(pl.len(), *(pl.col(name).null_count().alias(f"no {name}") for name in columns))
            .filter(pl.any_horizontal(pl.col(f"no {name}") > 0 for name in columns))
            .collect(engine="streaming")
        )
        for file, rows, *nulls in counts.iter_rows():
            none = " or ".join(name for name, count in zip(columns, nulls, strict=True) if count)
            known.setdefault(
                file,
                f"{max(nulls):,} of {counted(rows, 'row')} {verb(max(nulls), 'has', 'have')} no {none}, a "
                "key of the store; fill it in or choose other columns as `key`: every row has "
                '["source_file", "source_row"]',
            )
        return known

    def _account(self, sources: Sequence[Source], parts: Sequence[Part]) -> None:
        """Count the rows of each file, and leave out broken records, which have no key."""
        columns = {**self.schema, **SOURCE}
        is_bad = _broken_rows(self.schema)
        counts = (
            scan_parts(parts, columns)
            .group_by("source_file")
            .agg(pl.len(), is_bad.sum().alias("broken"))
            .collect(engine="streaming")
        )
        found = {file: (rows, bad) for file, rows, bad in counts.iter_rows()}
        keyless = pl.any_horizontal(pl.col(name).is_null() for name in self.key) & is_bad
        if any(bad for _, bad in found.values()):
            parts = [again for part in parts for again in self._rewrite(part, self.schema, ~keyless)]
        for source in sources:
            rows, bad = found.get(source.name, (0, 0))
            self.rows[source.name], self.marks[source.name] = rows, source.mark
            if bad:
                self.broken[source.name] = bad
        kept = [part for part in parts if part.rows]
        self.parts += kept
        self.written |= {part.path: dict(self.schema) for part in kept}

    def notes(self) -> list[str]:
        """Say what was left out, and which records cannot be read."""
        notes = [
            f"{name}: {counted(count, 'record')} cannot be read: no output, and `error` names the line"
            for name, count in list(self.broken.items())[:NAMED]
        ]
        for reason in dict.fromkeys(self.left_out.values()):
            files = [name for name, why in self.left_out.items() if why == reason]
            notes.append(f"left out {counted(len(files), 'file')} ({reason}): {listed(files, NAMED)}")
        return notes

    def _widen(self) -> None:
        """Write data files again that were written before another file turned whole numbers into others."""
        parts = list[Part]()
        for part in self.parts:
            held = self.written[part.path]
            narrow = any(self.schema[name] != dtype for name, dtype in held.items())
            parts += self._rewrite(part, held, pl.lit(True)) if narrow else [part]
        self.parts = parts

    def _rewrite(self, part: Part, held: Mapping[str, pl.DataType], wanted: pl.Expr) -> list[Part]:
        rows = scan_parts([part], {**held, **SOURCE}).filter(wanted)
        return write_parts(
            conform(rows, {**self.schema, **SOURCE}),
            self.folder / uuid4().hex,
            self.suite.metadata,
            read=[part],
            size=None,
        )


def _by_file(values: Mapping[str, object], dtype: pl.DataType) -> pl.Expr:
    file = pl.col("source_file")
    if len(values) > LARGE_BATCH[0]:
        # It holds all rows of a streaming query, which are few in a batch of so many files.
        return file.replace_strict(
            pl.Series(list(values), dtype=pl.String), pl.Series(list(values.values()), dtype=dtype)
        )
    return pl.coalesce(pl.when(file == one).then(pl.lit(value, dtype)) for one, value in values.items())


def _broken_rows(schema: Mapping[str, pl.DataType]) -> pl.Expr:
    return is_broken() if schema.get("error") == pl.String() else pl.lit(False)


def _batches(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Put files together, up to a number and a size: small ones, and large ones."""
    sizes = {one.file: one.entry.size * (UNPACKED if one._is_packed else 1) for one in sources}
    for is_small, (most, largest) in ((True, SMALL_BATCH), (False, LARGE_BATCH)):
        batch, size = list[Source](), 0
        for source in sources:
            file_size = sizes[source.file]
            if (file_size <= SMALL_BYTES) != is_small:
                continue
            if batch and (len(batch) == most or size + file_size > largest):
                yield batch
                batch, size = [], 0
            batch.append(source)
            size += file_size
        if batch:
            yield batch
