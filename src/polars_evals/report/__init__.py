"""Draw what was computed: Altair charts, and one page that opens offline."""

from importlib.util import find_spec

_NEEDED = {"altair": "altair", "vl_convert": "vl-convert-python"}
if _missing := [package for module, package in _NEEDED.items() if find_spec(module) is None]:
    raise ImportError(
        f"charts and report pages need {' and '.join(_missing)}: pip install 'polars-evals[report]'"
    )

from polars_evals.report.page import comparison_page, page  # noqa: E402
from polars_evals.report.plots import CalibrationPlots, ComparisonPlots, TimelinePlots  # noqa: E402

__all__ = ["CalibrationPlots", "ComparisonPlots", "TimelinePlots", "comparison_page", "page"]
