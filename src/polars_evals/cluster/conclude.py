"""Compare versions by their aggregates, with the estimates, tests and verdicts of a comparison of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_evals.cluster.aggregates import ROW, STEPS, Aggregates, close
from polars_evals.cluster.merging import regroup
from polars_evals.drift import columns, estimate
from polars_evals.drift.compare import (
    check_levels,
    choose_versions,
    conclude,
    describe_missing,
    require_few_slices,
)
from polars_evals.drift.flips import UNMATCHED, gather_flips, rows_without_item
from polars_evals.drift.histogram import binned
from polars_evals.drift.inference import floats
from polars_evals.drift.measure import tabulate
from polars_evals.drift.permutation import DIGITS, Units
from polars_evals.drift.shape import Sample

if TYPE_CHECKING:
    from polars_evals.drift.comparison import Comparison
    from polars_evals.drift.measure import Slice


def compare(aggregates: Aggregates, *, min_effect: float, alpha: float, seed: int) -> Comparison:
    """Compare the versions that were summed up."""
    check_levels(alpha, min_effect)
    summed = regroup(close(aggregates))
    plan = summed.plan
    versions = summed.counts.filter(pl.col("kind") == "version").select(version="name", len="rows")
    *_, notes = choose_versions(
        versions.sort("version"), {}, plan.version, plan.baseline, list(plan.candidates)
    )
    if summed.signatures.width:
        for (column,), seen in summed.signatures.group_by("column"):
            columns.require_one_signature(str(column), seen["value"].sort())
    nulls = dict(summed.counts.filter(pl.col("kind") == "null").select("name", "rows").iter_rows())
    return conclude(
        pl.concat(
            _measure(summed, candidate, metric, number, seed)
            for candidate in plan.candidates
            for metric in plan.metrics
            for number in range(len(plan.groups))
        ),
        also_tried=np.array([], dtype=np.float64),
        flips=gather_flips(
            [summed.flips], pl.LazyFrame(), {}, item=None if plan.item is None else pl.col("item"),
            version=pl.col("version"), baseline=plan.baseline, by=plan.traits,
        ),
        unmatched=_unmatched(summed),
        distributions=pl.concat(
            _distribution(summed, candidate, metric)
            for candidate in plan.candidates
            for metric in plan.metrics
        ),
        notes=[*notes, *describe_missing(nulls, plan.item, plan.cluster)],
        settings={
            "version": plan.version, "baseline": plan.baseline, "candidates": list(plan.candidates),
            "item": plan.item, "cluster": plan.cluster, "by": [list(group) for group in plan.by],
            "metrics": list(plan.metrics), "min_effect": min_effect, "alpha": alpha, "seed": seed,
        },
    )  # fmt: skip


def _measure(summed: Aggregates, candidate: str, metric: str, number: int, seed: int) -> pl.DataFrame:
    """Return the rows of a metric over all items, or over the slices of one group."""
    plan = summed.plan
    paired = plan.item is not None
    by = plan.groups[number]
    keys = [columns.trait(name) for name in by]

    def select(frame: pl.DataFrame) -> pl.DataFrame:
        found = frame.filter(
            pl.col("candidate") == candidate, pl.col("metric") == metric, pl.col("group") == number
        )
        values = [pl.col("value").list.get(place).alias(key) for place, key in enumerate(keys)]
        return found.select(*values, pl.exclude(ROW))

    sums = select(summed.moments)
    require_few_slices(by, sums.height)
    spreads = {}
    if plan.cluster is not None:
        schema = dict.fromkeys(keys, pl.String) | {"total": pl.Float64, "size": pl.Int64}
        nothing = estimate.cluster_moments(pl.DataFrame(schema=schema), keys)
        for side in estimate.sides_of(paired=paired):
            spread = (
                select(summed.spreads).filter(pl.col("side") == side) if summed.spreads.width else nothing
            )
            spreads[side] = nothing if spread.is_empty() else spread
    counted = select(summed.histogram).sort("step")
    parts: dict[Slice, pl.DataFrame] = dict(counted.group_by(keys)) if keys else {(): counted}
    slices: dict[Slice, float | None] = {
        tuple(value): total
        for *value, total in sums.select(
            *keys, (pl.col("n") * pl.col("difference") if paired else pl.lit(None)).alias("total")
        ).iter_rows()
    }
    return tabulate(
        estimate.conclude(sums, spreads, keys, paired=paired),
        candidate=candidate,
        metric=metric,
        by=by,
        seed=seed,
        units={value: _units(parts[value], total) for value, total in slices.items() if total is not None},
        scores={value: _scores(parts.get(value, counted.clear())) for value in slices},
    )


def _units(counted: pl.DataFrame, total: float) -> Units:
    part = counted.filter(pl.col("kind") == "unit")
    # Where a step holds a single value, this is that value.
    size = floats((part["squares"] / part["count"]).sqrt())
    return Units(np.round(size, DIGITS), part["count"].to_numpy(), total)


def _scores(counted: pl.DataFrame) -> tuple[Sample, Sample]:
    baseline, candidate = (counted.filter(pl.col("kind") == kind) for kind in ("baseline", "candidate"))
    left, right = (
        Sample(floats(part["step"]) / STEPS, part["count"].to_numpy()) for part in (baseline, candidate)
    )
    return left, right


def _distribution(summed: Aggregates, candidate: str, metric: str) -> pl.DataFrame:
    counted = summed.histogram.filter(
        pl.col("candidate") == candidate,
        pl.col("metric") == metric,
        pl.col("group") == 0,
        pl.col("kind") != "unit",
    )
    scores = counted.select("count", side=pl.col("kind") == "candidate", score=pl.col("step") / STEPS)
    return binned(scores, baseline=summed.plan.baseline, candidate=candidate, metric=metric)


def _unmatched(summed: Aggregates) -> pl.DataFrame:
    plan = summed.plan
    if plan.item is None:
        return pl.DataFrame(schema=UNMATCHED)
    itemless = summed.counts.lazy().filter(pl.col("kind") == "itemless")
    found = []
    for candidate in plan.candidates:
        counted = itemless.filter(pl.col("name").is_in([plan.baseline, candidate])).select(
            "rows", side=pl.col("name") == candidate, item=pl.lit(None, dtype=pl.String)
        )
        known = summed.unmatched.lazy().filter(pl.col("candidate") == candidate)
        entries = pl.concat([known, rows_without_item(counted, candidate)])
        found.append(entries.sort("metric", "missing", "item", nulls_last=False).collect())
    return pl.concat(found)
