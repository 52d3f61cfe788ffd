"""Gates: conditions that fail a run. A kind is one class; importing it makes it known."""

from polars_evals.jobs.gates._base import (
    FAILED,
    SKIPPED,
    Context,
    Findings,
    Gate,
    GateInput,
    GateResult,
    failed,
    judge_all,
    read_gate,
    require_metric,
)
from polars_evals.jobs.gates._kinds import (
    FailOn,
    MinPassRate,
    NotWorseThan,
    nothing_compared,
    unknown_items,
)

__all__ = [
    "FAILED",
    "SKIPPED",
    "Context",
    "FailOn",
    "Findings",
    "Gate",
    "GateInput",
    "GateResult",
    "MinPassRate",
    "NotWorseThan",
    "failed",
    "judge_all",
    "nothing_compared",
    "read_gate",
    "require_metric",
    "unknown_items",
]
