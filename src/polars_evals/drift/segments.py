"""
The segments of a series: where its level changed, found as the windows come in, and what each level was.

What was found stays found: a p-value of a past window uses nothing that came later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polars_evals.drift.inference.intervals import score_interval
from polars_evals.drift.inference.sequential import log_evidence

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

    Places = npt.NDArray[np.int64]

# Windows that follow each other more closely than this tell nothing new.
MOST_ALIKE = 0.9

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


def deviations(windows: Windows, reference: Reference) -> Floats:
    """Return each window's expected spread around the reference mean; NaN for an empty window."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(reference.variance * reference.excess * (1 / windows.n + 1 / reference.n))
    return np.where(windows.n == 0, np.nan, sigma)


class Segment(NamedTuple):
    """Windows of one level: the first, the one after the last, and the one at which it was detected."""

    first: int
    end: int
    detected: int | None


class Arm(NamedTuple):
    """Some windows in a row: their weight, number, mean, squares, products of neighbours, rows and sum."""

    weight: Floats
    windows: Floats
    mean: Floats
    squares: Floats
    products: Floats
    rows: Floats
    total: Floats


class Level(NamedTuple):
    """A mean over windows, or a difference of two, with its intervals; `safe` allows for what is unseen."""

    value: float
    interval: tuple[float, float]
    safe: tuple[float, float]


