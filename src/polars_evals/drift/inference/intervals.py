"""
Intervals and tests of means and proportions, from scipy's distributions.

A t interval knows the spread that was seen. Thirty equal answers have none, and yet one item in twenty may
have changed: that happens in a fifth of all samples. `score_interval`, `outweighs_unseen` and `constant_p`
count what may have stayed unseen when scores have bounds. `detectable` and `needed` are the change
that a number of items finds, and the number that shows that nothing changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, nctdtrinc, ndtr, ndtri, stdtr, stdtrit

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

# Four times in five.
POWER = 0.8
# Beyond this an effect is too small for any number of items that can be counted.
MOST_NEEDED = 1e15
# From here on Student's distribution is the normal one.
NORMAL = 1e6


def wilson(
    passed: Floats | float, n: Floats | float, alpha: float, df: float = np.inf
) -> tuple[Floats, Floats]:
    """Return Wilson's interval of a proportion, with Student's quantile where `df` is given; NaN at n = 0."""
    z = -ndtri(alpha / 2) if np.isinf(df) else -stdtrit(df, alpha / 2)
    passed, n = np.asarray(passed, dtype=np.float64), np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = passed / n
        centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def share_interval(
    value: float, variance: float, n: float, alpha: float, df: float = np.inf
) -> tuple[float, float]:
    """Return Wilson's interval of a share, with the items that its variance is worth; `n` without one."""
    # Shares vary at most as much as yes and no do; where they do not vary at all, that is the safe guess.
    worth = max(value * (1 - value) / variance if variance > 0 else n, 1e-9)
    low, high = wilson(value * worth, worth, alpha, df)
    return float(low), float(high)


def mcnemar(failing: Floats, passing: Floats) -> Floats:
    """Return the exact two-sided p-value of the flips in one direction against the other."""
    flips = failing + passing
    known = np.isfinite(flips)
    fewer, every = (np.where(known, one, 0.0) for one in (np.minimum(failing, passing), flips))
    p = np.minimum(1.0, 2 * bdtr(fewer, every.astype(np.int64), 0.5))
    return np.where(known, np.where(flips == 0, 1.0, p), np.nan)


def two_proportions(rate_a: Floats, n_a: Floats, rate_b: Floats, n_b: Floats) -> Floats:
    """Return the two-sided p-value of the pooled two-proportion z test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = (rate_a * n_a + rate_b * n_b) / (n_a + n_b)
        spread = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
        p = 2 * ndtr(-np.abs(rate_b - rate_a) / spread)
    # All pass or all fail in both versions: no spread and no difference.
    return np.where((spread == 0) & (rate_a == rate_b), 1.0, p)


def t_interval(difference: Floats, se: Floats, df: Floats, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return the t interval of a difference and its two-sided p-value; without spread there is no test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        half = -stdtrit(df, alpha / 2) * se
        p = 2 * stdtr(df, -np.abs(difference) / se)
    exact = se == 0
    return (
        np.where(exact, difference, difference - half),
        np.where(exact, difference, difference + half),
        np.where(exact, np.where(difference == 0, 1.0, np.nan), p),
    )


def welch_p(one: Floats, other: Floats) -> float:
    """Return the two-sided p-value of Welch's test of two means; NaN without spread."""
    if min(len(one), len(other)) < 2:
        return np.nan
    v = [values.var(ddof=1) / len(values) for values in (one, other)]
    if not sum(v) > 0:
        return np.nan
    df = sum(v) ** 2 / (v[0] ** 2 / (len(one) - 1) + v[1] ** 2 / (len(other) - 1))
    difference = np.array([one.mean() - other.mean()])
    return float(t_interval(difference, np.array([np.sqrt(sum(v))]), np.array([df]), 0.5)[2][0])


def skewed_p(t: Floats, df: Floats, skew: Floats) -> Floats:
    """Return the p-value of Student's t corrected for skewness by Hall's cubic transformation."""
    # A change against the long tail looks clearer than it is: the few values that undo it are seldom seen.
    with np.errstate(invalid="ignore"):
        corrected = t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6
        return np.where(corrected * t > 0, 2 * stdtr(df, -np.abs(corrected)), 1.0)


def score_interval(
    difference: Floats, se: Floats, quantile: Floats, n: Floats, reach: Floats
) -> tuple[Floats, Floats]:
    """
    Return the interval of a mean change that allows for changes of size `reach` that no unit shows.

    Wilson's interval is the set of means m with (x − m)² ≤ z² V(m) / n, where V(m) is the variance at m.
    For a bounded mean the variance at m is at most what was seen plus |x − m| · reach, the variance that a
    rare change of that size adds when it moves the mean from x to m. Solved for m, this is x ± (a + √(z²
    se² + a²)), with a = z² reach / 2n. Without any spread it is ± z² reach / n: 3.84 / n at 95%, where 3.69
    / n is exact.
    """
    with np.errstate(over="ignore"):
        allowance = quantile**2 * reach / (2 * n)
    half = allowance + np.hypot(quantile * se, allowance)
    return difference - half, difference + half


