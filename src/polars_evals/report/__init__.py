"""Draw what was computed: Altair charts, and one page that opens offline."""

from importlib.util import find_spec

_NEEDED = {"altair": "altair", "vl_convert": "vl-convert-python"}
if _missing := [package for module, package in _NEEDED.items() if find_spec(module) is None]:
    raise ImportError(
        f"charts and report pages need {' and '.join(_missing)}: pip install 'polars-evals[report]'"
    )

from polars_evals.report.cell import cell_of, items_cell  # noqa: E402
from polars_evals.report.notebook import items_frame  # noqa: E402
from polars_evals.report.page import page_of  # noqa: E402
from polars_evals.report.plots import CalibrationPlots, ComparisonPlots, TimelinePlots, plots_of  # noqa: E402
from polars_evals.report.question_plots import (  # noqa: E402
    AgreementPlots,
    RankingPlots,
    RunsPlots,
    SamplePlanPlots,
)

__all__ = [
    "AgreementPlots",
    "CalibrationPlots",
    "ComparisonPlots",
    "RankingPlots",
    "RunsPlots",
    "SamplePlanPlots",
    "TimelinePlots",
    "cell_of",
    "items_cell",
    "items_frame",
    "page_of",
    "plots_of",
]
