"""What to compare: `ComparisonSpec` as it is asked for, `ResolvedSpec` once the table is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Required, TypedDict, get_args

import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.unanswered import OUTCOMES, needed_for_answers, require_measures
from polars_evals.suite.aggregate import COUNTS, Aggregate, stored
from polars_evals.suite.measure import AUTO, USUAL, Measure, Measures, measures_of
from polars_evals.wording import did_you_mean, listed, shown

if TYPE_CHECKING:
    from polars_evals.drift.columns import Frame, Schema

By = Sequence[str | Sequence[str]] | str | None
# With expressions, where the frame is at hand to make columns of them.
SomeBy = Sequence[str | pl.Expr | Sequence[str | pl.Expr]] | str | pl.Expr | None
Slices = tuple[tuple[str, ...], ...]
# Names, measures, or names with options.
SomeAggregates = str | Aggregate | Sequence[str | Aggregate] | None
SomeMeasures = str | Measure | Sequence[str | Measure] | Mapping[str, Mapping[str, Any] | Measure] | None
Unanswered = Literal["auto", "apart", "wrong"]

# The column beside labels that says what each stands for.
WEIGHT = "weight"
# Columns that play a part of their own, by the name of the argument.
ROLES = ("version", "item", "cluster")


class SpecOptions(TypedDict, total=False):
    """The arguments of `compare` about what to compare and how, for functions that hand them on."""

    version: Required[str]
    baseline: Required[Any]
    candidate: Any
    item: str | None
    cluster: str | None
    by: By
    metrics: Sequence[str] | str | None
    measures: SomeMeasures
    aggregates: SomeAggregates
    truth: Any
    adjust: str | Sequence[str] | None
    min_effect: float
    alpha: float
    margin: float | None
    unanswered: Unanswered
    seed: int


@dataclass(frozen=True, kw_only=True)
class ComparisonSpec:
    """
    What to compare and how, checked as far as that can be done without the table.

    The fields are the arguments of `polars_evals.compare`, which explains them; `candidate` takes one
    version or any collection of them. Specifications that mean the same are equal, however they are written.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_evals.drift import ComparisonSpec
    >>> spec = ComparisonSpec(version="model", baseline="v1", candidate="v2", item="case_id", by="topic")
    >>> spec.candidate, spec.by
    (('v2',), (('topic',),))
    >>> spec == ComparisonSpec(
    ...     version="model", baseline="v1", candidate=pl.Series(["v2"]), item="case_id", by=["topic"]
    ... )
    True
    """

    version: str
    baseline: Any
    candidate: Any = None
    item: str | None = None
    cluster: str | None = None
    by: By = None
    metrics: Sequence[str] | str | None = None
    measures: Any = None
    aggregates: Any = None
    truth: Any = None
    adjust: Any = None
    min_effect: float = 0.01
    alpha: float = 0.05
    margin: float | None = None
    unanswered: Unanswered = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        for role in ROLES:
            if (name := getattr(self, role)) is not None or role == "version":
                columns.require_name(name, role)
        columns.require_level(self.alpha)
        columns.require_effect(self.min_effect)
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"margin must be above 0, got {self.margin!r}")
        if self.unanswered not in get_args(Unanswered):
            raise ValueError(f"unanswered must be 'auto', 'apart' or 'wrong', got {self.unanswered!r}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be an integer, at least 0, got {self.seed!r}")
        self._put("candidate", None if self.candidate is None else _versions(self.candidate))
        automatic = isinstance(self.by, str) and self.by == "auto"
        self._put("by", "auto" if automatic else slice_sets(self.by))
        if self.metrics is not None and not (self.metrics == () and self.aggregates):
            names = (self.metrics,) if isinstance(self.metrics, str) else tuple(self.metrics)
            columns.require_distinct(names)
            self._put("metrics", names)
        self._put("measures", AUTO if self.measures == AUTO else measures_of(self.measures))
        self._put("aggregates", None if self.aggregates is None else aggregates_of(self.aggregates))
        self._put("truth", _truth(self.truth))
        adjust = (self.adjust,) if isinstance(self.adjust, str) else tuple(self.adjust or ())
        for name in adjust:
            columns.require_name(name, "adjust")
        if adjust and self.item is not None:
            raise ValueError(
                "adjust is for versions that are not paired: with item, both versions have the same items, "
                "and so the same mix; leave one of them out"
            )
        self._put("adjust", adjust or None)

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def require_columns(self, schema: Schema) -> list[str]:
        """Raise unless the table has the columns that are named, and return its metrics."""
        for role in ROLES:
            if (name := getattr(self, role)) is not None:
                columns.require(schema, name, role)
        if self.by != "auto":
            require_slices(schema, slice_sets(self.by))
        aggregates = self.aggregates_in(schema)
        scored = any(name.endswith("_score") for name in schema)
        metrics = columns.find_metrics(schema, self.metrics) if scored or not aggregates else []
        for name in aggregates:
            if name in metrics or name in OUTCOMES or name in self.measures_in(schema):
                raise ValueError(f'aggregates: {name!r} is the name of another row; give it one: name="…"')
        for name in self.adjust or ():
            columns.require(schema, name, "adjust")
        for name, column in self.truths_of(metrics).items():
            columns.require(schema, column, f"truth of {name}")
        require_measures(schema, self.measures_in(schema), metrics)
        return metrics

    def aggregates_in(self, schema: Schema) -> dict[str, pl.Expr]:
        """Return aggregates by name, with what each row adds to them; without any named, the stored ones."""
        return counts_in(schema, self.aggregates)

    def truths_of(self, metrics: Sequence[str]) -> dict[str, str]:
        """Return the columns of people's labels by metric."""
        if self.truth is None:
            return {}
        if isinstance(self.truth, str):
            return dict.fromkeys(metrics, self.truth)
        for name, _ in self.truth:
            if name not in metrics:
                raise ValueError(f"truth: there is no metric {name!r}{did_you_mean(name, metrics)}")
        return dict(self.truth)

    def measures_in(self, schema: Schema) -> Measures:
        """Return the measures; where they are left to the table, those that it has."""
        return measures_of(self.measures, schema)

    def resolve(self, schema: Schema, present: Sequence[str]) -> ResolvedSpec:
        """Check against the columns of a table and its versions, as text, and fill in what was left to it."""
        metrics = self.require_columns(schema)
        before = columns.version_text(schema, self.version, self.baseline)
        if self.candidate is not None:
            after = [columns.version_text(schema, self.version, one) for one in self.candidate]
        else:
            after = [one for one in present if one != before]
        for role, one in (("baseline", before), *(("candidate", one) for one in after)):
            if one not in present:
                raise columns.absent(role, one, self.version, present)
        if not after:
            raise ValueError(
                f"column {self.version!r} holds only {before!r}: there is nothing to compare it with"
            )
        if before in after or len(set(after)) < len(after):
            raise ValueError(
                f"baseline and candidates must all differ, got baseline {before!r}, candidates {after!r}"
            )
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        found = {
            "baseline": before,
            "candidate": tuple(after),
            "metrics": tuple(metrics),
            "measures": self.measures_in(schema),
            # What has no counts in the table is kept as it was asked for.
            "aggregates": tuple(self.aggregates_in(schema)) if self.aggregates is None else self.aggregates,
        }
        return ResolvedSpec(**(given | found))


