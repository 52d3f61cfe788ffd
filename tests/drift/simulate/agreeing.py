"""Laws of `agreement` and `runs`: their intervals hold, and people's labels that are no sample are named."""

from __future__ import annotations

import numpy as np
import polars as pl

import polars_evals as pe
from polars_evals.drift.agreement import Ratings, _estimates, cohen

from . import ALPHA, Rng, group

AGREEMENT, add = group("Agreement of raters and repeated runs")


def kappa_holds(rng: Rng, sets: int, *, n: int, prevalence: float, found: float, right: float) -> float:
    """How often the interval of kappa holds it: two raters find a bad item, or let a good one pass."""
    shares = np.zeros(4)
    for share, fails in ((1 - prevalence, found), (prevalence, 1 - right)):
        shares += share * np.outer([fails, 1 - fails], [fails, 1 - fails]).ravel()
    patterns, values = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0.0, 1.0])
    true = cohen(Ratings(patterns, shares, values, "nominal"), shares)
    inside, told = 0, 0
    for counts in rng.multinomial(n, shares, size=sets).astype(np.float64):
        seen = counts > 0
        ratings = Ratings(patterns[seen], counts[seen], values, "nominal")
        row = pl.DataFrame(_estimates(ratings, ALPHA)).row(1, named=True)
        if row["ci_low"] is not None:
            told += 1
            inside += row["ci_low"] <= true <= row["ci_high"]
    return inside / told


for _n in (50, 100, 200):
    for _found, _right in ((0.9, 0.99), (0.6, 0.99), (0.95, 0.999)):
        add(
            f"97% pass, raters find {100 * _found:g}% of the others, n = {_n}: interval of kappa holds it",
            kappa_holds, low=0.9, n=_n, prevalence=0.97, found=_found, right=_right,
        )  # fmt: skip
add("60% pass, n = 60: interval of kappa holds it", kappa_holds, low=0.93, n=60, prevalence=0.6, found=0.85,
    right=0.85)  # fmt: skip


def noted(rng: Rng, sets: int, *, failed: float, passed: float) -> float:
    """How often a note says that labelled items are no sample; they are labelled as the judge says."""
    found = 0
    for _ in range(sets):
        truth = rng.random(400) < 0.8
        judge = np.where(rng.random(400) < 0.85, truth, ~truth)
        labelled = rng.random(400) < np.where(judge, passed, failed)
        frame = pl.DataFrame({"people": truth, "judge": judge})
        frame = frame.with_columns(pl.when(pl.Series(labelled)).then("people"))
        notes = pe.agreement(frame, raters=["people", "judge"]).notes
        found += any("not a random sample" in note for note in notes)
    return found / sets


add("labels mostly where the judge fails: a note says so", noted, low=0.95, was="0%", failed=0.6, passed=0.2)
add("labels of a random sample: a note says otherwise", noted, high=ALPHA, failed=0.3, passed=0.3)


def passes_held(rng: Rng, sets: int, *, items: int, runs: int, sizes: int, a: float, b: float) -> float:
    """How often the intervals of pass@2 and pass^2 hold, items having pass rates of a beta distribution."""
    inside, cluster = 0, np.arange(items) // sizes
    square = a * (a + 1) / ((a + b) * (a + b + 1))
    for _ in range(sets):
        rate = rng.beta(a, b, int(cluster[-1]) + 1)[cluster]
        passed = (rng.random((runs, items)) < rate).ravel()
        frame = pl.DataFrame({
            "v": "a", "item": np.tile(np.arange(items), runs), "doc": np.tile(cluster, runs),
            "m_score": passed * 1.0, "m_label": np.where(passed, "pass", "fail"),
        })  # fmt: skip
        row = pe.runs(frame, version="v", item="item", k=2, cluster="doc").summary.row(0, named=True)
        inside += row["ci_low"] <= 2 * a / (a + b) - square <= row["ci_high"]
        inside += row["all_ci_low"] <= square <= row["all_ci_high"]
    return inside / sets / 2


for _items, _sizes, _a, _b in ((50, 1, 2.0, 1.0), (200, 1, 0.3, 0.3), (100, 1, 9.0, 0.5), (200, 5, 2.0, 1.0)):
    add(
        f"{_items} items{f' in clusters of {_sizes}' if _sizes > 1 else ''} with pass rates of beta({_a:g}, "
        f"{_b:g}), 4 runs each: intervals of pass@2 and pass^2 hold", passes_held, low=0.93, items=_items,
        runs=4, sizes=_sizes, a=_a, b=_b,
    )  # fmt: skip

LAWS = AGREEMENT
