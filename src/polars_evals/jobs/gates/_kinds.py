"""The kinds of gates: on rows, on the comparison of versions, and on the scores over time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from polars_evals._errors import ConfigError
from polars_evals.drift import Comparison, ComparisonSpec, Timeline, compare_spec
from polars_evals.drift.answers import ERROR, OUTCOMES, can_tell, error_of
from polars_evals.drift.columns import as_text
from polars_evals.drift.comparison import TOLERANCE, falls
from polars_evals.drift.components import MEAN
from polars_evals.drift.inference.intervals import wilson
from polars_evals.jobs.gates._base import (
    ONE_OR_MORE,
    SKIPPED,
    Amount,
    Context,
    Findings,
    Gate,
    GateInput,
    GateResult,
    Number,
    Verdicts,
    all_rows,
    changed,
    subject,
)
from polars_evals.suite.declared import Fraction, Table, Text
from polars_evals.suite.declared import listed as as_tuple
from polars_evals.suite.measure import AUTO, KNOWN
from polars_evals.wording import counted, have, listed, verb


def _item(item: object) -> object:
    return str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item


Items = Annotated[
    tuple[Annotated[str, BeforeValidator(_item)], ...], BeforeValidator(as_tuple), Field(min_length=1)
]


def _aggregates_of(context: Context) -> tuple[str, ...]:
    given = () if context.compare is None else context.compare.aggregates or ()
    return tuple(str(one.name) for one in given)


class _ComparisonGate(Gate):
    """A gate about rows of the comparison."""

    needs_compare: ClassVar[bool] = True

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Add the aggregates, the measures, and the shares of answers that failed."""
        given = () if context.compare is None else context.compare.measures
        measures = KNOWN if given == AUTO else given
        return (*context.metrics, *_aggregates_of(context), *measures, *OUTCOMES)

    def looked_at(self, seen: GateInput) -> pl.Expr:
        metric = pl.lit(True) if self.metric is None else pl.col("metric") == self.metric
        return metric if self.by is None else metric & (pl.col("by") == self.by)

    def findings(self, seen: GateInput, rows: pl.DataFrame, objections: Sequence[str]) -> Findings:
        """Count what was compared, and object to candidates without anything to compare."""
        about = "item" if seen.compared().spec.paired else "row"
        if rows.is_empty() and self.metric in OUTCOMES and can_tell(self.metric, seen.schema):
            # Nothing failed, so that there is no row about it: that is judged, and well.
            every = seen.compared().summary.filter(pl.col("metric") == seen.metrics[0])
            return Findings(int(every["n"].sum()), [], about)
        whole = rows.filter(pl.col("slice").is_null()) if self.by is None else rows
        missing = nothing_compared(seen.compared(), whole)
        judged = int(whole.select(_compared_rows().sum()).item())
        return Findings(judged, [*missing, *objections], about, "; ".join(missing))


class FailOn(_ComparisonGate):
    """No row of the comparison may have one of some verdicts, after Holm's correction over all such gates.

    A job that runs every day asks the same question again and again while rows are added. Its p-values hold
    for all days together, so that a job without any change fails once in its life with probability alpha at
    most. `sequential = false` is for a job that asks once.
    """

    verdicts: Verdicts = Field(alias="fail_on", description=ONE_OR_MORE)
    sequential: bool = Field(default=True, description="true, or false for a job that runs only once")

    rule: ClassVar[str] = "fail_on"

    def judge(self, seen: GateInput) -> Findings:
        # All gates of this kind are judged together, so that together they err with probability alpha.
        every = pl.any_horizontal([gate.looked_at(seen) for gate in seen.gates if isinstance(gate, FailOn)])
        rows = seen.compared().family_wise(every, sequential=self.sequential).filter(self.looked_at(seen))
        return self.findings(seen, rows, list(self.bad_verdicts(seen, rows.filter(_compared_rows() > 0))))

    def bad_verdicts(self, seen: GateInput, rows: pl.DataFrame) -> Iterator[str]:
        for row in rows.iter_rows(named=True):
            if row["verdict"] in self.verdicts:
                word = "" if self.verdicts == ("regressed",) else f"{row['verdict']}: "
                yield f"{subject(row)}: {word}{changed(seen, row)}{_newly_failing(seen, row)}"


def _newly_failing(seen: GateInput, row: Mapping[str, Any]) -> str:
    """Say how many items of a row newly fail, and where they are listed."""
    count = row["newly_failing"]
    if not count:
        return ""
    place = f" (listed in {seen.items_file})" if seen.items_file else ""
    return f", {counted(count, 'item')} newly {verb(count, 'failing', 'fail')}{place}"


