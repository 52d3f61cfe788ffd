"""Gates: conditions on what a run found, each with a line that says what to look at.

A gate is a class with a `rule`, the key that names it in `[[gate]]`. Its fields are the other keys. It
returns how many rows or items it judged: a gate that judged none fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import polars as pl
from pydantic import BeforeValidator, Field

from polars_evals._errors import ConfigError
from polars_evals.drift import Comparison, ComparisonSpec, Timeline
from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.suite.declared import Table, Text, listed, read_table
from polars_evals.wording import counted, did_you_mean

PASSED, FAILED, SKIPPED, ADVISORY = "passed", "failed", "skipped", "advisory"


Verdict = Literal["regressed", "inconclusive", "improved", "no_change"]
Verdicts = Annotated[tuple[Verdict, ...], BeforeValidator(listed), Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ONE_OR_MORE = f"one or more of {', '.join(VERDICTS)}"


@dataclass(frozen=True)
class GateResult:
    """The result of a gate: `passed`, `failed`, `advisory` or `skipped`.

    `advisory` is a gate with `level = "advisory"` that would have failed; `skipped` is one with nothing to
    judge yet. The lines of a gate that passed name the rows that are regressed all the same.
    """

    name: str
    status: str
    lines: tuple[str, ...] = ()
    judged: int = 0
    about: str = "row"

    def texts(self) -> list[str]:
        """Return the result as text, with a line for each objection."""
        if self.status == PASSED:
            regressed = f"; regressed: {'; '.join(self.lines)}" if self.lines else ""
            return [f"{PASSED} {self.name}: {counted(self.judged, self.about)} judged{regressed}"]
        word = "FAILED" if self.status == FAILED else self.status
        return [f"{word} {self.name}: {line}" for line in self.lines]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `summary.json` holds it."""
        return {"gate": self.name, "status": self.status, "judged": self.judged, "lines": list(self.lines)}


@dataclass(frozen=True)
class Findings:
    """How many rows or items a gate judged, and a line for each thing that it objects to."""

    judged: int
    objections: Sequence[str] = ()
    about: str = "row"
    reason: str = ""


@dataclass(frozen=True)
class Context:
    """What a job file says beside its gates, as far as gates depend on it."""

    metrics: tuple[str, ...]
    compare: ComparisonSpec | None
    has_timeline: bool = False
    # The measures that the timeline follows.
    followed: tuple[str, ...] = ()


@dataclass(frozen=True)
class GateInput:
    """All that gates can look at."""

    metrics: tuple[str, ...]
    scored: pl.LazyFrame
    compare: ComparisonSpec | None
    comparison: Comparison | None
    gates: tuple[Gate, ...] = ()
    timeline: Timeline | None = None
    # Where the items are written that newly fail, if they are.
    items_file: str | None = None
    # The candidates that the job names and that have no rows, though there are other versions.
    absent: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> pl.Schema:
        """The columns of the scores."""
        return self.scored.collect_schema()

    def compared(self) -> Comparison:
        """Return the comparison. Gates that need one are skipped without it."""
        assert self.comparison is not None
        return self.comparison

    def require(self, name: str) -> None:
        """Raise unless the store has a column that a gate names."""
        if name not in self.schema:
            raise ConfigError(
                f"a gate needs the column {name!r}, which the store does not have"
                f"{did_you_mean(name, self.schema)}; the scores are in the store"
            )


