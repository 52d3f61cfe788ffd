"""Scores over time: windows, the reference with its limits, and the levels that a series had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from polars_evals.palette import BAND, BLUE, INK, QUIET, VERMILION
from polars_evals.report.charts import ABOVE, HEIGHT, shortened
from polars_evals.report.theme import themed

if TYPE_CHECKING:
    from datetime import date

DAY = 86_400_000
# Pixels that the date below a tick needs.
TICK = 75


def series(
    windows: pl.DataFrame,
    change: dict[str, Any],
    segments: pl.DataFrame,
    *,
    value: str,
    width: int,
    title: str | None = None,
) -> Any:
    """
    Draw a series over time, with its control limits and the changes that were found.

    Parameters
    ----------
    windows
        The windows of one series, in order.
    change
        The row that judges the series.
    segments
        The levels that it had, in order.
    value
        ``"mean"`` with its control limits and levels, or ``"pass_rate"``.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    low, high = ("ci_low", "ci_high") if value == "mean" else ("pass_ci_low", "pass_ci_high")
    score = windows.select(pl.col("mean").is_between(0, 1).all()).item()
    within = (0.0, 1.0) if score else (float("-inf"), float("inf"))
    data = windows.select(
        time=_instant("window"),
        end=_instant("window_end"),
        value=value,
        low=pl.col(low).clip(*within),
        high=pl.col(high).clip(*within),
        center="center",
        limit_low=pl.col("limit_low").clip(*within),
        limit_high=pl.col("limit_high").clip(*within),
        reference="reference",
        kind=pl.when(pl.lit(value != "mean") | ~pl.col("outside").fill_null(False))
        .then(pl.lit("within"))
        .when(pl.col("mean") > pl.col("center"))
        .then(pl.lit("above"))
        .otherwise(pl.lit("below")),
    )
    time = _time_axis(data, width)
    y = _value_axis(value)
    base = alt.Chart(data)
    layers = []
    inside = data.filter("reference")
    if inside.height:
        span = pl.DataFrame(
            {"time": [inside["time"].min()], "end": [inside["end"].max()], "name": ["reference"]}
        )
        layers.append(alt.Chart(span).mark_rect(color=BAND).encode(x=time, x2="end:T"))
        layers.append(
            alt.Chart(span)
            .mark_text(align="left", baseline="bottom", dx=4, dy=-3, color=QUIET, fontSize=12)
            .encode(x=time, y=alt.value(HEIGHT), text="name:N")
        )
    if value == "mean":
        limit = base.mark_line(color=QUIET, strokeDash=[4, 3], strokeWidth=1, interpolate="step-after")
        layers += [limit.encode(x=time, y=f"{name}:Q") for name in ("limit_low", "limit_high")]
        layers += _levels(segments, data, time, within)
    layers.append(base.mark_rule(color=BLUE, opacity=0.35).encode(x=time, y="low:Q", y2="high:Q"))
    layers.append(base.mark_line(color=BLUE, strokeWidth=1.5).encode(x=time, y=y))
    kinds = ["within", "above", "below"]
    shapes = alt.Scale(domain=kinds, range=["circle", "triangle-up", "triangle-down"])
    colours = alt.Scale(domain=kinds, range=[BLUE, VERMILION, VERMILION])
    small = 45 if data.height < 120 else 14
    layers.append(
        base.mark_point(filled=True, opacity=1).encode(
            x=time,
            y=y,
            shape=alt.Shape("kind:N", scale=shapes, legend=None),
            size=alt.Size("kind:N", scale=alt.Scale(domain=kinds, range=[small, 110, 110]), legend=None),
            color=alt.Color("kind:N", scale=colours, legend=None),
        )
    )
    layers += _change_marks(change, segments, data, time, width)
    return themed(alt.layer(*layers), width=width, height=HEIGHT, title=shortened(title), offset=ABOVE)


def _levels(segments: pl.DataFrame, data: pl.DataFrame, time: Any, within: tuple[float, float]) -> list[Any]:
    """Return the level of each segment with its interval."""
    first, last = data["time"][0], data["end"][-1]
    spans = segments.select(
        time=_instant("began").fill_null(first).clip(lower_bound=first),
        end=_instant("ended").fill_null(last),
        level="mean",
        low=pl.col("ci_low").clip(*within),
        high=pl.col("ci_high").clip(*within),
    ).filter(pl.col("end") > first)
    base = alt.Chart(spans)
    return [
        base.mark_rect(color=QUIET, opacity=0.22).encode(x=time, x2="end:T", y="low:Q", y2="high:Q"),
        base.mark_rule(color=INK, strokeWidth=1.5).encode(x=time, x2="end:T", y="level:Q"),
    ]