def outweighs_unseen(
    difference: Floats, se: Floats, n: Floats, fall: Floats, rise: Floats, *, alpha: float
) -> npt.NDArray[np.bool_]:
    """
    Return where a change is more than rare opposite ones, unseen among n units, would undo.

    `fall` and `rise` are how far a score can fall or rise on average: a rare fall would undo a rise. Twice
    the level of the comparison, one-sided, is the level of this check.
    """
    reach = np.where(difference > 0, fall, rise)
    low, high = score_interval(difference, se, -ndtri(min(2 * alpha, 0.5)), n, reach)
    return np.asarray(np.isnan(reach) | (low > 0) | (high < 0))


def _undone_by(difference: Floats, fall: Floats, rise: Floats) -> tuple[Floats, Floats]:
    """Return the size of a change, and that of one in the other direction that no unit shows."""
    change = np.abs(difference)
    # Without a bound or room the other way this makes the sign test: a sample of two proves nothing.
    return change, np.fmax(np.where(difference > 0, fall, rise), change)


def constant_p(difference: Floats, n: Floats, fall: Floats, rise: Floats) -> Floats:
    """
    Return the two-sided p-value of n units that all changed by the same amount.

    If rare changes of size v in the other direction made up for it, their share would be c / (c + v), and
    the chance to see none of them is (1 + c / v)⁻ⁿ.
    """
    change, reach = _undone_by(difference, fall, rise)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.minimum(1.0, 2 * (1 + change / reach) ** -n)
    return np.where(change == 0, 1.0, p)


def constant_half(difference: Floats, n: Floats, fall: Floats, rise: Floats, *, alpha: float) -> Floats:
    """
    Return how far n equal changes may be from the true mean, towards 0: where `constant_p` just rejects.

    Units that changed by v in the other direction, c + v from the others, move the mean by (c + v) e if
    their share is e, and the chance to see none of them is (1 − e)ⁿ. It excludes 0 where `constant_p` < α.
    """
    change, reach = _undone_by(difference, fall, rise)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((change + reach) * (1 - (alpha / 2) ** (1 / n)))


def tango(failing: Floats, passing: Floats, n: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return Tango's score interval (1998) of a difference of paired proportions, (passing − failing) / n."""
    z = -ndtri(alpha / 2)
    estimate = (passing - failing) / n

    def z_at(delta: Floats) -> Floats:
        b = -failing - passing + (2 * n - passing + failing) * delta
        c = -failing * delta * (1 - delta)
        with np.errstate(invalid="ignore", divide="ignore"):
            # The share of items that newly fail, most likely if the difference is delta.
            q = (np.sqrt(np.maximum(b**2 - 8 * n * c, 0.0)) - b) / (4 * n)
            spread = np.sqrt(np.maximum(n * (2 * q + delta * (1 - delta)), 0.0))
            return np.asarray(np.where(spread > 0, (passing - failing - n * delta) / spread, 0.0))

    bounds = []
    for end, sign in ((-1.0, 1.0), (1.0, -1.0)):
        inside, outside = np.array(estimate, dtype=np.float64), np.full_like(estimate, end, dtype=np.float64)
        for _ in range(60):
            middle = (inside + outside) / 2
            rejected = sign * z_at(middle) > z
            inside, outside = np.where(rejected, inside, middle), np.where(rejected, middle, outside)
        bounds.append(np.where(sign * estimate == -1.0, end, (inside + outside) / 2))
    return bounds[0], bounds[1]


def detectable(se: Floats, df: Floats, alpha: float) -> Floats:
    """Return the true change that the t test finds four times in five (noncentral t)."""
    df = np.minimum(df, NORMAL)
    quantile = -stdtrit(df, alpha / 2)
    with np.errstate(invalid="ignore"):
        noncentral = nctdtrinc(np.minimum(df, 1e4), 1 - POWER, quantile)
    return np.asarray(np.where(df > 1e4, quantile + ndtri(POWER), noncentral) * se)


def needed(
    spread: Floats, n: Floats, df: Floats, reach: Floats, *, alpha: float, min_effect: Floats | float
) -> Floats:
    """
    Return the n at which an unchanged version is shown to be so four times in five; NaN where no n is enough.

    `spread` is the standard deviation of a unit, `n` and `df` the present numbers, which grow together, and
    `reach` the largest change of a unit, for what may be unseen; NaN without bounds.
    """
    min_effect, reach = np.asarray(min_effect), np.nan_to_num(reach)
    # Both sides of the interval must lie inside, so the estimate has to be within what remains.
    within = ndtri((1 + POWER) / 2)

    def enough(size: Floats) -> Floats:
        se = spread / np.sqrt(size)
        with np.errstate(invalid="ignore", divide="ignore"):
            quantile = -stdtrit(np.clip(df * size / n, 1.0, NORMAL), alpha / 2)
        _, high = score_interval(np.zeros_like(se), se, quantile, size, reach)
        return np.asarray(high + within * se <= min_effect)

    low, high = np.full(len(spread), 2.0), np.full(len(spread), MOST_NEEDED)
    possible = enough(high)
    # Halving the exponent: the answer to 1 part in 2^40 of its logarithm.
    for _ in range(60):
        middle = np.sqrt(low * high)
        fine = enough(middle)
        low, high = np.where(fine, low, middle), np.where(fine, middle, high)
    known = possible & np.isfinite(spread) & (min_effect > 0)
    return np.where(known, np.maximum(2.0, np.ceil(high)), np.nan)
