"""
Tests by random signs: the sign-flip permutation test, and the wild bootstrap for few or unequal clusters.

If nothing changed, an item's difference, or the sum of a cluster, might as well have the other sign.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

DRAWS = 1_999
GROUPS = 200
# Up to so many units every combination of signs is tried.
ALL_SIGNS = 12
# Up to so many units of one size are drawn bit by bit.
WORD = 64

# Differences of rounded scores are not quite equal where they should be: 0.3 - 0.2 and 0.2 - 0.1.
DIGITS = 12


def flip_signs(differences: Floats, *, seed: int) -> float | None:
    """
    Return the two-sided p-value of a sum of differences of items, or of sums of clusters, by random signs.

    All rows of a report share the signs of a seed, so that a row has the same p-value whatever other rows
    stand beside it. Beyond 200 units, absolute values are gathered into 200 groups of equal width, each as
    the root mean square v of its k members, which keeps the variance of the sum; a group contributes v ·
    (2·Bin(k, ½) − k). Rounded scores are still drawn exactly, because a group then holds a single value.

    The p-value is the share of draws that are more extreme, and half of those that are equally so (the
    mid-p value; flips take few values, and counting all equal ones would ask for far more than alpha says).
    Of 1,999 draws, the one that was seen counted among them, the smallest possible value is 1/4,000. Up to
    12 units that differ are not drawn: all their combinations of signs are tried.
    """
    if len(differences) < 2:
        return None
    total = abs(float(differences.sum()))
    size = np.abs(differences)
    size = size[size > 0.5 * 10.0**-DIGITS]
    if not len(size):
        return 1.0
    largest = float(size.max())
    if len(size) > GROUPS:
        return _share(_grouped_sums(size, largest, seed), total, largest, seen=1)
    # Sorted, so that the result does not depend on the order of the rows.
    size = np.round(np.sort(size), DIGITS)
    if len(size) <= ALL_SIGNS:
        return _share(_all_signs(len(size)) @ size, total, largest, seen=0)
    return _share(_signs(seed)[:, : len(size)] @ size, total, largest, seen=1)


def moved(differences: Floats) -> int:
    """Return how many units differ: with few of them, no signs are extreme."""
    return int((np.abs(differences) > 0.5 * 10.0**-DIGITS).sum())


def _wild_bootstrap(total: Floats, size: Floats, *, seed: int) -> float | None:
    """
    Return the two-sided p-value of a mean over clusters, by random signs of whole clusters.

    The restricted wild cluster bootstrap (Cameron, Gelbach and Miller 2008): signs are drawn under the
    hypothesis that nothing changed, and the statistic is Student's, so that clusters of unequal size do not
    need degrees of freedom. As in `flip_signs`, draws that are equally extreme count for half.
    """
    if len(total) < 2:
        return None
    signs = _all_signs(len(total)) if len(total) <= ALL_SIGNS else _signs(seed)[:, : len(total)]
    share = size / size.sum()

    def squared(totals: Floats) -> Floats:
        mean = totals.sum(axis=-1, keepdims=True)
        spread = ((totals - share * mean) ** 2).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(spread > 0, mean[..., 0] ** 2 / spread, np.inf))

    seen = float(squared(total))
    if not np.isfinite(seen):
        return None
    drawn = squared(signs * total)
    return _share(np.sqrt(drawn), float(np.sqrt(seen)), float(np.sqrt(seen)) or 1.0, seen=0)


def cluster_p(total: Floats, size: Floats, *, seed: int) -> float | None:
    """Return the larger p-value of both tests; None with so many clusters that Student's t is as good."""
    if len(total) > GROUPS:
        return None
    found = [flip_signs(total, seed=seed), _wild_bootstrap(total, size, seed=seed)]
    return None if None in found else max(one for one in found if one is not None)


def cluster_interval(total: Floats, size: Floats, alpha: float, *, seed: int) -> tuple[float, float]:
    """Return the means over clusters that `cluster_p` does not reject."""
    mean = float(total.sum() / size.sum())
    reach = float(np.abs(total / size - mean).max())
    ends = []
    for step in (-1, 1):
        inside, outside = mean, mean + step * 4 * reach
        for _ in range(20):
            middle = (inside + outside) / 2
            p = cluster_p(total - middle * size, size, seed=seed)
            inside, outside = (inside, middle) if p is not None and p <= alpha else (middle, outside)
        ends.append(inside)
    return ends[0], ends[1]


def _grouped_sums(size: Floats, largest: float, seed: int) -> Floats:
    group = np.minimum((size * (GROUPS / largest)).astype(np.intp), GROUPS - 1)
    counts = np.bincount(group, minlength=GROUPS)
    squares = np.bincount(group, weights=size**2, minlength=GROUPS)
    filled = counts > 0
    counts = counts[filled]
    each = np.sqrt(squares[filled] / counts)
    order = np.argsort(counts, kind="stable")
    counts, each = counts[order], each[order]
    bits, normals = _bank(seed)
    few = int(np.searchsorted(counts, WORD, "right"))
    mask = np.uint64(2**64 - 1) >> (np.uint64(WORD) - counts[:few].astype(np.uint64))
    ones = np.bitwise_count(bits[:few] & mask[:, None])
    found = 2.0 * (each[:few] @ ones) - each[:few] @ counts[:few]
    if few < len(counts):
        # The sum of so many signs is normal, on whole numbers that are even or odd as their number is.
        k = counts[few:, None]
        found += each[few:] @ (2 * np.round((normals[few : len(counts)] * np.sqrt(k) + k) / 2) - k)
    return np.asarray(found, dtype=np.float64)


@lru_cache(maxsize=4)
def _bank(seed: int) -> tuple[np.ndarray, Floats]:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**64, size=(GROUPS, DRAWS), dtype=np.uint64)
    return bits, rng.standard_normal((GROUPS, DRAWS))


@lru_cache(maxsize=4)
def _signs(seed: int) -> Floats:
    return np.ascontiguousarray(2.0 * (_bank(seed)[0].T & np.uint64(1)).astype(np.float64) - 1)


@lru_cache(maxsize=ALL_SIGNS)
def _all_signs(count: int) -> Floats:
    places = np.arange(2**count)[:, None] >> np.arange(count)
    return np.asarray(2.0 * (places & 1) - 1, dtype=np.float64)


def _share(sums: Floats, total: float, largest: float, *, seen: int) -> float:
    # Equal sums may differ in their last bits; they count as equally extreme.
    near = 1e-9 * largest
    sums = np.abs(sums)
    more = int((sums > total + near).sum())
    equal = int((sums >= total - near).sum()) - more + seen
    return (more + equal / 2) / (len(sums) + seen)
