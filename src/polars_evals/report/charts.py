"""One function a chart: from the rows that were computed to an Altair chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from polars_evals._polars import format_text
from polars_evals.palette import BAND, BLUE, GREEN, INK, PAPER, PURPLE, QUIET, VERMILION
from polars_evals.report.theme import themed, verdict_scales
from polars_evals.wording import line

if TYPE_CHECKING:
    from collections.abc import Sequence

ROW = 24
HEIGHT = 190
LABEL = 60
# Below this width labels stand above what they name, so that neither is cut.
NARROW_BELOW = 480
# Keeps what is added to names apart from them.
APART = "\u001f"
# Room between title and chart for a name that stands above the chart.
ABOVE = 24


def forest(
    rows: pl.DataFrame,
    labels: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    min_effect: float,
    width: int,
    title: str | None = None,
    axis: Sequence[str] = ("← worse · better →", "difference in mean score"),
    form: str = "+,.3~f",
) -> Any:
    """
    Draw differences with their intervals, one row each, in the order given.

    Parameters
    ----------
    rows
        With ``difference``, ``ci_low``, ``ci_high`` and ``verdict``.
    labels
        A name for each row.
    groups
        What each row belongs to; rows of a group follow each other under its name.
    min_effect
        Half the width of the grey band in which a difference does not matter.
    width
        Pixels, with the labels. Where there are few, labels stand above their rows.
    title
        What stands above the chart.
    axis
        What the differences are, in lines.
    form
        How numbers of the axis are written.
    """
    narrow = width < NARROW_BELOW
    data = _placed(rows, labels, groups, narrow=narrow)
    keys = data["key"].to_list()
    y = alt.Y(
        "key:N",
        sort=keys,
        title=None,
        axis=None
        if narrow
        else alt.Axis(
            ticks=False,
            domain=False,
            grid=False,
            labelPadding=8,
            labelLimit=int(width * 0.45),
            labelExpr=f"split(datum.label, '{APART}')[1]",
            labelFontWeight={
                "condition": {"test": f"split(datum.label, '{APART}')[2] == 'group'", "value": 600},
                "value": "normal",
            },
        ),
    )
    x = alt.X(
        "difference:Q",
        title=list(axis),
        scale=alt.Scale(zero=True, nice=True),
        axis=alt.Axis(
            format=form,
            labelExpr="datum.value == 0 ? '0' : datum.label",
            labelOverlap="greedy",
            labelSeparation=8,
            tickCount=5,
        ),
    )
    base = alt.Chart(data)
    layers = [
        alt.Chart(pl.DataFrame({"low": [-min_effect], "high": [min_effect]}))
        .mark_rect(color=BAND)
        .encode(x=alt.X("low:Q"), x2="high:Q"),
        alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(color=QUIET).encode(x="zero:Q"),
        base.mark_rule(strokeWidth=2).encode(
            x="ci_low:Q", x2="ci_high:Q", y=y, stroke=verdict_scales(_verdicts(data))["stroke"]
        ),
        base.mark_point(size=90, strokeWidth=1.5, opacity=1).encode(
            x=x, y=y, **verdict_scales(_verdicts(data))
        ),
    ]
    if narrow:
        look = {"align": "left", "baseline": "middle", "dy": -13, "fontSize": 12, "limit": width - 30}
        # Paper around the letters keeps lines from crossing them.
        layers += [
            base.mark_text(**look, **more).encode(x=alt.value(0), y=y, text="label:N")
            for more in ({"stroke": PAPER, "strokeWidth": 4, "color": PAPER}, {"color": INK})
        ]
    step = ROW + 10 if narrow else ROW
    return themed(alt.layer(*layers), width=width, height=max(2, len(keys)) * step, title=shortened(title))


def _placed(
    rows: pl.DataFrame, labels: Sequence[str], groups: Sequence[str] | None, *, narrow: bool
) -> pl.DataFrame:
    """Return the rows with a place of their own each, and with those that name the groups."""
    names = [line(one, LABEL) for one in labels] if groups is not None else distinct(labels)
    of = [None] * len(names) if groups is None else [line(one, LABEL) for one in groups]
    data = rows.select("difference", "ci_low", "ci_high", pl.col("verdict").cast(pl.String))
    if narrow:
        whole = [
            name if group is None else f"{group} · {name}" for name, group in zip(names, of, strict=True)
        ]
        return data.with_columns(
            label=pl.Series(whole, dtype=pl.String),
            key=pl.Series([f"{at:04}{APART}{name}" for at, name in enumerate(whole)], dtype=pl.String),
        )
    parts, last = [], None
    for at, (name, group) in enumerate(zip(names, of, strict=True)):
        if group is not None and group != last:
            parts.append(pl.DataFrame({"key": [f"{at:04}{APART}{group}{APART}group"]}))
        last = group
        parts.append(data[at].with_columns(key=pl.lit(f"{at:04}{APART}{name}{APART}row"), label=pl.lit(name)))
    return pl.concat(parts, how="diagonal")


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
    named = spread.with_columns(name=format_text("best: {}", pl.col("best").round(4)))
    name = name_above(named, "best:Q", left=right)
    band = (
        alt.Chart(curve.select("threshold", low=f"{objective}_ci_low", high=f"{objective}_ci_high"))
        .mark_area(color=BLUE, opacity=0.2)
        .encode(x=x, y="low:Q", y2="high:Q")
    )
    lines = alt.Chart(data).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    layers = alt.layer(span, band, chosen, lines, name)
    return themed(layers, width=width, height=HEIGHT, title=shortened(title), offset=ABOVE)


def name_above(data: pl.DataFrame, x: Any, *, left: bool) -> Any:
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


def shortened(title: str | None) -> str | None:
    """Return a title of bounded length, or none."""
    return None if title is None else line(title, 200)


def distinct(labels: Sequence[str]) -> list[str]:
    """Return labels that fit and differ: of those that are alike, later ones get a number."""
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        short = line(label, LABEL)
        seen[short] = seen.get(short, 0) + 1
        names.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return names
