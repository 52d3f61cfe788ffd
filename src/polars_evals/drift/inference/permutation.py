"""The sign-flip permutation test, at a cost that does not grow with the number of items."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

DRAWS = 1_999
GROUPS = 200
# Up to so many units every combination of signs is tried.
ALL_SIGNS = 12

# Differences of rounded scores are not quite equal where they should be: 0.3 - 0.2 and 0.2 - 0.1.
DIGITS = 12


class Units(NamedTuple):
    """What keeps its sign as a whole, an item or the sum of a cluster: how large, how many, and their sum."""

    size: Floats
    counts: npt.NDArray[np.int64]
    total: float

    @classmethod
    def of(cls, differences: Floats) -> Units:
        """Take one difference a unit."""
        # Sorted, so that the result does not depend on the order of the rows.
        size = np.round(np.sort(np.abs(differences)), DIGITS)
        return cls(size, np.ones(len(size), dtype=np.int64), float(differences.sum()))

    @classmethod
    def counted(cls, differences: Floats) -> Units:
        """Take differences that have few values, which are cheaper to count than to sort."""
        size, counts = np.unique(np.round(np.abs(differences), DIGITS), return_counts=True)
        return cls(size.astype(np.float64), counts, float(differences.sum()))

    @property
    def moved(self) -> int:
        """How many are not 0: with few of them, no signs are extreme."""
        return int(self.counts[self.size > 0].sum())


def flip_units(units: Units, *, seed: int, name: str) -> float | None:
    """
    Return the two-sided p-value of the sum under random signs.

    Parameters
    ----------
    units
        The absolute values, in ascending order.
    seed, name
        Together they fix the random signs: the same row of a report gets the same p-value whatever other
        rows stand beside it.

    Notes
    -----
    Units with the same absolute value v are drawn together: k of them contribute v · (2·Bin(k, ½) − k), which
    is exactly what k random signs do. Beyond 200 units, absolute values are gathered into 200 groups of equal
    width, each as the root mean square of its members, which keeps the variance of the sum. Rounded scores
    are still drawn exactly, because a group then holds a single value.

    The p-value is the share of draws that are more extreme, and half of those that are equally so (the
    mid-p value; flips take few values, and counting all equal ones would ask for far more than alpha says).
    Of 1,999 draws, the one that was seen counted among them, the smallest possible value is 1/4,000. Up to
    12 units that differ are not drawn: all their combinations of signs are tried.
    """
    size, counts, total = units
    if counts.sum() < 2:
        return None
    largest = float(size[-1])
    if largest == 0.0:
        return 1.0
    moved = size > 0
    if counts[moved].sum() <= ALL_SIGNS:
        each = np.repeat(size[moved], counts[moved])
        signs = 2.0 * ((np.arange(2 ** len(each))[:, None] >> np.arange(len(each))) & 1) - 1
        return _share(np.abs(signs @ each), abs(total), largest, seen=0)
    if counts.sum() > GROUPS:
        group = np.minimum((size * (GROUPS / largest)).astype(np.intp), GROUPS - 1)
        grouped = np.bincount(group, weights=counts, minlength=GROUPS)
        squares = np.bincount(group, weights=counts * size**2, minlength=GROUPS)
        filled = grouped > 0
        counts = grouped[filled].astype(np.int64)
        size = np.sqrt(squares[filled] / counts)
    else:
        size = np.repeat(size, counts)
        counts = np.ones(len(size), dtype=np.int64)
    rng = np.random.default_rng([seed, crc32(name.encode("utf-8", "surrogatepass"))])
    sums = (2 * rng.binomial(counts, 0.5, size=(DRAWS, len(size))) - counts) @ size
    return _share(np.abs(sums), abs(total), largest, seen=1)


def _share(sums: Floats, total: float, largest: float, *, seen: int) -> float:
    # Equal sums may differ in their last bits; they count as equally extreme.
    near = 1e-9 * largest
    more = int((sums > total + near).sum())
    equal = int((sums >= total - near).sum()) - more + seen
    return (more + equal / 2) / (len(sums) + seen)
