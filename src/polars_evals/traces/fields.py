"""Name a value in a source file, and read it as text or as a time, whatever its type there.

A field is written ``column``, ``column.json.path`` or ``column['a key'][0]``; an arrow enters JSON that is
itself held as text: ``attributes['answer'] -> choices[0].text``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polars.datatypes import DataTypeClass

# The columns of a JSON Lines scan; the second is also added to Parquet scans.
LINE = "source_line"
FILE = "source_file"

TIME = pl.Datetime("us", "UTC")

_COLUMN = re.compile(r"[^.\[]+")
_SEGMENT = re.compile(r"\.([^.\[]+)|\['([^']*)'\]")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_ARROW = re.compile(r"\s*->\s*")

_OFFSET = r"[+-]\d{2}:?\d{2}$"
_COMMON_STAMP = "%Y-%m-%dT%H:%M:%S%.f%z"
_OTHER_STAMPS = ("%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%d %H:%M%z", "%Y-%m-%d %H:%M:%S%.f %z")


class Field(NamedTuple):
    """An expression over a source file, and the type that it has there."""

    expr: pl.Expr
    dtype: pl.DataType


class Fields:
    """The values that a group of like files holds, found by name.

    Parameters
    ----------
    schema
        The columns of a Parquet file, or the keys seen in a JSON Lines file.
    lines
        The files are JSON Lines, so that a key which was not seen may still exist.
    hive
        The names of the `name=value` folders that the files are in.
    """

    def __init__(self, schema: Mapping[str, pl.DataType], *, lines: bool, hive: tuple[str, ...] = ()) -> None:
        self.schema = dict(schema)
        self.lines = lines
        self.hive = hive
        # The keys of JSON Lines that were asked for, which a scan must then read from the lines.
        self.used: dict[str, None] = {}

    def find(self, name: str) -> Field | None:
        """Resolve a name; None where these files have no such column."""
        first, *inner = _ARROW.split(name)
        column = self.head(first)
        field = self._column(column)
        field = None if field is None else _descend(field, first[len(column) :])
        for step in inner:
            if field is not None:
                path = step.removeprefix("$")
                field = _json(field, path if path.startswith("[") or not path else f".{path}")
        return field

    def text(self, name: str) -> pl.Expr | None:
        """Resolve a name to an expression of strings."""
        field = self.find(name)
        return None if field is None else as_text(field)

    def has(self, column: str) -> bool:
        """Say whether these files are known to hold a column of exactly this name."""
        return column in self.schema or column in self.hive or column == FILE

    def knows(self, name: str) -> bool:
        """Say whether these files are known to hold the column that a name begins with."""
        return self.has(self.head(name))

    def head(self, name: str) -> str:
        """Take the column off a name: the longest that exists, for columns may have dots in their names."""
        known = [
            column
            for column in (*self.schema, *self.hive, FILE)
            if name.startswith(column) and name[len(column) :][:1] in ("", ".", "[")
        ]
        head = _COLUMN.match(name)
        return max(known, key=len, default=head.group() if head else name)

    def _column(self, name: str) -> Field | None:
        if name in (FILE, LINE) or name in self.hive:
            return Field(pl.col(name), pl.String())
        if self.lines:
            self.used[name] = None
            return Field(pl.col(name), pl.String())
        dtype = self.schema.get(name)
        return None if dtype is None else Field(pl.col(name), dtype)


def _descend(field: Field, path: str) -> Field | None:
    """Follow a JSON path into nested columns as far as their types go, then into JSON text."""
    segment = _SEGMENT.match(path)
    if segment is not None and isinstance(field.dtype, pl.Struct | pl.Map):
        key = segment.group(1) or segment.group(2)
        inner = _member(field, key)
        return None if inner is None else _descend(inner, path[segment.end() :])
    return _json(field, path) if path else field


def _json(field: Field, path: str) -> Field:
    return Field(json_value(as_text(field), path), pl.String())


def json_value(text: pl.Expr, path: str) -> pl.Expr:
    """Read the value at a path of JSON text; null where there is none, or null, or the JSON is broken.

    Parsing costs many times what a search does, and most of the places that are tried are not there: only
    texts that hold the path's keys in quotes are parsed. A key of other characters may be escaped there.
    """
    keys = [segment.group(1) or segment.group(2) for segment in _SEGMENT.finditer(path)]
    present = [text.str.contains(f'"{key}"', literal=True) for key in keys if _PLAIN_KEY.fullmatch(key)]
    if present:
        text = pl.when(*present).then(text)
    return text.str.json_path_match(f"${path}")


def _member(field: Field, key: str) -> Field | None:
    if isinstance(field.dtype, pl.Map):
        return Field(field.expr.map.get(key), instance(field.dtype.value))
    assert isinstance(field.dtype, pl.Struct)
    for member in field.dtype.fields:
        if member.name == key:
            return Field(field.expr.struct.field(key), instance(member.dtype))
    return None


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
        return expr.struct.json_encode().str.json_path_match("$")
    if isinstance(dtype, pl.Map):
        entries = pl.List(pl.Struct({"key": dtype.key, "value": dtype.value}))
        return as_text(Field(expr.cast(entries), entries))
    if isinstance(dtype, pl.List | pl.Array):
        return pl.struct(value=expr).struct.json_encode().str.json_path_match("$.value")
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
