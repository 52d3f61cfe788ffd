"""Score new files: for a job in batches into data files of its store, or all into one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl

from polars_evals._errors import ConfigError, InputError, StoreError
from polars_evals.jobs.columns import SOURCE, Schema, conform, merge_schemas
from polars_evals.jobs.inputs import READ_ERRORS, Input, row_bytes, small_steps
from polars_evals.jobs.store import HASH, PART, Part, Parts, Writer, find_store, scan_parts
from polars_evals.storage import atomic
from polars_evals.storage.objects import CHANGED, Entry, is_remote, open_folder
from polars_evals.storage.secrets import one_line
from polars_evals.suite import Suite, signatures
from polars_evals.suite.lint import describe_unlabelled, unlabelled
from polars_evals.suite.signature import SIGNATURE
from polars_evals.traces.detect import UNKNOWN
from polars_evals.traces.scan import Reading, is_broken
from polars_evals.traces.source import SOURCE as READ_FROM
from polars_evals.wording import counted, listed, verb, without_query

if TYPE_CHECKING:
    from polars_evals.jobs.config import Job

ENDINGS = (".parquet", ".pq")
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
        return cls(file, relative(file, folder), Entry.of(os.stat(file)))

    @property
    def _is_packed(self) -> bool:
        return self.file.lower().endswith(PACKED)

    @property
    def mark(self) -> dict[str, int | str]:
        """What tells this content of the file from another."""
        etag = {"etag": self.entry.etag} if self.entry.etag else {}
        return {"size": self.entry.size, "mtime_ns": self.entry.time_ns, **etag}

    @property
    def time(self) -> datetime:
        """When the file was written."""
        return EPOCH + timedelta(microseconds=self.entry.time_ns // 1000)

    def change(self) -> str | None:
        """Say that the file is another one by now; the copy of an object is of the one that was listed."""
        if self.entry.etag:
            return None
        try:
            return None if Entry.of(os.stat(self.file)) == self.entry else CHANGED
        except OSError:
            return f"{self.file!r} no longer exists"


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
    """Scores files of a job into a staging folder, and keeps account of them."""

    job: Job
    writer: Writer
    progress: Callable[[int], None] = lambda _: None
    schema: dict[str, pl.DataType] = field(default_factory=dict)
    score_columns: set[str] = field(default_factory=set)
    parts: list[Part] = field(init=False, default_factory=list)
    # The files that were taken: what tells their content from another, and how many rows they have.
    taken: dict[str, dict[str, Any]] = field(init=False, default_factory=dict)
    # Files that cannot be taken; files that hold no traces; and how many records of a file cannot be read.
    failures: dict[str, str] = field(init=False, default_factory=dict)
    left_out: dict[str, str] = field(init=False, default_factory=dict)
    broken: dict[str, int] = field(init=False, default_factory=dict)
    # Files of no known format: whether they are left out does not depend on the batch that they were read in.
    strays: list[Source] = field(init=False, default_factory=list)
    # The columns with which each part was written, as long as they can still change.
    written: dict[str, dict[str, pl.DataType]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        # The columns of the key that inputs must have.
        self._key = [name for name in self.job.store.key if name not in SOURCE]
        self._needed = list(dict.fromkeys([*_columns_of(self.job.suite), *self._key]))

    def take(self, sources: Sequence[Source]) -> None:
        """Score the files; one that cannot be read or does not fit is in `failures`."""
        for batch in _batches(sources):
            entries = {one.file: one.entry for one in batch}
            copies = self.writer.folder / f"{uuid4().hex}-inputs"
            with self.job.input.copies(entries, copies) as (paths, unread):
                self.failures |= {
                    one.name: one.change() or unread[one.file] for one in batch if one.file in unread
                }
                self._score([one for one in batch if one.file in paths], paths)
            self.progress(len(batch))
        if self.schema:
            for one in self.strays:
                del self.failures[one.name]
                self.leave_out(one, UNKNOWN)
        # Another file may have turned whole numbers into others.
        self.parts = [new for part in self.parts for new in self.widened([part], self.written[part.path])]

    def leave_out(self, source: Source, reason: str) -> None:
        """Note a file that holds no traces; it is not looked at again unless it changes."""
        self.left_out[source.name] = reason
        self.taken[source.name] = {**source.mark, "rows": 0}

    def _score(self, sources: Sequence[Source], paths: Mapping[str, str]) -> None:
        """Score files together; if that fails, halves of them, down to the file that is the reason."""
        if not sources:
            return
        try:
            reading = self._read(sources, paths)
            for one in sources:
                if one.file in reading.failed:
                    change, reason = one.change(), reading.failed[one.file]
                    self.failures[one.name] = change or reason.replace(paths[one.file], one.file)
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
            parts = self.writer.write(frame, longest)
        except (InputError, *READ_ERRORS) as error:
            if len(sources) > 1:
                middle = len(sources) // 2
                self._score(sources[:middle], paths)
                self._score(sources[middle:], paths)
            else:
                self._set_apart(sources[0], paths, error)
            return
        counts = self._count_rows(parts, schema)
        if refused := self._unfit_files(sources, counts):
            # Without them, as they may have had a say in the types of columns.
            for part in parts:
                os.unlink(part.path)
            self.failures |= refused
            self._score([one for one in sources if one.name not in refused], paths)
            return
        self.schema = schema
        self.score_columns |= added
        self._account(sources, parts, counts)

    def _read(self, sources: Sequence[Source], paths: Mapping[str, str]) -> Reading:
        return self.job.input.read({one.file: paths[one.file] for one in sources}, self._needed, apart=True)

    def _query(
        self, reading: Reading, sources: Sequence[Source]
    ) -> tuple[pl.LazyFrame, dict[str, pl.DataType], set[str]]:
        """Make the query that scores files; returns also the columns of the store and those of scores."""
        assert reading.frame is not None
        frame = reading.frame.drop("source_broken")
        given = frame.collect_schema()
        newest = self.job.store.newest
        for role, names in {"key": self.job.store.key, "newest": [newest] if newest else []}.items():
            for name in names:
                if name not in given and name not in SOURCE:
                    raise InputError(f"there is no column {name!r}, which is `{role}` in [store]")
        for name in ("source_time", HASH, PART):
            if name in given:
                raise InputError(f"the column {name!r} has a name that the store reserves; rename it")
        scored = self.job.suite.score(frame)
        present = scored.collect_schema()
        rows = {name: dtype for name, dtype in present.items() if name not in SOURCE}
        schema = merge_schemas(self.schema, rows)
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
            frame, *_ = self._query(self._read([source], paths), [source])
            frame.select(pl.all().null_count()).collect(engine="streaming")
        except (InputError, *READ_ERRORS):
            return True
        return False

    def _count_rows(self, parts: Parts, schema: Schema) -> dict[str, list[int]]:
        """Count for each file its rows, its broken records, and the others that lack a column of the key."""
        is_bad = _broken_rows(schema)
        lacking = ((pl.col(name).is_null() & ~is_bad).sum().alias(f"no {name}") for name in self._key)
        files = scan_parts(parts, {**schema, **SOURCE}).group_by("source_file")
        counts = files.agg(pl.len(), is_bad.sum().alias("broken"), *lacking).collect(engine="streaming")
        return {file: numbers for file, *numbers in counts.iter_rows()}

    def _unfit_files(self, sources: Sequence[Source], counts: Mapping[str, Sequence[int]]) -> dict[str, str]:
        """Find the files that cannot be kept: they changed meanwhile, or have rows without a key."""
        known = {one.name: change for one in sources if (change := one.change())}
        for file, (rows, bad, *nulls) in counts.items():
            if none := " or ".join(name for name, count in zip(self._key, nulls, strict=True) if count):
                known.setdefault(
                    file,
                    f"{max(nulls):,} of {counted(rows - bad, 'row')} {verb(max(nulls), 'has', 'have')} no "
                    f"{none}, a key of the store; fill it in or choose other columns as `key`: every row has "
                    '["source_file", "source_row"]',
                )
        return known

    def _account(self, sources: Sequence[Source], parts: Parts, counts: Mapping[str, Sequence[int]]) -> None:
        """Keep account of the files, and leave out broken records, which have no key."""
        if any(bad for _, bad, *_ in counts.values()):
            keyless = pl.any_horizontal(pl.col(name).is_null() for name in self.job.store.key)
            wanted = ~(keyless & _broken_rows(self.schema))
            parts = self.rewrite(scan_parts(parts, {**self.schema, **SOURCE}).filter(wanted), parts)
        for source in sources:
            rows, bad, *_ = counts.get(source.name, (0, 0))
            self.taken[source.name] = {**source.mark, "rows": rows}
            if bad:
                self.broken[source.name] = bad
        self.parts += parts
        self.written |= {part.path: self.schema for part in parts}

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

    def widened(self, parts: Parts, held: Schema) -> list[Part]:
        """Write data files with some columns again if these have other types by now."""
        if all(self.schema[name] == dtype for name, dtype in held.items()):
            return list(parts)
        return self.rewrite(scan_parts(parts, {**held, **SOURCE}), parts)

    def rewrite(self, rows: pl.LazyFrame, parts: Parts) -> list[Part]:
        """Write rows of data files again, with the columns of now."""
        return self.writer.write(conform(rows, {**self.schema, **SOURCE}), parts)


def _by_file(values: Mapping[str, object], dtype: pl.DataType) -> pl.Expr:
    file = pl.col("source_file")
    if len(values) > LARGE_BATCH[0]:
        # It holds all rows of a streaming query, which are few in a batch of so many files.
        return file.replace_strict(
            pl.Series(list(values), dtype=pl.String), pl.Series(list(values.values()), dtype=dtype)
        )
    return pl.coalesce(pl.when(file == one).then(pl.lit(value, dtype)) for one, value in values.items())


def _broken_rows(schema: Schema) -> pl.Expr:
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


def score_files(
    source: Input | str | Path | Sequence[str | Path], suite: Suite, output: str | Path
) -> dict[str, Any]:
    """
    Score files into one Parquet file, streaming: they need not fit in memory.

    Parameters
    ----------
    source
        Files, folders and patterns, also of object stores; an `Input` also says how to read them.
    suite
        The metrics.
    output
        The Parquet file to write, on this machine or in an object store. It is there once it is complete.

    Returns
    -------
    dict
        How many rows came from how many files, and for each metric the mean score and the pass rate.

    Raises
    ------
    ConfigError, InputError
        If the output is no Parquet file, or an input cannot be read; the error names it.

    Examples
    --------
    >>> import polars_evals as pe
    >>> from polars_evals.jobs import score_files
    >>> done = score_files("data/traces.parquet", pe.Suite([pe.Metric("exact_match")]), "scored.parquet")
    >>> done["rows"], done["files"], list(done["metrics"])
    (2160, 1, ['exact_match'])
    """
    if not isinstance(source, Input):
        source = Input([str(path) for path in ([source] if isinstance(source, str | Path) else source)])
    output = str(output)
    if not output.lower().endswith(ENDINGS):
        raise ConfigError(f"scores are written as Parquet: output must end in .parquet, got {output!r}")
    if not is_remote(output) and Path(output).is_dir():
        raise ConfigError(f"the output {output!r} is a folder; name a file")
    listing = source.listed()
    if any(_is_same(file, output) for file in listing.files):
        raise InputError(f"{output!r} is one of the inputs; write the scores to another file")
    with _working_folder(output) as work:
        entries = {file: listing.entries.get(file, Entry(0, 0)) for file in listing.files}
        with source.copies(entries, work / "inputs") as (paths, unread):
            for file, reason in unread.items():
                raise InputError(reason if file in reason else f"{file}: {reason}")
            reading = _score_into(written := work / "scored", source, paths, suite)
        found = summary(written, suite)
        if is_remote(output):
            folder, _, name = output.rpartition("/")
            open_folder(folder, source.storage_options).take(str(written), name)
        else:
            atomic.replace(written, Path(output))
    return {
        "output": output,
        "files": len(reading.files),
        "left_out": {**listing.left_out, **reading.left_out},
        **found,
    }


def read_all(source: Input, paths: Mapping[str, str], suite: Suite) -> tuple[Reading, pl.LazyFrame]:
    """Read all files to one frame; one that cannot be read is an error."""
    reading = source.read(paths, _columns_of(suite), name_models=True)
    frame = reading.require(f"there is nothing to score: {listed(reading.left_out, 3)} is empty")
    return reading, frame.drop([name for name in READ_FROM if name not in source.keep])


def _score_into(written: Path, source: Input, paths: Mapping[str, str], suite: Suite) -> Reading:
    reading, frame = read_all(source, paths, suite)
    try:
        with small_steps(max(row_bytes(paths[file]) for file in reading.files)) as rows:
            suite.sink_parquet(frame, written, engine="streaming", row_group_size=rows)
    except pl.exceptions.PolarsError:
        for file in reading.files:
            _check_file(source, file, paths[file])
        raise
    return reading


def _check_file(source: Input, file: str, path: str) -> None:
    """Read a file to its end; if that fails, name it."""
    one = source.read({file: path}, ())
    try:
        if one.frame is not None:
            one.frame.select(pl.all().null_count()).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        reason = without_query(str(error))
        raise InputError(reason if file in reason else f"cannot read {file!r}: {reason}") from None


def _working_folder(output: str) -> AbstractContextManager[Path]:
    """Give a folder next to the output, or on this machine for one in an object store."""
    if is_remote(output):
        return atomic.temporary_folder(Path(mkdtemp(prefix="polars-evals-")))
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not with the name of the output in it, which may be as long as a name can be.
    return atomic.temporary_folder(path.with_name(f".{uuid4().hex}"))


def _columns_of(suite: Suite) -> list[str]:
    return list(dict.fromkeys(column for metric in suite.metrics for column in metric.columns))


def _is_same(file: str, output: str) -> bool:
    if is_remote(file) or is_remote(output):
        return file == output
    return os.path.exists(output) and os.path.samefile(file, output)


def summary(path: Path, suite: Suite) -> dict[str, Any]:
    """Read means and pass rates back from the file that was written."""
    names = [str(metric.name) for metric in suite.metrics]
    scored = pl.scan_parquet(path, glob=path.stem == "*")
    columns = scored.collect_schema()
    without = unlabelled(suite.metrics, columns)
    totals = scored.select(
        pl.len().alias("rows"),
        (is_broken().sum() if "error" in columns else pl.lit(0)).alias("broken"),
        pl.struct(
            pl.struct(
                mean=pl.col(f"{name}_score").mean(), pass_rate=(pl.col(f"{name}_label") == "pass").mean()
            ).alias(name)
            for name in names
        ).alias("metrics"),
        *(lacking.sum().alias(f"unlabelled:{name}") for name, lacking in without.items()),
    )
    found = totals.collect(engine="streaming").row(0, named=True)
    missing = {name: count for name in without if (count := found[f"unlabelled:{name}"])}
    warnings = [
        describe_unlabelled(suite.metrics, name, count, found["rows"]) for name, count in missing.items()
    ]
    if (hint := _cleaning_hint(scored, columns)) is not None:
        warnings.append(hint)
    if found["broken"]:
        warnings.append(
            f"{counted(found['broken'], 'record')} cannot be read; each is a row without an output, and "
            "`error` names its line"
        )
    return {
        "rows": found["rows"],
        "broken": found["broken"],
        "unlabelled": missing,
        "warnings": warnings,
        "metrics": found["metrics"],
        "signatures": suite.signature,
    }


# A reference longer than this is no answer that a sentence would contain.
_SHORT = 64


def _cleaning_hint(scored: pl.LazyFrame, columns: Schema) -> str | None:
    """Say so where outputs never equal the expected value, but mostly contain it: "ANSWER: A" and "A"."""
    if columns.get("output") != pl.String() or columns.get("expected") != pl.String():
        return None
    output, expected = pl.col("output").str.strip_chars(), pl.col("expected").str.strip_chars()
    word = pl.format(r"(?:^|\W){}(?:\W|$)", expected.str.escape_regex())
    short = scored.filter(
        output.is_not_null(), expected.str.len_chars().is_between(1, _SHORT), output.str.len_chars() > 0
    ).head(1_000)
    found = short.select(
        pl.len().alias("rows"),
        (output.str.to_lowercase() == expected.str.to_lowercase()).sum().alias("equal"),
        output.str.contains(word).sum().alias("contained"),
        (expected.str.len_chars() == 1).all().alias("letters"),
    ).collect(engine="streaming")
    rows, equal, contained, letters = found.row(0)
    if rows < 2 or equal or contained < rows / 2:
        return None
    way = "use the metric `choice`" if letters else "clean them in a suite, for example with `extract_after`"
    return (
        f"no output equals its expected value, but {contained / rows:.0%} of the outputs contain it: {way}, "
        "or compare with `contains`"
    )


def scan_scored(paths: Sequence[str], *, storage_options: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """
    Scan scored files, or the store of a job; scores that were made in different ways are refused.

    Files of one machine and of a cluster can be mixed: their signatures are in metadata or in columns, labels
    are words of a fixed set or any text, and times have a zone or are in UTC.

    Parameters
    ----------
    paths
        Parquet files, folders or patterns; or the one folder of a job's store.
    storage_options
        Options for object stores, as in `pl.scan_parquet`.
    """
    if len(paths) == 1 and not paths[0].lower().endswith(ENDINGS):
        snapshot = find_store(paths[0], storage_options)
        if snapshot is not None:
            return snapshot.scan()
    files = Input(paths, storage_options=storage_options).files()
    options = dict(storage_options) if storage_options else None
    try:
        made = signatures(files, storage_options=options)
    except ValueError as error:
        raise InputError(str(error)) from None
    frames = [
        pl.scan_parquet(file, glob=False, storage_options=options if is_remote(file) else None)
        for file in files
    ]
    return frames[0] if len(frames) == 1 else _concat(frames, made)


def _concat(frames: Sequence[pl.LazyFrame], made: Mapping[str, str]) -> pl.LazyFrame:
    """Put scored tables together that one machine, Ray and Spark may have written."""
    schemas = [frame.collect_schema() for frame in frames]
    names = {name for schema in schemas for name in schema}
    signed = {
        f"{metric}{SIGNATURE}": text for metric, text in made.items() if f"{metric}{SIGNATURE}" in names
    }
    zoned = {name for name in names if len({_zone_of(schema.get(name)) for schema in schemas} - {None}) > 1}
    alike = [
        frame.with_columns(
            *(pl.lit(text).alias(name) for name, text in signed.items() if name not in schema),
            *(_in_utc(name, schema[name]) for name in schema if name in zoned),
        )
        for frame, schema in zip(frames, schemas, strict=True)
    ]
    return pl.concat(alike, how="diagonal_relaxed")


def _zone_of(dtype: pl.DataType | None) -> str | None:
    """Name the zone of a column of times, blank if it has none; None for anything else."""
    return dtype.time_zone or "" if isinstance(dtype, pl.Datetime) else None


def _in_utc(name: str, dtype: pl.DataType) -> pl.Expr:
    times = pl.col(name).dt
    return times.convert_time_zone("UTC") if _zone_of(dtype) else times.replace_time_zone("UTC")
