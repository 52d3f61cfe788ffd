"""Search the slices that moved, over low-cardinality columns and their pairs."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_evals.drift.columns import aggregated, trait
from polars_evals.drift.components import MEAN
from polars_evals.drift.inference import floats
from polars_evals.drift.inference.clusters import residuals, robust_df, robust_variance
from polars_evals.drift.inference.intervals import t_interval
from polars_evals.drift.inference.multiple import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Schema
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.inference.estimate import Estimates
    from polars_evals.drift.pair import Observations

MOST_VALUES = 20
FEWEST_ITEMS = 30
FEWEST_CLUSTERS = 10
# Questions and answers are never slices, however few they are; what is expected may be one of a few labels.
TEXTS = {"input", "output"}
# Slices that are as clear as each other differ in the last bits.
TIE = 1 - 1e-9


def may_be_searched(schema: Schema, taken: set[str]) -> list[str]:
    """Return the columns of text, number or truth that play no other part."""
    apart = ("_score", "_label", "_signature")
    return [
        name
        for name, dtype in schema.items()
        if name not in taken | TEXTS
        and not name.endswith(apart)
        and (dtype.is_integer() or dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum))
    ]


def searchable(frame: pl.LazyFrame, schema: Schema, taken: set[str]) -> list[str]:
    """Return those that have 2 to 20 values."""
    names = may_be_searched(schema, taken)
    # The first rows rule out most columns before any is read in full.
    for part in (frame.head(20_000), frame):
        if not names:
            break
        counts = part.select(pl.col(name).n_unique() for name in names).collect(engine="streaming")
        names = [name for name in names if counts[name].item() <= MOST_VALUES]
    return [name for name in names if counts[name].item() >= 2]


class Search:
    """The slices of one candidate and metric: their tests, and which of them to list."""

    def __init__(self, observations: Observations, metric: str, columns: Sequence[str]) -> None:
        self.observations, self.metric = observations, metric
        self.arms = ["d"] if observations.paired else ["b", "c"]
        values = {
            "d": pl.col(f"{metric}:c") - pl.col(f"{metric}:b"),
            "b": pl.col(f"{metric}:b"),
            "c": pl.col(f"{metric}:c"),
        }
        self.clustered = observations.clustered
        keys = [trait(name) for name in columns] + (["cluster"] if self.clustered else [])
        # Every test needs only counts, sums and squares by combination of values, so they are taken once.
        self.cells = aggregated(
            observations.frame.lazy()
            .select(*keys, *(values[arm].alias(arm) for arm in self.arms))
            # Where there is nothing to group by, all rows are one group; before 1.36, Polars wants it said.
            .group_by(keys or [pl.lit(True).alias("all")], maintain_order=True)
            .agg(
                e
                for arm in self.arms
                for e in (
                    pl.col(arm).count().cast(pl.Float64).alias(f"n_{arm}"),
                    pl.col(arm).sum().alias(f"s_{arm}"),
                    pl.col(arm).pow(2).sum().alias(f"q_{arm}"),
                )
            )
        )
        sets = [(name,) for name in columns] + list(combinations(columns, 2))
        tried = [self._estimates(self.cells, by) for by in sets]
        self.tried = (
            pl.concat(tried)
            if tried
            else pl.DataFrame(schema=dict.fromkeys(["difference", "se", "df"], pl.Float64))
        )

    def add(self, index: int, estimates: Estimates) -> None:
        """Add the row of a slice to the estimates."""
        by, value = (self.tried[name][index].to_list() for name in ("by", "value"))
        estimates.add(self.observations, self.metric, self.observations.slicing(by), only=value)

    def listed(self, moved: Sequence[int], alpha: float) -> list[int]:
        """
        Return those of the slices that moved which the others do not explain.

        A slice is listed when it moved differently from the rest of the items, and still did once the items
        of the slices listed before it, the clearest first, were taken out. Two slices that complement each
        other are as clear as each other, and both are listed.
        """
        active, remaining, listed = self.cells, list(moved), list[int]()
        p, clarity = self._contrasts(active, remaining)
        passed = benjamini_hochberg(p) <= alpha
        while passed.any():
            order = np.where(passed, clarity, -1.0)
            tied = [remaining[i] for i in np.flatnonzero(order >= order.max() * TIE)]
            # Columns that split the items alike name the same slices twice.
            once = {tuple(np.round(self.tried.row(i)[2:4], 9)): i for i in reversed(tied)}
            listed += sorted(once.values())
            active = active.filter(~self._inside(min(tied)))
            remaining = [i for i, ok in zip(remaining, passed, strict=True) if ok and i not in tied]
            p, clarity = self._contrasts(active, remaining)
            passed = p <= alpha / max(len(remaining), 1)
        return listed

    def _inside(self, index: int) -> pl.Expr:
        by, value = self.tried["by"][index], self.tried["value"][index]
        return pl.all_horizontal(pl.col(trait(name)).eq_missing(v) for name, v in zip(by, value, strict=True))

    def _contrasts(self, cells: pl.DataFrame, slices: Sequence[int]) -> tuple[Floats, Floats]:
        """Return p-value and |t| of each slice's difference against that of all other items."""
        rows = []
        for index in slices:
            sides = self._moments(cells.with_columns(inside=self._inside(index)), ["inside"])
            if sides.height < 2:
                rows.append((np.nan, np.nan, np.nan))
                continue
            v, df = (sides.select(pl.selectors.starts_with(f"{c}_")).to_numpy().ravel() for c in ("v", "df"))
            inside, outside = sides.sort("inside", descending=True)["difference"]
            with np.errstate(invalid="ignore", divide="ignore"):
                rows.append((inside - outside, np.sqrt(v.sum()), v.sum() ** 2 / (v**2 / df).sum()))
        difference, se, df = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        _, _, p = t_interval(difference, se, df, 0.5)
        with np.errstate(invalid="ignore", divide="ignore"):
            clarity = np.abs(difference) / se
        return np.where(np.isnan(p), 1.0, p), np.nan_to_num(clarity, nan=0.0, posinf=np.inf)

    def _estimates(self, cells: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        keys = [trait(name) for name in by]
        v = [pl.col(f"v_{arm}") for arm in self.arms]
        total = pl.sum_horizontal(v)
        df = total.pow(2) / pl.sum_horizontal(
            e.pow(2) / pl.col(f"df_{arm}") for e, arm in zip(v, self.arms, strict=True)
        )
        return self._moments(cells, keys, smallest=FEWEST_ITEMS).select(
            pl.lit(list(by), dtype=pl.List(pl.String)).alias("by"),
            pl.concat_list(keys).alias("value"),
            "difference",
            total.sqrt().alias("se"),
            pl.when(total > 0).then(df).alias("df"),
        )

    def _moments(self, cells: pl.DataFrame, keys: Sequence[str], smallest: int = 2) -> pl.DataFrame:
        """Return by key the difference, and of each arm the squared standard error with its degrees."""
        sums = aggregated(
            cells.lazy()
            .group_by(*keys, *(["cluster"] if self.clustered else []), maintain_order=True)
            .agg(pl.selectors.starts_with("n_", "s_", "q_").sum())
        )
        made: dict[str, pl.Expr] = {}
        enough = []
        for arm in self.arms:
            n, s, q = (pl.col(f"{c}_{arm}") for c in ("n", "s", "q"))
            mean = s.sum() / n.sum()
            if self.clustered:
                squared, df = robust_variance(residuals(s, n), n), robust_df(n)
            else:
                squared = (q.sum() - s.sum() * mean).clip(0.0) / (n.sum() - 1) / n.sum()
                df = n.sum() - 1
            made |= {f"mean_{arm}": mean, f"v_{arm}": squared, f"df_{arm}": df}
            made |= {f"n_{arm}": n.sum(), f"groups_{arm}": (n > 0).sum()}
            enough += [pl.col(f"n_{arm}") >= smallest, pl.col(f"df_{arm}").is_finite()]
            if self.clustered and smallest > 2:
                enough.append(pl.col(f"groups_{arm}") >= FEWEST_CLUSTERS)
        means = [pl.col(f"mean_{arm}") for arm in self.arms]
        difference = means[0] if len(means) == 1 else means[1] - means[0]
        return aggregated(
            sums.lazy()
            .group_by(keys, maintain_order=True)
            .agg(**made)
            .filter(*enough)
            .with_columns(difference=difference)
        )


def search_slices(
    estimates: Estimates, searches: Sequence[Search], traits: Sequence[str]
) -> tuple[Floats, str]:
    """Add the slices that moved, and return the p-values of the others that were tried and a note on both."""
    spec = estimates.spec
    rows, _ = estimates.frames()
    means = rows.filter(pl.col("component") == MEAN).select("candidate", "metric", "min_effect")
    effects = {(candidate, metric): effect for candidate, metric, effect in means.iter_rows()}
    columns = [[floats(one.tried[name]) for name in ("difference", "se", "df")] for one in searches]
    tests = [t_interval(d, se, df, 0.5)[2] for d, se, df in columns]
    # Slices are a family of their own, with half of alpha.
    q = 2 * benjamini_hochberg(np.concatenate(tests))
    start, shown, unseen = 0, 0, []
    for search, p, (difference, *_) in zip(searches, tests, columns, strict=True):
        corrected = q[start : start + len(p)]
        start += len(p)
        effect = effects.get((search.observations.candidate, search.metric)) or 0.0
        large = np.abs(difference) >= effect
        moved = np.flatnonzero(large & (corrected <= spec.alpha))
        listed = search.listed([int(i) for i in moved], spec.alpha)
        unseen.append(np.delete(p, listed))
        shown += len(listed)
        for index in listed:
            search.add(index, estimates)
    also_tried = np.concatenate(unseen)
    if not traits:
        return also_tried, "by='auto' found no column with 2 to 20 values that describes the items"
    tally = f"tried {len(also_tried) + shown:,} slices of {', '.join(traits)} and lists {shown:,}"
    return also_tried, f"by='auto' {tally} that changed differently from the rest"
