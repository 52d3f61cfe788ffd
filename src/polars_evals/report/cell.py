"""Results and items in a notebook cell: without scripts, in the colours of the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift import Comparison, Timeline
from polars_evals.report.figures import comparison_figures, result_figures, table_of, timeline_figures
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.numbers import middle_cut, number_of
from polars_evals.report.page import asset, items_page
from polars_evals.report.sentences import sentence, story, worst_items
from polars_evals.report.tables import SIGNS, tables_of
from polars_evals.wording import clean, counted, line, reveal

if TYPE_CHECKING:
    from polars_evals.drift.result import Result

# Rows of a table, items, characters of a text, and bytes of a frame of items.
ROWS, WORST, LONGEST, FRAME = 8, 5, 5_000, 1_500_000
NEEDED = {"candidate", "metric", "item", "baseline_score", "candidate_score"}


def cell_of(result: Result) -> str:
    """Return a result as HTML for a notebook cell: the sentence, the figures, the worst items."""
    if isinstance(result, Comparison):
        return _cell(_comparison(result))
    said = tag("p", reveal(sentence(result)), class_="sentence")
    if isinstance(result, Timeline):
        return _cell(said, timeline_figures(result, most=2))
    shown, *more = result_figures(result)
    folded = [
        tag("details", tag("summary", one.title), table_of(one, most=20)) for one in tables_of(result)[1:]
    ]
    return _cell(said, shown, more[:1], folded)


def items_cell(items: pl.LazyFrame) -> str:
    """Return the first of some items as HTML for a notebook cell."""
    rows = items.head(WORST).collect()
    if set(rows.columns) < NEEDED:
        raise pl.exceptions.ColumnNotFoundError("not items any more")
    if rows.is_empty():
        return _cell(tag("p", "There are no such items."))
    left = items.select(pl.len()).collect().item() - rows.height
    more = tag("p", f"… and {counted(left, 'row')} more.", class_="quiet") if left else None
    return _cell([_item(row) for row in rows.to_dicts()], more)


def items_frame(comparison: Comparison, height: int) -> str:
    """Return the items as a frame that needs no widgets: notebooks and VS Code show it as it is."""
    document = items_page(comparison, FRAME)
    if document is None:
        return tag("p", "There are no paired items to show.")
    # The frame cannot see the notebook's theme: it is light, and turned around where the notebook is dark.
    hint = "The items are shown where the notebook is trusted; to_html(path) writes them as a page."
    return tag(
        "div",
        tag("style", Html(asset("cell.css"))),
        tag("p", hint, class_="said"),
        tag(
            "iframe", srcdoc=document, sandbox="allow-scripts allow-downloads", width="100%", height=height,
            title="items of the comparison", class_="polars-evals-frame",
        ),
        class_="polars-evals-items",
    )  # fmt: skip


def _cell(*content: Any) -> str:
    return tag("div", tag("style", Html(asset("common.css", "cell.css"))), content, class_="polars-evals")


def _comparison(comparison: Comparison) -> Html:
    found = story(comparison)
    signs = [tag("span", SIGNS[claim.verdict], class_=claim.verdict) for claim in found.claims]
    hint = "All items: comparison.items, or with filters comparison.show_items()."
    items = [_item(row) for row in worst_items(comparison)]
    if items:
        items = [tag("p", tag("b", "Worst items")), *items, tag("p", hint, class_="quiet")]
    return join(
        tag("p", reveal(found.title), class_="sentence"),
        (
            tag("p", sign, " ", reveal(claim.text), class_="claim")
            for sign, claim in zip(signs, found.claims, strict=True)
        ),
        tag("p", " ".join(found.rest)) if found.rest else None,
        comparison_figures(comparison, found, most=ROWS)[:2],
        items,
    )


def _item(row: dict[str, Any]) -> Html:
    numbers = f"{number_of(row.get('baseline_score'))} → {number_of(row.get('candidate_score'))}"
    who = middle_cut(reveal(str(row.get("candidate") or "candidate")), 40)
    blocks = (
        ("input", "input"), ("expected", "expected"), ("baseline", "baseline_output"),
        (who, "candidate_output"),
    )  # fmt: skip
    shown = [
        tag("div", tag("div", name, class_="name"), tag("div", _text(row[key]), class_="text", dir="auto"))
        for name, key in blocks
        if row.get(key) is not None
    ]
    scores = f" · {who} · {line(reveal(str(row.get('metric'))), 60)} {numbers}"
    name = tag("b", line(reveal(str(row.get("item"))), 90))
    return tag("details", tag("summary", name, scores), tag("div", shown, class_="texts"))


def _text(value: Any) -> str:
    return clean(reveal("\n".join(map(str, value)) if isinstance(value, list) else str(value)), LONGEST)
