"""Intervals, tests and power, from scipy's distributions; null in, null out, never NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

# Averages of floats differ in their last bits; below this, a difference or a spread is none.
NEGLIGIBLE = 1e-12


def floats(values: pl.Series) -> Floats:
    """Return a column as floats, null as NaN."""
    return values.cast(pl.Float64).to_numpy()


def column(name: str, values: Floats) -> pl.Series:
    """Return floats as a column, NaN as null."""
    return pl.Series(name, values, dtype=pl.Float64).fill_nan(None)


def wilson(
    passed: Floats | float, n: Floats | float, alpha: float, df: float = np.inf
) -> tuple[Floats, Floats]:
    """Return Wilson's interval of a proportion, with Student's quantile where `df` is given; NaN at n = 0."""
    from scipy.stats import norm, t

    z = norm.isf(alpha / 2) if np.isinf(df) else t.isf(alpha / 2, df)
    passed, n = np.asarray(passed, dtype=np.float64), np.asarray(n, dtype=np.float64)
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
    """Return the t interval of a difference and its two-sided p-value; without spread there is no test."""
    from scipy.special import stdtr, stdtrit

    with np.errstate(invalid="ignore", divide="ignore"):
        half = -stdtrit(df, alpha / 2) * se
        p = 2 * stdtr(df, -np.abs(difference) / se)
    exact = se == 0
    return (
        np.where(exact, difference, difference - half),
        np.where(exact, difference, difference + half),
        np.where(exact, np.where(difference == 0, 1.0, np.nan), p),
    )


def skewed_p(t: Floats, df: Floats, skew: Floats) -> Floats:
    """
    Return the p-value of Student's t corrected for skewness.

    Notes
    -----
    Hall's cubic transformation, which grows with t: t + κt²/3 + κ²t³/27 + κ/6, with κ the sum of the cubed
    deviations over that of the squared ones to the power of 1.5. A change against the long tail looks clearer
    than it is, because the few large values that would undo it are seldom seen.
    """
    from scipy.special import stdtr

    with np.errstate(invalid="ignore"):
        corrected = t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6
        return np.where(corrected * t > 0, 2 * stdtr(df, -np.abs(corrected)), 1.0)


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


def holm(p: Floats) -> Floats:
    """Return p-values corrected by Holm's method; NaN is no test."""
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected
