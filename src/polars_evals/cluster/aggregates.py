"""
What a comparison needs of a table, summed up by part: small, and as good as the rows once it is merged.

A part must hold all rows of its items; clusters may be spread over parts.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.cluster.plan import Plan, make_plan
from polars_evals.drift.columns import aggregated, lazy, trait
from polars_evals.drift.compare import check_few_slices, count_versions, select_rows
from polars_evals.drift.estimate import cluster_moments, cluster_sums, moments, scores_of, sides_of
from polars_evals.drift.flips import changed_labels, unmatched_items
from polars_evals.drift.pairing import Observations, pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.compare import By
    from polars_evals.drift.comparison import Comparison

# Scores and differences are counted in steps of 1/10,000.
STEPS = 10_000

# A row of the comparison: `group` is the place of its columns in `Plan.groups`, `value` their values.
ROW: list[str] = ["candidate", "metric", "group", "value"]


@dataclass(frozen=True, eq=False)
class Aggregates:
    """
    The sums behind a comparison, as frames that can be merged.

    Attributes
    ----------
    plan
        What is compared.
    counts
        How many rows each version has, and how many lack a version, item, cluster or score.
    signatures
        How the scores were made.
    moments
        Counts, means and variances of scores, differences and labels.
    spreads
        Counts and squares of whole clusters.
    sums
        Sum and size of each cluster that may go on in another part.
    histogram
        How often each score, and each absolute difference, occurs.
    flips, unmatched
        The items behind the numbers, the first `max_flips` of each metric.
    """

    plan: Plan
    counts: pl.DataFrame
    signatures: pl.DataFrame
    moments: pl.DataFrame
    spreads: pl.DataFrame
    sums: pl.DataFrame
    histogram: pl.DataFrame
    flips: pl.DataFrame
    unmatched: pl.DataFrame

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "plan"}

    def compare(self, *, min_effect: float = 0.01, alpha: float = 0.05, seed: int = 0) -> Comparison:
        """
        Compare the versions, as `polars_evals.compare` does with the rows.

        Parameters
        ----------
        min_effect
            The smallest difference in mean score that matters.
        alpha
            Level of the intervals and of the corrected tests.
        seed
            Fixes the random signs of the permutation test.
        """
        from polars_evals.cluster.conclude import compare

        return compare(self, min_effect=min_effect, alpha=alpha, seed=seed)

    def to_bytes(self) -> bytes:
        """Return the aggregates as a message to another worker."""
        return pickle.dumps(self)

    @staticmethod
    def from_bytes(message: bytes) -> Aggregates:
        """Read what `to_bytes` wrote."""
        aggregates = pickle.loads(message)
        assert isinstance(aggregates, Aggregates)
        return aggregates


def aggregate(
    scored: Frame,
    *,
    version: str,
    baseline: Any,
    candidate: Any = None,
    item: str | None = None,
    cluster: str | None = None,
    by: By = None,
    metrics: Sequence[str] | None = None,
    max_flips: int = 1_000,
) -> Aggregates:
    """
    Sum up a part of a scored table, to be merged with others and compared.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame that holds all rows of its items.
    version, baseline, item, cluster, by, metrics
        As in `polars_evals.compare`; `by` names the columns.
    candidate
        The version to judge, or a list of them. All parts need the same list; None takes those in this part,
        which is right only where each part has them all.
    max_flips
        How many flips and unmatched items to keep for each candidate and metric. All are counted.

    Examples
    --------
    >>> from polars_evals import cluster
    >>> columns = {"model": ["v1", "v2"] * 3, "levenshtein_score": [0.9, 0.5, 0.8, 0.3, 1.0, 0.6]}
    >>> scored = pl.DataFrame({"case_id": [1, 1, 2, 2, 3, 3], **columns})
    >>> compared = {"version": "model", "baseline": "v1", "candidate": "v2", "item": "case_id"}
    >>> parts = [cluster.aggregate(part, **compared) for part in (scored[:4], scored[4:])]
    >>> cluster.merge(parts).compare().verdict
    'regressed'
    """
    frame = lazy(scored)
    schema = frame.collect_schema()
    plan = make_plan(
        schema,
        version=version,
        baseline=baseline,
        candidate=candidate,
        item=item,
        cluster=cluster,
        by=by,
        metrics=metrics,
        max_flips=max_flips,
        count_versions=lambda: count_versions(frame, schema, version),
    )
    return sum_up(frame, plan)


def sum_up(frame: pl.LazyFrame, plan: Plan) -> Aggregates:
    """Sum up the rows of a part."""
    schema = frame.collect_schema()
    rows = select_rows(
        frame,
        schema,
        versions=plan.versions,
        version=plan.version,
        item=plan.item,
        cluster=plan.cluster,
        traits=plan.traits,
        metrics=plan.metrics,
    )
    check_few_slices(rows, plan.by)
    signed = [f"{name}_signature" for name in plan.metrics if f"{name}_signature" in schema]
    compared = frame.filter(pl.col(plan.version).cast(pl.String).is_in(plan.versions))
    found: dict[str, list[pl.DataFrame]] = {
        "counts": [*_counts(frame, rows, plan)],
        "signatures": [
            compared.select(pl.lit(name).alias("column"), pl.col(name).cast(pl.String).alias("value"))
            .unique()
            .collect()
            for name in signed
        ],
        **{name: [] for name in ("moments", "spreads", "sums", "histogram", "flips", "unmatched")},
    }
    for candidate in plan.candidates:
        observations = pair(
            rows, baseline=plan.baseline, candidate=candidate, metrics=plan.metrics, item=plan.item
        )
        for metric in plan.metrics:
            for number, group in enumerate(plan.groups):
                for name, frames in _measure(observations, metric, [trait(one) for one in group]).items():
                    found[name] += [_named(one, candidate, metric, number, group) for one in frames]
        if plan.item is not None:
            flips = changed_labels(
                observations, candidate=candidate, metrics=plan.metrics, most=plan.max_flips, by=plan.traits
            )
            lost = unmatched_items(observations, candidate=candidate, metrics=plan.metrics)
            found["flips"].append(flips)
            # Rows without an item are counted instead: their number is that of all parts.
            lost = lost.filter(pl.col("item").is_not_null())
            found["unmatched"].append(
                lost.group_by("metric", maintain_order=True).head(plan.max_flips).select(lost.columns)
            )
    return Aggregates(plan, **{name: stack(frames) for name, frames in found.items()})


def stack(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put frames of one kind below each other; a frame without columns stands for none."""
    filled = [frame for frame in frames if frame.width]
    return pl.concat(filled) if filled else pl.DataFrame()


