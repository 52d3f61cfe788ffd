"""The `.evals` namespace of expressions and Series: each metric's function, with the column as its output."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, overload

import polars as pl

from polars_evals import clean, metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_evals.expressions.options import IntoText

__all__ = ["col", "evals"]

P = ParamSpec("P")

# What takes texts that are no names of columns: patterns and markers.
TAKES_TEXT = (metrics.regex_match, clean.extract_after, clean.extract_field, clean.extract_regex)


class Method(Generic[P]):
    """A metric as a method: of an expression it gives an expression, of a Series the scores at once."""

    def __init__(self, metric: Callable[Concatenate[IntoText, P], pl.Expr]) -> None:
        self.metric = metric
        self.__doc__ = metric.__doc__

    @overload
    def __get__(self, of: None, owner: type) -> Callable[Concatenate[IntoText, P], pl.Expr]: ...
    @overload
    def __get__(self, of: ExprEvals, owner: type) -> Callable[P, pl.Expr]: ...
    @overload
    def __get__(self, of: SeriesEvals, owner: type) -> Callable[P, pl.Series]: ...
    def __get__(self, of: ExprEvals | SeriesEvals | None, owner: type) -> Callable[..., Any]:
        metric = self.metric
        if of is None:
            return metric
        column = of._column

        @wraps(metric)
        def method(*args: P.args, **kwargs: P.kwargs) -> pl.Expr | pl.Series:
            if isinstance(column, pl.Expr):
                return metric(column, *args, **kwargs)
            if any(isinstance(value, str) for value in args) and metric not in TAKES_TEXT:
                raise TypeError(
                    f"{metric.__name__}: a Series has no columns to name; pass a Series or pl.lit(...)"
                )
            return pl.select(metric(column, *args, **kwargs)).to_series()

        return method


class Evals:
    """Every metric and every cleaning step."""

    bleu = Method(metrics.bleu)
    cer = Method(metrics.cer)
    choice = Method(metrics.choice)
    chrf = Method(metrics.chrf)
    contains = Method(metrics.contains)
    cosine = Method(metrics.cosine)
    damerau_levenshtein = Method(metrics.damerau_levenshtein)
    ends_with = Method(metrics.ends_with)
    exact_match = Method(metrics.exact_match)
    extract_after = Method(clean.extract_after)
    extract_boxed = Method(clean.extract_boxed)
    extract_choice = Method(clean.extract_choice)
    extract_field = Method(clean.extract_field)
    extract_json = Method(clean.extract_json)
    extract_number = Method(clean.extract_number)
    extract_regex = Method(clean.extract_regex)
    gleu = Method(metrics.gleu)
    hamming = Method(metrics.hamming)
    indel = Method(metrics.indel)
    jaccard = Method(metrics.jaccard)
    jaro_winkler = Method(metrics.jaro_winkler)
    json_fields = Method(metrics.json_fields)
    json_match = Method(metrics.json_match)
    json_schema = Method(metrics.json_schema)
    length_between = Method(metrics.length_between)
    levenshtein = Method(metrics.levenshtein)
    levenshtein_distance = Method(metrics.levenshtein_distance)
    ndcg = Method(metrics.ndcg)
    numeric_match = Method(metrics.numeric_match)
    osa = Method(metrics.osa)
    precision_at_k = Method(metrics.precision_at_k)
    recall = Method(metrics.recall)
    recall_at_k = Method(metrics.recall_at_k)
    reciprocal_rank = Method(metrics.reciprocal_rank)
    regex_match = Method(metrics.regex_match)
    response = Method(metrics.response)
    rouge = Method(metrics.rouge)
    semantic = Method(metrics.semantic)
    similarity = Method(metrics.similarity)
    starts_with = Method(metrics.starts_with)
    strip_reasoning = Method(clean.strip_reasoning)
    token_f1 = Method(metrics.token_f1)
    tool_calls = Method(metrics.tool_calls)
    tool_calls_valid = Method(metrics.tool_calls_valid)
    unfence = Method(clean.unfence)
    wer = Method(metrics.wer)


@pl.api.register_expr_namespace("evals")
class ExprEvals(Evals):
    """Metrics on expressions: `pl.col("output").evals.levenshtein(pl.col("expected"))`."""

    def __init__(self, expr: pl.Expr) -> None:
        self._column = expr


@pl.api.register_series_namespace("evals")
class SeriesEvals(Evals):
    """Metrics on Series: `df["output"].evals.levenshtein(df["expected"])`."""

    def __init__(self, series: pl.Series) -> None:
        self._column = series


@overload
def evals(column: pl.Expr) -> ExprEvals: ...
@overload
def evals(column: pl.Series) -> SeriesEvals: ...
def evals(column: pl.Expr | pl.Series) -> ExprEvals | SeriesEvals:
    """
    Return the metrics of a column: `column.evals`, typed for every type checker.

    Parameters
    ----------
    column
        An expression or a Series.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Hello World!"], "expected": ["Hello World"]})
    >>> df.select(pe.evals(pl.col("output")).levenshtein("expected")).unnest("levenshtein")
    shape: (1, 2)
    ┌───────┬───────┐
    │ score ┆ label │
    │ ---   ┆ ---   │
    │ f64   ┆ enum  │
    ╞═══════╪═══════╡
    │ 0.92  ┆ pass  │
    └───────┴───────┘
    """
    return ExprEvals(column) if isinstance(column, pl.Expr) else SeriesEvals(column)


if TYPE_CHECKING:

    class Column(pl.Expr):
        """An expression that type checkers know to have `evals`."""

        @property
        def evals(self) -> ExprEvals:
            """The metrics of this column."""


def col(name: str) -> Column:
    """
    Return `pl.col(name)` with `.evals` typed for every type checker.

    Parameters
    ----------
    name
        The name of a column.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["4"], "expected": ["4"]})
    >>> df.select(pe.col("output").evals.exact_match("expected").struct.field("score")).item()
    1.0
    """
    return pl.col(name)  # type: ignore[return-value]
