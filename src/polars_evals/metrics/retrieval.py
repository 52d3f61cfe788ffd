"""Ranked lists of ids, as a search gives them, against the ids that are relevant."""

from typing import Literal

import polars as pl

from polars_evals.expressions.native import as_expr, metric
from polars_evals.expressions.options import Fraction, IntoText, Missing, Positive


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
    output
        Lists of ids, the best first: texts or numbers.
    expected
        Lists of the relevant ids, in any order.
    k
        How many ids of the output count.
    threshold
        The least score that passes.
    missing
        What a missing output, or no relevant id, gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `hits`, `relevant`, `first_hit` (the place of the first relevant id) and `reason`.

    Notes
    -----
    An id that is repeated counts once, at its first place.

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
    output
        Lists of ids, the best first: texts or numbers.
    expected
        Lists of the relevant ids, in any order.
    k
        How many ids of the output count; also what is divided by, where the output has fewer.
    threshold
        The least score that passes.
    missing
        What a missing output, or no relevant id, gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `hits`, `relevant`, `first_hit` (the place of the first relevant id) and `reason`.

    Notes
    -----
    An id that is repeated counts once, at its first place.

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
    """Score how early the relevant ids come: normalized discounted cumulative gain.

    Parameters
    ----------
    output
        Lists of ids, the best first: texts or numbers.
    expected
        Lists of the relevant ids, in any order.
    k
        How many ids of the output count.
    grades
        How relevant each id is: lists of numbers from 0 on, one for each id of `expected`. Without them, each
        counts the same. In a suite the column is named with `grades_column`.
    gain
        What a grade is worth: the grade itself (`"linear"`), or 2 to its power, minus 1 (`"exponential"`).
    threshold
        The least score that passes.
    missing
        What a missing output, or no relevant id, gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `hits`, `relevant`, `first_hit` (the place of the first relevant id) and `reason`.

    Notes
    -----
    A hit at place p gains its worth / log2(p + 1); the sum is divided by that of the best order there is. An
    id that is repeated counts once, at its first place; one of grade 0 is not relevant.

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
    output
        Lists of ids, the best first: texts or numbers.
    expected
        Lists of the relevant ids, in any order.
    threshold
        The least score that passes: 0.5 asks for one of the first two places.
    missing
        What a missing output, or no relevant id, gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `hits`, `relevant`, `first_hit` (the place of the first relevant id) and `reason`.

    Notes
    -----
    The mean over many rows is the mean reciprocal rank. An id that is repeated counts once, at its first
    place.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [[7, 3, 5], [1]], "expected": [[3, 5], [2]]})
    >>> df.select(pe.reciprocal_rank("output", "expected")).unnest("reciprocal_rank")["score"].to_list()
    [0.5, 0.0]
    """
    return metric(reciprocal_rank, locals())
