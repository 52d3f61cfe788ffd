"""Laws of `compare`: false alarms, `no_change`, missing answers, daily looks, and what n buys."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from polars_evals.drift.inference.intervals import detectable
from polars_evals.drift.inference.sequential import sequential_p

from . import ALPHA, Floats, Places, Rng, alarms, group, judged, reports

PASS_RATES, add = group("Pass rates count")


def cliff(rng: Rng, sets: int) -> float:
    before = np.full((sets, 300), 0.71)
    return reports(
        judged(before, np.where(rng.random((sets, 300)) < 0.3, 0.69, before), threshold=0.7), "regressed"
    )


add("30% of items fall from 0.71 to 0.69 at threshold 0.7: `regressed`", cliff, low=0.99)

NO_CHANGE, add = group("`no_change` is not said too early")


def lost(rng: Rng, sets: int, *, n: int, loss: float, back: float = 0.0, noise: float = 0.0) -> float:
    share = rng.random((sets, n))
    before = np.where(share < back, 0.0, 1.0)
    after = np.where(share < back, 1.0, np.where(share > 1 - loss - back, 0.0, 1.0))
    if noise:
        level = 0.9 * before
        moved = np.clip(np.where(after > 0, 0.9 + rng.normal(0, noise, (sets, n)), 0.0), 0, 1)
        return reports(judged(level, moved, min_effect=0.9 * loss), "no_change")
    return reports(judged(before, after, threshold=0.5, min_effect=loss), "no_change")


add("n = 10, one item in ten lost, min_effect 0.1", lost, high=0.025, n=10, loss=0.1)
add("n = 30, 5% lost, min_effect 0.05", lost, high=0.025, n=30, loss=0.05)
add("n = 100, 5% lost, min_effect 0.05", lost, high=0.025, n=100, loss=0.05)
add("n = 400, 1% lost, min_effect 0.01", lost, high=0.025, n=400, loss=0.01)
add("n = 1000, 3% lost and 2% won, min_effect 0.01", lost, high=0.025, n=1000, loss=0.01, back=0.02)
add("n = 400, scores with noise, 1% fall to 0", lost, high=0.025, n=400, loss=0.01, noise=0.002)
add("n = 100, scores with noise, 5% fall to 0", lost, high=0.025, n=100, loss=0.05, noise=0.01)

FALSE_ALARMS, add = group("False alarms: `regressed` or `improved` although nothing changed")


def unchanged(rng: Rng, sets: int, n: int, kind: str) -> tuple[Floats, Floats]:
    base = rng.beta(5, 2, (sets, n))
    pair_ = np.clip(base + rng.normal(0, 0.1, (2, sets, n)), 0, 1)
    if kind == "binary":
        pair_ = (pair_ > 0.6).astype(float)
    if kind == "rare":
        pair_ = (rng.random((2, sets, n)) > 0.03).astype(float)
    return pair_[0], pair_[1]


def quiet(rng: Rng, sets: int, *, n: int, kind: str, paired: bool = True) -> float:
    before, after = unchanged(rng, sets, n, kind)
    return alarms(judged(before, after, threshold=0.6, min_effect=0.0, paired=paired))


def two(rng: Rng, sets: int) -> float:
    del rng
    return alarms(judged(np.ones((sets, 2)), np.zeros((sets, 2)), threshold=0.5, min_effect=0.0))


def slices(rng: Rng, sets: int, size: int) -> float:
    before, after = unchanged(rng, sets, 20 * size, "binary")
    return alarms(judged(before, after, threshold=0.6, min_effect=0.0, slices=np.repeat(np.arange(20), size)))


def skewed(rng: Rng, sets: int, n: int, noise: float = 0.0) -> float:
    before = rng.uniform(0.5, 0.9, (sets, n))
    after = (
        before
        + rng.choice([0.02, -0.38], p=[0.95, 0.05], size=(sets, n))
        + rng.normal(0, 1, (sets, n)) * noise
    )
    return alarms(judged(before, after, min_effect=0.0))


def clusters(sizes: Places) -> Places:
    return np.repeat(np.arange(len(sizes)), sizes)


SPREAD = np.array([1, 1, 1, 2, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 40])
LARGE = np.array([80, *[2] * 10])


def clustered(rng: Rng, sets: int, *, sizes: Places, within: float = 0.1, shift: float = 0.0) -> float:
    doc = clusters(sizes)
    n = len(doc)
    base = rng.uniform(0.45, 0.55, (sets, n))
    moved = rng.normal(0, 0.1, (sets, len(sizes)))[:, doc] + rng.normal(0, within, (sets, n)) + shift
    rows = judged(base, np.clip(base + moved, 0, 1), cluster=doc, min_effect=0.0)
    return reports(rows, "regressed", "improved", "no_change")


def shared(rng: Rng, sets: int, what: str) -> float:
    doc = clusters(np.full(40, 5))
    hard = rng.normal(0, 0.2, (sets, 40))[:, doc]
    before, after = 0.5 + hard + rng.normal(0, 0.05, (2, sets, 200))
    rows = judged(before, after, cluster=doc, paired=False, min_effect=0.0)
    if what == "alarm":
        return alarms(rows)
    return float(rows["se"].to_numpy().mean() / rows["difference"].to_numpy().std(ddof=1))


def repeats(rng: Rng, sets: int) -> float:
    rate = rng.beta(2, 1, (sets, 100))
    before = (rng.random((sets, 100)) < rate).astype(float)
    after = (rng.random((2, sets, 100)) < rate).astype(float)
    return alarms(judged(before, after.reshape(2 * sets, 100), threshold=0.5, min_effect=0.0, runs=2))


add("pass and fail, n = 10", quiet, high=ALPHA, n=10, kind="binary")
add("pass and fail, n = 30", quiet, high=ALPHA, n=30, kind="binary")
add("pass and fail, n = 100", quiet, high=ALPHA, n=100, kind="binary")
add("pass and fail, 3% fail, n = 100", quiet, high=ALPHA, n=100, kind="rare")
add("scores, n = 10", quiet, high=ALPHA, n=10, kind="score")
add("scores, n = 100", quiet, high=ALPHA, n=100, kind="score")
add("scores, not paired, n = 100 a version", quiet, high=ALPHA, n=100, kind="score", paired=False)
add("pass and fail, not paired, n = 100 a version", quiet, high=ALPHA, n=100, kind="binary", paired=False)
add("two of two items flip", two, high=0.0)
add("20 slices of 3 items, any slice", slices, high=ALPHA, size=3)
add("20 slices of 8 items, any slice", slices, high=ALPHA, size=8)
add("skewed differences (95% +0.02, 5% −0.38), n = 30", skewed, high=2 * ALPHA, n=30)
add("skewed differences (95% +0.02, 5% −0.38), n = 100", skewed, high=2 * ALPHA, n=100)
add("skewed differences (95% +0.02, 5% −0.38), n = 300", skewed, high=2 * ALPHA, n=300)
add("skewed differences with noise, n = 30", skewed, high=2 * ALPHA, n=30, noise=0.02)
add("clusters of 1 to 40 items", clustered, high=1.5 * ALPHA, sizes=SPREAD)
add("clusters of 1 to 40 items, alike within", clustered, high=1.5 * ALPHA, sizes=SPREAD, within=0.02)
add("one cluster with 80% of the items", clustered, high=1.5 * ALPHA, sizes=LARGE)
add("one cluster with 80% of the items, alike within", clustered, high=1.5 * ALPHA, sizes=LARGE, within=0.02)
add("6 clusters of 10 items", clustered, high=1.5 * ALPHA, sizes=np.full(6, 10))
add("40 clusters of 5 items", clustered, high=1.5 * ALPHA, sizes=np.full(40, 5))
add(
    "5 clusters, a large loss: any verdict but `inconclusive`",
    clustered,
    high=0.0,
    sizes=np.full(5, 40),
    shift=-0.4,
)
add("not paired, versions share 40 clusters", shared, high=1.5 * ALPHA, what="alarm")
add("not paired, shared clusters: standard error over its true value", shared, low=0.9, high=1.1, what="se")
add("runs an item unequal (1 against 2)", repeats, high=ALPHA)

MISSING, add = group("Missing answers")


def missing(rng: Rng, sets: int, gone: tuple[float, float]) -> float:
    scores = [np.where(rng.random((sets, 100)) < share, np.nan, 0.8) for share in gone]
    rows = judged(scores[0], scores[1], min_effect=0.0)
    return reports(rows, "regressed") if gone[0] == 0 else alarms(rows)


add("40 of 100 candidate answers missing: `regressed`", missing, low=0.99, gone=(0.0, 0.4))
add("10% missing in both versions: `regressed` or `improved`", missing, high=ALPHA, gone=(0.1, 0.1))

DAILY, add = group("Asked every day")


def daily(rng: Rng, sets: int, kind: str) -> float:
    """Ask for the sequential p-values of score and pass rate every day; a verdict needs one of them."""
    before, after = unchanged(rng, sets, 600, kind)
    ever = np.zeros(sets, dtype=bool)
    for day in range(1, 61):
        n = 10 * day
        p = []
        for d in (after - before, (after >= 0.6).astype(float) - (before >= 0.6)):
            seen = d[:, :n]
            with np.errstate(invalid="ignore", divide="ignore"):
                t = np.nan_to_num(seen.mean(axis=1) / stats.sem(seen, axis=1))
            p.append(sequential_p(t, np.full(sets, n - 1.0), np.full(sets, float(n))))
        ever |= (2 * np.minimum(*p) <= ALPHA) | (np.maximum(*p) <= ALPHA)
    return float(ever.mean())


def daily_loss(rng: Rng, sets: int) -> float:
    share = rng.random((sets, 600))
    before, after = np.where(share < 0.02, 0.0, 1.0), np.where(share > 0.9, 0.0, 1.0)
    return reports(judged(before, after, threshold=0.5), "regressed", of="sequential_verdict")


add("60 days, pass and fail: `sequential_verdict` ever wrong", daily, high=ALPHA, kind="binary")
add("60 days, scores: `sequential_verdict` ever wrong", daily, high=ALPHA, kind="score")
add("60 days, 3% fail: `sequential_verdict` ever wrong", daily, high=ALPHA, kind="rare")
add("a loss of 8 points is found by day 60 (600 items)", daily_loss, low=0.9)

POWER, add = group("What n buys")


def detected(rng: Rng, sets: int, n: int, of: str = "p_value") -> float:
    base, noise = np.full((sets, n), 0.5), rng.normal(0, 0.1, (sets, n))
    mde = 0.1 / np.sqrt(n) * float(detectable(np.ones(1), np.array([n - 1.0]), ALPHA)[0])
    rows = judged(base, base + noise - mde, min_effect=0.0)
    return float((rows["p_value"] <= ALPHA).mean()) if of == "p_value" else reports(rows, "regressed")  # type: ignore[arg-type]


def shown(rng: Rng, sets: int, spread: float) -> float:
    pilot = judged(
        np.full((1, 100), 0.5),
        0.5 + spread * stats.norm.ppf((np.arange(100) + 0.5) / 100)[None],
        min_effect=0.05,
    )
    n = int(pilot["n_needed"].item())
    base = np.full((sets, n), 0.5)
    return reports(judged(base, base + rng.normal(0, spread, (sets, n)), min_effect=0.05), "no_change")


def stability(rng: Rng, sets: int, n: int) -> float:
    before, after = rng.random((2, sets, n))
    rows = judged(before, after, paired=False)
    return float((rows["psi"] > rows["psi_chance"]).mean())  # type: ignore[arg-type]


# The rule of the first version: the t test alone (McNemar and permutation only shown), CR1 for clusters.


add("a change of `mde` is found by the t test, n = 5", detected, low=0.75, high=0.85, n=5)
add("a change of `mde` is found by the t test, n = 10", detected, low=0.75, high=0.85, n=10)
add("a change of `mde` is found by the t test, n = 100", detected, low=0.75, high=0.85, n=100)
# Not promised: so few items must also outweigh what may be unseen, which the t test does not ask for.
add("a change of `mde` is `regressed`, n = 10 (not promised below 30)", detected, n=10, of="verdict")
add("a change of `mde` is `regressed`, n = 100", detected, low=0.75, high=0.85, n=100, of="verdict")
add("`n_needed` items show `no_change`, spread 0.03", shown, low=0.75, high=0.85, spread=0.03)
add("`n_needed` items show `no_change`, spread 0.1", shown, low=0.75, high=0.85, spread=0.1)
add("PSI without a change above `psi_chance`, n = 50", stability, high=0.06, n=50)
add("PSI without a change above `psi_chance`, n = 500", stability, high=0.06, n=500)

COST, add = group("Power that these rules cost, against the t test alone")


def before_these_rules(before: Floats, after: Floats, doc: Places | None) -> float:
    d = after - before
    if doc is not None:
        d = np.stack([d[:, doc == one].mean(axis=1) for one in np.unique(doc)], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = d.mean(axis=1) / stats.sem(d, axis=1)
    found = 2 * stats.t.sf(np.abs(t), d.shape[1] - 1) <= ALPHA
    return float((found & (d.mean(axis=1) <= -0.01)).mean())


KINDS: dict[str, Any] = {
    "pass and fail, n = 100": {"n": 100, "clear": (0.155, 0.02), "middling": (0.09, 0.02)},
    "pass and fail, n = 300": {"n": 300, "clear": (0.10, 0.04), "middling": (0.075, 0.04)},
    "scores, n = 100": {"n": 100, "clear": 3.3, "middling": 2.0},
    "scores, n = 300": {"n": 300, "clear": 3.3, "middling": 2.0},
    "scores, 40 clusters of 5": {"n": 200, "clear": 3.4, "middling": 2.05, "doc": 5},
}


def found(rng: Rng, sets: int, kind: str, size: str) -> tuple[float, float]:
    """Return how often a loss is found now, and by the rule of the first version."""
    options = KINDS[kind]
    n, doc = options["n"], None
    if isinstance(options[size], tuple):
        lost_, won = options[size]
        share = rng.random((sets, n))
        before, after = np.where(share < won, 0.0, 1.0), np.where(share > 1 - lost_, 0.0, 1.0)
        rows = judged(before, after, threshold=0.5)
    else:
        before = np.clip(rng.beta(5, 2, (sets, n)), 0.3, 1)
        spread, shift = 0.15, options[size]
        noise = rng.normal(0, spread, (sets, n))
        se = spread / np.sqrt(n)
        if "doc" in options:
            doc = np.arange(n) // options["doc"]
            noise += rng.normal(0, 0.1, (sets, n // options["doc"]))[:, doc]
            se = np.sqrt(spread**2 / n + 0.01 / (n // options["doc"]))
        after = before + noise - shift * se
        rows = judged(before, after, threshold=0.7, cluster=doc)
    return reports(rows, "regressed"), before_these_rules(before, after, doc)


def loses(rng: Rng, sets: int, kind: str, size: str) -> float:
    """Return by how much less often a loss is found than by the rule of the first version."""
    new, old = found(rng, sets, kind, size)
    return max(0.0, old - new)


for _kind in KINDS:
    for _size, _most in (("clear", 0.05), ("middling", 0.10)):
        add(f"{_kind}, {_size} loss: found less often by", loses, high=_most, kind=_kind, size=_size)

LAWS = [*PASS_RATES, *NO_CHANGE, *FALSE_ALARMS, *MISSING, *DAILY, *POWER, *COST]
