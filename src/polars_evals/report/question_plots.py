"""Rankings, plans, repeated runs and agreement, as Altair charts to show, to change or to save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.report import question_charts
from polars_evals.report.choice import one_of
from polars_evals.report.theme import WIDE

if TYPE_CHECKING:
    from polars_evals.drift import Agreement, Ranking, Runs, SamplePlan


class RankingPlots:
    """Charts of a ranking."""

    def __init__(self, ranking: Ranking) -> None:
        self._of = ranking

    def means(self, metric: str | None = None, *, width: int = WIDE) -> Any:
        """
        Draw the mean of each version with its interval, best first.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        width
            Pixels, with the labels.

        Notes
        -----
        The intervals hold all at once. That two of them overlap does not mean that the versions cannot be
        told apart: the frame `pairs` says that.
        """
        metric = one_of("metric", metric, self._of.settings["metrics"])
        rows = self._of.summary.filter(pl.col("metric") == metric)
        values = rows.select(value="mean", low="ci_low", high="ci_high")
        labels = rows["version"].to_list()
        return question_charts.intervals(values, labels, axis="mean score", width=width, title=metric)


class SamplePlanPlots:
    """Charts of a plan."""

    def __init__(self, plan: SamplePlan) -> None:
        self._of = plan

    def items(self, metric: str | None = None, *, width: int = WIDE) -> Any:
        """
        Draw how many items find a difference of each size.

        Parameters
        ----------
        metric
            Name of the metric, where the plan is made of a pilot; None for the first.
        width
            Pixels, with the labels.
        """
        summary = self._of.summary.filter(pl.col("runs") == self._of.runs)
        known = summary["metric"].drop_nulls().unique(maintain_order=True).to_list()
        if known:
            metric = one_of("metric", metric, known)
            summary = summary.filter(pl.col("metric") == metric)
        return question_charts.needed_items(summary, summary.row(0, named=True), width=width, title=metric)


class RunsPlots:
    """Charts of repeated runs."""

    def __init__(self, runs: Runs) -> None:
        self._of = runs

    def pass_at_k(self, metric: str | None = None, *, version: str | None = None, width: int = WIDE) -> Any:
        """
        Draw how often any, and how often all, of k runs pass.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        version
            The version; None for the first.
        width
            Pixels, with the labels.
        """
        summary = self._of.summary
        if summary.is_empty():
            raise ValueError(
                "there are no passes to draw: the metrics have no labels, or no item has enough runs"
            )
        metric = one_of("metric", metric, summary["metric"].unique(maintain_order=True))
        version = one_of("version", version, summary["version"].unique(maintain_order=True))
        rows = summary.filter(pl.col("metric") == metric, pl.col("version") == version)
        return question_charts.passes(rows, width=width, title=f"{metric} · {version}")


class AgreementPlots:
    """Charts of an agreement."""

    def __init__(self, agreement: Agreement) -> None:
        self._of = agreement

    def values(self, *, width: int = WIDE) -> Any:
        """
        Draw each coefficient with its interval.

        Parameters
        ----------
        width
            Pixels, with the labels.
        """
        rows = self._of.summary.drop_nulls("value")
        labels = [name.replace("_", " ") for name in rows["statistic"]]
        values = rows.select(
            "value", low=pl.coalesce("ci_low", "value"), high=pl.coalesce("ci_high", "value")
        )
        return question_charts.intervals(values, labels, axis="coefficient", width=width)
