"""Links within a page: to sections, and to the items that match."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from polars_evals.report.evidence import shown
from polars_evals.report.markup import Html, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift import Comparison
    from polars_evals.report.claims import Claim
    from polars_evals.report.markup import Child


def items_link(
    comparison: Comparison,
    text: Child,
    *,
    version: str | None = None,
    slice_: str | None = None,
    metric: str | None = None,
    best: bool = False,
) -> Html:
    """Return a link to the items of a version, slice and metric, if there are; `best` shows gains first."""
    if comparison.spec.item is None or not any(comparison.summary["n"]):
        return join(text)
    chosen = {"slice": slice_, "metric": metric, "version": version}
    asked = {key: shown(value) for key, value in chosen.items() if value is not None}
    if best:
        asked["order"] = "best"
    return tag("a", text, href=f"#items?{urlencode(asked)}" if asked else "#items")


def claim_link(comparison: Comparison, claim: Claim) -> Html:
    """Return a claim as a link to what it rests on: its items, or its candidate among several."""
    candidates = comparison.spec.candidates
    several = len(candidates) > 1
    if several and len(claim.candidates) == 1:
        return tag("a", claim.text, href=f"#{candidate_id(candidates, claim.candidates[0])}")
    if several:
        return tag("a", claim.text, href="#leaderboard")
    return items_link(
        comparison,
        claim.text,
        slice_=claim.slice,
        metric=claim.metrics[0] if len(claim.metrics) == 1 else None,
        best=claim.verdict == "improved",
    )


def candidate_id(candidates: Sequence[str], name: str) -> str:
    """Return the id of a candidate's part of the page."""
    return f"candidate-{list(candidates).index(name) + 1}"
