"""The `.evals` namespace of expressions and Series: each metric's function, with the column as its output."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import polars as pl

from polars_evals import metrics
from polars_evals.lift import IntoText

P = ParamSpec("P")


def of_expr(
    metric: Callable[Concatenate[IntoText, P], pl.Expr],
) -> "Callable[Concatenate[ExprEvals, P], pl.Expr]":
    """Make a metric a method of expressions."""

    @wraps(metric)
    def method(self: "ExprEvals", /, *args: P.args, **kwargs: P.kwargs) -> pl.Expr:
        return metric(self._expr, *args, **kwargs)

    return method


def of_series(
    metric: Callable[Concatenate[IntoText, P], pl.Expr],
) -> "Callable[Concatenate[SeriesEvals, P], pl.Series]":
    """Make a metric a method of Series, computed at once."""

    @wraps(metric)
    def method(self: "SeriesEvals", /, *args: P.args, **kwargs: P.kwargs) -> pl.Series:
        if any(isinstance(value, str) for value in args) and metric is not metrics.regex_match:
            raise TypeError(
                f"{metric.__name__}: a Series has no columns to name; pass a Series or pl.lit(...)"
            )
        return pl.select(metric(self._series, *args, **kwargs)).to_series()

    return method


@pl.api.register_expr_namespace("evals")
class ExprEvals:
    """Metrics on expressions: `pl.col("output").evals.levenshtein(pl.col("expected"))`."""

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    bleu = of_expr(metrics.bleu)
    chrf = of_expr(metrics.chrf)
    contains = of_expr(metrics.contains)
    cosine = of_expr(metrics.cosine)
    damerau_levenshtein = of_expr(metrics.damerau_levenshtein)
    ends_with = of_expr(metrics.ends_with)
    exact_match = of_expr(metrics.exact_match)
    hamming = of_expr(metrics.hamming)
    indel = of_expr(metrics.indel)
    jaccard = of_expr(metrics.jaccard)
    jaro_winkler = of_expr(metrics.jaro_winkler)
    json_match = of_expr(metrics.json_match)
    json_schema = of_expr(metrics.json_schema)
    length_between = of_expr(metrics.length_between)
    levenshtein = of_expr(metrics.levenshtein)
    levenshtein_distance = of_expr(metrics.levenshtein_distance)
    numeric_match = of_expr(metrics.numeric_match)
    osa = of_expr(metrics.osa)
    recall = of_expr(metrics.recall)
    regex_match = of_expr(metrics.regex_match)
    response = of_expr(metrics.response)
    rouge = of_expr(metrics.rouge)
    similarity = of_expr(metrics.similarity)
    starts_with = of_expr(metrics.starts_with)
    token_f1 = of_expr(metrics.token_f1)


@pl.api.register_series_namespace("evals")
class SeriesEvals:
    """Metrics on Series: `df["output"].evals.levenshtein(df["expected"])`."""

    def __init__(self, series: pl.Series) -> None:
        self._series = series


for _name in metrics.__all__:
    setattr(SeriesEvals, _name, of_series(getattr(metrics, _name)))
