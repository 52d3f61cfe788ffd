"""
Compare and rank on a cluster: the engine selects columns and rows, the driver does the rest.

Scores, labels, items and slices are narrow. A driver holds those of tens of millions of items; above
`max_items` the engine keeps a share of the items, all rows of each, so that pairs stay whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from polars_evals import drift
from polars_evals.cluster.engines import engine_of
from polars_evals.cluster.score import Engine, polars_type
from polars_evals.drift import columns
from polars_evals.drift.slices import MOST_VALUES, may_be_searched
from polars_evals.drift.spec import ComparisonSpec, aggregates_of, slice_expressions, with_slices
from polars_evals.drift.unanswered import ERROR, FINISH, OUTPUT
from polars_evals.suite.aggregate import Aggregate, stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polars_evals.cluster.score import MapTables
    from polars_evals.drift import Comparison, Ranking
    from polars_evals.drift.spec import SpecOptions

D = TypeVar("D")

MAX_ITEMS = 50_000_000
# How many rows are looked at to estimate the number of items.
GLIMPSE = 1_000_000
VALUES = pa.schema({"column": pa.string(), "value": pa.string()})


def compare(data: Any, *, max_items: int = MAX_ITEMS, **options: Unpack[SpecOptions]) -> Comparison:
    """
    Compare versions in scored data of a cluster.

    Parameters
    ----------
    data
        A scored Ray Dataset or Spark DataFrame. The columns that a comparison needs are collected on the
        driver: version, item, cluster, slices, scores, labels and measures. Texts stay where they are.
    max_items
        Above so many items a share of them is compared, chosen by a hash of the item. A note in the result
        says so.
    **options
        Every option of `polars_evals.compare`.

    Examples
    --------
    >>> from polars_evals import cluster
    >>> scored = spark.read.parquet("s3://scored/")  # doctest: +SKIP
    >>> cluster.compare(scored, version="model", baseline="v1", item="item_id").verdict  # doctest: +SKIP
    'no_change'
    """
    engine, by = engine_of(data), options.get("by")
    schema = _schema(engine, data)
    table, names = with_slices(pl.LazyFrame(schema=schema), by)
    spec = ComparisonSpec(**(options | {"by": names}))
    spec.require_columns(table.collect_schema())
    survey = _survey(engine, data, schema, spec.version, spec.metrics)
    resolved = spec.resolve(table.collect_schema(), survey.versions)
    survey.check_signatures(resolved.versions)
    needed = [
        *(name for name in resolved.needed(schema) if not name.endswith("_signature")),
        *(root for one in slice_expressions(by) for root in one.meta.root_names()),
    ]
    if resolved.automatic:
        needed += _searched(engine, data, may_be_searched(schema, {*needed}))
    read = _read_by_aggregates(schema, resolved.aggregates)
    rows = Rows(schema, spec.version, tuple(resolved.versions), spec.item, texts=OUTPUT in read)
    scored, note = _collect(engine, data, needed, rows, count=survey.rows(rows.versions), max_items=max_items)
    found = drift.compare(scored, **options)
    return replace(found, notes=(*found.notes, *note))


def rank(data: Any, *, max_items: int = MAX_ITEMS, **options: Any) -> Ranking:
    """
    Rank the versions in scored data of a cluster.

    Parameters
    ----------
    data
        A scored Ray Dataset or Spark DataFrame, of which the needed columns are collected on the driver.
    max_items
        As in `compare`.
    **options
        Every option of `polars_evals.rank`.

    Examples
    --------
    >>> from polars_evals import cluster
    >>> cluster.rank(scored, version="model", item="item_id").summary  # doctest: +SKIP
    """
    engine = engine_of(data)
    schema = _schema(engine, data)
    roles = {role: options[role] for role in ("version", "item", "cluster") if options.get(role) is not None}
    for role, name in roles.items():
        columns.require(schema, name, role)
    survey = _survey(engine, data, schema, options["version"], options.get("metrics"))
    survey.check_signatures(survey.versions)
    results = [f"{name}_{end}" for name in survey.metrics for end in ("score", "label")]
    given = options.get("aggregates")
    read = _read_by_aggregates(schema, tuple(stored(schema)) if given is None else aggregates_of(given))
    needed = [name for name in (*roles.values(), *results, ERROR, FINISH, OUTPUT, *read) if name in schema]
    rows = Rows(schema, options["version"], tuple(survey.versions), options["item"], texts=OUTPUT in read)
    scored, note = _collect(engine, data, needed, rows, count=survey.rows(rows.versions), max_items=max_items)
    found = drift.rank(scored, **options)
    return replace(found, notes=(*found.notes, *note))


def _read_by_aggregates(
    schema: Mapping[str, pl.DataType], aggregates: Iterable[str | Aggregate]
) -> list[str]:
    """Name the columns that aggregates read: their counts, or the texts where there are none."""
    there, found = stored(schema), []
    for one in aggregates:
        name = one if isinstance(one, str) else str(one.name)
        made = Aggregate(one) if isinstance(one, str) and name not in there else one
        found += [there[name]] if name in there or isinstance(made, str) else made.columns
    return found


@dataclass(frozen=True)
class Rows:
    """The rows that are collected: those of some versions, and of a share of the items."""

    schema: Mapping[str, pl.DataType]
    version: str
    versions: tuple[str, ...]
    item: str | None
    share: float = 1.0
    # Whether an aggregate reads the outputs, as its counts were not stored.
    texts: bool = False

    def keep(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Filter tables; of outputs only whether there is one."""
        wanted = columns.as_text(self.schema, self.version).is_in(self.versions)
        # A row without a version is counted by the comparison.
        wanted = wanted | pl.col(self.version).is_null()
        if self.item is not None and self.share < 1:
            wanted &= columns.item_key(self.schema, self.item).hash().cast(pl.Float64) < self.share * 2.0**64
        read = [self.version, *([] if self.item is None else [self.item])]
        for table in tables:
            frame = pl.DataFrame(pl.from_arrow(table.select(read)))
            kept = table.filter(frame.select(wanted).to_series().to_arrow())
            if OUTPUT in kept.column_names and not self.texts:
                there = pc.if_else(pc.is_valid(kept[OUTPUT]), "", pa.scalar(None, pa.string()))
                kept = kept.set_column(kept.column_names.index(OUTPUT), OUTPUT, there)
            yield kept


