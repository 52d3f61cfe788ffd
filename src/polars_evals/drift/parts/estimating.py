"""Estimate from merged sums what a comparison estimates from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.answers import OUTCOMES, answers_are_missing
from polars_evals.drift.clusters import SIZES, SPREAD, cluster_spread
from polars_evals.drift.compare import Estimates
from polars_evals.drift.estimate import ESTIMANDS, estimate_sums
from polars_evals.drift.flips import UNMATCHED, gather_flips, rows_without_item
from polars_evals.drift.histogram import binned
from polars_evals.drift.inference import floats
from polars_evals.drift.measure import slice_name, tabulate
from polars_evals.drift.parts.summing import ROW, TOTALS, UNITS, value_of
from polars_evals.drift.permutation import DIGITS, Units
from polars_evals.drift.quantiles import MEAN, STATISTICS, ratio_interval
from polars_evals.drift.reading import (
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
    metrics = [*spec.metrics, *spec.measures, *_shares(sums, nulls, spec)]
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
        statistics=_statistics(sums, spec),
    )


def _statistics(sums: Sums, spec: ResolvedSpec) -> pl.DataFrame:
    """Return means and ratios of measures; quantiles cannot be summed."""
    names = list(spec.measures)
    by = [None, *(list(group) for group in spec.slices)]
    rows = []
    for row in sums["moments"].filter(pl.col("metric").is_in(names)).iter_rows(named=True):
        before, after = row["baseline_mean"], row["candidate_mean"]
        if before is None or after is None:
            continue
        group = by[row["group"]]
        n = row["n"] if spec.paired else row["n_baseline_only"] + row["n_candidate_only"]
        identity = {
            "candidate": row["candidate"],
            "metric": row["metric"],
            "slice": None if group is None else slice_name(group, tuple(row["value"])),
            "by": group,
            "value": None if group is None else row["value"],
        }
        levels = {"baseline_value": before, "candidate_value": after, "difference": after - before}
        rows.append(identity | {"statistic": MEAN, "n": n} | levels | _ratio(row, spec))
    frame = pl.DataFrame(rows, schema=STATISTICS).with_columns(pl.col(pl.Float64).fill_nan(None))
    places = {pair: at for at, pair in enumerate((c, m) for c in spec.candidates for m in names)}
    order = [places[pair] for pair in frame.select("candidate", "metric").iter_rows()]
    sliced = pl.col("slice").is_not_null()
    return (
        frame.with_columns(pl.Series("place", order, dtype=pl.Int64))
        .sort("place", sliced, "by", "slice")
        .drop("place")
    )


def _ratio(row: dict[str, Any], spec: ResolvedSpec) -> dict[str, float]:
    """Return the ratio of two means; its interval too, where items are independent."""
    before, after = row["baseline_mean"], row["candidate_mean"]
    if not (before > 0 and after > 0):
        return {}
    ratio = after / before
    spreads: list[Any] = [row[f"var_{end}"] for end in "bc"]
    if spec.cluster is not None or None in spreads:
        return {"ratio": ratio}
    relative = [spread / mean**2 for spread, mean in zip(spreads, (before, after), strict=True)]
    if spec.paired:
        together = (sum(spreads) - row["var_d"]) / 2
        variances = [((sum(relative) - 2 * together / (before * after)) / row["n"], row["n"] - 1)]
    else:
        counts = (row["n_baseline_only"], row["n_candidate_only"])
        variances = [(one / n, n - 1) for one, n in zip(relative, counts, strict=True)]
    low, high = ratio_interval(ratio, variances, spec.alpha)
    return {"ratio": ratio, "ratio_low": low, "ratio_high": high}


def _shares(sums: Sums, nulls: dict[str, int], spec: ResolvedSpec) -> list[str]:
    """Return the shares of answers that say something: answers are missing, or errors did happen."""
    seen = sums["moments"].filter(pl.col("group") == 0).group_by("metric").agg(pl.col("highest").max())
    most = dict(seen.iter_rows())
    missing = answers_are_missing(nulls, spec.metrics)
    return [
        name
        for name in OUTCOMES
        if name not in spec.metrics and (missing if name == columns.ANSWERED else (most.get(name) or 0) > 0)
    ]


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
        scores={
            value: _scores(parts.get(value, nobody), measure=metric in spec.measures) for value in slices
        },
    )


def _units(counted: pl.DataFrame, kind: str, total: float) -> Units:
    part = counted.filter(pl.col("kind") == kind)
    # Where a step holds a single value, this is that value.
    size = floats((part["squares"] / part["count"]).sqrt())
    return Units(np.round(size, DIGITS), part["count"].to_numpy(), total)


def _scores(counted: pl.DataFrame, *, measure: bool) -> tuple[Sample, Sample]:
    counted = counted.with_columns(at=value_of(pl.col("step"), measure=measure))
    baseline, candidate = (counted.filter(pl.col("kind") == kind) for kind in ("baseline", "candidate"))
    left, right = (Sample(floats(part["at"]), part["count"].to_numpy()) for part in (baseline, candidate))
    return left, right


def _distribution(sums: Sums, spec: ResolvedSpec, candidate: str, metric: str) -> pl.DataFrame:
    counted = sums["histogram"].filter(
        pl.col("candidate") == candidate,
        pl.col("metric") == metric,
        pl.col("group") == 0,
        pl.col("kind").is_in(["baseline", "candidate"]),
    )
    value = value_of(pl.col("step"), measure=metric in spec.measures)
    scores = counted.select("count", side=pl.col("kind") == "candidate", score=value)
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
