"""Tables of no platform, read as they are: all their columns, with one type for all files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import polars as pl

from polars_evals import _native
from polars_evals._polars import format_text
from polars_evals.traces.content import TraceFile
from polars_evals.traces.platforms import GENERIC
from polars_evals.traces.platforms.base import Candidate
from polars_evals.traces.read import (
    BROKEN,
    FILE,
    LINE,
    NUMBER,
    read_records,
    refuse_deep,
    scan_table,
    too_deep,
)
from polars_evals.traces.rows import CANONICAL, as_time
from polars_evals.traces.source import Field, Stream, as_text, merge_types, scan_frames

# Where a row is from: its file, its number there, and what is wrong with its record.
SOURCE: Mapping[str, pl.DataType] = {
    "source_file": pl.String(),
    "source_row": pl.Int64(),
    "source_broken": pl.String(),
}
_TEXTS = [name for name, dtype in CANONICAL.items() if isinstance(dtype, pl.String)]

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
    files: Sequence[TraceFile],
    texts: Collection[str],
    failed: dict[str, Exception],
    storage_options: dict[str, Any] | None = None,
) -> list[pl.LazyFrame]:
    """Scan tables with all their columns and those of `SOURCE`.

    Parameters
    ----------
    files
        The files.
    texts
        Columns of CSV files that stay text, whatever they look like.
    failed
        Gets the files that cannot be read, with the reason.
    """
    frames = [_scan_parquet(alike, storage_options) for alike in _alike(files)]
    for file in files:
        if file.kind == "csv":
            kept = {name: pl.String() for name in file.schema if name in {*texts, *_TEXTS}}
            frames.append(
                scan_table(file, storage_options, infer_schema_length=None, schema_overrides=kept)
                .with_row_index(NUMBER)
                .with_columns(pl.col(NUMBER).cast(pl.Int64), pl.lit(file.name).alias(FILE), _NOT_BROKEN)
            )
    records = [file for file in files if file.kind not in ("parquet", "csv")]
    if records:
        frames.append(_scan_records(Stream(GENERIC, records, {}), failed, storage_options))
    return [_finished(frame) for frame in frames]


def _alike(files: Sequence[TraceFile]) -> list[list[TraceFile]]:
    """Put small Parquet files with the same columns together."""
    groups, found = dict[object, list[TraceFile]](), list[list[TraceFile]]()
    for file in files:
        if file.kind != "parquet":
            continue
        if "://" not in file.path and os.path.getsize(file.path) <= _SMALL_BYTES:
            groups.setdefault(tuple(file.schema.items()), []).append(file)
        else:
            found.append([file])
    return [*found, *groups.values()]


def _scan_parquet(files: Sequence[TraceFile], storage_options: dict[str, Any] | None) -> pl.LazyFrame:
    """Scan Parquet files with the same columns."""
    scan = pl.scan_parquet(
        [file.path for file in files],
        glob=False,
        hive_partitioning=False,
        include_file_paths=FILE,
        row_index_name=NUMBER,
        storage_options=storage_options,
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


def _scan_records(
    stream: Stream, failed: dict[str, Exception], storage_options: dict[str, Any] | None
) -> pl.LazyFrame:
    """Scan JSON; each key is a column, with the type that fits all its values."""
    schema = _types(stream, failed, storage_options)
    source = pl.Schema({**schema, FILE: pl.String(), NUMBER: pl.Int64(), BROKEN: pl.String()})

    def frames(wanted: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        keys = [name for name in wanted if name in schema]
        places = {name: [Candidate(name, "json" if schema[name].is_nested() else "text")] for name in keys}
        for frame in stream.records(storage_options, at_once=at_once):
            found = read_records(frame.get_column(LINE), places)
            refuse_deep(frame, found)
            typed = found.select(*(_typed(name, schema[name]) for name in keys), BROKEN)
            yield typed.hstack([frame.get_column(FILE), frame.get_column(NUMBER).cast(pl.Int64) - 1])

    return scan_frames(source, frames)


def _typed(name: str, dtype: pl.DataType) -> pl.Expr:
    text = pl.col(name)
    if isinstance(dtype, pl.Boolean):
        return (text == "true").alias(name)
    if dtype.is_nested():
        return text.str.json_decode(dtype)
    return text if isinstance(dtype, pl.String) else text.cast(dtype, strict=False)


def _types(
    stream: Stream, failed: dict[str, Exception], storage_options: dict[str, Any] | None
) -> dict[str, pl.DataType]:
    """Find the type of each key in one pass over the records; files that cannot be read leave the stream."""
    schema = dict[str, pl.DataType]()
    for file in stream.files:
        own = dict[str, pl.DataType]()
        try:
            for frame in stream.only([file]).records(storage_options):
                lines = frame.get_column(LINE)
                found, deep = _native.key_kinds(lines)
                if deep >= 0:
                    raise too_deep(file, frame.get_column(NUMBER)[deep])
                for name, kinds in found:
                    own[name] = _joined(own.get(name), _type(name, kinds & ~1, lines))
        except (pl.exceptions.PolarsError, OSError) as error:
            failed[file] = error
            continue
        for name, dtype in own.items():
            schema[name] = _joined(schema.get(name), dtype)
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


def _joined(left: pl.DataType | None, right: pl.DataType) -> pl.DataType:
    """Find the type that two can be read as: text where they are of two kinds."""
    return right if left is None else merge_types(left, right, widen=True) or pl.String()


def _finished(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Read `ts` as UTC, and say of each row where it is from and what is wrong with it."""
    schema = frame.collect_schema()
    held = Field(pl.col("ts"), schema["ts"]) if "ts" in schema else None
    if held is not None and (time := as_time(held)) is not None:
        frame = frame.with_columns(ts=time)
    broken = format_text("line {}: {}", pl.col(NUMBER) + 1, BROKEN)
    own = as_text(Field(pl.col("error"), schema["error"])) if "error" in schema else pl.lit(None, pl.String)
    # Only JSON can hold a broken record.
    errors = [pl.coalesce(broken, own).alias("error")] if BROKEN in schema else []
    names = dict(zip((FILE, NUMBER, BROKEN), SOURCE, strict=True))
    return frame.with_columns(errors).select(
        pl.exclude(names), *(pl.col(name).alias(new) for name, new in names.items())
    )


def concat_tables(frames: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Put frames together: columns may come and go, and one that is of two kinds becomes text."""
    if len(frames) == 1:
        return frames[0]
    schemas = [frame.collect_schema() for frame in frames]
    joined = dict[str, pl.DataType]()
    for schema in schemas:
        for name, dtype in schema.items():
            joined[name] = _joined(joined.get(name), dtype)
    return pl.concat(
        [
            frame.select(
                (
                    pl.lit(None, dtype)
                    if name not in schema
                    else pl.col(name)
                    if schema[name] == dtype
                    else as_text(Field(pl.col(name), schema[name]))
                    if isinstance(dtype, pl.String)
                    else pl.col(name).cast(dtype)
                ).alias(name)
                for name, dtype in joined.items()
            )
            for frame, schema in zip(frames, schemas, strict=True)
        ]
    )
