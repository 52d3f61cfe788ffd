"""The rules of gates: what each kind judges, and what it says.

A rule is a class; its keyword `rule` is the key that names it in `[[gate]]`. Its fields are the other keys.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from polars_evals._errors import ConfigError
from polars_evals.drift import Comparison, ComparisonSpec, Timeline, compare_spec
from polars_evals.drift.columns import as_text
from polars_evals.drift.comparison import TOLERANCE, falls
from polars_evals.drift.components import MEAN
from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.drift.inference.intervals import wilson
from polars_evals.drift.unanswered import ERROR, OUTCOMES, can_tell, error_of
from polars_evals.jobs.gates import SKIPPED, Context, Findings, Gate, GateInput, GateResult, change, subject
from polars_evals.suite.config_tables import ConfigTable, Fraction, Text, as_tuple, read_table
from polars_evals.suite.measure import AUTO, KNOWN
from polars_evals.wording import counted, did_you_mean, have, listed, verb

Verdict = Literal["regressed", "inconclusive", "improved", "no_change"]
Verdicts = Annotated[tuple[Verdict, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Item = Annotated[str, BeforeValidator(lambda item: str(item) if type(item) in (int, float) else item)]
ONE_OR_MORE = f"one or more of {', '.join(VERDICTS)}"


def _newly_failing(count: int) -> str:
    return f"{counted(count, 'item')} newly {verb(count, 'failing', 'fail')}"


class _ComparisonGate(Gate):
    """A gate about rows of the comparison."""

    needs: ClassVar[tuple[str, ...]] = ("compare",)

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Add the aggregates, the measures, and the shares of answers that failed."""
        given = () if context.compare is None else context.compare.measures
        return (*context.metrics, *context.aggregates, *(KNOWN if given == AUTO else given), *OUTCOMES)

    def looked_at(self) -> pl.Expr:
        metric = pl.lit(True) if self.metric is None else pl.col("metric") == self.metric
        return metric if self.by is None else metric & (pl.col("by") == self.by)

    def findings(self, seen: GateInput, rows: pl.DataFrame, objections: Iterable[str]) -> Findings:
        """Count what was compared, and object to candidates without anything to compare."""
        about = "item" if seen.compared.spec.paired else "row"
        if rows.is_empty() and self.metric in OUTCOMES and can_tell(self.metric, seen.schema):
            # Nothing failed, so that there is no row about it: that is judged, and well.
            every = seen.compared.summary.filter(pl.col("metric") == seen.metrics[0])
            return Findings(int(every["n"].sum()), [], about)
        whole = rows.filter(pl.col("slice").is_null()) if self.by is None else rows
        missing = nothing_compared(seen.compared, whole)
        judged = int(whole.select(_compared_rows().sum()).item())
        return Findings(judged, [*missing, *objections], about, "; ".join(missing))


class FailOn(_ComparisonGate, rule="fail_on"):
    """No row of the comparison may have one of some verdicts, after Holm's correction over all such gates.

    A job that runs every day asks the same question again and again while rows are added. Its p-values hold
    for all days together, so that a job without any change fails once in its life with probability alpha at
    most. `sequential = false` is for a job that asks once.
    """

    verdicts: Verdicts = Field(alias="fail_on", description=ONE_OR_MORE)
    sequential: bool = Field(default=True, description="true, or false for a job that runs only once")

    def evaluate(self, seen: GateInput) -> Findings:
        """Judge all gates of this kind together, so that together they err with probability alpha."""
        every = pl.any_horizontal([gate.looked_at() for gate in seen.gates if isinstance(gate, FailOn)])
        rows = seen.compared.family_wise(every, sequential=self.sequential).filter(self.looked_at())
        place = f" (listed in {seen.items_file})" if seen.items_file else ""
        objections = [
            f"{subject(row)}: {'' if self.verdicts == ('regressed',) else row['verdict'] + ': '}"
            f"{change(seen, row)}" + (f", {_newly_failing(count)}{place}" if count else "")
            for row in rows.filter(_compared_rows() > 0).iter_rows(named=True)
            for count in [row["newly_failing"]]
            if row["verdict"] in self.verdicts
        ]
        return self.findings(seen, rows, objections)


