"""Gates about the comparison of versions and about the scores over time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from polars_evals.drift import Comparison, ComparisonSpec, Timeline, compare_spec
from polars_evals.drift.answers import OUTCOMES, can_tell
from polars_evals.drift.columns import as_text
from polars_evals.drift.comparison import falls
from polars_evals.drift.inference.estimate import MEAN
from polars_evals.jobs.gates.base import (
    ONE_OR_MORE,
    SKIPPED,
    Amount,
    Context,
    Evidence,
    Findings,
    Gate,
    GateResult,
    Verdicts,
    all_rows,
    changed,
    subject,
)
from polars_evals.suite.declared import listed as as_tuple
from polars_evals.suite.measure import AUTO, KNOWN
from polars_evals.wording import counted, listed, verb


def _item(item: object) -> object:
    return str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item


Items = Annotated[
    tuple[Annotated[str, BeforeValidator(_item)], ...], BeforeValidator(as_tuple), Field(min_length=1)
]


def aggregates_of(context: Context) -> tuple[str, ...]:
    """Name the aggregates that are compared."""
    asked = () if context.compare is None else context.compare.aggregates or ()
    return tuple(str(one.name) for one in asked)


class ComparisonGate(Gate):
    """A gate about rows of the comparison."""

    needs_compare: ClassVar[bool] = True

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Add the aggregates, the measures, and the shares of answers that failed."""
        asked = () if context.compare is None else context.compare.measures
        measures = KNOWN if asked == AUTO else asked
        return (*context.metrics, *aggregates_of(context), *measures, *OUTCOMES)

    def looked_at(self, seen: Evidence) -> pl.Expr:
        """Select the rows of the comparison that the gate is about: without a name, all of them."""
        metric = pl.lit(True) if self.metric is None else pl.col("metric") == self.metric
        return metric if self.by is None else metric & (pl.col("by") == self.by)

    def findings(self, seen: Evidence, rows: pl.DataFrame, objections: Sequence[str]) -> Findings:
        """Count what was compared, and object to candidates without anything to compare."""
        about = "item" if seen.compared().spec.paired else "row"
        if rows.is_empty() and self.metric in OUTCOMES and can_tell(self.metric, seen.schema):
            # Nothing failed, so that there is no row about it: that is judged, and well.
            every = seen.compared().summary.filter(pl.col("metric") == seen.metrics[0])
            return Findings(int(every["n"].sum()), [], about)
        whole = rows.filter(pl.col("slice").is_null()) if self.by is None else rows
        lone = nothing_compared(seen.compared(), whole)
        judged = int(whole.select(compared_rows().sum()).item())
        return Findings(judged, [*lone, *objections], about, "; ".join(lone))


class FailOn(ComparisonGate):
    """No row of the comparison may have one of some verdicts, after Holm's correction over all such gates.

    A job that runs every day asks the same question again and again while rows are added. Its p-values hold
    for all days together, so that a job without any change fails once in its life with probability alpha at
    most. `sequential = false` is for a job that asks once.
    """

    verdicts: Verdicts = Field(alias="fail_on", description=ONE_OR_MORE)
    sequential: bool = Field(default=True, description="true, or false for a job that runs only once")

    rule: ClassVar[str] = "fail_on"

    @property
    def demand(self) -> str:
        """The verdicts."""
        return f"fail_on = {', '.join(self.verdicts)}"

    def judge(self, seen: Evidence) -> Findings:
        """Find the rows whose verdict fails the gate."""
        # All gates of this kind are judged together, so that together they err with probability alpha.
        every = pl.any_horizontal([gate.looked_at(seen) for gate in seen.gates if isinstance(gate, FailOn)])
        rows = seen.compared().family_wise(every, sequential=self.sequential).filter(self.looked_at(seen))
        return self.findings(seen, rows, list(self.bad_verdicts(seen, rows.filter(compared_rows() > 0))))

    def bad_verdicts(self, seen: Evidence, rows: pl.DataFrame) -> Iterator[str]:
        """Say which rows have such a verdict; one that the correction does not confirm is inconclusive."""
        for row in rows.iter_rows(named=True):
            if row["verdict"] in self.verdicts:
                word = "" if self.verdicts == ("regressed",) else f"{row['verdict']}: "
                yield f"{subject(row)}: {word}{changed(seen, row)}{newly_failing(seen, row)}"


