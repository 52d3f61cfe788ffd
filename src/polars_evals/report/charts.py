"""One function a chart: from the rows that were computed to an Altair chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from polars_evals.drift.text import line
from polars_evals.report.theme import (
    BAND,
    BLUE,
    GREEN,
    INK,
    PURPLE,
    QUIET,
    SKY,
    VERMILION,
    themed,
    verdict_scales,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ROW = 24
HEIGHT = 190
LABEL = 60
# Room between title and chart for a name that stands above the chart.
ABOVE = 24


def forest(
    rows: pl.DataFrame, labels: Sequence[str], *, min_effect: float, width: int, title: str | None = None
) -> Any:
    """
    Draw differences with their intervals, one row each, in the order given.

    Parameters
    ----------
    rows
        With ``difference``, ``ci_low``, ``ci_high`` and ``verdict``.
    labels
        A name for each row.
    min_effect
        Half the width of the grey band in which a difference does not matter.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    names = _distinct(labels)
    data = rows.select("difference", "ci_low", "ci_high", pl.col("verdict").cast(pl.String)).with_columns(
        pl.Series("label", names, dtype=pl.String)
    )
    y = alt.Y(
        "label:N",
        sort=names,
        title=None,
        axis=alt.Axis(ticks=False, domain=False, grid=False, labelPadding=8),
    )
    x = alt.X(
        "difference:Q",
        title=["← worse · better →", "difference in mean score"],
        scale=alt.Scale(zero=True, nice=True),
        axis=alt.Axis(format="+.2~f", labelExpr="datum.value == 0 ? '0' : datum.label", tickCount=5),
    )
    base = alt.Chart(data)
    band = (
        alt.Chart(pl.DataFrame({"low": [-min_effect], "high": [min_effect]}))
        .mark_rect(color=BAND)
        .encode(x=alt.X("low:Q"), x2="high:Q")
    )
    zero = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(color=QUIET).encode(x="zero:Q")
    interval = base.mark_rule(strokeWidth=2).encode(
        x="ci_low:Q", x2="ci_high:Q", y=y, stroke=verdict_scales(_verdicts(data))["stroke"]
    )
    point = base.mark_point(size=90, strokeWidth=1.5, opacity=1).encode(
        x=x, y=y, **verdict_scales(_verdicts(data))
    )
    chart = alt.layer(band, zero, interval, point)
    return themed(chart, width=width, height=max(2, len(names)) * ROW, title=_short(title))