def _counts(frame: pl.LazyFrame, rows: pl.DataFrame, plan: Plan) -> list[pl.DataFrame]:
    versions = count_versions(frame, frame.collect_schema(), plan.version)
    nulls = rows.null_count().row(0, named=True)
    counted = [
        versions.select(pl.lit("version").alias("kind"), pl.col("version").alias("name"), rows="len"),
        pl.DataFrame({"kind": "null", "name": list(nulls), "rows": list(nulls.values())}),
    ]
    if plan.item is not None:
        itemless = rows.filter(pl.col("item").is_null()).group_by("version").agg(rows=pl.len())
        counted.append(
            itemless.select(pl.lit("itemless").alias("kind"), pl.col("version").alias("name"), "rows")
        )
    return [one.cast({"name": pl.String, "rows": pl.Int64}) for one in counted]


def _measure(observations: Observations, metric: str, keys: Sequence[str]) -> dict[str, list[pl.DataFrame]]:
    """Return the sums of a metric, for each combination of `keys`."""
    frame = scores_of(observations, metric, keys)
    found: dict[str, list[pl.DataFrame]] = {
        "moments": [moments(frame, keys, paired=observations.paired)],
        "spreads": [],
        "sums": [],
        "histogram": [_score_histogram(observations, metric, keys)],
    }
    if observations.clustered:
        for side in sides_of(paired=observations.paired):
            named = cluster_sums(frame.filter(pl.col("cluster").is_not_null()), side, keys)
            found["sums"].append(named.select(*keys, pl.lit(side).alias("side"), "cluster", "total", "size"))
            # A row without a cluster is one by itself, and so is never continued elsewhere.
            alone = frame.filter(pl.col("cluster").is_null() & pl.col(side).is_not_null())
            alone = alone.select(*keys, total=side, size=pl.lit(1, dtype=pl.Int64))
            if alone.height:
                found["spreads"].append(_spread(alone, side, keys))
            if side == "d":
                found["histogram"].append(_unit_histogram(alone, keys))
    elif observations.paired:
        found["histogram"].append(_unit_histogram(frame.select(*keys, total="d").drop_nulls("total"), keys))
    return found


def close(aggregates: Aggregates) -> Aggregates:
    """Turn the sums of clusters, once no other part holds more of them, into counts and squares."""
    frames = aggregates.frames()
    sums = frames["sums"]
    if sums.is_empty():
        return aggregates
    for (side,), part in sums.group_by("side"):
        frames["spreads"] = stack([frames["spreads"], _spread(part, str(side), ROW)])
        if side == "d":
            frames["histogram"] = stack([frames["histogram"], _unit_histogram(part, ROW)])
    return Aggregates(aggregates.plan, **(frames | {"sums": sums.clear()}))


def _spread(sums: pl.DataFrame, side: str, keys: Sequence[str]) -> pl.DataFrame:
    return cluster_moments(sums, keys).with_columns(side=pl.lit(side))


def _score_histogram(observations: Observations, metric: str, keys: Sequence[str]) -> pl.DataFrame:
    """Count the scores of both versions, all rows of them."""
    score = pl.col(f"{metric}:score")
    kind = pl.when("side").then(pl.lit("candidate")).otherwise(pl.lit("baseline"))
    counted = (
        observations.rows.lazy()
        .filter(score.is_not_null())
        .group_by(*keys, kind.alias("kind"), _step(score).alias("step"))
        .agg(count=pl.len().cast(pl.Int64))
        .collect(engine="streaming")
    )
    return counted.select(*keys, "kind", "step", "count", pl.lit(0.0).alias("squares"))


def _unit_histogram(units: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Count the absolute values of what keeps its sign as a whole."""
    counted = aggregated(
        units.lazy()
        .group_by(*keys, _step(pl.col("total").abs()).alias("step"))
        .agg(count=pl.len().cast(pl.Int64), squares=pl.col("total").pow(2).sum())
    )
    return counted.select(*keys, pl.lit("unit").alias("kind"), "step", "count", "squares")


def _step(value: pl.Expr) -> pl.Expr:
    """Return the step that a value is in; one that is a step but for its last bits is in that one."""
    return (value * STEPS + 1e-6).floor().cast(pl.Int64)


def _named(
    frame: pl.DataFrame, candidate: str, metric: str, number: int, group: Sequence[str]
) -> pl.DataFrame:
    keys = [trait(name) for name in group]
    value = pl.concat_list(keys) if keys else pl.lit([], dtype=pl.List(pl.String))
    return frame.select(
        pl.lit(candidate).alias("candidate"),
        pl.lit(metric).alias("metric"),
        pl.lit(number, dtype=pl.Int64).alias("group"),
        value.alias("value"),
        pl.exclude(keys),
    )
