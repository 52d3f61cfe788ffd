"""Estimate from merged sums what a comparison estimates from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.clusters import SIZES, SPREAD, cluster_spread
from polars_evals.drift.compare import Estimates
from polars_evals.drift.estimate import ESTIMANDS, estimate_sums
from polars_evals.drift.flips import UNMATCHED, gather_flips, rows_without_item
from polars_evals.drift.histogram import binned
from polars_evals.drift.inference import floats
from polars_evals.drift.measure import tabulate
from polars_evals.drift.parts.summing import ROW, STEPS, TOTALS, UNITS
from polars_evals.drift.permutation import DIGITS, Units
from polars_evals.drift.reading import (
    answers_are_missing,
    describe_missing,
    describe_nameless,
    require_few_slices,
)
from polars_evals.drift.shape import Sample

if TYPE_CHECKING:
    from polars_evals.drift.measure import Slice
    from polars_evals.drift.parts.summing import Sums
    from polars_evals.drift.spec import ResolvedSpec


def estimates_of(sums: Sums, spec: ResolvedSpec) -> Estimates:
    """Estimate from the sums of a whole table, with all clusters closed."""
    counts = sums["counts"]
    versions = counts.filter(pl.col("kind") == "version").select(version="name", len="rows")
    spec.require_versions(versions["version"].drop_nulls().sort().to_list())
    if sums["signatures"].width:
        for (column,), seen in sums["signatures"].group_by("column"):
            columns.require_one_signature(str(column), seen["value"].sort())
    nulls = dict(counts.filter(pl.col("kind") == "null").select("name", "rows").iter_rows())
    extra = answers_are_missing(nulls, spec) and columns.ANSWERED not in spec.metrics
    metrics = [*spec.metrics, columns.ANSWERED] if extra else spec.metrics
    rows = [(candidate, metric) for candidate in spec.candidates for metric in metrics]
    return Estimates(
        rows=pl.concat(
            _measure(sums, spec, candidate, metric, number)
            for candidate, metric in rows
            for number in range(1 + len(spec.slices))
        ),
        flips=gather_flips(
            [sums["flips"]],
            pl.LazyFrame(),
            {},
            item=pl.col("item") if spec.paired else None,
            version=pl.col("version"),
            baseline=spec.baseline,
            by=spec.traits,
        ),
        unmatched=_unmatched(sums, spec),
        distributions=pl.concat(_distribution(sums, spec, *row) for row in rows),
        notes=[*describe_nameless(versions, spec), *describe_missing(nulls, spec)],
        only_runs=nulls.get(columns.ONLY_RUN, 0),
    )


def _measure(sums: Sums, spec: ResolvedSpec, candidate: str, metric: str, number: int) -> pl.DataFrame:
    """Return the rows of a metric over all items, or over the slices of one group."""
    paired = spec.paired
    by = [(), *spec.slices][number]
    keys = [columns.trait(name) for name in by]

    def select(frame: pl.DataFrame) -> pl.DataFrame:
        found = frame.filter(
            pl.col("candidate") == candidate, pl.col("metric") == metric, pl.col("group") == number
        )
        values = [pl.col("value").list.get(place).alias(key) for place, key in enumerate(keys)]
        return found.select(*values, pl.exclude(ROW))

    moments = select(sums["moments"])
    require_few_slices(by, moments.height)
    spreads = {}
    if spec.cluster is not None:
        schema = dict.fromkeys(keys, pl.String) | dict.fromkeys(TOTALS, pl.Float64)
        nothing = cluster_spread(pl.DataFrame(schema=schema), keys)
        known = select(sums["spreads"]) if sums["spreads"].width else None
        for estimand in ESTIMANDS:
            found = nothing if known is None else known.filter(pl.col("estimand") == estimand)
            spreads[estimand] = found.select(*keys, *SIZES, *SPREAD).sort(SIZES)
    counted = select(sums["histogram"]).sort("step")
    parts: dict[Slice, pl.DataFrame] = dict(counted.group_by(keys)) if keys else {(): counted}
    slices: list[Slice] = list(moments.select(keys).iter_rows()) if keys else [()]
    totals = {
        estimand: moments.select(pl.col(n) * pl.col(mean)).to_series()
        for estimand, n, mean in (("score", "n", "difference"), ("pass", "labels", "pass_rate_difference"))
        if paired
    }
    nobody = counted.clear()
    return tabulate(
        estimate_sums(moments, spreads, keys, paired=paired),
        candidate=candidate,
        metric=metric,
        by=by,
        seed=spec.seed,
        units={
            estimand: {
                value: _units(parts.get(value, nobody), UNITS[estimand], total)
                for value, total in zip(slices, found, strict=True)
                if total is not None
            }
            for estimand, found in totals.items()
        },
        scores={value: _scores(parts.get(value, nobody)) for value in slices},
    )


def _units(counted: pl.DataFrame, kind: str, total: float) -> Units:
    part = counted.filter(pl.col("kind") == kind)
    # Where a step holds a single value, this is that value.
    size = floats((part["squares"] / part["count"]).sqrt())
    return Units(np.round(size, DIGITS), part["count"].to_numpy(), total)


def _scores(counted: pl.DataFrame) -> tuple[Sample, Sample]:
    baseline, candidate = (counted.filter(pl.col("kind") == kind) for kind in ("baseline", "candidate"))
    left, right = (
        Sample(floats(part["step"]) / STEPS, part["count"].to_numpy()) for part in (baseline, candidate)
    )
    return left, right


def _distribution(sums: Sums, spec: ResolvedSpec, candidate: str, metric: str) -> pl.DataFrame:
    counted = sums["histogram"].filter(
        pl.col("candidate") == candidate,
        pl.col("metric") == metric,
        pl.col("group") == 0,
        pl.col("kind").is_in(["baseline", "candidate"]),
    )
    scores = counted.select("count", side=pl.col("kind") == "candidate", score=pl.col("step") / STEPS)
    return binned(scores, baseline=spec.baseline, candidate=candidate, metric=metric)


def _unmatched(sums: Sums, spec: ResolvedSpec) -> pl.DataFrame:
    if not spec.paired:
        return pl.DataFrame(schema=UNMATCHED)
    itemless = sums["counts"].lazy().filter(pl.col("kind") == "itemless")
    found = []
    for candidate in spec.candidates:
        counted = itemless.filter(pl.col("name").is_in([spec.baseline, candidate])).select(
            "rows", side=pl.col("name") == candidate, item=pl.lit(None, dtype=pl.String)
        )
        known = sums["unmatched"].lazy().filter(pl.col("candidate") == candidate)
        entries = pl.concat([known, rows_without_item(counted, candidate)])
        found.append(entries.sort("metric", "missing", "item", nulls_last=False).collect())
    return pl.concat(found)