def newly_failing(seen: Evidence, row: Mapping[str, Any]) -> str:
    """Say how many items of a row newly fail, and where they are listed."""
    count = row["newly_failing"]
    if not count:
        return ""
    place = f" (listed in {seen.items_file})" if seen.items_file else ""
    return f", {counted(count, 'item')} newly {verb(count, 'failing', 'fail')}{place}"


class NotWorseThan(ComparisonGate):
    """The data must show that no candidate is worse by a margin. An inconclusive result fails.

    All rows must hold at once, so that no correction for their number is needed.
    """

    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        alias="not_worse_than", description="a number above 0"
    )
    sequential: bool = Field(default=True, description="true, or false for a job that runs only once")

    rule: ClassVar[str] = "not_worse_than"

    def check(self, context: Context) -> None:
        """Scores are between 0 and 1: none is worse by more than that."""
        if self.margin >= 1 and self.metric in (None, *context.metrics):
            raise ValueError(f"`{self.rule}` must be below 1, as scores are, got {self.margin:g}")

    @property
    def demand(self) -> str:
        """The margin."""
        return f"not_worse_than = {self.margin:g}"

    def judge(self, seen: Evidence) -> Findings:
        """Find the rows whose mean or pass rate may be worse by the margin."""
        comparison = seen.compared()
        chosen = self.looked_at(seen)
        if self.metric is None:
            # A margin has a unit: that of scores is not that of measures.
            chosen &= pl.col("metric").is_in(self.metrics(seen))
        prefix = "sequential_" if self.sequential else ""
        components = comparison.components.filter(chosen, pl.col("quantile").is_null(), pl.col("n") > 0)
        objections = [
            f"{subject(row)}{'' if row['component'] == MEAN else ', pass rate'}: {self.found(row)}"
            for row in components.with_columns(
                ci_low=f"{prefix}worst_case", ci_high=f"{prefix}best_case"
            ).iter_rows(named=True)
            # A pass rate with the same numbers as the mean is no other finding.
            if not row["same"] and not (row["ci_low"] is not None and row["ci_low"] > -self.margin)
        ]
        return self.findings(seen, all_rows(comparison).filter(chosen), objections)

    def found(self, row: Mapping[str, Any]) -> str:
        """Say what the data show about a row that fails the gate."""
        items = counted(row["n"], "item")
        if row["ci_low"] is None or not np.isfinite(row["ci_low"]):
            return f"{items} {verb(row['n'], 'is', 'are')} too few to rule out a loss of {self.margin:g}"
        interval = f"the difference is between {row['ci_low']:+.4f} and {row['ci_high']:+.4f} ({items})"
        if row["ci_high"] <= -self.margin:
            return f"worse by more than {self.margin:g}: {interval}"
        return f"a loss of {self.margin:g} or more is not ruled out: {interval}"


class MeasuredGate(ComparisonGate):
    """A bound on the numbers of a comparison: of the whole, or with `by` of each slice of a column."""

    bound: Amount

    @property
    def demand(self) -> str:
        """The bound."""
        return f"{self.rule} = {self.bound:g}"

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Scores only: a measure has a unit of its own."""
        return context.metrics

    def judge(self, seen: Evidence) -> Findings:
        """Find the rows that are beyond the bound."""
        comparison = seen.compared()
        rows = comparison.summary.with_columns(slice=None, by=None) if self.by is None else comparison.slices
        about = pl.col("metric").is_in(self.metrics(seen))
        rows = rows.filter(about if self.by is None else about & (pl.col("by") == self.by))
        objections = [
            f"{subject(row)}: {text}"
            for row in rows.filter(compared_rows() > 0).iter_rows(named=True)
            for text in self.beyond(row)
        ]
        return self.findings(seen, rows, objections)

    @abstractmethod
    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Say which number of a row exceeds the bound, or return None."""


