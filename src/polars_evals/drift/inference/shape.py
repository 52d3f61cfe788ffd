"""How scores are spread, in counts, and how far apart two distributions are (Kolmogorov–Smirnov, PSI)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri

from polars_evals.drift.inference import NEGLIGIBLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

BINS = 10
HISTOGRAM = 20
CHANCE = 0.05


def ks(baseline: Floats, candidate: Floats) -> float | None:
    """Return the largest distance between two distribution functions, given sorted values."""
    if not len(baseline) or not len(candidate):
        return None
    # Each function gains on the other only where it jumps, so its own values are where to look.
    gains = []
    for one, other in ((baseline, candidate), (candidate, baseline)):
        last = np.append(np.flatnonzero(one[1:] != one[:-1]), len(one) - 1)
        gains.append((last + 1) / len(one) - np.searchsorted(other, one[last], "right") / len(other))
    return max(0.0, *(float(gain.max()) for gain in gains))


def psi(baseline: Floats, candidate: Floats) -> tuple[float | None, float | None]:
    """
    Return the population stability index of sorted values, and what chance exceeds one time in twenty.

    The index has ten bins at the baseline's quantiles: a value's bin is ⌊10 · F(x)⌋,
    with F the baseline's mid-distribution function (half of the ties count as below). Without ties these are
    the ten classic bins; with them, a value that many baseline rows share, such as a perfect score, has its
    own bin, apart from everything below and above it. An empty bin counts as half a row.

    Without a change the index is about (1/n + 1/m) times a chi-squared variable with one degree less than
    there are bins.
    """
    n, m = len(baseline), len(candidate)
    if not n or not m:
        return None, None
    counts_n, counts_m = _binned(baseline, candidate)
    share_n, share_m = np.maximum(counts_n, 0.5) / n, np.maximum(counts_m, 0.5) / m
    chance = chdtri(max(len(counts_n) - 1, 1), CHANCE) * (1 / n + 1 / m)
    return float(((share_m - share_n) * np.log(share_m / share_n)).sum()), float(chance)


def _binned(left: Floats, right: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the counts of both in the bins that either uses."""
    n, m = len(left), len(right)
    rank = n * np.arange(1, BINS) / BINS
    edge = left[np.maximum(np.ceil(rank).astype(np.int64) - 1, 0)]
    less, most = (np.searchsorted(left, edge, side) for side in ("left", "right"))
    own = (less + most) / 2 >= rank
    below = np.where(own, np.searchsorted(right, edge, "left"), np.searchsorted(right, edge, "right"))
    counts_n = np.diff(np.concatenate([[0], np.where(own, less, most), [n]]))
    counts_m = np.diff(np.concatenate([[0], below, [m]]))
    used = (counts_n > 0) | (counts_m > 0)
    return counts_n[used], counts_m[used]


def histogram(samples: Mapping[str, Floats]) -> Iterator[dict[str, Any]]:
    """
    Return how many values of each version lie in bins of equal width, empty bins too.

    The bins cover 0 to 1, and what lies beyond where scores do. A bin holds the scores from `bin_low` up to
    `bin_high`, which the last bin includes.
    """
    ends = [(float(one.min()), float(one.max())) for one in samples.values() if len(one)]
    low, high = min([0.0, *(end[0] for end in ends)]), max([1.0, *(end[1] for end in ends)])
    width = (high - low) / HISTOGRAM
    for version, values in samples.items():
        # The tolerance keeps a score that is an edge, such as 0.15, in the bin that begins with it.
        place = np.clip(np.floor((values - low) / width + NEGLIGIBLE), 0, HISTOGRAM - 1).astype(np.int64)
        for number, count in enumerate(np.bincount(place, minlength=HISTOGRAM).tolist()):
            yield {
                "version": version,
                "bin_low": low + number * width,
                "bin_high": low + (number + 1) * width,
                "count": count,
                "share": count / len(values) if len(values) else None,
            }
