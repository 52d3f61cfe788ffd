"""Say and draw what was computed: sentences, tables, Markdown, JUnit, charts, and a page."""

from __future__ import annotations

from typing import Any

from polars_evals.report.cell import cell_of, items_cell, items_frame
from polars_evals.report.junit import junit
from polars_evals.report.markdown import markdown
from polars_evals.report.page import page_of
from polars_evals.report.sentences import sentence
from polars_evals.report.terminal import explain, short, text


def plots_of(result: Any) -> Any:
    """Return the charts of a result; they need the extra `plot`."""
    from polars_evals.report.charts import plots_of as charts_of

    return charts_of(result)


__all__ = [
    "cell_of",
    "explain",
    "items_cell",
    "items_frame",
    "junit",
    "markdown",
    "page_of",
    "plots_of",
    "sentence",
    "short",
    "text",
]
