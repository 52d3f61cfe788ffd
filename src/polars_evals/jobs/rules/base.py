"""What every gate is: a rule of the job file that judges what a run found, and says what to look at.

A gate is a class with a `rule`, the key that names it in `[[gate]]`. It reads its own entries and judges;
what it needs is said in class variables and checked for it. It returns how many rows or items it judged: a
gate that judged none fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import polars as pl
from pydantic import BeforeValidator, Field

from polars_evals._errors import ConfigError
from polars_evals.drift import Comparison, ComparisonSpec, Timeline
from polars_evals.suite.declared import Table, Text, listed, read
from polars_evals.wording import counted, did_you_mean

Verdict = Literal["regressed", "inconclusive", "improved", "no_change"]
Verdicts = Annotated[tuple[Verdict, ...], BeforeValidator(listed), Field(min_length=1)]

PASSED, FAILED, SKIPPED, ADVISORY = "passed", "failed", "skipped", "advisory"


@dataclass(frozen=True)
class GateResult:
    """What became of a gate: `passed`, `failed`, or `skipped` when there is nothing to judge yet.

    A gate with `level = "advisory"` that would have failed is `advisory`.
    """

    name: str
    status: str
    lines: tuple[str, ...] = ()
    judged: int = 0
    about: str = "row"

    @property
    def told(self) -> str:
        """What became of the gate, and of how much, in a line."""
        if self.status in (SKIPPED, ADVISORY):
            return f"{self.status} {self.name}: {'; '.join(self.lines)}"
        regressed = f"; regressed: {', '.join(self.lines)}" if self.lines else ""
        return f"{self.status} {self.name} ({counted(self.judged, self.about)} judged){regressed}"


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
class Evidence:
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
        """Return the comparison; gates that need one are not asked without."""
        assert self.comparison is not None
        return self.comparison

    def require(self, name: str) -> None:
        """Insist that the store has a column that a gate names."""
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

    kinds: ClassVar[dict[str, type[Gate]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "rule" not in vars(cls):
            # What some kinds share; it is abstract and cannot be asked for.
            return
        if cls.rule in cls.kinds:
            raise TypeError(f"two gates have the rule {cls.rule!r}")
        cls.kinds[cls.rule] = cls

    def check(self, context: Context) -> None:
        """Raise a ValueError unless the job has what else the rule needs."""

    @property
    @abstractmethod
    def demand(self) -> str:
        """What the gate demands, in the words of the job file."""

    @abstractmethod
    def judge(self, seen: Evidence) -> Findings:
        """Look at the evidence."""

    @property
    def name(self) -> str:
        """The gate in a line."""
        about = (self.metric or "every metric") + (f" by {self.by}" if self.by else "")
        return f"{about}: {self.demand}" if self.takes_metric else self.demand

    def advised(self, found: GateResult) -> GateResult:
        """Return a result as the level of the gate has it."""
        if found.status == FAILED and self.level == ADVISORY:
            return replace(found, status=ADVISORY)
        return found

    def result(self, seen: Evidence) -> GateResult:
        """Judge, unless there is nothing to judge yet; a gate that judged nothing fails."""
        lone = [f"{one} has no rows; is `candidate` in [compare] right?" for one in seen.absent]
        if seen.comparison is None and seen.compare is not None and self.waits_for_candidate:
            if lone:
                return GateResult(self.name, FAILED, tuple(lone))
            return GateResult(self.name, SKIPPED, ("there is no candidate to compare yet",))
        found = self.judge(seen)
        objections = [*(lone if self.waits_for_candidate else ()), *found.objections]
        if not found.judged:
            return GateResult(
                self.name, FAILED, (found.reason or f"there is no {found.about} to judge",), 0, found.about
            )
        return GateResult(
            self.name,
            FAILED if objections else PASSED,
            tuple(objections),
            found.judged,
            found.about,
        )

    @property
    def waits_for_candidate(self) -> bool:
        """Whether a job that compares has nothing for this gate before there is a candidate."""
        return True

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Name what `metric` may be."""
        return context.metrics

    def metrics(self, seen: Evidence) -> list[str]:
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
    gate = read(Gate.kinds[rules[0]], entries, place)
    try:
        check(gate, context)
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from None
    return gate


def check(gate: Gate, context: Context) -> None:
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
        raise ValueError(f"{rule} knows no slices; leave out `by`")
    slices = (compare.by if compare is not None else ()) or ()
    if slices != "auto" and (gate.by,) not in slices:
        raise ValueError(f'"{gate.by}" is not in [compare] by')


def require_metric(name: str, metrics: Sequence[str]) -> None:
    """Insist that the suite has a metric."""
    if name not in metrics:
        hint = did_you_mean(name, metrics) or f"; the suite has {', '.join(metrics)}"
        raise ValueError(f'unknown metric "{name}"{hint}')


def where(metric: str, by: str | None, row: Mapping[str, Any]) -> str:
    """Say which metric, slice and version a line is about."""
    piece = row.get("slice")
    shown = f" [{piece if by is None else f'{by}={piece}'}]" if piece is not None else ""
    version = row.get("version")
    return f"{metric}{shown}" + (f" of {version}" if version is not None else "")
