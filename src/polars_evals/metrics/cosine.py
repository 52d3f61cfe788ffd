"""Cosines: of embeddings, and of n-gram counts."""

from typing import Literal

import polars as pl

from polars_evals import _native
from polars_evals._polars import format_text
from polars_evals.lift import NO_EXPECTED, NO_OUTPUT, IntoText, Missing, lift, lift_vectors
from polars_evals.options import check_choice, check_common, check_flags, check_whole

# How the comparison of two vectors ended, as the native kernel numbers it; 0 is well.
REASONS = {1: NO_EXPECTED, 2: NO_OUTPUT, 4: "a vector of zeros"}
MISSING = [1, 2]
LENGTHS_DIFFER = 3


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
        compared = pl.DataFrame(_native.cosine(left, right, threads=pl.thread_pool_size()))
        reason = pl.col("comparison").replace_strict(REASONS, default=None, return_dtype=pl.String)
        sizes = format_text("length {}, expected {}", "output_size", "expected_size")
        is_missing = pl.col("comparison").is_in(MISSING)
        return compared.select(
            pl.when(~is_missing).then("score").alias("score"),
            pl.when(pl.col("comparison") == LENGTHS_DIFFER).then(sizes).otherwise(reason).alias("reason"),
        )

    return lift_vectors(
        "cosine", output, expected, kernel, threshold=threshold, missing=missing, details=details
    )


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
    0.0. Two texts without any unit score 1.0, and one such text 0.0. The time grows with the length of the
    texts, and with the logarithm of n.

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