class NotWorseThan(_ComparisonGate, rule="not_worse_than"):
    """The data must show that no candidate is worse by a margin. An inconclusive result fails.

    All rows must hold at once, so that no correction for their number is needed.
    """

    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        alias="not_worse_than", description="a number above 0"
    )
    sequential: bool = Field(default=True, description="true, or false for a job that runs only once")

    def check(self, context: Context) -> None:
        """Scores are between 0 and 1: none is worse by more than that."""
        super().check(context)
        if self.margin >= 1 and self.metric in (None, *context.metrics):
            raise ValueError(f"`{self.rule}` must be below 1, as scores are, got {self.margin:g}")

    def evaluate(self, seen: GateInput) -> Findings:
        """Look at the interval of each mean and pass rate."""
        chosen = self.looked_at()
        if self.metric is None:
            # A margin has a unit: that of scores is not that of measures.
            chosen &= pl.col("metric").is_in(self.metrics(seen))
        prefix = "sequential_" if self.sequential else ""
        components = seen.compared.components.filter(chosen, pl.col("quantile").is_null(), pl.col("n") > 0)
        # A pass rate with the same numbers as the mean is no other finding.
        rows = components.filter(~pl.col("same")).iter_rows(named=True)
        objections = [
            f"{subject(row)}{'' if row['component'] == MEAN else ', pass rate'}: {text}"
            for row in rows
            if (text := self._objection(row["n"], *(row[f"{prefix}{end}_case"] for end in ("worst", "best"))))
        ]
        return self.findings(seen, seen.rows.filter(chosen), objections)

    def _objection(self, n: int, low: float | None, high: float) -> str | None:
        items = counted(n, "item")
        if low is not None and low > -self.margin:
            return None
        if low is None or not np.isfinite(low):
            return f"{items} {verb(n, 'is', 'are')} too few to rule out a loss of {self.margin:g}"
        interval = f"the difference is between {low:+.4f} and {high:+.4f} ({items})"
        if high <= -self.margin:
            return f"worse by more than {self.margin:g}: {interval}"
        return f"a loss of {self.margin:g} or more is not ruled out: {interval}"


class _BoundGate(_ComparisonGate):
    """A bound on the numbers of a comparison: of the whole, or with `by` of each slice of a column."""

    bound: Amount

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Scores only: a measure has a unit of its own."""
        return context.metrics

    def evaluate(self, seen: GateInput) -> Findings:
        about = pl.col("metric").is_in(self.metrics(seen)) & pl.col("by").eq_missing(pl.lit(self.by))
        rows = seen.rows.filter(about)
        judged = rows.filter(_compared_rows() > 0).iter_rows(named=True)
        objections = [f"{subject(row)}: {text}" for row in judged for text in self.excesses(row)]
        return self.findings(seen, rows, objections)

    @abstractmethod
    def excesses(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Say which numbers of a row exceed the bound."""


class _MaxNewlyFailing(_BoundGate, rule="max_newly_failing"):
    """For each metric, at most a number of items may pass in the baseline and fail in a candidate."""

    bound: Amount = Field(alias="max_newly_failing", description="a number of items, from 0 on")

    needs: ClassVar[tuple[str, ...]] = ("compare", "item")

    def excesses(self, row: Mapping[str, Any]) -> Iterator[str]:
        count = row["newly_failing"] or 0
        if count > self.bound:
            yield f"{_newly_failing(count)}, more than {self.bound:g}"


