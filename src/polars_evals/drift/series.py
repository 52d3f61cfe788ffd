"""One series of a timeline: its windows with limits and tests, and whether it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals._polars import offset_by
from polars_evals.drift import control
from polars_evals.drift.inference import NEGLIGIBLE, benjamini_hochberg, column, floats, t_interval, wilson
from polars_evals.drift.segments import Monitor, Segment
from polars_evals.drift.verdict import VERDICTS
from polars_evals.drift.written import Written
from polars_evals.suite.measure import PART
from polars_evals.wording import cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats
    from polars_evals.drift.windows import Period, Series
    from polars_evals.suite.measure import Measure

SERIES: dict[str, Any] = {
    "metric": pl.String,
    "version": pl.String,
    "slice": pl.String,
    "by": pl.List(pl.String),
    "value": pl.List(pl.String),
}


@dataclass(frozen=True)
class Followed:
    """The windows of a series, its segments, and the numbers that judge it."""

    windows: pl.DataFrame
    segments: list[dict[str, Any]]
    change: dict[str, Any]


def follow(
    series: Series, grid: pl.DataFrame, *, every: str, reference: int | Period, alpha: float, tau: float
) -> Followed:
    """Follow a series over all windows of the grid."""
    frame = grid.join(series.frame, on="window", how="left", maintain_order="left").with_columns(
        pl.col("n", "n_null", "labels").fill_null(0)
    )
    inside = _reference(frame, reference)
    scale = 1.0 if series.measure is None else _level(frame, inside)
    n, mean = floats(frame["n"]), floats(frame["mean"]) / scale
    windows = control.Windows(n, mean, floats(frame["spread"]) / scale**2, series.bounded)
    start = int(np.flatnonzero(inside)[-1]) + 1 if inside.any() else 0
    known = control.reference_of(windows, inside)
    nothing = np.full(len(n), np.nan)
    sigma, z, p, p_change = nothing, nothing, nothing, nothing
    segments, change = list[dict[str, Any]](), _unknown()
    if known is not None:
        sigma, z = control.deviations(windows, known)
        monitor = Monitor(windows, known, tau)
        found, p, p_change = monitor.watch(start, alpha)
        segments = [_segment(monitor, one, found, alpha) for one in found]
        change = _current(monitor, found, start, alpha)
    up, down = control.cusum(z, start) if known is not None else (nothing, nothing)
    centre = np.nan if known is None else known.mean
    low, high = centre - control.SIGMAS * sigma, centre + control.SIGMAS * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(windows.spread / n)
    ci_low, ci_high, _ = t_interval(mean, se, floats(frame["freedom"]), alpha)
    labels, rate = floats(frame["labels"]), floats(frame["pass_rate"])
    pass_low, pass_high = wilson(rate * labels, labels, alpha)
    window = pl.col("window")
    following = offset_by(window, every, frame.schema["window"])
    followed = frame.select(
        *(pl.lit(series.identity[name], dtype=dtype).alias(name) for name, dtype in SERIES.items()),
        "window",
        pl.coalesce(window.shift(-1), following).alias("window_end"),
        "n",
        "n_null",
        "mean",
        column("ci_low", ci_low),
        column("ci_high", ci_high),
        "pass_rate",
        column("pass_ci_low", pass_low),
        column("pass_ci_high", pass_high),
        pl.Series("reference", inside),
        column("center", np.full(len(n), centre)),
        column("limit_low", low),
        column("limit_high", high),
        column("outside", np.where(np.isnan(sigma), np.nan, (mean < low) | (mean > high))).cast(pl.Boolean),
        column("cusum_up", up),
        column("cusum_down", down),
        column("p_always_valid", p),
        column("p_change", p_change),
    )
    followed = followed.with_columns(pl.col("ci_low", "ci_high", "center", "limit_low", "limit_high") * scale)
    segments, change = [_times(one, scale) for one in segments], _times(change, scale)
    change |= {
        **series.identity,
        "windows": len(n),
        "empty_windows": int((n == 0).sum()),
        "n": int(n.sum()),
        "p_always_valid": _number(p),
        "p_change": _number(p_change),
    }
    return Followed(followed, [series.identity | one for one in segments], change)


# What has the unit of the values.
LEVELS = (
    *("mean", "ci_low", "ci_high", "difference", "reference_mean", "current_mean", "safe_low", "safe_high"),
)


def _level(frame: pl.DataFrame, inside: npt.NDArray[np.bool_]) -> float:
    """Return the size of a measure in the reference period: it is followed in parts of that."""
    part = frame.filter(pl.Series(inside)).drop_nulls("mean")
    n = floats(part["n"])
    level = abs(float(floats(part["mean"]) @ n) / max(float(n.sum()), 1.0))
    return level if level > 0 else 1.0


def _times(values: dict[str, Any], scale: float) -> dict[str, Any]:
    return {
        name: value * scale if name in LEVELS and value is not None else value
        for name, value in values.items()
    }


def _number(values: Floats) -> float | None:
    return None if np.isnan(values[-1]) else float(values[-1])


def _reference(frame: pl.DataFrame, reference: int | Period) -> npt.NDArray[np.bool_]:
    window = frame["window"]
    if isinstance(reference, int):
        filled = np.flatnonzero(frame["n"].to_numpy() > 0)[:reference]
        inside = np.zeros(len(window), dtype=np.bool_)
        inside[: int(filled[-1]) + 1 if filled.size else 0] = True
        return inside
    start, end = (one if window.dtype == pl.Date else pl.lit(one, dtype=window.dtype) for one in reference)
    return frame.select((pl.col("window") >= start) & (pl.col("window") < end)).to_series().to_numpy()


def _unknown() -> dict[str, Any]:
    return dict.fromkeys(
        [
            "reference_n", "reference_mean", "current_n", "current_mean", "difference", "ci_low", "ci_high",
            "safe_low", "safe_high", "began", "detected", "earlier", "p_current", "autocorrelation", "alike",
        ]
    )  # fmt: skip


def _segment(monitor: Monitor, segment: Segment, segments: list[Segment], alpha: float) -> dict[str, Any]:
    level = monitor.level(segment, segments, alpha)
    lowest, highest = (0.0, 1.0) if monitor.windows.bounded else (-np.inf, np.inf)
    return {
        "began": segment.first,
        "ended": segment.end if segment is not segments[-1] else None,
        "detected": segment.detected,
        "n": int(monitor.windows.n[segment.first : segment.end].sum()),
        "mean": level.value,
        "ci_low": max(level.interval[0], lowest),
        "ci_high": min(level.interval[1], highest),
        "difference": _none_if_negligible(level.value - monitor.reference.mean),
    }


def _current(monitor: Monitor, segments: list[Segment], start: int, alpha: float) -> dict[str, Any]:
    """Return the present level against the reference: since the last change, or since the reference."""
    reference, windows = monitor.reference, monitor.windows
    last = segments[-1]
    changed = len(segments) > 1
    current = last if changed else Segment(start, last.end, None)
    rows = int(windows.n[current.first :].sum())
    change = _unknown() | {
        "reference_n": int(reference.n),
        "reference_mean": reference.mean,
        "current_n": rows,
    }
    if not rows:
        return change
    found = monitor.change(current, segments, alpha)
    autocorrelation, alike = monitor.autocorrelation(segments)
    return change | {
        # Both weighted as the difference is, so that they differ by it.
        "reference_mean": monitor.level(None, segments, alpha).value,
        "current_mean": monitor.level(current, segments, alpha).value,
        "difference": _none_if_negligible(found.value),
        "ci_low": found.interval[0],
        "ci_high": found.interval[1],
        "safe_low": found.safe[0],
        "safe_high": found.safe[1],
        "began": last.first if changed else None,
        "detected": last.detected,
        "earlier": segments[-2].first if len(segments) > 2 else None,
        "p_current": monitor.against_reference(current) if changed else None,
        "autocorrelation": autocorrelation,
        "alike": alike,
    }


def _none_if_negligible(difference: float) -> float:
    return 0.0 if abs(difference) < NEGLIGIBLE else difference


def segments_frame(found: Sequence[Followed], grid: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each segment of each series: from when to when, and at what level."""
    schema = SERIES | {
        "began": pl.UInt32,
        "ended": pl.UInt32,
        "detected": pl.UInt32,
        "n": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "difference": pl.Float64,
    }
    rows = [segment for one in found for segment in one.segments]
    return _dated(pl.DataFrame(rows, schema=schema), grid, "began", "ended", "detected")


