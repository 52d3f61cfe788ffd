"""A result in a notebook cell: the sentence, a chart, the numbers and the worst items, without any script."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift import Calibration, Comparison, Timeline
from polars_evals.report import timelines
from polars_evals.report.claims import claims
from polars_evals.report.drawn_rows import evidence_rows
from polars_evals.report.leaderboard import leaderboard
from polars_evals.report.markup import Html, join, reveal, tag
from polars_evals.report.page import asset
from polars_evals.report.page_tables import old_tables, table, verdict
from polars_evals.report.questions import drawn
from polars_evals.report.sections import sentence_of
from polars_evals.report.svg import svg
from polars_evals.report.theme import WIDE
from polars_evals.wording import change, clean, counted, line

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_evals.drift.result import Result

# Items, characters of a text, and charts of a cell.
WORST, LONGEST, CHARTS = 5, 1_500, 3
NEEDED = {"item", "metric", "baseline_output", "candidate_output"}


def cell_of(result: Result) -> str:
    """Return a result as HTML for a notebook, light and dark, with nothing in it that runs or loads."""
    badge = join(verdict(result.badge), " · ") if result.badge else None
    title = line(result.headline).removeprefix(f"{result.badge}: ")
    if isinstance(result, Comparison):
        content = _comparison(result)
    elif isinstance(result, Timeline):
        shown = [
            (timelines.name_of(row), _scores(result, row)) for row in timelines.drawn(result)[: CHARTS - 1]
        ]
        content = join(timelines.lede(result, linked=False), _charts(shown), _tables(result))
    elif isinstance(result, Calibration) and result.summary.height == 1:
        content = join(_charts([("thresholds", result.plot.curve)]), _tables(result))
    else:
        content = join(_charts(drawn(result)[:CHARTS]), _tables(result, unfolded=1))
    notes = tag("ul", (tag("li", line(note)) for note in result.notes[:20])) if result.notes else None
    return _cell(tag("p", badge, tag("b", title)), content, notes)


def items_cell(items: pl.LazyFrame) -> str:
    """Return the first of some paired items, each to unfold: the input and the answers side by side."""
    rows = items.head(WORST).collect()
    if not set(rows.columns) >= NEEDED:
        raise pl.exceptions.ColumnNotFoundError("not items any more")
    if rows.is_empty():
        return _cell(tag("p", "There are no such items."))
    left = items.select(pl.len()).collect().item() - rows.height
    more = tag("p", f"… and {counted(left, 'row')} more.", class_="left-out") if left else None
    return _cell(_items(rows), more)


def _cell(*content: Any) -> str:
    style = tag("style", Html(asset("cell.css", "chart.css")))
    return tag("div", style, content, class_="polars-evals")


def _comparison(comparison: Comparison) -> Html:
    several = len(comparison.spec.candidates) > 1
    said = tag("p", sentence_of(claims(comparison), lambda claim: join(claim.text)), ".", class_="sentence")
    shown = leaderboard(comparison, linked=False) if several else _charts(_of_one(comparison))
    where, worst = _worst(comparison)
    items = None
    if not worst.is_empty():
        hint = "All of them: comparison.items, or with filters comparison.show_items()."
        items = join(
            tag("p", tag("b", f"Worst items{where}")), _items(worst), tag("p", hint, class_="left-out")
        )
    return join(said, shown, items, _tables(comparison))


def _of_one(comparison: Comparison) -> list[tuple[str, Callable[..., Any]]]:
    plot = comparison.plot
    shown: list[tuple[str, Callable[..., Any]]] = []
    if not evidence_rows(comparison, comparison.spec.candidates[0]).drop_nulls("difference").is_empty():
        shown.append(("Differences in mean score with their intervals", plot.evidence))
    if not comparison.measures.filter(pl.col("slice").is_null()).drop_nulls("ratio").is_empty():
        shown.append(("Changes of measures with their intervals", plot.measures))
    return shown


def _worst(comparison: Comparison) -> tuple[str, pl.DataFrame]:
    """Return items that lost, each once: of the slice that lost most, where one regressed."""
    flips = comparison.flips.unique("item", maintain_order=True)
    lost = comparison.slices.filter(pl.col("verdict") == "regressed").sort("difference")
    for row in lost.head(1).iter_rows(named=True):
        if row["by"] in flips.columns:
            value = row["slice"].removeprefix(f"{row['by']}=")
            here = flips.filter(
                pl.col("candidate") == row["candidate"], pl.col(row["by"]).cast(pl.String) == value
            )
            if not here.is_empty():
                return f" of {line(row['slice'], 60)}", here.head(WORST)
    if flips.is_empty() and comparison.table is not None and comparison.spec.item is not None:
        flips = comparison.items.head(4 * WORST).collect().unique("item", maintain_order=True)
    return "", flips.head(WORST)


def _scores(timeline: Timeline, row: dict[str, Any]) -> Callable[..., Any]:
    return partial(timeline.plot.scores, row["metric"], version=row["version"], slice=row["slice"])


def _charts(shown: list[tuple[str, Callable[..., Any]]]) -> Html:
    return join(
        tag("figure", tag("div", svg(draw(width=WIDE), label=label, prefix=f"n{at}"), class_="chart"))
        for at, (label, draw) in enumerate(shown)
    )


def _tables(result: Result, unfolded: int = 0) -> Html:
    return join(
        shown if at < unfolded else tag("details", tag("summary", one.title), shown)
        for at, one in enumerate(filter(lambda one: one.rows, old_tables(result)))
        for shown in [table(one.title, list(one.rows[0]), map(_values, one.rows), total=one.total)]
    )


def _values(row: dict[str, Any]) -> list[Any]:
    return list(row.values())


def _items(rows: pl.DataFrame) -> Html:
    return join(_item(row) for row in rows.iter_rows(named=True))


def _item(row: dict[str, Any]) -> Html:
    told = " ".join(
        filter(
            None, (row.get("metric"), change(row.get("baseline_score"), row.get("candidate_score"), ".2f"))
        )
    )
    blocks = [
        (name, row.get(key))
        for name, key in (
            ("input", "input"), ("expected", "expected"), ("baseline", "baseline_output"),
            (row.get("candidate") or "candidate", "candidate_output"),
        )
    ]  # fmt: skip
    shown = (
        tag("div", tag("div", line(name, 60), class_="name"), tag("div", text, class_="text", dir="auto"))
        for name, value in blocks
        if value is not None
        for text in [_text(value)]
    )
    return tag(
        "details",
        tag("summary", tag("b", line(str(row.get("item")), 90)), f" · {line(told, 120)}"),
        tag("div", shown, class_="texts"),
    )


def _text(value: Any) -> str:
    return clean(reveal("\n".join(map(str, value)) if isinstance(value, list) else str(value)), LONGEST)
