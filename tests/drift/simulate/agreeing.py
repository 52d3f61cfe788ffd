"""Laws of `agreement`: intervals of kappa where almost every item passes."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_evals.drift.agreement import Ratings, _estimates, cohen

from . import ALPHA, Rng, group

AGREEMENT, add = group("Agreement of raters")


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

LAWS = AGREEMENT
