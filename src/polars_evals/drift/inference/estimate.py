"""
Means, differences and their standard errors, as Polars aggregations over all items or by slice.

`moments` and `cluster_spread` sum up the rows, `estimate_sums` makes estimates of the sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.columns import aggregated
from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.inference.clusters import cluster_spread, cluster_sums, spread_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.pair import Observations

B, C, D, DP = pl.col("b"), pl.col("c"), pl.col("d"), pl.col("dp")

# The two things that are judged, the mean score and the pass rate, and what their columns begin with.
ESTIMANDS = {"score": "", "pass": "pass_"}


def estimate_metric(observations: Observations, metric: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return one row for each combination of `keys` (one row without any): what `test` needs."""
    frame = scores_of(observations, metric, keys)
    spreads = {}
    if observations.clustered:
        sides = sides_of(paired=observations.paired)
        spreads = {one: cluster_spread(cluster_sums(frame, sides[one], keys), keys) for one in ESTIMANDS}
    return estimate_sums(
        moments(frame, keys, paired=observations.paired), spreads, keys, paired=observations.paired
    )


def sides_of(*, paired: bool) -> dict[str, list[str]]:
    """Return by estimand the columns whose spread makes the standard error: differences, or both versions."""
    return {"score": ["d"], "pass": ["dp"]} if paired else {"score": ["b", "c"], "pass": ["bp", "cp"]}


def scores_of(observations: Observations, metric: str, keys: Sequence[str]) -> pl.DataFrame:
    """
    Return scores ``b`` and ``c`` and pass rates ``bp`` and ``cp`` of one metric.

    Paired, with their differences ``d`` and ``dp``, and whether the item has ``many`` rows in a version.
    """
    columns = [pl.col(f"{metric}:{end}").alias(end) for end in ("b", "c", "bp", "cp")]
    cluster = ["cluster"] if observations.clustered else []
    many = ["many"] if observations.paired else []
    frame = observations.frame.select(*keys, *cluster, *many, *columns)
    if not observations.paired:
        return frame
    rate = pl.col("cp").cast(pl.Float64) - pl.col("bp").cast(pl.Float64)
    return frame.with_columns(d=C - B).with_columns(dp=pl.when(D.is_not_null()).then(rate))


def estimate_sums(
    sums: pl.DataFrame, spreads: Mapping[str, pl.DataFrame], keys: Sequence[str], *, paired: bool
) -> pl.DataFrame:
    """Make estimates of `moments`, and of `cluster_spread` by estimand where there are clusters."""
    arms = _paired(sums) if paired else _unpaired(sums)
    nothing = pl.lit(None, dtype=pl.Int64)
    arms = arms.with_columns(clusters=nothing, fewest=nothing)
    for estimand, spread in spreads.items():
        arms = _with_clusters(arms, spread, keys, ESTIMANDS[estimand], paired=paired)
    return arms.select(
        *keys,
        "n",
        "n_baseline_only",
        "n_candidate_only",
        "clusters",
        "fewest",
        pl.lit(paired).alias("paired"),
        "baseline_mean",
        "candidate_mean",
        "difference",
        "correlation",
        "baseline_pass_rate",
        "candidate_pass_rate",
        "pass_rate_difference",
        "newly_failing",
        "newly_passing",
        "baseline_labels",
        "candidate_labels",
        "repeated",
        "lowest",
        "highest",
        *(f"{p}{name}" for p in ESTIMANDS.values() for name in ("se", "df", "effective", "skew")),
    ).with_columns(
        _negligible_is_none(name) for name in ("difference", "pass_rate_difference", "se", "pass_se")
    )


