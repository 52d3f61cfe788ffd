"""Which rows of a comparison are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.answers import OUTCOMES

if TYPE_CHECKING:
    from polars_evals.drift import Comparison

MOST_SLICES = 40


def evidence_rows(comparison: Comparison, candidate: str) -> pl.DataFrame:
    """Return the rows of a candidate that are drawn: all items, then as many slices as there is room for."""
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal").filter(
        pl.col("candidate") == candidate, ~pl.col("metric").is_in(list(comparison.spec.measures))
    )
    # A share of which less is better is turned around: to the right is better for all.
    turned = pl.col("metric").is_in([name for name in OUTCOMES if comparison.spec.sign(name) < 0])
    rows = rows.with_columns(
        pl.when(turned).then(-pl.col(other)).otherwise(name).alias(name)
        for name, other in (("difference", "difference"), ("ci_low", "ci_high"), ("ci_high", "ci_low"))
    )
    worst = (
        rows.drop_nulls("slice")
        .group_by("slice")
        .agg(pl.col("verdict").min(), pl.col("difference").min(), pl.len().alias("rows"))
        .sort("verdict", "difference", "slice", nulls_last=True)
    )
    # A slice takes a line for its name, where it has several metrics.
    room = MOST_SLICES - comparison.summary["metric"].n_unique()
    named = (pl.col("rows") + (pl.col("rows") > 1)).cum_sum() <= max(room, MOST_SLICES // 2)
    kept = rows.filter(
        pl.col("slice").is_null() | pl.col("slice").is_in(worst.filter(named)["slice"].implode())
    )
    metric = pl.col("metric").replace_strict(
        {name: at for at, name in enumerate(comparison.spec.metrics)}, default=99
    )
    least = pl.col("difference").min().over("slice")
    return kept.sort(pl.col("slice").is_not_null(), least, "slice", metric, nulls_last=True)
