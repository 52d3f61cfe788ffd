"""The column types of a store: those that every reader of Delta Lake and Parquet knows, and that stay."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from polars_evals.jobs.errors import InputError
from polars_evals.traces.fields import instance

# Where a row comes from, in every store. Together they name a row, and say which of two is newer.
SOURCE: dict[str, pl.DataType] = {
    "source_file": pl.String(),
    "source_time": pl.Datetime("us", "UTC"),
    "source_row": pl.Int64(),
}


def storable(dtype: pl.DataType) -> pl.DataType | None:
    """Return the type in which a store holds a column; None for one without values."""
    stored: pl.DataType | None = None
    if isinstance(dtype, pl.List | pl.Array):
        stored = pl.List(storable(instance(dtype.inner)) or pl.String())
    elif isinstance(dtype, pl.Struct):
        stored = pl.Struct({f.name: storable(instance(f.dtype)) or pl.String() for f in dtype.fields})
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
    elif not isinstance(dtype, pl.Null):
        raise InputError(f"a store cannot hold {dtype}; cast the column before")
    return stored


def merge_schemas(
    known: Mapping[str, pl.DataType], found: Mapping[str, pl.DataType]
) -> dict[str, pl.DataType]:
    """Add the columns of a frame to those that are known, or say which one does not fit."""
    merged = dict(known)
    for name, dtype in found.items():
        try:
            stored = storable(dtype)
        except InputError as error:
            raise InputError(f"column {name!r}: {error}") from None
        if stored is None:
            continue
        widened = isinstance(merged.get(name), pl.Float64) and stored == pl.Int64()
        if merged.setdefault(name, stored) != stored and not widened:
            raise InputError(f"column {name!r} is {dtype}, but {merged[name]} in the store")
    return merged


def conform(frame: pl.LazyFrame, schema: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Give a frame exactly these columns, in this order; those that it lacks are null."""
    present = frame.collect_schema()
    return frame.select(
        cast(name, present[name], dtype) if name in present else pl.lit(None, dtype).alias(name)
        for name, dtype in schema.items()
    )


def cast(name: str, held: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    """Cast a column if need be; an instant keeps its meaning in UTC."""
    column = pl.col(name)
    if held == wanted:
        return column
    if isinstance(held, pl.Datetime) and held.time_zone:
        return column.dt.convert_time_zone("UTC").cast(wanted)
    return column.cast(wanted)
