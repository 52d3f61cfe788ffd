"""Edits that turn one text into another; RapidFuzz defines most of these metrics."""

from collections.abc import Callable
from typing import Annotated, Any

import polars as pl

from polars_evals.expressions.native import as_expr, metric
from polars_evals.expressions.options import Fraction, IntoText, Missing, Natural, Positive, Range
from polars_evals.wording import shown

__all__ = [
    "cer",
    "damerau_levenshtein",
    "hamming",
    "indel",
    "jaro_winkler",
    "levenshtein",
    "levenshtein_distance",
    "osa",
]

LARGEST_WEIGHT = 2**31 - 1
LARGEST_CUTOFF = 2**62


def levenshtein(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.7,
    case_sensitive: bool = False,
    max_chars: Positive | None = 10_000,
    decimals: Natural | None = 2,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the similarity by single-character edits: 1 - edits / length of the longer text.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Of several references the nearest counts.
    threshold
        The lowest score that passes.
    case_sensitive
        Whether to distinguish case.
    max_chars
        Compare only this many characters of each text; None for all of them.
    decimals
        Round the score half up; None for no rounding.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `distance`, `output_chars` and `expected_chars` (after the cut), and the fields for
        conversations.

    Notes
    -----
    Two empty texts score 1.0. The time for two texts of m and n characters grows with m * n / 64, and much
    more slowly if they are nearly equal.

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
    return metric(levenshtein, locals())


def damerau_levenshtein(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.7,
    case_sensitive: bool = False,
    max_chars: Positive | None = 10_000,
    decimals: Natural | None = 2,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score like `levenshtein`, but count a swap of two neighbours as one edit.

    Parameters
    ----------
    output, expected, threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    Unlike in `osa`, swapped characters may be edited again: "ca" to "abc" takes 2 edits. Equal to
    RapidFuzz's `DamerauLevenshtein`. The time for two texts of m and n characters grows with m * n; `osa` is
    much faster.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["recieve", "ca", None], "expected": ["receive", "abc", "x"]})
    >>> score = pe.damerau_levenshtein("output", "expected").struct.field("score")
    >>> df.select(score)["score"].to_list()
    [0.86, 0.33, 0.0]
    """
    return metric(damerau_levenshtein, locals())


def osa(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.7,
    case_sensitive: bool = False,
    max_chars: Positive | None = 10_000,
    decimals: Natural | None = 2,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score like `levenshtein`, but count a swap of two neighbours, not edited again, as one edit.

    Parameters
    ----------
    output, expected, threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    This is the optimal string alignment distance: no character is edited twice, so "ca" to "abc" takes 3
    edits. Equal to RapidFuzz's `OSA`. The time for two texts of m and n characters grows with m * n / 64.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["recieve", "ca", None], "expected": ["receive", "abc", "x"]})
    >>> df.select(pe.osa("output", "expected")).unnest("osa")["score"].to_list()
    [0.86, 0.0, 0.0]
    """
    return metric(osa, locals())


def indel(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.7,
    case_sensitive: bool = False,
    max_chars: Positive | None = 10_000,
    decimals: Natural | None = 2,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the longest common subsequence: twice its length / the length of both texts.

    Parameters
    ----------
    output, expected, threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    Only insertions and deletions are edits, and a replaced character is one of each. Other tools call this
    the "Levenshtein ratio"; difflib's ratio is an approximation of it. Equal to RapidFuzz's `Indel`, and to
    `fuzz.ratio` / 100. The time for two texts of m and n characters grows with m * n / 64.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["lewenstein", "xyz", None], "expected": ["levenshtein", "abc", "x"]})
    >>> df.select(pe.indel("output", "expected")).unnest("indel")["score"].to_list()
    [0.86, 0.0, 0.0]
    """
    return metric(indel, locals())


def hamming(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.7,
    case_sensitive: bool = False,
    max_chars: Positive | None = 10_000,
    decimals: Natural | None = 2,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the share of positions with the same character.

    Parameters
    ----------
    output, expected, threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    The shorter text is padded: positions that only one text has count as different. Use it for codes and
    labels of fixed length: one inserted character shifts all that follow. Equal to RapidFuzz's `Hamming`.
    The time grows with the length.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["ACGTACGT", "CGTACGT", None], "expected": "ACGAACGT"})
    >>> df.select(pe.hamming("output", "expected")).unnest("hamming")["score"].to_list()
    [0.88, 0.13, 0.0]
    """
    return metric(hamming, locals())


