"""Ranked lists of ids, as a search gives them, against the ids that are relevant."""

from collections.abc import Callable, Sequence

import polars as pl
from polars.exceptions import InvalidOperationError

from polars_evals._polars import NOTHING_OF_EMPTY
from polars_evals.columns import read_tokens, side_by_side
from polars_evals.lift import (
    NO_EXPECTED,
    NO_OUTPUT,
    Fields,
    IntoText,
    Missing,
    assemble,
    elementwise,
    result_fields,
)
from polars_evals.options import check_common, check_whole

FIELDS: Fields = {"hits": pl.Int64, "relevant": pl.Int64, "first_hit": pl.Int64}


def recall_at_k(
    output: IntoText,
    expected: IntoText,
    *,
    k: int = 10,
    threshold: float = 0.8,
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
    check_whole("recall_at_k", "k", k, least=1)
    return lift_ids(
        "recall_at_k",
        output,
        expected,
        pl.col("hits") / pl.col("relevant"),
        k=k,
        threshold=threshold,
        missing=missing,
        details=details,
    )


def precision_at_k(
    output: IntoText,
    expected: IntoText,
    *,
    k: int = 10,
    threshold: float = 0.8,
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
    check_whole("precision_at_k", "k", k, least=1)
    return lift_ids(
        "precision_at_k",
        output,
        expected,
        pl.col("hits") / pl.lit(k, pl.Int64),
        k=k,
        threshold=threshold,
        missing=missing,
        details=details,
    )


def ndcg(
    output: IntoText,
    expected: IntoText,
    *,
    k: int = 10,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score how early the relevant ids come: normalized discounted cumulative gain.

    Parameters
    ----------
    output
        Lists of ids, the best first: texts or numbers.
    expected
        Lists of the relevant ids, in any order: each counts the same.
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
    A hit at place p gains 1 / log2(p + 1); the sum is divided by that of the best order there is. An id that
    is repeated counts once, at its first place.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [["a", "b"], ["b", "a"]], "expected": [["a"], ["a"]]})
    >>> df.select(pe.ndcg("output", "expected")).unnest("ndcg")["score"].round(4).to_list()
    [1.0, 0.6309]
    """
    check_whole("ndcg", "k", k, least=1)
    return lift_ids(
        "ndcg",
        output,
        expected,
        pl.col("gain") / pl.col("best_gain"),
        k=k,
        threshold=threshold,
        missing=missing,
        details=details,
    )


def reciprocal_rank(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: float = 0.5,
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
    return lift_ids(
        "reciprocal_rank",
        output,
        expected,
        (1.0 / pl.col("first_hit")).fill_null(0.0),
        k=None,
        threshold=threshold,
        missing=missing,
        details=details,
    )


def lift_ids(
    metric: str,
    output: IntoText,
    expected: IntoText,
    score: pl.Expr,
    *,
    k: int | None,
    threshold: float,
    missing: Missing,
    details: bool,
) -> pl.Expr:
    """Make the expression of a metric over ranked ids, from `hits`, `relevant`, `first_hit` and gains."""
    check_common(metric, threshold=threshold, missing=missing, details=details)
    kinds = result_fields(FIELDS if details else None)

    def run(columns: Sequence[pl.Series]) -> pl.Series:
        counted = count_hits(read_ids(metric, *columns), k)
        return assemble(
            counted.with_columns(
                pl.when(pl.col("reason").is_null()).then(pl.min_horizontal(score, 1.0)).alias("score")
            ),
            kinds,
            threshold,
            missing,
        )

    return elementwise(metric, {"output": output, "expected": expected}, run, pl.Struct(kinds)).alias(metric)


def read_ids(metric: str, left: pl.Series, right: pl.Series) -> list[pl.Series]:
    """Bring both columns to List(String). A single relevant id is a list of one."""
    if right.dtype == pl.Null:
        right = right.cast(pl.List(pl.String))
    if left.dtype == pl.Null:
        left = left.cast(pl.List(pl.String))
    if not isinstance(right.dtype, pl.List | pl.Array) and not right.dtype.is_nested():
        right = (
            pl.select(pl.concat_list(pl.lit(right))).to_series()
            if len(right)
            else right.cast(pl.List(right.dtype))
        )
    for argument, column in (("output", left), ("expected", right)):
        if not isinstance(column.dtype, pl.List | pl.Array):
            raise InvalidOperationError(
                f"{metric}: `{argument}` must be a list of ids, texts or numbers, got {column.dtype}"
            )
    return read_tokens(metric, left, right)


def count_hits(columns: Sequence[pl.Series], k: int | None) -> pl.DataFrame:
    """Count the relevant ids among the first k of each row, and say where there is nothing to count."""
    rows = side_by_side(*columns)
    ranked = distinct(rows, "output").with_columns(place=pl.int_range(1, pl.len() + 1).over("row"))
    relevant = distinct(rows, "expected")
    hits = ranked.join(relevant, left_on=["row", "output"], right_on=["row", "expected"], how="semi")
    gain = 1.0 / (pl.col("place") + 1).cast(pl.Float64).log(2.0)
    counted = (
        (hits if k is None else hits.filter(pl.col("place") <= k))
        .group_by("row")
        .agg(
            hits=pl.len().cast(pl.Int64),
            first_hit=pl.col("place").min().cast(pl.Int64),
            gain=gain.sort_by("place").sum(),
        )
    )
    total = relevant.group_by("row").agg(relevant=pl.len().cast(pl.Int64))
    joined = rows.join(counted, on="row", how="left", maintain_order="left").join(
        total, on="row", how="left", maintain_order="left"
    )
    best = pl.col("relevant") if k is None else pl.min_horizontal("relevant", pl.lit(k, pl.Int64))
    return joined.with_columns(
        pl.col("hits").fill_null(0), pl.col("gain").fill_null(0.0), best_gain=best_gains(best)
    ).with_columns(
        reason=pl.when(pl.col("relevant").is_null())
        .then(pl.lit(NO_EXPECTED))
        .when(pl.col("output").is_null())
        .then(pl.lit(NO_OUTPUT))
    )


def distinct(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    """List the ids of each row, each once, in their order."""
    return (
        rows.select("row", side)
        .explode(side, **NOTHING_OF_EMPTY)
        .drop_nulls()
        .unique(maintain_order=True, keep="first")
    )


def best_gains(places: pl.Expr) -> pl.Expr:
    """Sum the gains of that many first places."""
    gain: Callable[[pl.Expr], pl.Expr] = lambda place: 1.0 / (place + 1).cast(pl.Float64).log(2.0)  # noqa: E731
    return pl.int_ranges(1, places + 1).list.eval(gain(pl.element())).list.sum()
