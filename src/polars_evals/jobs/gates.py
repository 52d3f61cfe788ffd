"""Gates: conditions on what a run found, each with lines that say what to look at.

A gate returns how many rows or items it judged: a gate that judged none fails. `rules` has the kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import polars as pl
from pydantic import Field

from polars_evals._errors import ConfigError
from polars_evals.drift import Comparison, ComparisonSpec, Timeline
from polars_evals.suite.config_tables import ConfigTable, Text
from polars_evals.wording import counted, did_you_mean

PASSED, FAILED, SKIPPED, ADVISORY = "passed", "failed", "skipped", "advisory"


@dataclass(frozen=True)
class GateResult:
    """The result of a gate: `advisory` is one that would have failed, `skipped` had nothing to judge yet."""

    name: str
    status: str
    # Those of a gate that passed name the rows that are regressed all the same.
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
    # The measures that the timeline follows, if there is one.
    followed: tuple[str, ...] | None

    @property
    def aggregates(self) -> tuple[str, ...]:
        """The names of the aggregates that are compared."""
        given = None if self.compare is None else self.compare.aggregates
        return tuple(str(one.name) for one in given or ())


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

    @property
    def compared(self) -> Comparison:
        """The comparison. Gates that need one are skipped without it."""
        assert self.comparison is not None
        return self.comparison

    @property
    def rows(self) -> pl.DataFrame:
        """The rows of the comparison, of the whole and of slices."""
        return pl.concat([self.compared.summary, self.compared.slices], how="diagonal")

    def require(self, name: str) -> None:
        """Raise unless the store has a column that a gate names."""
        if name not in self.schema:
            raise ConfigError(
                f"a gate needs the column {name!r}, which the store does not have"
                f"{did_you_mean(name, self.schema)}; the scores are in the store"
            )


class Gate(ConfigTable, ABC):
    """A `[[gate]]`: a condition that fails the run."""

    metric: Text | None = Field(default=None, description="a metric of the suite")
    by: Text | None = Field(default=None, description="a column of [compare] by")
    level: Literal["blocking", "advisory"] = "blocking"

    # The key that names the gate.
    rule: ClassVar[str]
    # What must be there: `compare`, `item`, `timeline`; and which of `by` and `metric` mean nothing.
    needs: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[tuple[str, ...]] = ()
    # Whether a job that compares has nothing for this gate before there is a candidate.
    waits_for_candidate: ClassVar[bool] = True

    kinds: ClassVar[dict[str, type[Gate]]] = {}

    def __init_subclass__(cls, *, rule: str = "", **options: Any) -> None:
        """Make a kind known by its rule; what some kinds share has none, and cannot be asked for."""
        super().__init_subclass__(**options)
        if rule in cls.kinds:
            raise TypeError(f"two gates have the rule {rule!r}")
        if rule:
            cls.rule, cls.kinds[rule] = rule, cls

    @property
    def demand(self) -> str:
        """What the gate demands, in the words of the job file; the first alias is the key of its rule."""
        fields = type(self).model_fields.items()
        name, alias = next((name, field.alias) for name, field in fields if field.alias)
        given = getattr(self, name)
        return f"{alias} = {', '.join(given) if isinstance(given, tuple) else format(given, 'g')}"

    @abstractmethod
    def evaluate(self, seen: GateInput) -> Findings:
        """Look at the scores and the comparison."""

    def check(self, context: Context) -> None:
        """Raise a ValueError unless the job has what the gate needs."""
        compare, rule = context.compare, f"`{self.rule}`"
        if self.metric is not None:
            if "metric" in self.refuses:
                raise ValueError(f"{rule} is not about a metric; leave out `metric`")
            require_metric(self.metric, self.known(context))
        if "timeline" in self.needs and context.followed is None:
            raise ValueError(f"{rule} needs a section [timeline]")
        if compare is None and ("compare" in self.needs or (self.by and "by" not in self.refuses)):
            raise ValueError("needs a section [compare]")
        if "item" in self.needs and (compare is None or compare.item is None):
            raise ValueError(f"{rule} needs `item` in [compare]")
        if self.by and "by" in self.refuses:
            raise ValueError(f"{rule} does not support slices; leave out `by`")
        slices = (compare.by if compare is not None else ()) or ()
        if self.by and slices != "auto" and (self.by,) not in slices:
            raise ValueError(f'"{self.by}" is not in [compare] by')

    @property
    def about(self) -> str | None:
        """The column that the gate is about; None for every metric."""
        return self.metric

    @property
    def name(self) -> str:
        """The gate in a line."""
        about = f"{self.about or ''} by {self.by}".strip() if self.by else self.about
        return f"{about}: {self.demand}" if about else self.demand

    def result(self, seen: GateInput) -> GateResult:
        """Judge the gate, or skip it if there is nothing to judge yet. A gate that judged nothing fails."""
        absent = seen.absent if self.waits_for_candidate else ()
        lines = [f"{one} has no rows; is `candidate` in [compare] right?" for one in absent]
        if seen.comparison is None and seen.compare is not None and self.waits_for_candidate:
            nothing = "there is no candidate to compare yet"
            return self.result_of(FAILED, *lines) if lines else self.result_of(SKIPPED, nothing)
        found = self.evaluate(seen)
        lines += found.objections
        if not found.judged:
            lines = [found.reason or f"there is no {found.about} to judge"]
        status = FAILED if lines else PASSED
        return self.result_of(
            status, *(lines or self.regressed(seen)), judged=found.judged, about=found.about
        )

    def regressed(self, seen: GateInput) -> list[str]:
        """Name the rows with the verdict `regressed` that a gate about candidates lets pass."""
        if seen.comparison is None or "metric" in self.refuses or not self.waits_for_candidate:
            return []
        is_regressed = (pl.col("verdict") == "regressed") & pl.col("metric").is_in(self.metrics(seen))
        rows = seen.rows.filter(is_regressed).iter_rows(named=True)
        return [f"{subject(row)} {change(seen, row)}" for row in rows]

    def result_of(self, status: str, *lines: str, judged: int = 0, about: str = "row") -> GateResult:
        """Make a result as the level of the gate has it."""
        is_advice = status == FAILED and self.level == ADVISORY
        return GateResult(self.name, ADVISORY if is_advice else status, lines, judged, about)

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Name what `metric` may be."""
        return context.metrics

    def metrics(self, seen: GateInput) -> list[str]:
        """Name the metrics that the gate is about."""
        return [self.metric] if self.metric else list(seen.metrics)