def jaro_winkler(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.7,
    case_sensitive: bool = False,
    max_chars: Positive | None = 10_000,
    decimals: Natural | None = 2,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score shared characters that are close to each other, with more weight on a shared start.

    Parameters
    ----------
    output, expected, threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    Use it for names and other short texts. Equal to RapidFuzz's `JaroWinkler` with its prefix weight of 0.1.
    The similarity is rounded to 12 decimals first, then half up to `decimals`. The time grows with the
    length.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Jon Smith", "Smith, John", None], "expected": "John Smith"})
    >>> df.select(pe.jaro_winkler("output", "expected")).unnest("jaro_winkler")["score"].to_list()
    [0.97, 0.52, 0.0]
    """
    return metric(jaro_winkler, locals())


def cer(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1 − the character error rate, and at least 0.

    Parameters
    ----------
    output, expected
        The text to score, such as a transcript, and the right text. Of several references the best counts.
    case_sensitive
        Whether to distinguish case.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `substitutions`, `insertions`, `deletions` and `length` (the characters of expected), and the
        fields for conversations.

    Notes
    -----
    The character error rate is the smallest number of characters to replace, insert or delete, divided by
    the number of characters of expected. White space at the ends is ignored. Two empty texts score 1.0. If
    only one is empty, the score is 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["kitten", "Sitting ", None]})
    >>> df.select(pe.cer("output", pl.lit("sitting"))).unnest("cer")["score"].round(2).to_list()
    [0.57, 1.0, 0.0]
    """
    return metric(cer, locals())


def levenshtein_distance(
    output: IntoText,
    expected: IntoText,
    *,
    weights: tuple[int, int, int] = (1, 1, 1),
    score_cutoff: Annotated[int, Range(0, LARGEST_CUTOFF)] | None = None,
    processor: Callable[[pl.Expr], pl.Expr] | None = None,
) -> pl.Expr:
    """Count the edits that turn output into expected, as whole numbers.

    Parameters
    ----------
    output
        Texts, or lists of tokens or numbers.
    expected
        The same kind; or, for texts, lists of references: the nearest counts.
    weights
        The costs of an insertion, a deletion and a substitution.
    score_cutoff
        Larger distances are returned as `score_cutoff + 1`.
    processor
        A function from expression to expression that is applied to both columns first.

    Notes
    -----
    Null in, null out. Case is distinguished; `processor=lambda text: text.str.to_lowercase()` ignores it.

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
    arguments = locals()
    name = "levenshtein_distance"
    _check_weights(name, weights)
    if processor is not None:
        for side in ("output", "expected"):
            arguments[side] = _processed(name, processor, as_expr(name, side, arguments[side]))
    return metric(levenshtein_distance, arguments, processor=None)


def _check_weights(metric: str, weights: Any) -> None:
    fits = isinstance(weights, tuple | list) and len(weights) == 3
    if not fits or not all(type(one) is int and 0 <= one <= LARGEST_WEIGHT for one in weights):
        raise ValueError(
            f"{metric}: `weights` must be three whole numbers (insert, delete, substitute) "
            f"from 0 to {LARGEST_WEIGHT}, got {shown(weights)}"
        )


def _processed(metric: str, processor: object, column: pl.Expr) -> pl.Expr:
    if not callable(processor):
        raise ValueError(f"{metric}: `processor` must be a function, got {processor!r}")
    result = processor(column)
    if not isinstance(result, pl.Expr):
        raise ValueError(f"{metric}: `processor` must return an expression, got {type(result).__name__}")
    return result
