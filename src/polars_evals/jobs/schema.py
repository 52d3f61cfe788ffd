"""The column types of a store: those that every reader of Delta Lake and Parquet knows, and that stay."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from polars_evals._errors import InputError
from polars_evals.traces.source import Field, as_text, instance

# Where a row comes from, in every store. Together they name a row, and say which of two is newer.
SOURCE: dict[str, pl.DataType] = {
    "source_file": pl.String(),
    "source_time": pl.Datetime("us", "UTC"),
    "source_row": pl.Int64(),
}


def _storable(dtype: pl.DataType) -> pl.DataType | None:
    """Return the type in which a store holds a column; None for one without values, or of empty objects."""
    stored: pl.DataType | None = None
    if isinstance(dtype, pl.List | pl.Array):
        inner = instance(dtype.inner)
        stored = None if _is_void(inner) else pl.List(_storable(inner) or pl.String())
    elif isinstance(dtype, pl.Struct) and dtype.fields:
        known = {f.name: instance(f.dtype) for f in dtype.fields if not _is_void(instance(f.dtype))}
        stored = (
            # By name: in which order keys came must not show.
            pl.Struct({name: _storable(held) or pl.String() for name, held in sorted(known.items())})
            if known
            else None
        )
    elif isinstance(dtype, pl.Datetime):
        stored = pl.Datetime("us", "UTC" if dtype.time_zone else None)
    elif dtype.is_integer():
        stored = pl.Int64()
    elif dtype.is_float():
        stored = pl.Float64()
    elif isinstance(dtype, pl.String | pl.Enum | pl.Categorical):
        stored = pl.String()
    elif isinstance(dtype, pl.Boolean | pl.Date | pl.Decimal | pl.Binary):
        stored = dtype
    elif not isinstance(dtype, pl.Null | pl.Struct):
        raise InputError(f"a store cannot hold {dtype}; cast the column before")
    return stored


def _is_void(dtype: pl.DataType) -> bool:
    """Whether nothing is known of a type but that there is no value: what comes later says what it is."""
    if isinstance(dtype, pl.List | pl.Array):
        return _is_void(instance(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return bool(dtype.fields) and all(_is_void(instance(field.dtype)) for field in dtype.fields)
    return isinstance(dtype, pl.Null)


def merge_schemas(
    known: Mapping[str, pl.DataType], found: Mapping[str, pl.DataType]
) -> dict[str, pl.DataType]:
    """Add the columns of a frame to those that are known, or say which one does not fit."""
    merged = dict(known)
    for name, dtype in found.items():
        try:
            stored = _storable(dtype)
        except InputError as error:
            raise InputError(f"column {name!r}: {error}") from None
        if stored is None:
            continue
        # A column that is text already takes anything, as text.
        is_text = isinstance(merged.setdefault(name, stored), pl.String)
        wider = pl.String() if is_text else _widen(merged[name], stored)
        if wider is None:
            raise InputError(f"column {name!r} is {dtype}, but {merged[name]} in the store")
        merged[name] = wider
    return merged


def _widen(held: pl.DataType, found: pl.DataType) -> pl.DataType | None:
    """Return the type that holds both, in whatever order they come; None if there is none."""
    if held == found:
        return held
    numbers = pl.Int64 | pl.Float64
    if isinstance(held, numbers) and isinstance(found, numbers):
        return pl.Float64()
    if isinstance(held, pl.List) and isinstance(found, pl.List):
        inner = _widen(instance(held.inner), instance(found.inner))
        return None if inner is None else pl.List(inner)
    if isinstance(held, pl.Struct) and isinstance(found, pl.Struct):
        merged = {field.name: instance(field.dtype) for field in held.fields}
        for field in found.fields:
            dtype = instance(field.dtype)
            wider = _widen(merged.setdefault(field.name, dtype), dtype)
            if wider is None:
                return None
            merged[field.name] = wider
        return pl.Struct(dict(sorted(merged.items())))
    return None


def conform(frame: pl.LazyFrame, schema: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Give a frame exactly these columns, in this order; those that it lacks are null."""
    present = frame.collect_schema()
    return frame.select(
        _cast(name, present[name], dtype) if name in present else pl.lit(None, dtype).alias(name)
        for name, dtype in schema.items()
    )


def _cast(name: str, held: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    """Cast a column if need be; an instant keeps its meaning in UTC."""
    if _is_void(held) or (isinstance(held, pl.Struct) and not held.fields):
        return pl.lit(None, wanted).alias(name)
    return _convert(pl.col(name), held, wanted).alias(name)


def _convert(value: pl.Expr, held: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    """Convert values; inside of others, an empty object becomes its JSON text."""
    if held == wanted:
        return value
    if isinstance(held, pl.Datetime) and held.time_zone:
        return value.dt.convert_time_zone("UTC").cast(wanted)
    if isinstance(held, pl.Struct) and isinstance(wanted, pl.Struct):
        present = {field.name: instance(field.dtype) for field in held.fields}
        types = {field.name: instance(field.dtype) for field in wanted.fields}
        fields = [
            _convert(value.struct.field(name), present[name], dtype).alias(name)
            if name in present and not _is_void(present[name])
            else pl.lit(None, dtype).alias(name)
            for name, dtype in types.items()
        ]
        return pl.when(value.is_not_null()).then(pl.struct(fields))
    if isinstance(held, pl.List | pl.Array) and isinstance(wanted, pl.List) and _holds_objects(held):
        values = value.arr.to_list() if isinstance(held, pl.Array) else value
        return values.list.eval(_convert(pl.element(), instance(held.inner), instance(wanted.inner)))
    if isinstance(held, pl.Struct) and not held.fields:
        return pl.when(value.is_not_null()).then(pl.lit("{}"))
    return as_text(Field(value, held)) if isinstance(wanted, pl.String) else value.cast(wanted)


def _holds_objects(dtype: pl.List | pl.Array) -> bool:
    """Whether there are objects in a list, at any depth."""
    inner = instance(dtype.inner)
    return isinstance(inner, pl.Struct) or (isinstance(inner, pl.List | pl.Array) and _holds_objects(inner))
