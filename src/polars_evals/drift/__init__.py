"""Verdicts between model versions, over time and by slice, and thresholds that agree with people."""

from polars_evals.drift.compare import compare
from polars_evals.drift.comparison import Comparison

__all__ = ["Comparison", "compare"]
