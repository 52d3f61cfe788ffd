"""Laws of measures: skewed values without a change, `no_change`, and quantiles that hold the truth."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from polars_evals.drift import read as reading
from polars_evals.drift.inference.estimate import Estimates
from polars_evals.drift.inference.quantiles import Arms, mean_ratio, quantile_of
from polars_evals.drift.pair import pair
from polars_evals.drift.spec import ComparisonSpec
from polars_evals.suite import Measure

from . import ALPHA, Floats, Rng, group, judged_alone

MEASURES, add = group("Measures: log-normal values, as latencies are")


def verdicts(
    before: Floats, after: Floats, *, paired: bool = True, min_effect: float | None = 0.0
) -> pl.Series:
    """Judge the means of many data sets at once, each corrected by itself: a row is a set."""
    frames = [
        pl.DataFrame(
            {
                "set": np.repeat(np.arange(len(values)), values.shape[1]),
                "item": (np.arange(len(values))[:, None] * 100_000 + np.arange(values.shape[1])).ravel(),
                "model": model,
                "m_score": 0.5,
                "took": values.ravel(),
            }
        )
        for model, values in (("a", before), ("b", after))
    ]
    spec = ComparisonSpec(
        version="model", baseline="a", item="item" if paired else None, by="set",
        measures={"took": {"lower_is_better": True, "min_effect": min_effect, "quantiles": []}},
    )  # fmt: skip
    reading.MOST_SLICES = 10**9
    scores = reading.read(pl.concat(frames), spec)
    estimates, pairs = Estimates(scores.spec), pair(scores.rows, scores.spec, "b")
    estimates.add(pairs, "took", pairs.slicing(["set"]))
    return judged_alone(estimates).rows["score_verdict"]


def lognormal(rng: Rng, sigma: float, *shape: int) -> Floats:
    """Draw values with mean 1."""
    return np.exp(sigma * rng.normal(size=shape) - sigma**2 / 2)


def unchanged(
    rng: Rng, sets: int, *, n: int, sigmas: tuple[float, float], paired: bool = True, times: int = 1
) -> float:
    """Return how often the same mean is called changed."""
    before, after = (lognormal(rng, s, sets, size) for s, size in zip(sigmas, (times * n, n), strict=True))
    return float(verdicts(before, after, paired=paired).is_in(["regressed", "improved"]).mean())  # type: ignore[arg-type]


def slower(rng: Rng, sets: int, *, n: int) -> float:
    """Return how often 5% more, in few items, is called no change."""
    before = lognormal(rng, 0.05, sets, n)
    after = before * (1 + 0.05 * lognormal(rng, 1.5, sets, n))
    return float((verdicts(before, after, min_effect=None) == "no_change").mean())  # type: ignore[arg-type]


def covered(
    rng: Rng, sets: int, *, n: int, q: float | None, together: float = 0.0, paired: bool = True
) -> float:
    """Return how often the interval of a ratio of quantiles, or of means without one, holds the truth."""
    shared = rng.normal(size=(sets, n))
    own = together * shared + np.sqrt(1 - together**2) * rng.normal(size=(sets, n))
    before, after = np.exp(shared), 1.2 * np.exp(own)
    took, inside = Measure("took", lower_is_better=True), 0
    for one, other in zip(before, after, strict=True):
        arms = Arms(one, other, paired)
        found = mean_ratio(arms, ALPHA) if q is None else quantile_of(arms, took.limits, q, ALPHA)
        holds = found["ratio_low"] <= 1.2 <= found["ratio_high"]
        if q is not None:
            holds &= found["ci_low"] <= 0.2 * np.exp(stats.norm.ppf(q)) <= found["ci_high"]
        inside += holds
    return inside / sets


for _n in (30, 100, 300):
    add(f"the same distribution (σ = 1), n = {_n}", unchanged, high=ALPHA, n=_n, sigmas=(1.0, 1.0))
    add(f"the same mean, σ from 0.2 to 1, n = {_n}", unchanged, high=2 * ALPHA, n=_n, sigmas=(0.2, 1.0))
    add(f"the same mean, σ from 1 to 0.2, n = {_n}", unchanged, high=2 * ALPHA, n=_n, sigmas=(1.0, 0.2))
    add(
        f"not paired, three times as many in the baseline (σ = 1), n = {_n}",
        unchanged, high=2 * ALPHA, n=_n, sigmas=(1.0, 1.0), paired=False, times=3,
    )  # fmt: skip
    add(f"5% more, unevenly, called `no_change`, n = {_n}", slower, high=ALPHA / 2, n=_n)
for _q in (0.5, 0.95):
    _what = f"difference and ratio of {_q:g} quantiles hold the truth"
    add(f"{_what}, n = 100", covered, low=0.93, n=100, q=_q)
    add(f"{_what}, versions alike (correlation 0.8), n = 100", covered, low=0.93, n=100, q=_q, together=0.8)
    add(f"{_what}, not paired, n = 300", covered, low=0.93, n=300, q=_q, paired=False)
add("the ratio of means holds the truth (σ = 1), n = 100", covered, low=0.9, n=100, q=None, together=0.8)
add("the ratio of means holds the truth (σ = 1), n = 300", covered, low=0.92, n=300, q=None, together=0.8)

LAWS = MEASURES
TIED, add = group("Measures: whole seconds, of which most are tied")


def tied(rng: Rng, sets: int, *, n: int, after: float) -> float:
    """Return how often a median is found to have changed: 20% take 2 s, then `after` of them."""
    found = 0
    for _ in range(sets):
        before, late = (np.where(rng.random(n) < share, 2.0, 1.0) for share in (0.2, after))
        arms = Arms(before, late, paired=True)
        one = quantile_of(arms, (0.0, np.inf), 0.5, ALPHA)
        excluded = one["ci_low"] > 0 or one["ci_high"] < 0
        assert excluded == (one["p_value"] <= ALPHA)
        found += excluded
    return found / sets


for _n, _low in ((30, 0.4), (100, 0.95), (300, 0.99)):
    add(f"a median of 1 s becomes 2 s, n = {_n}: found", tied, low=_low, n=_n, after=0.8)
    add(f"a median of 1 s stays, n = {_n}: found", tied, high=ALPHA, n=_n, after=0.2)
