"""Shrink the differences of slices towards the overall difference, as far as chance alone spreads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import ndtri

from polars_evals.drift.inference import column, floats

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

SHRUNK = ["shrunk", "shrunk_low", "shrunk_high"]
# How many items' worth the spread that all slices share counts for in the spread of one.
SHARED = 50
# The spreads between slices that are weighed, in parts of the usual standard error of a slice.
GRID = np.concatenate([[0.0], np.geomspace(0.02, 50, 100)])
# A half-Cauchy prior, times what each point of the grid stands for.
EDGES = np.concatenate([GRID[:1], (GRID[1:] + GRID[:-1]) / 2, GRID[-1:]])
PRIOR = np.log(np.diff(EDGES)) - np.log1p(GRID**2)


def shrink(difference: Floats, se: Floats, n: Floats, overall: float, *, alpha: float) -> Floats:
    """
    Return empirical-Bayes estimates of slices, with their intervals.

    Parameters
    ----------
    difference, se, n
        The estimate, its standard error (NaN where unknown) and the number of items of each slice.
    overall
        The difference over all items, which slices are pulled to.
    alpha
        Level of the intervals.

    Returns
    -------
    Floats
        Estimates, lower and upper ends; NaN where a slice has no difference.

    Notes
    -----
    True differences of slices are taken to spread normally around the overall one. How far is not known: each
    spread counts as much as it makes the differences likely (with a half-Cauchy prior), so that slices which
    chance alone explains are pulled together, and intervals never close completely.
    """
    found = np.full((3, len(difference)), np.nan)
    there = np.isfinite(difference) & (n > 0)
    if not there.any() or not np.isfinite(overall):
        return found
    d, variance = difference[there], _moderated(se[there], n[there])
    alone = there.sum() == 1 or not variance.max() > 0
    estimate, spread = (d, np.sqrt(variance)) if alone else _posterior(d, variance, overall)
    reach = ndtri(1 - alpha / 2) * spread
    found[:, there] = estimate, estimate - reach, estimate + reach
    return found


def _moderated(se: Floats, n: Floats) -> Floats:
    """Return the variances of the estimates. The spread within a small slice is partly that of all slices."""
    known = np.isfinite(se) & (n > 1)
    degrees = np.where(known, n - 1, 0.0)
    own = np.where(known, np.nan_to_num(se) ** 2 * n, 0.0)
    if not degrees.sum():
        return np.zeros(len(n))
    shared = (degrees * own).sum() / degrees.sum()
    moderated: Floats = (SHARED * shared + degrees * own) / (SHARED + degrees) / n
    return moderated


def _posterior(d: Floats, variance: Floats, overall: float) -> tuple[Floats, Floats]:
    """Return means and standard deviations of the slices, over all possible spreads between slices."""
    usual = float(np.sqrt(np.median(variance[variance > 0])))
    tau = (GRID * usual)[:, None]
    total = tau**2 + np.maximum(variance, 1e-12 * usual**2)
    apart = d - overall
    likely = -0.5 * (np.log(total) + apart**2 / total).sum(axis=1)
    weight = np.exp(likely + PRIOR - (likely + PRIOR).max())[:, None]
    weight /= weight.sum()
    pull = tau**2 / total
    means = overall + pull * apart
    mean = (weight * means).sum(axis=0)
    spread = (weight * (pull * variance + (means - mean) ** 2)).sum(axis=0)
    # The overall difference is itself an estimate: its variance is that of all slices together.
    centre = 1 / (1 / np.maximum(variance, 1e-300)).sum()
    left = (weight * (1 - pull)).sum(axis=0) ** 2 * centre
    return mean, np.sqrt(spread + left)


def with_shrunk(judged: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Add the differences of slices, pulled towards the overall one as far as chance alone spreads them."""
    found = np.full((3, judged.height), np.nan)
    places = judged.with_row_index("at").filter(pl.col("slice").is_not_null())
    overall = {
        (row["candidate"], row["metric"]): row["difference"]
        for row in judged.filter(pl.col("slice").is_null()).iter_rows(named=True)
    }
    for (candidate, metric, _), part in places.group_by("candidate", "metric", "by", maintain_order=True):
        centre = overall[(candidate, metric)]
        d, se, n = (floats(part[name]) for name in ("difference", "se", "n"))
        found[:, part["at"].to_numpy()] = shrink(d, se, n, np.nan if centre is None else centre, alpha=alpha)
    return judged.with_columns(column(name, one) for name, one in zip(SHRUNK, found, strict=True))
