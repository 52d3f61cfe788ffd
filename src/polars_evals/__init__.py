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

from typing import TYPE_CHECKING

from polars_evals import clean, metrics
from polars_evals._lazy import import_lazily
from polars_evals._version import __version__
from polars_evals.clean import *  # noqa: F403
from polars_evals.metrics import *  # noqa: F403
from polars_evals.namespace import col, evals

# The public names of other packages, and where they are. They are imported when first used, so that `import
# polars_evals` costs little more than `import polars`.
_LAZY = {
    **dict.fromkeys(("Aggregate", "Measure", "Metric", "Suite", "signatures"), "suite"),
    "metric": "suite.custom",
    **dict.fromkeys(("Suggestion", "suggest"), "suite.suggest"),
    **dict.fromkeys(
        (
            *("check_traces", "conversations", "detect_traces", "scan_traces", "unmatched_items"),
            "with_expected",
        ),
        "traces",
    ),
    **dict.fromkeys(
        (
            *("Agreement", "Calibration", "Comparison", "Ranking", "Runs", "SamplePlan", "Timeline"),
            *("against_baseline", "agreement", "calibrate", "compare", "plan", "rank", "read_labels", "runs"),
            *("sample_items", "timeline"),
        ),
        "drift",
    ),
    "diff": "_diff",
}

__all__ = ["__version__", "col", "evals"]
__all__ += clean.__all__
__all__ += metrics.__all__
__all__ += list(_LAZY)

# A type checker cannot read the table: it has the names from here, and must not take any other for granted.
# From the modules: in a cycle of imports, mypy takes a function for the module that is named alike.
if TYPE_CHECKING:
    from polars_evals._diff import diff as diff
    from polars_evals.drift.agreement import Agreement as Agreement
    from polars_evals.drift.agreement import agreement as agreement
    from polars_evals.drift.baseline import against_baseline as against_baseline
    from polars_evals.drift.calibrate import Calibration as Calibration
    from polars_evals.drift.calibrate import calibrate as calibrate
    from polars_evals.drift.compare import compare as compare
    from polars_evals.drift.comparison import Comparison as Comparison
    from polars_evals.drift.labels import read_labels as read_labels
    from polars_evals.drift.labels import sample_items as sample_items
    from polars_evals.drift.plan import SamplePlan as SamplePlan
    from polars_evals.drift.plan import plan as plan
    from polars_evals.drift.rank import Ranking as Ranking
    from polars_evals.drift.rank import rank as rank
    from polars_evals.drift.runs import Runs as Runs
    from polars_evals.drift.runs import runs as runs
    from polars_evals.drift.timeline import Timeline as Timeline
    from polars_evals.drift.timeline import timeline as timeline
    from polars_evals.suite import Aggregate as Aggregate
    from polars_evals.suite import Measure as Measure
    from polars_evals.suite import Metric as Metric
    from polars_evals.suite import Suite as Suite
    from polars_evals.suite import signatures as signatures
    from polars_evals.suite.custom import metric as metric
    from polars_evals.suite.suggest import Suggestion as Suggestion
    from polars_evals.suite.suggest import suggest as suggest
    from polars_evals.traces import check_traces as check_traces
    from polars_evals.traces import conversations as conversations
    from polars_evals.traces import detect_traces as detect_traces
    from polars_evals.traces import scan_traces as scan_traces
    from polars_evals.traces import unmatched_items as unmatched_items
    from polars_evals.traces import with_expected as with_expected
else:
    __getattr__ = import_lazily(__name__, _LAZY, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
