"""Cosines: of embeddings, and of n-gram counts."""

from math import inf
from typing import Literal

import polars as pl

from polars_evals import _native
from polars_evals.lift import (
    NO_EXPECTED,
    NO_OUTPUT,
    IntoText,
    Missing,
    lift,
    lift_vectors,
    row_count,
    side_by_side,
)
from polars_evals.options import check_choice, check_common, check_flags, check_whole

# Rows at a time: products of vectors take as much memory as the vectors.
SLICE_ROWS = 4_096


def cosine(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the cosine between two vectors, as embedding models give them.

    Parameters
    ----------
    output, expected
        Two columns of List or Array of numbers.
    threshold
        The least score that passes.
    missing
        What a missing vector gives: `"fail"` scores 0.0, `"null"` gives null. A vector with a null, a NaN or
        an infinity in it is missing.
    details
        Append `reason`, why there is nothing to compare.

    Notes
    -----
    Vectors at a right angle score 0.0, and so do vectors that point apart: the cosine below 0
    counts as 0. Vectors of different length score 0.0, and so do vectors of zeros and of no numbers, which
    have no direction. The length of a vector does not matter, and no length is too large or too small. Equal
    vectors score exactly 1.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [[3.0, 4.0], [4.0, 3.0], None], "expected": [[6.0, 8.0]] * 3})
    >>> df.with_columns(pe.cosine("output", "expected")).unnest("cosine")
    shape: (3, 4)
    ┌────────────┬────────────┬───────┬───────┐
    │ output     ┆ expected   ┆ score ┆ label │
    │ ---        ┆ ---        ┆ ---   ┆ ---   │
    │ list[f64]  ┆ list[f64]  ┆ f64   ┆ enum  │
    ╞════════════╪════════════╪═══════╪═══════╡
    │ [3.0, 4.0] ┆ [6.0, 8.0] ┆ 1.0   ┆ pass  │
    │ [4.0, 3.0] ┆ [6.0, 8.0] ┆ 0.96  ┆ pass  │
    │ null       ┆ [6.0, 8.0] ┆ 0.0   ┆ fail  │
    └────────────┴────────────┴───────┴───────┘
    """
    check_common("cosine", threshold=threshold, missing=missing, details=details)

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        starts = range(0, max(row_count(left, right), 1), SLICE_ROWS)
        parts = [
            [c if len(c) == 1 else c.slice(start, SLICE_ROWS) for c in (left, right)] for start in starts
        ]
        return pl.concat([score_vectors(side_by_side(*part)) for part in parts])

    return lift_vectors(
        "cosine", output, expected, kernel, threshold=threshold, missing=missing, details=details
    )


def score_vectors(rows: pl.DataFrame) -> pl.DataFrame:
    """Score pairs of vectors, and say why where they cannot be compared."""
    left, right = pl.col("output"), pl.col("expected")
    left_peak, right_peak = pl.col("output_peak"), pl.col("expected_peak")
    reason = (
        pl.when(right.is_null() | right_peak.is_infinite()).then(pl.lit(NO_EXPECTED))
        .when(left.is_null() | left_peak.is_infinite()).then(pl.lit(NO_OUTPUT))
        .when(left.list.len() != right.list.len())
        .then(pl.format("{} numbers, expected {}", left.list.len(), right.list.len()))
        .when((left_peak == 0) | (right_peak == 0)).then(pl.lit("a vector of zeros"))
    )  # fmt: skip
    explained = rows.with_columns(output_peak=peak(left), expected_peak=peak(right)).with_columns(
        reason=reason
    )
    # Divided by their peaks, vectors can neither overflow nor vanish when they are squared.
    pairs = explained.filter(pl.col("reason").is_null()).select("row", left / left_peak, right / right_peak)
    # The root of the product, not the product of the roots: equal vectors give exactly 1.
    length = ((left * left).list.sum() * (right * right).list.sum()).sqrt()
    scored = pairs.select("row", score=((left * right).list.sum() / length).clip(0.0, 1.0))
    is_missing = pl.col("reason").is_in([NO_EXPECTED, NO_OUTPUT]).fill_null(False)
    score = pl.when(~is_missing).then(pl.col("score").fill_null(0.0))
    return explained.join(scored, on="row", how="left", maintain_order="left").select(score, "reason")


def peak(vector: pl.Expr) -> pl.Expr:
    """Give the largest number of each vector, signs apart: infinite where one is null, NaN or infinite."""
    magnitude = pl.element().abs().fill_nan(inf).fill_null(inf)
    return vector.list.eval(magnitude).list.max().fill_null(0.0)


def similarity(
    output: IntoText,
    expected: IntoText,
    *,
    unit: Literal["words", "characters"] = "words",
    n: int = 1,
    case_sensitive: bool = False,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the cosine between the n-gram counts of output and expected.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should resemble. Lists of several references: the most similar counts.
    unit
        What n-grams are made of: `"words"` between white space, or `"characters"` (code points, white space
        too).
    n
        How many neighbouring units make an n-gram. A text of fewer units is one shorter n-gram.
    case_sensitive
        Whether case counts.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append what concerns conversations.

    Notes
    -----
    Texts with the same n-grams, each as often, score exactly 1.0, and texts that share none score
    0.0. Two texts without any unit score 1.0, and one such text 0.0. The time grows with n times the length
    of the texts.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["the cat sat on the mat", "a dog ran", None]})
    >>> df.with_columns(pe.similarity("output", pl.lit("the cat is on the mat"))).unnest("similarity")
    shape: (3, 3)
    ┌────────────────────────┬───────┬───────┐
    │ output                 ┆ score ┆ label │
    │ ---                    ┆ ---   ┆ ---   │
    │ str                    ┆ f64   ┆ enum  │
    ╞════════════════════════╪═══════╪═══════╡
    │ the cat sat on the mat ┆ 0.875 ┆ pass  │
    │ a dog ran              ┆ 0.0   ┆ fail  │
    │ null                   ┆ 0.0   ┆ fail  │
    └────────────────────────┴───────┴───────┘
    """
    check_common("similarity", threshold=threshold, missing=missing, details=details)
    check_choice("similarity", "unit", unit, ("words", "characters"))
    check_whole("similarity", "n", n, least=1)
    check_flags("similarity", case_sensitive=case_sensitive)

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        return pl.DataFrame(
            _native.similarity(
                left,
                right,
                words=unit == "words",
                n=n,
                fold_case=not case_sensitive,
                threads=pl.thread_pool_size(),
            )
        )

    return lift(
        "similarity",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={},
    )
