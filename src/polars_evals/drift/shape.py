"""How far apart two score distributions are: the Kolmogorov–Smirnov distance and the stability index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

BINS = 10


def ks(baseline: Floats, candidate: Floats) -> float | None:
    """Return the largest distance between two distribution functions, given sorted values."""
    n, m = len(baseline), len(candidate)
    if not n or not m:
        return None
    # Each function gains on the other only where it jumps, so its own values are where to look.
    above = np.arange(1, n + 1) / n - np.searchsorted(candidate, baseline, side="right") / m
    below = np.arange(1, m + 1) / m - np.searchsorted(baseline, candidate, side="right") / n
    return max(0.0, float(above.max()), float(below.max()))


def psi(baseline: Floats, candidate: Floats) -> float | None:
    """
    Return the population stability index over ten bins at the baseline's quantiles, given sorted values.

    Notes
    -----
    A value's bin is ⌊10 · F(x)⌋, with F the baseline's mid-distribution function (half of the ties count as
    below). Without ties these are the ten classic bins; with them, a value that many baseline rows share,
    such as a perfect score, has its own bin, apart from everything below and above it. An empty bin counts
    as half a row.
    """
    n, m = len(baseline), len(candidate)
    if not n or not m:
        return None
    below_n, below_m = [0], [0]
    for k in range(1, BINS):
        rank = n * k / BINS
        edge = baseline[max(int(np.ceil(rank)) - 1, 0)]
        less, most = (int(np.searchsorted(baseline, edge, side=side)) for side in ("left", "right"))
        own = (less + most) / 2 >= rank
        below_n.append(less if own else most)
        below_m.append(int(np.searchsorted(candidate, edge, side="left" if own else "right")))
    counts_n, counts_m = np.diff([*below_n, n]), np.diff([*below_m, m])
    used = (counts_n > 0) | (counts_m > 0)
    share_n = np.maximum(counts_n[used], 0.5) / n
    share_m = np.maximum(counts_m[used], 0.5) / m
    return float(((share_m - share_n) * np.log(share_m / share_n)).sum())