class _MaxDrop(_BoundGate, rule="max_drop"):
    """The mean score and the pass rate may fall by at most a bound, without a test."""

    bound: Amount = Field(alias="max_drop", description="a number from 0 on")

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        return (*context.metrics, *context.aggregates)

    def excesses(self, row: Mapping[str, Any]) -> Iterator[str]:
        is_relative = isinstance(self, _MaxRelativeDrop)
        for value, before, after, limit in falls(row, self.bound, relative=is_relative):
            name = "score" if value == MEAN else "pass rate"
            yield f"{name} {before:.4g} → {after:.4g}, a drop of {before - after:.4g}, more than {limit:.4g}"


class _MaxRelativeDrop(_MaxDrop, rule="max_relative_drop"):
    """The mean score and the pass rate may fall by at most a share of the baseline's value."""

    bound: Amount = Field(alias="max_relative_drop", description="a number from 0 on")


class _MustNotFlip(Gate, rule="must_not_flip"):
    """The listed items must not pass in the baseline and fail in a candidate."""

    items: Annotated[tuple[Item, ...], BeforeValidator(as_tuple), Field(min_length=1)] = Field(
        alias="must_not_flip", description="a list of items"
    )

    needs: ClassVar[tuple[str, ...]] = ("compare", "item")
    refuses: ClassVar[tuple[str, ...]] = ("by",)

    @property
    def demand(self) -> str:
        return f"must_not_flip = {counted(len(self.items), 'item')}"

    def evaluate(self, seen: GateInput) -> Findings:
        """Compare the listed items alone, however many others there are."""
        spec, metrics = seen.compared.spec, self.metrics(seen)
        assert spec.item is not None
        item, version = (as_text(seen.schema, name) for name in (spec.item, spec.version))
        rows = seen.scored.filter(item.is_in(list(self.items))).collect(engine="streaming")
        held = {name: set(items) for name, items in rows.group_by(version).agg(item).iter_rows()}
        candidates = [one for one in spec.candidate if one in held]
        absent = [one for one in spec.candidate if one not in held]
        if spec.baseline not in held or not candidates:
            lacking = spec.baseline if spec.baseline not in held else listed(absent)
            return Findings(0, reason=f"{lacking} has none of the items {listed(self.items)}")
        watched = ComparisonSpec(
            version=spec.version,
            baseline=spec.baseline,
            candidate=candidates,
            item=spec.item,
            metrics=metrics,
        )
        compared = compare_spec(rows, watched)
        failing = pl.col("flip") == "newly_failing"
        flips = compared.flips.filter(failing).group_by("candidate", "metric", maintain_order=True)
        flipped = flips.agg(
            pl.col("item").cast(pl.String).sort(), pl.col("baseline_score", "candidate_score").mean()
        )
        objections = [
            f"{one} {metric}: has none of the items that must not flip"
            for one in absent
            for metric in metrics
        ]
        objections += [
            f"{one} has no rows of {listed(sorted(unseen))}, which must not flip"
            for one in candidates
            if (unseen := held[spec.baseline] - held[one])
        ]
        objections += [
            f"{candidate} {metric}: {len(items):,} of {len(self.items):,} items that must not flip now "
            f"fail (mean score {before:.2f} to {after:.2f}); look at {listed(items)}"
            for candidate, metric, items, before, after in flipped.iter_rows()
        ]
        return Findings(int(compared.summary["n"].sum()), objections, "item")


def unknown_items(seen: GateInput) -> list[str]:
    """Find the items of `must_not_flip` that no row has: they cannot be watched."""
    wanted = {item for gate in seen.gates if isinstance(gate, _MustNotFlip) for item in gate.items}
    if seen.comparison is None or seen.comparison.spec.item is None or not wanted:
        return []
    item = as_text(seen.schema, seen.comparison.spec.item)
    found = seen.scored.select(item.alias("item")).filter(pl.col("item").is_in(list(wanted))).unique()
    return sorted(wanted - set(found.collect(engine="streaming").get_column("item")))


