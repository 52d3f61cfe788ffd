"""Control charts of a series of windows: limits around a reference, and CUSUM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

SLACK = 0.5
SIGMAS = 3.0


@dataclass(frozen=True)
class Windows:
    """
    One series in time order: rows, mean, and n times the squared standard error of the mean, by window.

    `bounded` says that the scores lie between 0 and 1.
    """

    n: Floats
    mean: Floats
    spread: Floats
    bounded: bool = True


@dataclass(frozen=True)
class Reference:
    """
    What the reference period says: its rows, its mean, and the variance of a row within a window.

    `excess` is the factor by which window means vary more than their rows explain, `used` the windows.
    """

    n: float
    mean: float
    variance: float
    excess: float
    used: npt.NDArray[np.bool_]


def reference_of(windows: Windows, inside: npt.NDArray[np.bool_]) -> Reference | None:
    """
    Return the reference, or None with fewer than 2 windows of data.

    Notes
    -----
    The excess is Laney's correction, never below 1: days differ for other reasons than chance. A reference
    without any failure does not mean that there will be none: one row more, at the other bound, is what it
    cannot rule out, and adds 1/n to the variance.
    """
    used = inside & (windows.n > 0)
    if used.sum() < 2:
        return None
    n, mean, spread = windows.n[used], windows.mean[used], windows.spread[used]
    total = float(n.sum())
    centre = float((n * mean).sum() / total)
    # A window with one row or one cluster has no spread.
    freedom = np.where(np.isfinite(spread), n - 1, 0.0)
    variance = float((freedom * np.nan_to_num(spread)).sum() / max(freedom.sum(), 1.0))
    variance += 1 / total if windows.bounded else 1e-12
    excess = max(1.0, float((n * (mean - centre) ** 2).sum() / variance / (len(n) - 1)))
    return Reference(total, centre, variance, excess, used)


def deviations(windows: Windows, reference: Reference) -> tuple[Floats, Floats]:
    """Return each window's expected spread around the reference mean, and its distance in such spreads."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(reference.variance * reference.excess * (1 / windows.n + 1 / reference.n))
        z = (windows.mean - reference.mean) / sigma
    empty = windows.n == 0
    return np.where(empty, np.nan, sigma), np.where(empty, np.nan, z)


def cusum(z: Floats, start: int) -> tuple[Floats, Floats]:
    """Return the upper and lower sums (k = 0.5) from window `start`; an empty window changes nothing."""
    up, down = np.zeros(len(z)), np.zeros(len(z))
    high = low = 0.0
    for i, value in enumerate(z):
        if i >= start and not np.isnan(value):
            high = max(0.0, high + value - SLACK)
            low = max(0.0, low - value - SLACK)
        up[i], down[i] = high, low
    return up, down
