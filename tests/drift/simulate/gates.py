"""Laws of the gates of a job that runs every day: the comparison and the rule of the job file, day by day."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_evals.drift import ComparisonSpec, compare_spec
from polars_evals.drift.inference.sequential import sequential_p
from polars_evals.jobs.gates import GateInput
from polars_evals.jobs.rules import FailOn, NotWorseThan

from . import ALPHA, Floats, Rng, group
from .comparing import unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.jobs.gates import Gate

GATES, add = group("Gates of a job, asked every day", sets=200)
DAYS, ITEMS, TOPICS, MARGIN = 60, 10, 3, 0.05
SPEC = ComparisonSpec(version="model", baseline="a", item="item", by=["topic"], min_effect=0.0, alpha=ALPHA)


def stored(before: Floats, after: Floats, threshold: float = 0.6) -> pl.DataFrame:
    """Make the rows of a store: the items of all days so far, in both versions; NaN is a failed call."""
    item = np.arange(len(before))
    failed, score = pl.col("m_score").is_nan(), pl.col("m_score")
    label = pl.when(score >= threshold).then(pl.lit("pass")).otherwise(pl.lit("fail"))
    return pl.concat(
        pl.DataFrame({"model": model, "item": item, "topic": item % TOPICS, "m_score": scores}).with_columns(
            error=pl.when(failed).then(pl.lit("timeout")),
            m_label=pl.when(~failed).then(label),
            m_score=pl.when(~failed).then(score),
        )
        for model, scores in (("a", before), ("b", after))
    )


def status(gate: Gate, rows: pl.DataFrame, spec: ComparisonSpec = SPEC) -> str:
    """Judge a gate, as a run of the job does."""
    seen = GateInput(("m",), rows.lazy(), spec, compare_spec(rows, spec), (gate,))
    return gate.result(seen).status


def telling_days(differences: Sequence[Floats], level: float, topics: int = TOPICS) -> list[int]:
    """Give the numbers of items on days on which a gate can speak: no correction makes a p-value smaller."""
    looks = np.arange(ITEMS, DAYS * ITEMS + 1, ITEMS)
    p = []
    for difference in differences:
        every = np.arange(len(difference))
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
    failed = 0
    for a, b in zip(before, after, strict=True):
        flips = (b >= 0.6).astype(np.float64) - (a >= 0.6)
        days = telling_days([b - a, flips], ALPHA)
        failed += any(status(gate, stored(a[:n], b[:n])) == "failed" for n in days)
    return failed / sets


def ever_passes(rng: Rng, sets: int, kind: str = "scores") -> float:
    """Ask `not_worse_than`, over the whole, of a candidate that is worse by the margin."""
    gate, whole = NotWorseThan(not_worse_than=MARGIN), replace(SPEC, by=None)
    share = rng.random((sets, DAYS * ITEMS))
    before = rng.uniform(0.65, 0.9, share.shape)
    if kind == "scores":
        after = before - MARGIN + rng.normal(0, 0.02, before.shape)
    elif kind == "rare":
        # One item in sixteen loses all that it had.
        before[:] = 0.8
        after = np.where(share < MARGIN / 0.8, 0.0, before)
    else:
        # The mean stays, and the pass rate falls by twice the margin.
        before[:] = 0.65
        after = np.where(share < 2 * MARGIN, 0.55, before + 0.1 * 2 * MARGIN / (1 - 2 * MARGIN))
    # Every fourth day is asked; a gate that passes once has erred.
    passed = 0
    for a, b in zip(before, after, strict=True):
        days = range(ITEMS, DAYS * ITEMS + 1, 4 * ITEMS)
        passed += any(status(gate, stored(a[:n], b[:n]), whole) == "passed" for n in days)
    return passed / sets


def found(rng: Rng, sets: int, kind: str) -> float:
    """Ask on the last day, of a candidate that got worse in one respect."""
    gate, n, failed = FailOn(fail_on=("regressed",)), DAYS * ITEMS, 0
    whole = replace(SPEC, by=None)
    spec = {"slow": replace(whole, measures="latency_ms"), "slice": SPEC}.get(kind, whole)
    for _ in range(sets):
        share = rng.random(n)
        if kind == "loss":
            rows = stored(np.where(share < 0.02, 0.0, 1.0), np.where(share > 0.9, 0.0, 1.0))
        elif kind == "pass rate":
            # A tenth falls below the threshold, and the others make up for it.
            before = rng.uniform(0.61, 0.8, n)
            rows = stored(before, np.where(share < 0.1, 0.55, before + (before - 0.55).mean() / 9))
        elif kind == "slice":
            # One topic loses a quarter, and the two others gain an eighth each.
            before = (share < 0.7).astype(np.float64)
            moved = np.where(np.arange(n) % TOPICS == 0, 0.45, 0.825)
            rows = stored(before, (share < moved).astype(np.float64))
        elif kind == "errors":
            before, after = (np.where(rng.random(n) < rate, np.nan, 0.8) for rate in (0.01, 0.06))
            rows = stored(before, after)
        else:
            took = np.exp(rng.normal(0, 0.3, (2, n)))
            took[1] = np.where(share < 0.1, took[1] * 3, took[1] * 0.8)
            rows = stored(np.full(n, 0.8), np.full(n, 0.8)).with_columns(latency_ms=pl.Series(took.ravel()))
        failed += status(gate, rows, spec) == "failed"
    return failed / sets


def quiet_measures(rng: Rng, sets: int) -> float:
    """Ask every fourth day about latencies, of which nothing changed."""
    gate, spec, n = (
        FailOn(fail_on=("regressed",)),
        replace(SPEC, by=None, measures="latency_ms"),
        DAYS * ITEMS,
    )
    failed = 0
    for _ in range(sets):
        took, score = np.exp(rng.normal(0, 0.6, (2, n))), np.full(n, 0.8)
        failed += any(
            status(
                gate,
                stored(score[:k], score[:k]).with_columns(latency_ms=pl.Series(took[:, :k].ravel())),
                spec,
            )
            == "failed"
            for k in range(ITEMS, n + 1, 4 * ITEMS)
        )
    return failed / sets


add("60 days, pass and fail: `fail_on` ever fails", ever_fails, high=ALPHA, kind="binary")
add("60 days, scores: `fail_on` ever fails", ever_fails, high=ALPHA, kind="score")
add("60 days, 3% fail: `fail_on` ever fails", ever_fails, high=ALPHA, kind="rare")
add("60 days, latencies: `fail_on` ever fails", quiet_measures, high=ALPHA)
add("60 days, worse by the margin: `not_worse_than` ever passes", ever_passes, high=ALPHA)
add(
    "60 days, worse by the margin, rare losses: `not_worse_than` ever passes",
    ever_passes,
    high=ALPHA,
    kind="rare",
)
add("60 days, pass rate worse by twice the margin: `not_worse_than` ever passes", ever_passes, high=ALPHA,
    kind="pass rate")  # fmt: skip
add("a loss of 8 points fails `fail_on` by day 60 (600 items)", found, low=0.9, kind="loss")
add(
    "a pass rate 10 points lower at the same mean fails `fail_on` by day 60", found, low=0.9, kind="pass rate"
)
add("errors from 1% to 6% fail `fail_on` by day 60", found, low=0.8, kind="errors")
add("a 95th percentile twice as large at about the same median fails `fail_on` by day 60", found, low=0.8,
    kind="slow")  # fmt: skip

LAWS = GATES

# Laws that joined later stand at the end of all, so that the others keep their seeds.
SLICED, add = group("Gates of a job, asked every day", sets=200)
add("a loss of 25 points in one of three topics, at the same mean, fails `fail_on` by day 60", found,
    low=0.9, kind="slice")  # fmt: skip
