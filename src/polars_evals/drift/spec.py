"""What to compare: `ComparisonSpec` as it is asked for, `ResolvedSpec` once the table is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict, get_args

import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.answers import OUTCOMES, needed_for_answers
from polars_evals.suite.measure import AUTO, Measure, Measures, measures_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from polars_evals.drift.columns import Frame, Schema

By = Sequence[str | Sequence[str]] | str | None
# With expressions, where the frame is at hand to make columns of them.
SomeBy = Sequence[str | pl.Expr | Sequence[str | pl.Expr]] | str | pl.Expr | None
Slices = tuple[tuple[str, ...], ...]
# Names, measures, or names with options.
SomeMeasures = str | Measure | Sequence[str | Measure] | Mapping[str, Mapping[str, Any] | Measure] | None
Unanswered = Literal["auto", "apart", "wrong"]

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
    min_effect: float
    alpha: float
    margin: float | None
    unanswered: Unanswered
    seed: int
    max_flips: int | None


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
    min_effect: float = 0.01
    alpha: float = 0.05
    margin: float | None = None
    unanswered: Unanswered = "auto"
    seed: int = 0
    max_flips: int | None = 10_000

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
        if self.max_flips is not None and self.max_flips < 0:
            raise ValueError(f"max_flips must be at least 0, got {self.max_flips!r}")
        self._put("candidate", None if self.candidate is None else _versions(self.candidate))
        self._put("by", "auto" if _is_auto(self.by) else slice_sets(self.by))
        self._put("metrics", None if self.metrics is None else _metrics(self.metrics))
        self._put("measures", AUTO if self.measures == AUTO else measures_of(self.measures))

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def require_columns(self, schema: Schema) -> list[str]:
        """Raise unless the table has the columns that are named, and return its metrics."""
        for role in ROLES:
            if (name := getattr(self, role)) is not None:
                columns.require(schema, name, role)
        if self.by != "auto":
            require_slices(schema, slice_sets(self.by))
        metrics = columns.find_metrics(schema, self.metrics)
        for name in self.measures_in(schema):
            columns.require_number(schema, name, "measures")
            if name in metrics or name in OUTCOMES:
                what = "a metric" if name in metrics else "what answers are counted by"
                raise ValueError(f"measures: {name!r} is also the name of {what}; rename the column")
        return metrics

    def measures_in(self, schema: Schema) -> Measures:
        """Return the measures; where they are left to the table, those that it has."""
        return measures_of(self.measures, schema)

    def resolve(self, schema: Schema, present: Collection[str]) -> ResolvedSpec:
        """Check against the columns of a table and its versions, as text, and fill in what was left to it."""
        metrics = self.require_columns(schema)
        before = columns.version_text(schema, self.version, self.baseline)
        if self.candidate is not None:
            after = [columns.version_text(schema, self.version, one) for one in self.candidate]
        else:
            after = [one for one in present if one != before]
        _require_versions(before, after, self.version, present)
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

    @property
    def candidates(self) -> tuple[str, ...]:
        """The versions that are judged."""
        return self.candidate

    def measure(self, name: str) -> Measure | None:
        """Return what is known of a row that is no metric: a measure, or a share of answers."""
        return self.measures.get(name) or (None if name in self.metrics else OUTCOMES.get(name))

    def sign(self, name: str) -> int:
        """Return what to multiply a difference of a metric or measure with, for a gain to be above 0."""
        measure = self.measure(name)
        return 1 if measure is None else measure.sign

    def gain(self, change: str = "difference") -> pl.Expr:
        """Return a column of changes, beside ``metric``, so that what is above 0 is better."""
        lower = [name for name in (*self.measures, *OUTCOMES) if self.sign(name) < 0]
        return pl.when(pl.col("metric").is_in(lower)).then(-pl.col(change)).otherwise(change)

    def weight(self) -> pl.Expr:
        """Return the gain of a row in parts of the smallest change that matters: units differ."""
        return (
            pl.when(pl.col("min_effect") > 0).then(self.gain() / pl.col("min_effect")).otherwise(self.gain())
        )

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
        """What was compared and how, as plain values; how many flips are kept changes no result."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        del plain["max_flips"]
        return plain | {
            "candidate": list(self.candidates),
            "by": "auto" if self.automatic else [list(group) for group in self.slices],
            "metrics": list(self.metrics),
            "measures": {name: one.plain for name, one in self.measures.items()},
        }

    def needed(self, existing: Iterable[str]) -> list[str]:
        """Return the columns that the numbers of a comparison need, of those that exist."""
        there = set(existing)
        ends = ("score", "label", "signature")
        results = [f"{name}_{end}" for name in self.metrics for end in ends]
        answers = needed_for_answers(there, self.unanswered)
        keys = [self.version, self.item, self.cluster, *self.traits, *results, *self.measures, *answers]
        return [name for name in dict.fromkeys(keys) if name is not None and name in there]


def with_slices(frame: Frame, by: SomeBy) -> tuple[pl.LazyFrame, By]:
    """Return the frame with a column for each expression to slice by, and the names of what to slice by."""
    table = columns.lazy(frame)
    schema = None
    made: dict[str, pl.Expr] = {}

    def named(one: Any) -> Any:
        nonlocal schema
        if not isinstance(one, pl.Expr):
            return one
        name = one.meta.output_name()
        if one.meta.is_column():
            return name
        schema = table.collect_schema() if schema is None else schema
        if name in schema or (name in made and not made[name].meta.eq(one)):
            raise ValueError(
                f'by: an expression needs a name of its own, {name!r} is taken: .alias("length"), for example'
            )
        made[name] = one
        return name

    if isinstance(by, pl.Expr):
        names: Any = named(by)
    elif by is None or isinstance(by, str):
        names = by
    else:
        names = [
            tuple(map(named, group)) if isinstance(group, list | tuple) else named(group) for group in by
        ]
    return (table.with_columns(**made) if made else table), names


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


def _is_auto(by: By) -> bool:
    return isinstance(by, str) and by == "auto"


def _versions(candidates: Any) -> tuple[Any, ...]:
    several = isinstance(candidates, Iterable) and not isinstance(candidates, str | bytes)
    versions = list(candidates) if several else [candidates]
    if not versions:
        raise ValueError(
            "candidate is empty, so there is nothing to compare; leave it out for every other version"
        )
    # A set has no order of its own, and results must not depend on the one it happens to have.
    return tuple(sorted(versions, key=str) if isinstance(candidates, set | frozenset) else versions)


def _metrics(metrics: Sequence[str] | str) -> tuple[str, ...]:
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    columns.require_distinct(names)
    return names


def _require_versions(
    baseline: str, candidates: Sequence[str], column: str, present: Collection[str]
) -> None:
    there = list(present)
    for role, one in (("baseline", baseline), *(("candidate", one) for one in candidates)):
        if one not in there:
            raise columns.absent(role, one, column, there)
    if not candidates:
        raise ValueError(f"column {column!r} holds only {baseline!r}: there is nothing to compare it with")
