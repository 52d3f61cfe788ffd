"""Score new files into data files, without holding them in memory, and set bad files apart."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals._errors import InputError, StoreError
from polars_evals.jobs.inputs import CHANGED, READ_ERRORS, Input, with_utc_time
from polars_evals.jobs.memory import with_small_row_groups
from polars_evals.jobs.retention import HASH, PART
from polars_evals.jobs.schema import SOURCE, conform, merge_schemas
from polars_evals.jobs.small import PATH, ROW, Small
from polars_evals.jobs.store import Part, scan_parts, write_parts
from polars_evals.storage.objects import Entry, is_remote
from polars_evals.storage.secrets import one_line
from polars_evals.suite import Suite
from polars_evals.traces.files import reading_copies
from polars_evals.wording import counted, verb

# Scans that are scored together: enough for few data files, few enough for a small query.
BATCH_FILES, BATCH_BYTES = 64, 256 << 20
# Small files that are alike are one scan, which holds more of them at a time, and all of their rows.
BATCH_ALIKE, ALIKE_BYTES = 1024, 16 << 20
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
    def size(self) -> int:
        """The number of bytes."""
        return self.entry.size

    @property
    def mark(self) -> dict[str, int | str]:
        """What tells this content of the file from another."""
        mark: dict[str, int | str] = {"size": self.entry.size, "mtime_ns": self.entry.time_ns}
        return {**mark, "etag": self.entry.etag} if self.entry.etag else mark

    @property
    def time(self) -> datetime:
        """When the file was written."""
        return EPOCH + timedelta(microseconds=self.entry.time_ns // 1000)

    def changed(self) -> bool:
        """Whether the file is another one by now; the copy of an object is of the one that was listed."""
        if self.entry.etag:
            return False
        try:
            about = os.stat(self.file)
        except OSError:
            return True
        return (about.st_size, about.st_mtime_ns) != (self.entry.size, self.entry.time_ns)


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
    failures: dict[str, str] = field(init=False, default_factory=dict)
    # The columns with which each part was written, as long as they can still change.
    written: dict[str, dict[str, pl.DataType]] = field(init=False, default_factory=dict)
    # The columns of each file that fits, and of likenesses that fit, with which another file has them.
    columns: dict[str, pl.Schema] = field(init=False, default_factory=dict)
    alike: dict[Hashable, pl.Schema] = field(init=False, default_factory=dict)
    # The files of a batch that are read with others.
    small: dict[str, Small] = field(init=False, default_factory=dict)

    def take(self, sources: Sequence[Source]) -> Ingest:
        """Score the files, and return the account; one that cannot be read or does not fit is in `failures`.

        Files agree on columns before any is scored. If one that had a say in them cannot be taken after all,
        the others begin again without it: what did not fit it may fit them.
        """
        account = replace(self, schema=dict(self.schema), score_columns=set(self.score_columns))
        account.take_all(sources)
        late = {name: why for name, why in account.failures.items() if name in account.columns}
        if not late or account.schema == account.agreed(self.schema):
            account.widen()
            return account
        for part in account.parts:
            Path(part.path).unlink()
        rest = [one for one in sources if one.name not in late]
        account = replace(self, progress=lambda _: None).take(rest)
        account.failures |= late
        return account

    def take_all(self, sources: Sequence[Source]) -> None:
        """Score the files with the columns that they agree on."""
        for batch in batches(sources, BATCH_ALIKE):
            with self.source.copies(
                {one.file: one.entry for one in batch}, self.folder / f"{uuid4().hex}-inputs"
            ) as unread:
                here = [one for one in batch if one.file not in unread]
                for one in batch:
                    if one.file in unread:
                        self.failures[one.name] = unread[one.file]
                self.progress(len(batch) - len(here))
                fitting = [one for one in here if self.fits(one)]
                for few in (*self.piles(fitting), *batches(self.others(fitting), BATCH_FILES)):
                    self.score(few)
                self.small.clear()

    def agreed(self, schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Add the columns of the files that were taken to those of the store."""
        taken = {id(self.columns[name]): self.columns[name] for name in self.rows}
        for found in taken.values():
            schema = merge_schemas(schema, found)
        return dict(schema)

    def others(self, sources: Sequence[Source]) -> list[Source]:
        """Choose the files that are read by themselves."""
        return [source for source in sources if source.file not in self.small]

    def groups(self, sources: Sequence[Source]) -> Iterable[list[Source]]:
        """Divide the small files by their likeness."""
        alike = dict[Hashable, list[Source]]()
        for source in sources:
            if source.file in self.small:
                alike.setdefault(self.small[source.file].likeness, []).append(source)
        return alike.values()

    def piles(self, sources: Sequence[Source]) -> Iterator[list[Source]]:
        """Put small files together: those that are alike beside each other, and few likenesses at a time."""
        pile, size, scans = list[Source](), 0, 0
        for group in self.groups(sources):
            scans += 1
            for source in group:
                more = self.small[source.file].size
                if pile and (len(pile) == BATCH_ALIKE or size + more > ALIKE_BYTES or scans > BATCH_FILES):
                    yield pile
                    pile, size, scans = [], 0, 1
                pile.append(source)
                size += more
        if pile:
            yield pile

    def fits(self, source: Source) -> bool:
        """Look at a file's columns, before any work."""
        try:
            small = self.source.small(source.file, source.size)
            known = None if small is None else self.alike.get(small.likeness)
            columns = self.check(source) if known is None else known
            self.columns[source.name] = columns
            if small is not None:
                self.alike[small.likeness] = columns
                self.small[source.file] = small
        except (InputError, *READ_ERRORS) as error:
            self.failures[source.name] = self.told(source, error)
            self.progress(1)
            return False
        return True

    def check(self, source: Source) -> pl.Schema:
        """Insist that the store can hold what a file has, and take its columns over."""
        frame = self.source.scan(source.file)
        present = self.suite.score(frame).collect_schema()
        for role, names in {"key": self.key, "newest": [self.newest] if self.newest else []}.items():
            for name in names:
                if name not in present and name not in SOURCE:
                    raise InputError(f"there is no column {name!r}, which is `{role}` in [store]")
        for name in (*SOURCE, HASH, PART):
            if name in present:
                raise InputError(f"the column {name!r} has a name that the store needs; rename it")
        merged = merge_schemas(self.schema, present)
        self.check_schema(merged)
        self.schema = merged
        given = frame.collect_schema()
        self.score_columns |= {name for name in present if name not in given}
        return present

    def frame(self, sources: Sequence[Source]) -> pl.LazyFrame:
        """Make the query that scores files, each row with where it is from."""
        schema = {name: dtype for name, dtype in self.schema.items() if name not in SOURCE}
        frames = [self.together(group, schema) for group in self.groups(sources)]
        for source in self.others(sources):
            scored = conform(self.suite.score(self.source.scan(source.file)), schema)
            frames.append(
                scored.with_row_index("source_row").with_columns(
                    source_file=pl.lit(source.name),
                    source_time=pl.lit(source.time).cast(SOURCE["source_time"]),
                    source_row=pl.col("source_row").cast(pl.Int64),
                )
            )
        return pl.concat(frame.select(*schema, *SOURCE) for frame in frames)

    def together(self, sources: Sequence[Source], schema: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Make the query that scores files that are alike, in one scan."""
        small = [self.small[source.file] for source in sources]
        read = [one.path for one in small]

        def told(values: Sequence[object], dtype: pl.DataType) -> pl.Expr:
            return pl.col(PATH).replace_strict(
                pl.Series(read, dtype=pl.String), pl.Series(values, dtype=dtype), return_dtype=dtype
            )

        row = pl.col(ROW).cast(pl.Int64)
        placed = with_utc_time(small[0].way.scan(read)).with_columns(
            source_row=row - row.min().over(PATH),
            source_file=told([source.name for source in sources], pl.String()),
            source_time=told([source.time for source in sources], SOURCE["source_time"]),
        )
        # A file of another likeness may have columns of these names.
        return conform(self.suite.score(placed.drop(PATH, ROW)), {**schema, **SOURCE})

    def accepted(self, sources: Sequence[Source]) -> list[Source]:
        """Set files apart whose likes are taken, but which cannot be."""
        refused = set[str]()
        for group in self.groups(sources):
            paths = {self.small[source.file].path: source for source in group}
            for path, reason in self.small[group[0].file].way.refused(list(paths)).items():
                self.failures[paths[path].name] = self.told(paths[path], InputError(reason))
                refused.add(paths[path].file)
        return [source for source in sources if source.file not in refused]

    def score(self, sources: Sequence[Source]) -> None:
        """Score files together; if that fails, halves of them, down to the file that is the reason."""
        folder = self.folder / uuid4().hex
        copies = self.folder / f"{folder.name}-copies"
        try:
            taken = self.accepted(sources)
            held = [self.source.copy(one.file) for one in self.others(taken)]
            read = {file: with_small_row_groups(file, copies) for file in held}
            with_others = [self.small[one.file] for one in taken if one.file in self.small]
            parts = list[Part]()
            if taken:
                with reading_copies(read):
                    frame = self.frame(taken)
                parts = write_parts(frame, folder, self.suite.metadata, read=[*read.values(), *with_others])
        except (InputError, *READ_ERRORS) as error:
            # A half needs the room.
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(copies, ignore_errors=True)
            if len(sources) > 1:
                middle = len(sources) // 2
                self.score(sources[:middle])
                self.score(sources[middle:])
                return
            [source] = sources
            if self.small.pop(source.file, None):
                # By itself it may be readable after all, or say better what is wrong with it.
                self.score(sources)
                return
            if source.changed():
                self.failures[source.name] = CHANGED
            elif self.is_at_fault(source):
                self.failures[source.name] = self.told(source, error)
            else:
                message = (
                    f"the scores of {source.name!r} cannot be written: {one_line(error)}; nothing was added"
                )
                raise StoreError(message) from error
        else:
            self.account(taken, parts)
        finally:
            shutil.rmtree(copies, ignore_errors=True)
        self.progress(len(sources))

    def told(self, source: Source, error: BaseException) -> str:
        """Say what is wrong with a file, by its own name also where a copy was read."""
        return one_line(error).replace(self.source.copy(source.file), source.file)

    def is_at_fault(self, source: Source) -> bool:
        """Whether a file cannot be read, scored and converted to its end, when nothing is written."""
        try:
            self.frame([source]).select(pl.all().null_count()).collect(engine="streaming")
        except (InputError, *READ_ERRORS):
            return True
        return False

    def account(self, sources: Sequence[Source], parts: Sequence[Part]) -> None:
        """Count the rows of each file, and set aside those of a file that cannot be kept."""
        counts = (
            scan_parts(parts, {**self.schema, **SOURCE})
            .group_by("source_file")
            .agg(pl.len(), *(pl.col(name).is_null().sum().alias(f"no {name}") for name in self.key))
            .collect(engine="streaming")
        )
        found = {name: (rows, lacking) for name, rows, *lacking in counts.iter_rows()}
        refused = []
        for source in sources:
            rows, lacking = found.get(source.name, (0, []))
            if source.changed():
                self.failures[source.name] = CHANGED
            elif any(lacking):
                columns = " or ".join(name for name, none in zip(self.key, lacking, strict=True) if none)
                self.failures[source.name] = (
                    f"{max(lacking):,} of {counted(rows, 'row')} {verb(max(lacking), 'has', 'have')} no "
                    f"{columns}, a key of the store; fill it in "
                    'or choose other columns as `key`: every row has ["source_file", "source_row"]'
                )
            else:
                self.rows[source.name], self.marks[source.name] = rows, source.mark
                continue
            refused.append(source.name)
        if refused:
            wanted = ~pl.col("source_file").is_in(refused)
            parts = [again for part in parts for again in self.again(part, self.schema, wanted)]
        kept = [part for part in parts if part.rows]
        self.parts += kept
        self.written |= {part.path: dict(self.schema) for part in kept}

    def widen(self) -> None:
        """Write data files again that were written before another file turned whole numbers into others."""
        parts = list[Part]()
        for part in self.parts:
            held = self.written[part.path]
            narrow = any(self.schema[name] != dtype for name, dtype in held.items())
            parts += self.again(part, held, pl.lit(True)) if narrow else [part]
        self.parts = parts

    def again(self, part: Part, held: Mapping[str, pl.DataType], wanted: pl.Expr) -> list[Part]:
        """Write some rows of a data file again, with the columns as they are known now."""
        rows = scan_parts([part], {**held, **SOURCE}).filter(wanted)
        return write_parts(
            conform(rows, {**self.schema, **SOURCE}),
            self.folder / uuid4().hex,
            self.suite.metadata,
            read=[part],
            size=None,
        )


def batches(sources: Sequence[Source], most: int, largest: int = BATCH_BYTES) -> Iterator[list[Source]]:
    """Put files together, up to a number and a size."""
    batch, size = list[Source](), 0
    for source in sources:
        if batch and (len(batch) == most or size + source.size > largest):
            yield batch
            batch, size = [], 0
        batch.append(source)
        size += source.size
    if batch:
        yield batch
