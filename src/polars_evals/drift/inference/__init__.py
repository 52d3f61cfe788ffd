"""Estimates, intervals, tests and verdicts over arrays; null in, null out, never NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

# Averages of floats differ in their last bits; below this, a difference or a spread is none.
NEGLIGIBLE = 1e-12


def floats(values: pl.Series) -> Floats:
    """Return a column as floats, null as NaN."""
    return values.cast(pl.Float64).to_numpy()


def slopes(statistic: Callable[[Floats], Floats], table: Floats, step: float) -> Floats:
    """Return by how much a statistic of a table of counts grows with each count, statistics last."""
    grown = table + step * np.eye(len(table))
    return (statistic(grown) - statistic(table[None])) / step


def column(name: str, values: Floats) -> pl.Series:
    """Return floats as a column, NaN as null."""
    return pl.Series(name, values, dtype=pl.Float64).fill_nan(None)
