"""Score what language models say, and catch regressions between model versions, as Polars expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_evals._version import __version__

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

_DRIFT = {"Calibration", "Comparison", "Timeline", "against_baseline", "calibrate", "compare", "timeline"}


def __getattr__(name: str) -> Any:
    # Statistics cost an import of NumPy and SciPy, which scoring does not need.
    if name in _DRIFT:
        from polars_evals import drift

        return getattr(drift, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
