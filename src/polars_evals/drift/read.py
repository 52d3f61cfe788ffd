"""Read what a comparison needs of a table: checked, with everything that is left out counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.answers import (
    HAS_ANSWER,
    HAS_EXPECTED,
    answers_are_missing,
    describe_unanswered,
    describe_unlabelled,
    has_answer,
    outcomes,
    scores_of_answers,
    set_apart,
    with_answers,
    without_idle,
)
from polars_evals.drift.components import STRATUM, describe_strata, labels_of, require_labels, require_texts
from polars_evals.drift.pair import varying
from polars_evals.drift.slices import searchable
from polars_evals.drift.spec import WEIGHT
from polars_evals.suite.measure import AUTO, measures_of
from polars_evals.wording import counted, have, left_out, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.drift.spec import ComparisonSpec, ResolvedSpec

MOST_SLICES = 1_000


@dataclass(frozen=True)
class Scores:
    """
    What a comparison reads.

    Attributes
    ----------
    spec
        What is compared.
    table
        All columns of the compared versions, for the texts behind the numbers.
    rows
        `version`, `item`, `cluster`, a column for each trait, `<metric>:score` and `<metric>:pass`,
        of measures and shares of answers too.
    traits
        The columns that slices are made of: those of `spec`, or those that a search found.
    notes
        What is missing, in words.
    only_runs
        How many rows of the baseline have no other run to be scored against.
    """

    spec: ResolvedSpec
    table: pl.LazyFrame
    rows: pl.DataFrame
    traits: list[str]
    notes: list[str]
    only_runs: int = 0


def read(scored: Frame, spec: ComparisonSpec) -> Scores:
    """Read the rows of the versions that are compared."""
    table = columns.lazy(scored)
    schema = table.collect_schema()
    spec.require_columns(schema)
    counts = count_versions(table, schema, spec.version)
    resolved = spec.resolve(schema, counts["version"].drop_nulls().to_list())
    table = table.filter(columns.as_text(schema, spec.version).is_in(resolved.versions))
    columns.check_signatures(table, schema, resolved.metrics)
    for column in set(resolved.truths.values()):
        require_texts(table, schema, column)
    traits = _searched(table, schema, resolved) if resolved.automatic else resolved.traits
    rows = select_rows(table, schema, resolved, traits)
    if resolved.automatic and resolved.paired:
        # What differs within an item describes an answer, not a part of the test cases.
        answers = varying(rows, [columns.trait(name) for name in traits])
        rows = rows.drop(answers)
        traits = [name for name in traits if columns.trait(name) not in answers]
    for group in resolved.slices:
        found = rows.select(pl.struct(columns.trait(name) for name in group).n_unique())
        require_few_slices(group, found.item())
    nulls = rows.null_count().row(0, named=True)
    if spec.measures == AUTO:
        # Traces have all their columns, whether anything is known or not.
        known = [one for name, one in resolved.measures.items() if nulls[f"{name}:score"] < rows.height]
        resolved = replace(resolved, measures=measures_of(known))
    notes = [*describe_nameless(counts, resolved), *describe_missing(nulls, resolved)]
    require_labels(rows, resolved)
    notes += [*describe_strata(rows, resolved), *describe_unlabelled(rows)]
    rows = without_idle(rows, resolved.metrics)
    if answers_are_missing(rows, resolved.metrics):
        rows = with_answers(rows, resolved.metrics)
    rows = rows.drop(HAS_EXPECTED, strict=False)
    return Scores(resolved, table, rows, traits, notes, nulls.get(columns.ONLY_RUN, 0))


def select_rows(
    table: pl.LazyFrame, schema: Schema, spec: ResolvedSpec, traits: Sequence[str]
) -> pl.DataFrame:
    """Read what a comparison needs of the rows of its versions."""
    version = columns.as_text(schema, spec.version)
    selected = table.filter(version.is_in(spec.versions)).select(
        version.cast(pl.Enum(spec.versions)).alias("version"),
        *([] if spec.item is None else [columns.item_key(schema, spec.item).alias("item")]),
        *([] if spec.cluster is None else [columns.as_text(schema, spec.cluster).alias("cluster")]),
        *(columns.as_text(schema, name).alias(columns.trait(name)) for name in traits),
        *scores(schema, spec),
        *columns.values_of(spec.measures),
        *beyond(schema, spec),
        *outcomes(schema, spec.metrics),
        # Null where there is nothing to compare with, so that it is counted like everything that is missing.
        *(
            [pl.when(~columns.only_run(schema)).then(pl.lit(value=True)).alias(columns.ONLY_RUN)]
            if columns.ONLY_RUN in schema
            else []
        ),
    )
    return columns.collect(selected, spec.metrics, spec.measures)


def scores(schema: Schema, spec: ResolvedSpec) -> list[pl.Expr]:
    """Return scores and labels, without those of rows that have no answer, and which rows have one."""
    return scores_of_answers(schema, spec.metrics, spec.unanswered)


def beyond(schema: Schema, spec: ResolvedSpec) -> list[pl.Expr]:
    """Return the counts of aggregates, people's labels with their weights, and strata."""
    known = has_answer(schema, spec.metrics) if set_apart(schema, spec.unanswered) else None
    counts = [
        (expr if known is None else pl.when(known).then(expr)).alias(f"{name}:counts")
        for name, expr in spec.aggregates_in(schema).items()
    ]
    labels = [labels_of(schema, column).alias(f"{name}:truth") for name, column in spec.truths.items()]
    weight = pl.col(WEIGHT).cast(pl.Float64) if WEIGHT in schema else pl.lit(None, dtype=pl.Float64)
    weights = [weight.alias(f"{name}:weight") for name in spec.truths]
    strata = [columns.as_text(schema, name) for name in spec.adjust or ()]
    stratum = [pl.concat_str(strata, separator=", ").alias(STRATUM)] if strata else []
    return [*counts, *labels, *weights, *stratum]