def require_metric(name: str, metrics: Sequence[str]) -> None:
    """Raise unless the suite has the metric."""
    if name not in metrics:
        hint = did_you_mean(name, metrics) or f"; the suite has {', '.join(metrics)}"
        raise ValueError(f'unknown metric "{name}"{hint}')


def subject(row: Mapping[str, Any]) -> str:
    """Name version, metric and slice of a row."""
    version = row.get("candidate")
    about = ", ".join(str(one) for one in (row["metric"], row.get("slice")) if one is not None)
    return about if version is None else f"{version} {about}"


def change(seen: GateInput, row: Mapping[str, Any]) -> str:
    """Write how a row of a comparison changed, such as `45% → 14% (−31 points)`."""
    before, after = row["baseline_mean"], row["candidate_mean"]
    rates = row["baseline_pass_rate"], row["candidate_pass_rate"]
    found = list[str]()
    if None not in (before, after) and (before, after) != rates:
        measure = seen.compared.spec.measure(row["metric"])
        if measure is None:
            found.append(f"{before:.3f} → {after:.3f} ({_signed(after - before, '.3f')})")
        elif measure.share:
            found.append(_shares(before, after))
        else:
            found.append(f"{before:,.4g} → {after:,.4g}{f' {measure.unit}' if measure.unit else ''}")
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
