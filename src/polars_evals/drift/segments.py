"""
The segments of a series: where its level changed, found as the windows come in, and what each level was.

What was found stays found: a p-value of a past window uses nothing that came later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.inference.intervals import score_interval
from polars_evals.drift.inference.sequential import log_evidence

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_evals.drift.inference import Floats

    Places = npt.NDArray[np.int64]

# Windows that follow each other more closely than this tell nothing new.
MOST_ALIKE = 0.9
# How strongly the autocorrelation of few windows is corrected; found by simulation.
BIAS = 8.0

SIGMAS = 3.0
# A single window that stands out further is cut before changes are looked for.
FAR = 4.0
# A change may begin at any window: this share of the error is for the first one after the reference, the rest
# for all, about equally for as many as EARLY and then less and less.
FIRST = 0.25
EARLY = 10.0
# The evidence exceeds 1 / alpha in at most alpha of quiet series, however long they are watched. Within a
# finite time it does so far less often, so this much is added to its logarithm: at most alpha of quiet series
# alarm within 365 windows after the reference (found by simulation; for ever, at most 3 alpha).
SLACK = float(np.log(3))
# The sizes of change that are looked for, in `tau`.
SIZES = (1.0, 4.0)
# The rows of the reference that the spread of few rows is taken together with.
SHRUNK = 20.0


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

    `excess` is the factor by which window means vary more than their rows explain, `used` the windows. `unit`
    is what is large or small for these values: 1 for scores, else their mean.
    """

    n: float
    mean: float
    variance: float
    excess: float
    used: npt.NDArray[np.bool_]
    unit: float

    def rounded(self, difference: float) -> float:
        """Return a difference, or 0 for one that is only rounding."""
        return 0.0 if abs(difference) < NEGLIGIBLE * self.unit else difference


def reference_of(windows: Windows, inside: npt.NDArray[np.bool_]) -> Reference | None:
    """Return the reference, or None with fewer than 2 windows of data."""
    used = inside & (windows.n > 0)
    if used.sum() < 2:
        return None
    n, mean, spread = windows.n[used], windows.mean[used], windows.spread[used]
    total = float(n.sum())
    centre = float((n * mean).sum() / total)
    # A window with one row or one cluster has no spread.
    freedom = np.where(np.isfinite(spread), n - 1, 0.0)
    variance = float((freedom * np.nan_to_num(spread)).sum() / max(freedom.sum(), 1.0))
    unit = 1.0 if windows.bounded else abs(centre) or 1.0
    # One row at the other bound cannot be ruled out, however many passed.
    variance += 1 / total if windows.bounded else 1e-12 * unit**2
    # Laney's correction: days differ for other reasons than chance.
    excess = max(1.0, float((n * (mean - centre) ** 2).sum() / variance / (len(n) - 1)))
    return Reference(total, centre, variance, excess, used, unit)