def count_versions(table: pl.LazyFrame, schema: Schema, version: str) -> pl.DataFrame:
    """Return how many rows (`len`) each version has."""
    versions = table.group_by(columns.as_text(schema, version).alias("version"))
    return versions.agg(pl.len()).sort("version").collect(engine="streaming")


def require_few_slices(group: Sequence[str], count: int) -> None:
    """Raise if columns have too many values to slice by."""
    if count > MOST_SLICES:
        named = group[0] if len(group) == 1 else group
        raise ValueError(f"by={named!r} gives {count:,} slices; at most {MOST_SLICES:,} are possible")


def describe_nameless(counts: pl.DataFrame, spec: ResolvedSpec) -> list[str]:
    """Say how many rows (`len`) have no `version`."""
    nameless = int(counts.filter(pl.col("version").is_null())["len"].sum())
    return [left_out(nameless, f"version ({spec.version})")] if nameless else []


def describe_missing(nulls: Mapping[str, int], spec: ResolvedSpec) -> list[str]:
    """Say how many of the rows that `select_rows` read lack what a comparison needs."""
    notes = []
    if spec.item is None:
        notes.append("unpaired: no item column was given, so differences between items hide small changes")
    elif missing := nulls["item"]:
        notes.append(f"{have(missing, 'row')} no item ({spec.item}) and cannot be paired")
    if spec.cluster is not None and (missing := nulls["cluster"]):
        notes.append(
            f"{have(missing, 'row')} no cluster ({spec.cluster}); each item among them is its own cluster"
        )
    alone = nulls.get(columns.ONLY_RUN, 0)
    if alone:
        notes.append(
            f"{counted(alone, 'row')} {verb(alone, 'is', 'are')} the baseline's only run of an item and "
            f"cannot be scored against {verb(alone, 'itself', 'themselves')}"
        )
    known_of = alone + nulls.get(HAS_ANSWER, 0)
    notes += describe_unanswered(nulls)
    missing_scores = {name: nulls[f"{name}:score"] - known_of for name in spec.metrics}
    notes += [
        f"{have(missing, 'row')} no {name} score and {verb(missing, 'is', 'are')} not in its numbers"
        + (
            ""
            if HAS_EXPECTED in nulls and missing == nulls[HAS_EXPECTED]
            else f"; see the row {columns.ANSWERED!r}"
        )
        for name, missing in missing_scores.items()
        if missing > 0
    ]
    return notes + [
        f"{have(missing, 'row')} no {name} and {verb(missing, 'is', 'are')} not in its numbers"
        for name in spec.measures
        if (missing := nulls[f"{name}:score"])
    ]


def _searched(table: pl.LazyFrame, schema: Schema, spec: ResolvedSpec) -> list[str]:
    named = (spec.version, spec.item, spec.cluster, *spec.measures, *spec.truths.values())
    taken = {name for name in named if name is not None}
    return sorted(searchable(table, schema, taken))
