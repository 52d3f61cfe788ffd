"""Weigh the strata of one sample to the mix of another (post-stratification)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polars_evals.drift.inference import Floats

    Whole = NDArray[np.int64]

# A stratum needs two rows: one row says nothing about its spread.
FEWEST = 2


def shares(strata: Whole, size: int) -> Floats:
    """Return the share of each stratum, numbered from 0 to `size` − 1; a negative number is no stratum."""
    counts = np.bincount(strata[strata >= 0], minlength=size).astype(np.float64)
    total = counts.sum()
    return counts / total if total else counts


def _supported(target: Floats, strata: Whole) -> NDArray[np.bool_]:
    """Return which strata the target has and the rows have often enough to be weighed."""
    counts = np.bincount(strata[strata >= 0], minlength=len(target))
    return (target > 0) & (counts >= FEWEST)


def _to_mix(values: Floats, strata: Whole, target: Floats) -> Floats:
    """
    Return values whose mean and spread are those of a mean that is weighed to a mix.

    Parameters
    ----------
    values
        One number a row.
    strata
        The number of each row's stratum; negative where it has none.
    target
        The share of each stratum in the mix. Strata that are not `supported` are left out, and the shares of
        the others are made to add up to 1.

    Returns
    -------
    Floats
        One number a row, NaN where its stratum does not count. Their mean is the weighed mean of the strata;
        their variance divided by their number is the variance of that mean.
    """
    counted = _supported(target, strata)
    used = (strata >= 0) & counted[np.maximum(strata, 0)]
    found = np.full(len(values), np.nan)
    if not used.any():
        return found
    y, s = values[used], strata[used]
    share = np.where(counted, target, 0.0)
    share = share / share.sum()
    counts = np.bincount(s, minlength=len(target)).astype(np.float64)
    means = _strata_means(y, s, len(target))
    level = float((share[counted] * means[counted]).sum())
    # A variance divides by one less than the rows; these numbers are divided by all rows of all strata.
    total = len(y)
    scale = share[s] * total / counts[s] * np.sqrt(counts[s] / (counts[s] - 1) * (total - 1) / total)
    found[used] = level + scale * (y - means[s])
    return found


def _strata_means(values: Floats, strata: Whole, size: int) -> Floats:
    """Return the mean of each stratum; NaN where it has no rows."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.bincount(strata, values, size) / np.bincount(strata, minlength=size)
    return means


def adjust_sides(b: Floats, b_strata: Whole, c: Floats, c_strata: Whole, size: int) -> tuple[Floats, Floats]:
    """
    Weigh the candidate's rows to the baseline's mix.

    Returns
    -------
    tuple
        Numbers for the rows of both versions, NaN where a stratum is in one version alone. The difference of
        their means is that of the strata, weighed by the baseline's shares; the baseline's spread holds how
        differently the strata moved, as its shares are a sample.
    """
    target = shares(b_strata, size)
    counted = _supported(target, c_strata) & _supported(target, b_strata)
    target = np.where(counted, target, 0.0)
    after = _to_mix(c, c_strata, target)
    before = np.full(len(b), np.nan)
    used = (b_strata >= 0) & counted[np.maximum(b_strata, 0)]
    if used.any():
        kept = ~np.isnan(after)
        means = _strata_means(c[kept], c_strata[kept], size)
        level = float(np.mean(after[kept]))
        before[used] = b[used] - (means[b_strata[used]] - level)
    return before, after


def mix_differs(first: Whole, second: Whole, size: int, *, alpha: float = 0.01) -> bool:
    """Tell whether the mix of strata differs clearly: by a chi-squared test, and by at least 5 points."""
    table = np.array([np.bincount(one[one >= 0], minlength=size) for one in (first, second)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or (table.sum(axis=1) == 0).any():
        return False
    share = table / table.sum(axis=1, keepdims=True)
    moved = 0.5 * np.abs(share[0] - share[1]).sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    return bool(moved >= 0.05 and chdtrc(table.shape[1] - 1, statistic) <= alpha)
