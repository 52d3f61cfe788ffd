"""Where scores vary: between groups, such as items, and within them, such as from run to run."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Components:
    """Variance between groups and within them; None where no group has two rows."""

    groups: int
    rows: int
    between: float
    within: float | None


def between_and_within(frame: pl.DataFrame, group: str, value: str) -> Components:
    """Estimate both variances from a one-way layout of unequal groups (analysis of variance, not below 0)."""
    parts = frame.group_by(group, maintain_order=True).agg(
        n=pl.col(value).count().cast(pl.Float64), mean=pl.col(value).mean(), var=pl.col(value).var()
    )
    sizes, means = parts["n"], parts["mean"]
    groups, rows = parts.height, float(sizes.sum())
    spare = rows - groups
    inner = float((parts["var"].fill_null(0.0) * (sizes - 1)).sum())
    within = inner / spare if spare > 0 else None
    if groups < 2:
        return Components(groups, int(rows), 0.0, within)
    centre = float((sizes * means).sum()) / rows
    outer = float((sizes * (means - centre) ** 2).sum()) / (groups - 1)
    typical = (rows - float((sizes**2).sum()) / rows) / (groups - 1)
    return Components(groups, int(rows), max((outer - (within or 0.0)) / typical, 0.0), within)