def _dated(frame: pl.DataFrame, grid: pl.DataFrame, *names: str) -> pl.DataFrame:
    return frame.with_columns(grid["window"].gather(frame[name]).alias(name) for name in names)


def judge_changes(
    changes: Sequence[dict[str, Any]],
    grid: pl.DataFrame,
    *,
    reference: int | Period,
    alpha: float,
    min_effect: float,
    measures: Mapping[str, Measure],
) -> pl.DataFrame:
    """Return a row for each series, with q-values over all of them, verdict and reason."""
    schema = SERIES | {
        "windows": pl.Int64,
        "empty_windows": pl.Int64,
        "n": pl.Int64,
        "reference_n": pl.Int64,
        "reference_mean": pl.Float64,
        "current_n": pl.Int64,
        "current_mean": pl.Float64,
        "difference": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "safe_low": pl.Float64,
        "safe_high": pl.Float64,
        "began": pl.UInt32,
        "detected": pl.UInt32,
        "earlier": pl.UInt32,
        "p_always_valid": pl.Float64,
        "p_change": pl.Float64,
        "p_current": pl.Float64,
        "autocorrelation": pl.Float64,
        "alike": pl.Boolean,
    }
    frame = pl.DataFrame(list(changes), schema=schema)
    tested = pl.when(pl.col("current_n") > 0).then("p_change")
    q = benjamini_hochberg(floats(frame.select(tested).to_series()))
    frame = _dated(frame.with_columns(column("q_value", q)), grid, "began", "detected", "earlier")
    judged = [
        _judge(row, reference, alpha, min_effect, measures.get(row["metric"]))
        for row in frame.iter_rows(named=True)
    ]
    return frame.select(
        pl.exclude("safe_low", "safe_high", "earlier", "alike", "autocorrelation", "q_value"),
        "q_value",
        "autocorrelation",
        pl.Series("verdict", [verdict for verdict, _ in judged], dtype=pl.Enum(VERDICTS)),
        pl.Series("reason", [reason for _, reason in judged], dtype=pl.String),
    )


