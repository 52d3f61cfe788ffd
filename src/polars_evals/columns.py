"""Columns as kernels take them: of equal length or one, and of few types."""

from collections.abc import Sequence

import polars as pl
from polars.exceptions import InvalidOperationError


def row_count(*columns: pl.Series) -> int:
    """Count the rows of a result: a literal arrives with one row, also beside a column of none."""
    return next((len(column) for column in columns if len(column) != 1), 1)


def align(columns: Sequence[pl.Series], rows: int) -> list[pl.Series]:
    """Take the row of a literal away where there are none, and make a column of nothing a list beside one."""
    columns = [column.clear() if rows == 0 else column for column in columns]
    lists = [pl.List(inner_dtype(c)) for c in columns if isinstance(c.dtype, pl.List | pl.Array)]
    return [c.cast(lists[0]) if c.dtype == pl.Null and lists else c for c in columns]


def side_by_side(left: pl.Series, right: pl.Series) -> pl.DataFrame:
    """Put two columns in a frame, literals repeated, with the number of each row."""
    rows = row_count(left, right)
    columns = [c if len(c) == rows else c.new_from_index(0, rows) for c in (left, right)]
    return pl.DataFrame([columns[0].alias("output"), columns[1].alias("expected")]).with_row_index("row")


def read_text(metric: str, argument: str, column: pl.Series) -> pl.Series:
    """Bring a column to String or List(String)."""
    dtype = column.dtype
    if dtype == pl.String or dtype == pl.List(pl.String):
        return column
    if dtype in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    if isinstance(dtype, pl.List | pl.Array) and dtype.inner in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.List(pl.String))
    raise InvalidOperationError(
        f"{metric}: `{argument}` must be text (String, Categorical, Enum) or a list of texts, got {dtype}"
    )


def read_vector(metric: str, argument: str, column: pl.Series) -> pl.Series:
    """Bring a column to List(Float64)."""
    dtype = column.dtype
    if isinstance(dtype, pl.List | pl.Array):
        inner = inner_dtype(column)
        if inner.is_float() or inner.is_integer() or inner == pl.Null:
            return column.cast(pl.List(pl.Float64))
    if dtype == pl.Null:
        return column.cast(pl.List(pl.Float64))
    raise InvalidOperationError(f"{metric}: `{argument}` must be a List or Array of numbers, got {dtype}")


def read_tokens(metric: str, left: pl.Series, right: pl.Series) -> list[pl.Series]:
    """Bring two lists to List(String), so that equal tokens or numbers become equal texts."""
    kinds = [inner_dtype(column) for column in (left, right)]
    for argument, column, kind in zip(("output", "expected"), (left, right), kinds, strict=True):
        if kind.is_nested() or kind in (pl.Object, pl.Binary):
            raise InvalidOperationError(
                f"{metric}: `{argument}` must be a list of texts or numbers, got {column.dtype}"
            )
    texts = [kind in (pl.String, pl.Categorical, pl.Enum) for kind in kinds]
    numbers = [kind.is_numeric() for kind in kinds]
    if not (pl.Null in kinds or all(texts) or all(numbers) or kinds[0] == kinds[1]):
        raise InvalidOperationError(
            f"{metric}: cannot compare {left.dtype} with {right.dtype}; cast one to the other"
        )
    columns = [left, right]
    if all(numbers) and any(kind.is_float() for kind in kinds):
        # -0.0 is another text than 0.0, but the same number.
        number = pl.when(pl.element() == 0).then(0.0).otherwise(pl.element())
        columns = [column.cast(pl.List(pl.Float64)).list.eval(number) for column in columns]
    elif all(numbers) and any(kind.is_decimal() for kind in kinds):
        scale = max(getattr(kind, "scale", 0) for kind in kinds)
        columns = [column.cast(pl.List(pl.Decimal(38, scale))) for column in columns]
    return [column.cast(pl.List(pl.String)) for column in columns]


def inner_dtype(column: pl.Series) -> pl.DataType:
    """Give the dtype of a list's elements."""
    inner = column.dtype.inner  # type: ignore[attr-defined]
    return inner() if isinstance(inner, type) else inner  # type: ignore[no-any-return]
