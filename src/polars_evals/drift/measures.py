"""The numbers that the verdicts of a comparison rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.inference.estimate import MEAN

if TYPE_CHECKING:
    from polars_evals.drift.comparison import Comparison

ROW = ["candidate", "metric", "slice"]


def with_telling(comparison: Comparison) -> pl.DataFrame:
    """
    Return the rows of a comparison with the numbers that their verdicts rest on.

    A row that another component than the mean decided, such as the pass rate or a quantile, has that one's
    numbers in the place of the means, and its name in `statistic`.
    """
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal")
    deciding = comparison.components.filter(pl.col("component") != MEAN).select(
        *ROW, "difference", "ci_low", "ci_high", "min_effect", "q_value", decided_by="component",
        baseline_mean="baseline_value", candidate_mean="candidate_value",
    )  # fmt: skip
    on = [*ROW, "decided_by"]
    joined = rows.join(deciding, on=on, how="left", nulls_equal=True, maintain_order="left", suffix=":by")
    by_it = pl.col("decided_by") != MEAN
    numbers = [name for name in deciding.columns if name not in on]
    return joined.with_columns(
        *(pl.when(by_it).then(f"{name}:by").otherwise(name).alias(name) for name in numbers),
        pl.when(by_it).then("decided_by").alias("statistic"),
    ).drop(f"{name}:by" for name in numbers)
