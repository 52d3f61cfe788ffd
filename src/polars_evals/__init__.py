"""Score what language models say, and catch regressions between model versions, as Polars expressions.

>>> import polars as pl
>>> import polars_evals as pe
>>> df = pl.DataFrame({"output": ["Hello World!"], "expected": ["Hello World"]})
>>> df.select(pl.col("output").evals.levenshtein(pl.col("expected"))).unnest("levenshtein")
shape: (1, 2)
┌───────┬───────┐
│ score ┆ label │
│ ---   ┆ ---   │
│ f64   ┆ enum  │
╞═══════╪═══════╡
│ 0.92  ┆ pass  │
└───────┴───────┘
"""

from importlib import import_module
from typing import TYPE_CHECKING, cast

from polars_evals import clean, drawing, metrics
from polars_evals._version import __version__
from polars_evals.clean import *  # noqa: F403
from polars_evals.later import imported_later
from polars_evals.metrics import *  # noqa: F403
from polars_evals.namespace import col, evals

if TYPE_CHECKING:
    from polars_evals._diff import diff

    # From the modules: in a cycle of imports, mypy takes a function for the module that is named alike.
    from polars_evals.drift.agreement import Agreement, agreement
    from polars_evals.drift.baseline import against_baseline
    from polars_evals.drift.calibrate import Calibration, calibrate
    from polars_evals.drift.compare import compare
    from polars_evals.drift.comparison import Comparison
    from polars_evals.drift.labels import read_labels, sample_items
    from polars_evals.drift.plan import SamplePlan, plan
    from polars_evals.drift.rank import Ranking, rank
    from polars_evals.drift.runs import Runs, runs
    from polars_evals.drift.timeline import Timeline, timeline
    from polars_evals.suite import Aggregate, Measure, Metric, Suite, signatures
    from polars_evals.suite.custom import metric
    from polars_evals.suite.suggest import Suggestion, suggest
    from polars_evals.traces import (
        check_traces,
        conversations,
        detect_traces,
        scan_traces,
        unmatched_items,
        with_expected,
    )

__all__ = [
    "Aggregate",
    "Agreement",
    "Calibration",
    "Comparison",
    "Measure",
    "Metric",
    "Ranking",
    "Runs",
    "SamplePlan",
    "Suggestion",
    "Suite",
    "Timeline",
    "__version__",
    "against_baseline",
    "agreement",
    "calibrate",
    "check_traces",
    "col",
    "compare",
    "conversations",
    "detect_traces",
    "diff",
    "evals",
    "metric",
    "plan",
    "rank",
    "read_labels",
    "runs",
    "sample_items",
    "scan_traces",
    "signatures",
    "suggest",
    "timeline",
    "unmatched_items",
    "with_expected",
]
__all__ += clean.__all__
__all__ += metrics.__all__

# Results draw themselves with the report, which is imported when the first one does.
drawing.draw_with(lambda: cast("drawing.Drawing", import_module(f"{__name__}.report")))

# Imported when first used, so that `import polars_evals` costs little more than `import polars`.
_LATER = {
    "Aggregate": "suite",
    "Agreement": "drift",
    "Calibration": "drift",
    "Comparison": "drift",
    "Measure": "suite",
    "Metric": "suite",
    "Ranking": "drift",
    "Runs": "drift",
    "SamplePlan": "drift",
    "Suggestion": "suite.suggest",
    "Suite": "suite",
    "Timeline": "drift",
    "against_baseline": "drift",
    "agreement": "drift",
    "calibrate": "drift",
    "check_traces": "traces",
    "compare": "drift",
    "conversations": "traces",
    "detect_traces": "traces",
    "diff": "_diff",
    "plan": "drift",
    "rank": "drift",
    "read_labels": "drift",
    "sample_items": "drift",
    "runs": "drift",
    "metric": "suite.custom",
    "scan_traces": "traces",
    "signatures": "suite",
    "suggest": "suite.suggest",
    "timeline": "drift",
    "unmatched_items": "traces",
    "with_expected": "traces",
}


# A type checker reads the imports above, and must not take any other name for granted.
if not TYPE_CHECKING:
    __getattr__ = imported_later(__name__, _LATER, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
