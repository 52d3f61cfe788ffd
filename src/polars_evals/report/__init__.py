"""Say and draw what was computed: sentences, tables, Markdown, JUnit, charts, and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_evals.report.junit import junit
from polars_evals.report.markdown import markdown
from polars_evals.report.sentences import sentence
from polars_evals.report.terminal import explain, short, text

if TYPE_CHECKING:
    from polars_evals.report.plots import CalibrationPlots, ComparisonPlots, TimelinePlots
    from polars_evals.report.question_plots import AgreementPlots, RankingPlots, RunsPlots, SamplePlanPlots


def page_of(result: Any, **options: Any) -> str:
    """Return a result as a page that opens offline."""
    from polars_evals.report import page

    return page.page_of(result, **options)


def cell_of(result: Any) -> str:
    """Return a result for a notebook cell."""
    from polars_evals.report import cell

    return cell.cell_of(result)


def items_cell(items: Any) -> str:
    """Return items for a notebook cell."""
    from polars_evals.report import cell

    return cell.items_cell(items)


def items_frame(result: Any, height: int) -> str:
    """Return the items of a comparison as a frame."""
    from polars_evals.report import notebook

    return notebook.items_frame(result, height)


def plots_of(result: Any) -> Any:
    """Return the charts of a result."""
    from polars_evals.report import plots

    return plots.plots_of(result)


__all__ = [
    "AgreementPlots",
    "CalibrationPlots",
    "ComparisonPlots",
    "RankingPlots",
    "RunsPlots",
    "SamplePlanPlots",
    "TimelinePlots",
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
