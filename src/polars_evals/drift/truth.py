"""Correct a judge on all items by people's labels on some of them (prediction-powered inference)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polars_evals.drift.inference import Floats

    Flags = NDArray[np.bool_]

# With fewer labels in a version nothing is corrected.
FEWEST = 10
# Labelled and other rows differ in the judge's score by more than chance at this level.
UNLIKE = 0.01


@dataclass(frozen=True)
class Corrected:
    """
    Scores corrected by labels.

    Attributes
    ----------
    baseline, candidate
        One number an item (or row). Their means estimate what people would say of all items, and their spread
        is that of these means.
    labels
        How many labels were used, of the baseline and of the candidate.
    off
        How far the judge is above people where both are known, in each version.
    people
        Difference, low and high by the labelled items alone.
    unlike
        The versions (0: baseline, 1: candidate) whose labelled rows have other scores than the rest.
    """

    baseline: Floats
    candidate: Floats
    labels: tuple[int, int]
    off: tuple[float, float]
    people: tuple[float, float, float]
    unlike: tuple[int, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether there are labels enough to correct with."""
        return min(self.labels) >= FEWEST


def correct(
    scores: tuple[Floats, Floats], truth: tuple[Floats, Floats], weights: tuple[Floats, Floats], *,
    beside: tuple[Floats, Floats] | None = None, paired: bool, alpha: float,
) -> Corrected:  # fmt: skip
    """
    Estimate what people would say of all items.

    Parameters
    ----------
    scores
        The judge's scores of baseline and candidate. Paired, the same items in the same order; an item
        without a score in either version is NaN in both.
    truth
        People's labels, NaN where there is none.
    weights
        1 / the chance that an item was chosen to be labelled.
    beside
        The judge's scores of what was labelled, where that is a part of an item's rows.
    paired
        Whether the versions are paired.
    alpha
        Level of the interval of `Corrected.people`.

    Notes
    -----
    The mean of a version is `λ · mean(judge) + mean(people − λ · judge)`, the second over labelled items.
    λ makes the variance least (power tuning): where the judge says nothing about people's labels it is 0, and
    the labels alone count.
    """
    judged = scores if beside is None else beside
    known = [
        np.isfinite(t) & np.isfinite(j) & np.isfinite(s)
        for t, j, s in zip(truth, judged, scores, strict=True)
    ]
    used = [np.where(k, np.where(np.isfinite(w), w, 1.0), 0.0) for k, w in zip(known, weights, strict=True)]
    both = known[0] & known[1] if paired else np.zeros(1, dtype=np.bool_)
    if both.sum() >= FEWEST:
        slopes = [_slope(judged[1] - judged[0], truth[1] - truth[0], np.where(both, used[0], 0.0))] * 2
    else:
        slopes = [_slope(*one) for one in zip(judged, truth, used, strict=True)]
    arms = zip(scores, judged, truth, used, known, strict=True)
    parts = [_side(*one, slope=slope) for one, slope in zip(arms, slopes, strict=True)]
    off = [_mean(j - t, w) for j, t, w in zip(judged, truth, used, strict=True)]
    sides = enumerate(zip(scores, known, used, strict=True))
    return Corrected(
        parts[0], parts[1], (int(known[0].sum()), int(known[1].sum())), (off[0], off[1]),
        _people(truth, used, known, paired=paired, alpha=alpha),
        tuple(n for n, one in sides if _unlike(*one)),
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
    if labels < FEWEST:
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
    truth: tuple[Floats, Floats], weights: list[Floats], known: list[Flags], *,
    paired: bool, alpha: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the difference by labelled items alone, with its interval."""
    fewest = min(int(k.sum()) for k in known)
    if fewest < 2:
        return (np.nan, np.nan, np.nan)
    both = known[0] & known[1] if paired else np.zeros(1, dtype=np.bool_)
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
    if known.sum() < FEWEST or rest.sum() < FEWEST:
        return False
    mean, variance = _weighed(judge[known], weights[known])
    # The mean of all items is what weighted labelled items should show.
    every = judge[np.isfinite(judge)]
    apart = abs(mean - float(every.mean()))
    spread = np.sqrt(max(variance, 0.0) * (1 - known.sum() / len(every)))
    return bool(apart > 0.01 and apart > ndtri(1 - UNLIKE / 2) * spread)
