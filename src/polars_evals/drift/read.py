"""Read what a question needs of scored rows: checked, with everything that is left out counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.components import STRATUM, describe_strata, labels_of, require_labels, require_texts
from polars_evals.drift.pair import number_clusters, varying
from polars_evals.drift.slices import searchable
from polars_evals.drift.spec import WEIGHT, Unanswered
from polars_evals.drift.unanswered import (
    HAS_ANSWER,
    HAS_EXPECTED,
    OUTCOMES,
    describe_unanswered,
    describe_unlabelled,
    has_answer,
    outcomes,
    require_measures,
    scores_of_answers,
    set_apart,
    shares,
    with_shares,
)
from polars_evals.suite.measure import AUTO, measures_of
from polars_evals.wording import counted, have, left_out, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.drift.spec import ComparisonSpec, ResolvedSpec
    from polars_evals.suite.measure import Measures

MOST_SLICES = 1_000


@dataclass(frozen=True)
class Rows:
    """Scored rows, with sentences about those that were left out."""

    # The named columns, then `<name>:score` and `<name>:pass` of metrics, measures and shares of answers.
    frame: pl.DataFrame
    metrics: list[str]
    # With the shares of answers (`answered`, `error`, …) that the rows have.
    measures: Measures
    notes: list[str]

    @property
    def versions(self) -> list[str]:
        """The versions in their order."""
        return self.frame["version"].unique().sort().to_list()

    def baseline(self, version: str, value: Any, schema: Schema) -> str | None:
        """Return the name of the baseline, or raise where the column `version` does not have it."""
        if value is None:
            return None
        name = columns.version_text(schema, version, value)
        if name not in self.versions:
            raise columns.absent("baseline", name, version, self.versions)
        return name

    @property
    def names(self) -> list[str]:
        """Everything that has values, in the order of rows."""
        return [*self.metrics, *self.measures]


def cluster_codes(frame: pl.DataFrame) -> npt.NDArray[np.int64] | None:
    """Return the number of each row's cluster, where there are any; a row without one is one of its own."""
    if "cluster" not in frame.columns:
        return None
    return np.unique(number_clusters(frame)["cluster"].to_numpy(), return_inverse=True)[1]


def read_rows(
    scored: Frame,
    *,
    metrics: Sequence[str] | None,
    measures: Any = None,
    version: str | None = None,
    item: str | None = None,
    cluster: str | None = None,
    by: Sequence[str] = (),
    unanswered: Unanswered = "wrong",
    count_answers: bool = False,
    more: dict[str, pl.Expr] | None = None,
) -> Rows:
    """
    Read the rows of all versions; those without a version or an item are counted and left out.

    `count_answers` reads shares of answers too, and `more` other columns by name.
    """
    if unanswered not in get_args(Unanswered):
        raise ValueError(f"unanswered must be 'auto', 'apart' or 'wrong', got {unanswered!r}")
    table = columns.lazy(scored)
    schema = table.collect_schema()
    roles = {"version": version, "item": item, "cluster": cluster}
    for role, name in roles.items():
        if name is not None:
            columns.require(schema, name, role)
    # None at all, where only other columns are asked for.
    names = [] if metrics == () else columns.find_metrics(schema, metrics)
    also = measures_of(measures, schema)
    require_measures(schema, also, names)
    columns.check_signatures(table, schema, names)
    keys = {
        role: (columns.item_key if role == "item" else columns.as_text)(schema, name)
        for role, name in roles.items()
        if name is not None
    }
    keys |= {columns.trait(name): columns.as_text(schema, name) for name in by}
    rows = _select(table, keys | (more or {}), names, also, unanswered, count_answers=count_answers)
    notes = [
        left_out(count, f"{role} ({name})")
        for role, name in roles.items()
        if name is not None and role != "cluster" and (count := rows[role].null_count())
    ]
    rows = rows.drop_nulls([role for role in ("version", "item") if roles[role] is not None])
    if rows.is_empty() and version is not None:
        needed = " and a ".join(f"{role} ({roles[role]})" for role in ("version", "item") if roles[role])
        raise ValueError(f"no row has a {needed}")
    nulls = rows.null_count().row(0, named=True)
    also = _with_values(also, measures, nulls, rows.height)
    notes += [*describe_unanswered(nulls), *describe_unlabelled(rows)]
    if count_answers:
        rows = with_shares(rows, names)
        also = measures_of([*also.values(), *(OUTCOMES[name] for name in shares(rows) if name not in names)])
    return Rows(rows.drop(HAS_EXPECTED, strict=False), names, also, notes)


def _select(
    table: pl.LazyFrame, keys: Mapping[str, pl.Expr], metrics: Sequence[str], measures: Measures,
    unanswered: str, *, count_answers: bool = True,
) -> pl.DataFrame:  # fmt: skip
    """Read columns by name, and the values of metrics, measures and, if they are counted, answers."""
    schema = table.collect_schema()
    selected = table.select(
        *(one.alias(name) for name, one in keys.items()),
        *scores_of_answers(schema, metrics, unanswered),
        *columns.values_of(measures),
        *(outcomes(schema, metrics) if count_answers else []),
    )
    return columns.collect(selected, metrics, measures)


def _with_values(measures: Measures, given: Any, nulls: Mapping[str, int], height: int) -> Measures:
    """Leave out measures that nobody named and that have no value: traces have all their columns."""
    if given != AUTO:
        return measures
    return measures_of([one for name, one in measures.items() if nulls[f"{name}:score"] < height])