@dataclass(frozen=True)
class Survey:
    """How many rows each version has, and how their scores were made."""

    counts: pl.DataFrame
    metrics: Sequence[str]

    @property
    def versions(self) -> list[str]:
        """The versions, sorted."""
        return self.counts["version"].drop_nulls().unique().sort().to_list()

    def rows(self, versions: Sequence[str]) -> int:
        """Count the rows of some versions."""
        return int(self.counts.filter(pl.col("version").is_in(versions))["len"].sum())

    def check_signatures(self, versions: Sequence[str]) -> None:
        """Refuse scores that were not made in the same way."""
        counts = self.counts.filter(pl.col("version").is_in(versions))
        for name in counts.columns[1:-1]:
            columns.require_one_signature(name, counts[name].unique().sort().to_list())


def _survey(
    engine: Engine[D], data: D, schema: Mapping[str, pl.DataType], version: str, metrics: Any
) -> Survey:
    names = columns.find_metrics(schema, metrics)
    signed = [f"{name}_signature" for name in names if f"{name}_signature" in schema]
    keys = [
        columns.as_text(schema, version).alias("version"),
        *(pl.col(one).cast(pl.String) for one in signed),
    ]
    made = pa.schema([(name, pa.string()) for name in ("version", *signed)] + [("len", pa.int64())])
    count = partial(_count, keys=keys, schema=made)
    counts = _gather(engine, engine.select(data, list(dict.fromkeys([version, *signed]))), count, made)
    return Survey(counts.group_by(pl.exclude("len"), maintain_order=True).agg(pl.col("len").sum()), names)


def _count(tables: Iterable[pa.Table], keys: Sequence[pl.Expr], schema: pa.Schema) -> Iterator[pa.Table]:
    for table in tables:
        counted = pl.DataFrame(pl.from_arrow(table)).group_by(keys).agg(pl.len().cast(pl.Int64))
        yield counted.to_arrow().cast(schema)


def _searched(engine: Engine[D], data: D, names: Sequence[str]) -> list[str]:
    """Return the columns that have few enough values to search for slices."""
    if not names:
        return []
    seen = _gather(engine, engine.select(data, names), _some_values, VALUES)
    counts = seen.unique().group_by("column").len()
    few = set(counts.filter(pl.col("len") <= MOST_VALUES)["column"])
    return [name for name in names if name in few]


def _some_values(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    for table in tables:
        for name in table.column_names:
            values = pl.Series(pl.from_arrow(table[name])).cast(pl.String).unique().head(MOST_VALUES + 1)
            frame = values.to_frame("value").select(pl.lit(name).alias("column"), "value")
            yield frame.to_arrow().cast(VALUES)


def _collect(
    engine: Engine[D], data: D, needed: Sequence[str], rows: Rows, *, count: int, max_items: int
) -> tuple[pl.DataFrame, list[str]]:
    """Bring the needed columns and rows to the driver, with a note where it is a share of the items."""
    note = []
    if count > max_items:
        if rows.item is None:
            raise ValueError(
                f"the data has {count:,} rows, more than max_items={max_items:,}, and without an item column "
                "there are no items to choose from; name item=, or raise max_items"
            )
        # As many items as there are with the smallest hashes, for each share of all hashes.
        share = min(1.0, GLIMPSE / count)
        glimpse = _read(engine, data, [rows.version, rows.item], replace(rows, share=share))
        items = round(glimpse[rows.item].n_unique() / share)
        if items > max_items:
            rows = replace(rows, share=max_items / items)
            note = [
                f"{rows.share:.2%} of about {items:,} items are compared, chosen by a hash of the item "
                f"(max_items = {max_items:,})"
            ]
    return _read(engine, data, needed, rows), note


def _read(engine: Engine[D], data: D, needed: Sequence[str], rows: Rows) -> pl.DataFrame:
    """Bring some columns of some rows to the driver."""
    names = list(dict.fromkeys(needed))
    selected = engine.select(data, names)
    schema = engine.schema(selected)
    if OUTPUT in names and not rows.texts:
        schema = schema.set(names.index(OUTPUT), pa.field(OUTPUT, pa.string()))
    return _gather(engine, selected, rows.keep, schema)


def _gather(engine: Engine[D], data: D, function: MapTables, schema: pa.Schema) -> pl.DataFrame:
    """Bring what a function makes of the tables to the driver."""
    tables = engine.collect(engine.map(data, function, schema))
    frames = [pl.DataFrame(pl.from_arrow(table)) for table in tables if table.num_rows]
    return pl.concat(frames) if frames else pl.DataFrame(pl.from_arrow(schema.empty_table()))


def _schema(engine: Engine[D], data: D) -> dict[str, pl.DataType]:
    return {field.name: polars_type(field.type) for field in engine.schema(data)}
