"""
The door to words, charts and pages: results ask here, and do not know who writes and draws.

`polars_evals` names who does when it is imported, so that drift can offer `str`, `plot` and `to_html` without
importing the layer above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Drawing(Protocol):
    """What results are shown with."""

    def sentence(self, result: Any) -> str:
        """Return what a result found in a sentence."""

    def text(self, result: Any) -> str:
        """Return a result for a terminal."""

    def short(self, result: Any) -> str:
        """Return a result in a few lines."""

    def explain(self, result: Any) -> str:
        """Return every row of a result with its reason."""

    def markdown(self, result: Any, page: str | None = None) -> str:
        """Return a result as Markdown."""

    def junit(self, result: Any) -> str:
        """Return a comparison as JUnit XML."""

    def page_of(self, result: Any, **options: Any) -> str:
        """Return a result as a page that opens offline."""

    def cell_of(self, result: Any) -> str:
        """Return a result as HTML for a notebook cell."""

    def items_cell(self, items: Any) -> str:
        """Return the first of some items as HTML for a notebook cell."""

    def items_frame(self, result: Any, height: int) -> str:
        """Return the items of a comparison as a frame for a notebook."""

    def plots_of(self, result: Any) -> Any:
        """Return the charts of a result."""


_open: list[Callable[[], Drawing]] = []


def draw_with(opened: Callable[[], Drawing]) -> None:
    """Name what gives the drawing; it is called when something is drawn."""
    _open[:] = [opened]


def drawing() -> Drawing:
    """Return what draws."""
    return _open[0]()