def distribution(rows: pl.DataFrame, *, baseline: str, width: int, title: str | None = None) -> Any:
    """
    Draw the share of scores in each bin: the baseline as bars, the candidate as a line around its own.

    Parameters
    ----------
    rows
        With ``version``, ``bin_low``, ``bin_high`` and ``share``, of one metric and candidate.
    baseline
        The version to draw as bars.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    before = rows.filter(pl.col("version") == baseline)
    after = rows.filter(pl.col("version") != baseline)
    versions = [line(frame["version"][0], LABEL) for frame in (before, after)]
    if versions[0] == versions[1]:
        versions = [
            f"{name} ({side})" for name, side in zip(versions, ("baseline", "candidate"), strict=True)
        ]
    x = alt.X(
        "bin_low:Q",
        bin="binned",
        title="score",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(grid=False, tickCount=5, format="~f"),
    )
    y = alt.Y(
        "share:Q", title="share of answers", axis=alt.Axis(format="%", tickCount=4, domain=False, ticks=False)
    )
    scale = alt.Scale(domain=versions, range=[SKY, VERMILION])
    legend = alt.Legend(title=None, symbolType="square", symbolStrokeWidth=2, symbolFillColor="transparent")
    colour = alt.Color("of:N", scale=scale, legend=legend)
    bars = (
        alt.Chart(before.select("bin_low", "bin_high", "share", of=pl.lit(versions[0])))
        .mark_bar(binSpacing=0, opacity=1)
        .encode(x=x, x2="bin_high:Q", y=y, color=colour)
    )
    # A step needs the right edge of the last bin too.
    steps = pl.concat(
        [after.select("bin_low", "share"), after.tail(1).select(bin_low="bin_high", share="share")]
    ).with_columns(of=pl.lit(versions[1]))
    outline = (
        alt.Chart(steps).mark_line(interpolate="step-after", strokeWidth=2).encode(x=x, y=y, color=colour)
    )
    return themed(alt.layer(bars, outline), width=width, height=HEIGHT - 40, title=_short(title))


def series(
    windows: pl.DataFrame, change: dict[str, Any], *, value: str, width: int, title: str | None = None
) -> Any:
    """
    Draw a series over time, with its control limits and the change that was found.

    Parameters
    ----------
    windows
        The windows of one series, in order.
    change
        The row that judges the series.
    value
        ``"mean"`` with its control limits, or ``"pass_rate"``.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    low, high = ("ci_low", "ci_high") if value == "mean" else ("pass_ci_low", "pass_ci_high")
    data = windows.select(
        time=_instant("window"),
        end=_instant("window_end"),
        value=value,
        low=pl.col(low).clip(0, 1),
        high=pl.col(high).clip(0, 1),
        center="center",
        limit_low=pl.col("limit_low").clip(0, 1),
        limit_high=pl.col("limit_high").clip(0, 1),
        reference="reference",
        kind=pl.when(pl.lit(value != "mean") | ~pl.col("outside").fill_null(False))
        .then(pl.lit("within"))
        .when(pl.col("mean") > pl.col("center"))
        .then(pl.lit("above"))
        .otherwise(pl.lit("below")),
    )
    time = alt.X(
        "time:T",
        title=None,
        scale=alt.Scale(type="utc"),
        axis=alt.Axis(grid=False, tickCount=width // 90, labelFlush=False),
    )
    y = alt.Y(
        "value:Q",
        title="mean score" if value == "mean" else "pass rate",
        scale=alt.Scale(zero=False, nice=True),
        axis=alt.Axis(tickCount=4, domain=False, ticks=False, format="%" if value == "pass_rate" else ".1f"),
    )
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
        layers.append(base.mark_line(color=QUIET, strokeWidth=1).encode(x=time, y="center:Q"))
    layers.append(base.mark_rule(color=BLUE, opacity=0.35).encode(x=time, y="low:Q", y2="high:Q"))
    layers.append(base.mark_line(color=BLUE, strokeWidth=1.5).encode(x=time, y=y))
    kinds = ["within", "above", "below"]
    shapes = alt.Scale(domain=kinds, range=["circle", "triangle-up", "triangle-down"])
    colours = alt.Scale(domain=kinds, range=[BLUE, VERMILION, VERMILION])
    layers.append(
        base.mark_point(filled=True, opacity=1).encode(
            x=time,
            y=y,
            shape=alt.Shape("kind:N", scale=shapes, legend=None),
            size=alt.Size("kind:N", scale=alt.Scale(domain=kinds, range=[45, 110, 110]), legend=None),
            color=alt.Color("kind:N", scale=colours, legend=None),
        )
    )
    layers += _change_marks(change, data, time)
    return themed(alt.layer(*layers), width=width, height=HEIGHT, title=_short(title), offset=ABOVE)


def _change_marks(change: dict[str, Any], data: pl.DataFrame, time: Any) -> list[Any]:
    """Return the rule where the change began, named on the side that has room."""
    if change["began"] is None:
        return []
    moment = pl.DataFrame({"window": [change["began"]]}).select(time=_instant("window"))
    name = f"change began {line(_day(change['began']), 20)}"
    first, last = data["time"].min(), data["time"].max()
    left = moment["time"][0] - first > last - moment["time"][0]
    rule = alt.Chart(moment).mark_rule(color=VERMILION, strokeWidth=2).encode(x=time)
    return [rule, _name_above(moment.with_columns(name=pl.lit(name)), time, left=left)]


def agreement(
    curve: pl.DataFrame, best: dict[str, Any], *, objective: str, width: int, title: str | None = None
) -> Any:
    """
    Draw how a threshold agrees with people: the objective with its interval, precision and recall.

    Parameters
    ----------
    curve
        A row for each threshold.
    best
        The row of the best threshold.
    objective
        The measure that the best threshold maximises.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    names = [objective, "precision", "recall"]
    data = curve.select("threshold", *names).unpivot(
        index="threshold", on=names, variable_name="measure", value_name="value"
    )
    x = alt.X("threshold:Q", title="threshold", axis=alt.Axis(grid=False, tickCount=6))
    lowest = min(0.0, float(curve[f"{objective}_ci_low"].min() or 0.0))  # type: ignore[arg-type]
    y = alt.Y(
        "value:Q",
        title=None,
        scale=alt.Scale(domain=[lowest, 1]),
        axis=alt.Axis(tickCount=5, domain=False, ticks=False),
    )
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=400)
    colour = alt.Color("measure:N", scale=alt.Scale(domain=names, range=[BLUE, GREEN, PURPLE]), legend=legend)
    dash = alt.StrokeDash(
        "measure:N", scale=alt.Scale(domain=names, range=[[1, 0], [6, 3], [2, 2]]), legend=legend
    )
    spread = pl.DataFrame(
        {"low": [best["threshold_ci_low"]], "high": [best["threshold_ci_high"]], "best": [best["threshold"]]}
    )
    span = alt.Chart(spread).mark_rect(color=BAND).encode(x="low:Q", x2="high:Q")
    chosen = alt.Chart(spread).mark_rule(color=VERMILION, strokeWidth=2).encode(x="best:Q")
    right = best["threshold"] > 0.5
    named = spread.with_columns(name=pl.format("best: {}", pl.col("best").round(4)))
    name = _name_above(named, "best:Q", left=right)
    band = (
        alt.Chart(curve.select("threshold", low=f"{objective}_ci_low", high=f"{objective}_ci_high"))
        .mark_area(color=BLUE, opacity=0.2)
        .encode(x=x, y="low:Q", y2="high:Q")
    )
    lines = alt.Chart(data).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    layers = alt.layer(span, band, chosen, lines, name)
    return themed(layers, width=width, height=HEIGHT, title=_short(title), offset=ABOVE)


def _name_above(data: pl.DataFrame, x: Any, *, left: bool) -> Any:
    """Return the column `name` as text at the top of a rule, on the side that has room."""
    return (
        alt.Chart(data)
        .mark_text(
            align="right" if left else "left",
            baseline="bottom",
            dx=2 if left else -2,
            dy=-4,
            color=INK,
            fontSize=12,
        )
        .encode(x=x, y=alt.value(0), text="name:N")
    )


def _verdicts(data: pl.DataFrame) -> list[str]:
    return data["verdict"].unique().to_list()


def _short(title: str | None) -> str | None:
    return None if title is None else line(title, 200)


def _distinct(labels: Sequence[str]) -> list[str]:
    """Return labels that fit and differ: of those that are alike, later ones get a number."""
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        short = line(label, LABEL)
        seen[short] = seen.get(short, 0) + 1
        names.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return names


def _instant(name: str) -> pl.Expr:
    """Return milliseconds of the clock on the wall, which a chart in UTC shows unchanged."""
    return pl.col(name).cast(pl.Datetime("ms")).dt.replace_time_zone(None).dt.epoch("ms")


def _day(moment: Any) -> str:
    text = f"{moment:%Y-%m-%d %H:%M}"
    return text.removesuffix(" 00:00")
