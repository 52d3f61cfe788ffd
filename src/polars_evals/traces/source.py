"""Files of one platform as one lazy scan: tables (Parquet, CSV), and streams of records."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple, Self

import polars as pl
from polars.io.plugins import register_io_source

from polars_evals import _native
from polars_evals._polars import TIME_CASTS, format_text
from polars_evals.expressions.python import elementwise, json_text
from polars_evals.traces.content import TraceFile, beginnings
from polars_evals.traces.platforms import GENERIC
from polars_evals.traces.platforms.base import Candidate, Platform
from polars_evals.traces.read import (
    BATCH_BYTES,
    BROKEN,
    FILE,
    KEPT,
    LINE,
    NUMBER,
    as_record,
    encodable,
    read_records,
    read_text,
    record_frames,
    refuse_deep,
    scan_table,
    too_deep,
)

if TYPE_CHECKING:
    from polars.datatypes import DataTypeClass

TIME = pl.Datetime("us", "UTC")


class Field(NamedTuple):
    """An expression over a source file, and the type that it has there."""

    expr: pl.Expr
    dtype: pl.DataType


def instance(dtype: DataTypeClass | pl.DataType) -> pl.DataType:
    """Take a type written as a class, as Polars' nested types may hold it, as an instance."""
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def as_text(field: Field) -> pl.Expr:
    """Read a field as strings: nested values become JSON, a string stays as it is."""
    expr, dtype = field
    if isinstance(dtype, pl.String):
        return expr
    if not dtype.is_nested():
        return expr.cast(pl.String)
    # A null is encoded as the text "null"; the path turns that into a null.
    return json_text(pl.struct(value=encodable(expr, dtype))).str.json_path_match("$.value")


_OFFSET = r"[+-]\d{2}:?\d{2}$"
_COMMON_STAMP = "%Y-%m-%dT%H:%M:%S%.f%z"
_OTHER_STAMPS = ("%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%d %H:%M%z", "%Y-%m-%d %H:%M:%S%.f %z")


def as_time(field: Field) -> pl.Expr | None:
    """Read dates, times, texts, or numbers since 1970, as UTC times; None for other types."""
    expr, dtype = field
    if isinstance(dtype, pl.String):
        return text_as_time(expr)
    if isinstance(dtype, pl.Datetime):
        zoned = expr if dtype.time_zone else expr.dt.replace_time_zone("UTC")
        return expr if dtype == TIME else zoned.dt.convert_time_zone("UTC").cast(TIME)
    if isinstance(dtype, pl.Date):
        return expr.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if dtype.is_numeric():
        return _epoch(expr.cast(pl.Float64) if dtype.is_float() else expr.cast(pl.Int64))
    return expr.cast(TIME) if isinstance(dtype, pl.Null) else None


def text_as_time(texts: pl.Expr) -> pl.Expr:
    """Read ISO 8601 (`T` or a space, any fraction, `Z`, an offset or none) or numbers since 1970 as UTC."""
    return elementwise("scan_traces", {"ts": texts}, _texts_as_times, TIME)


def _texts_as_times(batch: Sequence[pl.Series]) -> pl.Series:
    # In steps, for an expression that repeats its input grows with every repetition.
    text, stamp, common = pl.col("text"), pl.col("stamp"), pl.col("common")
    steps = (
        batch[0]
        .alias("text")
        .to_frame()
        .with_columns(stamp=text.str.strip_chars().str.strip_suffix(" UTC").str.strip_suffix("Z"))
        .with_columns(stamp=pl.when(stamp.str.len_bytes() == 10).then(stamp + "T00:00").otherwise(stamp))
        .with_columns(stamp=pl.when(stamp.str.contains(_OFFSET)).then(stamp).otherwise(stamp + "+00:00"))
        .with_columns(common=stamp.str.to_datetime(_COMMON_STAMP, time_unit="us", strict=False))
    )
    times = steps.get_column("common")
    if times.null_count() == batch[0].null_count():
        return times
    rare = pl.when(common.is_null()).then(stamp)
    number = pl.when(common.is_null() & text.str.contains(r"^\s*\d{9,}(?:\.\d+)?\s*$")).then(
        text.str.strip_chars()
    )
    return steps.select(
        pl.coalesce(
            common,
            *(rare.str.to_datetime(form, time_unit="us", strict=False) for form in _OTHER_STAMPS),
            _epoch(number.cast(pl.Int64, strict=False)),
            _epoch(number.cast(pl.Float64, strict=False)),
        )
    ).to_series()


