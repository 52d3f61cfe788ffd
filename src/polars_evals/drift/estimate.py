"""Means, differences and their standard errors, as Polars aggregations over all items or by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.inference import NEGLIGIBLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.pairing import Observations

B, C, D = pl.col("b"), pl.col("c"), pl.col("d")


def estimate(observations: Observations, metric: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return one row for each combination of `keys` (one row without any): what `infer` needs."""
    columns = [pl.col(f"{metric}:{end}").alias(end) for end in ("b", "c", "bp", "cp")]
    frame = observations.frame.select(*keys, *(["cluster"] if observations.clustered else []), *columns)
    arms = _paired(frame, keys) if observations.paired else _unpaired(frame, keys)
    if observations.clustered:
        # A cluster counts once, so its spread replaces that of the rows.
        sides = ["d"] if observations.paired else ["b", "c"]
        if observations.paired:
            frame = frame.with_columns(d=C - B)
        for side in sides:
            spread = _clustered(frame, side, keys)
            arms = arms.drop(f"v_{side}", f"df_{side}")
            arms = (
                arms.join(spread, on=list(keys), how="left", nulls_equal=True)
                if keys
                else pl.concat([arms, spread], how="horizontal")
            )
        clusters = pl.sum_horizontal(pl.col(f"g_{side}") for side in sides).cast(pl.Int64)
    else:
        clusters = pl.lit(None, dtype=pl.Int64)
    return arms.select(
        *keys,
        "n",
        "n_baseline_only",
        "n_candidate_only",
        clusters.alias("clusters"),
        pl.lit(observations.paired).alias("paired"),
        "baseline_mean",
        "candidate_mean",
        _negligible_is_none(pl.col("difference")).alias("difference"),
        *_standard_error(["d"] if observations.paired else ["b", "c"]),
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
    return query.collect(engine="streaming")


def _paired(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    both = pl.col("d").is_not_null()
    labelled = pl.col("bp").is_not_null() & pl.col("cp").is_not_null() & both
    before, after = pl.col("bp") > 0.5, pl.col("cp") > 0.5
    prepared = (
        frame.lazy()
        .with_columns(d=C - B)
        .with_columns(
            only_b=B.is_not_null() & C.is_null(),
            only_c=C.is_not_null() & B.is_null(),
            b=pl.when(both).then(B),
            c=pl.when(both).then(C),
            bp=pl.when(labelled).then("bp"),
            cp=pl.when(labelled).then("cp"),
            failing=labelled & before & ~after,
            passing=labelled & ~before & after,
        )
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
    spread = (pl.col("var_b") * pl.col("var_c")).sqrt()
    covariance = (pl.col("var_b") + pl.col("var_c") - pl.col("var_d")) / 2
    flips = [
        pl.when(pl.col("labels") > 0).then(name).alias(name) for name in ("newly_failing", "newly_passing")
    ]
    return _aggregate(prepared, keys, aggregations).with_columns(
        *flips,
        correlation=pl.when(spread > NEGLIGIBLE**2).then((covariance / spread).clip(-1, 1)),
        v_d=pl.when(pl.col("n") > 1).then(pl.col("var_d") / pl.col("n")),
        df_d=pl.col("n") - 1,
        baseline_labels=pl.col("labels"),
        candidate_labels=pl.col("labels"),
    )


def _unpaired(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
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
    n_b, n_c = pl.col("n_baseline_only"), pl.col("n_candidate_only")
    nothing = pl.lit(None, dtype=pl.Int64)
    return _aggregate(frame.lazy(), keys, aggregations).with_columns(
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


def _clustered(frame: pl.DataFrame, side: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return the squared cluster-robust standard error of a mean, with its degrees of freedom."""
    value = pl.col(side)
    sums = (
        frame.lazy()
        .filter(value.is_not_null())
        .group_by(*keys, "cluster")
        .agg(total=value.sum(), size=value.count().cast(pl.Int64))
    )
    total, size, groups = pl.col("total"), pl.col("size"), pl.len().cast(pl.Int64)
    residual = total - size * (total.sum() / size.sum())
    squared = residual.pow(2).sum() / size.sum().cast(pl.Float64).pow(2) * groups / (groups - 1)
    return _aggregate(
        sums,
        keys,
        [
            pl.when(groups > 1).then(squared).alias(f"v_{side}"),
            (groups - 1).alias(f"df_{side}"),
            groups.alias(f"g_{side}"),
        ],
    )


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
