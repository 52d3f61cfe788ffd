"""Colours, shapes and fonts of all charts: told apart without colour, and by colour-blind people."""

from __future__ import annotations

from typing import Any

import altair as alt

from polars_evals.palette import GRID, INK, PAPER, QUIET, VERDICT_COLOURS

_SHAPES = {
    "regressed": "triangle-down",
    "inconclusive": "diamond",
    "improved": "triangle-up",
    "no_change": "circle",
}
# verdict: stroke, fill, shape. What cannot be told stays hollow.
VERDICT_MARKS = {
    verdict: (
        VERDICT_COLOURS[verdict],
        PAPER if verdict == "inconclusive" else VERDICT_COLOURS[verdict],
        shape,
    )
    for verdict, shape in _SHAPES.items()
}
# Charts are laid out by the widths of Arial, which the next ones share; the last is hardly wider.
FONT = "Arial, 'Liberation Sans', Helvetica, 'Nimbus Sans', 'DejaVu Sans Condensed', sans-serif"
NARROW, WIDE = 340, 720


def themed(chart: Any, *, width: int, height: int, title: str | None, offset: int = 8) -> Any:
    """Return the chart in the house style, `width` pixels wide with its axes, its title `offset` above it."""
    text = {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    named = {} if title is None else {"title": alt.TitleParams(title, offset=offset)}
    # All at once: every further step would copy the chart with its data.
    return chart.properties(
        width=width,
        height=height,
        background=PAPER,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        # A little room, for where another font is wider.
        padding={"left": 20, "right": 6, "top": 4, "bottom": 4},
        config=alt.Config(
            aria=False,
            axis={
                "domainColor": QUIET,
                "gridColor": GRID,
                "labelLimit": min(220, int(width * 0.42)),
                "tickColor": QUIET,
                **text,
            },
            font=FONT,
            legend={"columns": 4 if width > 480 else 2, "labelLimit": width - 40, "orient": "bottom", **text},
            title={
                "anchor": "start",
                "color": INK,
                "fontSize": 13,
                "fontWeight": 600,
                "frame": "group",
                "limit": width,
            },
            view={"stroke": None},
        ),
        **named,
    )


def verdict_scales(present: list[str]) -> dict[str, Any]:
    """Return the stroke, fill and shape of the verdicts that occur, with one legend for all three."""
    shown = [name for name in VERDICT_MARKS if name in present]
    legend = alt.Legend(title=None, symbolSize=90)
    channels = {"stroke": alt.Stroke, "fill": alt.Fill, "shape": alt.Shape}
    return {
        name: channel(
            "verdict:N",
            scale=alt.Scale(domain=shown, range=[VERDICT_MARKS[one][at] for one in shown]),
            legend=legend,
        )
        for at, (name, channel) in enumerate(channels.items())
    }
