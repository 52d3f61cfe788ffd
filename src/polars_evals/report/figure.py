"""A chart in the page: drawn for wide screens and paper, drawn again for phones, named for screen readers."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from polars_evals.report.markup import Html, tag
from polars_evals.report.svg import svg
from polars_evals.report.theme import NARROW, WIDE

if TYPE_CHECKING:
    from collections.abc import Callable


def figure(
    draw: Callable[..., Any],
    *,
    label: str,
    caption: str | None = None,
    numbers: Html | None = None,
    panel: bool = False,
    name: str | None = None,
) -> Html:
    """
    Return a chart as a figure.

    Parameters
    ----------
    draw
        Makes the chart for a `width` in pixels.
    label
        What the picture shows, for those who cannot see it.
    caption
        How to read it, for all.
    numbers
        A table of what is drawn, folded away.
    panel
        One of several charts side by side, drawn small once instead of in two sizes.
    name
        What links lead to.
    """
    prefix = f"c{sha256(label.encode('utf-8', 'replace')).hexdigest()[:8]}"
    if panel:
        drawn = [tag("div", svg(draw(width=NARROW), label=label, prefix=prefix), class_="chart")]
    else:
        drawn = [
            tag("div", svg(draw(width=width), label=label, prefix=f"{prefix}{width}"), class_=f"chart {size}")
            for size, width in (("large", WIDE), ("small", NARROW))
        ]
    folded = None if numbers is None else tag("details", tag("summary", "numbers"), numbers)
    return tag("figure", drawn, None if caption is None else tag("figcaption", caption), folded, id=name)