@dataclass(frozen=True, kw_only=True)
class ResolvedSpec(ComparisonSpec):
    """A specification that fits a table: its columns are there, its versions are texts."""

    baseline: str
    candidate: tuple[str, ...]
    by: Slices | Literal["auto"]
    metrics: tuple[str, ...]
    measures: Measures
    aggregates: tuple[str | Aggregate, ...]

    @property
    def aggregate_names(self) -> tuple[str, ...]:
        """The names of the rows of aggregates."""
        return tuple(one if isinstance(one, str) else str(one.name) for one in self.aggregates)

    @cached_property
    def truths(self) -> dict[str, str]:
        """The columns of people's labels by metric."""
        return self.truths_of(self.metrics)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The versions that are judged."""
        return self.candidate

    def measure(self, name: str) -> Measure | None:
        """Return what is known of a row that is no metric: a measure, or a share of answers."""
        return self.measures.get(name) or (None if name in self.metrics else OUTCOMES.get(name))

    @cached_property
    def quantities(self) -> dict[str, Measure]:
        """All that rows can be about, by name, with the options that they are judged by."""
        options: Any = {"min_effect": self.min_effect, "margin": self.margin, "quantiles": ()}
        found = {name: replace(one, **options) for name, one in OUTCOMES.items()}
        for name, one in self.measures.items():
            usual = USUAL if one.quantiles is None else one.quantiles
            # Quantiles are not weighed.
            found[name] = replace(one, quantiles=() if self.adjust else usual)
        for name in self.aggregate_names:
            found[name] = Measure(name, lower_is_better=False, **options)
        for name in self.metrics:
            found[name] = Measure(name, lower_is_better=False, bounds=(0, 1), **options)
        return found

    def kind(self, name: str) -> Literal["metric", "measure", "aggregate", "outcome"]:
        """
        Return what a row is about.

        A metric has scores and perhaps labels, a measure has a unit and quantiles, an aggregate is a
        statistic of all items, an outcome is a share of items.
        """
        if name in self.metrics:
            return "metric"
        if name in self.aggregate_names:
            return "aggregate"
        return "measure" if name in self.measures else "outcome"

    def sign(self, name: str) -> int:
        """Return what to multiply a difference of a metric or measure with, for a gain to be above 0."""
        return self.quantities[name].sign

    def gain(self) -> pl.Expr:
        """Return the differences, beside `metric`, so that what is above 0 is better."""
        lower = [name for name, one in self.quantities.items() if one.lower_is_better]
        return pl.when(pl.col("metric").is_in(lower)).then(-pl.col("difference")).otherwise("difference")

    @property
    def names(self) -> tuple[str, ...]:
        """All that items have numbers of: metrics and measures."""
        return (*self.metrics, *self.measures)

    @property
    def versions(self) -> list[str]:
        """Baseline and candidates."""
        return [self.baseline, *self.candidates]

    @property
    def paired(self) -> bool:
        """Whether versions are paired on an item."""
        return self.item is not None

    @property
    def automatic(self) -> bool:
        """Whether slices are searched for."""
        return self.by == "auto"

    @property
    def slices(self) -> Slices:
        """The columns of each set of slices that was asked for by name."""
        return () if self.by == "auto" else self.by

    @property
    def traits(self) -> list[str]:
        """The columns to slice by, each once."""
        return sorted({name for group in self.slices for name in group})

    @property
    def settings(self) -> dict[str, Any]:
        """What was compared and how, as plain values."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {
            "candidate": list(self.candidates),
            "by": "auto" if self.automatic else [list(group) for group in self.slices],
            "metrics": list(self.metrics),
            "measures": {name: one.plain for name, one in self.measures.items()},
            "aggregates": [one if isinstance(one, str) else one.to_dict() for one in self.aggregates],
            "truth": self.truth if self.truth is None or isinstance(self.truth, str) else dict(self.truth),
            "adjust": None if self.adjust is None else list(self.adjust),
        }

    def needed(self, existing: Iterable[str]) -> list[str]:
        """Return the columns that the numbers of a comparison need, of those that exist."""
        there = set(existing)
        ends = ("score", "label", "signature")
        results = [f"{name}_{end}" for name in self.metrics for end in ends]
        answers = needed_for_answers(there, self.unanswered)
        for name, one in zip(self.aggregate_names, self.aggregates, strict=True):
            is_stored = f"{name}{COUNTS}" in there
            made = Aggregate(one) if isinstance(one, str) and not is_stored else one
            results += [f"{name}{COUNTS}"] if is_stored or isinstance(made, str) else made.columns
        results += [*self.truths.values(), *([WEIGHT] if self.truths else []), *(self.adjust or ())]
        keys = [self.version, self.item, self.cluster, *self.traits, *results, *self.measures, *answers]
        return [name for name in dict.fromkeys(keys) if name is not None and name in there]


