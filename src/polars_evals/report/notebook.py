"""The items of a comparison in a notebook cell: a frame without widgets that runs only its own script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_evals.report import viewer
from polars_evals.report.evidence import NOTEBOOK_BUDGET
from polars_evals.report.markup import Html, tag
from polars_evals.report.page import STYLES, asset, policy

if TYPE_CHECKING:
    from polars_evals.drift import Comparison


def items_frame(comparison: Comparison, height: int) -> str:
    """Return the items as a frame that needs no widgets: notebooks and VS Code show it as it is."""
    content = viewer.items(comparison, NOTEBOOK_BUDGET)
    if content is None:
        return tag("p", "There are no paired items to show.")
    style, script = asset(*STYLES), asset("texts.js", "items.js")
    document = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
            tag("style", Html(style)),
        ),
        tag("body", content, tag("script", Html(script))),
        lang="en",
    )
    return tag(
        "iframe",
        srcdoc=f"<!DOCTYPE html>{document}",
        sandbox="allow-scripts",
        title="items of the comparison",
        style=f"border:0;height:{height}px;width:100%",
    )
