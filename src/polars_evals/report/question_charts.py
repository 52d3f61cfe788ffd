"""Charts of rankings, plans, repeated runs and agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from polars_evals.palette import BLUE, INK, QUIET, VERMILION
from polars_evals.report.charts import HEIGHT, ROW, distinct, shortened
from polars_evals.report.theme import themed

if TYPE_CHECKING:
    from collections.abc import Sequence


def intervals(
    rows: pl.DataFrame, labels: Sequence[str], *, axis: str, width: int, title: str | None = None
) -> Any:
    """
    Draw values with their intervals, one row each, in the order given.

    Parameters
    ----------
    rows
        With ``value``, ``low`` and ``high``.
    labels
        A name for each row.
    axis
        What the values are.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    names = distinct(labels)
    data = rows.select("value", "low", "high").with_columns(pl.Series("label", names, dtype=pl.String))
    y = alt.Y(
        "label:N",
        sort=names,
        title=None,
        axis=alt.Axis(ticks=False, domain=False, grid=False, labelPadding=8),
    )
    x = alt.X("value:Q", title=axis, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5))
    base = alt.Chart(data)
    interval = base.mark_rule(strokeWidth=2, color=BLUE).encode(x="low:Q", x2="high:Q", y=y)
    point = base.mark_point(size=70, filled=True, opacity=1, color=BLUE).encode(x=x, y=y)
    chart = alt.layer(interval, point)
    return themed(chart, width=width, height=max(2, len(names)) * ROW, title=shortened(title))


def needed_items(rows: pl.DataFrame, asked: dict[str, Any], *, width: int, title: str | None = None) -> Any:
    """
    Draw how many items find an effect of each size.

    Parameters
    ----------
    rows
        With ``min_effect`` and ``items``.
    asked
        The row that was asked for.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    x = alt.X("min_effect:Q", title="difference to be found", axis=alt.Axis(grid=False, tickCount=5))
    y = alt.Y(
        "items:Q",
        title="items",
        scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(tickCount=4, format=","),
    )
    base = alt.Chart(rows.sort("min_effect").drop_nulls("items").select("min_effect", "items"))
    line = base.mark_line(color=QUIET, strokeWidth=1.5).encode(x=x, y=y)
    points = base.mark_point(filled=True, opacity=1, color=BLUE, size=60).encode(x=x, y=y)
    layers = [line, points]
    if asked["items"] is not None:
        chosen = pl.DataFrame(
            {"min_effect": [asked["min_effect"]], "items": [asked["items"]], "name": [f"{asked['items']:,}"]}
        )
        mark = alt.Chart(chosen)
        layers.append(mark.mark_point(filled=True, opacity=1, color=VERMILION, size=120).encode(x=x, y=y))
        layers.append(
            mark.mark_text(align="left", dx=10, dy=-6, fontSize=12, color=INK).encode(x=x, y=y, text="name:N")
        )
    return themed(alt.layer(*layers), width=width, height=HEIGHT, title=shortened(title))


def passes(rows: pl.DataFrame, *, width: int, title: str | None = None) -> Any:
    """
    Draw how often any, and how often all, of k runs pass.

    Parameters
    ----------
    rows
        With ``k`` and both rates with their intervals, of one version and metric.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    kinds = ["any of k passes", "all of k pass"]
    data = pl.concat(
        [
            rows.select("k", value="pass_at_k", low="ci_low", high="ci_high", kind=pl.lit(kinds[0])),
            rows.select("k", value="pass_all_k", low="all_ci_low", high="all_ci_high", kind=pl.lit(kinds[1])),
        ]
    )
    x = alt.X("k:O", title="runs (k)", axis=alt.Axis(grid=False, labelAngle=0))
    y = alt.Y(
        "value:Q",
        title="items",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", tickCount=4, domain=False, ticks=False),
    )
    legend = alt.Legend(title=None)
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[BLUE, VERMILION]), legend=legend)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "square"]), legend=legend)
    base = alt.Chart(data)
    layers = alt.layer(
        base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(x=x, y="low:Q", y2="high:Q", color=colour),
        base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, opacity=1, size=60).encode(x=x, y=y, color=colour, shape=shape),
    )
    return themed(layers, width=width, height=HEIGHT, title=shortened(title))
