"""Laws of the gates of a job that runs every day: the comparison and the rule of the job file, day by day."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_evals.drift import ComparisonSpec, compare_spec
from polars_evals.drift.inference.sequential import sequential_p
from polars_evals.jobs.gates import Evidence, FailOn, NotWorseThan

from . import ALPHA, Floats, Rng, group
from .comparing import unchanged

if TYPE_CHECKING:
    from polars_evals.jobs.gates import Gate

GATES, add = group("Gates of a job, asked every day")
DAYS, ITEMS, TOPICS, MARGIN = 60, 10, 3, 0.05
SPEC = ComparisonSpec(version="model", baseline="a", item="item", by=["topic"], min_effect=0.0, alpha=ALPHA)


def stored(before: Floats, after: Floats) -> pl.DataFrame:
    """Make the rows of a store: the items of all days so far, in both versions."""
    item = np.arange(len(before))
    sides = {"a": before, "b": after}
    return pl.concat(
        pl.DataFrame({"model": model, "item": item, "topic": item % TOPICS, "m_score": scores}).with_columns(
            m_label=pl.when(pl.col("m_score") >= 0.6).then(pl.lit("pass")).otherwise(pl.lit("fail"))
        )
        for model, scores in sides.items()
    )


def status(gate: Gate, before: Floats, after: Floats, spec: ComparisonSpec = SPEC) -> str:
    """Judge a gate, as a run of the job does."""
    rows = stored(before, after).lazy()
    seen = Evidence(("m",), rows, spec, compare_spec(rows, spec), (gate,))
    return gate.result(seen).status


def telling_days(difference: Floats, level: float, topics: int = TOPICS) -> list[int]:
    """Give the numbers of items on days on which a gate can speak: no correction makes a p-value smaller."""
    looks = np.arange(ITEMS, DAYS * ITEMS + 1, ITEMS)
    every = np.arange(len(difference))
    p = []
    for places in (every, *(every[topic::topics] for topic in range(topics))):
        count = np.searchsorted(places, looks).astype(float)
        at = count.astype(int) - 1
        sums, squares = difference[places].cumsum()[at], (difference[places] ** 2).cumsum()[at]
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(np.maximum(squares - sums**2 / count, 0) / (count - 1) / count)
            t = np.nan_to_num(sums / count / error, posinf=99, neginf=-99)
        p.append(sequential_p(t, count - 1, count))
    return [int(n) for n in looks[np.min(p, axis=0) <= level]]


def ever_fails(rng: Rng, sets: int, kind: str) -> float:
    """Ask `fail_on = "regressed"`, over the whole and three topics, on each of 60 days."""
    gate = FailOn(fail_on=("regressed",))
    before, after = unchanged(rng, sets, DAYS * ITEMS, kind)
    return float(
        np.mean(
            [
                any(status(gate, a[:n], b[:n]) == "failed" for n in telling_days(b - a, 1.5 * ALPHA))
                for a, b in zip(before, after, strict=True)
            ]
        )
    )


def ever_passes(rng: Rng, sets: int) -> float:
    """Ask `not_worse_than`, over the whole, of a candidate that is worse by the margin."""
    gate, whole = NotWorseThan(not_worse_than=MARGIN), replace(SPEC, by=None)
    before = rng.uniform(0.3, 0.9, (sets, DAYS * ITEMS))
    after = before - MARGIN + rng.normal(0, 0.1, before.shape)
    return float(
        np.mean(
            [
                any(
                    status(gate, a[:n], b[:n], whole) == "passed"
                    for n in telling_days(b - a + MARGIN, 2.5 * ALPHA, topics=0)
                )
                for a, b in zip(before, after, strict=True)
            ]
        )
    )


def found(rng: Rng, sets: int) -> float:
    """Ask on the last day, of a candidate that fails 8 points more often."""
    gate = FailOn(fail_on=("regressed",))
    share = rng.random((sets, DAYS * ITEMS))
    before, after = np.where(share < 0.02, 0.0, 1.0), np.where(share > 0.9, 0.0, 1.0)
    return float(np.mean([status(gate, a, b) == "failed" for a, b in zip(before, after, strict=True)]))


add("60 days, pass and fail: `fail_on` ever fails", ever_fails, high=ALPHA, kind="binary")
add("60 days, scores: `fail_on` ever fails", ever_fails, high=ALPHA, kind="score")
add("60 days, 3% fail: `fail_on` ever fails", ever_fails, high=ALPHA, kind="rare")
add("60 days, worse by the margin: `not_worse_than` ever passes", ever_passes, high=ALPHA)
add("a loss of 8 points fails `fail_on` by day 60 (600 items)", found, low=0.9)

LAWS = GATES
