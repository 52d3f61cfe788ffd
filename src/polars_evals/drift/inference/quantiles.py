"""Quantiles and ratios of measures: both versions, their difference and their ratio, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import bdtr, bdtrik, betaln, stdtrit

from polars_evals.drift.inference.clusters import FEWEST, by_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

    Codes = npt.NDArray[np.int64]

# The levels at which intervals are made to find the one at which they reach 0.
LEVELS = np.geomspace(1.0, 1e-16, 161)
# How much a sequential test expects to see before it can tell: as many values as a prior is worth.
PRIOR = 24.0


@dataclass(frozen=True)
class Arms:
    """The values of both versions in a slice; paired, the places of both are those of the items."""

    before: Floats
    after: Floats
    paired: bool
    # The clusters of the values of each version, if there are any.
    clusters: tuple[Codes, Codes] | None = None


def statistic_name(quantile: float) -> str:
    """Return `p95` for 0.95, and `median` for 0.5."""
    return "median" if quantile == 0.5 else f"p{100 * quantile:.6g}"


def mean_ratio(arms: Arms, alpha: float) -> dict[str, float]:
    """
    Return the ratio of two means with its interval.

    The interval is that of the logarithm, by the delta method: the spread of c / mean(c) − b / mean(b) over
    items, or over clusters. Means that are not above 0 have no ratio.
    """
    before, after = arms.before.mean(), arms.after.mean()
    if not (before > 0 and after > 0):
        return {"ratio": np.nan, "ratio_low": np.nan, "ratio_high": np.nan}
    ratio = float(after / before)
    relative = [arms.before / before - 1, arms.after / after - 1]
    if arms.paired:
        pieces = [(relative[1] - relative[0], None if arms.clusters is None else arms.clusters[0])]
    else:
        pieces = [(one, arms.clusters and arms.clusters[at]) for at, one in enumerate(relative)]
    spreads = [_variance_of_mean(*piece) for piece in pieces]
    total, half = sum(variance for variance, _ in spreads), 0.0
    if total > 0:
        df = total**2 / sum(variance**2 / freedom for variance, freedom in spreads)
        half = -float(stdtrit(df, alpha / 2)) * float(np.sqrt(total))
    half = half if np.isfinite(total) else np.nan
    low, high = float(ratio * np.exp(-half)), float(ratio * np.exp(half))
    return {"ratio": ratio, "ratio_low": low, "ratio_high": high}


def _variance_of_mean(values: Floats, clusters: Codes | None) -> tuple[float, float]:
    """Return the squared standard error of a mean and its degrees of freedom."""
    if clusters is not None:
        totals, sizes = by_cluster(values - values.mean(), clusters)
        values = totals * len(sizes) / len(values)
        if len(values) < FEWEST:
            return np.nan, np.nan
    n = len(values)
    return (float(values.var(ddof=1) / n), n - 1.0) if n > 1 else (np.nan, np.nan)


def quantile_of(arms: Arms, bounds: tuple[float, float], p: float, alpha: float) -> dict[str, Any]:
    """
    Return a quantile of both versions, their difference and ratio with intervals, and p-values.

    The p-value is the level at which the interval of the difference reaches 0, for one look and, by a
    confidence sequence, for any number of looks while values are added.
    """
    sides = [
        Side.of(values, p, bounds, arms.clusters and arms.clusters[at])
        for at, values in enumerate((arms.before, arms.after))
    ]
    before, after = (side.value for side in sides)
    correlation = _correlation(arms, before, after) if arms.paired else 0.0
    difference = after - before
    # The interval, its sides at the one-sided level, and the levels down to where it reaches 0.
    levels = np.array([alpha, min(2 * alpha, 1.0)])
    found: dict[str, Any] = {
        "baseline_value": before,
        "candidate_value": after,
        "difference": difference,
        "effective": min(side.worth for side in sides),
        "ratio": np.nan,
        "ratio_low": np.nan,
        "ratio_high": np.nan,
    }
    for prefix, counts in (("", fixed_counts), ("sequential_", sequential_counts)):
        ends = [side.at(levels, counts) for side in sides]
        low, high = _difference_interval(ends[0], ends[1], correlation)
        # Without an end on the side of 0 there are too few values for any test.
        reach = low[0] if difference > 0 else high[0]
        p_value = _level_at_zero(difference, sides, correlation, counts) if np.isfinite(reach) else np.nan
        # Intervals at higher levels may reach 0 where this one does not: what they hold, it holds.
        wider = levels < p_value
        low, high = np.where(wider, np.minimum(low, 0.0), low), np.where(wider, np.maximum(high, 0.0), high)
        names = ("ci_low", "ci_high") if not prefix else ("sequential_low", "sequential_high")
        found |= {names[0]: low[0], names[1]: high[0]}
        found |= {f"{prefix}bound_low": low[1], f"{prefix}bound_high": high[1]}
        found["p_sequential" if prefix else "p_value"] = p_value
    if before > 0 and after > 0:
        logs = [side.at(levels[:1], fixed_counts).log() for side in sides]
        low, high = _difference_interval(logs[0], logs[1], correlation)
        ends_ = (np.exp(end[0]) if np.isfinite(end[0]) else np.nan for end in (low, high))
        found |= dict(zip(("ratio", "ratio_low", "ratio_high"), (after / before, *ends_), strict=True))
    return {key: value if value is None or np.isfinite(value) else np.nan for key, value in found.items()}


class Ends(NamedTuple):
    """A quantile with its intervals, one for each level."""

    value: float
    low: Floats
    high: Floats

    def log(self) -> Ends:
        """Return the same on the scale of logarithms."""
        with np.errstate(divide="ignore"):
            low, high = (np.log(np.maximum(one, 0.0)) for one in (self.low, self.high))
        return Ends(float(np.log(self.value)), low, high)


@dataclass(frozen=True)
class Side:
    """
    The sorted values of a version around a quantile.

    The number of values below the true quantile is binomial, whatever their distribution is, so that two
    of the sorted values hold it between them with probability 1 − alpha at least. With too few values
    one of them does not exist, and the bound of the measure stands in. Clusters make values count for
    less: as many fewer as the share below the quantile varies more than between single values.
    """

    value: float
    ordered: Floats
    p: float
    worth: int
    bounds: tuple[float, float]

    @classmethod
    def of(cls, values: Floats, p: float, bounds: tuple[float, float], clusters: Codes | None) -> Side:
        """Take a quantile of some values."""
        ordered = np.sort(values)
        value, worth = float(np.quantile(ordered, p)), len(values)
        if clusters is not None:
            few = len(np.unique(clusters)) < FEWEST
            worth = 0 if few else int(worth / _design_effect(values <= value, clusters))
        return cls(value, ordered, p, worth, bounds)

    def at(self, levels: Floats, counts: Callable[[int, float, Floats], tuple[Codes, Codes]]) -> Ends:
        """Return the order statistics around the quantile, for each level."""
        n, worth = len(self.ordered), self.worth
        nothing = np.full(len(levels), -np.inf)
        if not worth:
            return Ends(self.value, nothing, -nothing)
        first, last = counts(worth, self.p, levels)
        places = [np.floor(first / worth * n), np.ceil(last / worth * n)]
        low, high = (self.ordered[np.clip(place, 1, n).astype(np.int64) - 1] for place in places)
        low = np.where(first >= 1, low, self.bounds[0])
        high = np.where(last <= worth, high, self.bounds[1])
        return Ends(self.value, np.minimum(low, self.value), np.maximum(high, self.value))


def fixed_counts(n: int, p: float, levels: Floats) -> tuple[Codes, Codes]:
    """Return between which of n sorted values a quantile lies, for one look."""
    tails = levels / 2
    return _binomial_quantile(tails, n, p), n - _binomial_quantile(tails, n, 1 - p) + 1


def _binomial_quantile(tail: Floats, n: int, p: float) -> Codes:
    """Return the least k at which the binomial distribution function reaches `tail`."""
    with np.errstate(invalid="ignore"):
        guess = np.ceil(np.nan_to_num(bdtrik(tail, n, p)))
    for _ in range(2):
        guess = np.where((guess > 0) & (bdtr(np.maximum(guess - 1, 0), n, p) >= tail), guess - 1, guess)
        guess = np.where(bdtr(guess, n, p) < tail, guess + 1, guess)
    return np.asarray(guess, dtype=np.int64)


def sequential_counts(n: int, p: float, levels: Floats) -> tuple[Codes, Codes]:
    """
    Return between which of n sorted values a quantile lies, at all times at once.

    The confidence sequence for quantiles of Howard and Ramdas (2022): the number of values below the true
    quantile is a sum of Bernoulli variables, and its likelihood ratio under a beta mixture is a martingale.
    """
    a, b = PRIOR * p, PRIOR * (1 - p)
    limit = -np.log(levels)

    def far(k: Floats) -> npt.NDArray[np.bool_]:
        ratio = betaln(a + k, b + n - k) - betaln(a, b) - k * np.log(p) - (n - k) * np.log1p(-p)
        return np.asarray(ratio >= limit)

    found = []
    for end, step in ((0, 1), (n, -1)):
        inside, outside = np.full(len(levels), round(n * p)), np.full(len(levels), end - step)
        while True:
            middle = (inside + outside) // 2 if step > 0 else -((-inside - outside) // 2)
            moving = (middle != inside) & (middle != outside)
            if not moving.any():
                break
            out = far(middle.astype(np.float64))
            outside, inside = np.where(out & moving, middle, outside), np.where(out, inside, middle)
        found.append(inside)
    return found[0], found[1] + 1


def _design_effect(below: npt.NDArray[np.bool_], clusters: Codes) -> float:
    share, n = below.mean(), len(below)
    totals, _ = by_cluster(below - share, clusters)
    groups = len(totals)
    single = share * (1 - share) * n
    return 1.0 if single <= 0 else max(1.0, float((totals**2).sum()) * groups / (groups - 1) / single)


def _correlation(arms: Arms, before: float, after: float) -> float:
    """Return how much the same items lie below the quantile in both versions."""
    below = [(arms.before <= before).astype(np.float64), (arms.after <= after).astype(np.float64)]
    below = [one - one.mean() for one in below]
    if arms.clusters is not None:
        below = [by_cluster(one, arms.clusters[0])[0] for one in below]
    squares = float(np.sqrt((below[0] ** 2).sum() * (below[1] ** 2).sum()))
    return float((below[0] * below[1]).sum()) / squares if squares > 0 else 0.0


def _difference_interval(before: Ends, after: Ends, correlation: float) -> tuple[Floats, Floats]:
    """
    Return the intervals of a difference from those of both sides.

    Each bound takes the distances that matter for it: the candidate's lower and the baseline's upper one for
    the lower bound (the method of variance estimates recovery, Zou and Donner 2008).
    """

    def apart(one: Floats, other: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            squared = one**2 + other**2 - 2 * correlation * one * other
        finite = np.isfinite(one) & np.isfinite(other)
        return np.asarray(np.sqrt(np.maximum(np.where(finite, squared, np.inf), 0.0)))

    difference = after.value - before.value
    low = apart(after.value - after.low, before.high - before.value)
    high = apart(after.high - after.value, before.value - before.low)
    return difference - low, difference + high


def _level_at_zero(difference: float, sides: Sequence[Side], correlation: float, counts: Any) -> float:
    """Return the level at which the interval reaches 0; NaN where no level tells anything."""

    def apart(levels: Floats) -> npt.NDArray[np.bool_]:
        ends = [side.at(levels, counts) for side in sides]
        low, high = _difference_interval(ends[0], ends[1], correlation)
        return np.asarray((low > 0) | (high < 0))

    if difference == 0:
        return 1.0
    # Coarse, then fine between the last level at which the interval is apart from 0 and the first at which
    # it is not.
    holds = apart(LEVELS)
    reached = int(np.argmin(holds)) if not holds.all() else len(LEVELS)
    if reached == 0:
        return 1.0
    if reached == len(LEVELS):
        return float(LEVELS[-1])
    fine = np.geomspace(LEVELS[reached - 1], LEVELS[reached], 33)
    return float(fine[np.flatnonzero(apart(fine))[-1]])