def deviations(windows: Windows, reference: Reference) -> Floats:
    """Return each window's expected spread around the reference mean; NaN for an empty window."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(reference.variance * reference.excess * (1 / windows.n + 1 / reference.n))
    return np.where(windows.n == 0, np.nan, sigma)


def _winsorized(windows: Windows, reference: Reference) -> Windows:
    """
    Cut the means of single windows that stand far out: one such day is no change of the level.

    A mean is cut beyond the reference mean and the window before it, whichever is nearer, so that what lasts
    is cut in its first window only. Nothing that comes later is used.
    """
    filled = windows.n > 0
    mean, reach = windows.mean[filled], FAR * deviations(windows, reference)[filled]
    before = np.concatenate([[reference.mean], mean[:-1]])
    low, high = np.minimum(before, reference.mean) - reach, np.maximum(before, reference.mean) + reach
    cut = windows.mean.copy()
    cut[filled] = np.clip(mean, low, high)
    return replace(windows, mean=cut)


class Segment(NamedTuple):
    """Windows of one level: the first, the one after the last, and the one at which it was detected."""

    first: int
    end: int
    detected: int | None


class Arm(NamedTuple):
    """
    Some windows in a row: their weight, number, mean, squares, products of neighbours, rows and sum.

    `inner` is the sum of squares of rows about their window's mean, `possible` what it would be if rows
    only passed and failed.
    """

    weight: Floats
    windows: Floats
    mean: Floats
    squares: Floats
    products: Floats
    rows: Floats
    total: Floats
    inner: Floats
    possible: Floats


class Level(NamedTuple):
    """A mean over windows, or a difference of two, with its intervals; `safe` allows for what is unseen."""

    value: float
    interval: tuple[float, float]
    safe: tuple[float, float]


class Monitor:
    """
    Watch a series for changes of its level.

    Windows are the units, weighted by their rows, so that days may differ for reasons of their own. Where
    windows resemble their neighbours they count as fewer: (1 − ρ) / (1 + ρ) of them, with the
    autocorrelation ρ of all windows so far. The evidence of a change between two runs of windows is the
    smaller of two: that of Student's t over windows, and that of two binomial rates over rows, which holds
    at the edge, where almost every row passes. A row of a score that varies less than pass and fail do
    counts as several. Where later rows vary more (or less) than earlier ones, relative to m(1 − m), they
    count as fewer (or more): a judge that becomes more extreme has not moved the mean.
    """

    def __init__(self, windows: Windows, reference: Reference, tau: float) -> None:
        self.windows, self.reference, self._tau = windows, reference, tau
        first, last = np.flatnonzero(reference.used)[[0, -1]]
        self.before = Segment(int(first), int(last) + 1, None)
        n, x = windows.n, np.nan_to_num(windows.mean)
        size = reference.n / float(reference.used.sum())
        # The share of a window's variance that its rows do not explain.
        self._alike = min((reference.excess - 1) / max(size - 1, 1.0), 1.0)
        weight = n / (1 + np.maximum(n - 1, 0) * self._alike)
        previous, x_before = (np.concatenate([[0.0], one[:-1]]) for one in (weight, x))
        between = np.sqrt(weight * previous)
        inner = np.nan_to_num(np.maximum(n - 1, 0) * windows.spread)
        possible = np.where(np.isfinite(windows.spread), n * x * (1 - x), 0.0)
        of_windows = (weight, weight * x, weight * x**2, (n > 0) * 1.0, n, n * x, inner, possible)
        of_neighbours = (between * x * x_before, between * (x + x_before), between)
        self._sums = [np.concatenate([[0.0], np.cumsum(one)]) for one in (*of_windows, *of_neighbours)]
        self._rows, self._scale, self._known, self._size = 1.0, tau**2, 0.0, 0.0
        if windows.bounded:
            rate = (reference.mean * reference.n + 0.5) / (reference.n + 1)
            self._rows = min(1.0, reference.variance / (rate * (1 - rate)))
            self._scale = tau**2 / reference.variance
            self._known, self._size = SHRUNK * rate * (1 - rate), size

    def watch(self, start: int, alpha: float) -> tuple[list[Segment], Floats, Floats]:
        """
        Return the segments, and two p-values after each window, made for repeated looks.

        The first tests all windows since `start` against those before, the second also those since every
        later window, until a second change is found; NaN before `start`. The evidence is a weighted sum
        over the windows at which a change may have begun; the weights sum to 1 over all windows to come.
        Once a change is found, its windows are what later ones are held against. Single windows that stand
        far out are cut first; levels and their intervals are those of all rows.
        """
        cut = _winsorized(self.windows, self.reference)
        steady = Monitor(cut, reference_of(cut, self.reference.used) or self.reference, self._tau)
        count, threshold = len(self.windows.n), np.log(1 / alpha) - SLACK
        segments, best, p = [Segment(0, count, None)], [0.0, 0.0], np.full((2, count), np.nan)
        lowest, watched, found_at = 0, start, start
        for now in range(start, count):
            since = np.arange(watched, now + 1)
            weights = _log_weights(len(since))
            total = _log_sum(steady._changed_at(lowest, since, now + 1, weights, 0.0 if lowest else best[1]))
            if len(segments) == 1:
                best[0] = max(best[0], float(steady._changed_at(0, np.array([start]), now + 1)[0]))
                best[1] = max(best[1], total)
            elif len(segments) == 2:
                # The change that was found, as the windows since then confirm it.
                upto = np.arange(start, found_at + 1)
                again = steady._changed_at(0, upto, now + 1, _log_weights(len(upto)), best[1])
                best[1] = max(best[1], _log_sum(again))
            if total >= threshold:
                # The cut windows say that there was a change, and all of them when.
                lowest = int(since[self._changed_at(lowest, since, now + 1, weights).argmax()])
                watched, found_at = now + 1, now if len(segments) == 1 else found_at
                segments[-1] = segments[-1]._replace(end=lowest)
                segments.append(Segment(lowest, count, now))
            p[:, now] = [np.exp(-(one + SLACK * (one > 0))) for one in best]
        return segments, p[0], p[1]

    def against_reference(self, segment: Segment) -> float:
        """Return the always-valid p-value of a segment's level against that of the reference."""
        before, after = (self._arm(np.array([one.first]), one.end) for one in (self.before, segment))
        return float(np.exp(-max(self._log_ratio(before, after)[0], 0.0)))

    def change(self, segment: Segment, segments: list[Segment], alpha: float) -> Level:
        """Return the level of a segment less that of the reference."""
        before, after = (self._arm(one.first, one.end) for one in (self.before, segment))
        pairs = (before.weight, after.weight), (before.rows, after.rows)
        weight, rows = (a * b / (a + b) for a, b in pairs)
        return self._interval(after.mean - before.mean, weight, rows, segments, alpha)

    def _level(self, segment: Segment, segments: list[Segment], alpha: float) -> Level:
        """Return the level of a segment, or of the reference (`before`)."""
        arm = self._arm(segment.first, segment.end)
        return self._interval(arm.mean, arm.weight, arm.rows, segments, alpha)

    def row(self, segment: Segment, segments: list[Segment], alpha: float) -> dict[str, Any]:
        """Return where a segment begins and ends, and its level."""
        level = self._level(segment, segments, alpha)
        low, high = np.clip(level.interval, 0, 1) if self.windows.bounded else level.interval
        return {
            "began": segment.first,
            "ended": segment.end if segment is not segments[-1] else None,
            "detected": segment.detected,
            "n": int(self.windows.n[segment.first : segment.end].sum()),
            "mean": level.value,
            "ci_low": low,
            "ci_high": high,
            "difference": self.reference.rounded(level.value - self.reference.mean),
        }

    def current(self, segments: list[Segment], start: int, alpha: float) -> dict[str, Any]:
        """Return the present level against the reference: since the last change, or since the reference."""
        reference, windows = self.reference, self.windows
        last = segments[-1]
        changed = len(segments) > 1
        current = last if changed else Segment(start, last.end, None)
        rows = int(windows.n[current.first :].sum())
        change = {"reference_n": int(reference.n), "reference_mean": reference.mean, "current_n": rows}
        if not rows:
            return change
        found = self.change(current, segments, alpha)
        arm = self._pooled(segments)
        enough = arm.squares > 0 and arm.windows >= 8
        # How much a window resembles the one before.
        autocorrelation = float(arm.products / arm.squares) if enough else 0.0
        return change | {
            # Both weighted as the difference is, so that they differ by it.
            "reference_mean": self._level(self.before, segments, alpha).value,
            "current_mean": self._level(current, segments, alpha).value,
            "difference": reference.rounded(found.value),
            "ci_low": found.interval[0],
            "ci_high": found.interval[1],
            "safe_low": found.safe[0],
            "safe_high": found.safe[1],
            "began": last.first if changed else None,
            "detected": last.detected,
            "earlier": segments[-2].first if len(segments) > 2 else None,
            "p_current": self.against_reference(current) if changed else None,
            "autocorrelation": autocorrelation,
            "alike": enough and autocorrelation > 1.645 / np.sqrt(arm.windows),
        }

    def _interval(
        self, value: Floats, weight: Floats, rows: Floats, segments: list[Segment], alpha: float
    ) -> Level:
        from scipy.special import stdtrit

        arm = self._pooled(segments)
        spare = arm.windows - len(segments)
        excess = self._excess(arm, self._arm(0, 0), arm.squares, spare + 2)
        inflation = _inflation(arm.products, arm.squares, arm.windows, excess)
        variance = np.maximum(arm.squares / np.maximum(spare, 1.0), 0.0)
        quantile = -stdtrit(np.maximum(spare / inflation, 1.0), alpha / 2)
        se = np.sqrt(variance * inflation / weight)
        effective = rows / (self.reference.excess * inflation)
        reach = np.array(1.0 if self.windows.bounded else 0.0)
        low, high = score_interval(value, se, quantile, effective, reach)
        middle, safe, half = float(value), (float(low), float(high)), float(quantile * se)
        return Level(
            middle, (middle - half, middle + half) if half > NEGLIGIBLE * self.reference.unit else safe, safe
        )

    def _pooled(self, segments: list[Segment]) -> Arm:
        """Add up the arms of segments, each about its own mean."""
        return Arm(*np.sum([self._arm(one.first, one.end) for one in segments], axis=0))

    def _arm(self, first: Places | int, end: Places | int) -> Arm:
        weight, total, square, windows, rows, summed, inner, possible = (
            one[end] - one[first] for one in self._sums[:8]
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(weight > 0, total / weight, 0.0)
        after = np.minimum(first + 1, end)
        product, both, pairs = (one[end] - one[after] for one in self._sums[8:])
        return Arm(
            weight, windows, mean, np.maximum(square - weight * mean**2, 0.0),
            product - mean * both + mean**2 * pairs, rows, summed, inner, possible,
        )  # fmt: skip

    def _varying(self, arm: Arm) -> Floats:
        """Return how much rows vary, in parts of pass and fail; few are taken together with the reference."""
        return (arm.inner + self._known * self._rows) / (arm.possible + self._known)

    def _wider(self, before: Arm, after: Arm) -> Floats:
        """Return how much more a window varies after than before because its rows do."""
        if not self.windows.bounded:
            return np.ones_like(after.weight)
        # Few rows that vary more by themselves are not taken together with the reference.
        with np.errstate(invalid="ignore", divide="ignore"):
            alone = np.where(after.possible > 0, after.inner / after.possible, 0.0)
        explained = (1 - self._alike) / (1 - self._alike + self._size * self._alike)
        return 1 + explained * (np.fmax(self._varying(after), alone) / self._varying(before) - 1)

    def _excess(self, before: Arm, after: Arm, squares: Floats, windows: Floats) -> Floats:
        """Return the factor by which window means vary more than rows explain; not known of measures."""
        rows = before.rows + after.rows
        if not self.windows.bounded:
            return np.full_like(rows, np.inf)
        rate = (before.total + after.total + 0.5) / (rows + 1)
        row = (
            self._varying(before) * rate * (1 - rate) * (before.weight + after.weight) / np.maximum(rows, 1.0)
        )
        return squares / np.maximum(windows - 2, 1.0) / row

    def _changed_at(
        self, lowest: int, since: Places, end: int, weights: Floats | float = 0.0, best: float = -np.inf
    ) -> Floats:
        """Return the evidence of a change at each of some windows, and its weight."""
        before, after = self._arm(np.full_like(since, lowest), since), self._arm(since, end)
        return self._log_ratio(before, after, weights, best)

    def _log_ratio(
        self, before: Arm, after: Arm, weights: Floats | float = 0.0, best: float = -np.inf
    ) -> Floats:
        # What is far below the best evidence so far adds nothing to it.
        floor = best - np.log(len(after.weight)) - 3
        wider = self._wider(before, after)
        windows = before.windows + after.windows
        squares = before.squares + after.squares / wider
        excess = self._excess(before, after, squares, windows)
        inflation = _inflation(before.products + after.products / wider, squares, windows, excess)
        weight = after.weight / wider
        with np.errstate(invalid="ignore", divide="ignore"):
            n = before.weight * weight / (before.weight + weight) / inflation
            # A spread of nothing but rounding is none, and no reason to be sure.
            variance = np.maximum(squares / np.maximum(windows - 2, 1.0), 1e-18 * self.reference.unit**2)
            t = (after.mean - before.mean) * np.sqrt(n / variance)
        df = np.maximum(windows - 2, 1e-3) / inflation
        enough = (after.windows > 0) & (before.windows > 1) & (windows >= 4)
        sizes = [log_evidence(t, df, n, self._scale * size**2) for size in SIZES]
        found = np.where(enough, _log_mean(sizes), -np.inf)
        found += weights
        if self.windows.bounded and (doubtful := np.flatnonzero(found > floor)).size:
            each = self._rows * np.maximum(excess[doubtful], 1.0) * inflation[doubtful]
            later = each * wider[doubtful]
            rates = _two_rates(
                before.rows[doubtful] / each, before.total[doubtful] / each,
                after.rows[doubtful] / later, after.total[doubtful] / later, self._tau,
            )  # fmt: skip
            found[doubtful] = np.minimum(
                found[doubtful], rates + np.broadcast_to(weights, found.shape)[doubtful]
            )
        return found


def _log_weights(count: int) -> Floats:
    """Return the logarithms of the weights of so many windows, which sum to 1 over all windows to come."""
    order = np.arange(1.0, count + 1)
    weights = (EARLY + 1) / ((order + EARLY) * (order + EARLY + 1)) * (1 - FIRST)
    weights[0] += FIRST
    return np.log(weights)


def _log_mean(values: list[Floats]) -> Floats:
    return np.asarray(np.logaddexp.reduce(values) - np.log(len(values)))


def _log_sum(values: Floats) -> float:
    return float(np.logaddexp.reduce(values))


def _inflation(products: Floats, squares: Floats, windows: Floats, excess: Floats | float = np.inf) -> Floats:
    """Return how many windows that resemble their neighbours count as one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.where(squares > 0, products / squares, 0.0)
        # Deviations from means of the same windows look less alike than they are.
        alike = np.clip(seen + BIAS * (1 + 3 * seen) / np.maximum(windows, 1.0), 0.0, MOST_ALIKE)
        # Windows that vary no more than their rows explain have nothing in which to resemble each other.
        alike = np.minimum(alike, np.clip(1 - 1 / np.maximum(excess, 1e-9), 0.0, 1.0))
    return np.asarray((1 + alike) / (1 - alike))


def _two_rates(
    n_before: Floats, passed_before: Floats, n_after: Floats, passed_after: Floats, tau: float
) -> Floats:
    """Return the evidence that two rates differ: likelihood under rates about `tau` away over the same."""
    from scipy.special import betaln

    a, failed_before, failed_after = 0.5, n_before - passed_before, n_after - passed_after
    rate = (a + passed_before) / (2 * a + n_before)
    other = []
    for size in SIZES:
        strength = np.maximum(rate * (1 - rate) / (size * tau) ** 2 - 1, 2 * a)
        up, down = strength * rate, strength * (1 - rate)
        other.append(betaln(up + passed_after, down + failed_after) - betaln(up, down))
    same = betaln(a + passed_before + passed_after, a + failed_before + failed_after)
    return np.asarray(_log_mean(other) - same + betaln(a + passed_before, a + failed_before))
