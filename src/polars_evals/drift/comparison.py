"""The result of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polars_evals.drift.junit import junit
from polars_evals.drift.result import Result, Table, deliver
from polars_evals.drift.text import apart, change
from polars_evals.drift.verdict import worst

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from polars_evals.drift.timeline import Timeline
    from polars_evals.report import ComparisonPlots


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Put numbers that belong together into one short cell."""
    names = ("candidate", "metric", "slice", "verdict", "n")
    interval = ""
    if row["ci_low"] is not None:
        interval = f" [{row['ci_low']:+.4f}, {row['ci_high']:+.4f}]"
    return {name: row[name] for name in names if name in row} | {
        "score": change(row["baseline_mean"], row["candidate_mean"], ".3f"),
        "difference": "–" if row["difference"] is None else f"{row['difference']:+.4f}{interval}",
        "q": row["q_value"],
        "pass rate": change(row["baseline_pass_rate"], row["candidate_pass_rate"], ".1%"),
        "flips": "–"
        if row["newly_failing"] is None
        else f"-{row['newly_failing']:,} +{row['newly_passing']:,}",
    }


def _flip(row: dict[str, Any]) -> dict[str, Any]:
    names = ("expected", "baseline_output", "candidate_output")
    return {
        "candidate": row["candidate"],
        "metric": row["metric"],
        "item": str(row["item"]),
        "score": change(row["baseline_score"], row["candidate_score"], ".2f"),
    } | apart({name: row[name] for name in names}, *names[1:])


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """
    What changed between a baseline and its candidates, as `compare` found it.

    Attributes
    ----------
    summary
        A row for each candidate and metric: difference, interval, tests, power, verdict and its reason.
    slices
        The same for each slice.
    flips
        The items whose label changed, with their texts, greatest loss first.
    unmatched
        What could not be paired, and why.
    pass_rates
        Each version's pass rate with Wilson's interval.
    distributions
        How many scores of each version lie in each of twenty bins.
    notes
        What was left out or needs care, in words.
    settings
        How the comparison was made.
    """

    summary: pl.DataFrame
    slices: pl.DataFrame
    flips: pl.DataFrame
    unmatched: pl.DataFrame
    pass_rates: pl.DataFrame
    distributions: pl.DataFrame
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The worst verdict of all rows: regressed, inconclusive, improved or no_change."""
        return worst([*self.summary["verdict"], *self.slices["verdict"]])

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        candidates = self.settings["candidates"]
        shown = ", ".join(candidates[:5]) + (
            f" and {len(candidates) - 5} more" if len(candidates) > 5 else ""
        )
        return f"{self.verdict}: {shown} against {self.settings['baseline']}"

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        names = ("summary", "slices", "flips", "unmatched", "pass_rates", "distributions")
        return {name: getattr(self, name) for name in names}

    def tables(self) -> list[Table]:
        """Return what to show, most important first."""
        # Stable, so that slices of one verdict keep their order.
        slices = self.slices.sort("verdict", "difference", maintain_order=True, nulls_last=True)
        return [
            Table.of("summary", self.summary, _row, shown=50),
            Table.of("reasons", self.summary.select("candidate", "metric", "reason"), shown=50, limit=400),
            Table.of("slices", slices, _row, shown=20),
            Table.of("flips", self.flips, _flip),
            Table.of("unmatched", self.unmatched),
        ]

    @property
    def plot(self) -> ComparisonPlots:
        """Charts of this comparison: `differences`, `distributions` and `slices`."""
        from polars_evals.report import ComparisonPlots

        return ComparisonPlots(self)

    def to_html(self, path: str | PathLike[str] | None = None, *, timeline: Timeline | None = None) -> str:
        """
        Write a self-contained HTML page: verdict, charts, slices, and the flips with their texts compared.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        timeline
            The same scores over time, to show in the page too.

        Notes
        -----
        Needs the report extra: ``pip install 'polars-evals[report]'``. The page opens offline. Its size is
        bounded: it says what it leaves out.
        """
        from polars_evals.report import comparison_page

        return deliver(comparison_page(self, timeline), path)

    def to_junit(self, path: str | PathLike[str] | None = None) -> str:
        """
        Write a JUnit report: a test for each row, failed where it regressed, skipped where inconclusive.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        """
        return deliver(junit(self), path)
