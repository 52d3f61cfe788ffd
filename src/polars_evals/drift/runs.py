"""Repeated runs: how often k of them pass, which items are flaky, and where scores vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.inference.intervals import share_interval
from polars_evals.drift.read import cluster_codes, read_rows
from polars_evals.drift.result import Plotted
from polars_evals.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.report.charts import RunsPlots  # noqa: F401

SUMMARY: dict[str, Any] = {
    "version": pl.String, "metric": pl.String, "n": pl.Int64, "k": pl.Int64, "pass_at_k": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "pass_all_k": pl.Float64, "all_ci_low": pl.Float64,
    "all_ci_high": pl.Float64, "items_left_out": pl.Int64,
}  # fmt: skip
VARIANCE: dict[str, Any] = {
    "version": pl.String, "metric": pl.String, "n": pl.Int64, "rows": pl.Int64,
    "between_items": pl.Float64, "between_runs": pl.Float64, "share_between_runs": pl.Float64,
}  # fmt: skip


def runs(
    scored: Frame,
    *,
    version: str,
    item: str,
    k: int | Sequence[int] = (1, 2, 4),
    metrics: Sequence[str] | None = None,
    cluster: str | None = None,
    alpha: float = 0.05,
) -> Runs:
    """
    Judge versions that answered each item several times.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column `<name>_score` for each metric, and `<name>_label` to count
        passes. Each run of an item is a row.
    version
        Column of the version.
    item
        Column that identifies the test case. Its rows are its runs.
    k
        The numbers of runs of which at least one (`pass_at_k`) or every one (`pass_all_k`) must pass.
    metrics
        Names of the metrics; None for every `<name>_score` column.
    cluster
        Column of groups of items that are not independent.
    alpha
        Level of the intervals.

    Returns
    -------
    Runs
        With frames `summary`, `items` (the flaky ones: some runs pass, some fail) and `variance`.

    Notes
    -----
    With c of n runs passed, pass@k of an item is 1 − C(n − c, k) / C(n, k) and pass^k is C(c, k) / C(n, k):
    both unbiased, whatever n (Chen et al. 2021; Yao et al. 2024). An item with fewer than k runs is left out
    of that row, and a note says so. Intervals are Wilson's, with the effective number of items. `variance`
    splits the scores' variance into that between items and that from run to run.

    Examples
    --------
    >>> scored = pl.DataFrame(
    ...     {
    ...         "item_id": [1, 1, 2, 2, 3, 3],
    ...         "model": ["v1"] * 6,
    ...         "exact_match_score": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
    ...         "exact_match_label": ["pass", "pass", "pass", "fail", "fail", "fail"],
    ...     }
    ... )
    >>> repeats = pe.runs(scored, version="model", item="item_id", k=(1, 2))
    >>> repeats.summary.select("k", pl.col("pass_at_k", "pass_all_k").round(3))
    shape: (2, 3)
    ┌─────┬───────────┬────────────┐
    │ k   ┆ pass_at_k ┆ pass_all_k │
    │ --- ┆ ---       ┆ ---        │
    │ i64 ┆ f64       ┆ f64        │
    ╞═════╪═══════════╪════════════╡
    │ 1   ┆ 0.5       ┆ 0.5        │
    │ 2   ┆ 0.667     ┆ 0.333      │
    └─────┴───────────┴────────────┘
    >>> repeats.items["item"].to_list()
    [2]
    """
    columns.require_level(alpha)
    sizes = sorted({k} if isinstance(k, int) else set(k))
    if not sizes or not all(isinstance(one, int) and not isinstance(one, bool) and one >= 1 for one in sizes):
        raise ValueError(f"k must be whole numbers of at least 1, got {k!r}")
    rows = read_rows(scored, version=version, item=item, metrics=metrics, cluster=cluster)
    notes, rates, flaky, variance = list(rows.notes), [], [], []
    repeated = False
    for metric in rows.metrics:
        kept = rows.frame.drop_nulls(f"{metric}:score")
        if kept[f"{metric}:pass"].count() == 0:
            notes.append(f"{metric} has no label, so only its variance is judged")
        for one in rows.versions:
            own = kept.filter(pl.col("version") == one)
            variance.append(_variance(own, one, metric))
            items = _items(own.drop_nulls(f"{metric}:pass"), metric)
            flaky.append(_flaky(items, one, metric))
            if items.height:
                rates += [{"version": one, "metric": metric, **_rates(items, k, alpha)} for k in sizes]
                repeated |= bool((items["runs"] > 1).any())
    found = pl.DataFrame(rates, schema=SUMMARY)
    once = rows.frame.group_by("version", "item").len()["len"].max() == 1
    if once:
        notes.append("every item has one run per version: more runs are needed to see how answers vary")
    else:
        notes += _too_few(found)
    return Runs(
        summary=found.filter(pl.col("n") > 0),
        items=pl.concat(flaky).sort("pass_rate", "version", "metric", maintain_order=True),
        variance=pl.DataFrame(variance, schema=VARIANCE),
        repeated=repeated,
        notes=tuple(notes),
        settings={
            "version": version, "item": item, "cluster": cluster, "k": sizes, "metrics": rows.metrics,
            "alpha": alpha,
        },
    )  # fmt: skip


def pass_at_k(passes: Floats, n: Floats, k: int) -> tuple[Floats, Floats]:
    """Return, for each item, the unbiased chance that any of k runs passes, and that all do."""
    steps = np.arange(k)
    failed = np.clip((n - passes)[:, None] - steps, 0, None) / (n[:, None] - steps)
    passed = np.clip(passes[:, None] - steps, 0, None) / (n[:, None] - steps)
    return 1 - failed.prod(axis=1), passed.prod(axis=1)


def _mean_with_interval(
    values: Floats, clusters: npt.NDArray[np.int64] | None, alpha: float
) -> tuple[float, float, float]:
    mean, apart = float(values.mean()), values - values.mean()
    if clusters is not None:
        apart = np.bincount(clusters, weights=apart)
    units = len(apart)
    if units < 2:
        return mean, 0.0, 1.0
    variance = units / (units - 1) * float((apart**2).sum()) / len(values) ** 2
    return mean, *share_interval(mean, variance, units, alpha, units - 1)


def _items(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    clustered = [pl.col("cluster").drop_nulls().first()] if "cluster" in rows.columns else []
    return columns.aggregated(
        rows.lazy()
        .group_by("item", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col(f"{metric}:pass").sum().cast(pl.Int64).alias("passes"),
            pl.col(f"{metric}:score").mean().alias("mean_score"),
            pl.col(f"{metric}:score").std().alias("score_spread"),
            *clustered,
        )
    )


def _flaky(items: pl.DataFrame, version: str, metric: str) -> pl.DataFrame:
    """Return the items of which some runs pass and some fail."""
    return items.filter(pl.col("passes").is_between(1, pl.col("runs") - 1)).select(
        pl.lit(version).alias("version"), pl.lit(metric).alias("metric"), "item", "runs", "passes",
        (pl.col("passes") / pl.col("runs")).alias("pass_rate"), "mean_score", "score_spread",
    )  # fmt: skip


def _rates(items: pl.DataFrame, k: int, alpha: float) -> dict[str, Any]:
    enough = items.filter(pl.col("runs") >= k)
    found: dict[str, Any] = {"n": enough.height, "k": k, "items_left_out": items.height - enough.height}
    if enough.is_empty():
        return found
    clusters = cluster_codes(enough)
    passes, n = enough["passes"].cast(pl.Float64).to_numpy(), enough["runs"].cast(pl.Float64).to_numpy()
    names = {"": "pass_at_k", "all_": "pass_all_k"}
    for (prefix, name), values in zip(names.items(), pass_at_k(passes, n, k), strict=True):
        ends = (name, f"{prefix}ci_low", f"{prefix}ci_high")
        found |= zip(ends, _mean_with_interval(values, clusters, alpha), strict=True)
    return found


def _too_few(rates: pl.DataFrame) -> Iterator[str]:
    """Say where no item has as many runs as are asked for."""
    for (k,), judged in rates.group_by("k", maintain_order=True):
        lacking = [row for row in judged.iter_rows(named=True) if not row["n"]]
        names = listed([f"{row['version']} in {row['metric']}" for row in lacking])
        if lacking:
            where = "" if len(lacking) == judged.height else f" of {names}"
            yield f"no item{where} has {k} runs, so there is no pass@{k}"


def _variance(rows: pl.DataFrame, version: str, metric: str) -> dict[str, Any]:
    groups, count, between, within = between_and_within(rows, "item", f"{metric}:score")
    share = None if within is None or between + within == 0 else within / (between + within)
    return dict(zip(VARIANCE, (version, metric, groups, count, between, within, share), strict=True))


class Variances(NamedTuple):
    """Variance between groups and within them; None where no group has two rows."""

    groups: int
    rows: int
    between: float
    within: float | None


def between_and_within(frame: pl.DataFrame, group: str, value: str) -> Variances:
    """Estimate both variances from a one-way layout of unequal groups (analysis of variance, not below 0)."""
    parts = frame.group_by(group, maintain_order=True).agg(
        n=pl.col(value).count().cast(pl.Float64), mean=pl.col(value).mean(), var=pl.col(value).var()
    )
    sizes, means = parts["n"], parts["mean"]
    groups, rows = parts.height, float(sizes.sum())
    spare = rows - groups
    inner = float((parts["var"].fill_null(0.0) * (sizes - 1)).sum())
    within = inner / spare if spare > 0 else None
    if groups < 2:
        return Variances(groups, int(rows), 0.0, within)
    centre = float((sizes * means).sum()) / rows
    outer = float((sizes * (means - centre) ** 2).sum()) / (groups - 1)
    typical = (rows - float((sizes**2).sum()) / rows) / (groups - 1)
    return Variances(groups, int(rows), max((outer - (within or 0.0)) / typical, 0.0), within)


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Plotted["RunsPlots"]):
    """
    How stable repeated runs are: the result of `runs`.

    Attributes
    ----------
    summary
        A row for each version, metric and k: pass@k and pass^k with intervals.
    items
        The flaky items: some of their runs pass and some fail.
    variance
        A row for each version and metric: variance between items and from run to run.
    repeated
        Whether any item has several runs with a label. Without them, flaky and stable items look alike.
    plot
        Charts: `pass_at_k`.
    notes
        Sentences about rows that were left out, and about limits of the result.
    settings
        The options.
    """

    items: pl.DataFrame
    variance: pl.DataFrame
    repeated: bool

    @property
    def verdict(self) -> str:
        """Whether any item passes in some runs and fails in others: flaky, stable or inconclusive."""
        if not self.repeated:
            return "inconclusive"
        return "flaky" if self.items.height else "stable"
