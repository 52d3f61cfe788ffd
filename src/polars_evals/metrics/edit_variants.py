"""More edit metrics, by the native kernels; RapidFuzz defines them."""

import polars as pl

from polars_evals.lift import IntoText, Missing
from polars_evals.metrics.edit import lift_edit


def damerau_levenshtein(
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
    """Score as `levenshtein`, with a swap of two neighbours as one more kind of edit.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Lists of several references: the best counts.
    threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    Unlike in `osa`, swapped characters may be edited again: from "ca" to "abc" it takes 2 edits. Equal to
    RapidFuzz's `DamerauLevenshtein`. The time for two texts of m and n characters grows with m * n; `osa`
    is much faster.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["recieve", "ca", None], "expected": ["receive", "abc", "x"]})
    >>> df.with_columns(pe.damerau_levenshtein("output", "expected")).unnest("damerau_levenshtein")
    shape: (3, 4)
    ┌─────────┬──────────┬───────┬───────┐
    │ output  ┆ expected ┆ score ┆ label │
    │ ---     ┆ ---      ┆ ---   ┆ ---   │
    │ str     ┆ str      ┆ f64   ┆ enum  │
    ╞═════════╪══════════╪═══════╪═══════╡
    │ recieve ┆ receive  ┆ 0.86  ┆ pass  │
    │ ca      ┆ abc      ┆ 0.33  ┆ fail  │
    │ null    ┆ x        ┆ 0.0   ┆ fail  │
    └─────────┴──────────┴───────┴───────┘
    """
    return lift_edit(
        "damerau_levenshtein",
        output,
        expected,
        threshold=threshold,
        case_sensitive=case_sensitive,
        max_chars=max_chars,
        decimals=decimals,
        missing=missing,
        details=details,
    )


def osa(
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
    """Score as `levenshtein`, with a swap of two neighbours as one more kind of edit, made once.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Lists of several references: the best counts.
    threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    This is the optimal string alignment: no character is edited twice, so that from "ca" to "abc" it takes
    3 edits. Equal to RapidFuzz's `OSA`. The time for two texts of m and n characters grows with m * n / 64.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["recieve", "ca", None], "expected": ["receive", "abc", "x"]})
    >>> df.with_columns(pe.osa("output", "expected")).unnest("osa")
    shape: (3, 4)
    ┌─────────┬──────────┬───────┬───────┐
    │ output  ┆ expected ┆ score ┆ label │
    │ ---     ┆ ---      ┆ ---   ┆ ---   │
    │ str     ┆ str      ┆ f64   ┆ enum  │
    ╞═════════╪══════════╪═══════╪═══════╡
    │ recieve ┆ receive  ┆ 0.86  ┆ pass  │
    │ ca      ┆ abc      ┆ 0.0   ┆ fail  │
    │ null    ┆ x        ┆ 0.0   ┆ fail  │
    └─────────┴──────────┴───────┴───────┘
    """
    return lift_edit(
        "osa",
        output,
        expected,
        threshold=threshold,
        case_sensitive=case_sensitive,
        max_chars=max_chars,
        decimals=decimals,
        missing=missing,
        details=details,
    )


def indel(
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
    """Score the longest common subsequence: twice its length / the length of both texts.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Lists of several references: the best counts.
    threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    Only insertions and deletions are edits, and a replaced character is one of each. Other tools call this
    the "Levenshtein ratio"; difflib's ratio is an approximation of it. Equal to RapidFuzz's `Indel`, and to
    `fuzz.ratio` / 100. The time for two texts of m and n characters grows with m * n / 64.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["lewenstein", "xyz", None], "expected": ["levenshtein", "abc", "x"]})
    >>> df.with_columns(pe.indel("output", "expected")).unnest("indel")
    shape: (3, 4)
    ┌────────────┬─────────────┬───────┬───────┐
    │ output     ┆ expected    ┆ score ┆ label │
    │ ---        ┆ ---         ┆ ---   ┆ ---   │
    │ str        ┆ str         ┆ f64   ┆ enum  │
    ╞════════════╪═════════════╪═══════╪═══════╡
    │ lewenstein ┆ levenshtein ┆ 0.86  ┆ pass  │
    │ xyz        ┆ abc         ┆ 0.0   ┆ fail  │
    │ null       ┆ x           ┆ 0.0   ┆ fail  │
    └────────────┴─────────────┴───────┴───────┘
    """
    return lift_edit(
        "indel",
        output,
        expected,
        threshold=threshold,
        case_sensitive=case_sensitive,
        max_chars=max_chars,
        decimals=decimals,
        missing=missing,
        details=details,
    )


def hamming(
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
    """Score the share of positions with the same character.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Lists of several references: the best counts.
    threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    The shorter text is padded: positions that only one text has count as different. Meant for codes and
    labels of fixed length, because one inserted character shifts all that follow. Equal to RapidFuzz's
    `Hamming`. The time grows with the length.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["ACGTACGT", "CGTACGT", None], "expected": "ACGAACGT"})
    >>> df.with_columns(pe.hamming("output", "expected")).unnest("hamming")
    shape: (3, 4)
    ┌──────────┬──────────┬───────┬───────┐
    │ output   ┆ expected ┆ score ┆ label │
    │ ---      ┆ ---      ┆ ---   ┆ ---   │
    │ str      ┆ str      ┆ f64   ┆ enum  │
    ╞══════════╪══════════╪═══════╪═══════╡
    │ ACGTACGT ┆ ACGAACGT ┆ 0.88  ┆ pass  │
    │ CGTACGT  ┆ ACGAACGT ┆ 0.13  ┆ fail  │
    │ null     ┆ ACGAACGT ┆ 0.0   ┆ fail  │
    └──────────┴──────────┴───────┴───────┘
    """
    return lift_edit(
        "hamming",
        output,
        expected,
        threshold=threshold,
        case_sensitive=case_sensitive,
        max_chars=max_chars,
        decimals=decimals,
        missing=missing,
        details=details,
    )


def jaro_winkler(
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
    """Score shared characters that stand near each other, with more weight on a shared start.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Lists of several references: the best counts.
    threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    Made for names and other short texts. Equal to RapidFuzz's `JaroWinkler` with its prefix weight of 0.1.
    There is no distance in whole numbers to round from: the similarity is rounded to 12 decimals first,
    then half up to `decimals`. The time grows with the length.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Jon Smith", "Smith, John", None], "expected": "John Smith"})
    >>> df.with_columns(pe.jaro_winkler("output", "expected")).unnest("jaro_winkler")
    shape: (3, 4)
    ┌─────────────┬────────────┬───────┬───────┐
    │ output      ┆ expected   ┆ score ┆ label │
    │ ---         ┆ ---        ┆ ---   ┆ ---   │
    │ str         ┆ str        ┆ f64   ┆ enum  │
    ╞═════════════╪════════════╪═══════╪═══════╡
    │ Jon Smith   ┆ John Smith ┆ 0.97  ┆ pass  │
    │ Smith, John ┆ John Smith ┆ 0.52  ┆ fail  │
    │ null        ┆ John Smith ┆ 0.0   ┆ fail  │
    └─────────────┴────────────┴───────┴───────┘
    """
    return lift_edit(
        "jaro_winkler",
        output,
        expected,
        threshold=threshold,
        case_sensitive=case_sensitive,
        max_chars=max_chars,
        decimals=decimals,
        missing=missing,
        details=details,
    )
