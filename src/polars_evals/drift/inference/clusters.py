"""
Standard errors of means over clusters of any size: CR2 with Bell and McCaffrey's degrees of freedom.

Everything here is a sum over clusters of what their sizes, and the sums of their residuals, say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

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


def by_cluster(values: Floats, clusters: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the sum and the number of the values of each cluster."""
    _, places, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    return np.bincount(places, weights=values).astype(np.float64), sizes.astype(np.float64)


def one_mean(size: Floats, total: Floats) -> Spread:
    """
    Return the spread of a mean over clusters, given the number of values and their sum in each.

    CR2 divides the squared residual sum of a cluster by 1 − h, with h its share of the items, which makes
    the variance unbiased if items are independent; if all items of a cluster are alike it is still too
    small where sizes differ. So both working models are made, each with its own degrees of freedom (the
    Satterthwaite approximation to the distribution of the estimate under that model), and the wider
    interval is taken. For equal sizes both are the classic ones: the variance of cluster means over their
    number G, with G − 1 degrees.
    """
    if len(size) < 2:
        return NOTHING
    n = float(size.sum())
    h = size / n
    residual = total - h * total.sum()
    squares = residual**2
    variance = float((squares / (1 - h)).sum()) / n**2
    spread = float(squares.sum())
    skew = float((squares * residual).sum()) / spread**1.5 if spread > 0 else 0.0
    a = 1 / (1 - h)
    effective = 1 / float(h @ h)
    alone = 1 / (h @ h + (a @ h**2) ** 2 - a**2 @ h**4)
    trace, alike = _alike(h, a)
    # Two candidates for the interval; 2.5% is the usual tail, and the order hardly depends on it.
    models = [(variance, float(alone)), (variance / (effective * trace), alike)]
    return Spread(*max(models, key=_width), effective, skew)


def _alike(h: Floats, a: Floats) -> tuple[float, float]:
    """Return expectation and degrees of freedom of CR2 where all items of a cluster are alike."""
    share = float(h @ h)
    p0, p1, p2 = (float(a @ h ** (2 + j)) for j in range(3))
    trace = float((a * h**2) @ (1 + share - 2 * h))
    pairs = share**2 * p0**2 + 2 * p0 * p2 - 4 * share * p0 * p1 + 2 * p1**2
    squared = pairs + float((a**2 * h**4) @ (1 + 2 * share - 4 * h))
    return trace, trace**2 / squared


def _width(model: tuple[float, float]) -> float:
    variance, df = model
    return float(-stdtrit(df, 0.025) * np.sqrt(variance))


def two_means(sizes: Sequence[Floats], totals: Sequence[Floats]) -> Spread:
    """
    Return the spread of a difference of two means, where clusters may have items of both.

    `sizes` and `totals` have a row for the baseline and one for the candidate, and a column a cluster. What a
    cluster does to both means counts together: a cluster of hard items lowers both, and hardly moves their
    difference. The degrees of freedom are those of independent items.
    """
    if any((size > 0).sum() < 2 for size in sizes):
        return NOTHING
    n = [float(size.sum()) for size in sizes]
    shares = [size / rows for size, rows in zip(sizes, n, strict=True)]
    a = [1 / (1 - h) for h in shares]
    residuals_ = [total - h * total.sum() for h, total in zip(shares, totals, strict=True)]
    weights = [np.sqrt(a_) / rows for a_, rows in zip(a, n, strict=True)]
    variance = float(((weights[1] * residuals_[1] - weights[0] * residuals_[0]) ** 2).sum())
    own = sum(
        float(h @ h + (a_ @ h**2) ** 2 - a_**2 @ h**4) / rows**2
        for h, a_, rows in zip(shares, a, n, strict=True)
    )
    both = shares[0] * shares[1]
    cross = both.sum() + (np.sqrt(a[0] * a[1]) @ both) ** 2 - (a[0] * a[1]) @ both**2
    df = (1 / n[0] + 1 / n[1]) ** 2 / (own + 2 * float(cross) / (n[0] * n[1]))
    effective = 1 / sum(float(h @ h) for h in shares)
    return Spread(variance, df, effective, 0.0)


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