class Gate(Table, ABC):
    """A `[[gate]]`: a condition that fails the run."""

    metric: Text | None = Field(default=None, description="a metric of the suite")
    by: Text | None = Field(default=None, description="a column of [compare] by")
    level: Literal["blocking", "advisory"] = "blocking"

    rule: ClassVar[str]
    # What must be there, and whether `by` and `metric` mean something.
    needs_compare: ClassVar[bool] = False
    needs_item: ClassVar[bool] = False
    takes_by: ClassVar[bool] = True
    takes_metric: ClassVar[bool] = True
    needs_timeline: ClassVar[bool] = False
    # Whether a job that compares has nothing for this gate before there is a candidate.
    waits_for_candidate: ClassVar[bool] = True

    kinds: ClassVar[dict[str, type[Gate]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "rule" not in vars(cls):
            # What some kinds share; it is abstract and cannot be asked for.
            return
        if cls.rule in cls.kinds:
            raise TypeError(f"two gates have the rule {cls.rule!r}")
        cls.kinds[cls.rule] = cls

    @property
    def demand(self) -> str:
        """What the gate demands, in the words of the job file; the first alias is the key of its rule."""
        name, alias = next(
            (name, field.alias) for name, field in type(self).model_fields.items() if field.alias
        )
        given = getattr(self, name)
        return f"{alias} = {', '.join(given) if isinstance(given, tuple) else format(given, 'g')}"

    @abstractmethod
    def judge(self, seen: GateInput) -> Findings:
        """Look at the scores and the comparison."""

    def check(self, context: Context) -> None:
        """Raise a ValueError unless the job has what else the rule needs."""

    @property
    def about(self) -> str | None:
        """The column that the gate is about; None for every metric."""
        return self.metric

    @property
    def name(self) -> str:
        """The gate in a line."""
        about = " by ".join(filter(None, (self.about, self.by)))
        if self.by and not self.about:
            about = f"by {self.by}"
        return f"{about}: {self.demand}" if about else self.demand

    def with_level(self, found: GateResult) -> GateResult:
        """Return a result as the level of the gate has it."""
        is_advice = found.status == FAILED and self.level == ADVISORY
        return replace(found, status=ADVISORY) if is_advice else found

    def result(self, seen: GateInput) -> GateResult:
        """Judge the gate, or skip it if there is nothing to judge yet. A gate that judged nothing fails."""
        absent = [f"{one} has no rows; is `candidate` in [compare] right?" for one in seen.absent]
        if seen.comparison is None and seen.compare is not None and self.waits_for_candidate:
            if absent:
                return GateResult(self.name, FAILED, tuple(absent))
            return GateResult(self.name, SKIPPED, ("there is no candidate to compare yet",))
        found = self.judge(seen)
        if not found.judged:
            reason = found.reason or f"there is no {found.about} to judge"
            return GateResult(self.name, FAILED, (reason,), 0, found.about)
        objections = (*(absent if self.waits_for_candidate else ()), *found.objections)
        return GateResult(self.name, FAILED if objections else PASSED, objections, found.judged, found.about)

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Name what `metric` may be."""
        return context.metrics

    def metrics(self, seen: GateInput) -> list[str]:
        """Name the metrics that the gate is about."""
        return [self.metric] if self.metric else list(seen.metrics)


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
        _check(gate, context)
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from None
    return gate


def _check(gate: Gate, context: Context) -> None:
    """Insist that the job has what a gate needs."""
    compare, rule = context.compare, f"`{gate.rule}`"
    if gate.metric is not None:
        if not gate.takes_metric:
            raise ValueError(f"{rule} is not about a metric; leave out `metric`")
        require_metric(gate.metric, gate.known(context))
    if gate.needs_timeline and not context.has_timeline:
        raise ValueError(f"{rule} needs a section [timeline]")
    if compare is None and (gate.needs_compare or (gate.by and gate.takes_by)):
        raise ValueError("needs a section [compare]")
    if gate.needs_item and (compare is None or compare.item is None):
        raise ValueError(f"{rule} needs `item` in [compare]")
    gate.check(context)
    if gate.by is None:
        return
    if not gate.takes_by:
        raise ValueError(f"{rule} does not support slices; leave out `by`")
    slices = (compare.by if compare is not None else ()) or ()
    if slices != "auto" and (gate.by,) not in slices:
        raise ValueError(f'"{gate.by}" is not in [compare] by')


def require_metric(name: str, metrics: Sequence[str]) -> None:
    """Raise unless the suite has the metric."""
    if name not in metrics:
        hint = did_you_mean(name, metrics) or f"; the suite has {', '.join(metrics)}"
        raise ValueError(f'unknown metric "{name}"{hint}')


def judge_all(seen: GateInput) -> list[GateResult]:
    """Judge every gate. A gate that passes also names regressed rows."""
    results = [gate.with_level(gate.result(seen)) for gate in seen.gates]
    return [
        replace(found, lines=_regressed(seen, gate)) if found.status == PASSED else found
        for gate, found in zip(seen.gates, results, strict=True)
    ]


def _regressed(seen: GateInput, gate: Gate) -> tuple[str, ...]:
    """Name the rows of the comparison with the verdict `regressed` that a gate about candidates lets pass."""
    if seen.comparison is None or not gate.takes_metric or not gate.waits_for_candidate:
        return ()
    rows = all_rows(seen.comparison)
    found = rows.filter(pl.col("verdict") == "regressed", pl.col("metric").is_in(gate.metrics(seen)))
    return tuple(f"{subject(row)} {changed(seen, row)}" for row in found.iter_rows(named=True))


def failed(results: Iterable[GateResult]) -> bool:
    """Whether any gate failed."""
    return any(result.status == FAILED for result in results)


def all_rows(comparison: Comparison) -> pl.DataFrame:
    """Return the rows of a comparison, of the whole and of slices."""
    return pl.concat([comparison.summary, comparison.slices], how="diagonal")


def subject(row: Mapping[str, Any]) -> str:
    """Name version, metric and slice of a row."""
    version = row.get("candidate")
    about = ", ".join(str(one) for one in (row["metric"], row.get("slice")) if one is not None)
    return about if version is None else f"{version} {about}"


def changed(seen: GateInput, row: Mapping[str, Any]) -> str:
    """Write how a row of a comparison changed, such as `45% → 14% (−31 points)`."""
    before, after = row["baseline_mean"], row["candidate_mean"]
    rates = row["baseline_pass_rate"], row["candidate_pass_rate"]
    found = list[str]()
    if None not in (before, after) and (before, after) != rates:
        measure = seen.compared().spec.measure(row["metric"])
        if measure is not None and measure.share:
            found.append(_shares(before, after))
        elif measure is not None:
            unit = f" {measure.unit}" if measure.unit else ""
            found.append(f"{before:,.4g} → {after:,.4g}{unit}")
        else:
            found.append(f"{before:.3f} → {after:.3f} ({_signed(after - before, '.3f')})")
    if None not in rates:
        found.append(f"{'pass rate ' if found else ''}{_shares(*rates)}")
    return ", ".join(found)


def _shares(before: float, after: float) -> str:
    points = 100 * (after - before)
    digits = ".0f" if abs(points) >= 9.5 else ".2g"
    return f"{before:.0%} → {after:.0%} ({_signed(points, digits)} points)"


def _signed(number: float, form: str) -> str:
    text = format(abs(number), form)
    return text if float(text) == 0 else f"{'−' if number < 0 else '+'}{text}"
