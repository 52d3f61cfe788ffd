"""Gates: conditions that fail a run, each with a line that says what to look at. A kind is one class."""

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from polars_evals.jobs.rules.base import (
    FAILED,
    PASSED,
    Context,
    Evidence,
    Findings,
    Gate,
    GateResult,
    read_gate,
    require_metric,
    where,
)
from polars_evals.jobs.rules.drops import MaxDrop, MaxNewlyFailing, MaxRelativeDrop
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


def judge_all(seen: Evidence) -> list[GateResult]:
    """Judge every gate; one that passes names what is regressed all the same."""
    results = [gate.advised(gate.result(seen)) for gate in seen.gates]
    return [
        replace(found, lines=regressed_rows(seen, gate)) if found.status == PASSED else found
        for gate, found in zip(seen.gates, results, strict=True)
    ]


def regressed_rows(seen: Evidence, gate: Gate) -> tuple[str, ...]:
    """Name the rows of the comparison with the verdict `regressed` that a gate about candidates lets pass."""
    if seen.comparison is None or not gate.takes_metric or not gate.waits_for_candidate:
        return ()
    rows = pl.concat([seen.comparison.summary, seen.comparison.slices], how="diagonal")
    found = rows.filter(pl.col("verdict") == "regressed", pl.col("metric").is_in(gate.metrics(seen)))
    return tuple(
        where(row["metric"], None, {"version": row["candidate"], "slice": row["slice"]})
        for row in found.iter_rows(named=True)
    )


def failed(results: Iterable[GateResult]) -> bool:
    """Whether any gate failed."""
    return any(result.status == FAILED for result in results)
