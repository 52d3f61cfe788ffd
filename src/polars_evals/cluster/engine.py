"""
What Ray, Spark, or any other engine must be able to do, and all that is done with it.

An engine holds data of its own kind, which it can read, select from, map and shuffle as Arrow tables. A new
one is a file with these few methods, and an entry in `files.ENGINES`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import polars as pl
import pyarrow as pa

from polars_evals.cluster.batches import Scorer, polars_type
from polars_evals.cluster.steps import (
    MESSAGES,
    merge_messages,
    rank_group,
    read_messages,
    read_ranks,
    sum_up_group,
    sum_up_tables,
)
from polars_evals.drift.parts import count_versions, merge, merge_ranks, rank_spec, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from polars_evals.drift.parts import Aggregates, Ranking, RankOptions, SpecOptions
    from polars_evals.suite import Suite

    MapTables = Callable[[Iterable[pa.Table]], Iterable[pa.Table]]

D = TypeVar("D")

COUNTS = pa.schema({"version": pa.string(), "len": pa.int64()})


class Engine(Protocol[D]):
    """What a cluster does with data of type D. Nothing need run before the data is collected or written."""

    def read_parquet(self, files: Sequence[str]) -> D:
        """Read Parquet files."""

    def write_parquet(self, data: D, folder: str) -> None:
        """Write a folder of Parquet files."""

    def schema(self, data: D) -> pa.Schema:
        """Return the columns of the data."""

    def select(self, data: D, columns: Sequence[str]) -> D:
        """Take some columns."""

    def score(self, data: D, scorer: Scorer) -> D:
        """Map the tables with ``scorer.score_all``; its `schema` is that of the result."""

    def map(self, data: D, function: MapTables, schema: pa.Schema) -> D:
        """Map tables to tables of a schema, any number at once."""

    def with_groups(self, data: D, item: str, groups: int) -> D:
        """Add the column `GROUP`, below `groups`: that of the row's item, or any where it has none."""

    def map_groups(
        self, data: D, function: Callable[[pa.Table], pa.Table], schema: pa.Schema, groups: int
    ) -> D:
        """Map all rows that have the same `GROUP`, about so many of them, to a table of a schema."""

    def run(self, data: D) -> D:
        """Run what is planned, if the engine cannot shuffle its result otherwise."""

    def collect(self, data: D) -> Iterator[pa.Table]:
        """Bring the data to the driver."""


def score_on(engine: Engine[D], data: D, suite: Suite, *, signatures: bool, max_bytes: int) -> D:
    """Score data with a suite."""
    scorer = Scorer.of(suite, engine.schema(data), signatures=signatures, max_bytes=max_bytes)
    return engine.score(data, scorer)


def aggregate_on(engine: Engine[D], data: D, compared: SpecOptions, *, parts: int) -> Aggregates:
    """Sum up scored data in two steps, see `steps`."""
    arrow = engine.schema(data)
    schema = {field.name: polars_type(field.type) for field in arrow}
    spec = resolve(compared, schema, lambda: _versions(engine, data, compared["version"]))
    rows = engine.select(data, spec.needed(arrow.names))
    if spec.item is None:
        messages = engine.map(rows, partial(sum_up_tables, spec=spec, parts=parts), MESSAGES)
    else:
        grouped = engine.with_groups(rows, spec.item, parts)
        messages = engine.map_groups(grouped, partial(sum_up_group, spec=spec, parts=parts), MESSAGES, parts)
    merged = engine.map_groups(engine.run(messages), merge_messages, MESSAGES, parts)
    return merge(read_messages(engine.collect(merged)))


def rank_on(engine: Engine[D], data: D, ranked: RankOptions, *, parts: int) -> Ranking:
    """Rank versions: rows are shuffled by item and summed up, the driver merges what each part says."""
    arrow = engine.schema(data)
    schema = {field.name: polars_type(field.type) for field in arrow}
    spec = rank_spec(ranked, schema, lambda: _versions(engine, data, ranked["version"]))
    rows = engine.select(data, spec.needed(arrow.names))
    grouped = engine.with_groups(rows, spec.item, parts)
    messages = engine.map_groups(grouped, partial(rank_group, spec=spec), MESSAGES, parts)
    return merge_ranks(read_ranks(engine.collect(messages)), spec)


def _versions(engine: Engine[D], data: D, version: str) -> pl.DataFrame:
    counted = engine.map(engine.select(data, [version]), partial(_count, version=version), COUNTS)
    frames = [pl.DataFrame(pl.from_arrow(table)) for table in engine.collect(counted)]
    return pl.concat(frames).group_by("version").agg(pl.col("len").sum()).sort("version")


def _count(tables: Iterable[pa.Table], version: str) -> Iterator[pa.Table]:
    for table in tables:
        frame = pl.DataFrame(pl.from_arrow(table)).lazy()
        counted = count_versions(frame, frame.collect_schema(), version)
        yield counted.cast({"len": pl.Int64}).to_arrow().cast(COUNTS)
