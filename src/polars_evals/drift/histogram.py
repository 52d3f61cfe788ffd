"""How the scores of two versions are spread, in counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.inference import NEGLIGIBLE

if TYPE_CHECKING:
    from polars_evals.drift.pair import Observations

BINS = 20


def histogram(observations: Observations, *, baseline: str, metric: str) -> pl.DataFrame:
    """Return how the scores of a metric are spread, all rows of both versions."""
    scores = observations.rows.select("side", score=f"{metric}:score", count=1).drop_nulls()
    return binned(scores, baseline=baseline, candidate=observations.candidate, metric=metric)


def binned(scores: pl.DataFrame, *, baseline: str, candidate: str, metric: str) -> pl.DataFrame:
    """
    Return the counts of both versions in bins of equal width, empty bins too.

    Parameters
    ----------
    scores
        Columns ``side`` (true: candidate), ``score``, and ``count``: how often it occurs.
    baseline, candidate, metric
        What they are the scores of.

    Notes
    -----
    The bins cover 0 to 1, and what lies beyond where scores do. A bin holds the scores from `bin_low` up to
    `bin_high`, which the last bin includes.
    """
    low = min(0.0, float(scores["score"].min() or 0.0))  # type: ignore[arg-type]
    high = max(1.0, float(scores["score"].max() or 1.0))  # type: ignore[arg-type]
    width = (high - low) / BINS
    # The tolerance keeps a score that is an edge, such as 0.15, in the bin that begins with it.
    place = ((pl.col("score") - low) / width + NEGLIGIBLE).floor().clip(0, BINS - 1).cast(pl.Int64)
    counts = scores.group_by("side", place.alias("bin")).agg(pl.col("count").sum().cast(pl.Int64))
    bins = pl.DataFrame({"bin": range(BINS)}, schema={"bin": pl.Int64})
    grid = pl.DataFrame({"side": [False, True], "version": [baseline, candidate]}).join(bins, how="cross")
    total = pl.col("count").sum().over("side")
    return (
        grid.join(counts, on=["side", "bin"], how="left", maintain_order="left")
        .with_columns(pl.col("count").fill_null(0))
        .select(
            pl.lit(candidate).alias("candidate"),
            pl.lit(metric).alias("metric"),
            "version",
            bin_low=low + pl.col("bin") * width,
            bin_high=low + (pl.col("bin") + 1) * width,
            count="count",
            share=pl.when(total > 0).then(pl.col("count") / total),
        )
    )