class NotWorseThan(_ComparisonGate):
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

    def judge(self, seen: GateInput) -> Findings:
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
        items = counted(row["n"], "item")
        if row["ci_low"] is None or not np.isfinite(row["ci_low"]):
            return f"{items} {verb(row['n'], 'is', 'are')} too few to rule out a loss of {self.margin:g}"
        interval = f"the difference is between {row['ci_low']:+.4f} and {row['ci_high']:+.4f} ({items})"
        if row["ci_high"] <= -self.margin:
            return f"worse by more than {self.margin:g}: {interval}"
        return f"a loss of {self.margin:g} or more is not ruled out: {interval}"


class _MeasuredGate(_ComparisonGate):
    """A bound on the numbers of a comparison: of the whole, or with `by` of each slice of a column."""

    bound: Amount

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Scores only: a measure has a unit of its own."""
        return context.metrics

    def judge(self, seen: GateInput) -> Findings:
        comparison = seen.compared()
        rows = comparison.summary.with_columns(slice=None, by=None) if self.by is None else comparison.slices
        about = pl.col("metric").is_in(self.metrics(seen))
        rows = rows.filter(about if self.by is None else about & (pl.col("by") == self.by))
        objections = [
            f"{subject(row)}: {text}"
            for row in rows.filter(_compared_rows() > 0).iter_rows(named=True)
            for text in self.beyond(row)
        ]
        return self.findings(seen, rows, objections)

    @abstractmethod
    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Say which numbers of a row exceed the bound."""


class MaxNewlyFailing(_MeasuredGate):
    """For each metric, at most a number of items may pass in the baseline and fail in a candidate."""

    bound: Amount = Field(alias="max_newly_failing", description="a number of items, from 0 on")

    rule: ClassVar[str] = "max_newly_failing"
    needs_item: ClassVar[bool] = True

    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        count = row["newly_failing"] or 0
        if count > self.bound:
            yield f"{counted(count, 'item')} newly {verb(count, 'failing', 'fail')}, more than {self.bound:g}"


class MaxDrop(_MeasuredGate):
    """The mean score and the pass rate may fall by at most a bound, without a test."""

    bound: Amount = Field(alias="max_drop", description="a number from 0 on")

    rule: ClassVar[str] = "max_drop"
    is_relative: ClassVar[bool] = False

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        return (*context.metrics, *_aggregates_of(context))

    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        for value, before, after, limit in falls(row, self.bound, relative=self.is_relative):
            name = "score" if value == MEAN else "pass rate"
            yield f"{name} {before:.4g} → {after:.4g}, a drop of {before - after:.4g}, more than {limit:.4g}"


class MaxRelativeDrop(MaxDrop):
    """The mean score and the pass rate may fall by at most a share of the baseline's value."""

    bound: Amount = Field(alias="max_relative_drop", description="a number from 0 on")

    rule: ClassVar[str] = "max_relative_drop"
    is_relative: ClassVar[bool] = True


class MustNotFlip(Gate):
    """The listed items must not pass in the baseline and fail in a candidate."""

    items: Items = Field(alias="must_not_flip", description="a list of items")

    rule: ClassVar[str] = "must_not_flip"
    needs_compare: ClassVar[bool] = True
    needs_item: ClassVar[bool] = True
    takes_by: ClassVar[bool] = False

    @property
    def demand(self) -> str:
        return f"must_not_flip = {counted(len(self.items), 'item')}"

    def judge(self, seen: GateInput) -> Findings:
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
        missing = [
            f"{one} {metric}: has none of the items that must not flip"
            for one in absent
            for metric in self.metrics(seen)
        ]
        items = {
            version: set(rows.filter(as_text(seen.schema, spec.version) == version).select(item).to_series())
            for version in (spec.baseline, *candidates)
        }
        missing += [
            f"{one} has no rows of {listed(sorted(unseen))}, which must not flip"
            for one in candidates
            if (unseen := items[spec.baseline] - items[one])
        ]
        return Findings(int(compared.summary["n"].sum()), [*missing, *self.flipped(flips)], "item")

    def flipped(self, flips: pl.DataFrame) -> Iterator[str]:
        for (candidate, metric), rows in flips.group_by("candidate", "metric", maintain_order=True):
            items = rows.get_column("item").cast(pl.String).sort().to_list()
            means = rows.select(pl.col("baseline_score", "candidate_score").mean()).row(0)
            yield (
                f"{candidate} {metric}: {len(items):,} of {len(self.items):,} "
                f"items that must not flip now fail (mean score {means[0]:.2f} to {means[1]:.2f}); "
                f"look at {listed(items)}"
            )


