"""How sums of several parts of a table become those of the whole: every column says how, or is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import polars as pl

# From the name of a column to the expression that merges its values.
Rule = Callable[[str], pl.Expr]


class Summed(NamedTuple):
    """A number made of rows, and how those of several parts become one."""

    value: pl.Expr
    merge: Rule


class Merge(Protocol):
    """How the rows of a frame are merged, once those of several parts stand below each other."""

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Bring together what several parts say about the same thing."""


@dataclass(frozen=True)
class Grouped:
    """One row for each combination of `keys`; every other column needs a rule."""

    keys: Sequence[str]
    rules: Mapping[str, Rule]

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Merge the rows that have the same keys."""
        merged = [name for name in frame.columns if name not in self.keys]
        if unknown := [name for name in merged if name not in self.rules]:
            raise ValueError(
                f"no rule says how to merge the columns {', '.join(map(repr, unknown))} of parts"
            )
        if frame.is_empty():
            return frame
        rules = [self.rules[name](name).alias(name) for name in merged]
        return frame.group_by(self.keys, maintain_order=True).agg(rules).select(frame.columns)


@dataclass(frozen=True)
class Distinct:
    """Whole rows, each once."""

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Drop repeated rows."""
        return frame.unique(maintain_order=True)


@dataclass(frozen=True)
class First:
    """Whole rows, the first `most` of each group in an order; None for all."""

    group: Sequence[str]
    order: Sequence[str]
    most: int | None

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Sort, and keep the first rows."""
        if not frame.width:
            return frame
        frame = frame.sort(self.order)
        if self.most is None:
            return frame
        return frame.group_by(self.group, maintain_order=True).head(self.most).select(frame.columns)


def add(name: str) -> pl.Expr:
    """Add up counts and sums."""
    return pl.col(name).sum()


def mean(weight: str) -> Rule:
    """Pool means by the number of values behind each."""
    n = pl.col(weight)
    return lambda name: pl.when(n.sum() > 0).then(_centre(name, weight))


def variance(of: str, weight: str) -> Rule:
    """Pool variances around the means `of`, by the number of values behind each."""
    n = pl.col(weight)
    # Within the parts and between them: no difference of large numbers, so nothing is lost.
    between = n * (pl.col(of).fill_null(0.0) - _centre(of, weight)).pow(2)

    def rule(name: str) -> pl.Expr:
        within = (n - 1).clip(lower_bound=0) * pl.col(name).fill_null(0.0)
        return pl.when(n.sum() > 1).then((within + between).sum() / (n.sum() - 1))

    return rule


def squares(of: str, weight: str) -> Rule:
    """Pool sums of squared deviations from the means `of`, by the number of values behind each."""
    return products(of, of, weight)


def products(one: str, other: str, weight: str) -> Rule:
    """Pool sums of products of deviations from two means."""
    between = pl.col(weight) * _shift(one, weight) * _shift(other, weight)
    return lambda name: (pl.col(name).fill_null(0.0) + between).sum()


def cubes(of: str, squared: pl.Expr, weight: str) -> Rule:
    """Pool sums of cubed deviations from the means `of`, given those of the squared ones."""
    shift = _shift(of, weight)
    between = 3 * squared.fill_null(0.0) * shift + pl.col(weight) * shift.pow(3)
    return lambda name: (pl.col(name).fill_null(0.0) + between).sum()


def lowest(name: str) -> pl.Expr:
    """Keep the smallest."""
    return pl.col(name).min()


def highest(name: str) -> pl.Expr:
    """Keep the largest."""
    return pl.col(name).max()


def _shift(mean: str, weight: str) -> pl.Expr:
    # Parts without any value have no centre.
    return (pl.col(mean).fill_null(0.0) - _centre(mean, weight)).fill_nan(0.0)


def _centre(mean: str, weight: str) -> pl.Expr:
    n = pl.col(weight)
    return (n * pl.col(mean).fill_null(0.0)).sum() / n.sum()