def _epoch(number: pl.Expr) -> pl.Expr:
    """Take a count since 1970 for seconds, milli-, micro- or nanoseconds by its size, from 1973 to 5138."""
    microseconds = (
        pl.when(number.abs() < 1e11)
        .then(number * 1_000_000)
        .when(number.abs() < 1e14)
        .then(number * 1_000)
        .when(number.abs() < 1e17)
        .then(number)
        .otherwise(number // 1_000)
    )
    return microseconds.cast(pl.Int64, strict=False).cast(TIME)


@dataclass
class Group:
    """Files of one platform that one scan reads."""

    platform: Platform
    members: list[TraceFile]
    # The columns or keys of all of them.
    schema: dict[str, pl.DataType]
    # Those that say the same in all of the first records.
    constant: frozenset[str] = frozenset()

    @property
    def files(self) -> list[str]:
        """The names of the files."""
        return [member.name for member in self.members]

    @property
    def hive(self) -> tuple[str, ...]:
        """The folders named `key=value`, the same for all files."""
        return self.members[0].hive if self.members else ()

    def only(self, members: Sequence[TraceFile]) -> Self:
        """Take some of the files, before fields are asked of them."""
        return replace(self, members=list(members))

    def _with_folders(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Add what folders named `key=value` say."""
        return rows.with_columns(
            pl.col(FILE).str.extract(rf"(?:^|/){re.escape(key)}=([^/]*)/").alias(key) for key in self.hive
        )


class Table(Group):
    """Files of one kind whose columns have types that agree."""

    def scan(self) -> pl.LazyFrame:
        """Scan the files."""
        if self.members[0].kind == "csv":
            tables = [
                scan_table(member).with_columns(pl.lit(member.name).alias(FILE)) for member in self.members
            ]
            return self._with_folders(pl.concat(tables, how="diagonal"))
        names = {member.path: member.name for member in self.members}
        are_copies = list(names) != self.files
        table = pl.scan_parquet(
            list(names),
            schema={name: dtype for name, dtype in self.schema.items() if name not in self.hive},
            glob=False,
            hive_partitioning=bool(self.hive) and not are_copies,
            hive_schema=None if are_copies else dict.fromkeys(self.hive, pl.String()) or None,
            missing_columns="insert",
            extra_columns="ignore",
            # Times are converted by the scan itself, so that a filter on them can skip row groups.
            cast_options=pl.ScanCastOptions(
                datetime_cast=list(TIME_CASTS.values()),
                missing_struct_fields="insert",
                extra_struct_fields="ignore",
            ),
            storage_options=self.members[0].storage_options,
            include_file_paths=FILE,
        )
        return self._with_folders(table.with_columns(pl.col(FILE).replace(names))) if are_copies else table

    def _columns_of(self, path: str) -> list[str]:
        """List the columns that a path may lead to: its own, and those that have counted names."""
        if path == "$":
            return list(self.schema)
        known = beginnings(path, (*self.schema, *self.hive, FILE))
        counted = re.compile(rf"{re.escape(path)}\.\d+\.")
        return [max(known, key=len)] if known else [name for name in self.schema if counted.match(name)]

    def field(self, places: Sequence[Candidate]) -> Field | None:
        """Find a field: a column itself where that is all there is to it, so that filters reach the scan."""
        present = [(place, columns) for place in places if (columns := self._columns_of(place.path))]
        if not present:
            return None
        whole = [
            place
            for place, columns in present
            if columns == [place.path] and place.reading in ("text", "word")
        ]
        dtypes = {self.schema.get(place.path, pl.String()) for place in whole}
        if len(whole) == len(present) and not any(dtype.is_nested() for dtype in dtypes):
            if len(whole) == 1 and (whole[0].reading == "text" or pl.String() not in dtypes):
                return Field(pl.col(whole[0].path), dtypes.pop())
            return Field(pl.coalesce(self._plain(place) for place in whole), pl.String())
        used = dict.fromkeys(column for _, columns in present for column in columns)
        record = as_record({name: self.schema.get(name, pl.String()) for name in used})
        return Field(read_text(record, [place for place, _ in present]), pl.String())

    def source_field(self, path: str, reading: str = "text") -> Field | None:
        """Find what a user names: a column or a path into one."""
        return self.field([Candidate(path, reading)])

    def _plain(self, place: Candidate) -> pl.Expr:
        """Take a column as text, without the ways to write that there is none."""
        text = as_text(Field(pl.col(place.path), self.schema.get(place.path, pl.String())))
        return text if place.reading == "text" else text.replace(["", "null", "{}"], None)

    def knows(self, name: str) -> bool:
        """Say whether a path begins with a column of these files."""
        return bool(self._columns_of(name))


@dataclass
class Stream(Group):
    """Files of records."""

    # Whether the platform must take the records apart.
    unpacks: bool = False
    # The fields that were asked for, and so must be read from the records.
    used: dict[str, Sequence[Candidate]] = field(default_factory=dict, init=False)
    # The source's own keys that were asked for, which unpacking must keep.
    kept: list[str] = field(default_factory=list, init=False)
    # Fields that are not needed where another one is there: hashes in the place of ids.
    unless: dict[str, str] = field(default_factory=dict, init=False)

    def field(self, places: Sequence[Candidate]) -> Field | None:
        """Find a field; folders named `key=value` stand in for keys that the records lack."""
        if not places:
            return None
        name = f"@{len(self.used)}"
        self.used[name] = list(places)
        folders = [pl.col(place.path) for place in places if place.path in self.hive]
        return Field(pl.coalesce(pl.col(name), *folders) if folders else pl.col(name), pl.String())

    def source_field(self, path: str, reading: str = "text") -> Field | None:
        """Find what a user names: a key or a path of the records as they are in the file."""
        if path in (FILE, LINE) or path in self.hive:
            return Field(pl.col(path), pl.String())
        places = [Candidate(path, reading)]
        if self.unpacks:
            self.kept.extend({path, path.partition(".")[0].partition("[")[0]} - set(self.kept))
            places = [Candidate(f"{KEPT}.{path}", reading), *places]
        return self.field(places)

    def knows(self, name: str) -> bool:
        """Say whether a path begins with a key that was seen."""
        return bool(beginnings(name, (*self.schema, *self.hive, FILE, LINE)))

    def scan(self) -> pl.LazyFrame:
        """Scan the files: the fields that are used, as texts."""
        texts = dict.fromkeys((*self.used, FILE, LINE, BROKEN), pl.String())
        schema = pl.Schema({**texts, NUMBER: pl.Int64()})

        def source(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
        ) -> Iterator[pl.DataFrame]:
            wanted = list(schema) if columns is None else columns
            fields = {name: places for name, places in self.used.items() if name in wanted}
            # A caller who wants a few rows does not wait for those of other files.
            for frame in self.records(at_once=BATCH_BYTES if rows is None else 0):
                if fields or BROKEN in wanted:
                    values = read_records(frame.get_column(LINE), fields, self.unless)
                    refuse_deep(frame, values)
                    frame.hstack(values, in_place=True)
                found = frame if predicate is None else frame.filter(predicate)
                if rows is not None:
                    found = found.head(rows)
                    rows -= found.height
                yield found.select(wanted)
                if rows == 0:
                    return

        return self._with_folders(register_io_source(source, schema=schema))

    def records(self, *, at_once: int = BATCH_BYTES, passed: Container[str] = ()) -> Iterator[pl.DataFrame]:
        """Read the records, those of small files together; of a file in `passed`, no more is read."""
        held, size = list[pl.DataFrame](), 0
        unpack = self.platform.unpack if self.unpacks else None
        for member in self.members:
            for frame in record_frames(member, self.platform.lists, unpack, kept=self.kept):
                if member.name in passed:
                    break
                name = pl.Series(FILE, [member.name], pl.String).new_from_index(0, frame.height)
                held.append(frame.insert_column(frame.width, name))
                size += int(frame.estimated_size())
                if size >= at_once:
                    yield pl.concat(held)
                    held, size = [], 0
        if held:
            yield pl.concat(held)


def merge_schemas(
    left: Mapping[str, pl.DataType], right: Mapping[str, pl.DataType], *, widen: bool = False
) -> dict[str, pl.DataType] | None:
    """Merge columns, which may come and go; None where a type changes."""
    merged = dict(left)
    for name, dtype in right.items():
        both = _merge_types(left.get(name, dtype), dtype, widen=widen)
        if both is None:
            return None
        merged[name] = both
    return merged


def _merge_types(left: pl.DataType, right: pl.DataType, *, widen: bool = False) -> pl.DataType | None:
    """Find the type that both can be read as: structs take all fields, with `widen` numbers become floats."""
    if left == right or isinstance(right, pl.Null):
        return left
    if isinstance(left, pl.Null):
        return right
    if widen and left.is_numeric() and right.is_numeric():
        return pl.Float64()
    if isinstance(left, pl.Struct) and isinstance(right, pl.Struct):
        fields = merge_schemas(_members(left), _members(right), widen=widen)
        return None if fields is None else pl.Struct(fields)
    if isinstance(left, pl.List) and isinstance(right, pl.List):
        inner = _merge_types(instance(left.inner), instance(right.inner), widen=widen)
        return None if inner is None else pl.List(inner)
    return None


def _members(dtype: pl.Struct) -> dict[str, pl.DataType]:
    return {member.name: instance(member.dtype) for member in dtype.fields}


# Where a row is from: its file, as it was given or found, its number there, from 0, and what is wrong with
# its record; null where nothing is.
SOURCE: Mapping[str, pl.DataType] = {
    "source_file": pl.String(),
    "source_row": pl.Int64(),
    "source_broken": pl.String(),
}

_NOT_BROKEN = pl.lit(None, pl.String).alias(BROKEN)

# Parquet files up to this size are read with others.
_SMALL_BYTES = 1 << 20

# Kinds of JSON values, as `key_kinds` says them.
_BOOL, _INT, _FLOAT, _ARRAY, _OBJECT = 2, 4, 8, 32, 64
_PLAIN: Mapping[int, pl.DataType] = {
    0: pl.Null(),
    _BOOL: pl.Boolean(),
    _INT: pl.Int64(),
    _FLOAT: pl.Float64(),
    _INT | _FLOAT: pl.Float64(),
}


def scan_tables(
    files: Sequence[TraceFile], texts: Collection[str], failed: dict[str, Exception]
) -> list[pl.LazyFrame]:
    """Scan tables with all their columns and those of `SOURCE`.

    The columns `texts` of CSV files stay text. `failed` gets the files that cannot be read.
    """
    frames = [_scan_parquet(alike) for alike in _alike(files)]
    for file in files:
        if file.kind == "csv":
            kept = {name: pl.String() for name in file.schema if name in texts}
            frames.append(
                scan_table(file, infer_schema_length=None, schema_overrides=kept)
                .with_row_index(NUMBER)
                .with_columns(pl.col(NUMBER).cast(pl.Int64), pl.lit(file.name).alias(FILE), _NOT_BROKEN)
            )
    records = [file for file in files if file.kind not in ("parquet", "csv")]
    if records:
        frames.append(_scan_records(Stream(GENERIC, records, {}), failed))
    return [_finished(frame) for frame in frames]


def _alike(files: Sequence[TraceFile]) -> list[list[TraceFile]]:
    """Put small Parquet files with the same columns together."""
    groups, large = dict[object, list[TraceFile]](), list[list[TraceFile]]()
    for file in (file for file in files if file.kind == "parquet"):
        if "://" not in file.path and os.path.getsize(file.path) <= _SMALL_BYTES:
            groups.setdefault(tuple(file.schema.items()), []).append(file)
        else:
            large.append([file])
    return [*large, *groups.values()]


def _scan_parquet(files: Sequence[TraceFile]) -> pl.LazyFrame:
    """Scan Parquet files with the same columns."""
    scan = pl.scan_parquet(
        [file.path for file in files],
        glob=False,
        hive_partitioning=False,
        include_file_paths=FILE,
        row_index_name=NUMBER,
        storage_options=files[0].storage_options,
    )
    row = pl.col(NUMBER).cast(pl.Int64)
    # `replace` holds all rows of a streaming query: large files stand alone.
    name = pl.lit(files[0].name)
    if len(files) > 1:
        # Asked of the files alone: a window over their rows would hold all of them.
        first = scan.select(FILE, NUMBER).group_by(FILE).agg(row.min()).collect(engine="streaming")
        row -= pl.col(FILE).replace_strict(first[FILE], first[NUMBER], return_dtype=pl.Int64)
        name = pl.col(FILE).replace({file.path: file.name for file in files})
    return scan.with_columns(row).with_columns(name.alias(FILE), _NOT_BROKEN)


def _scan_records(stream: Stream, failed: dict[str, Exception]) -> pl.LazyFrame:
    """Scan JSON; each key is a column, with the type that fits all its values."""
    columns = list[pl.Expr]()
    for name, dtype in _types(stream, failed).items():
        text = f"@{len(columns)}"
        stream.used[text] = [Candidate(name, "json" if dtype.is_nested() else "text")]
        columns.append(_typed(pl.col(text), dtype).alias(name))
    return stream.scan().select(*columns, FILE, pl.col(NUMBER) - 1, BROKEN)


def _typed(text: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Boolean):
        return text == "true"
    if dtype.is_nested():
        return text.str.json_decode(dtype)
    return text if isinstance(dtype, pl.String) else text.cast(dtype, strict=False)


def _types(stream: Stream, failed: dict[str, Exception]) -> dict[str, pl.DataType]:
    """Find the type of each key in one pass over the records; files that cannot be read leave the stream."""
    schema = dict[str, pl.DataType]()
    for file in stream.members:
        own = dict[str, pl.DataType]()
        try:
            for frame in stream.only([file]).records():
                lines = frame.get_column(LINE)
                found, deep = _native.key_kinds(lines)
                if deep >= 0:
                    raise too_deep(file.name, frame.get_column(NUMBER)[deep])
                _join(own, {name: _type(name, kinds & ~1, lines) for name, kinds in found})
            _join(schema, own)
        except (pl.exceptions.PolarsError, OSError) as error:
            failed[file.name] = error
    stream.members[:] = [file for file in stream.members if file.name not in failed]
    return schema


def _type(name: str, kinds: int, lines: pl.Series) -> pl.DataType:
    """Say which type fits a key's values, some of which may be null."""
    if kinds not in (_ARRAY, _OBJECT):
        return _PLAIN.get(kinds, pl.String())
    held = read_records(lines, {"value": [Candidate(name, "json")]}).get_column("value").drop_nulls()
    written = b"\n".join(b'{"value":' + text.encode() + b"}" for text in held)
    try:
        found = pl.read_ndjson(BytesIO(written), infer_schema_length=None).schema["value"]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return pl.String()
    # An object without keys has no type of its own: others say what it is.
    return found if not isinstance(found, pl.Struct) or found.fields else pl.Null()


def _join(schema: dict[str, pl.DataType], other: Mapping[str, pl.DataType]) -> None:
    """Add columns to others: one that is of two kinds becomes text."""
    for name, dtype in other.items():
        schema[name] = _merge_types(schema.get(name, dtype), dtype, widen=True) or pl.String()


def _finished(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Read `ts` as UTC, and say of each row where it is from and what is wrong with it."""
    schema = frame.collect_schema()
    if "ts" in schema and (time := as_time(Field(pl.col("ts"), schema["ts"]))) is not None:
        frame = frame.with_columns(ts=time)
    broken = format_text("line {}: {}", pl.col(NUMBER) + 1, BROKEN)
    own = [as_text(Field(pl.col("error"), schema["error"]))] if "error" in schema else []
    names = dict(zip((FILE, NUMBER, BROKEN), SOURCE, strict=True))
    return frame.with_columns(error=pl.coalesce(broken, *own)).select(
        pl.exclude(names), *(pl.col(name).alias(new) for name, new in names.items())
    )


def stack_frames(frames: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Put frames together: columns may come and go, and one that is of two kinds becomes text."""
    if len(frames) == 1:
        return frames[0]
    schemas = [frame.collect_schema() for frame in frames]
    joined = dict[str, pl.DataType]()
    for schema in schemas:
        _join(joined, schema)
    alike = [
        frame.with_columns(
            as_text(Field(pl.col(name), dtype))
            if joined[name] == pl.String()
            else pl.col(name).cast(joined[name])
            for name, dtype in schema.items()
            if dtype != joined[name]
        )
        for frame, schema in zip(frames, schemas, strict=True)
    ]
    return pl.concat(alike, how="diagonal")
