"""Coefficients of agreement, from how often each combination of ratings occurs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

LEVELS = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Ratings:
    """
    Combinations of ratings, and how many items have each.

    `patterns` has a row for each combination and a column for each rater: the place of the rating among all
    values, or −1 for none.
    """

    patterns: Floats
    counts: Floats
    values: Floats
    level: str

    @classmethod
    def of(cls, codes: pl.DataFrame, values: Floats, level: str) -> Ratings:
        """Count the combinations of items with at least two ratings."""
        raters = codes.columns
        kept = codes.fill_null(-1).filter(pl.sum_horizontal(pl.col(raters) >= 0) >= 2)
        seen = kept.group_by(raters, maintain_order=True).len("times")
        return cls(
            seen.select(raters).to_numpy().astype(np.int64),
            seen["times"].cast(pl.Float64).to_numpy(),
            values,
            level,
        )

    @property
    def raters(self) -> int:
        """How many raters there are."""
        return int(self.patterns.shape[1])

    @property
    def items(self) -> int:
        """How many items have two ratings or more."""
        return int(self.counts.sum())

    @property
    def complete(self) -> int:
        """How many items all raters rated."""
        return int(self.counts[self._whole].sum())

    @property
    def _whole(self) -> Floats:
        return np.asarray((self.patterns >= 0).all(axis=1))

    def without(self, pattern: int) -> Ratings:
        """Return the ratings without one item of a combination."""
        counts = self.counts.copy()
        counts[pattern] -= 1
        return replace(self, counts=counts)

    def tallies(self, *, whole: bool) -> tuple[Floats, Floats]:
        """Return how many raters gave each value, a row for each combination, and the items of each."""
        chosen = self._whole if whole else np.ones(len(self.patterns), dtype=np.bool_)
        patterns = self.patterns[chosen]
        tallies = np.stack([(patterns == place).sum(axis=1) for place in range(len(self.values))], axis=1)
        return tallies.astype(np.float64), self.counts[chosen]


def agreement_of(ratings: Ratings) -> float | None:
    """Return the share of pairs of ratings that are equal."""
    tallies, items = ratings.tallies(whole=True)
    if not items.sum():
        return None
    m = ratings.raters
    equal = (tallies * (tallies - 1)).sum(axis=1) / (m * (m - 1))
    return float((equal * items).sum() / items.sum())


def fleiss(ratings: Ratings) -> float | None:
    """Return Fleiss' kappa of items that all raters rated; None where only one value occurs."""
    tallies, items = ratings.tallies(whole=True)
    observed = agreement_of(ratings)
    if observed is None:
        return None
    shares = (tallies * items[:, None]).sum(axis=0) / (items.sum() * ratings.raters)
    chance = float((shares**2).sum())
    return None if chance >= 1 else (observed - chance) / (1 - chance)


def cohen(ratings: Ratings) -> float | None:
    """Return Cohen's kappa of two raters, weighted by squared distance where the values have an order."""
    whole = ratings.patterns.min(axis=1) >= 0
    patterns, items = ratings.patterns[whole], ratings.counts[whole]
    if not items.sum():
        return None
    size = len(ratings.values)
    table = np.zeros((size, size))
    np.add.at(table, (patterns[:, 0], patterns[:, 1]), items)
    table /= table.sum()
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    distance: Floats = 1 - np.eye(size)
    if ratings.level != "nominal":
        at = ratings.values if ratings.level == "interval" else np.arange(size, dtype=np.float64)
        distance = (at[:, None] - at[None, :]) ** 2
    expected = float((distance * chance).sum())
    return None if expected == 0 else 1 - float((distance * table).sum()) / expected


def krippendorff(ratings: Ratings) -> float | None:
    """Return Krippendorff's alpha; None where only one value occurs."""
    tallies, items = ratings.tallies(whole=False)
    rated = tallies.sum(axis=1)
    # Each item counts its pairs of ratings, divided among its ratings.
    weights = items / (rated - 1)
    coincidence = (tallies * weights[:, None]).T @ tallies - np.diag((tallies * weights[:, None]).sum(axis=0))
    totals = coincidence.sum(axis=0)
    n = totals.sum()
    if n <= 1:
        return None
    distance = _distance(ratings, totals)
    expected = float((distance * np.outer(totals, totals)).sum()) / (n - 1)
    return None if expected == 0 else 1 - float((distance * coincidence).sum()) / expected


def _distance(ratings: Ratings, totals: Floats) -> Floats:
    size = len(ratings.values)
    if ratings.level == "nominal":
        return 1 - np.eye(size)
    if ratings.level == "interval":
        return np.asarray((ratings.values[:, None] - ratings.values[None, :]) ** 2)
    # Ordinal: how many ratings lie between two values, each of the two counted half.
    upto = np.cumsum(totals) - totals / 2
    return np.asarray((upto[:, None] - upto[None, :]) ** 2)