def counts_in(schema: Schema, aggregates: Sequence[str | Aggregate] | None) -> dict[str, pl.Expr]:
    """Return what each row of a table adds to aggregates, by name; without any, of those that are stored."""
    there = stored(schema)
    if aggregates is None:
        return {name: pl.col(column) for name, column in there.items()}
    found: dict[str, pl.Expr] = {}
    for one in aggregates:
        name = one if isinstance(one, str) else str(one.name)
        if name in there:
            found[name] = pl.col(there[name])
            continue
        try:
            aggregate = Aggregate(one) if isinstance(one, str) else one
        except ValueError as error:
            hint = f"; the table has the counts of {listed(list(there))}" if there else ""
            raise ValueError(f"aggregates: {error}{hint}") from None
        for column in aggregate.columns:
            columns.require(schema, column, f"aggregate {name!r}")
        found[name] = aggregate.counts(schema)
    return found


def with_slices(frame: Frame, by: SomeBy) -> tuple[pl.LazyFrame, By]:
    """Return the frame with a column for each expression to slice by, and the names of what to slice by."""
    table = columns.lazy(frame)
    if by is None or isinstance(by, str):
        return table, by
    groups = [by] if isinstance(by, pl.Expr) else list(by)
    made: dict[str, pl.Expr] = {}
    for one in slice_expressions(groups):
        name = one.meta.output_name()
        if one.meta.is_column():
            continue
        if name in table.collect_schema() or not made.setdefault(name, one).meta.eq(one):
            raise ValueError(
                f'by: the name {name!r} of an expression is taken; give it another, such as .alias("length")'
            )

    def named(one: Any) -> Any:
        return one.meta.output_name() if isinstance(one, pl.Expr) else one

    names = [tuple(map(named, one)) if isinstance(one, list | tuple) else named(one) for one in groups]
    return table.with_columns(**made), names[0] if isinstance(by, pl.Expr) else names


