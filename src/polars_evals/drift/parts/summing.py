"""Sum up the rows of a part of a table: what is counted, and how the sums of parts merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.answers import with_answers
from polars_evals.drift.clusters import SIZES, SPREAD, cluster_spread, cluster_sums
from polars_evals.drift.columns import aggregated, as_text, trait
from polars_evals.drift.estimate import PAIRED, UNPAIRED, moments, scores_of, sides_of
from polars_evals.drift.flips import changed_labels, without_pair
from polars_evals.drift.merging import Distinct, First, Grouped, Merge, add
from polars_evals.drift.pairing import measured, pair_by_name
from polars_evals.drift.reading import count_versions, require_few_slices, select_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polars_evals.drift.merging import Rule, Summed
    from polars_evals.drift.pairing import Observations
    from polars_evals.drift.spec import ResolvedSpec

Sums = dict[str, pl.DataFrame]
Step = Callable[[pl.Expr], pl.Expr]

# Scores and differences are counted in steps of 1/10,000; measures, which have any size, in steps of a
# thousandth of their size, down to a millionth.
STEPS = 10_000
PART, SMALLEST = 1e-3, 1e-6

# A row of the comparison: `group` is 0 for all items, else the place of its columns in `ResolvedSpec.slices`,
# from 1; `value` holds their values.
ROW = ["candidate", "metric", "group", "value"]

# What is known of a cluster, and what the histogram calls what keeps its sign as a whole.
TOTALS = ["total", "size", "total_b", "size_b"]
UNITS = {"score": "unit", "pass": "pass_unit"}


def merges(spec: ResolvedSpec) -> dict[str, Merge]:
    """Return the frames of sums that a comparison needs, and how each merges."""
    group = ["candidate", "metric"]
    return {
        # How many rows each version has, and how many lack a version, item, cluster or score.
        "counts": Grouped(["kind", "name"], {"rows": add}),
        # How the scores were made.
        "signatures": Distinct(),
        # Counts, means and variances of scores, differences and labels.
        "moments": Grouped(ROW, _rules(PAIRED if spec.paired else UNPAIRED)),
        # The same of whole clusters, for mean score and pass rate.
        "spreads": Grouped([*ROW, "estimand", *SIZES], _rules(SPREAD)),
        # Sum and size of each cluster that may go on in another part.
        "clusters": Grouped([*ROW, "estimand", "cluster"], dict.fromkeys(TOTALS, add)),
        # How often each score, and each absolute difference, occurs.
        "histogram": Grouped([*ROW, "kind", "step"], {"count": add, "squares": add}),
        # The items behind the numbers.
        "flips": First(group, ["change", "item"], spec.max_flips),
        "unmatched": First(group, ["missing", "item"], spec.max_flips),
    }


def _rules(summed: Mapping[str, Summed]) -> dict[str, Rule]:
    return {name: one.merge for name, one in summed.items()}


def merged(spec: ResolvedSpec, parts: Iterable[Sums]) -> Sums:
    """Merge the sums of parts."""
    found = list(parts)
    rules = merges(spec)
    for part in found:
        if unknown := part.keys() - rules.keys():
            raise ValueError(
                f"no rule says how to merge the sums {', '.join(sorted(map(repr, unknown)))} of parts"
            )
    return {name: merge(stack(part[name] for part in found)) for name, merge in rules.items()}


def stack(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put frames of one kind below each other; a frame without columns stands for none."""
    filled = [frame for frame in frames if frame.width]
    return pl.concat(filled) if filled else pl.DataFrame()


def sum_up(frame: pl.LazyFrame, spec: ResolvedSpec) -> Sums:
    """Sum up a part, which must hold all rows of its items; clusters may go on in other parts."""
    schema = frame.collect_schema()
    # Whether an answer is missing in another part is not known here.
    rows = with_answers(select_rows(frame, schema, spec, spec.traits), spec.metrics)
    for group in spec.slices:
        require_few_slices(group, rows.select(pl.struct(trait(name) for name in group).n_unique()).item())
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in merges(spec)}
    found["counts"] = _counts(frame, rows, spec)
    found["signatures"] = _signatures(frame, spec)
    for candidate in spec.candidates:
        pairs = pair_by_name(rows, spec, candidate)
        for metric in measured(rows, spec):
            for number, group in enumerate([(), *spec.slices]):
                step = _measure_step if metric in spec.measures else _step
                for name, frames in _measure(pairs, metric, [trait(one) for one in group], step).items():
                    found[name] += [_named(one, candidate, metric, number, group) for one in frames]
        found["flips"].append(
            changed_labels(pairs, metrics=spec.metrics, most=spec.max_flips, by=spec.traits)
        )
        # Rows without an item are counted instead: their number is that of all parts.
        found["unmatched"].append(
            without_pair(pairs, metrics=spec.metrics).filter(pl.col("item").is_not_null())
        )
    return merged(spec, [{name: stack(frames) for name, frames in found.items()}])


def close_clusters(sums: Sums, spec: ResolvedSpec) -> Sums:
    """Turn the sums of clusters, once no other part holds more of them, into counts and squares."""
    clusters = sums["clusters"]
    if clusters.is_empty():
        return sums
    spreads, histogram = [sums["spreads"]], [sums["histogram"]]
    measure = pl.col("metric").is_in(list(spec.measures))
    for (estimand,), part in clusters.group_by("estimand"):
        spreads.append(_spread(part, str(estimand), ROW))
        if spec.paired:
            for of, step in ((measure, _measure_step), (~measure, _step)):
                histogram.append(_unit_histogram(part.filter(of), str(estimand), ROW, step))
    closed = {"clusters": clusters.clear(), "spreads": stack(spreads), "histogram": stack(histogram)}
    return merged(spec, [sums | closed])


