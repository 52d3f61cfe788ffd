"""
Corrected estimates: a judge by people's labels, a mix by another, and slices by what they share.

`correct` is prediction-powered inference, `adjust_sides` post-stratification, `shrink` empirical Bayes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import chdtrc, ndtri, stdtrit

from polars_evals.drift.inference import column, floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polars_evals.drift.inference import Floats

    Flags = NDArray[np.bool_]
    Whole = NDArray[np.int64]

# With fewer labels in a version nothing is corrected.
FEWEST_LABELS = 10
# Labelled and other rows differ in the judge's score by more than chance at this level.
UNLIKE_ALPHA = 0.01
# A stratum needs two rows: one row says nothing about its spread.
FEWEST_ROWS = 2
SHRUNK_COLUMNS = ["shrunk", "shrunk_low", "shrunk_high"]
# How many items' worth the spread that all slices share counts for in the spread of one.
SHARED = 50
# The spreads between slices that are weighed, in parts of the usual standard error of a slice.
GRID = np.concatenate([[0.0], np.geomspace(0.02, 50, 100)])
# A half-Cauchy prior, times what each point of the grid stands for.
EDGES = np.concatenate([GRID[:1], (GRID[1:] + GRID[:-1]) / 2, GRID[-1:]])
PRIOR = np.log(np.diff(EDGES)) - np.log1p(GRID**2)


@dataclass(frozen=True)
class Corrected:
    """
    Scores corrected by labels, one number an item (or row).

    Their means estimate what people would say of all items, and their spread is that of these means.
    """

    baseline: Floats
    candidate: Floats
    # How many labels were used, of the baseline and of the candidate.
    labels: tuple[int, int]
    # How far the judge is above people where both are known, in each version.
    off: tuple[float, float]
    # Difference, low and high by the labelled items alone.
    people: tuple[float, float, float]
    # The versions (0: baseline, 1: candidate) whose labelled rows have other scores than the rest.
    unlike: tuple[int, ...]

    @property
    def enough(self) -> bool:
        """Whether there are labels enough to correct with."""
        return min(self.labels) >= FEWEST_LABELS


def correct_judge(
    scores: tuple[Floats, Floats], truth: tuple[Floats, Floats], weights: tuple[Floats, Floats], *,
    beside: tuple[Floats, Floats] | None = None, paired: bool, alpha: float,
) -> Corrected:  # fmt: skip
    """
    Estimate what people would say of all items, from a judge's `scores` and people's labels (`truth`).

    `weights` are 1 / the chance that an item was chosen to be labelled, and `beside` are the judge's scores
    of what was labelled, where that is a part of an item's rows. NaN is unknown. The mean of a version is `λ
    · mean(judge) + mean(people − λ · judge)`, the second over labelled items. λ makes the variance least
    (power tuning): where the judge says nothing about people's labels it is 0, and the labels alone count.
    """
    judged = scores if beside is None else beside
    known = [
        np.isfinite(t) & np.isfinite(j) & np.isfinite(s)
        for t, j, s in zip(truth, judged, scores, strict=True)
    ]
    used = [np.where(k, np.where(np.isfinite(w), w, 1.0), 0.0) for k, w in zip(known, weights, strict=True)]
    both = known[0] & known[1] if paired else np.zeros(1, dtype=np.bool_)
    if both.sum() >= FEWEST_LABELS:
        slopes = [_slope(judged[1] - judged[0], truth[1] - truth[0], np.where(both, used[0], 0.0))] * 2
    else:
        slopes = [_slope(*one) for one in zip(judged, truth, used, strict=True)]
    arms = list(zip(scores, judged, truth, used, known, strict=True))
    parts = [_side(*one, slope=slope) for one, slope in zip(arms, slopes, strict=True)]
    return Corrected(
        parts[0], parts[1], (int(known[0].sum()), int(known[1].sum())),
        (_mean(judged[0] - truth[0], used[0]), _mean(judged[1] - truth[1], used[1])),
        _people(truth, used, known, both, alpha=alpha),
        tuple(n for n, (score, _, _, weight, there) in enumerate(arms) if _unlike(score, there, weight)),
    )  # fmt: skip


def _mean(values: Floats, weights: Floats) -> float:
    total = weights.sum()
    return float((np.nan_to_num(values) * weights).sum() / total) if total else np.nan


def _slope(judge: Floats, people: Floats, weights: Floats) -> float:
    """Return by how much people's labels rise with the judge's score, among labelled items."""
    x, y = judge - _mean(judge, weights), people - _mean(people, weights)
    spread = float((weights * np.nan_to_num(x) ** 2).sum())
    return float((weights * np.nan_to_num(x) * np.nan_to_num(y)).sum() / spread) if spread > 1e-12 else 0.0


def _side(
    judge: Floats, judged: Floats, people: Floats, weights: Floats, known: Flags, *, slope: float
) -> Floats:
    """Return the corrected scores of one version."""
    there = np.isfinite(judge)
    number, labels = int(there.sum()), int(known.sum())
    found = np.full(len(judge), np.nan)
    if labels < FEWEST_LABELS:
        return found
    rest = np.where(known, np.nan_to_num(people) - slope * np.nan_to_num(judged), 0.0)
    correction = _mean(rest, weights)
    level = slope * float(judge[there].mean()) + correction
    # The slope and the correction cost two of the labels.
    lost = np.sqrt(labels / (labels - 2)) * stdtrit(labels - 2, 0.975) / ndtri(0.975)
    part = number * weights / weights.sum() * (rest - correction) * lost
    found[there] = (level + slope * (judge - judge[there].mean()) + part)[there]
    return found


def _people(
    truth: tuple[Floats, Floats], weights: list[Floats], known: list[Flags], both: Flags, *, alpha: float
) -> tuple[float, float, float]:
    """Return the difference by labelled items alone, with its interval."""
    fewest = min(int(k.sum()) for k in known)
    if fewest < 2:
        return (np.nan, np.nan, np.nan)
    # Where people rated other items of each version, their labels are two samples.
    if 2 * both.sum() >= fewest and both.sum() > 1:
        difference, variance = _weighed((truth[1] - truth[0])[both], weights[0][both])
        df = int(both.sum()) - 1
    else:
        sides = [_weighed(t[k], w[k]) for t, w, k in zip(truth, weights, known, strict=True)]
        difference, variance = sides[1][0] - sides[0][0], sides[0][1] + sides[1][1]
        df = fewest - 1
    reach = float(stdtrit(df, 1 - alpha / 2) * np.sqrt(variance))
    return (difference, difference - reach, difference + reach)


def _weighed(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return a weighted mean and its variance."""
    share, n = weights / weights.sum(), len(values)
    mean = float((share * values).sum())
    return mean, float((share**2 * (values - mean) ** 2).sum() * n / (n - 1))


def _unlike(judge: Floats, known: Flags, weights: Floats) -> bool:
    """Tell whether labelled rows have other scores of the judge than all rows, weights considered."""
    rest = np.isfinite(judge) & ~known
    if known.sum() < FEWEST_LABELS or rest.sum() < FEWEST_LABELS:
        return False
    mean, variance = _weighed(judge[known], weights[known])
    # The mean of all items is what weighted labelled items should show.
    every = judge[np.isfinite(judge)]
    apart = abs(mean - float(every.mean()))
    spread = np.sqrt(max(variance, 0.0) * (1 - known.sum() / len(every)))
    return bool(apart > 0.01 and apart > ndtri(1 - UNLIKE_ALPHA / 2) * spread)


def shares(strata: Whole, size: int) -> Floats:
    """Return the share of each stratum, numbered from 0 to `size` − 1; a negative number is no stratum."""
    counts = np.bincount(strata[strata >= 0], minlength=size).astype(np.float64)
    total = counts.sum()
    return counts / total if total else counts


def adjust_sides(b: Floats, b_strata: Whole, c: Floats, c_strata: Whole, size: int) -> tuple[Floats, Floats]:
    """
    Weigh the candidate's rows to the baseline's mix; NaN where a stratum is in one version alone.

    The difference of the means is that of the strata, weighed by the baseline's shares; the baseline's spread
    holds how differently the strata moved, as its shares are a sample. The candidate's mean is the weighed
    mean of its strata, and its variance divided by the number of rows is the variance of that mean.
    """
    before, after = np.full(len(b), np.nan), np.full(len(c), np.nan)
    both = np.stack([np.bincount(one[one >= 0], minlength=size) for one in (b_strata, c_strata)])
    counted = np.asarray((both >= FEWEST_ROWS).all(axis=0))
    used_b, used_c = ((one >= 0) & counted[np.maximum(one, 0)] for one in (b_strata, c_strata))
    if not counted.any():
        return before, after
    share = np.where(counted, both[0], 0.0)
    share /= share.sum()
    y, s = c[used_c], c_strata[used_c]
    counts = np.where(counted, both[1], np.nan)
    means = np.bincount(s, y, size) / counts
    level = float(share[counted] @ means[counted])
    # A variance divides by one less than the rows; these numbers are divided by all rows of all strata.
    total = len(y)
    scale = share[s] * total / counts[s] * np.sqrt(counts[s] / (counts[s] - 1) * (total - 1) / total)
    after[used_c] = level + scale * (y - means[s])
    before[used_b] = b[used_b] - (means[b_strata[used_b]] - level)
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


def shrink(difference: Floats, se: Floats, n: Floats, overall: float, *, alpha: float) -> Floats:
    """
    Return differences of slices, pulled to the overall one (empirical Bayes), with both ends of intervals.

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
    return judged.with_columns(column(name, one) for name, one in zip(SHRUNK_COLUMNS, found, strict=True))
