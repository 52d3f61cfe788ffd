"""The result of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drawing import drawing
from polars_evals.drift.inference.decide import VERDICTS, worst
from polars_evals.drift.items import items_of
from polars_evals.drift.junit import junit
from polars_evals.drift.pull_request import markdown
from polars_evals.drift.result import Result, Shown, Table, write_or_return
from polars_evals.drift.written import Written
from polars_evals.wording import apart, change, listed

if TYPE_CHECKING:
    from os import PathLike

    from polars_evals.drift.spec import ResolvedSpec
    from polars_evals.drift.timeline import Timeline
    from polars_evals.report import ComparisonPlots


def _row(row: dict[str, Any], spec: ResolvedSpec) -> dict[str, Any]:
    """Put numbers that belong together into one short cell."""
    names, written = ("candidate", "metric", "slice", "verdict", "n"), Written.of(row["metric"], spec)
    return {name: row[name] for name in names if name in row} | {
        "mean" if spec.measures else "score": written.levels(row["baseline_mean"], row["candidate_mean"]),
        "difference": written.difference(row, "[]"),
        "q": row["q_value"],
        "pass rate": change(row["baseline_pass_rate"], row["candidate_pass_rate"], ".1%"),
        "flips": "–"
        if row["newly_failing"] is None
        else f"-{row['newly_failing']:,} +{row['newly_passing']:,}",
    }


def _measure(row: dict[str, Any], spec: ResolvedSpec) -> dict[str, Any]:
    names, written = ("candidate", "metric", "statistic", "verdict", "n"), Written.of(row["metric"], spec)
    ratio = "–" if row["ratio"] is None else f"{row['ratio']:.3g}"
    if row["ratio_low"] is not None and row["ratio_high"] is not None:
        ratio += f" [{row['ratio_low']:.3g}, {row['ratio_high']:.3g}]"
    return {name: row[name] for name in names} | {
        "value": written.levels(row["baseline_value"], row["candidate_value"]),
        "difference": written.difference(row, "[]"),
        "ratio": ratio,
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
    measures
        A row for each measure and statistic (``mean``, ``median``, ``p95``): the values of both versions,
        their difference and ratio with intervals, unit and verdict.
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
    spec
        What was compared, and how. `compare_spec` repeats it on other rows.
    table
        The rows that were compared, for `items`; None for merged aggregates.
    """

    summary: pl.DataFrame
    slices: pl.DataFrame
    measures: pl.DataFrame
    flips: pl.DataFrame
    unmatched: pl.DataFrame
    pass_rates: pl.DataFrame
    distributions: pl.DataFrame
    notes: tuple[str, ...]
    spec: ResolvedSpec
    table: pl.LazyFrame | None = None

    @property
    def items(self) -> pl.LazyFrame:
        """
        Every paired difference of every metric and measure, worst first, with slices and texts.

        A row for each candidate, metric and item: ``baseline_score``, ``candidate_score``, ``difference``,
        labels, ``flip``, the columns of slices, ``input``, ``expected``, ``baseline_output``,
        ``candidate_output``, and the output of every version as ``output_<version>``. It is lazy: nothing is
        read before it is collected.

        Examples
        --------
        >>> scored = pl.DataFrame(
        ...     {
        ...         "case_id": [1, 2, 3] * 2,
        ...         "model": ["v1"] * 3 + ["v2"] * 3,
        ...         "topic": ["tax", "tax", "art"] * 2,
        ...         "levenshtein_score": [0.9, 0.8, 1.0, 0.5, 0.3, 1.0],
        ...     }
        ... )
        >>> comparison = pe.compare(scored, version="model", baseline="v1", item="case_id", by="topic")
        >>> worst = comparison.items.filter(pl.col("topic") == "tax")
        >>> worst.select("item", "candidate_score", "difference").collect()
        shape: (2, 3)
        ┌──────┬─────────────────┬────────────┐
        │ item ┆ candidate_score ┆ difference │
        │ ---  ┆ ---             ┆ ---        │
        │ i64  ┆ f64             ┆ f64        │
        ╞══════╪═════════════════╪════════════╡
        │ 2    ┆ 0.3             ┆ -0.5       │
        │ 1    ┆ 0.5             ┆ -0.4       │
        └──────┴─────────────────┴────────────┘
        """
        if self.table is None:
            raise ValueError(
                "a comparison of merged aggregates has no items; compare the rows themselves to see them"
            )
        return items_of(self.table, self.spec)

    @property
    def settings(self) -> dict[str, Any]:
        """What was compared, and how, as plain values."""
        return self.spec.settings

    @property
    def verdicts(self) -> dict[str, str]:
        """The worst verdict on each candidate: regressed, inconclusive, improved or no_change."""
        rows = pl.concat(frame.select("candidate", "verdict") for frame in (self.summary, self.slices))
        return {
            one: worst(rows.filter(pl.col("candidate") == one)["verdict"]) for one in self.spec.candidates
        }

    @property
    def verdict(self) -> str:
        """The verdict on the candidate; of several, each has its own in `verdicts`."""
        if len(self.spec.candidates) > 1:
            raise ValueError(
                f"{len(self.spec.candidates)} candidates have a verdict each, and none sums them up: "
                "see comparison.verdicts"
            )
        return self.verdicts[self.spec.candidates[0]]

    def outcome(self) -> dict[str, Any]:
        """Return the verdicts as JSON has them."""
        return {"verdict": self.badge, "verdicts": self.verdicts}

    @property
    def badge(self) -> str | None:
        """The verdict, if there is one for all."""
        return self.verdict if len(self.spec.candidates) == 1 else None

    @property
    def headline(self) -> str:
        """The verdicts in one line."""
        found = self.verdicts
        if len(found) == 1:
            return f"{self.verdict}: {self.spec.candidates[0]} against {self.spec.baseline}"
        groups = (
            f"{listed([one for one, verdict in found.items() if verdict == kind])} {kind.replace('_', ' ')}"
            for kind in VERDICTS
            if kind in found.values()
        )
        return f"against {self.spec.baseline}: {'; '.join(groups)}"

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        names = ("summary", "slices", "measures", "flips", "unmatched", "pass_rates", "distributions")
        return {name: getattr(self, name) for name in names}

    def tables(self) -> list[Table]:
        """Return what to show, most important first."""
        # Stable, so that slices of one verdict keep their order.
        slices = self.slices.sort("verdict", self.spec.weight(), maintain_order=True, nulls_last=True)
        row = partial(_row, spec=self.spec)
        whole = self.measures.filter(pl.col("slice").is_null())
        return [
            Table.of("summary", self.summary, row, shown=50),
            Table.of("measures", whole, partial(_measure, spec=self.spec), shown=50),
            Table.of("reasons", self.summary.select("candidate", "metric", "reason"), shown=50, limit=400),
            Table.of("slices", slices, row, shown=20),
            Table.of("flips", self.flips, _flip),
            Table.of("unmatched", self.unmatched),
        ]

    @property
    def plot(self) -> ComparisonPlots:
        """Charts of this comparison: `differences`, `distributions` and `slices`."""
        plots: ComparisonPlots = drawing().plots_of(self)
        return plots

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        timeline: Timeline | None = None,
        source: str | None = None,
    ) -> str:
        """
        Write a self-contained HTML page: what was found in a sentence, charts, and items with their answers.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        timeline
            The same scores over time, to show in the page too.
        source
            Where the scores come from, to say in the page.

        Notes
        -----
        Needs the report extra: ``pip install 'polars-evals[report]'``. The page opens offline. Its size is
        bounded: it says what it leaves out.
        """
        return write_or_return(drawing().page_of(self, timeline=timeline, source=source), path)

    def to_markdown(self, path: str | PathLike[str] | None = None, *, page: str | None = None) -> str:
        """
        Write Markdown for a pull request: the result in a sentence, numbers, and the items that lost most.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        page
            Where the page of `to_html` is, to say in the text.
        """
        return write_or_return(markdown(self, page), path)

    def show_items(self, *, height: int = 640) -> Shown:
        """
        Show the items in a notebook: filters, search, and the answers side by side.

        Parameters
        ----------
        height
            Pixels.

        Notes
        -----
        Needs the report extra, no widgets, and works in VS Code too. It holds fewer items than the page does,
        and says how many.
        """
        return Shown(drawing().items_frame(self, height))

    def to_junit(self, path: str | PathLike[str] | None = None) -> str:
        """
        Write a JUnit report: a test for each row, failed where it regressed, skipped where inconclusive.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        """
        return write_or_return(junit(self), path)
