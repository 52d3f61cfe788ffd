"""Ranked lists of ids, as a search gives them, against the ids that are relevant."""

from typing import Literal

import polars as pl

from polars_evals.expressions.native import as_expr, metric
from polars_evals.expressions.options import Fraction, IntoText, Missing, Positive

__all__ = ["ndcg", "precision_at_k", "recall_at_k", "reciprocal_rank"]


def recall_at_k(
    output: IntoText,
    expected: IntoText,
    *,
    k: Positive = 10,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the share of the relevant ids that are among the first k.

    Parameters
    ----------
    output, expected
        Lists of ids, the best first: texts or numbers; and lists of the relevant ids, in any order.
    k
        The number of ids of the output that count.
    threshold
        The lowest score that passes.
    missing
        No output, or no relevant id, scores 0.0 (`"fail"`) or null (`"null"`).
    details
        Append `hits`, `relevant`, `first_hit` (the place of the first relevant id) and `reason`.

    Notes
    -----
    A repeated id counts once, at its first place.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [["a", "b", "c"], ["x"]], "expected": [["b", "d"], ["x"]]})
    >>> df.select(pe.recall_at_k("output", "expected", k=3)).unnest("recall_at_k")["score"].to_list()
    [0.5, 1.0]
    """
    return metric(recall_at_k, locals())


def precision_at_k(
    output: IntoText,
    expected: IntoText,
    *,
    k: Positive = 10,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the share of relevant ids among the first k.

    Parameters
    ----------
    output, expected
        As in `recall_at_k`.
    k
        The number of ids of the output that count. The score is divided by it, even if the output has fewer.
    threshold, missing, details
        As in `recall_at_k`.

    Notes
    -----
    A repeated id counts once, at its first place.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [["a", "b", "c"], ["x"]], "expected": [["b", "c"], ["x"]]})
    >>> df.select(pe.precision_at_k("output", "expected", k=2)).unnest("precision_at_k")["score"].to_list()
    [0.5, 0.5]
    """
    return metric(precision_at_k, locals())


def ndcg(
    output: IntoText,
    expected: IntoText,
    *,
    k: Positive = 10,
    grades: IntoText | None = None,
    gain: Literal["linear", "exponential"] = "linear",
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score how early the relevant ids appear: normalized discounted cumulative gain.

    Parameters
    ----------
    output, expected
        As in `recall_at_k`.
    k
        The number of ids of the output that count.
    grades
        The relevance of each id: lists of numbers of at least 0, one for each id of `expected`. Without them
        all ids are equally relevant. In a suite, `grades_column` names the column.
    gain
        The gain of a grade: the grade itself (`"linear"`), or 2 to the power of the grade, minus 1
        (`"exponential"`).
    threshold, missing, details
        As in `recall_at_k`.

    Notes
    -----
    A hit at place p adds its gain / log2(p + 1). The sum is divided by that of the best possible order. A
    repeated id counts once, at its first place. An id of grade 0 is not relevant.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [["a", "b"], ["b", "a"]], "expected": [["a"], ["a"]]})
    >>> df.select(pe.ndcg("output", "expected")).unnest("ndcg")["score"].round(4).to_list()
    [1.0, 0.6309]
    >>> df = df.with_columns(expected=pl.lit(["a", "b"]), grades=pl.lit([3, 1]))
    >>> graded = pe.ndcg("output", "expected", grades="grades")
    >>> df.select(graded).unnest("ndcg")["score"].round(4).to_list()
    [1.0, 0.7967]
    """
    arguments = locals()
    more = [] if grades is None else [as_expr("ndcg", "grades", grades)]
    return metric(ndcg, arguments, more=more, grades=None)


def reciprocal_rank(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.5,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1 / the place of the first relevant id, or 0.0 where there is none.

    Parameters
    ----------
    output, expected
        As in `recall_at_k`.
    threshold
        The lowest score that passes. 0.5 means one of the first two places.
    missing, details
        As in `recall_at_k`.

    Notes
    -----
    The mean over many rows is the mean reciprocal rank. A repeated id counts once, at its first place.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [[7, 3, 5], [1]], "expected": [[3, 5], [2]]})
    >>> df.select(pe.reciprocal_rank("output", "expected")).unnest("reciprocal_rank")["score"].to_list()
    [0.5, 0.0]
    """
    return metric(reciprocal_rank, locals())
