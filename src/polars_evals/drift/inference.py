"""Intervals, tests and power, from scipy's distributions; null in, null out, never NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

POWER = 0.8

# Beyond this an effect is too small for any number of items that can be counted.
MOST_NEEDED = 1e18

# Averages of floats differ in their last bits; below this, a difference or a spread is none.
NEGLIGIBLE = 1e-12


def floats(values: pl.Series) -> Floats:
    """Return a column as floats, null as NaN."""
    return values.cast(pl.Float64).to_numpy()


def column(name: str, values: Floats) -> pl.Series:
    """Return floats as a column, NaN as null."""
    return pl.Series(name, values, dtype=pl.Float64).fill_nan(None)


def wilson(passed: Floats, n: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval of a proportion; NaN where n is 0."""
    from scipy.stats import norm

    z = norm.isf(alpha / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = passed / n
        centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def mcnemar(failing: Floats, passing: Floats) -> Floats:
    """Return the exact two-sided p-value of the flips in one direction against the other."""
    from scipy.stats import binom

    flips = failing + passing
    with np.errstate(invalid="ignore"):
        p = np.minimum(1.0, 2 * binom.cdf(np.minimum(failing, passing), flips, 0.5))
    return np.where(flips == 0, 1.0, p)


def two_proportions(rate_a: Floats, n_a: Floats, rate_b: Floats, n_b: Floats) -> Floats:
    """Return the two-sided p-value of the pooled two-proportion z test."""
    from scipy.stats import norm

    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = (rate_a * n_a + rate_b * n_b) / (n_a + n_b)
        spread = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
        p = 2 * norm.sf(np.abs(rate_b - rate_a) / spread)
    # All pass or all fail in both versions: no spread and no difference.
    return np.where((spread == 0) & (rate_a == rate_b), 1.0, p)


def t_interval(difference: Floats, se: Floats, df: Floats, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return the t interval of a difference and its two-sided p-value; a zero `se` decides by itself."""
    from scipy.stats import t

    with np.errstate(invalid="ignore", divide="ignore"):
        half = t.isf(alpha / 2, df) * se
        p = 2 * t.sf(np.abs(difference) / se, df)
    certain = np.where(difference == 0, 1.0, 0.0)
    exact = se == 0
    return (
        np.where(exact, difference, difference - half),
        np.where(exact, difference, difference + half),
        np.where(exact, certain, p),
    )


def tests_of(rows: pl.DataFrame, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return interval and p-value of each row's difference."""
    return t_interval(floats(rows["difference"]), floats(rows["se"]), floats(rows["df"]), alpha)


def benjamini_hochberg(p: Floats) -> Floats:
    """Return the q-values of the tests that were made; NaN is no test."""
    from scipy.stats import false_discovery_control

    made = ~np.isnan(p)
    q = np.full(len(p), np.nan)
    if made.any():
        q[made] = false_discovery_control(p[made], method="bh")
    return q


def detectable(se: Floats, alpha: float) -> Floats:
    """Return the smallest true difference that would be found with 80% power."""
    from scipy.stats import norm

    return np.asarray((norm.isf(alpha / 2) + norm.ppf(POWER)) * se)


def infer(rows: pl.DataFrame, *, alpha: float, min_effect: float, also_tried: Floats) -> pl.DataFrame:
    """Add intervals, p-values and power to estimates, and q-values over them and the tests `also_tried`."""
    se = floats(rows["se"])
    low, high, p = tests_of(rows, alpha)
    mde = detectable(se, alpha)
    rate_b, rate_c = floats(rows["baseline_pass_rate"]), floats(rows["candidate_pass_rate"])
    flips = mcnemar(floats(rows["newly_failing"]), floats(rows["newly_passing"]))
    unpaired = two_proportions(
        rate_b, floats(rows["baseline_labels"]), rate_c, floats(rows["candidate_labels"])
    )
    paired = rows["paired"].to_numpy()
    needed = np.full(len(rows), np.nan)
    if min_effect > 0:
        needed = np.maximum(2.0, np.ceil(floats(rows["n"]) * (mde / min_effect) ** 2))
        needed[needed > MOST_NEEDED] = np.nan
    return rows.with_columns(
        column("ci_low", low),
        column("ci_high", high),
        column("p_value", p),
        column("q_value", benjamini_hochberg(np.concatenate([p, also_tried]))[: len(p)]),
        column("pass_rate_difference", rate_c - rate_b),
        column("p_mcnemar", np.where(np.isnan(rate_b + rate_c), np.nan, np.where(paired, flips, unpaired))),
        column("mde", mde),
        column("n_needed", needed).cast(pl.Int64),
    )
