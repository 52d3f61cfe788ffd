"""One series of a timeline: its chart, and whether it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift import control
from polars_evals.drift.inference import NEGLIGIBLE, benjamini_hochberg, column, floats, t_interval, wilson
from polars_evals.drift.text import cell
from polars_evals.drift.verdict import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from polars_evals.drift.windows import Period, Series

SERIES: dict[str, Any] = {
    "metric": pl.String,
    "version": pl.String,
    "slice": pl.String,
    "by": pl.List(pl.String),
    "value": pl.List(pl.String),
}


@dataclass(frozen=True)
class Chart:
    """The windows of a series, and the numbers that judge it."""

    windows: pl.DataFrame
    change: dict[str, Any]


def chart(
    series: Series, grid: pl.DataFrame, *, every: str, reference: int | Period, alpha: float, tau: float
) -> Chart:
    """Chart a series over all windows of the grid."""
    frame = grid.join(series.frame, on="window", how="left", maintain_order="left").with_columns(
        pl.col("n", "n_null", "labels").fill_null(0)
    )
    n, mean = floats(frame["n"]), floats(frame["mean"])
    windows = control.Windows(n, mean, floats(frame["spread"]))
    inside = _reference(frame, reference)
    start = int(np.flatnonzero(inside)[-1]) + 1 if inside.any() else 0
    known = control.reference_of(windows, inside)
    nothing = np.full(len(n), np.nan)
    sigma, z, p, p_change = nothing, nothing, nothing, nothing
    if known is not None:
        sigma, z = control.deviations(windows, known)
        p, p_change = control.always_valid(windows, known, start, tau)
    up, down = control.cusum(z, start) if known is not None else (nothing, nothing)
    centre = np.nan if known is None else known.mean
    low, high = centre - control.SIGMAS * sigma, centre + control.SIGMAS * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(windows.spread / n)
    ci_low, ci_high, _ = t_interval(mean, se, floats(frame["freedom"]), alpha)
    labels, rate = floats(frame["labels"]), floats(frame["pass_rate"])
    pass_low, pass_high = wilson(rate * labels, labels, alpha)
    charted = frame.select(
        *(pl.lit(series.identity[name], dtype=dtype).alias(name) for name, dtype in SERIES.items()),
        "window",
        pl.coalesce(pl.col("window").shift(-1), pl.col("window").dt.offset_by(every)).alias("window_end"),
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
    change = {
        **series.identity,
        "windows": len(n),
        "empty_windows": int((n == 0).sum()),
        "n": int(n.sum()),
        **_since(windows, known, start, [control.alarm(up, z), control.alarm(down, -z)], alpha),
        "p_always_valid": None if np.isnan(p[-1]) else float(p[-1]),
        "p_change": None if np.isnan(p[-1]) else float(p_change[-1]),
    }
    return Chart(charted, change)


def _reference(frame: pl.DataFrame, reference: int | Period) -> npt.NDArray[np.bool_]:
    window = frame["window"]
    if isinstance(reference, int):
        filled = np.flatnonzero(frame["n"].to_numpy() > 0)[:reference]
        inside = np.zeros(len(window), dtype=np.bool_)
        inside[: int(filled[-1]) + 1 if filled.size else 0] = True
        return inside
    start, end = (one if window.dtype == pl.Date else pl.lit(one, dtype=window.dtype) for one in reference)
    return frame.select((pl.col("window") >= start) & (pl.col("window") < end)).to_series().to_numpy()


def _since(
    windows: control.Windows,
    reference: control.Reference | None,
    start: int,
    alarms: Sequence[tuple[int, int] | None],
    alpha: float,
) -> dict[str, Any]:
    """Return how far the mean moved since the change began, or since the reference where none was seen."""
    change: dict[str, Any] = dict.fromkeys(
        ["reference_n", "reference_mean", "current_n", "current_mean", "difference", "ci_low", "ci_high"]
    )
    change |= {"began": None, "detected": None}
    if reference is None:
        return change
    change |= {"reference_n": int(reference.n), "reference_mean": reference.mean}
    if raised := [alarm for alarm in alarms if alarm is not None]:
        change["detected"], change["began"] = min(raised)
        start = change["began"]
    n = windows.n[start:]
    rows = float(n.sum())
    if rows == 0:
        return change | {"current_n": 0}
    mean = float((n * np.nan_to_num(windows.mean[start:])).sum() / rows)
    difference = mean - reference.mean
    if abs(difference) < NEGLIGIBLE:
        difference = 0.0
    se = np.sqrt(reference.variance * (1 / rows + 1 / reference.n))
    low, high, _ = t_interval(np.array([difference]), np.array([se]), np.array([reference.n - 1]), alpha)
    return change | {
        "current_n": int(rows),
        "current_mean": mean,
        "difference": difference,
        "ci_low": float(low[0]),
        "ci_high": float(high[0]),
    }


def judge_changes(
    changes: Sequence[dict[str, Any]],
    grid: pl.DataFrame,
    *,
    reference: int | Period,
    alpha: float,
    min_effect: float,
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
        "began": pl.UInt32,
        "detected": pl.UInt32,
        "p_always_valid": pl.Float64,
        "p_change": pl.Float64,
    }
    frame = pl.DataFrame(list(changes), schema=schema)
    tested = pl.when(pl.col("current_n") > 0).then("p_change")
    q = benjamini_hochberg(floats(frame.select(tested).to_series()))
    dates = grid["window"]
    frame = frame.with_columns(
        column("q_value", q), *(dates.gather(frame[name]).alias(name) for name in ("began", "detected"))
    )
    judged = [_judge(row, reference, alpha, min_effect) for row in frame.iter_rows(named=True)]
    return frame.with_columns(
        pl.Series("verdict", [verdict for verdict, _ in judged], dtype=pl.Enum(VERDICTS)),
        pl.Series("reason", [reason for _, reason in judged], dtype=pl.String),
    )


def _judge(row: dict[str, Any], reference: int | Period, alpha: float, min_effect: float) -> tuple[str, str]:
    if row["reference_n"] is None:
        return "inconclusive", "the reference period has fewer than 2 windows with scores"
    if not row["current_n"]:
        return "inconclusive", _nothing_after(reference, row["windows"] - row["empty_windows"])
    change, q = row["difference"], row["q_value"]
    interval = f"{100 * (1 - alpha):g}% interval {row['ci_low']:+.4f} to {row['ci_high']:+.4f}"
    since = " since the reference period" if row["began"] is None else f" since {cell(row['began'])}"
    if q <= alpha and abs(change) >= min_effect - NEGLIGIBLE:
        moved = "fell" if change < 0 else "rose"
        reason = f"the mean score {moved} by {abs(change):.4f}{since} ({interval}, always-valid q = {q:.2g})"
        return "regressed" if change < 0 else "improved", reason
    if row["detected"] is not None:
        alarm = f"the alarm of {cell(row['detected'])} is not confirmed"
        return "inconclusive", f"{alarm}{since} ({interval}, always-valid q = {q:.2g})"
    if row["ci_low"] >= -min_effect and row["ci_high"] <= min_effect:
        return "no_change", f"any change is smaller than {min_effect:g} ({interval})"
    reason = f"no change and a change of {min_effect:g} are both possible ({interval})"
    if row["ci_low"] > 0 or row["ci_high"] < 0:
        reason = (
            f"a change is likely, but not confirmed by so few rows ({interval}, always-valid q = {q:.2g})"
        )
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
