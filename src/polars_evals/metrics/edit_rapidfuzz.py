"""More edit metrics, by RapidFuzz over all cores."""

from dataclasses import dataclass

import polars as pl

from polars_evals.lift import IntoText, Kernel, Missing, divide, lift, round_half_up, side_by_side
from polars_evals.options import check_common, check_flags, check_whole

# Rows that are Python strings at a time: enough to keep all cores busy, few enough to need little memory.
SLICE_ROWS = 16_384

# Rounding to more decimals changes nothing that a score can hold.
MOST_DECIMALS = 17

OUTPUT_CHARS, EXPECTED_CHARS = pl.col("output_chars"), pl.col("expected_chars")
LONGER = pl.max_horizontal(OUTPUT_CHARS, EXPECTED_CHARS)


@dataclass(frozen=True)
class Scorer:
    """A module of `rapidfuzz.distance`, and its largest distance, unless distances are shares of 1."""

    name: str
    largest: pl.Expr | None


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
        Scorer("DamerauLevenshtein", LONGER),
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
        Scorer("OSA", LONGER),
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
        Scorer("Indel", OUTPUT_CHARS + EXPECTED_CHARS),
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
        Scorer("Hamming", LONGER),
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
    then half up to `decimals`. The time for two texts of m and n characters grows with m * n / 64.

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
        Scorer("JaroWinkler", None),
        threshold=threshold,
        case_sensitive=case_sensitive,
        max_chars=max_chars,
        decimals=decimals,
        missing=missing,
        details=details,
    )


def lift_edit(
    metric: str,
    output: IntoText,
    expected: IntoText,
    scorer: Scorer,
    *,
    threshold: float,
    case_sensitive: bool,
    max_chars: int | None,
    decimals: int | None,
    missing: Missing,
    details: bool,
) -> pl.Expr:
    """Make the expression of a metric that RapidFuzz computes."""
    check_common(metric, threshold=threshold, missing=missing, details=details)
    check_flags(metric, case_sensitive=case_sensitive)
    check_whole(metric, "max_chars", max_chars, least=1, optional=True)
    check_whole(metric, "decimals", decimals, least=0, optional=True)
    text = pl.col("output", "expected")
    text = text if case_sensitive else text.str.to_lowercase()
    text = text if max_chars is None else text.str.head(max_chars)

    def rounded(decimals: int | None) -> Kernel:
        def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
            rows = side_by_side(left, right)
            pairs = rows.drop_nulls().with_columns(text)
            scored = measure(pairs, scorer).with_columns(score=score_of(scorer, decimals))
            return rows.select("row").join(scored, on="row", how="left", maintain_order="left").drop("row")

        return kernel

    distance = {} if scorer.largest is None else {"distance": pl.Int64}
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


def measure(pairs: pl.DataFrame, scorer: Scorer) -> pl.DataFrame:
    """Give the distance of each pair, beside the lengths of both texts."""
    import numpy as np
    from rapidfuzz import distance, process

    module = getattr(distance, scorer.name)
    function, dtype = (
        (module.normalized_distance, np.float64) if scorer.largest is None else (module.distance, np.int64)
    )
    measured = [
        process.cpdist(
            part["output"].to_list(),
            part["expected"].to_list(),
            scorer=function,
            dtype=dtype,
            workers=pl.thread_pool_size(),
        )
        for part in pairs.iter_slices(SLICE_ROWS)
    ]
    return pairs.select(
        "row",
        pl.Series("distance", np.concatenate([np.empty(0, dtype), *measured])),
        output_chars=pl.col("output").str.len_chars().cast(pl.Int64),
        expected_chars=pl.col("expected").str.len_chars().cast(pl.Int64),
    )


def score_of(scorer: Scorer, decimals: int | None) -> pl.Expr:
    """Make the score of a distance, rounded half up."""
    distance, largest = pl.col("distance"), scorer.largest
    if largest is None:
        return 1.0 - distance if decimals is None else round_half_up(1.0 - distance, decimals)
    if decimals is None or decimals > MOST_DECIMALS:
        score = 1.0 - distance / largest
    else:
        scale: int = 10**decimals
        wide = largest.cast(pl.Int128)
        score = divide(((wide - distance) * (2 * scale) + wide) // (2 * wide), scale)
    return pl.when(largest == 0).then(1.0).otherwise(score)
