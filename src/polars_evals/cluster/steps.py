"""
How a cluster sums up a scored table: two steps between shuffles, the same on every engine.

1. Rows are shuffled by item, so that pairs meet, and each group of items is summed up.
2. The sums are shuffled and merged: those of clusters by cluster, so that each is whole, all others anyhow.

What is left for the driver to merge is a handful of messages.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from polars_evals.cluster.batches import MAX_BYTES, bounded
from polars_evals.drift.parts import Aggregates, RankSums, merge, rank_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polars_evals.drift.parts import RankSpec, ResolvedSpec

GROUP, MESSAGE = "__evals_group", "__evals_message"
MESSAGES = pa.schema({GROUP: pa.int64(), MESSAGE: pa.binary()})

# Into how many groups the sums that belong to no cluster are gathered.
GATHERED = 16


def item_groups(items: pl.Expr, parts: int) -> pl.Expr:
    """Return the group of each row: that of its item, or any where it has none."""
    anywhere = pl.int_range(pl.len(), dtype=pl.UInt64)
    return (pl.when(items.is_not_null()).then(items.hash()).otherwise(anywhere) % parts).cast(pl.Int64)


def sum_up_tables(tables: Iterable[pa.Table], spec: ResolvedSpec, parts: int) -> Iterator[pa.Table]:
    """Sum up tables that hold all rows of their items, as messages to the groups of the next step."""
    summed = (Aggregates.of(_frame(table).lazy(), spec) for table in bounded(tables, MAX_BYTES))
    for first in summed:
        yield _messages(merge(chain([first], summed)), parts)


def sum_up_group(table: pa.Table, spec: ResolvedSpec, parts: int) -> pa.Table:
    """Do the same with all rows of some items, which must not be cut."""
    return _messages(Aggregates.of(_frame(table).lazy(), spec), parts)


def merge_messages(table: pa.Table) -> pa.Table:
    """Merge the messages of one group into one; clusters that meet there are whole."""
    merged = merge(read_messages([table])).closed()
    return pa.table({GROUP: table[GROUP][:1], MESSAGE: [merged.to_bytes()]}, schema=MESSAGES)


def read_messages(tables: Iterable[pa.Table]) -> Iterator[Aggregates]:
    """Read the aggregates in tables of messages."""
    for table in tables:
        for message in table[MESSAGE]:
            yield Aggregates.from_bytes(message.as_py())


def rank_group(table: pa.Table, spec: RankSpec) -> pa.Table:
    """Sum up all rows of some items for a ranking."""
    frame = _frame(table)
    summed = rank_part(frame.drop(GROUP, strict=False), spec)
    return pa.table({GROUP: table[GROUP][:1], MESSAGE: [summed.to_bytes()]}, schema=MESSAGES)


def read_ranks(tables: Iterable[pa.Table]) -> Iterator[RankSums]:
    """Read what `rank_group` wrote."""
    for table in tables:
        for message in table[MESSAGE]:
            yield RankSums.from_bytes(message.as_py())


def _messages(summed: Aggregates, parts: int) -> pa.Table:
    rows = [*_addressed(summed, parts)]
    groups, messages = [group for group, _ in rows], [part.to_bytes() for _, part in rows]
    return pa.table({GROUP: groups, MESSAGE: messages}, schema=MESSAGES)


def _addressed(summed: Aggregates, parts: int) -> Iterator[tuple[int, Aggregates]]:
    sums = summed.sums
    clusters = sums["clusters"]
    key = hash(summed.to_bytes()) % GATHERED
    yield -1 - key, replace(summed, sums=sums | {"clusters": clusters.clear()})
    if clusters.is_empty():
        return
    nothing = {name: frame.clear() for name, frame in sums.items()}
    grouped = clusters.with_columns((pl.col("cluster").hash() % parts).cast(pl.Int64).alias(GROUP))
    for (group,), part in grouped.group_by(GROUP):
        yield int(str(group)), replace(summed, sums=nothing | {"clusters": part.drop(GROUP)})


def _frame(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(table))
