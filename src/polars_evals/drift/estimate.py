"""
Means, differences and their standard errors, as Polars aggregations over all items or by slice.

In two steps: `moments` and `cluster_moments` sum up the rows, `conclude` makes estimates of the sums, so that
the sums of several parts of a table can be merged in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.columns import aggregated
from polars_evals.drift.inference import NEGLIGIBLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.pairing import Observations

B, C, D = pl.col("b"), pl.col("c"), pl.col("d")


def estimate(observations: Observations, metric: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return one row for each combination of `keys` (one row without any): what `infer` needs."""
    frame = scores_of(observations, metric, keys)
    spreads = {}
    if observations.clustered:
        sides = sides_of(paired=observations.paired)
        spreads = {side: cluster_moments(cluster_sums(frame, side, keys), keys) for side in sides}
    return conclude(
        moments(frame, keys, paired=observations.paired), spreads, keys, paired=observations.paired
    )


def sides_of(*, paired: bool) -> list[str]:
    """Return the columns whose spread makes the standard error: differences, or both versions' scores."""
    return ["d"] if paired else ["b", "c"]


def scores_of(observations: Observations, metric: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return scores ``b`` and ``c``, their difference ``d`` and labels ``bp`` and ``cp`` of one metric."""
    columns = [pl.col(f"{metric}:{end}").alias(end) for end in ("b", "c", "bp", "cp")]
    cluster = ["cluster"] if observations.clustered else []
    return observations.frame.select(*keys, *cluster, *columns).with_columns(d=C - B)


def conclude(
    sums: pl.DataFrame, spreads: Mapping[str, pl.DataFrame], keys: Sequence[str], *, paired: bool
) -> pl.DataFrame:
    """Make estimates of `moments`, and of `cluster_moments` by side where there are clusters."""
    arms = _paired(sums) if paired else _unpaired(sums)
    sides = sides_of(paired=paired)
    clusters = pl.lit(None, dtype=pl.Int64)
    if spreads:
        # A cluster counts once, so its spread replaces that of the rows.
        for side in sides:
            spread = spreads[side].select(*keys, *_cluster_variance(side))
            arms = arms.drop(f"v_{side}", f"df_{side}")
            arms = (
                arms.join(spread, on=list(keys), how="left", nulls_equal=True)
                if keys
                else pl.concat([arms, spread], how="horizontal")
            )
        clusters = pl.sum_horizontal(pl.col(f"g_{side}") for side in sides).cast(pl.Int64)
    return arms.select(
        *keys,
        "n",
        "n_baseline_only",
        "n_candidate_only",
        clusters.alias("clusters"),
        pl.lit(paired).alias("paired"),
        "baseline_mean",
        "candidate_mean",
        _negligible_is_none(pl.col("difference")).alias("difference"),
        *_standard_error(sides),
        "correlation",
        "baseline_pass_rate",
        "candidate_pass_rate",
        "newly_failing",
        "newly_passing",
        "baseline_labels",
        "candidate_labels",
    )


def _aggregate(frame: pl.LazyFrame, keys: Sequence[str], aggregations: Sequence[pl.Expr]) -> pl.DataFrame:
    query = frame.group_by(keys).agg(aggregations) if keys else frame.select(aggregations)
    return aggregated(query)


def moments(frame: pl.DataFrame, keys: Sequence[str], *, paired: bool) -> pl.DataFrame:
    """Count, average and take the variance of `scores_of`, for each combination of `keys`."""
    return _paired_moments(frame, keys) if paired else _unpaired_moments(frame, keys)


def _paired_moments(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    both = pl.col("d").is_not_null()
    labelled = pl.col("bp").is_not_null() & pl.col("cp").is_not_null() & both
    before, after = pl.col("bp") > 0.5, pl.col("cp") > 0.5
    prepared = frame.lazy().with_columns(
        only_b=B.is_not_null() & C.is_null(),
        only_c=C.is_not_null() & B.is_null(),
        b=pl.when(both).then(B),
        c=pl.when(both).then(C),
        bp=pl.when(labelled).then("bp"),
        cp=pl.when(labelled).then("cp"),
        failing=labelled & before & ~after,
        passing=labelled & ~before & after,
    )
    aggregations = [
        D.count().cast(pl.Int64).alias("n"),
        pl.col("only_b").sum().cast(pl.Int64).alias("n_baseline_only"),
        pl.col("only_c").sum().cast(pl.Int64).alias("n_candidate_only"),
        B.mean().alias("baseline_mean"),
        C.mean().alias("candidate_mean"),
        D.mean().alias("difference"),
        D.var().alias("var_d"),
        B.var().alias("var_b"),
        C.var().alias("var_c"),
        pl.col("bp").mean().alias("baseline_pass_rate"),
        pl.col("cp").mean().alias("candidate_pass_rate"),
        pl.col("failing").sum().cast(pl.Int64).alias("newly_failing"),
        pl.col("passing").sum().cast(pl.Int64).alias("newly_passing"),
        pl.col("bp").count().cast(pl.Int64).alias("labels"),
    ]
    return _aggregate(prepared, keys, aggregations)


def _paired(sums: pl.DataFrame) -> pl.DataFrame:
    spread = (pl.col("var_b") * pl.col("var_c")).sqrt()
    covariance = (pl.col("var_b") + pl.col("var_c") - pl.col("var_d")) / 2
    flips = [
        pl.when(pl.col("labels") > 0).then(name).alias(name) for name in ("newly_failing", "newly_passing")
    ]
    return sums.with_columns(
        *flips,
        correlation=pl.when(spread > NEGLIGIBLE**2).then((covariance / spread).clip(-1, 1)),
        v_d=pl.when(pl.col("n") > 1).then(pl.col("var_d") / pl.col("n")),
        df_d=pl.col("n") - 1,
        baseline_labels=pl.col("labels"),
        candidate_labels=pl.col("labels"),
    )


def _unpaired_moments(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    aggregations = [
        B.count().cast(pl.Int64).alias("n_baseline_only"),
        C.count().cast(pl.Int64).alias("n_candidate_only"),
        B.mean().alias("baseline_mean"),
        C.mean().alias("candidate_mean"),
        B.var().alias("var_b"),
        C.var().alias("var_c"),
        pl.col("bp").mean().alias("baseline_pass_rate"),
        pl.col("cp").mean().alias("candidate_pass_rate"),
        pl.col("bp").count().cast(pl.Int64).alias("baseline_labels"),
        pl.col("cp").count().cast(pl.Int64).alias("candidate_labels"),
    ]
    return _aggregate(frame.lazy(), keys, aggregations)


def _unpaired(sums: pl.DataFrame) -> pl.DataFrame:
    n_b, n_c = pl.col("n_baseline_only"), pl.col("n_candidate_only")
    nothing = pl.lit(None, dtype=pl.Int64)
    return sums.with_columns(
        n=n_b + n_c,
        difference=pl.col("candidate_mean") - pl.col("baseline_mean"),
        correlation=pl.lit(None, dtype=pl.Float64),
        newly_failing=nothing,
        newly_passing=nothing,
        v_b=pl.when(n_b > 1).then(pl.col("var_b") / n_b),
        v_c=pl.when(n_c > 1).then(pl.col("var_c") / n_c),
        df_b=n_b - 1,
        df_c=n_c - 1,
    )


def cluster_sums(frame: pl.DataFrame, side: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return ``total`` and ``size`` of each cluster in one column of `scores_of`."""
    value = pl.col(side)
    return aggregated(
        frame.lazy()
        .filter(value.is_not_null())
        .group_by(*keys, "cluster", maintain_order=True)
        .agg(total=value.sum(), size=value.count().cast(pl.Int64))
    )


def cluster_moments(sums: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Count clusters (``groups``) and rows, and sum the squares of each cluster's ``total - size * mean``."""
    total, size = pl.col("total"), pl.col("size")
    mean = total.sum() / size.sum()
    residual = total - size * mean
    return _aggregate(
        sums.lazy(),
        keys,
        [
            pl.len().cast(pl.Int64).alias("groups"),
            size.sum().alias("rows"),
            mean.alias("mean"),
            residual.pow(2).sum().alias("residual_squares"),
            (residual * size).sum().alias("residual_sizes"),
            size.cast(pl.Float64).pow(2).sum().alias("size_squares"),
        ],
    )


def _cluster_variance(side: str) -> list[pl.Expr]:
    """Return the squared cluster-robust standard error of a mean, with its degrees of freedom."""
    groups = pl.col("groups")
    squared = pl.col("residual_squares") / pl.col("rows").cast(pl.Float64).pow(2) * groups / (groups - 1)
    return [
        pl.when(groups > 1).then(squared).alias(f"v_{side}"),
        (groups - 1).alias(f"df_{side}"),
        groups.alias(f"g_{side}"),
    ]


def _standard_error(sides: Sequence[str]) -> list[pl.Expr]:
    """Return the standard error of the difference and its (Welch–Satterthwaite) degrees of freedom."""
    v = [pl.col(f"v_{side}") for side in sides]
    total = v[0] if len(v) == 1 else v[0] + v[1]
    se = _negligible_is_none(total.sqrt())
    if len(v) == 1:
        df = pl.col(f"df_{sides[0]}").cast(pl.Float64)
    else:
        df = total.pow(2) / (v[0].pow(2) / pl.col(f"df_{sides[0]}") + v[1].pow(2) / pl.col(f"df_{sides[1]}"))
    return [se.alias("se"), pl.when(se > 0).then(df).alias("df")]


def _negligible_is_none(value: pl.Expr) -> pl.Expr:
    return pl.when(value.abs() < NEGLIGIBLE).then(0.0).otherwise(value)