def _with_clusters(
    arms: pl.DataFrame, spread: pl.DataFrame, keys: Sequence[str], prefix: str, *, paired: bool
) -> pl.DataFrame:
    """Let the spread of clusters replace that of the rows: a cluster counts once."""
    parts = dict(spread.group_by(keys)) if keys else {(): spread}
    nothing = spread.clear()
    rows = [
        spread_of(parts.get(key, nothing), paired=paired)
        for key in (arms.select(keys).iter_rows() if keys else [()])
    ]
    found = {
        "se": [row.spread.variance**0.5 for row in rows],
        "df": [row.spread.df for row in rows],
        "effective": [row.spread.effective for row in rows],
        "skew": [row.spread.skew for row in rows],
    }
    counts = (
        []
        if prefix
        else [
            pl.Series("clusters", [row.clusters for row in rows], dtype=pl.Int64),
            pl.Series("fewest", [row.fewest for row in rows], dtype=pl.Int64),
        ]
    )
    return arms.with_columns(
        *(
            pl.Series(f"{prefix}{name}", values, dtype=pl.Float64).fill_nan(None)
            for name, values in found.items()
        ),
        *counts,
    )


def _cubed(value: pl.Expr) -> pl.Expr:
    apart = value - value.mean()
    return (apart * apart * apart).sum()


LOWEST, HIGHEST = pl.min_horizontal(B.min(), C.min()), pl.max_horizontal(B.max(), C.max())

# What is summed up of items, for every slice.
PAIRED = {
    "n": D.count().cast(pl.Int64),
    "n_baseline_only": (B.is_not_null() & C.is_null()).sum().cast(pl.Int64),
    "n_candidate_only": (C.is_not_null() & B.is_null()).sum().cast(pl.Int64),
    "baseline_mean": pl.col("both_b").mean(),
    "candidate_mean": pl.col("both_c").mean(),
    "difference": D.mean(),
    "var_d": D.var(),
    "var_b": pl.col("both_b").var(),
    "var_c": pl.col("both_c").var(),
    "baseline_pass_rate": pl.col("both_bp").mean(),
    "candidate_pass_rate": pl.col("both_cp").mean(),
    "pass_rate_difference": DP.mean(),
    "var_dp": DP.var(),
    "cubes_d": _cubed(D),
    "cubes_dp": _cubed(DP),
    "newly_failing": pl.col("failing").sum().cast(pl.Int64),
    "newly_passing": pl.col("passing").sum().cast(pl.Int64),
    "labels": DP.count().cast(pl.Int64),
    "repeated": pl.col("many").sum().cast(pl.Int64),
    "lowest": LOWEST,
    "highest": HIGHEST,
}

# The same where versions are not paired.
UNPAIRED = {
    "n_baseline_only": B.count().cast(pl.Int64),
    "n_candidate_only": C.count().cast(pl.Int64),
    "baseline_mean": B.mean(),
    "candidate_mean": C.mean(),
    "var_b": B.var(),
    "var_c": C.var(),
    "baseline_pass_rate": pl.col("bp").mean(),
    "candidate_pass_rate": pl.col("cp").mean(),
    "var_bp": pl.col("bp").var(),
    "var_cp": pl.col("cp").var(),
    "cubes_b": _cubed(B),
    "cubes_c": _cubed(C),
    "lowest": LOWEST,
    "highest": HIGHEST,
    "baseline_labels": pl.col("bp").count().cast(pl.Int64),
    "candidate_labels": pl.col("cp").count().cast(pl.Int64),
}


def moments(frame: pl.DataFrame, keys: Sequence[str], *, paired: bool) -> pl.DataFrame:
    """Count, average and take the variance of `scores_of`, for each combination of `keys`."""
    summed = PAIRED if paired else UNPAIRED
    prepared = _prepared(frame.lazy()) if paired else frame.lazy()
    values = [one.alias(name) for name, one in summed.items()]
    return aggregated(prepared.group_by(keys).agg(values) if keys else prepared.select(values))