def _counts(frame: pl.LazyFrame, rows: pl.DataFrame, spec: ResolvedSpec) -> list[pl.DataFrame]:
    versions = count_versions(frame, frame.collect_schema(), spec.version)
    nulls = rows.null_count().row(0, named=True)
    counted = [
        versions.select(pl.lit("version").alias("kind"), pl.col("version").alias("name"), rows="len"),
        pl.DataFrame({"kind": "null", "name": list(nulls), "rows": list(nulls.values())}),
    ]
    if spec.paired:
        itemless = rows.filter(pl.col("item").is_null()).group_by("version").agg(rows=pl.len())
        counted.append(
            itemless.select(pl.lit("itemless").alias("kind"), pl.col("version").alias("name"), "rows")
        )
    return [one.cast({"name": pl.String, "rows": pl.Int64}) for one in counted]


def _signatures(frame: pl.LazyFrame, spec: ResolvedSpec) -> list[pl.DataFrame]:
    schema = frame.collect_schema()
    signed = [f"{name}_signature" for name in spec.metrics if f"{name}_signature" in schema]
    compared = frame.filter(as_text(schema, spec.version).is_in(spec.versions))
    return [
        compared.select(pl.lit(name).alias("column"), pl.col(name).cast(pl.String).alias("value"))
        .unique()
        .collect()
        for name in signed
    ]


def _measure(
    observations: Observations, metric: str, keys: Sequence[str], step: Step
) -> dict[str, list[pl.DataFrame]]:
    """Return the sums of a metric, for each combination of `keys`."""
    frame = scores_of(observations, metric, keys)
    found: dict[str, list[pl.DataFrame]] = {
        "moments": [moments(frame, keys, paired=observations.paired)],
        "spreads": [],
        "clusters": [],
        "histogram": [_score_histogram(observations, metric, keys, step)],
    }
    sides = sides_of(paired=observations.paired)
    for estimand, ends in sides.items():
        alone = frame
        if observations.clustered:
            named = cluster_sums(frame.filter(pl.col("cluster").is_not_null()), ends, keys)
            named = named.select(*keys, pl.lit(estimand).alias("estimand"), "cluster", *TOTALS)
            found["clusters"].append(named)
            # A row without a cluster is one by itself, and so is never continued elsewhere.
            alone = frame.filter(pl.col("cluster").is_null())
            single = _alone(alone, ends, keys)
            if single.height:
                found["spreads"].append(_spread(single, estimand, keys))
        if observations.paired:
            units = alone.select(*keys, total=ends[0]).drop_nulls("total")
            found["histogram"].append(_unit_histogram(units, estimand, keys, step))
    return found


def _alone(frame: pl.DataFrame, ends: Sequence[str], keys: Sequence[str]) -> pl.DataFrame:
    """Return rows as clusters of one; a version that has none of it has size 0."""
    value, before = pl.col(ends[-1]), pl.col(ends[0]) if len(ends) > 1 else pl.lit(None, dtype=pl.Float64)
    return frame.filter(value.is_not_null() | before.is_not_null()).select(
        *keys,
        total=value.fill_null(0.0).cast(pl.Float64),
        size=value.is_not_null().cast(pl.Int64),
        total_b=before.fill_null(0.0).cast(pl.Float64),
        size_b=before.is_not_null().cast(pl.Int64),
    )


def _spread(sums: pl.DataFrame, estimand: str, keys: Sequence[str]) -> pl.DataFrame:
    return cluster_spread(sums, keys).with_columns(estimand=pl.lit(estimand))


def _score_histogram(
    observations: Observations, metric: str, keys: Sequence[str], step: Step
) -> pl.DataFrame:
    """Count the scores of both versions, all rows of them."""
    score = pl.col(f"{metric}:score")
    kind = pl.when("side").then(pl.lit("candidate")).otherwise(pl.lit("baseline"))
    counted = (
        observations.rows.lazy()
        .filter(score.is_not_null())
        .group_by(*keys, kind.alias("kind"), step(score).alias("step"))
        .agg(count=pl.len().cast(pl.Int64))
        .collect(engine="streaming")
    )
    return counted.select(*keys, "kind", "step", "count", pl.lit(0.0).alias("squares"))


def _unit_histogram(units: pl.DataFrame, estimand: str, keys: Sequence[str], step: Step) -> pl.DataFrame:
    """Count the absolute values of what keeps its sign as a whole."""
    counted = aggregated(
        units.lazy()
        .group_by(*keys, step(pl.col("total").abs()).alias("step"))
        .agg(count=pl.len().cast(pl.Int64), squares=pl.col("total").pow(2).sum())
    )
    return counted.select(*keys, pl.lit(UNITS[estimand]).alias("kind"), "step", "count", "squares")


def _step(value: pl.Expr) -> pl.Expr:
    """Return the step that a value is in; one that is a step but for its last bits is in that one."""
    return (value * STEPS + 1e-6).floor().cast(pl.Int64)


def _measure_step(value: pl.Expr) -> pl.Expr:
    """Return the step that a number of any size is in."""
    size = (value.abs() / SMALLEST).log1p() / PART
    return ((size + 1e-6).floor() * value.sign()).cast(pl.Int64)


def value_of(step: pl.Expr, *, measure: bool) -> pl.Expr:
    """Return the value of a step."""
    if not measure:
        return step / STEPS
    return ((step.abs() * PART).exp() - 1) * SMALLEST * step.sign()


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
