"""Quantiles and ratios of measures: both versions, their difference and their ratio, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift.columns import trait
from polars_evals.drift.inference import floats
from polars_evals.drift.inference.measure import IDENTITY, slice_name
from polars_evals.drift.inference.testing import FEWEST_CLUSTERS
from polars_evals.suite.measure import PART, USUAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats
    from polars_evals.drift.pair import Observations
    from polars_evals.suite.measure import Measure

    Codes = npt.NDArray[np.int64]

MEAN = "mean"
STATISTICS: dict[str, Any] = {
    **IDENTITY,
    "statistic": pl.String,
    "quantile": pl.Float64,
    "n": pl.Int64,
    "baseline_value": pl.Float64,
    "candidate_value": pl.Float64,
    "difference": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "min_effect": pl.Float64,
    "p_value": pl.Float64,
}


@dataclass(frozen=True)
class Arms:
    """The values of both versions in a slice; paired, the places of both are those of the items."""

    before: Floats
    after: Floats
    paired: bool
    # The clusters of the values of each version, if there are any.
    clusters: tuple[Codes, Codes] | None = None


def statistics(
    observations: Observations, measure: Measure, by: Sequence[str], *, alpha: float
) -> pl.DataFrame:
    """Return a row for the mean and one for each quantile, in each slice."""
    rows = []
    for value, arms in _arms(observations, measure.name, [trait(name) for name in by]):
        identity = {
            "candidate": observations.candidate,
            "metric": measure.name,
            "slice": slice_name(by, value) if by else None,
            "by": list(by) if by else None,
            "value": list(value) if by else None,
        }
        n = len(arms.before) if arms.paired else len(arms.before) + len(arms.after)
        rows += [identity | {"n": n} | found for found in _statistics(arms, measure, alpha)]
    frame = pl.DataFrame(rows, schema=STATISTICS)
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def statistic_name(quantile: float) -> str:
    """Return ``p95`` for 0.95, and ``median`` for 0.5."""
    return "median" if quantile == 0.5 else f"p{100 * quantile:.6g}"


def _arms(observations: Observations, name: str, keys: Sequence[str]) -> Iterator[tuple[Any, Arms]]:
    cluster = ["cluster"] if observations.clustered else []
    frame = observations.frame.select(*keys, *cluster, b=f"{name}:b", c=f"{name}:c")
    if observations.paired:
        frame = frame.drop_nulls(["b", "c"])
    parts = frame.group_by(keys) if keys else [((), frame)]
    found = []
    for value, part in parts:
        sides = [part.filter(pl.col(end).is_not_null()) for end in ("b", "c")]
        codes = tuple(one["cluster"].to_numpy() for one in sides) if cluster else None
        before, after = (floats(one[end]) for one, end in zip(sides, ("b", "c"), strict=True))
        found.append((value, Arms(before, after, observations.paired, codes)))  # type: ignore[arg-type]
    yield from sorted(found, key=lambda pair: tuple((one is None, one or "") for one in pair[0]))


def _statistics(arms: Arms, measure: Measure, alpha: float) -> Iterator[dict[str, Any]]:
    if not len(arms.before) or not len(arms.after):
        return
    before, after = float(arms.before.mean()), float(arms.after.mean())
    yield {
        "statistic": MEAN,
        "baseline_value": before,
        "candidate_value": after,
        "difference": after - before,
        **mean_ratio(arms, alpha),
    }
    for p in USUAL if measure.quantiles is None else measure.quantiles:
        yield quantile_of(arms, measure, p, alpha)


def mean_ratio(arms: Arms, alpha: float) -> dict[str, float]:
    """
    Return the ratio of two means with its interval.

    Notes
    -----
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
    low, high = ratio_interval(ratio, [_variance_of_mean(*piece) for piece in pieces], alpha)
    return {"ratio": ratio, "ratio_low": low, "ratio_high": high}


def ratio_interval(ratio: float, spreads: Sequence[tuple[float, float]], alpha: float) -> tuple[float, float]:
    """Return the interval of a ratio, given the variances of its logarithm with their degrees of freedom."""
    from scipy.special import stdtrit

    total = sum(variance for variance, _ in spreads)
    if not np.isfinite(total):
        return np.nan, np.nan
    if total <= 0:
        return ratio, ratio
    df = total**2 / sum(variance**2 / freedom for variance, freedom in spreads)
    half = -float(stdtrit(df, alpha / 2)) * float(np.sqrt(total))
    return float(ratio * np.exp(-half)), float(ratio * np.exp(half))


def _variance_of_mean(values: Floats, clusters: Codes | None) -> tuple[float, float]:
    """Return the squared standard error of a mean and its degrees of freedom."""
    if clusters is not None:
        values = _totals(values - values.mean(), clusters) * (len(np.unique(clusters)) / len(values))
        if len(values) < FEWEST_CLUSTERS:
            return np.nan, np.nan
    n = len(values)
    return (float(values.var(ddof=1) / n), n - 1.0) if n > 1 else (np.nan, np.nan)


def _totals(values: Floats, clusters: Codes) -> Floats:
    _, places = np.unique(clusters, return_inverse=True)
    return np.asarray(np.bincount(places, weights=values), dtype=np.float64)