class Monitor:
    """
    Watch a series for changes of its level.

    Notes
    -----
    Windows are the units, weighted by their rows, so that days may differ for reasons of their own. Where
    windows resemble their neighbours they count as fewer: (1 − ρ) / (1 + ρ) of them, with the
    autocorrelation ρ of all windows so far. The evidence of a change between two runs of windows is the
    smaller of two: that of Student's t over windows, and that of two binomial rates over rows, which holds
    at the edge, where almost every row passes. A row of a score that varies less than pass and fail do
    counts as several.
    """

    def __init__(self, windows: Windows, reference: Reference, tau: float) -> None:
        self.windows, self.reference = windows, reference
        n, x = windows.n, np.nan_to_num(windows.mean)
        size = reference.n / float(reference.used.sum())
        alike = min((reference.excess - 1) / max(size - 1, 1.0), 1.0)
        weight = n / (1 + np.maximum(n - 1, 0) * alike)
        between = np.sqrt(weight[1:] * weight[:-1])
        neighbours = (between * x[1:] * x[:-1], between * (x[1:] + x[:-1]), between)
        self._sums = [
            _running(v) for v in (weight, weight * x, weight * x**2, (n > 0).astype(np.float64), n, n * x)
        ]
        self._pairs = [np.concatenate([[0.0], _running(v)]) for v in neighbours]
        rate = (reference.mean * reference.n + 0.5) / (reference.n + 1)
        self._rows = 1.0
        self._scale = tau**2
        if windows.bounded:
            self._rows = min(1.0, reference.variance / (rate * (1 - rate)))
            self._scale = tau**2 / reference.variance

    def watch(self, start: int, alpha: float) -> tuple[list[Segment], Floats, Floats]:
        """
        Return the segments, and two p-values after each window that may be looked at any number of times.

        The first tests all windows since `start` against those before, the second also those since every
        later window, until the first change is found; NaN before `start`.

        Notes
        -----
        A change at the k-th window is allowed 1 / (k(k+1)) of the error, which sums to 1 over all k. Once a
        change is found, its windows are what later ones are held against.
        """
        count = len(self.windows.n)
        whole, change = np.full(count, np.nan), np.full(count, np.nan)
        segments, best = [Segment(0, count, None)], [0.0, 0.0]
        lowest, watched, share, threshold = 0, start, 0.0, np.log(1 / alpha)
        for now in range(start, count):
            since = np.arange(watched, now + 1)
            order = np.arange(1.0, len(since) + 1)
            penalty = np.log(order * (order + 1))
            found = self._evidence(lowest, since, now + 1, penalty, 0.0 if lowest else best[1])
            at = int(found.argmax())
            if len(segments) == 1:
                best[0] = max(best[0], float(self._evidence(0, np.array([start]), now + 1)[0]))
                best[1] = max(best[1], float(found[at]))
            elif len(segments) == 2:
                # The change that was found, as the windows since then confirm it.
                first = np.array([lowest])
                best[1] = max(best[1], float(self._evidence(0, first, now + 1, share)[0]))
            if found[at] >= threshold:
                lowest, watched, share = int(since[at]), now + 1, float(penalty[at])
                segments[-1] = segments[-1]._replace(end=lowest)
                segments.append(Segment(lowest, count, now))
            whole[now], change[now] = np.exp(-np.array(best))
        return segments, whole, change

    def against_reference(self, segment: Segment) -> float:
        """Return the always-valid p-value of a segment's level against that of the reference."""
        found = self._ratio(self._reference_arm(), self._arm(np.array([segment.first]), segment.end))
        return float(np.exp(-max(found[0], 0.0)))

    def autocorrelation(self, segments: list[Segment]) -> tuple[float, bool]:
        """Return how much a window resembles the one before, and whether that is more than chance."""
        arms = [self._arm(np.array([one.first]), one.end) for one in segments]
        squares = sum(float(arm.squares[0]) for arm in arms)
        windows = sum(float(arm.windows[0]) for arm in arms)
        if squares <= 0 or windows < 8:
            return 0.0, False
        value = sum(float(arm.products[0]) for arm in arms) / squares
        return value, value > 1.645 / np.sqrt(windows)

    def level(self, segment: Segment | None, segments: list[Segment], alpha: float) -> Level:
        """Return the level of a segment; None for the reference."""
        arm = self._of(segment)
        return self._interval(float(arm.mean[0]), float(arm.weight[0]), float(arm.rows[0]), segments, alpha)

    def change(self, segment: Segment, segments: list[Segment], alpha: float) -> Level:
        """Return the level of a segment less that of the reference."""
        before, after = self._of(None), self._of(segment)
        weight, rows = (
            float(a[0] * b[0] / (a[0] + b[0]))
            for a, b in ((before.weight, after.weight), (before.rows, after.rows))
        )
        return self._interval(float(after.mean[0] - before.mean[0]), weight, rows, segments, alpha)

    def _of(self, segment: Segment | None) -> Arm:
        return self._reference_arm() if segment is None else self._arm(np.array([segment.first]), segment.end)

    def _interval(
        self, value: float, weight: float, rows: float, segments: list[Segment], alpha: float
    ) -> Level:
        from scipy.special import stdtrit

        arms = [self._arm(np.array([one.first]), one.end) for one in segments]
        squares = sum(arm.squares for arm in arms)
        windows = sum(arm.windows for arm in arms)
        products = sum(arm.products for arm in arms)
        inflation = _inflation(np.asarray(products), np.asarray(squares), np.asarray(windows))
        df = np.maximum((windows - len(segments)) / inflation, 1.0)
        variance = np.maximum(squares / np.maximum(windows - len(segments), 1.0), 0.0)
        quantile = -stdtrit(df, alpha / 2)
        se = np.sqrt(variance * inflation / weight)
        one = np.array([value])
        effective = rows / (self.reference.excess * inflation)
        reach = np.array([1.0 if self.windows.bounded else 0.0])
        low, high = score_interval(one, se, quantile, effective, reach)
        safe = float(low[0]), float(high[0])
        half = float((quantile * se)[0])
        return Level(value, (value - half, value + half) if half > 1e-12 else safe, safe)

    def _reference_arm(self) -> Arm:
        first, last = np.flatnonzero(self.reference.used)[[0, -1]]
        return self._arm(np.array([first]), int(last) + 1)

    def _arm(self, first: Places, end: Places | int) -> Arm:
        last = np.broadcast_to(end, first.shape)
        weight, total, square, windows, rows, summed = (one[last] - one[first] for one in self._sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(weight > 0, total / weight, 0.0)
        after = np.minimum(first + 1, last)
        product, both, pairs = (one[last] - one[after] for one in self._pairs)
        return Arm(
            weight, windows, mean, np.maximum(square - weight * mean**2, 0.0),
            product - mean * both + mean**2 * pairs, rows, summed,
        )  # fmt: skip

    def _evidence(
        self, lowest: int, since: Places, end: int, penalty: Floats | float = 0.0, best: float = 0.0
    ) -> Floats:
        """Return the evidence of a change at each of some windows, less its penalty."""
        before, after = self._arm(np.full_like(since, lowest), since), self._arm(since, end)
        return self._ratio(before, after, penalty, best)

    def _ratio(self, before: Arm, after: Arm, penalty: Floats | float = 0.0, best: float = 0.0) -> Floats:
        windows = before.windows + after.windows
        squares = before.squares + after.squares
        inflation = _inflation(before.products + after.products, squares, windows)
        with np.errstate(invalid="ignore", divide="ignore"):
            n = before.weight * after.weight / (before.weight + after.weight) / inflation
            # A spread of nothing but rounding is none, and no reason to be sure.
            variance = np.maximum(squares / np.maximum(windows - 2, 1.0), 1e-18)
            t = (after.mean - before.mean) * np.sqrt(n / variance)
        df = np.maximum(windows - 2, 1e-3) / inflation
        enough = (after.windows > 0) & (before.windows > 1) & (windows >= 4)
        found = np.where(enough, log_evidence(t, df, n, self._scale), -np.inf) - penalty
        if self.windows.bounded and (doubtful := np.flatnonzero(found > best)).size:
            each = self._rows * self.reference.excess * inflation[doubtful]
            rates = _two_rates(
                *(v[doubtful] / each for v in (before.rows, before.total, after.rows, after.total))
            )
            share = penalty[doubtful] if isinstance(penalty, np.ndarray) else penalty
            found[doubtful] = np.minimum(found[doubtful], rates - share)
        return found


def _running(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _inflation(products: Floats, squares: Floats, windows: Floats) -> Floats:
    """Return how many windows that resemble their neighbours count as one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.where(squares > 0, products / squares, 0.0)
        # Deviations from means of the same windows look less alike than they are.
        alike = np.clip(seen + 2 * (1 + 3 * seen) / np.maximum(windows, 1.0), 0.0, MOST_ALIKE)
    return np.asarray((1 + alike) / (1 - alike))


def _two_rates(n_before: Floats, passed_before: Floats, n_after: Floats, passed_after: Floats) -> Floats:
    """Return the evidence that two rates differ: the second's likelihood under any rate, over the first's."""
    from scipy.special import betaln

    a = 0.5
    together = betaln(a + passed_before + passed_after, a + n_before + n_after - passed_before - passed_after)
    return np.asarray(
        betaln(a + passed_after, a + n_after - passed_after)
        - betaln(a, a)
        - together
        + betaln(a + passed_before, a + n_before - passed_before)
    )
