"""
How a cluster sums up a scored table: two steps between shuffles, the same on Ray and on Spark.

1. Rows are shuffled by item, so that pairs meet, and each group of items is summed up.
2. The sums are shuffled and merged: those of clusters by cluster, so that each is whole, all others anyhow.

What is left for the driver to merge is a handful of messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from polars_evals.cluster.aggregates import Aggregates, close, sum_up
from polars_evals.cluster.merging import merge, regroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polars_evals.cluster.plan import Plan

GROUP, MESSAGE = "__evals_group", "__evals_message"
MESSAGES = pa.schema({GROUP: pa.int64(), MESSAGE: pa.binary()})

# Into how many groups the sums that belong to no cluster are gathered.
GATHERED = 16


def item_groups(items: pl.Expr, parts: int) -> pl.Expr:
    """Return the group of each row: that of its item, or any where it has none."""
    anywhere = pl.int_range(pl.len(), dtype=pl.UInt64)
    return (pl.when(items.is_not_null()).then(items.hash()).otherwise(anywhere) % parts).cast(pl.Int64)


def sum_up_tables(tables: Iterable[pa.Table], plan: Plan, parts: int) -> pa.Table:
    """Sum up tables that hold all rows of their items, as messages to the groups of the next step."""
    summed = merge(sum_up(_frame(table).lazy(), plan) for table in tables)
    rows = [*_messages(summed, parts)]
    return pa.table(
        {GROUP: [group for group, _ in rows], MESSAGE: [part.to_bytes() for _, part in rows]}, schema=MESSAGES
    )


def merge_messages(table: pa.Table) -> pa.Table:
    """Merge the messages of one group into one; clusters that meet there are whole."""
    merged = regroup(close(merge(read_messages([table]))))
    return pa.table({GROUP: table[GROUP][:1], MESSAGE: [merged.to_bytes()]}, schema=MESSAGES)


def read_messages(tables: Iterable[pa.Table]) -> Iterator[Aggregates]:
    """Read the aggregates in tables of messages."""
    for table in tables:
        for message in table[MESSAGE]:
            yield Aggregates.from_bytes(message.as_py())


def _messages(summed: Aggregates, parts: int) -> Iterator[tuple[int, Aggregates]]:
    frames = summed.frames()
    sums = frames["sums"]
    key = hash(summed.to_bytes()) % GATHERED
    yield -1 - key, Aggregates(summed.plan, **(frames | {"sums": sums.clear()}))
    if sums.is_empty():
        return
    nothing = {name: frame.clear() for name, frame in frames.items()}
    grouped = sums.with_columns((pl.col("cluster").hash() % parts).cast(pl.Int64).alias(GROUP))
    for (group,), part in grouped.group_by(GROUP):
        yield int(str(group)), Aggregates(summed.plan, **(nothing | {"sums": part.drop(GROUP)}))


def _frame(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(table))
