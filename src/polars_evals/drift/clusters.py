"""What is summed up of clusters: their totals, by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from polars_evals.drift.columns import aggregated
from polars_evals.drift.robust import NOTHING, Spread, one_mean, two_means

if TYPE_CHECKING:
    from collections.abc import Sequence

# Clusters of one size count together: ``size`` of the differences, or of the candidate's values beside
# ``size_b`` of the baseline's where nothing pairs them.
SIZES = ["size", "size_b"]


def residuals(total: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Return how far the sum of each cluster is from what its size alone would make it."""
    return total - size * (total.sum() / size.sum())


def robust_variance(residual: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Return the squared standard error of a mean over clusters, given their residuals (CR2)."""
    rows = size.sum()
    return (residual.pow(2) / (1 - size / rows)).sum() / rows.cast(pl.Float64).pow(2)


def robust_df(size: pl.Expr) -> pl.Expr:
    """Return the degrees of freedom of `robust_variance` where items are independent."""
    share = size / size.sum()
    leverage = 1 / (1 - share)
    squared = leverage * share.pow(2)
    return 1 / (share.pow(2).sum() + squared.sum().pow(2) - squared.pow(2).sum())


def cluster_sums(frame: pl.DataFrame, sides: Sequence[str], keys: Sequence[str]) -> pl.DataFrame:
    """Return ``total`` and ``size`` of each cluster in one column of values, or in two (``_b`` the first)."""
    value, before = pl.col(sides[-1]), pl.col(sides[0]) if len(sides) > 1 else pl.lit(None, dtype=pl.Float64)
    return aggregated(
        frame.lazy()
        .filter(value.is_not_null() | before.is_not_null())
        .group_by(*keys, "cluster", maintain_order=True)
        .agg(
            total=value.sum().cast(pl.Float64),
            size=value.count().cast(pl.Int64),
            total_b=before.sum().cast(pl.Float64),
            size_b=before.count().cast(pl.Int64),
        )
    )


def _about(name: str) -> pl.Expr:
    return pl.col(name) - pl.col(name).mean()


# Of the totals of clusters of one size: how many, their means, and the squares, cubes and products of their
# deviations, so that the mean over all clusters can be moved to later.
SPREAD = {
    "groups": pl.len().cast(pl.Int64),
    "mean": pl.col("total").mean(),
    "mean_b": pl.col("total_b").mean(),
    "squares": _about("total").pow(2).sum(),
    "squares_b": _about("total_b").pow(2).sum(),
    "products": (_about("total") * _about("total_b")).sum(),
    "cubes": _about("total").pow(3).sum(),
}


def cluster_spread(sums: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Sum up whole clusters, given totals and sizes of each, for each combination of `keys` and size."""
    values = [one.alias(name) for name, one in SPREAD.items()]
    return aggregated(sums.lazy().group_by(*keys, *SIZES, maintain_order=True).agg(values)).sort(SIZES)


class Clustered(NamedTuple):
    """What clusters say about a difference; `fewest` is their number in the version that has fewer."""

    spread: Spread
    clusters: int
    fewest: int


def spread_of(part: pl.DataFrame, *, paired: bool) -> Clustered:
    """Return what `cluster_spread` shows of one slice."""
    size, size_b, *sums = (part[name].cast(pl.Float64).to_numpy() for name in (*SIZES, *SPREAD))
    groups, mean_, mean_b, squares_, squares_b, products_, cubes_ = sums
    counts = [int(groups[one > 0].sum()) for one in ((size,) if paired else (size_b, size))]
    if not min(counts):
        spread = NOTHING
    elif paired:
        spread = one_mean(size, groups, mean_, squares_, cubes_)
    else:
        spread = two_means((size_b, size), groups, (mean_b, mean_), (squares_b, squares_), products_)
    return Clustered(spread, sum(counts), min(counts))