class MaxNewlyFailing(MeasuredGate):
    """For each metric, at most a number of items may pass in the baseline and fail in a candidate."""

    bound: Amount = Field(alias="max_newly_failing", description="a number of items, from 0 on")

    rule: ClassVar[str] = "max_newly_failing"
    needs_item: ClassVar[bool] = True

    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Count the items."""
        count = row["newly_failing"] or 0
        if count > self.bound:
            yield f"{counted(count, 'item')} newly {verb(count, 'failing', 'fail')}, more than {self.bound:g}"


class MaxDrop(MeasuredGate):
    """The mean score and the pass rate may fall by at most a bound, without a test."""

    bound: Amount = Field(alias="max_drop", description="a number from 0 on")

    rule: ClassVar[str] = "max_drop"
    relative: ClassVar[bool] = False

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Add the aggregates."""
        return (*context.metrics, *aggregates_of(context))

    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Look at the mean score and at the pass rate."""
        for value, before, after, limit in falls(row, self.bound, relative=self.relative):
            name = "score" if value == MEAN else "pass rate"
            yield f"{name} {before:.4g} → {after:.4g}, a drop of {before - after:.4g}, more than {limit:.4g}"


class MaxRelativeDrop(MaxDrop):
    """The mean score and the pass rate may fall by at most a share of the baseline's value."""

    bound: Amount = Field(alias="max_relative_drop", description="a number from 0 on")

    rule: ClassVar[str] = "max_relative_drop"
    relative: ClassVar[bool] = True


class MustNotFlip(Gate):
    """The listed items must not pass in the baseline and fail in a candidate."""

    items: Items = Field(alias="must_not_flip", description="a list of items")

    rule: ClassVar[str] = "must_not_flip"
    needs_compare: ClassVar[bool] = True
    needs_item: ClassVar[bool] = True
    takes_by: ClassVar[bool] = False

    @property
    def demand(self) -> str:
        """How many items."""
        return f"must_not_flip = {counted(len(self.items), 'item')}"

    def judge(self, seen: Evidence) -> Findings:
        """Compare the listed items alone, however many others there are."""
        spec = seen.compared().spec
        assert spec.item is not None
        item = as_text(seen.schema, spec.item)
        few = seen.scored.filter(item.is_in(list(self.items)))
        rows = few.collect(engine="streaming")
        present = set(rows.get_column(spec.version).cast(pl.String))
        candidates = [one for one in spec.candidate if one in present]
        absent = [one for one in spec.candidate if one not in present]
        if spec.baseline not in present or not candidates:
            lacking = spec.baseline if spec.baseline not in present else listed(absent)
            return Findings(0, reason=f"{lacking} has none of the items {listed(self.items)}")
        watched = ComparisonSpec(
            version=spec.version,
            baseline=spec.baseline,
            candidate=candidates,
            item=spec.item,
            metrics=self.metrics(seen),
        )
        compared = compare_spec(rows, watched)
        flips = compared.flips.filter(pl.col("flip") == "newly_failing")
        lone = [
            f"{one} {metric}: has none of the items that must not flip"
            for one in absent
            for metric in self.metrics(seen)
        ]
        items = {
            version: set(rows.filter(as_text(seen.schema, spec.version) == version).select(item).to_series())
            for version in (spec.baseline, *candidates)
        }
        lone += [
            f"{one} has no rows of {listed(sorted(unseen))}, which must not flip"
            for one in candidates
            if (unseen := items[spec.baseline] - items[one])
        ]
        return Findings(int(compared.summary["n"].sum()), [*lone, *self.flipped(flips)], "item")

    def flipped(self, flips: pl.DataFrame) -> Iterator[str]:
        """Say which items flipped."""
        for (candidate, metric), rows in flips.group_by("candidate", "metric", maintain_order=True):
            items = rows.get_column("item").cast(pl.String).sort().to_list()
            means = rows.select(pl.col("baseline_score", "candidate_score").mean()).row(0)
            yield (
                f"{candidate} {metric}: {len(items):,} of {len(self.items):,} "
                f"items that must not flip now fail (mean score {means[0]:.2f} to {means[1]:.2f}); "
                f"look at {listed(items)}"
            )


