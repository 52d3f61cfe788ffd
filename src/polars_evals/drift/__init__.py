"""Verdicts between model versions, over time and by slice, and thresholds that agree with people."""

from polars_evals.drift.agreement import Agreement, agreement
from polars_evals.drift.baseline import against_baseline
from polars_evals.drift.calibrate import Calibration, calibrate
from polars_evals.drift.compare import compare, compare_spec
from polars_evals.drift.comparison import Comparison
from polars_evals.drift.labels import read_labels, sample_items
from polars_evals.drift.plan import SamplePlan, plan
from polars_evals.drift.rank import Ranking, rank
from polars_evals.drift.runs import Runs, runs
from polars_evals.drift.spec import ComparisonSpec
from polars_evals.drift.timeline import Timeline, timeline

__all__ = [
    "Agreement",
    "Calibration",
    "Comparison",
    "ComparisonSpec",
    "Ranking",
    "Runs",
    "SamplePlan",
    "Timeline",
    "against_baseline",
    "agreement",
    "calibrate",
    "compare",
    "compare_spec",
    "plan",
    "rank",
    "read_labels",
    "runs",
    "sample_items",
    "timeline",
]
