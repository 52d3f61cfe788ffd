"""Charts of a series of windows: control limits, CUSUM and an always-valid p-value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polars_evals.drift.inference import NEGLIGIBLE

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

SLACK = 0.5
DECISION = 5.0
SIGMAS = 3.0
FEWEST_ROWS = 30


@dataclass(frozen=True)
class Windows:
    """One series in time order: rows, mean, and n times the squared standard error of the mean, by window."""

    n: Floats
    mean: Floats
    spread: Floats


@dataclass(frozen=True)
class Reference:
    """
    What the reference period says: its rows, its mean, and the variance of a row as windows show it.

    `excess` is the factor in `variance` by which window means vary more than their rows explain.
    """

    n: float
    mean: float
    variance: float
    excess: float = 1.0


def reference_of(windows: Windows, inside: npt.NDArray[np.bool_]) -> Reference | None:
    """
    Return the reference, or None with fewer than 2 windows of data.

    The variance of a row is what the rows within windows show, times how much more the window means vary
    than that (Laney's correction, never below 1): days differ for other reasons than chance.
    """
    used = inside & (windows.n > 0)
    if used.sum() < 2:
        return None
    n, mean = windows.n[used], windows.mean[used]
    total = float(n.sum())
    centre = float((n * mean).sum() / total)
    variance = within(windows, used)
    if variance <= 0:
        # Rows that never vary within the reference: fall back on all windows, then on their means.
        data = windows.n > 0
        variance = within(windows, data)
        if variance <= 0:
            means, weights = windows.mean[data], windows.n[data]
            middle = float((weights * means).sum() / weights.sum())
            variance = float((weights * (means - middle) ** 2).sum() / weights.sum())
            variance = variance if variance > NEGLIGIBLE else 0.0
        return Reference(total, centre, variance)
    excess = max(1.0, float((n * (mean - centre) ** 2).sum() / variance / (len(n) - 1)))
    return Reference(total, centre, variance * excess, excess)


def within(windows: Windows, used: npt.NDArray[np.bool_]) -> float:
    """Return the variance of a row around the mean of its window, pooled over windows."""
    # A window with one row or one cluster has no spread.
    used = used & np.isfinite(windows.spread)
    freedom = windows.n[used] - 1
    variance = float((freedom * windows.spread[used]).sum() / freedom.sum()) if freedom.size else 0.0
    return variance if variance > NEGLIGIBLE else 0.0


def deviations(windows: Windows, reference: Reference) -> tuple[Floats, Floats]:
    """Return each window's expected spread around the reference mean, and its distance in such spreads."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(reference.variance * (1 / windows.n + 1 / reference.n))
        z = (windows.mean - reference.mean) / sigma
    empty = windows.n == 0
    return np.where(empty, np.nan, sigma), np.where(empty | (reference.variance == 0), np.nan, z)


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


def alarm(sums: Floats, z: Floats) -> tuple[int, int] | None:
    """
    Return the window at which a sum first exceeds h = 5, and the one at which the change most likely began.

    The change began within the run from 0 to the alarm, where the windows after it stand out most: at the
    greatest (sum of z)² / number of windows. `z` points in the direction of the sum.
    """
    over = np.flatnonzero(sums > DECISION)
    if not over.size:
        return None
    detected = int(over[0])
    zeros = np.flatnonzero(sums[:detected] == 0)
    first = int(zeros[-1]) + 1 if zeros.size else 0
    run = z[first : detected + 1]
    filled = ~np.isnan(run)
    total = np.cumsum(np.nan_to_num(run)[::-1])[::-1]
    count = np.cumsum(filled[::-1])[::-1]
    # The last window has data, because it raised the alarm; an empty one is no beginning.
    clarity = np.where(filled, np.maximum(total, 0.0) ** 2 / count, -1.0)
    return detected, first + int(clarity.argmax())


def always_valid(windows: Windows, reference: Reference, start: int, tau: float) -> tuple[Floats, Floats]:
    """
    Return two p-values after each window that may be looked at any number of times; NaN before `start`.

    The first tests the mean of all rows since `start` against the reference. The second also tests the rows
    since every later window, so that a long time without a change does not hide one.

    Notes
    -----
    The mixture sequential probability ratio is Λ = √(V / (V + nτ²)) · exp(n²τ²d² / (2V(V + nτ²))), with d the
    mean since the start less the reference mean, and p the smallest 1/Λ so far. The reference mean is itself
    an estimate, from m rows, so n is the effective 1 / (1/rows + 1/m): differences from a common estimate
    then still form the martingale that makes p valid.

    A start at the k-th window is allowed 1 / (k(k+1)) of the error, which sums to 1 over all starts: the
    second p-value is the smallest k(k+1)/Λ so far, at most 1. It takes 30 rows for their mean to be tested.

    V is the variance of a row in the reference, or in all windows so far if that is greater: a reference with
    few failures knows little about how scores vary.
    """
    n = windows.n[start:]
    count = len(n)
    whole, any_start = np.full(len(windows.n), np.nan), np.full(len(windows.n), np.nan)
    if reference.variance <= 0:
        whole[start:] = any_start[start:] = 1.0
        return whole, any_start
    rows = np.concatenate([[0.0], np.cumsum(n)])
    total = np.concatenate([[0.0], np.cumsum(n * np.nan_to_num(windows.mean[start:]))])
    order = np.arange(1, count + 1, dtype=np.float64)
    penalty = np.log(order * (order + 1))
    spread = np.nan_to_num(windows.spread)
    freedom = np.where(np.isfinite(windows.spread), windows.n - 1, 0.0)
    pooled = np.cumsum(freedom * spread) / np.maximum(np.cumsum(freedom), 1.0)
    variance = np.maximum(reference.variance, reference.excess * pooled)[start:]
    smallest = [0.0, 0.0]
    for i in range(count):
        since = rows[i + 1] - rows[: i + 1]
        used = since >= FEWEST_ROWS
        v = variance[i]
        mean = np.divide(total[i + 1] - total[: i + 1], since, out=np.zeros(i + 1), where=used)
        effective = since * reference.n / (since + reference.n)
        share = v + effective * tau**2
        # Logarithms, because the ratio of a clear change is beyond what a float can hold.
        log_p = 0.5 * np.log(share / v) - (effective * tau * (mean - reference.mean)) ** 2 / (2 * v * share)
        if used[0]:
            smallest[0] = min(smallest[0], float(log_p[0]))
        smallest[1] = min(smallest[1], float((log_p + penalty[: i + 1])[used].min(initial=0.0)))
        whole[start + i], any_start[start + i] = np.exp(smallest)
    return whole, any_start
