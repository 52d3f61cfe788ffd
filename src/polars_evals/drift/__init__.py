"""Verdicts between model versions, over time and by slice, and thresholds that agree with people."""

from polars_evals.drift.baseline import against_baseline
from polars_evals.drift.calibrate import Calibration, calibrate
from polars_evals.drift.compare import compare
from polars_evals.drift.comparison import Comparison
from polars_evals.drift.timeline import Timeline, timeline

__all__ = [
    "Calibration",
    "Comparison",
    "Timeline",
    "against_baseline",
    "calibrate",
    "compare",
    "timeline",
]