def quantile_of(arms: Arms, measure: Measure, p: float, alpha: float) -> dict[str, Any]:
    """Return a quantile of both versions, their difference and ratio with intervals, and a p-value."""
    sides = [Side.of(values, p, alpha, measure, arms.clusters and arms.clusters[at])
             for at, values in enumerate((arms.before, arms.after))]  # fmt: skip
    before, after = sides
    together = _correlation(arms, before.value, after.value) if arms.paired else 0.0
    low, high = difference_interval(before, after, together)
    difference = after.value - before.value
    effect = PART * abs(before.value) if measure.min_effect is None else measure.min_effect
    found = {
        "statistic": statistic_name(p),
        "quantile": p,
        "baseline_value": before.value,
        "candidate_value": after.value,
        "difference": difference,
        "ci_low": low if np.isfinite(low) else np.nan,
        "ci_high": high if np.isfinite(high) else np.nan,
        "min_effect": effect,
        "p_value": _p_value(difference, low, high, alpha),
    }
    if before.value > 0 and after.value > 0:
        low, high = difference_interval(before.log(), after.log(), together)
        found |= {
            "ratio": after.value / before.value,
            "ratio_low": np.exp(low) if np.isfinite(low) else np.nan,
            "ratio_high": np.exp(high) if np.isfinite(high) else np.nan,
        }
    return found


@dataclass(frozen=True)
class Side:
    """A quantile of one version with its interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats, p: float, alpha: float, measure: Measure, clusters: Codes | None) -> Side:
        """
        Take a quantile, and the order statistics around it.

        Notes
        -----
        The number of values below the true quantile is binomial, whatever their distribution is, so that two
        of the sorted values hold it between them with probability 1 − alpha at least. With too few values
        one of them does not exist, and the bound of the measure stands in. Clusters make values count for
        less: as many fewer as the share below the quantile varies more than between single values.
        """
        from scipy.stats import binom

        ordered, n = np.sort(values), len(values)
        value = float(np.quantile(ordered, p))
        worth = n
        if clusters is not None:
            if len(np.unique(clusters)) < FEWEST_CLUSTERS:
                return cls(value, -np.inf, np.inf)
            worth = int(n / _design_effect(values <= value, clusters))
        first, last = int(binom.ppf(alpha / 2, worth, p)), int(binom.ppf(1 - alpha / 2, worth, p)) + 1
        low, high = measure.limits
        if first >= 1:
            low = float(ordered[max(int(np.floor(first / worth * n)), 1) - 1])
        if last <= worth:
            high = float(ordered[min(int(np.ceil(last / worth * n)), n) - 1])
        return cls(value, min(low, value), max(high, value))

    def log(self) -> Side:
        """Return the same on the scale of logarithms."""
        with np.errstate(divide="ignore"):
            return Side(*(float(np.log(max(one, 0.0))) for one in (self.value, self.low, self.high)))


def _design_effect(below: npt.NDArray[np.bool_], clusters: Codes) -> float:
    share, n = below.mean(), len(below)
    totals = _totals(below - share, clusters)
    groups = len(totals)
    single = share * (1 - share) * n
    return 1.0 if single <= 0 else max(1.0, float((totals**2).sum()) * groups / (groups - 1) / single)


def _correlation(arms: Arms, before: float, after: float) -> float:
    """Return how much the same items lie below the quantile in both versions."""
    below = [(arms.before <= before).astype(np.float64), (arms.after <= after).astype(np.float64)]
    below = [one - one.mean() for one in below]
    if arms.clusters is not None:
        below = [_totals(one, arms.clusters[0]) for one in below]
    squares = float(np.sqrt((below[0] ** 2).sum() * (below[1] ** 2).sum()))
    return float((below[0] * below[1]).sum()) / squares if squares > 0 else 0.0


def difference_interval(before: Side, after: Side, correlation: float) -> tuple[float, float]:
    """
    Return the interval of a difference from those of both sides.

    Notes
    -----
    Each bound takes the distances that matter for it: the candidate's lower and the baseline's upper one for
    the lower bound (the method of variance estimates recovery, Zou and Donner 2008).
    """

    def apart(one: float, other: float) -> float:
        if not (np.isfinite(one) and np.isfinite(other)):
            return np.inf
        return float(np.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0)))

    difference = after.value - before.value
    low = apart(after.value - after.low, before.high - before.value)
    high = apart(after.high - after.value, before.value - before.low)
    return difference - low, difference + high


def _p_value(difference: float, low: float, high: float, alpha: float) -> float:
    """Return the p-value of a difference, from how far its interval reaches towards 0."""
    from scipy.stats import norm

    reach = difference - low if difference > 0 else high - difference
    if not np.isfinite(reach):
        return np.nan
    if difference == 0 or reach == 0:
        return 1.0
    return float(2 * norm.sf(norm.isf(alpha / 2) * abs(difference) / reach))


def empty_statistics() -> pl.DataFrame:
    """Return the frame of a comparison without measures."""
    return pl.DataFrame(schema=STATISTICS)
