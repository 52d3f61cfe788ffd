"""The frame of measures: means, quantiles and ratios with their verdicts, and what they say of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.columns import flat
from polars_evals.drift.inference import column
from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.drift.inference.quantiles import MEAN, STATISTICS
from polars_evals.drift.written import Written

if TYPE_CHECKING:
    from polars_evals.drift.comparison import Comparison
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.spec import ResolvedSpec

ROW = ["candidate", "metric", "slice"]
# What the row of a mean takes from the row of the comparison.
TAKEN = ["difference", "ci_low", "ci_high", "min_effect", "p_value", "q_value"]
MEASURES = [
    *STATISTICS, "q_value", "unit", "lower_is_better", "verdict",
]  # fmt: skip


def of_quantiles() -> pl.Expr:
    """Return which statistics are quantiles, which have tests of their own."""
    return pl.col("statistic") != MEAN


def judge_quantiles(statistics: pl.DataFrame, q: Floats, spec: ResolvedSpec) -> pl.DataFrame:
    """Return the quantiles with ``q_value`` and ``verdict``: by interval, `min_effect` and correction."""
    gain, low, high, effect = spec.gain(), pl.col("ci_low"), pl.col("ci_high"), pl.col("min_effect")
    apart = ((low > 0) | (high < 0)) & (gain.abs() >= effect) & (pl.col("q_value") <= spec.alpha)
    verdict = (
        pl.when(apart & (gain < 0))
        .then(pl.lit("regressed"))
        .when(apart)
        .then(pl.lit("improved"))
        .when((low >= -effect) & (high <= effect))
        .then(pl.lit("no_change"))
        .otherwise(pl.lit("inconclusive"))
    )
    rows = statistics.filter(of_quantiles()).with_columns(column("q_value", q))
    return rows.with_columns(verdict=verdict.cast(pl.Enum(VERDICTS)))


def with_quantiles(judged: pl.DataFrame, quantiles: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """
    Let a quantile that got worse make its row `regressed`.

    A quantile that cannot be told leaves the row to its mean: few values say little of the 95th percentile.
    """
    worse = quantiles.filter(pl.col("verdict") == "regressed")
    said: dict[tuple[Any, ...], list[str]] = {}
    level = f"{100 * (1 - spec.alpha):g}"
    for row in worse.iter_rows(named=True):
        written, moved = Written.of(row["metric"], spec), "fell" if row["difference"] < 0 else "rose"
        said.setdefault(tuple(row[name] for name in ROW), []).append(
            f"the {row['statistic']} of {row['metric']} {moved} by {written.size(row['difference'])} "
            f"({level}% interval {written.span(row['ci_low'], row['ci_high'])}, not corrected; corrected q = "
            f"{row['q_value']:.2g})"
        )
    if not said:
        return judged
    verdicts, reasons = judged["verdict"].to_list(), judged["reason"].to_list()
    for place, key in enumerate(judged.select(ROW).iter_rows()):
        if key in said:
            own = [reasons[place]] if verdicts[place] == "regressed" else []
            verdicts[place], reasons[place] = "regressed", "; ".join([*own, *said[key]])
    return judged.with_columns(
        pl.Series("verdict", verdicts, dtype=pl.Enum(VERDICTS)), pl.Series("reason", reasons)
    )


def measures_frame(
    statistics: pl.DataFrame, quantiles: pl.DataFrame, judged: pl.DataFrame, spec: ResolvedSpec
) -> pl.DataFrame:
    """Return a row for each measure, slice and statistic: values, difference, ratio, unit and verdict."""
    rows = judged.select(*ROW, *TAKEN, verdict="score_verdict")
    means = (
        statistics.filter(~of_quantiles())
        .drop("difference", "ci_low", "ci_high", "min_effect", "p_value")
        .join(rows, on=ROW, how="left", nulls_equal=True, maintain_order="left")
    )
    names = list(spec.measures)
    about = [
        pl.col("metric").replace_strict(
            {name: getattr(spec.measures[name], key) for name in names}, return_dtype=dtype, default=None
        ).alias(key)
        for key, dtype in (("unit", pl.String), ("lower_is_better", pl.Boolean))
    ]  # fmt: skip
    order = statistics.select(*ROW, "statistic").with_row_index("place")
    both = pl.concat([means, quantiles], how="diagonal_relaxed").with_columns(about)
    ordered = both.join(order, on=[*ROW, "statistic"], how="left", nulls_equal=True).sort("place")
    return flat(ordered.select(MEASURES))


def with_telling(comparison: Comparison) -> pl.DataFrame:
    """
    Return the rows of a comparison with the numbers that their verdicts rest on.

    A row that is `regressed` for a quantile alone has that quantile's numbers in the place of the means, and
    its name in ``statistic``.
    """
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal")
    worse = (
        comparison.measures.filter(of_quantiles(), pl.col("verdict") == "regressed")
        .sort("p_value", maintain_order=True)
        .unique(ROW, keep="first", maintain_order=True)
        .select(
            *ROW, "statistic", "difference", "ci_low", "ci_high", "min_effect",
            baseline_mean="baseline_value", candidate_mean="candidate_value",
        )
    )  # fmt: skip
    joined = rows.join(worse, on=ROW, how="left", nulls_equal=True, maintain_order="left", suffix=":q")
    by_it = pl.col("statistic").is_not_null() & (pl.col("verdict") != pl.col("score_verdict"))
    numbers = ("difference", "ci_low", "ci_high", "min_effect", "baseline_mean", "candidate_mean")
    return joined.with_columns(
        *(pl.when(by_it).then(f"{name}:q").otherwise(name).alias(name) for name in numbers),
        pl.when(by_it).then("statistic").alias("statistic"),
    ).drop(f"{name}:q" for name in numbers)