def _prepared(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Add what only items with a score, or a label, in both versions have."""
    both, labelled = D.is_not_null(), DP.is_not_null()
    bp, cp = pl.col("bp"), pl.col("cp")
    return frame.with_columns(
        both_b=pl.when(both).then(B),
        both_c=pl.when(both).then(C),
        both_bp=pl.when(labelled).then(bp),
        both_cp=pl.when(labelled).then(cp),
        # With repeats the majority counts, and half of them is none.
        failing=labelled & (bp > 0.5) & (cp < 0.5),
        passing=labelled & (bp < 0.5) & (cp > 0.5),
    )


def _paired(sums: pl.DataFrame) -> pl.DataFrame:
    spread = (pl.col("var_b") * pl.col("var_c")).sqrt()
    covariance = (pl.col("var_b") + pl.col("var_c") - pl.col("var_d")) / 2
    flips = [
        pl.when(pl.col("labels") > 0).then(name).alias(name) for name in ("newly_failing", "newly_passing")
    ]
    return sums.with_columns(
        *flips,
        correlation=pl.when(spread > NEGLIGIBLE**2).then((covariance / spread).clip(-1, 1)),
        baseline_labels=pl.col("labels"),
        candidate_labels=pl.col("labels"),
    ).with_columns(
        e
        for prefix, end, n in (("", "d", pl.col("n")), ("pass_", "dp", pl.col("labels")))
        for e in (
            pl.when(n > 1).then((pl.col(f"var_{end}") / n).sqrt()).alias(f"{prefix}se"),
            (n - 1).cast(pl.Float64).alias(f"{prefix}df"),
            n.cast(pl.Float64).alias(f"{prefix}effective"),
            _skewness(pl.col(f"cubes_{end}"), (n - 1) * pl.col(f"var_{end}")).alias(f"{prefix}skew"),
        )
    )


def _skewness(cubed: pl.Expr, squared: pl.Expr) -> pl.Expr:
    return pl.when(squared > NEGLIGIBLE**2).then(cubed / squared.pow(1.5)).otherwise(0.0)


def _unpaired(sums: pl.DataFrame) -> pl.DataFrame:
    n_b, n_c = pl.col("n_baseline_only"), pl.col("n_candidate_only")
    nothing = pl.lit(None, dtype=pl.Int64)
    return (
        sums.with_columns(
            n=n_b + n_c,
            difference=pl.col("candidate_mean") - pl.col("baseline_mean"),
            pass_rate_difference=pl.col("candidate_pass_rate") - pl.col("baseline_pass_rate"),
            correlation=pl.lit(None, dtype=pl.Float64),
            newly_failing=nothing,
            newly_passing=nothing,
            repeated=pl.lit(0, dtype=pl.Int64),
        )
        .with_columns(
            e
            for prefix, ends, ns in (
                ("", "bc", (n_b, n_c)),
                ("pass_", ("bp", "cp"), (pl.col("baseline_labels"), pl.col("candidate_labels"))),
            )
            for e in _welch([pl.col(f"var_{end}") for end in ends], ns, prefix)
        )
        .with_columns(skew=_skewness_of_two(n_b, n_c))
    )


def _skewness_of_two(n_b: pl.Expr, n_c: pl.Expr) -> pl.Expr:
    """Return the skewness of a difference of means: of two alike, as long and as many, it is none."""
    third = pl.col("cubes_c") / n_c.cast(pl.Float64).pow(3) - pl.col("cubes_b") / n_b.cast(pl.Float64).pow(3)
    se = pl.col("se")
    return pl.when(se > NEGLIGIBLE).then(third / se.pow(3)).otherwise(0.0)


def _welch(variances: Sequence[pl.Expr], counts: Sequence[pl.Expr], prefix: str) -> list[pl.Expr]:
    """Return the standard error of a difference of means with Welch and Satterthwaite's degrees."""
    v = [pl.when(n > 1).then(variance / n) for variance, n in zip(variances, counts, strict=True)]
    total = v[0] + v[1]
    df = total.pow(2) / (v[0].pow(2) / (counts[0] - 1) + v[1].pow(2) / (counts[1] - 1))
    return [
        total.sqrt().alias(f"{prefix}se"),
        pl.when(total > 0).then(df).alias(f"{prefix}df"),
        (1 / (1 / counts[0] + 1 / counts[1])).alias(f"{prefix}effective"),
        pl.lit(0.0).alias(f"{prefix}skew"),
    ]


def _negligible_is_none(name: str) -> pl.Expr:
    return pl.when(pl.col(name).abs() < NEGLIGIBLE).then(0.0).otherwise(name).alias(name)
