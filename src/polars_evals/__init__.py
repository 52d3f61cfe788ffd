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

from __future__ import annotations

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

__all__ = [
    "Calibration",
    "Comparison",
    "Timeline",
    "__version__",
    "against_baseline",
    "calibrate",
    "compare",
    "timeline",
]
__all__ += metrics.__all__

_DRIFT = {"Calibration", "Comparison", "Timeline", "against_baseline", "calibrate", "compare", "timeline"}


def __getattr__(name: str) -> Any:
    # Statistics cost an import of NumPy and SciPy, which scoring does not need.
    if name in _DRIFT:
        from polars_evals import drift

        return getattr(drift, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
