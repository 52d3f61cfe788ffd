"""More edit metrics, by RapidFuzz, over all cores."""

from collections.abc import Callable
from typing import Any

import polars as pl

from polars_evals.lift import IntoText, Kernel, Missing, lift, round_half_up, side_by_side
from polars_evals.options import check_common, check_flags, check_whole

# Rows that are Python strings at a time: enough to keep all cores busy, few enough to need little memory.
SLICE_ROWS = 16_384

# From here on, rounding changes nothing that a score can hold.
EXACT_DECIMALS = 18


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
    """Score as `levenshtein`, with a swap of two neighbours as one more edit.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Lists of several references: the nearest counts.
    threshold, case_sensitive, max_chars, decimals, missing, details
        As in `levenshtein`.

    Notes
    -----
    Swapped characters may be edited further, unlike in `osa`: from "ca" to "abc" are 2 edits. The time for two
    texts of m and n characters grows with m * n; `osa` is much faster and rarely differs.

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
    kernel = distance_kernel("DamerauLevenshtein", case_sensitive, max_chars)
    return lift_edit("damerau_levenshtein", output, expected, kernel, **collect(locals()))
