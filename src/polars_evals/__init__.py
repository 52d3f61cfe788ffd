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
from typing import TYPE_CHECKING, Any

from polars_evals import metrics
from polars_evals import namespace as namespace
from polars_evals._version import __version__
from polars_evals.metrics import *  # noqa: F403

if TYPE_CHECKING:
    from polars_evals.drift import (
        Calibration,
        Comparison,
        Timeline,
        against_baseline,
        calibrate,
        compare,
        timeline,
    )
    from polars_evals.suite import Metric, Suite, signatures
    from polars_evals.traces import (
        check_traces,
        conversations,
        detect_traces,
        scan_traces,
        unmatched_items,
        with_expected,
    )

__all__ = [
    "Calibration",
    "Comparison",
    "Metric",
    "Suite",
    "Timeline",
    "__version__",
    "against_baseline",
    "calibrate",
    "check_traces",
    "compare",
    "conversations",
    "detect_traces",
    "scan_traces",
    "signatures",
    "timeline",
    "unmatched_items",
    "with_expected",
]
__all__ += metrics.__all__

# Imported when first used, so that `import polars_evals` costs little more than `import polars`.
_LATER = {
    "Calibration": "drift",
    "Comparison": "drift",
    "Metric": "suite",
    "Suite": "suite",
    "Timeline": "drift",
    "against_baseline": "drift",
    "calibrate": "drift",
    "check_traces": "traces",
    "compare": "drift",
    "conversations": "traces",
    "detect_traces": "traces",
    "scan_traces": "traces",
    "signatures": "suite",
    "timeline": "drift",
    "unmatched_items": "traces",
    "with_expected": "traces",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
