"""The sign-flip permutation test, at a cost that does not grow with the number of items."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

FLIPS = 1_999
GROUPS = 200


def sign_flip(differences: Floats, *, seed: int, name: str) -> float | None:
    """
    Return the two-sided p-value of the sum under random signs.

    Parameters
    ----------
    differences
        One value a unit that keeps its sign as a whole: an item, or the sum of a cluster.
    seed, name
        Together they fix the random signs: the same row of a report gets the same p-value whatever
        other rows stand beside it.

    Notes
    -----
    Units with the same absolute value v are drawn together: k of them contribute v · (2·Bin(k, ½) − k), which
    is exactly what k random signs do. Beyond 200 units, absolute values are gathered into 200 groups of equal
    width, each as the root mean square of its members, which keeps the variance of the sum. Rounded scores
    are still drawn exactly, because a group then holds a single value.

    The p-value is (1 + draws at least as extreme) / (1 + draws), of 1,999 draws.
    """
    if len(differences) < 2:
        return None
    # Sorted, so that the result does not depend on the order of the rows.
    size = np.sort(np.abs(differences))
    largest = float(size.max())
    if largest == 0.0:
        return 1.0
    if len(size) > GROUPS:
        group = np.minimum((size * (GROUPS / largest)).astype(np.intp), GROUPS - 1)
        counts = np.bincount(group, minlength=GROUPS)
        squares = np.bincount(group, weights=size**2, minlength=GROUPS)
        filled = counts > 0
        counts = counts[filled]
        size = np.sqrt(squares[filled] / counts)
    else:
        counts = np.ones(len(size), dtype=np.intp)
    rng = np.random.default_rng([seed, crc32(name.encode("utf-8", "surrogatepass"))])
    sums = (2 * rng.binomial(counts, 0.5, size=(FLIPS, len(size))) - counts) @ size
    observed = abs(float(differences.sum()))
    # Equal sums may differ in their last bits; they count as equally extreme.
    extreme = int((np.abs(sums) >= observed - 1e-9 * largest).sum())
    return (1 + extreme) / (1 + FLIPS)
