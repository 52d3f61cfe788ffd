"""Edit distance, by the native kernels."""

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from polars_evals import _native
from polars_evals.lift import IntoText, Kernel, Missing, as_expr, lift, lift_distance
from polars_evals.options import check_common, check_flags, check_whole
from polars_evals.wording import shown

LARGEST_WEIGHT = 2**31 - 1
LARGEST_CUTOFF = 2**62


def levenshtein(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: float = 0.7,
    case_sensitive: bool = False,
    max_chars: int | None = 10_000,
    decimals: int | None = 2,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score how few single-character edits turn output into expected: 1 - edits / length of the longer.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should be. Lists of several references: the nearest counts.
    threshold
        The least score that passes.
    case_sensitive
        Whether case counts.
    max_chars
        Compare only this many characters of each text; None for all of them.
    decimals
        Round the score half up; None for no rounding.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `distance`, `output_chars` and `expected_chars` (after the cut), and what concerns turns.

    Notes
    -----
    Two empty texts score 1.0. The time for two texts of m and n characters grows with m * n / 64, and much
    more slowly where they are nearly equal.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The quick brown dog", "Something else", None]})
    >>> df.with_columns(pe.levenshtein("output", pl.lit("The quick brown fox"))).unnest("levenshtein")
    shape: (3, 3)
    ┌─────────────────────┬───────┬───────┐
    │ output              ┆ score ┆ label │
    │ ---                 ┆ ---   ┆ ---   │
    │ str                 ┆ f64   ┆ enum  │
    ╞═════════════════════╪═══════╪═══════╡
    │ The quick brown dog ┆ 0.89  ┆ pass  │
    │ Something else      ┆ 0.11  ┆ fail  │
    │ null                ┆ 0.0   ┆ fail  │
    └─────────────────────┴───────┴───────┘
    """
    return lift_edit(
        "levenshtein",
        output,
        expected,
        threshold=threshold,
        case_sensitive=case_sensitive,
        max_chars=max_chars,
        decimals=decimals,
        missing=missing,
        details=details,
    )


def levenshtein_distance(
    output: IntoText,
    expected: IntoText,
    *,
    weights: tuple[int, int, int] = (1, 1, 1),
    score_cutoff: int | None = None,
    processor: Callable[[pl.Expr], pl.Expr] | None = None,
) -> pl.Expr:
    """Count the edits that turn output into expected, as whole numbers.

    Parameters
    ----------
    output
        Texts, or lists of tokens or numbers.
    expected
        The same kind; or, for texts, lists of several references, of which the nearest counts.
    weights
        What an insertion, a deletion and a substitution cost.
    score_cutoff
        Distances above it are given as `score_cutoff + 1`.
    processor
        A function from expression to expression that both columns pass through first.

    Notes
    -----
    Null in, null out. Case counts; `processor=lambda text: text.str.to_lowercase()` makes it not count.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["kitten", "flaw", None], "expected": ["sitting", "lawn", "x"]})
    >>> df.with_columns(pe.levenshtein_distance("output", "expected"))
    shape: (3, 3)
    ┌────────┬──────────┬──────────────────────┐
    │ output ┆ expected ┆ levenshtein_distance │
    │ ---    ┆ ---      ┆ ---                  │
    │ str    ┆ str      ┆ i64                  │
    ╞════════╪══════════╪══════════════════════╡
    │ kitten ┆ sitting  ┆ 3                    │
    │ flaw   ┆ lawn     ┆ 2                    │
    │ null   ┆ x        ┆ null                 │
    └────────┴──────────┴──────────────────────┘
    """
    metric = "levenshtein_distance"
    weights = check_weights(metric, weights)
    check_whole(metric, "score_cutoff", score_cutoff, least=0, most=LARGEST_CUTOFF, optional=True)
    if processor is not None:
        output = processed(metric, processor, as_expr(metric, "output", output))
        expected = processed(metric, processor, as_expr(metric, "expected", expected))

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        return pl.DataFrame(_native.levenshtein_distance(left, right, **options()))

    def list_kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        return pl.DataFrame(_native.levenshtein_lists(left, right, **options()))

    def options() -> Any:
        return {"weights": weights, "score_cutoff": score_cutoff, "threads": pl.thread_pool_size()}

    return lift_distance(metric, output, expected, kernel, list_kernel)


def lift_edit(
    metric: str,
    output: IntoText,
    expected: IntoText,
    *,
    threshold: float,
    case_sensitive: bool,
    max_chars: int | None,
    decimals: int | None,
    missing: Missing,
    details: bool,
) -> pl.Expr:
    """Make the expression of an edit metric: all have the same options."""
    check_common(metric, threshold=threshold, missing=missing, details=details)
    check_flags(metric, case_sensitive=case_sensitive)
    check_whole(metric, "max_chars", max_chars, least=1, optional=True)
    check_whole(metric, "decimals", decimals, least=0, optional=True)
    counts_edits = metric != "jaro_winkler"
    native = partial(_native.edit_similarity, metric=metric) if counts_edits else _native.jaro_winkler

    def rounded(decimals: int | None) -> Kernel:
        return lambda left, right: pl.DataFrame(
            native(
                left,
                right,
                fold_case=not case_sensitive,
                max_chars=max_chars,
                decimals=decimals,
                details=details,
                threads=pl.thread_pool_size(),
            )
        )

    distance = {"distance": pl.Int64} if counts_edits else {}
    return lift(
        metric,
        output,
        expected,
        rounded(decimals),
        threshold=threshold,
        missing=missing,
        details=details,
        fields={**distance, "output_chars": pl.Int64, "expected_chars": pl.Int64},
        turn_kernel=rounded(None),
        decimals=decimals,
    )


def check_weights(metric: str, weights: object) -> tuple[int, int, int]:
    """Accept three whole numbers: insertion, deletion, substitution."""
    if isinstance(weights, tuple | list) and len(weights) == 3:
        whole = [isinstance(weight, int) and not isinstance(weight, bool) for weight in weights]
        if all(whole) and all(0 <= weight <= LARGEST_WEIGHT for weight in weights):
            insert, delete, substitute = weights
            return insert, delete, substitute
    raise ValueError(
        f"{metric}: `weights` must be three whole numbers (insert, delete, substitute) "
        f"from 0 to {LARGEST_WEIGHT}, got {shown(weights)}"
    )


def processed(metric: str, processor: object, column: pl.Expr) -> pl.Expr:
    """Pass a column through the user's function."""
    if not callable(processor):
        raise ValueError(f"{metric}: `processor` must be a function, got {processor!r}")
    result = processor(column)
    if not isinstance(result, pl.Expr):
        raise ValueError(f"{metric}: `processor` must return an expression, got {type(result).__name__}")
    return result
