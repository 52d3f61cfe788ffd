"""Score new files into data files, without holding them in memory, and set bad files apart."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals.drift.text import line
from polars_evals.jobs.errors import InputError, StoreError
from polars_evals.jobs.inputs import READ_ERRORS, Input
from polars_evals.jobs.memory import with_small_row_groups
from polars_evals.jobs.schema import SOURCE, conform, merge_schemas
from polars_evals.jobs.store import Part, scan_parts, write_parts
from polars_evals.suite import Suite
from polars_evals.traces.files import reading_copies

# Files that are scored together: enough for few data files, few enough for a small query.
BATCH_FILES = 64
BATCH_BYTES = 256 << 20
CHANGED = "it changed while it was read; the next run reads it again"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Source:
    """An input file as it was when the run began."""

    file: str
    name: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, file: str, folder: Path) -> Source:
        """Look at a file; its name is relative to the job's folder, so that both can move together."""
        about = os.stat(file)
        return cls(file, Path(os.path.relpath(file, folder)).as_posix(), about.st_size, about.st_mtime_ns)

    @property
    def mark(self) -> dict[str, int]:
        """What tells this content of the file from another."""
        return {"size": self.size, "mtime_ns": self.mtime_ns}

    def changed(self) -> bool:
        """Whether the file is another one by now."""
        try:
            about = os.stat(self.file)
        except OSError:
            return True
        return (about.st_size, about.st_mtime_ns) != (self.size, self.mtime_ns)


@dataclass
class Ingest:
    """Scores files into a staging folder, and keeps account of them."""

    source: Input
    suite: Suite
    key: Sequence[str]
    newest: str | None
    folder: Path
    progress: Callable[[int], None] = lambda _: None
    schema: dict[str, pl.DataType] = field(default_factory=dict)
    score_columns: set[str] = field(default_factory=set)
    parts: list[Part] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    marks: dict[str, dict[str, int]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def take(self, sources: Sequence[Source]) -> None:
        """Score the files; one that cannot be read or does not fit goes to `failures`."""
        for batch in batches([source for source in sources if self.fits(source)]):
            self.score(batch)

    def fits(self, source: Source) -> bool:
        """Look at a file's columns, before any work."""
        try:
            frame = self.source.scan(source.file)
            present = self.suite.score(frame).collect_schema()
            for role, names in {"key": self.key, "newest": [self.newest] if self.newest else []}.items():
                for name in names:
                    if name not in present:
                        raise InputError(f"there is no column {name!r}, which is `{role}` in [store]")
            for name in SOURCE:
                if name in present:
                    raise InputError(f"the column {name!r} has a name that the store needs; rename it")
            self.schema = merge_schemas(self.schema, present)
            given = frame.collect_schema()
            self.score_columns |= {name for name in present if name not in given}
        except (InputError, *READ_ERRORS) as error:
            self.failures[source.name] = one_line(error)
            return False
        return True

    def frame(self, sources: Sequence[Source]) -> pl.LazyFrame:
        """Make the query that scores files, each row with where it is from."""
        schema = {name: dtype for name, dtype in self.schema.items() if name not in SOURCE}
        scored = [
            conform(self.suite.score(self.source.scan(source.file)), schema)
            .with_row_index("source_row")
            .with_columns(
                source_file=pl.lit(source.name),
                source_time=pl.lit(EPOCH + timedelta(microseconds=source.mtime_ns // 1000)).cast(
                    SOURCE["source_time"]
                ),
                source_row=pl.col("source_row").cast(pl.Int64),
            )
            for source in sources
        ]
        return pl.concat(scored).select(*schema, *SOURCE)

    def score(self, sources: Sequence[Source]) -> None:
        """Score files together; if that fails, halves of them, down to the file that is the reason."""
        folder = self.folder / uuid4().hex
        copies = self.folder / f"{folder.name}-copies"
        try:
            read = {source.file: with_small_row_groups(source.file, copies) for source in sources}
            with reading_copies(read):
                frame = self.frame(sources)
            parts = write_parts(frame, folder, self.suite.metadata, read=list(read.values()))
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
            if source.changed():
                self.failures[source.name] = CHANGED
            elif self.is_at_fault(source):
                self.failures[source.name] = one_line(error)
            else:
                message = (
                    f"the scores of {source.name!r} cannot be written: {one_line(error)}; nothing was added"
                )
                raise StoreError(message) from error
        else:
            self.account(sources, parts)
        finally:
            shutil.rmtree(copies, ignore_errors=True)
        self.progress(len(sources))

    def is_at_fault(self, source: Source) -> bool:
        """Whether a file cannot be read and scored to its end, when nothing is written."""
        try:
            frame = self.suite.score(self.source.scan(source.file))
            frame.select(pl.all().null_count()).collect(engine="streaming")
        except (InputError, *READ_ERRORS):
            return True
        return False

    def account(self, sources: Sequence[Source], parts: Sequence[Part]) -> None:
        """Count the rows of each file, and set aside those of a file that cannot be kept."""
        keyless = pl.any_horizontal(pl.col(name).is_null() for name in self.key)
        counts = (
            scan_parts(parts, {**self.schema, **SOURCE})
            .group_by("source_file")
            .agg(rows=pl.len(), keyless=keyless.sum())
            .collect(engine="streaming")
        )
        found = {name: (rows, lacking) for name, rows, lacking in counts.iter_rows()}
        refused = []
        for source in sources:
            rows, lacking = found.get(source.name, (0, 0))
            if source.changed():
                self.failures[source.name] = CHANGED
            elif lacking:
                columns = ", ".join(self.key)
                self.failures[source.name] = (
                    f"{lacking:,} of {rows:,} rows have no {columns}, the key of the store; fill it in, or "
                    "choose other columns as `key`"
                )
            else:
                self.rows[source.name], self.marks[source.name] = rows, source.mark
                continue
            refused.append(source.name)
        if refused:
            parts = [self.kept(part, refused) for part in parts]
        self.parts += [part for part in parts if part.rows]

    def kept(self, part: Part, refused: Sequence[str]) -> Part:
        """Write a data file again without the rows of some files."""
        rows = scan_parts([part], {**self.schema, **SOURCE}).filter(~pl.col("source_file").is_in(refused))
        [again] = write_parts(
            rows, self.folder / uuid4().hex, self.suite.metadata, read=[part.path], size=None
        )
        return again


def batches(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Put files together, up to a number and a size."""
    batch = list[Source]()
    for source in sources:
        if batch and (
            len(batch) == BATCH_FILES or sum(one.size for one in batch) + source.size > BATCH_BYTES
        ):
            yield batch
            batch = []
        batch.append(source)
    if batch:
        yield batch


def one_line(error: BaseException) -> str:
    """Return the first line of an error, made safe to show."""
    return line(str(error).strip().split("\n")[0] or type(error).__name__)
