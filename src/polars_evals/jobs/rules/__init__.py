"""Gates: conditions that fail a run, each with a line that says what to look at. A kind is one class."""

from collections.abc import Iterable

from polars_evals.jobs.rules.base import (
    FAILED,
    Context,
    Evidence,
    Findings,
    Gate,
    GateResult,
    read_gate,
    require_metric,
)
from polars_evals.jobs.rules.items import MustNotFlip, unknown_items
from polars_evals.jobs.rules.measures import MaxErrorRate, MaxMean, MaxQuantile, MinAnswered
from polars_evals.jobs.rules.rates import MinPassRate
from polars_evals.jobs.rules.timelines import OverTime
from polars_evals.jobs.rules.verdicts import FailOn, NotWorseThan

__all__ = [
    "FAILED",
    "Context",
    "Evidence",
    "FailOn",
    "Findings",
    "Gate",
    "GateResult",
    "MaxErrorRate",
    "MaxMean",
    "MaxQuantile",
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


def judge_all(seen: Evidence) -> list[GateResult]:
    """Judge every gate."""
    return [gate.result(seen) for gate in seen.gates]


def failed(results: Iterable[GateResult]) -> bool:
    """Whether any gate failed."""
    return any(result.status == FAILED for result in results)
