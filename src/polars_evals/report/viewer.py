"""The items in a page: a table that the page's script fills, and the first of them for where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_evals.report.evidence import BUDGET, LONGEST, evidence
from polars_evals.report.markup import Html, join, tag
from polars_evals.wording import change, counted, line

if TYPE_CHECKING:
    from polars_evals.drift import Comparison
    from polars_evals.report.evidence import Evidence


def items(comparison: Comparison, budget: int = BUDGET) -> Html | None:
    """Return the items with their texts, or None where there are none to show."""
    found = evidence(comparison, budget)
    if found is None:
        return None
    return join(
        tag("p", _chosen(comparison, found), " Keys: j and k move, enter opens, / searches."),
        tag("div", id="items-viewer", hidden=True),
        tag("noscript", _static(comparison, found)),
        tag("template", found.packed, id="items-data"),
    )


def _chosen(comparison: Comparison, found: Evidence) -> str:
    """Say which items are here."""
    cut = f"texts are cut after {LONGEST:,} characters"
    what = "items whose label changed" if comparison.table is None else "paired items"
    if found.shown == found.total:
        return f"All {found.total:,} {what} are here, with their scores and answers; {cut}."
    return (
        f"{found.shown:,} of {found.total:,} {what} are here, as many as fit: of every verdict the greatest "
        f"losses and the greatest gains, in the proportion in which they occur, then others; {cut}."
    )


def _static(comparison: Comparison, found: Evidence) -> Html:
    """Return the first items as they are."""
    versions, metrics = comparison.spec.versions, comparison.spec.names
    return join(
        tag("p", f"Without scripts, these are the first {counted(len(found.worst), 'item')}."),
        (_item(one, versions, metrics) for one in found.worst),
    )


def _item(one: list[Any], versions: list[str], metrics: tuple[str, ...]) -> Html:
    name, slices, scores, _, asked, expected, answers = one
    blocks = [("input", asked), ("expected", expected)]
    blocks += [
        (version, answer) for version, answer in zip(versions, answers, strict=True) if answer is not None
    ]
    told = ", ".join(
        f"{line(metric, 60)} {change(values[0], _lowest(values[1:]), '.2f')}"
        for metric, values in zip(metrics, scores, strict=True)
    )
    return join(
        tag("h3", line(name, 120)),
        tag("p", " · ".join(filter(None, (*slices, told)))),
        tag(
            "div",
            (
                tag(
                    "div",
                    tag("h4", line(title, 60)),
                    tag("div", text, class_="text", dir="auto"),
                    class_="block",
                )
                for title, text in blocks
                if text is not None
            ),
            class_="texts",
        ),
    )


def _lowest(values: list[float | None]) -> float | None:
    return min((one for one in values if one is not None), default=None)
