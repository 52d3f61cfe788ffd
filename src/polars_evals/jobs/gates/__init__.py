"""Gates: conditions that fail a run. A kind is one class; importing it makes it known."""

from polars_evals.jobs.gates.base import (
    FAILED,
    SKIPPED,
    Context,
    Evidence,
    Findings,
    Gate,
    GateResult,
    failed,
    judge_all,
    read_gate,
    require_metric,
)
from polars_evals.jobs.gates.comparison import (
    FailOn,
    MaxDrop,
    MaxNewlyFailing,
    MaxRelativeDrop,
    MustNotFlip,
    NotWorseThan,
    OverTime,
    unknown_items,
)
from polars_evals.jobs.gates.rows import MaxErrorRate, MaxMean, MaxQuantile, MinAnswered, MinPassRate

__all__ = [
    "FAILED",
    "SKIPPED",
    "Context",
    "Evidence",
    "FailOn",
    "Findings",
    "Gate",
    "GateResult",
    "MaxDrop",
    "MaxErrorRate",
    "MaxMean",
    "MaxNewlyFailing",
    "MaxQuantile",
    "MaxRelativeDrop",
    "MinAnswered",
    "MinPassRate",
    "MustNotFlip",
    "NotWorseThan",
    "OverTime",
    "failed",
    "judge_all",
    "read_gate",
    "require_metric",
    "unknown_items",
]