def _change_marks(
    change: dict[str, Any], segments: pl.DataFrame, data: pl.DataFrame, time: Any, width: int
) -> list[Any]:
    """Return a rule where each level began, named above it where there is room."""
    first, last = data["time"].min(), data["end"].max()
    marks = (
        segments.slice(1)
        .select(
            began="began", time=_instant("began"), step=pl.col("mean") - segments["mean"].shift(1).slice(1)
        )
        .filter(pl.col("time") >= first)
    )
    if change["began"] is not None and change["began"] not in marks["began"].to_list():
        own = pl.DataFrame({"began": [change["began"]]}, schema={"began": marks.schema["began"]})
        marks = pl.concat([marks, own.with_columns(time=_instant("began"), step=change["difference"])])
    if marks.is_empty():
        return []
    # Where the present level began stands the verdict's difference, which is that from the reference.
    judged = pl.when(pl.col("began") == change["began"]).then(pl.lit(change["difference"])).otherwise("step")
    marks = marks.with_columns(step=judged).sort("time").tail(6)
    rules = alt.Chart(marks.select("time")).mark_rule(color=VERMILION, strokeWidth=2).encode(x=time)
    named, free = [], float("-inf")
    for row in marks.iter_rows(named=True):
        at = (row["time"] - first) / max(last - first, 1)  # type: ignore[operator]
        moved = "" if row["step"] is None else f"{row['step']:+.2f} ".replace("-", "−")
        words = (
            f"{moved}since {day(row['began'])}" if width >= 480 or marks.height == 1 else f"{moved}".strip()
        )
        room = len(words) * 6.5 / (width - 60)
        left = at + room > 1
        start = at - room if left else at
        if start >= free:
            named.append({"time": row["time"], "name": words, "left": left})
            free = start + room
    sides = ([one for one in named if one["left"] == left] for left in (True, False))
    return [rules, *(_names(side, time) for side in sides if side)]


def _names(named: list[dict[str, Any]], time: Any) -> Any:
    left = named[0]["left"]
    side = {"align": "right", "dx": 2} if left else {"align": "left", "dx": -2}
    text = alt.Chart(pl.DataFrame(named)).mark_text(**side, baseline="bottom", dy=-4, color=INK, fontSize=12)
    return text.encode(x=time, y=alt.value(0), text="name:N")


def _time_axis(data: pl.DataFrame, width: int) -> Any:
    """Return an axis whose ticks are starts of windows, written as finely as windows are and no finer."""
    times, ends = data["time"], data["end"]
    length = int((ends - times).median() or DAY)  # type: ignore[arg-type]
    most = max(2, (width - 60) // TICK)
    total = (ends.to_list() or [0])[-1] - (times.to_list() or [0])[0]
    form = "%-d %b"
    if length >= 360 * DAY:
        form = "%Y"
    elif length >= 28 * DAY:
        form = "%b %Y"
    elif total > 400 * DAY:
        form = "%-d %b %y"
    starts = times.to_list()
    if length < DAY:
        midnights = [one for one in starts if one % DAY == 0]
        if len(midnights) >= 3:
            starts = midnights
        else:
            form = "%H:%M"
    every = -(-len(starts) // most)
    short = form == "%H:%M"
    text = f"utcFormat(datum.value, '{form}')"
    if short:
        # The date stands where a day begins.
        text = f"utcFormat(datum.value, '%H:%M') == '00:00' ? utcFormat(datum.value, '%-d %b') : {text}"
    return alt.X(
        "time:T",
        title=None,
        scale=alt.Scale(type="utc", nice=False),
        axis=alt.Axis(
            grid=False, values=starts[::every], labelExpr=text, labelFlush=False, labelOverlap="greedy"
        ),
    )


def _value_axis(value: str) -> Any:
    """Return an axis with as many digits as its ticks need to differ, which the format leaves open."""
    return alt.Y(
        "value:Q",
        title="mean score" if value == "mean" else "pass rate",
        scale=alt.Scale(zero=False, nice=True),
        axis=alt.Axis(tickCount=4, domain=False, ticks=False, format=",f" if value == "mean" else "%"),
    )


def _instant(name: str) -> pl.Expr:
    """Return milliseconds of the clock on the wall, which a chart in UTC shows unchanged."""
    return pl.col(name).cast(pl.Datetime("ms")).dt.replace_time_zone(None).dt.epoch("ms")


def day(moment: date) -> str:
    """Return a date, with its time where it has one."""
    text = f"{moment:%-d %b %Y, %H:%M}"
    return text.removesuffix(", 00:00")