def unknown_items(seen: GateInput) -> list[str]:
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

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        return (*context.metrics, *context.followed)

    def result(self, seen: GateInput) -> GateResult:
        """Judge the gate, or skip it while every series has only its reference."""
        found = self.judge(seen)
        if seen.timeline is not None and not found.judged and not found.objections:
            waiting = self.changes(seen.timeline, self.metrics(seen))
            if not waiting.is_empty():
                first = waiting.row(0, named=True)
                return GateResult(self.name, SKIPPED, (f"{_series(first)}: {first['reason']}",))
        return super().result(seen)

    def changes(self, line: Timeline, metrics: Sequence[str]) -> pl.DataFrame:
        """Select the series that the gate is about: without a name, measures and shares of answers too."""
        if not self.metric:
            return line.summary
        return line.summary.filter(pl.col("metric").is_in(list(metrics)))

    def judge(self, seen: GateInput) -> Findings:
        if seen.timeline is None:
            return Findings(0, reason="there is no timeline: see the notes")
        changes = self.changes(seen.timeline, self.metrics(seen))
        objections = [
            f"{_series(row)}: {row['verdict']}: {row['reason']}"
            for row in changes.iter_rows(named=True)
            if row["verdict"] in self.verdicts
        ]
        judged = changes.filter(pl.col("current_n") > 0).height
        # One that fails the gate was judged, with however little.
        return Findings(max(judged, len(objections)), objections, "series", "no series has scores over time")


class _RowsGate(Gate):
    """A bound on a statistic of the rows of each candidate, or of all rows without a comparison."""

    # What to report for a group without values.
    lacking: ClassVar[str] = "there are no rows"
    # What the rows are called, unless it is a metric.
    what: ClassVar[str] = ""

    @abstractmethod
    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        """Return the value of a row: null where there is nothing to judge."""

    @abstractmethod
    def objection(self, row: Mapping[str, Any]) -> str | None:
        """Say what is wrong with a group of `n` values whose statistic is `found`, or return None."""

    def number(self) -> pl.Expr:
        return pl.col("value").mean()

    def metrics(self, seen: GateInput) -> list[str]:
        name = self.about or self.what
        return [name] if name else super().metrics(seen)

    def judge(self, seen: GateInput) -> Findings:
        groups, frame = dict[str, pl.Expr](), seen.scored
        if seen.comparison is not None:
            spec = seen.comparison.spec
            groups["candidate"] = as_text(seen.schema, spec.version)
            frame = frame.filter(groups["candidate"].is_in(spec.candidate))
        if self.by is not None:
            seen.require(self.by)
            groups["slice"] = pl.concat_str(pl.lit(f"{self.by}="), as_text(seen.schema, self.by))
        judged, objections = 0, list[str]()
        for metric in self.metrics(seen):
            values = frame.select(
                *(expr.alias(name) for name, expr in groups.items()), value=self.value(seen, metric)
            )
            numbers = [pl.col("value").count().alias("n"), self.number().alias("found")]
            found = values.group_by(*groups).agg(numbers).sort(*groups) if groups else values.select(numbers)
            for row in found.collect(engine="streaming").iter_rows(named=True):
                judged += row["n"]
                row["metric"] = metric
                if (text := self.objection(row) if row["n"] else self.lacking) is not None:
                    objections.append(f"{subject(row)}: {text}")
        return Findings(judged, objections, reason=self.lacking)


class MinPassRate(_RowsGate):
    """A share of the rows of each candidate, and of each slice with `by`, must pass."""

    least: Fraction = Field(alias="min_pass_rate", description="a number from 0 to 1")

    rule: ClassVar[str] = "min_pass_rate"
    lacking: ClassVar[str] = "no row has a label to judge"

    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        return pl.col(f"{metric}_label") == "pass"

    def objection(self, row: Mapping[str, Any]) -> str | None:
        n, passed = row["n"], round(row["found"] * row["n"])
        if passed / n >= self.least:
            return None
        low, high = (float(end[0]) for end in wilson(np.array([passed]), np.array([n]), 0.05))
        return (
            f"pass rate {passed / n:.1%} is below {self.least:.1%} ({passed:,} of {n:,}, 95% interval "
            f"{low:.1%} to {high:.1%}); look at the {counted(n - passed, 'row')} with "
            f'{row["metric"]}_label = "fail"'
        )


