"""Laws of `timeline`: quiet days raise few alarms, and the verdict is about now."""

from __future__ import annotations

import numpy as np

from polars_evals.drift.segments import Monitor, Windows, reference_of

from . import ALPHA, Floats, Rng, group

OVER_TIME, add = group("Over time")


def of_days(x: Floats) -> Windows:
    return Windows(np.full(len(x), float(x.shape[1])), x.mean(axis=1), x.var(axis=1, ddof=1))


def now(x: Floats, reference: int = 14, min_effect: float = 0.01) -> str:
    """The verdict of a timeline with one series, without the frames."""
    windows = of_days(x)
    known = reference_of(windows, np.arange(len(x)) < reference)
    assert known is not None
    monitor = Monitor(windows, known, 0.1)
    segments, _, p = monitor.watch(reference, ALPHA)
    if len(segments) == 1:
        return "inconclusive"
    change = monitor.change(segments[-1], segments, ALPHA).value
    if max(p[-1], monitor.against_reference(segments[-1])) > ALPHA or abs(change) < min_effect:
        return "inconclusive"
    return "regressed" if change < 0 else "improved"


def alarmed(x: Floats, reference: int = 14) -> bool:
    """Whether a change is found on any day."""
    windows = of_days(x)
    known = reference_of(windows, np.arange(len(x)) < reference)
    assert known is not None
    return len(Monitor(windows, known, 0.1).watch(reference, ALPHA)[0]) > 1


def quiet_days(rng: Rng, sets: int, rate: float, rows: int) -> float:
    return float(np.mean([alarmed((rng.random((76, rows)) < rate).astype(float)) for _ in range(sets)]))


def alike_days(rng: Rng, sets: int, alike: float, size: float) -> float:
    found = 0
    for _ in range(sets):
        noise, effect = rng.normal(0, 1, 76), np.zeros(76)
        effect[0] = noise[0]
        for day in range(1, 76):
            effect[day] = alike * effect[day - 1] + np.sqrt(1 - alike**2) * noise[day]
        level = np.clip(0.7 + size * effect, 0.01, 0.99)
        found += alarmed(np.clip(level[:, None] + rng.normal(0, 0.1, (76, 30)), 0, 1))
    return found / sets


def levels(rng: Rng, sets: int, of: tuple[tuple[int, float], ...]) -> float:
    rate = np.repeat([level for _, level in of], [days for days, _ in of])
    return float(
        np.mean(
            [
                now((rng.random((len(rate), 50)) < rate[:, None]).astype(float)) == "regressed"
                for _ in range(sets)
            ]
        )
    )


add("quiet, 20 rows a day, 76 days: any alarm", quiet_days, high=ALPHA, rate=0.8, rows=20)
add("quiet, 5 rows a day: any alarm", quiet_days, high=ALPHA, rate=0.8, rows=5)
add("99.9% pass, 50 rows a day: any alarm", quiet_days, high=ALPHA, rate=0.999, rows=50)
add("99% pass, 10 rows a day: any alarm", quiet_days, high=ALPHA, rate=0.99, rows=10)
add("autocorrelation 0.5, large day effects: any alarm", alike_days, high=2 * ALPHA, alike=0.5, size=0.1)
add("autocorrelation 0.5, small day effects: any alarm", alike_days, high=2 * ALPHA, alike=0.5, size=0.03)
add("autocorrelation 0.8 (noted, not promised): any alarm", alike_days, alike=0.8, size=0.05)
add("recovered 40 days ago: still `regressed`", levels, high=ALPHA, of=((20, 0.9), (12, 0.6), (40, 0.9)))
add(
    "0.15 below the reference after a rise: `regressed`",
    levels,
    low=0.9,
    of=((20, 0.75), (20, 0.95), (25, 0.6)),
)
add(
    "10 points less for 36 days (80% pass, 50 rows a day): `regressed`",
    levels,
    low=0.7,
    of=((40, 0.8), (36, 0.7)),
)

LAWS = OVER_TIME
