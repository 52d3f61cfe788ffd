"""What a number of items buys: the change that is found, and the number that shows that nothing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_evals.drift.inference.intervals import score_interval

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

# Four times in five.
POWER = 0.8
# Beyond this an effect is too small for any number of items that can be counted.
MOST_NEEDED = 1e15
# From here on Student's distribution is the normal one.
NORMAL = 1e6


def detectable(se: Floats, df: Floats, alpha: float) -> Floats:
    """Return the true change that the t test finds four times in five (noncentral t)."""
    from scipy.special import nctdtrinc, ndtri, stdtrit

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

    Parameters
    ----------
    spread
        Standard deviation of a unit: the standard error is spread / √n.
    n, df
        The present n and degrees of freedom, which grow together.
    reach
        The largest change of a unit, for what may be unseen; NaN or 0 without bounds.
    """
    from scipy.special import ndtri, stdtrit

    min_effect = np.broadcast_to(np.asarray(min_effect, dtype=np.float64), spread.shape)
    reach = np.nan_to_num(reach)
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
    told = possible & np.isfinite(spread) & (min_effect > 0)
    return np.where(told, np.maximum(2.0, np.ceil(high)), np.nan)