def slice_sets(by: By) -> Slices:
    """Return the columns of each set of slices."""
    if slice_expressions(by):
        raise TypeError(
            "by: expressions are for compare and timeline, which have the frame; name a column here, made "
            'before: scored.with_columns(length=pl.col("input").str.len_chars())'
        )
    groups = [by] if isinstance(by, str) else [] if by is None else list(by)
    sets = tuple((group,) if isinstance(group, str) else tuple(group) for group in groups)
    for group in sets:
        for name in group:
            columns.require_name(name, "by")
    if any(not group or len(set(group)) < len(group) for group in sets) or len(set(sets)) < len(sets):
        raise ValueError(f"by must name each slice once, got {by!r}")
    return sets


def slice_expressions(by: SomeBy) -> list[pl.Expr]:
    """Return the expressions among what to slice by."""
    return [one for group in _listed(by) for one in _listed(group) if isinstance(one, pl.Expr)]


def _listed(one: Any) -> list[Any]:
    return list(one) if isinstance(one, list | tuple | set | frozenset) else [one]


def require_slices(schema: Schema, sets: Slices) -> None:
    """Raise unless the table has the columns to slice by."""
    for group in sets:
        for name in group:
            columns.require(schema, name, "by")


def _versions(candidates: Any) -> tuple[Any, ...]:
    several = isinstance(candidates, Iterable) and not isinstance(candidates, str | bytes)
    versions = list(candidates) if several else [candidates]
    if not versions:
        raise ValueError(
            "candidate is empty, so there is nothing to compare; leave it out for every other version"
        )
    # A set has no order of its own, and results must not depend on the one it happens to have.
    return tuple(sorted(versions, key=str) if isinstance(candidates, set | frozenset) else versions)


def aggregates_of(given: Any) -> tuple[str | Aggregate, ...]:
    """Return the aggregates that are asked for, each once."""
    alone = isinstance(given, str | Aggregate | Mapping) or not isinstance(given, Iterable)
    several = [given] if alone else list(given)
    if not all(isinstance(one, str | Aggregate) for one in several):
        raise TypeError(f"aggregates takes names or pe.Aggregate(...), got {shown(given)}")
    names = [one if isinstance(one, str) else one.name for one in several]
    if len(set(names)) < len(names):
        raise ValueError(f'aggregates must name each once, got {names!r}; pe.Aggregate(..., name="…")')
    return tuple(several)


def _truth(given: Any) -> str | tuple[tuple[str, str], ...] | None:
    if given is None or isinstance(given, str):
        return given
    pairs = tuple(given.items()) if isinstance(given, Mapping) else given
    if isinstance(pairs, tuple) and pairs and all(isinstance(one, str) for pair in pairs for one in pair):
        return tuple(sorted(pairs))
    raise TypeError(
        "truth takes a column, a mapping of metrics and columns, or a frame of read_labels, "
        f"got {shown(given)}"
    )


class Written(NamedTuple):
    """The form of the numbers of a score, or of a measure."""

    measure: Measure | None

    def size(self, value: float) -> str:
        """Write how much something changed."""
        return f"{abs(value):.4f}" if self.measure is None else self.measure.amount(abs(value))

    def signed(self, value: float) -> str:
        """Write a change."""
        if self.measure is None:
            return f"{value:+.4f}".replace("-", "−")
        return self.measure.amount(value, signed=True).replace("-", "−", 1)

    def effect(self, value: float) -> str:
        """Write the smallest change that matters."""
        return f"{value:g}" if self.measure is None else self.measure.amount(value)

    def span(self, low: float, high: float) -> str:
        """Write an interval."""
        return f"{self.signed(low)} to {self.signed(high)}"
