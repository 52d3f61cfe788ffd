"""The one door to the plugin: native functions as expressions, which plans can name, share and serialize."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
from polars.plugins import register_plugin_function

from polars_evals import _native
from polars_evals._polars import SIGMA_TABLE, VERSION
from polars_evals._version import __version__
from polars_evals.expressions.options import IntoText, check_options

Fields: TypeAlias = Mapping[str, pl.DataType | type[pl.DataType]]

LABEL = pl.Enum(["fail", "pass"])

# `details` ends with these for every metric: null for single texts, for a schema must not depend on the data.
COMMON_FIELDS: Fields = {
    "turn_scores": pl.List(pl.Float64),
    "num_turns": pl.Int64,
    "num_low_scores": pl.Int64,
    "reason": pl.String,
}

# The releases whose plugin interface is the library's, 0.1.
OLDEST, NEXT = (1, 35), (3, 0)
if not OLDEST <= VERSION < NEXT:
    raise ImportError(
        f"polars-evals {__version__} needs Polars 1.35.2 to 2.x, but Polars {pl.__version__} is installed: "
        "install another version of one of them"
    )

_LIBRARY = Path(_native.__file__)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def call(
    function: str,
    columns: Sequence[IntoText],
    options: Mapping[str, Any],
    *,
    elementwise: bool = True,
) -> pl.Expr:
    """Call a native function. Row i of the result depends on row i of the columns alone, if `elementwise`."""
    if SIGMA_TABLE == "1.35":
        options = {**options, "sigma": SIGMA_TABLE}
    return register_plugin_function(
        plugin_path=_LIBRARY,
        function_name=function,
        args=list(columns),
        kwargs={"options": _encode(options)},
        is_elementwise=elementwise,
        changes_length=not elementwise,
    )


def metric(
    function: Callable[..., pl.Expr],
    arguments: Mapping[str, Any],
    *,
    columns: Sequence[str] = ("output", "expected"),
    more: Sequence[pl.Expr] = (),
    **changed: Any,
) -> pl.Expr:
    """Make the expression of a metric from the arguments of its function.

    `more` are further columns for the native function, and `changed` are options that it gets in place of
    those of the user.
    """
    name = function.__name__
    check_options(function, arguments)
    sides = [as_expr(name, side, arguments[side]) for side in columns]
    options = {key: value for key, value in arguments.items() if key not in columns}
    return call(name, [*sides, *more], {"metric": name, **options, **changed}).alias(name)


def as_expr(metric: str, argument: str, value: object) -> pl.Expr:
    """Take a column name, an expression or a Series."""
    if isinstance(value, pl.Expr):
        return value
    if isinstance(value, str):
        return pl.col(value)
    if isinstance(value, pl.Series):
        return pl.lit(value)
    raise TypeError(
        f"{metric}: `{argument}` must be an expression or a column name, got {type(value).__name__}; "
        "wrap a literal in pl.lit(...)"
    )


def result_fields(details: Fields | None) -> Fields:
    """Name the fields of a result, with the metric's own ones if details are wanted."""
    kinds: Fields = {"score": pl.Float64(), "label": LABEL}
    return kinds if details is None else {**kinds, **details, **COMMON_FIELDS}


def label(score: pl.Expr, threshold: float) -> pl.Expr:
    """Say pass or fail, or null where there is no score."""
    passed = pl.when(score >= threshold).then(pl.lit("pass", LABEL)).otherwise(pl.lit("fail", LABEL))
    return pl.when(score.is_not_null()).then(passed)
