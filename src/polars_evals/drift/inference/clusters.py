"""
Standard errors of means over clusters of any size: CR2 with Bell and McCaffrey's degrees of freedom.

Everything here is a sum over clusters of what their sizes, and the sums of their residuals, say; clusters
of one size count together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from polars_evals.drift.columns import aggregated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.inference import Floats

# With fewer clusters no test of the signs of whole clusters can reach 5%.
FEWEST = 6


class Spread(NamedTuple):
    """A squared standard error with its degrees of freedom, effective number of clusters, and skewness."""

    variance: float
    df: float
    effective: float
    skew: float


NOTHING = Spread(np.nan, np.nan, np.nan, np.nan)


def one_mean(size: Floats, groups: Floats, mean: Floats, squares: Floats, cubes: Floats) -> Spread:
    """
    Return the spread of a mean over clusters.

    Parameters
    ----------
    size, groups
        The different sizes of clusters, and how many clusters have each.
    mean, squares, cubes
        Of the totals of clusters of one size: their mean, and the sums of their squared and cubed deviations
        from it.

    Notes
    -----
    CR2 divides the squared residual sum of a cluster by 1 − h, with h its share of the items, which makes
    the variance unbiased if items are independent; if all items of a cluster are alike it is still too
    small where sizes differ. So both working models are made, each with its own degrees of freedom (the
    Satterthwaite approximation to the distribution of the estimate under that model), and the wider
    interval is taken. For equal sizes both are the classic ones: the variance of cluster means over their
    number G, with G − 1 degrees.
    """
    n, count = float(size @ groups), float(groups.sum())
    if count < 2:
        return NOTHING
    h = size / n
    centre = float(groups @ mean) / n
    shift = mean - size * centre
    residual = squares + groups * shift**2
    variance = float((residual / (1 - h)).sum()) / n**2
    total = float(residual.sum())
    third = float((cubes + 3 * squares * shift + groups * shift**3).sum())
    skew = third / total**1.5 if total > 0 else 0.0
    a = 1 / (1 - h)
    effective = 1 / float(groups @ h**2)
    alone = 1 / (groups @ h**2 + (groups @ (a * h**2)) ** 2 - groups @ (a**2 * h**4))
    trace, alike = _alike(groups, h, a)
    # Two candidates for the interval; 2.5% is the usual tail, and the order hardly depends on it.
    models = [(variance, float(alone)), (variance / (effective * trace), alike)]
    return Spread(*max(models, key=_width), effective, skew)


def _alike(groups: Floats, h: Floats, a: Floats) -> tuple[float, float]:
    """Return expectation and degrees of freedom of CR2 where all items of a cluster are alike."""
    share = float(groups @ h**2)
    p0, p1, p2 = (float(groups @ (a * h ** (2 + j))) for j in range(3))
    trace = float(groups @ (a * h**2 * (1 + share - 2 * h)))
    pairs = share**2 * p0**2 + 2 * p0 * p2 - 4 * share * p0 * p1 + 2 * p1**2
    squared = pairs + float(groups @ (a**2 * h**4 * (1 + 2 * share - 4 * h)))
    return trace, trace**2 / squared


def _width(model: tuple[float, float]) -> float:
    from scipy.special import stdtrit

    variance, df = model
    return float(-stdtrit(df, 0.025) * np.sqrt(variance))


def two_means(
    sizes: tuple[Floats, Floats],
    groups: Floats,
    means: tuple[Floats, Floats],
    squares: tuple[Floats, Floats],
    products: Floats,
) -> Spread:
    """
    Return the spread of a difference of two means, where clusters may have items of both.

    Parameters
    ----------
    sizes, groups
        The different sizes of clusters, in the baseline and in the candidate, and how many clusters have
        each.
    means, squares, products
        Of the totals of clusters of one size: their means, the sums of their squared deviations from them,
        and of the products of both deviations.

    Notes
    -----
    What a cluster does to both means counts together: a cluster of hard items lowers both, and hardly moves
    their difference. The degrees of freedom are those of independent items.
    """
    n = [float(size @ groups) for size in sizes]
    if any(groups[size > 0].sum() < 2 for size in sizes):
        return NOTHING
    shares = [size / rows for size, rows in zip(sizes, n, strict=True)]
    a = [1 / (1 - h) for h in shares]
    shifts = [mean - h * (groups @ mean) for h, mean in zip(shares, means, strict=True)]
    weights = [np.sqrt(a_) / rows for a_, rows in zip(a, n, strict=True)]
    variance = -2 * float((weights[0] * weights[1]) @ (products + groups * shifts[0] * shifts[1]))
    own = 0.0
    for h, a_, rows, weight, square, shift in zip(shares, a, n, weights, squares, shifts, strict=True):
        variance += float(weight**2 @ (square + groups * shift**2))
        own += float(groups @ h**2 + (groups @ (a_ * h**2)) ** 2 - groups @ (a_**2 * h**4)) / rows**2
    both = shares[0] * shares[1]
    cross = groups @ both + (groups @ (np.sqrt(a[0] * a[1]) * both)) ** 2 - groups @ (a[0] * a[1] * both**2)
    df = (1 / n[0] + 1 / n[1]) ** 2 / (own + 2 * float(cross) / (n[0] * n[1]))
    effective = 1 / sum(float(groups @ h**2) for h in shares)
    return Spread(max(variance, 0.0), df, effective, 0.0)


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
