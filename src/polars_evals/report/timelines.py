"""The part of a page that follows scores over time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.report.claims import changes as claims
from polars_evals.report.figure import figure
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.page_tables import Cell, number, table, verdict
from polars_evals.report.sections import MOST_ROWS, Section, more, sentence_of
from polars_evals.wording import change, line

if TYPE_CHECKING:
    from polars_evals.drift import Timeline
    from polars_evals.report.claims import Claim

# Claims of the sentence, series that are drawn, and windows of each that are also written out.
MOST_CLAIMS, MOST_SERIES, MOST_WINDOWS = 4, 6, 100

METHOD = (
    "The reference period sets the mean and how much windows vary. An always-valid test, which may be looked "
    "at again and again, finds when a level changed. The verdict is about now; earlier levels are "
    "history."
)


def lede(timeline: Timeline, *, linked: bool = True) -> Html:
    """Return what moved in a sentence whose claims may lead to their charts."""
    found = claims(timeline)
    places = {_key(row): f"#{_place(at)}" for at, row in enumerate(drawn(timeline))}

    def shown(claim: Claim) -> Html:
        if not linked:
            return join(claim.text)
        key = (claim.metrics[0], claim.candidates[0] if claim.candidates else None, claim.slice)
        return tag("a", claim.text, href=places.get(key, "#timeline"))

    if found:
        more_of = len(found) - MOST_CLAIMS
        said = join(
            sentence_of(found[:MOST_CLAIMS], shown),
            f"; {more_of:,} more series moved" if more_of > 0 else "",
        )
    else:
        told = "inconclusive" in timeline.summary["verdict"].cast(pl.String)
        said = join("no change can be told from noise" if told else "nothing changed")
    return tag("p", said, ".", class_="sentence")


def drawn(timeline: Timeline) -> list[dict[str, Any]]:
    """Return the series that are drawn, those that moved most first."""
    changes = _ordered(timeline)
    moved = changes.filter(
        pl.col("verdict").is_in(["regressed", "improved"]) | pl.col("detected").is_not_null()
    )
    return (moved if moved.height else changes.head(1)).head(MOST_SERIES).rows(named=True)


def _ordered(timeline: Timeline) -> pl.DataFrame:
    return timeline.summary.sort("verdict", "q_value", "difference", maintain_order=True, nulls_last=True)


def _key(row: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return row["metric"], row["version"], row["slice"]


def _place(at: int) -> str:
    return f"series-{at}"


def timeline_section(timeline: Timeline) -> Section:
    """Return the series that changed most, and the numbers of all."""
    changes = _ordered(timeline)
    figures = []
    for at, row in enumerate(drawn(timeline)):
        name = name_of(row)
        figures.append(
            figure(
                partial(timeline.plot.scores, row["metric"], version=row["version"], slice=row["slice"]),
                label=f"Mean {name} over time: {row['verdict']}, {line(row['reason'])}",
                caption=f"{row['verdict'].replace('_', ' ')}: {line(row['reason'])}.",
                numbers=_windows(timeline, row, name),
                name=_place(at),
            )
        )
    heads = ["series", "verdict", "n", "score", "difference", "began", "detected", "q"]
    rows = [
        (
            name_of(row),
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


def name_of(row: dict[str, Any]) -> str:
    """Return what a series is called."""
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
