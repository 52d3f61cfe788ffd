"""The columns of a store: which types it holds, how they widen, and how a frame gets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import polars as pl

from polars_evals._errors import InputError
from polars_evals.traces.source import Field, as_text, instance

Schema: TypeAlias = Mapping[str, pl.DataType]

# Where a row comes from, in every store. Together they name a row, and say which of two is newer.
SOURCE: dict[str, pl.DataType] = {
    "source_file": pl.String(),
    "source_time": pl.Datetime("us", "UTC"),
    "source_row": pl.Int64(),
}
# Of lists and objects in each other; the log is JSON, whose readers stop at 128 levels.
DEEPEST = 30


def _storable(dtype: pl.DataType) -> pl.DataType | None:
    """Return the type in which a store holds a column; None for one without values, or of empty objects."""
    if _is_void(dtype) or _is_empty(dtype):
        return None
    if isinstance(dtype, pl.List | pl.Array):
        return pl.List(_storable(instance(dtype.inner)) or pl.String())
    if isinstance(dtype, pl.Struct):
        known = {f.name: instance(f.dtype) for f in dtype.fields if not _is_void(instance(f.dtype))}
        # By name: in which order keys came must not show.
        return pl.Struct({name: _storable(held) or pl.String() for name, held in sorted(known.items())})
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", "UTC" if dtype.time_zone else None)
    if dtype.is_integer() or dtype.is_float():
        return pl.Int64() if dtype.is_integer() else pl.Float64()
    if isinstance(
        dtype, pl.String | pl.Enum | pl.Categorical | pl.Boolean | pl.Date | pl.Decimal | pl.Binary
    ):
        return pl.String() if isinstance(dtype, pl.Enum | pl.Categorical) else dtype
    raise InputError(f"a store cannot hold {dtype}; cast the column before")


def _is_empty(dtype: pl.DataType) -> bool:
    """Whether values are objects without keys."""
    return isinstance(dtype, pl.Struct) and not dtype.fields


def _is_void(dtype: pl.DataType) -> bool:
    """Whether nothing is known of a type but that there is no value: what comes later says what it is."""
    if isinstance(dtype, pl.List | pl.Array):
        return _is_void(instance(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return bool(dtype.fields) and all(_is_void(instance(field.dtype)) for field in dtype.fields)
    return isinstance(dtype, pl.Null)


def merge_schemas(known: Schema, found: Schema) -> dict[str, pl.DataType]:
    """Add the columns of a frame to those that are known, or say which one a store cannot hold."""
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
    _check_names("columns", merged)
    for name, dtype in merged.items():
        _check_nested(name, dtype, 0)
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


def conform(frame: pl.LazyFrame, schema: Schema) -> pl.LazyFrame:
    """Give a frame exactly these columns, in this order; those that it lacks are null."""
    present = frame.collect_schema()
    held = {name: pl.Null() if _is_empty(dtype) else dtype for name, dtype in present.items()}
    return frame.select(
        _convert(pl.col(name), held.get(name, pl.Null()), dtype).alias(name) for name, dtype in schema.items()
    )


def _convert(value: pl.Expr, held: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    """Convert values; an instant keeps its meaning, and inside of others an empty object is its JSON text."""
    if held == wanted or _is_void(held):
        return value if held == wanted else pl.lit(None, wanted)
    if isinstance(held, pl.Datetime) and held.time_zone:
        return value.dt.convert_time_zone("UTC").cast(wanted)
    if isinstance(held, pl.Struct) and isinstance(wanted, pl.Struct):
        present = {field.name: instance(field.dtype) for field in held.fields}
        types = {field.name: instance(field.dtype) for field in wanted.fields}
        fields = [
            _convert(value.struct.field(name), present.get(name, pl.Null()), dtype).alias(name)
            for name, dtype in types.items()
        ]
        return pl.when(value.is_not_null()).then(pl.struct(fields))
    if isinstance(held, pl.List | pl.Array) and isinstance(wanted, pl.List):
        values = value.arr.to_list() if isinstance(held, pl.Array) else value
        return values.list.eval(_convert(pl.element(), instance(held.inner), instance(wanted.inner)))
    if _is_empty(held):
        return pl.when(value.is_not_null()).then(pl.lit("{}"))
    return as_text(Field(value, held)) if isinstance(wanted, pl.String) else value.cast(wanted)


def _check_names(what: str, names: Iterable[str]) -> None:
    """Refuse names that Delta Lake cannot hold or tell apart."""
    seen = dict[str, str]()
    for name in names:
        if "\0" in name:
            raise InputError(
                f"the name {name!r} among the {what} has a null character, which a Delta table cannot hold; "
                "rename it"
            )
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InputError(
                f"the {what} {other!r} and {name!r} differ only in case, which a Delta table does not know; "
                "rename one"
            )


def _check_nested(column: str, dtype: pl.DataType, depth: int) -> None:
    """Refuse objects inside of objects beyond what the table's log can be read back with."""
    if depth > DEEPEST:
        raise InputError(
            f"the column {column!r} is nested more than {DEEPEST} levels deep, which a Delta table cannot "
            "hold; keep it as text"
        )
    if isinstance(dtype, pl.Struct):
        _check_names(f"keys of {column!r}", [field.name for field in dtype.fields])
        for field in dtype.fields:
            _check_nested(column, instance(field.dtype), depth + 1)
    elif isinstance(dtype, pl.List | pl.Array):
        _check_nested(column, instance(dtype.inner), depth + 1)
