"""The result of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from polars_evals.drift.components import MEANS
from polars_evals.drift.inference.decide import family_wise, row_verdict, verdict_of
from polars_evals.drift.items import flips_of, items_of
from polars_evals.drift.result import Result, Shown, from_report, write_or_return

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from polars_evals.drift.spec import ResolvedSpec
    from polars_evals.drift.timeline import Timeline
    from polars_evals.report.charts import ComparisonPlots

# What sums of floats may be off by: a bound of 0.02 allows 2 of 100.
TOLERANCE = 1e-9


def falls(
    row: Mapping[str, Any], bound: float, *, relative: bool = False
) -> Iterator[tuple[str, float, float, float]]:
    """
    Find what fell by more than a bound in a row of `summary` or `slices`, without a test.

    Yield `mean` or `pass_rate`, the values of baseline and candidate, and by how much the value may fall.
    """
    for value in MEANS:
        before, after = row[f"baseline_{value}"], row[f"candidate_{value}"]
        if before is not None and after is not None:
            limit = bound * before if relative else bound
            if before - after > limit + TOLERANCE:
                yield value, before, after, limit


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """
    What changed between a baseline and its candidates: the result of `compare`.

    Attributes
    ----------
    summary
        A row for each candidate and metric: difference, interval, tests, power, verdict and its reason.
    slices
        The same for each slice.
    measures
        A row for each measure and statistic (`mean`, `median`, `p95`): the values of both versions,
        their difference and ratio with intervals, unit and verdict.
    components
        A row for each component of a row of `summary` or `slices`: `mean`, `pass_rate`, `median`, `p95`,
        with its difference, interval, tests and verdict. Gates judge these.
    unmatched
        The items that could not be paired, with the reason.
    pass_rates
        Each version's pass rate with Wilson's interval.
    distributions
        The number of scores of each version in each of twenty bins.
    confusion
        How often each version gave each output for each expected label, if an aggregate of labels was
        compared.
    notes
        Sentences about rows that were left out, and about limits of the result.
    spec
        The options. `compare_spec` repeats the comparison on other rows.
    table
        The rows that were compared, for `items`.
    """

    summary: pl.DataFrame
    slices: pl.DataFrame
    measures: pl.DataFrame
    components: pl.DataFrame
    unmatched: pl.DataFrame
    pass_rates: pl.DataFrame
    distributions: pl.DataFrame
    confusion: pl.DataFrame
    notes: tuple[str, ...]
    spec: ResolvedSpec
    table: pl.LazyFrame

    @property
    def items(self) -> pl.LazyFrame:
        """
        Every paired difference of every metric and measure, worst first, with slices and texts.

        A row for each candidate, metric and item: `baseline_score`, `candidate_score`, `difference`,
        labels, `flip`, the columns of slices, `input`, `expected`, `baseline_output`,
        `candidate_output`, and the output of every version as `output_<version>`. It is lazy: nothing is
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
        return items_of(self.table, self.spec)

    @cached_property
    def flips(self) -> pl.DataFrame:
        """The items whose label changed, with their texts, greatest loss first: a part of `items`."""
        return flips_of(self.items, self.spec)

    @property
    def settings(self) -> dict[str, Any]:
        """What was compared, and how, as plain values."""
        return self.spec.settings

    @property
    def verdicts(self) -> dict[str, str]:
        """
        The verdict on each candidate: regressed, inconclusive, improved or no_change.

        It is `regressed` where a component of any row, slices included, got worse after a correction that
        makes one false alarm in the whole report unlikely. Otherwise the rows over all items decide: any that
        improved, all that did not change, or else inconclusive.
        """
        return {
            one: verdict_of(
                self.components.filter(pl.col("candidate") == one),
                self.summary.filter(pl.col("candidate") == one)["verdict"],
                self.spec.alpha,
            )
            for one in self.spec.candidates
        }

    def family_wise(self, rows: pl.Expr | None = None, *, sequential: bool = True) -> pl.DataFrame:
        """
        Return the rows of `summary` and `slices` with family-wise corrected verdicts, as gates use them.

        Parameters
        ----------
        rows
            Which rows are judged, by their columns `candidate`, `metric`, `slice` and `by`; None for
            all.
        sequential
            Whether the verdicts must hold for any number of looks while items are added, as in a job that
            runs every day, or for one look.

        Returns
        -------
        DataFrame
            Verdict and `decided_by` by components that survive Holm's correction over all components of
            these rows, and `p_corrected` of the one that decided.
        """
        chosen = self.components if rows is None else self.components.filter(rows)
        corrected = family_wise(chosen, self.spec.alpha, sequential=sequential)
        keys = ("candidate", "metric", "slice")
        parts = corrected.rows_by_key(keys, named=True, include_key=True)
        every = pl.concat([self.summary, self.slices], how="diagonal")
        judged = every if rows is None else every.filter(rows)
        found = [row_verdict(parts[key]) for key in judged.select(keys).iter_rows()]
        return judged.with_columns(
            pl.Series("verdict", [verdict for verdict, _ in found], dtype=judged.schema["verdict"]),
            pl.Series("decided_by", [one["component"] for _, one in found], dtype=pl.String),
            pl.Series("p_corrected", [one["p_corrected"] for _, one in found], dtype=pl.Float64),
        )

    @property
    def verdict(self) -> str:
        """The verdict on the candidate. With several candidates, use `verdicts`."""
        if len(self.spec.candidates) > 1:
            raise ValueError(
                f"there are {len(self.spec.candidates)} candidates, and each has its own verdict: "
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

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        names = (
            "summary", "slices", "measures", "components", "flips", "unmatched", "pass_rates",
            "distributions", "confusion",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    @property
    def plot(self) -> ComparisonPlots:
        """Charts of this comparison: `differences`, `distributions` and `slices`."""
        return cast("ComparisonPlots", from_report("polars_evals.report.charts.plots_of")(self))

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        items: str | int = "auto",
        label: pl.DataFrame | None = None,
        timeline: Timeline | None = None,
        source: str | None = None,
        gates: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        """
        Write a self-contained HTML page: what was found in a sentence, the evidence, and every item.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        items
            Every item is listed with all its scores. `"auto"` holds as many full texts as fit 6 MB,
            `"all"` every text, `"none"` none, a number those of so many items.
        label
            Items for people to rate, as `sample_items` draws them: the page opens on them, shows neither
            version nor score, and exports ratings that `read_labels` reads.
        timeline
            The same scores over time, to show in the page too.
        source
            Where the scores come from, to say in the page.
        gates
            What became of a job's gates, to say in the page: mappings with `gate`, `status` (`passed`,
            `failed`, `advisory` or `skipped`) and `lines`.

        Notes
        -----
        The page opens offline and loads nothing.
        """
        options: dict[str, Any] = {"items": items, "label": label, "source": source, "gates": gates}
        return write_or_return(
            from_report("polars_evals.report.page.page_of")(self, timeline=timeline, **options), path
        )

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
        return write_or_return(from_report("polars_evals.report.markdown.markdown")(self, page), path)

    def show_items(self, *, height: int = 640) -> Shown:
        """
        Show the items in a notebook: filters, search, and the answers side by side.

        Parameters
        ----------
        height
            Pixels.

        Notes
        -----
        It needs no widgets, and works in VS Code too. It lists every item and holds fewer full texts than the
        page does.
        """
        return Shown(from_report("polars_evals.report.page.items_frame")(self, height))

    def to_junit(self, path: str | PathLike[str] | None = None) -> str:
        """
        Write a JUnit report: a test for each row, failed where it regressed, skipped where inconclusive.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        """
        return write_or_return(from_report("polars_evals.report.junit.junit")(self), path)
