"""The names of what a record holds, how each is read, and times in any spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from polars_evals._polars import is_map
from polars_evals.lift import json_text

if TYPE_CHECKING:
    from polars.datatypes import DataTypeClass

    from polars_evals.traces.platforms.base import Platform

# Where a row comes from: its file, its record as text, and the record's number in the file.
FILE = "source_file"
LINE = "source_line"
NUMBER = "source_number"

TIME = pl.Datetime("us", "UTC")

# How each field is read where a platform does not say so: readings of src/native/traces/reading.hpp.
READINGS: Mapping[str, str] = {
    "trace_id": "text",
    "span_id": "text",
    "ts": "text",
    "end": "text",
    "question": "item",
    "input": "asked",
    "output": "answer",
    "expected": "reference",
    "tool_calls": "calls",
    "contexts": "contexts",
    "scores": "json",
}

# What a record may say beside the canonical columns, from which they are made.
HELPERS = (
    *(
        "question",
        "parent_id",
        "end",
        "status",
        "status_message",
        "error_type",
        "record",
        "latency_s",
        "latency_ns",
        "scores",
    ),
)

_OFFSET = r"[+-]\d{2}:?\d{2}$"
_COMMON_STAMP = "%Y-%m-%dT%H:%M:%S%.f%z"
_OTHER_STAMPS = ("%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%d %H:%M%z", "%Y-%m-%d %H:%M:%S%.f %z")


class Candidate(NamedTuple):
    """A place that may hold a field, and how it is read there."""

    path: str
    reading: str


def candidates(platform: Platform, name: str) -> list[Candidate]:
    """List the places of a field, best first."""
    reading = READINGS.get(name, "word")
    places = [_candidate(place, reading) for place in platform.columns.get(name, ())]
    if name == "question" and not places:
        return [Candidate(place.path, "item") for place in candidates(platform, "input")]
    if name == "record" and not platform.spans and platform.name != "generic":
        return [Candidate("$", "hash")]
    if name in ("tool_calls", "finish_reason"):
        # What an answer says of itself.
        own = "calls" if name == "tool_calls" else "finish"
        places += [
            Candidate(place.path, own)
            for place in candidates(platform, "output")
            if place.reading in ("answer", "decoded", "parsed", "chat")
        ]
    return places


def _candidate(written: str, reading: str) -> Candidate:
    path, _, named = written.partition(" as ")
    return Candidate(path, named or reading)


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
    if isinstance(dtype, pl.Struct):
        # A null struct is encoded as the text "null"; the root path turns that into a null.
        return json_text(expr).str.json_path_match("$")
    if is_map(dtype):
        entries = pl.List(pl.Struct({"key": dtype.key, "value": dtype.value}))
        return as_text(Field(expr.cast(entries), entries))
    if isinstance(dtype, pl.List | pl.Array):
        return json_text(pl.struct(value=expr)).str.json_path_match("$.value")
    return expr.cast(pl.String)


def as_time(field: Field) -> pl.Expr | None:
    """Read dates, times, or numbers since 1970, as UTC times; None for other types."""
    expr, dtype = field
    if isinstance(dtype, pl.Datetime):
        zoned = expr if dtype.time_zone else expr.dt.replace_time_zone("UTC")
        return expr if dtype == TIME else zoned.dt.convert_time_zone("UTC").cast(TIME)
    if isinstance(dtype, pl.Date):
        return expr.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if dtype.is_numeric():
        return _epoch(expr.cast(pl.Float64) if dtype.is_float() else expr.cast(pl.Int64))
    return expr.cast(TIME) if isinstance(dtype, pl.Null) else None


def with_text_as_time(frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """Read a column of texts as UTC times: ISO 8601, or numbers since 1970, each row by itself.

    ISO 8601 has a `T` or a space, any fraction, and `Z`, an offset or (UTC) nothing. This goes in steps of
    the frame, for an expression that repeats its input grows with every repetition.
    """
    text, stamp, common = pl.col(column), pl.col("__stamp"), pl.col("__common")
    bare = text.str.strip_chars().str.strip_suffix(" UTC").str.strip_suffix("Z")
    rare = pl.when(common.is_null()).then(stamp)
    number = pl.when(common.is_null() & text.str.contains(r"^\s*\d{9,}(?:\.\d+)?\s*$")).then(
        text.str.strip_chars()
    )
    return (
        frame.with_columns(__stamp=bare)
        .with_columns(__stamp=pl.when(stamp.str.len_bytes() == 10).then(stamp + "T00:00").otherwise(stamp))
        .with_columns(__stamp=pl.when(stamp.str.contains(_OFFSET)).then(stamp).otherwise(stamp + "+00:00"))
        .with_columns(__common=stamp.str.to_datetime(_COMMON_STAMP, time_unit="us", strict=False))
        .with_columns(
            pl.coalesce(
                common,
                *(rare.str.to_datetime(form, time_unit="us", strict=False) for form in _OTHER_STAMPS),
                _epoch(number.cast(pl.Int64, strict=False)),
                _epoch(number.cast(pl.Float64, strict=False)),
            ).alias(column)
        )
        .drop("__stamp", "__common")
    )


def _epoch(number: pl.Expr) -> pl.Expr:
    """Take a count since 1970 for seconds, milli-, micro- or nanoseconds by its size.

    The bounds lie a factor of a thousand apart, so that every time from 1973 to 5138 has one reading.
    """
    microseconds = (
        pl.when(number.abs() < 1e11)
        .then((number * 1_000_000).cast(pl.Int64, strict=False))
        .when(number.abs() < 1e14)
        .then((number * 1_000).cast(pl.Int64, strict=False))
        .when(number.abs() < 1e17)
        .then(number.cast(pl.Int64, strict=False))
        .otherwise((number // 1_000).cast(pl.Int64, strict=False))
    )
    return microseconds.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
