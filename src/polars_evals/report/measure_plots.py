"""Charts of the measures of a comparison, to show, to change or to save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.report import measure_charts
from polars_evals.report.choice import one_of
from polars_evals.report.theme import WIDE

if TYPE_CHECKING:
    from polars_evals.drift import Comparison


class MeasurePlots:
    """Charts of measures."""

    def __init__(self, comparison: Comparison) -> None:
        self._of = comparison

    def measures(self, candidate: str | None = None, *, width: int = WIDE) -> Any:
        """
        Draw by which part of the baseline's value each measure changed: its mean and its quantiles.

        Parameters
        ----------
        candidate
            The candidate; None for the first.
        width
            Pixels, with the labels.
        """
        candidate = one_of("candidate", candidate, self._of.spec.candidates)
        rows = self._of.measures.filter(
            pl.col("candidate") == candidate, pl.col("slice").is_null(), pl.col("ratio").is_not_null()
        )
        if rows.is_empty():
            raise ValueError("the comparison has no measures to draw; compare with measures={…}")
        names = [
            f"{name} ({'less' if lower else 'more'} is better)"
            for name, lower in rows.select("metric", "lower_is_better").iter_rows()
        ]
        return measure_charts.changes(rows, rows["statistic"].to_list(), names, width=width)

    def values(self, measure: str | None = None, *, candidate: str | None = None, width: int = WIDE) -> Any:
        """
        Draw how the values of a measure are spread, with the median and the 95th percentile of each version.

        Parameters
        ----------
        measure
            Name of the measure; None for the first.
        candidate
            The candidate; None for the first.
        width
            Pixels, with the labels.

        Notes
        -----
        The axis is logarithmic where the 95th percentile is far above the median.
        """
        spec = self._of.spec
        measure = one_of("measure", measure, list(spec.measures))
        candidate = one_of("candidate", candidate, spec.candidates)
        found = (
            self._of.items.filter(pl.col("metric") == measure, pl.col("candidate") == candidate)
            .select(baseline="baseline_score", candidate="candidate_score")
            .collect()
        )
        title = self._title(measure, candidate)
        names = (spec.baseline, candidate)
        return measure_charts.spread(found, spec.measures[measure], names, width=width, title=title)

    def _title(self, metric: str, candidate: str) -> str:
        return metric if len(self._of.spec.candidates) == 1 else f"{metric} · {candidate}"