def autocorrelation_note(changes: Sequence[dict[str, Any]]) -> list[str]:
    """Say where windows resemble their neighbours."""
    found = [one["autocorrelation"] for one in changes if one["alike"]]
    if not found:
        return []
    some = f"in {len(found):,} of {len(changes):,} series" if len(changes) > 1 else "here"
    return [
        f"windows resemble those before them {some} (autocorrelation up to {max(found):.2f}); they count as "
        "fewer, and small changes take longer to see"
    ]


def _judge(
    row: dict[str, Any], reference: int | Period, alpha: float, min_effect: float, measure: Measure | None
) -> tuple[str, str]:
    if row["reference_n"] is None:
        return "inconclusive", "the reference period has fewer than 2 windows with scores"
    if not row["current_n"]:
        return "inconclusive", _nothing_after(reference, row["windows"] - row["empty_windows"])
    change, q, written = row["difference"], row["q_value"], Written(measure)
    if measure is not None:
        own = measure.min_effect
        min_effect = PART * abs(row["reference_mean"]) if own is None else own
    effect = written.effect(min_effect)
    interval = f"{100 * (1 - alpha):g}% interval {written.span(row['ci_low'], row['ci_high'])}"
    since = " since the reference period" if row["began"] is None else f" since {cell(row['began'])}"
    # There was a change, and it still is one.
    lasting = row["p_current"] is not None and row["p_current"] <= alpha
    if lasting and q <= alpha and abs(change) >= min_effect - NEGLIGIBLE:
        moved = "lower" if change < 0 else "higher"
        reason = (
            f"the mean {'score' if measure is None else measure.name} is {written.size(change)} {moved} "
            f"than in the reference period{since} "
            f"({interval}, not corrected; always-valid corrected q = {q:.2g})"
        )
        worse = change < 0 if measure is None else change * measure.sign < 0
        return "regressed" if worse else "improved", reason
    history = ""
    if row["began"] is not None:
        history = f"the level changed on {cell(row['began'])}; since then "
        if row["earlier"] is not None:
            history = f"the change of {cell(row['earlier'])} ended on {cell(row['began'])}; since then "
    if row["safe_low"] >= -min_effect and row["safe_high"] <= min_effect:
        return (
            "no_change",
            f"{history}any change from the reference is smaller than {effect} ({interval})",
        )
    likely = row["ci_low"] > 0 or row["ci_high"] < 0
    if likely and row["began"] is None:
        reason = (
            f"a change is likely, but not confirmed by so few rows ({interval}, not corrected; "
            f"always-valid corrected q = {q:.2g})"
        )
    elif likely:
        reason = f"{history}a difference from the reference is likely, but not confirmed ({interval})"
    elif row["ci_low"] >= -min_effect and row["ci_high"] <= min_effect:
        reason = f"{history}no change was seen, but so few rows cannot rule out {effect} ({interval})"
    else:
        reason = f"{history}no change and a change of {effect} are both possible ({interval})"
    return "inconclusive", reason


def _nothing_after(reference: int | Period, filled: int) -> str:
    if not isinstance(reference, int):
        return "there are no scores after the reference period"
    # Half of the windows are left to be judged; fewer than 2 make no reference.
    smaller = f"a smaller one, such as reference={max(2, filled // 2)}, or " if filled > 2 else ""
    return (
        f"the reference of {reference:,} windows takes all {filled:,} windows with scores; "
        f"give {smaller}shorter windows"
    )
