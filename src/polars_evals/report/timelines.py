"""The part of a page that follows scores over time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.verdict import VERDICTS
from polars_evals.report.figure import figure
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.sections import MOST_ROWS, Section, more
from polars_evals.report.tables import Cell, number, table, verdict
from polars_evals.wording import change, line

if TYPE_CHECKING:
    from polars_evals.drift import Timeline

# Series that are drawn, and windows of each that are also written out.
MOST_SERIES, MOST_WINDOWS = 6, 100

METHOD = (
    "The reference period sets the mean and how much windows vary. An always-valid test, which may be looked "
    "at again and again, finds when a level changed. The verdict is about now; earlier levels are "
    "history."
)


def timeline_section(timeline: Timeline) -> Section:
    """Return the series that changed most, and the numbers of all."""
    changes = timeline.changes.sort("verdict", "q_value", "difference", maintain_order=True, nulls_last=True)
    moved = changes.filter(
        pl.col("verdict").is_in(["regressed", "improved"]) | pl.col("detected").is_not_null()
    )
    drawn = moved if moved.height else changes.head(1)
    figures = []
    for row in drawn.head(MOST_SERIES).iter_rows(named=True):
        name = _name(row)
        figures.append(
            figure(
                partial(timeline.plot.scores, row["metric"], version=row["version"], slice=row["slice"]),
                label=f"Mean {name} over time: {row['verdict']}, {line(row['reason'])}",
                caption=f"{row['verdict'].replace('_', ' ')}: {line(row['reason'])}.",
                numbers=_windows(timeline, row, name),
            )
        )
    heads = ["series", "verdict", "n", "score", "difference", "began", "detected", "q"]
    rows = [
        (
            _name(row),
            Cell(verdict(row["verdict"]), VERDICTS.index(row["verdict"]), wide=True),
            row["n"],
            Cell(change(row["reference_mean"], row["current_mean"], ".3f"), row["current_mean"]),
            number(row["difference"], "+.3f"),
            row["began"],
            row["detected"],
            number(row["q_value"], ".2g"),
        )
        for row in changes.head(MOST_ROWS).iter_rows(named=True)
    ]
    intro = tag(
        "p",
        f"Windows of {line(timeline.settings['every'], 20)} with their intervals. The grey period is the "
        "reference; the dashed lines are its control limits, and windows outside of them are triangles.",
    )
    content = join(
        intro,
        figures,
        more(changes.height, len(figures)),
        table("Changes of all series, worst verdict first", heads, rows, total=changes.height),
    )
    return Section("timeline", "Over time", content)


def _name(row: dict[str, Any]) -> str:
    return line(" · ".join(filter(None, (row["metric"], row["version"], row["slice"]))), 120)


def _windows(timeline: Timeline, row: dict[str, Any], name: str) -> Html:
    same = (
        pl.col(key).eq_missing(pl.lit(row[key], dtype=pl.String)) for key in ("metric", "version", "slice")
    )
    frame = timeline.windows.filter(*same)
    rows = [
        (
            one["window"],
            one["n"],
            number(one["mean"], ".3f"),
            Cell(
                "–" if one["ci_low"] is None else f"{one['ci_low']:.3f} to {one['ci_high']:.3f}",
                one["ci_low"],
            ),
            _span(one["limit_low"], one["limit_high"]),
            one["outside"],
        )
        for one in frame.tail(MOST_WINDOWS).iter_rows(named=True)
    ]
    heads = ["window", "n", "mean", "interval", "limits", "outside"]
    return table(f"Windows of {name}", heads, rows, total=frame.height)


def _span(low: float | None, high: float | None) -> Cell:
    return Cell("–" if low is None else f"{low:.3f} to {high:.3f}", low)