class _Bound(_RowsGate):
    """A number made of a column's values must not exceed a bound."""

    column: Text = Field(alias="measure", description="a column of numbers")

    takes_metric: ClassVar[bool] = False
    lacking: ClassVar[str] = "no row has a number"

    @property
    @abstractmethod
    def most(self) -> tuple[str, float]:
        """What is bounded, in words, and the bound."""

    @property
    def about(self) -> str:
        return self.column

    @property
    def demand(self) -> str:
        return "{} at most {:g}".format(*self.most)

    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        """Return the column; infinity counts as a number."""
        seen.require(metric)
        if not seen.schema[metric].is_numeric():
            raise ConfigError(f"a gate bounds {metric!r}, which is {seen.schema[metric]}, not a number")
        return pl.col(metric).cast(pl.Float64).fill_nan(None)

    def objection(self, row: Mapping[str, Any]) -> str | None:
        what, most = self.most
        if row["found"] <= most:
            return None
        return f"{what} {row['found']:,.6g} is above {most:,.6g} (of {counted(row['n'], 'row')})"


class MaxMean(_Bound):
    """A mean must not exceed a bound: `measure = "cost"`, `max_mean = 0.02`."""

    bound: Number = Field(alias="max_mean", description="a number")

    rule: ClassVar[str] = "max_mean"

    @property
    def most(self) -> tuple[str, float]:
        return "mean", self.bound


class _Quantile(Table):
    q: Fraction = Field(description="a number from 0 to 1")
    value: Number = Field(description="a number")


class MaxQuantile(_Bound):
    """A quantile must not exceed a bound: `measure = "ms"`, `max_quantile = { q = 0.95, value = 900 }`."""

    bound: _Quantile = Field(alias="max_quantile", description="{ q = 0.95, value = 900 }")

    rule: ClassVar[str] = "max_quantile"

    def number(self) -> pl.Expr:
        return pl.col("value").quantile(self.bound.q, "linear")

    @property
    def most(self) -> tuple[str, float]:
        return f"{self.bound.q:g} quantile", self.bound.value


class MaxErrorRate(_RowsGate):
    """At most a share of the rows may have an error: `max_error_rate = 0.02`."""

    bound: Fraction = Field(alias="max_error_rate", description="a share between 0 and 1")

    rule: ClassVar[str] = "max_error_rate"
    what: ClassVar[str] = "errors"
    takes_metric: ClassVar[bool] = False

    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        has_error = error_of(seen.schema)
        if has_error is None:
            seen.require(ERROR)
            raise ConfigError(
                f"a gate counts errors, but {ERROR!r} is {seen.schema[ERROR]}, not text or Boolean"
            )
        return has_error

    def objection(self, row: Mapping[str, Any]) -> str | None:
        if row["found"] <= self.bound + TOLERANCE:
            return None
        return (
            f"{row['found']:.1%} of {have(row['n'], 'row')} one, more than {self.bound:.1%}; look at the "
            f"{counted(round(row['found'] * row['n']), 'row')} whose {ERROR} is set"
        )


class MinAnswered(_RowsGate):
    """A share of the rows must have an answer, that is, an output that is not empty."""

    bound: Fraction = Field(alias="min_answered", description="a number from 0 to 1")
    column: Text = Field(default="output", alias="output", description="the column of outputs")

    rule: ClassVar[str] = "min_answered"
    what: ClassVar[str] = "answers"
    takes_metric: ClassVar[bool] = False

    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        seen.require(self.column)
        column, is_text = pl.col(self.column), seen.schema[self.column] == pl.String()
        return column.is_not_null() & (column.str.strip_chars() != "" if is_text else pl.lit(True))

    def objection(self, row: Mapping[str, Any]) -> str | None:
        if row["found"] >= self.bound - TOLERANCE:
            return None
        return (
            f"{row['found']:.1%} of {have(row['n'], 'row')} one, fewer than {self.bound:.1%}; look at the "
            f"rows whose {self.column} is missing or empty"
        )


def _series(row: Mapping[str, Any]) -> str:
    pieces = [row.get("slice"), row.get("version")]
    return str(row["metric"]) + "".join(f" [{piece}]" for piece in pieces if piece is not None)


def _compared_rows() -> pl.Expr:
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
        for row in rows.filter(_compared_rows() == 0).iter_rows(named=True)
    ]