class _OverTime(Gate, rule="timeline"):
    """No series of `[timeline]` may have one of some verdicts. Its tests may be looked at every day."""

    verdicts: Verdicts = Field(alias="timeline", description=ONE_OR_MORE)

    needs: ClassVar[tuple[str, ...]] = ("timeline",)
    refuses: ClassVar[tuple[str, ...]] = ("by",)
    waits_for_candidate: ClassVar[bool] = False

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        return (*context.metrics, *(context.followed or ()))

    def series(self, line: Timeline) -> pl.DataFrame:
        """Select the series that the gate is about: without a name, measures and shares of answers too."""
        return line.summary.filter(pl.col("metric") == self.metric) if self.metric else line.summary

    def result(self, seen: GateInput) -> GateResult:
        """Judge the gate, or skip it while every series has only its reference."""
        if seen.timeline is not None and not self.evaluate(seen).judged:
            for first in self.series(seen.timeline).head(1).iter_rows(named=True):
                return self.result_of(SKIPPED, f"{_series_name(first)}: {first['reason']}")
        return super().result(seen)

    def evaluate(self, seen: GateInput) -> Findings:
        if seen.timeline is None:
            return Findings(0, reason="there is no timeline: see the notes")
        series = self.series(seen.timeline)
        objections = [
            f"{_series_name(row)}: {row['verdict']}: {row['reason']}"
            for row in series.iter_rows(named=True)
            if row["verdict"] in self.verdicts
        ]
        judged = series.filter(pl.col("current_n") > 0).height
        # One that fails the gate was judged, with however little.
        return Findings(max(judged, len(objections)), objections, "series", "no series has scores over time")


def _series_name(row: Mapping[str, Any]) -> str:
    pieces = [row.get("slice"), row.get("version")]
    return str(row["metric"]) + "".join(f" [{piece}]" for piece in pieces if piece is not None)


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
    def objection(self, found: float, n: int, metric: str) -> str | None:
        """Say what is wrong with a group of `n` values whose statistic is `found`, or return None."""

    def statistic(self) -> pl.Expr:
        return pl.col("value").mean()

    def metrics(self, seen: GateInput) -> list[str]:
        name = self.about or self.what
        return [name] if name else super().metrics(seen)

    def evaluate(self, seen: GateInput) -> Findings:
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
            values = frame.select(**groups, value=self.value(seen, metric))
            numbers = [pl.col("value").count().alias("n"), self.statistic().alias("found")]
            found = values.group_by(*groups).agg(numbers).sort(*groups) if groups else values.select(numbers)
            for row in found.collect(engine="streaming").iter_rows(named=True):
                judged += row["n"]
                text = self.objection(row["found"], row["n"], metric) if row["n"] else self.lacking
                if text is not None:
                    objections.append(f"{subject(row | {'metric': metric})}: {text}")
        return Findings(judged, objections, reason=self.lacking)


class MinPassRate(_RowsGate, rule="min_pass_rate"):
    """A share of the rows of each candidate, and of each slice with `by`, must pass."""

    least: Fraction = Field(alias="min_pass_rate", description="a number from 0 to 1")

    lacking: ClassVar[str] = "no row has a label to judge"

    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        """Return whether a row passes."""
        return pl.col(f"{metric}_label") == "pass"

    def objection(self, found: float, n: int, metric: str) -> str | None:
        """Name the rate, its interval, and the rows that fail."""
        passed = round(found * n)
        if passed / n >= self.least:
            return None
        low, high = (float(end[0]) for end in wilson(np.array([passed]), np.array([n]), 0.05))
        return (
            f"pass rate {passed / n:.1%} is below {self.least:.1%} ({passed:,} of {n:,}, 95% interval "
            f'{low:.1%} to {high:.1%}); look at the {counted(n - passed, "row")} with {metric}_label = "fail"'
        )


