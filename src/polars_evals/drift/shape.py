"""How far apart two score distributions are: the Kolmogorov–Smirnov distance and the stability index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Literal

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

BINS = 10
CHANCE = 0.05


class Sample:
    """Sorted values, each as often as `counts` says; without counts, once."""

    def __init__(self, values: Floats, counts: npt.NDArray[np.int64] | None = None) -> None:
        self.values = values
        self.ends = None if counts is None else np.concatenate([[0], np.cumsum(counts)])
        self.size = len(values) if self.ends is None else int(self.ends[-1])

    def below(self, at: Floats, side: Literal["left", "right"]) -> npt.NDArray[np.int64]:
        """Return how many values are less than each of `at` (left), or at most as large (right)."""
        places = np.searchsorted(self.values, at, side=side)
        return places if self.ends is None else self.ends[places]

    def nth(self, rank: int) -> Floats:
        """Return the value with so many before it."""
        place = rank if self.ends is None else np.searchsorted(self.ends, rank, side="right") - 1
        return np.asarray(self.values[place])


def ks(baseline: Floats | Sample, candidate: Floats | Sample) -> float | None:
    """Return the largest distance between two distribution functions, given sorted values."""
    left, right = _samples(baseline, candidate)
    if not left.size or not right.size:
        return None
    # Each function gains on the other only where it jumps, so its own values are where to look.
    gains = (
        one.below(one.values, "right") / one.size - other.below(one.values, "right") / other.size
        for one, other in ((left, right), (right, left))
    )
    return max(0.0, *(float(gain.max()) for gain in gains))


def psi(baseline: Floats | Sample, candidate: Floats | Sample) -> float | None:
    """
    Return the population stability index over ten bins at the baseline's quantiles, given sorted values.

    Notes
    -----
    A value's bin is ⌊10 · F(x)⌋, with F the baseline's mid-distribution function (half of the ties count as
    below). Without ties these are the ten classic bins; with them, a value that many baseline rows share,
    such as a perfect score, has its own bin, apart from everything below and above it. An empty bin counts
    as half a row.
    """
    left, right = _samples(baseline, candidate)
    n, m = left.size, right.size
    if not n or not m:
        return None
    counts_n, counts_m = _binned(left, right)
    share_n, share_m = np.maximum(counts_n, 0.5) / n, np.maximum(counts_m, 0.5) / m
    return float(((share_m - share_n) * np.log(share_m / share_n)).sum())


def psi_chance(baseline: Floats | Sample, candidate: Floats | Sample) -> float | None:
    """
    Return the index that two samples of one distribution exceed one time in twenty, given sorted values.

    Notes
    -----
    Without a change the index is about (1/n + 1/m) times a chi-squared variable with one degree less than
    there are bins.
    """
    from scipy.stats import chi2

    left, right = _samples(baseline, candidate)
    if not left.size or not right.size:
        return None
    bins = len(_binned(left, right)[0])
    return float(chi2.isf(CHANCE, max(bins - 1, 1)) * (1 / left.size + 1 / right.size))


def _binned(left: Sample, right: Sample) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the counts of both in the bins that either uses."""
    n, m = left.size, right.size
    below_n, below_m = [0], [0]
    for k in range(1, BINS):
        rank = n * k / BINS
        edge = left.nth(max(int(np.ceil(rank)) - 1, 0))
        less, most = int(left.below(edge, "left")), int(left.below(edge, "right"))
        own = (less + most) / 2 >= rank
        below_n.append(less if own else most)
        below_m.append(int(right.below(edge, "left" if own else "right")))
    counts_n, counts_m = np.diff([*below_n, n]), np.diff([*below_m, m])
    used = (counts_n > 0) | (counts_m > 0)
    return counts_n[used], counts_m[used]


def _samples(*values: Floats | Sample) -> list[Sample]:
    return [one if isinstance(one, Sample) else Sample(one) for one in values]