def unknown_items(seen: Evidence) -> list[str]:
    """Find the items of `must_not_flip` that no row has: they cannot be watched."""
    wanted = {item for gate in seen.gates if isinstance(gate, MustNotFlip) for item in gate.items}
    if seen.comparison is None or seen.comparison.spec.item is None or not wanted:
        return []
    item = as_text(seen.schema, seen.comparison.spec.item)
    found = seen.scored.select(item.alias("item")).filter(pl.col("item").is_in(list(wanted))).unique()
    return sorted(wanted - set(found.collect(engine="streaming").get_column("item")))


class OverTime(Gate):
    """No series of `[timeline]` may have one of some verdicts. Its tests may be looked at every day."""

    verdicts: Verdicts = Field(alias="timeline", description=ONE_OR_MORE)

    rule: ClassVar[str] = "timeline"
    takes_by: ClassVar[bool] = False
    needs_timeline: ClassVar[bool] = True
    waits_for_candidate: ClassVar[bool] = False

    @property
    def demand(self) -> str:
        """The verdicts."""
        return f"timeline = {', '.join(self.verdicts)}"

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Add the measures that are followed."""
        return (*context.metrics, *context.followed)

    def result(self, seen: Evidence) -> GateResult:
        """Judge the gate, or skip it while every series has only its reference."""
        found = self.judge(seen)
        if seen.timeline is not None and not found.judged and not found.objections:
            waiting = self.changes(seen.timeline, self.metrics(seen))
            if not waiting.is_empty():
                first = waiting.row(0, named=True)
                return GateResult(self.name, SKIPPED, (f"{series(first)}: {first['reason']}",))
        return super().result(seen)

    def changes(self, line: Timeline, metrics: Sequence[str]) -> pl.DataFrame:
        """Select the series that the gate is about: without a name, measures and shares of answers too."""
        if not self.metric:
            return line.summary
        return line.summary.filter(pl.col("metric").is_in(list(metrics)))

    def judge(self, seen: Evidence) -> Findings:
        """Find the series whose level changed."""
        if seen.timeline is None:
            return Findings(0, reason="there is no timeline: see the notes")
        changes = self.changes(seen.timeline, self.metrics(seen))
        objections = [
            f"{series(row)}: {row['verdict']}: {row['reason']}"
            for row in changes.iter_rows(named=True)
            if row["verdict"] in self.verdicts
        ]
        judged = changes.filter(pl.col("current_n") > 0).height
        # One that fails the gate was judged, with however little.
        return Findings(max(judged, len(objections)), objections, "series", "no series has scores over time")


def series(row: Mapping[str, Any]) -> str:
    """Name a series."""
    pieces = [row.get("slice"), row.get("version")]
    return str(row["metric"]) + "".join(f" [{piece}]" for piece in pieces if piece is not None)


def compared_rows() -> pl.Expr:
    """How many items a row of a comparison is about, or rows where versions are not paired."""
    sides = pl.min_horizontal("n_baseline_only", "n_candidate_only")
    return pl.when(pl.col("paired") | (sides > 0)).then(pl.col("n")).otherwise(0)


def nothing_compared(comparison: Comparison, rows: pl.DataFrame) -> list[str]:
    """List the candidates and metrics that could not be compared, with the reason if it is known."""
    hint = ""
    if comparison.spec.paired and not comparison.unmatched.is_empty():
        sides = comparison.unmatched.select(
            "missing", item=pl.col("item").cast(pl.String).str.strip_chars().str.to_lowercase()
        ).unique()
        if sides["item"].is_duplicated().any():
            hint = f"; some values of {comparison.spec.item!r} differ only in case or in white space"
    return [
        f"{subject(row)}: nothing is compared: {row['reason']}{hint}"
        for row in rows.filter(compared_rows() == 0).iter_rows(named=True)
    ]
