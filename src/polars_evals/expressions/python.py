"""The one `map_batches`: what Python itself must compute. Everything around it is native here too."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from polars_evals._polars import ENCODES_PARTS
from polars_evals.expressions.native import Fields, as_expr, call, result_fields
from polars_evals.expressions.options import IntoText, check_options

# Two columns of texts in, of equal length; a frame out, with a `score` that is null where either side is.
Kernel: TypeAlias = Callable[[pl.Series, pl.Series], pl.DataFrame]


def metric(
    function: Callable[..., pl.Expr],
    arguments: Mapping[str, Any],
    kernel: Kernel,
    *,
    fields: Fields | None = None,
    columns: Sequence[str] = ("output", "expected"),
    read: Callable[[pl.Series], pl.Series] | None = None,
) -> pl.Expr:
    """Make the expression of a metric whose kernel is Python.

    `fields` is what the kernel's frame holds beside `score` where details are wanted, and it may say a
    `reason`; of several references the best counts; `read` brings columns of other types to text. With one
    column, there is no expected value to miss.
    """
    name = function.__name__
    check_options(function, arguments)
    details = arguments["details"]
    fields = fields or {}
    kinds = result_fields(fields if details else None)
    alone = {"alone": len(columns) == 1}
    options = {"metric": name, "expected": columns[-1], "places": True, **alone}
    options |= {option: arguments[option] for option in ("threshold", "missing", "details")}

    def score(series: Sequence[pl.Series]) -> pl.Series:
        if read is not None:
            series = [read(one) for one in series]
        sides = [pl.lit(one) for one in series]
        check = call("given", [*sides, pl.lit(0.0)], options)
        pl.LazyFrame().select(check).collect_schema()
        pairs = pl.select(call("pairs", sides, alone, elementwise=False)).to_series().struct.unnest()
        scored = kernel(pairs["output"], pairs["expected"])
        scores = pl.lit(scored["score"].cast(pl.Float64))
        given = pl.select(call("given", [*sides, scores], options, elementwise=False)).to_series()
        if not details:
            return given
        result = given.struct.unnest()
        chosen = [
            scored[field].cast(kind).gather(result["place"]).alias(field)
            if field in scored.columns
            else pl.Series(field, [None] * len(result), dtype=kind)
            for field, kind in fields.items()
        ]
        if "reason" in scored.columns:
            said = scored["reason"].gather(result["place"])
            chosen.append(result.select(pl.coalesce("reason", said)).to_series())
        return result.with_columns(chosen).select(list(kinds)).to_struct()

    sides = {side: arguments[side] for side in columns}
    return elementwise(name, sides, score, pl.Struct(kinds)).alias(name)


def by_row(
    function: Callable[..., Mapping[str, Any]], fields: Fields, *columns: Iterable[Any]
) -> pl.DataFrame:
    """Make the frame of a kernel from what a function says of each row; a row with a null has no score."""
    rows = (None if None in row else function(*row) for row in zip(*columns, strict=False))
    schema = {"score": pl.Float64(), **fields, "reason": pl.String()}
    return pl.DataFrame([row or {} for row in rows], schema=schema)


def elementwise(
    metric: str,
    arguments: Mapping[str, IntoText],
    function: Callable[[Sequence[pl.Series]], pl.Series],
    dtype: pl.DataType,
    *,
    whole: bool = False,
) -> pl.Expr:
    """Call `map_batches`, here and nowhere else.

    Row i of the result depends on row i of the columns alone. That lets Polars stream the metric, push
    predicates below it and run it in groups; and since Polars takes our word for it, a result of any other
    length is stopped here. Only what needs the `whole` columns is no such function.
    """

    def checked(columns: Sequence[pl.Series]) -> pl.Series:
        # A literal arrives with one row, also beside a column of none.
        rows = next((len(column) for column in columns if len(column) != 1), 1)
        result = function([column.clear() if rows == 0 else column for column in columns])
        if len(result) != rows:
            raise AssertionError(f"{metric}: {len(result)} results for {rows} rows")
        return result

    columns = [as_expr(metric, argument, value) for argument, value in arguments.items()]
    return pl.map_batches(columns, checked, return_dtype=dtype, is_elementwise=not whole)


def json_text(structs: pl.Expr) -> pl.Expr:
    """Write structs as JSON."""
    if ENCODES_PARTS:
        return structs.struct.json_encode()

    def encode(columns: Sequence[pl.Series]) -> pl.Series:
        [values] = columns
        # A copy of the part that is looked at.
        return values.gather(pl.int_range(len(values), eager=True)).struct.json_encode()

    return elementwise("json_text", {"structs": structs}, encode, pl.String())