@dataclass(frozen=True)
class Scores:
    """What a comparison reads."""

    spec: ResolvedSpec
    # All columns of the compared versions, for the texts behind the numbers.
    table: pl.LazyFrame
    # `version`, `item`, `cluster`, each trait, `<name>:score` and `<name>:pass`.
    rows: pl.DataFrame
    # The columns that slices are made of: those of `spec`, or those that a search found.
    traits: list[str]
    # What is missing, in words.
    notes: list[str]
    # How many rows of the baseline have no other run to be scored against.
    only_runs: int


def read(scored: Frame, spec: ComparisonSpec) -> Scores:
    """Read the rows of the versions that are compared."""
    table = columns.lazy(scored)
    schema = table.collect_schema()
    spec.require_columns(schema)
    version = columns.as_text(schema, spec.version)
    counts = (
        table.group_by(version.alias("version")).agg(pl.len()).sort("version").collect(engine="streaming")
    )
    resolved = spec.resolve(schema, counts["version"].drop_nulls().to_list())
    table = table.filter(version.is_in(resolved.versions))
    columns.check_signatures(table, schema, resolved.metrics)
    for column in set(resolved.truths.values()):
        require_texts(table, schema, column)
    traits = resolved.traits
    if resolved.automatic:
        named = (spec.version, spec.item, spec.cluster, *resolved.measures, *resolved.truths.values())
        traits = sorted(searchable(table, schema, {name for name in named if name is not None}))
    keys = _keys(schema, resolved, traits)
    rows = _select(table, keys, resolved.metrics, resolved.measures, spec.unanswered)
    if resolved.automatic and resolved.paired:
        # What differs within an item describes an answer, not a part of the test cases.
        answers = varying(rows, [columns.trait(name) for name in traits])
        rows = rows.drop(answers)
        traits = [name for name in traits if columns.trait(name) not in answers]
    for group in resolved.slices:
        count = rows.select(pl.struct(columns.trait(name) for name in group).n_unique()).item()
        if count > MOST_SLICES:
            by = group[0] if len(group) == 1 else group
            raise ValueError(f"by={by!r} gives {count:,} slices; at most {MOST_SLICES:,} are possible")
    nulls = rows.null_count().row(0, named=True)
    resolved = replace(resolved, measures=_with_values(resolved.measures, spec.measures, nulls, rows.height))
    nameless = int(counts.filter(pl.col("version").is_null())["len"].sum())
    notes = [left_out(nameless, f"version ({spec.version})")] if nameless else []
    notes += _describe_missing(nulls, resolved)
    require_labels(rows, resolved)
    notes += [*describe_strata(rows, resolved), *describe_unlabelled(rows)]
    rows = with_shares(rows, resolved.metrics).drop(HAS_EXPECTED, strict=False)
    return Scores(resolved, table, rows, traits, notes, nulls.get(columns.ONLY_RUN, 0))


def _keys(schema: Schema, spec: ResolvedSpec, traits: Sequence[str]) -> dict[str, pl.Expr]:
    """Return what a comparison needs of rows beside their scores."""
    found = {"version": columns.as_text(schema, spec.version).cast(pl.Enum(spec.versions))}
    if spec.item is not None:
        found["item"] = columns.item_key(schema, spec.item)
    if spec.cluster is not None:
        found["cluster"] = columns.as_text(schema, spec.cluster)
    found |= {columns.trait(name): columns.as_text(schema, name) for name in traits}
    known = has_answer(schema, spec.metrics) if set_apart(schema, spec.unanswered) else None
    for name, counts in spec.aggregates_in(schema).items():
        found[f"{name}:counts"] = counts if known is None else pl.when(known).then(counts)
    weight = pl.col(WEIGHT).cast(pl.Float64) if WEIGHT in schema else pl.lit(None, dtype=pl.Float64)
    for name, column in spec.truths.items():
        found |= {f"{name}:truth": labels_of(schema, column), f"{name}:weight": weight}
    if spec.adjust:
        strata = [columns.as_text(schema, name) for name in spec.adjust]
        found[STRATUM] = pl.concat_str(strata, separator=", ")
    if columns.ONLY_RUN in schema:
        # Null where there is nothing to compare with, so that it is counted like everything that is missing.
        found[columns.ONLY_RUN] = pl.when(~columns.only_run(schema)).then(pl.lit(value=True))
    return found


def _describe_missing(nulls: Mapping[str, int], spec: ResolvedSpec) -> list[str]:
    """Say how many of the rows lack what a comparison needs."""
    notes = []
    if spec.item is None:
        notes.append("unpaired: no item column was given, so differences between items hide small changes")
    elif missing := nulls["item"]:
        notes.append(f"{have(missing, 'row')} no item ({spec.item}) and cannot be paired")
    if spec.cluster is not None and (missing := nulls["cluster"]):
        notes.append(
            f"{have(missing, 'row')} no cluster ({spec.cluster}); each item among them is its own cluster"
        )
    if alone := nulls.get(columns.ONLY_RUN, 0):
        notes.append(
            f"{counted(alone, 'row')} {verb(alone, 'is', 'are')} the baseline's only run of an item and "
            f"cannot be scored against {verb(alone, 'itself', 'themselves')}"
        )
    notes += describe_unanswered(nulls)
    for name in (*spec.metrics, *spec.measures):
        is_metric = name in spec.metrics
        # Counted before, of metrics.
        missing = nulls[f"{name}:score"] - is_metric * (alone + nulls.get(HAS_ANSWER, 0))
        if missing > 0:
            what = f"{name} score" if is_metric else name
            see = f"; see the row {columns.ANSWERED!r}"
            unlabelled = not is_metric or missing == nulls.get(HAS_EXPECTED)
            notes.append(
                f"{have(missing, 'row')} no {what} and {verb(missing, 'is', 'are')} not in its numbers"
                f"{'' if unlabelled else see}"
            )
    return notes
