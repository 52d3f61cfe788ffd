"""Score on a cluster: what Ray, Spark, or any other engine must be able to do, and all that is done with it.

The columns of a table pass through as they are. What the suite reads becomes a Polars frame, without a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import polars as pl
import pyarrow as pa

from polars_evals.suite.custom import looks_across

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from polars_evals.suite import Suite

    MapTables = Callable[[Iterable[pa.Table]], Iterable[pa.Table]]

D = TypeVar("D")

# How many bytes are scored at once by default.
MAX_BYTES = 64 * 1024**2

# Sets the number of threads that Polars starts in a worker.
THREADS = "POLARS_MAX_THREADS"

# Types that only Polars has, or that Spark lacks, and what holds their values everywhere.
PORTABLE: dict[type[pl.DataType], pl.DataType] = {
    pl.Categorical: pl.String(),
    pl.Enum: pl.String(),
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Int64(),
}


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

    def map(self, data: D, function: MapTables, schema: pa.Schema, *, keep: bool = False) -> D:
        """Map tables to tables of a schema, any number at once; with `keep`, it comes behind the columns."""

    def collect(self, data: D) -> Iterator[pa.Table]:
        """Bring the data to the driver."""


@dataclass(frozen=True)
class Scorer:
    """Scores Arrow tables that have some schema; small enough to send to every worker."""

    suite: Suite
    existing: pa.Schema
    added: pa.Schema
    signatures: bool
    max_bytes: int

    @classmethod
    def of(cls, suite: Suite, existing: pa.Schema, *, signatures: bool, max_bytes: int) -> Scorer:
        """Declare what comes out, and raise now for what would fail on a worker."""
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, got {max_bytes!r}")
        existing = _retyped(existing.empty_table(), _without_views).schema
        # Columns that the suite does not read are here for their names: Polars may not know their types.
        columns = {
            name: polars_type(existing.field(name).type) if name in _columns_of(suite) else pl.Null()
            for name in existing.names
        }
        _refuse_across(suite, pl.Schema(columns))
        # Run without a row, not only planned: metrics refuse types that they cannot score when they run.
        scored = suite.score(pl.DataFrame(schema=columns), signatures=signatures).schema
        results = {name: _portable(dtype) for name, dtype in scored.items() if name not in columns}
        added = _retyped(pl.DataFrame(schema=results).to_arrow(), _short).schema
        return cls(suite, existing, added, signatures, max_bytes)

    def score(self, table: pa.Table) -> pa.Table:
        """Add the results of the suite to a table."""
        read = [name for name in self.existing.names if name in _columns_of(self.suite)]
        frame = pl.DataFrame(pl.from_arrow(table.select(read)))
        scored = self.suite.score(frame, signatures=self.signatures).select(self.added.names)
        portable = scored.cast({name: _portable(dtype) for name, dtype in scored.schema.items()})
        results = portable.to_arrow().cast(self.added)
        for name in self.added.names:
            table = table.append_column(self.added.field(name), results[name])
        return table

    def score_all(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Score tables in pieces of at most `max_bytes`; a larger row is a piece of its own."""
        return map(self.score, bounded(tables, self.max_bytes))


def _refuse_across(suite: Suite, schema: pl.Schema) -> None:
    """Refuse metrics whose scores depend on other rows: on a cluster they would depend on its partitions."""
    for metric in suite.metrics:
        kinds = pl.Schema({name: schema[name] for name in metric.columns if name in schema})
        if metric.function is not None and looks_across(metric.expr(), kinds):
            raise ValueError(
                f'metric "{metric.name}": its scores depend on other rows, which a cluster may score '
                "elsewhere; if they do not, declare it: map_batches(..., is_elementwise=True)"
            )


def _columns_of(suite: Suite) -> set[str]:
    return {column for metric in suite.metrics for column in metric.columns}


def polars_type(dtype: pa.DataType) -> pl.DataType:
    """Return the Polars type of a column."""
    return pl.Series(pl.from_arrow(pa.array([], dtype))).dtype


def _portable(dtype: pl.DataType) -> pl.DataType:
    """Return a type that Polars, Arrow, Ray and Spark all have."""
    if isinstance(dtype, pl.List):
        return pl.List(_portable(dtype.inner))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _portable(field.dtype) for field in dtype.fields})  # type: ignore[arg-type]
    return PORTABLE.get(type(dtype), dtype)


def _retyped(table: pa.Table, type_for: Callable[[pa.DataType], pa.DataType]) -> pa.Table:
    schema = pa.schema([field.with_type(type_for(field.type)) for field in table.schema])
    return table if table.schema.equals(schema) else table.cast(schema)


def _short(dtype: pa.DataType) -> pa.DataType:
    """Return texts and lists as Ray and Spark have them, with offsets of 32 bits: batches need no more."""
    if pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype):
        return pa.string()
    if pa.types.is_large_list(dtype):
        return pa.list_(_short(dtype.value_type))
    if pa.types.is_struct(dtype):
        return pa.struct([field.with_type(_short(field.type)) for field in dtype])
    return dtype


def bounded(tables: Iterable[pa.Table], max_bytes: int) -> Iterator[pa.Table]:
    """Cut and join tables into pieces near `max_bytes`, never above it unless a single row is."""
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        for piece in _halves(_retyped(table, _without_views), max_bytes):
            if held and size + piece.nbytes > max_bytes:
                yield pa.concat_tables(held)
                held, size = [], 0
            held.append(piece)
            size += piece.nbytes
    if held:
        yield pa.concat_tables(held)


def _halves(table: pa.Table, max_bytes: int) -> Iterator[pa.Table]:
    """Halve a table until every piece has at most `max_bytes`, or one row."""
    if table.nbytes <= max_bytes or table.num_rows <= 1:
        yield table
        return
    middle = table.num_rows // 2
    yield from _halves(table.slice(0, middle), max_bytes)
    yield from _halves(table.slice(middle), max_bytes)


def _without_views(dtype: pa.DataType) -> pa.DataType:
    """Return a type for string views: a slice of views does not tell how many bytes it holds."""
    return pa.large_string() if pa.types.is_string_view(dtype) else dtype


def score_on(engine: Engine[D], data: D, suite: Suite, *, signatures: bool, max_bytes: int) -> D:
    """Score data with a suite."""
    scorer = Scorer.of(suite, engine.schema(data), signatures=signatures, max_bytes=max_bytes)
    return engine.map(data, scorer.score_all, scorer.added, keep=True)