class _MeasureGate(_RowsGate):
    """A number made of a column's values must not exceed a bound."""

    column: Text = Field(alias="measure", description="a column of numbers")

    refuses: ClassVar[tuple[str, ...]] = ("metric",)
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

    def objection(self, found: float, n: int, metric: str) -> str | None:
        what, most = self.most
        return f"{what} {found:,.6g} is above {most:,.6g} (of {counted(n, 'row')})" if found > most else None


class _MaxMean(_MeasureGate, rule="max_mean"):
    """A mean must not exceed a bound: `measure = "cost"`, `max_mean = 0.02`."""

    bound: Number = Field(alias="max_mean", description="a number")

    @property
    def most(self) -> tuple[str, float]:
        return "mean", self.bound


class _Quantile(ConfigTable):
    q: Fraction = Field(description="a number from 0 to 1")
    value: Number = Field(description="a number")


class _MaxQuantile(_MeasureGate, rule="max_quantile"):
    """A quantile must not exceed a bound: `measure = "ms"`, `max_quantile = { q = 0.95, value = 900 }`."""

    bound: _Quantile = Field(alias="max_quantile", description="{ q = 0.95, value = 900 }")

    def statistic(self) -> pl.Expr:
        return pl.col("value").quantile(self.bound.q, "linear")

    @property
    def most(self) -> tuple[str, float]:
        return f"{self.bound.q:g} quantile", self.bound.value


class _MaxErrorRate(_RowsGate, rule="max_error_rate"):
    """At most a share of the rows may have an error: `max_error_rate = 0.02`."""

    bound: Fraction = Field(alias="max_error_rate", description="a share between 0 and 1")

    refuses: ClassVar[tuple[str, ...]] = ("metric",)
    what: ClassVar[str] = "errors"

    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        has_error = error_of(seen.schema)
        if has_error is None:
            seen.require(ERROR)
            raise ConfigError(
                f"a gate counts errors, but {ERROR!r} is {seen.schema[ERROR]}, not text or Boolean"
            )
        return has_error

    def objection(self, found: float, n: int, metric: str) -> str | None:
        if found <= self.bound + TOLERANCE:
            return None
        return (
            f"{found:.1%} of {have(n, 'row')} one, more than {self.bound:.1%}; look at the "
            f"{counted(round(found * n), 'row')} whose {ERROR} is set"
        )


class _MinAnswered(_RowsGate, rule="min_answered"):
    """A share of the rows must have an answer, that is, an output that is not empty."""

    bound: Fraction = Field(alias="min_answered", description="a number from 0 to 1")
    column: Text = Field(default="output", alias="output", description="the column of outputs")

    refuses: ClassVar[tuple[str, ...]] = ("metric",)
    what: ClassVar[str] = "answers"

    def value(self, seen: GateInput, metric: str) -> pl.Expr:
        seen.require(self.column)
        column, is_text = pl.col(self.column), seen.schema[self.column] == pl.String()
        return column.is_not_null() & (column.str.strip_chars() != "" if is_text else pl.lit(True))

    def objection(self, found: float, n: int, metric: str) -> str | None:
        if found >= self.bound - TOLERANCE:
            return None
        return (
            f"{found:.1%} of {have(n, 'row')} one, fewer than {self.bound:.1%}; look at the "
            f"rows whose {self.column} is missing or empty"
        )


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


def read_gate(entries: object, place: str, context: Context) -> Gate:
    """Read a `[[gate]]`: one rule, about one metric or all."""
    rules = [rule for rule in Gate.kinds if isinstance(entries, Mapping) and rule in entries]
    if len(rules) != 1:
        known = [*Gate.kinds, *Gate.model_fields]
        for key in entries if isinstance(entries, Mapping) and not rules else ():
            if key not in known and (hint := did_you_mean(key, known)):
                raise ConfigError(f'{place}: unknown key "{key}"{hint}')
        raise ConfigError(f"{place}: a gate has one of {', '.join(Gate.kinds)}")
    gate = read_table(Gate.kinds[rules[0]], entries, place)
    try:
        gate.check(context)
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from None
    return gate
