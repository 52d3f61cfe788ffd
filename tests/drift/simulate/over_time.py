"""Laws of `timeline`: quiet days raise few alarms, and the verdict is about now."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl

import polars_evals as pe
from polars_evals.drift.segments import Monitor, Windows, reference_of

from . import ALPHA, Floats, Rng, group

OVER_TIME, add = group("Over time")
FRAMES, add_frames = group("Over time", sets=200)
TAU = 0.05


def of_days(x: Floats) -> Windows:
    return Windows(np.full(len(x), float(x.shape[1])), x.mean(axis=1), x.var(axis=1, ddof=1))


def now(x: Floats, reference: int = 14, min_effect: float = 0.01) -> str:
    """The verdict of a timeline with one series, without the frames."""
    windows = of_days(x)
    known = reference_of(windows, np.arange(len(x)) < reference)
    assert known is not None
    monitor = Monitor(windows, known, TAU)
    segments, _, p = monitor.watch(reference, ALPHA)
    if len(segments) == 1:
        return "inconclusive"
    change = monitor.change(segments[-1], segments, ALPHA)
    lasting = change.interval[0] > 0 or change.interval[1] < 0
    if len(segments) > 2:
        lasting = monitor.against_reference(segments[-1]) <= ALPHA
    if p[-1] > ALPHA or not lasting or abs(change.value) < min_effect:
        return "inconclusive"
    return "regressed" if change.value < 0 else "improved"


def alarmed(x: Floats, reference: int = 14) -> bool:
    """Whether a change is found on any day."""
    windows = of_days(x)
    known = reference_of(windows, np.arange(len(x)) < reference)
    assert known is not None
    return len(Monitor(windows, known, TAU).watch(reference, ALPHA)[0]) > 1


def quiet_days(rng: Rng, sets: int, rate: float, rows: int) -> float:
    return float(np.mean([alarmed((rng.random((76, rows)) < rate).astype(float)) for _ in range(sets)]))


def quiet_year(rng: Rng, sets: int, *, kind: str) -> float:
    """How often any of the 365 windows after the reference raises an alarm although nothing changed."""
    found, days = 0, 14 + 365
    for _ in range(sets):
        rows = np.maximum(rng.poisson(40, days), 2) if kind == "uneven" else np.full(days, 50)
        rate = rng.beta(51.2, 12.8, days) if kind == "days differ" else np.full(days, 0.8)
        mean = rng.binomial(rows, rate) / rows
        windows = Windows(rows.astype(float), mean, mean * (1 - mean) * rows / (rows - 1))
        if kind == "measure":
            windows = Windows(np.full(days, 50.0), rng.normal(5, 1, days), np.full(days, 50.0), bounded=False)
        elif kind == "scores":
            windows = of_days(rng.beta(4, 2, (days, 25)))
        known = reference_of(windows, np.arange(days) < 14)
        assert known is not None
        found += len(Monitor(windows, known, TAU).watch(14, ALPHA)[0]) > 1
    return found / sets


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


def heavy_days(rng: Rng, sets: int, *, size: float, rows: int) -> float:
    """Days have effects of their own with heavy tails (t with 3 degrees of freedom), and nothing changes."""
    found = 0
    for _ in range(sets):
        rate = np.clip(0.8 + size * rng.standard_t(3, 76), 0.01, 0.99)
        found += alarmed((rng.random((76, rows)) < rate[:, None]).astype(float))
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


def other_spread(
    rng: Rng, sets: int, *, before: tuple[float, float], after: tuple[float, float], rows: int
) -> float:
    """The same mean, and scores that vary more, or less, from day 30 on."""
    return float(
        np.mean(
            [
                alarmed(np.concatenate([rng.beta(*before, (30, rows)), rng.beta(*after, (46, rows))]))
                for _ in range(sets)
            ]
        )
    )


def drifting(rng: Rng, sets: int, *, start: int, days: int, rate: float, fall: float, step: bool) -> float:
    """How often a fall of the pass rate, at once or a little every day, is `regressed` after so many days."""
    level = np.full(start + days, rate)
    level[start:] -= fall if step else fall * np.arange(1, days + 1) / days
    return float(
        np.mean(
            [
                now((rng.random((len(level), 50)) < level[:, None]).astype(float)) == "regressed"
                for _ in range(sets)
            ]
        )
    )


def other_mix(rng: Rng, sets: int, adjust: str | None) -> float:
    """Topics of 25/25/25/25 become 15/20/25/40, and none of them changes."""
    day = np.repeat(np.arange(60), 40)
    level, found = np.array([0.9, 0.7, 0.6, 0.4]), 0
    days = [datetime(2025, 1, 1) + timedelta(days=int(one)) for one in day]
    for _ in range(sets):
        early, late = (rng.choice(4, p=mix, size=len(day)) for mix in ((0.25,) * 4, (0.15, 0.2, 0.25, 0.4)))
        topic = np.where(day < 20, early, late)
        score = (rng.random(len(day)) < level[topic]) * 1.0
        frame = pl.DataFrame({"ts": days, "topic": topic, "m_score": score})
        found += pe.timeline(frame, time="ts", adjust=adjust).verdict in {"regressed", "improved"}
    return found / sets


def beside_the_mean(rng: Rng, sets: int, *, change: str) -> float:
    """How often it is `regressed` at the same mean: half of the rows fail, or many have no score."""
    day = np.repeat(np.arange(76), 20)
    days = [datetime(2025, 1, 1) + timedelta(days=int(one)) for one in day]
    later, found = (day >= 40) & (change != "nothing"), 0
    for _ in range(sets):
        high = rng.random(len(day)) < 0.5
        score = rng.normal(0.7, 0.02, len(day))
        if change == "pass rate":
            score += np.where(later, np.where(high, 0.2, -0.2), 0.0)
        frame = pl.DataFrame({"ts": days, "m_score": score.clip(0, 1)})
        frame = frame.with_columns(
            m_label=pl.when(pl.col("m_score") >= 0.6).then(pl.lit("pass")).otherwise(pl.lit("fail"))
        )
        if change == "answers":
            missing = pl.Series(later & (rng.random(len(day)) < 0.4))
            frame = frame.with_columns(pl.when(~missing).then(name).alias(name) for name in frame.columns[1:])
        found += pe.timeline(frame, time="ts").verdict == "regressed"
    return found / sets


add("quiet, 20 rows a day, 76 days: any alarm", quiet_days, high=ALPHA, rate=0.8, rows=20)
add("quiet, 5 rows a day: any alarm", quiet_days, high=ALPHA, rate=0.8, rows=5)
add("99.9% pass, 50 rows a day: any alarm", quiet_days, high=ALPHA, rate=0.999, rows=50)
add("99% pass, 10 rows a day: any alarm", quiet_days, high=ALPHA, rate=0.99, rows=10)
for _kind, _words in (
    ("uniform", "80% pass, 50 rows a day"),
    ("uneven", "80% pass, about 40 rows a day"),
    ("days differ", "80% pass, days differ (standard deviation 5 points)"),
    ("scores", "scores of beta(4, 2), 25 rows a day"),
    ("measure", "a measure whose daily means are normal"),
):
    add(f"quiet for 365 days after the reference, {_words}: any alarm", quiet_year, high=ALPHA, kind=_kind)
add("autocorrelation 0.5, large day effects: any alarm", alike_days, high=2 * ALPHA, alike=0.5, size=0.1)
add("autocorrelation 0.5, small day effects: any alarm", alike_days, high=2 * ALPHA, alike=0.5, size=0.03)
add("autocorrelation 0.8 (noted, not promised): any alarm", alike_days, alike=0.8, size=0.05)
for _size, _rows in ((0.05, 50), (0.1, 50), (0.05, 400)):
    add(
        f"days with heavy tails (t with 3 degrees of freedom, times {100 * _size:g} points), "
        f"{_rows} rows a day: any alarm", heavy_days, high=2 * ALPHA, size=_size, rows=_rows,
    )  # fmt: skip
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

for _rows in (10, 50):
    for _before, _after in (((8, 8), (0.8, 0.8)), ((0.8, 0.8), (8, 8)), ((16, 4), (1.6, 0.4))):
        add(
            f"the same mean, scores of beta{_before} become beta{_after}, {_rows} rows a day: any alarm",
            other_spread, high=2 * ALPHA, was="55%", before=_before, after=_after, rows=_rows,
        )  # fmt: skip
for _start in (14, 30, 44):
    add(
        f"5 points less from day {_start} on (80% pass, 50 rows a day): `regressed` after 50 days",
        drifting, low=0.45, was="16%", start=_start, days=50, rate=0.8, fall=0.05, step=True,
    )  # fmt: skip
    add(
        f"12 points less within 60 days from day {_start} on: `regressed`",
        drifting, low=0.85, was="60%", start=_start, days=60, rate=0.8, fall=0.12, step=False,
    )  # fmt: skip
add_frames(
    "the pass rate falls from 100% to 50% at the same mean: `regressed`", beside_the_mean, low=0.9, was="0%",
    change="pass rate",
)  # fmt: skip
add_frames("40% of the scores are missing: `regressed`", beside_the_mean, low=0.9, was="0%", change="answers")
add_frames("the same, nothing changes: `regressed`", beside_the_mean, high=ALPHA, change="nothing")
add("another mix of topics, `adjust`: any alarm", other_mix, high=ALPHA, adjust="topic")
add("another mix of topics, not adjusted (shown, no law): any alarm", other_mix, adjust=None)

LAWS = [*OVER_TIME, *FRAMES]
