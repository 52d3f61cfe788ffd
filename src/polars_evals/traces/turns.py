"""The spans of a session as one row, for the metrics that score turn by turn."""

from __future__ import annotations

from typing import TypeVar

import polars as pl

from polars_evals._polars import NOTHING_OF_EMPTY
from polars_evals.traces.canonical import CANONICAL
from polars_evals.traces.text import stable_hash

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

_ROW = "__row"
_TURNS = ("input", "output", "expected")
_SUMS = ("latency_ms", "input_tokens", "output_tokens", "cost")
_LISTS = ("tool_calls", "contexts")


def conversations(traces: FrameT) -> FrameT:
    """
    Gather the spans of each session in one row, with the turns as lists in the order of time.

    Parameters
    ----------
    traces
        A frame with the canonical columns, as [`scan_traces`][polars_evals.scan_traces] gives.

    Returns
    -------
    DataFrame or LazyFrame
        A row per session, in the order of their first spans in `traces`: the canonical columns, with lists in
        `input`, `output` and `expected`. Tokens, cost and latency are sums, calls of tools and contexts those
        of all turns; the other columns are those of the first turn.

    Notes
    -----
    Spans without a session are gathered by trace; those without a trace too are conversations of one turn.
    Spans of the same time keep their order in `traces`.

    `item_id` is that of the turns where they share one, else the BLAKE2b hash of theirs in order, so that the
    same questions in the same order pair up across versions.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> pl.DataFrame(
    ...     {
    ...         "session_id": ["s1", "s2", "s1"],
    ...         "ts": ["2026-01-01T10:00:05Z", "2026-01-01T10:00:02Z", "2026-01-01T10:00:01Z"],
    ...         "output": ["Paris", "4", "Hello!"],
    ...         "expected": ["Paris", "4", "Hello"],
    ...     }
    ... ).write_parquet(f"{folder}/chat.parquet")
    >>> traces = pe.scan_traces(f"{folder}/chat.parquet")
    >>> pe.conversations(traces).select("session_id", "output", "expected").collect()
    shape: (2, 3)
    ┌────────────┬─────────────────────┬────────────────────┐
    │ session_id ┆ output              ┆ expected           │
    │ ---        ┆ ---                 ┆ ---                │
    │ str        ┆ list[str]           ┆ list[str]          │
    ╞════════════╪═════════════════════╪════════════════════╡
    │ s1         ┆ ["Hello!", "Paris"] ┆ ["Hello", "Paris"] │
    │ s2         ┆ ["4"]               ┆ ["4"]              │
    └────────────┴─────────────────────┴────────────────────┘
    """
    session, trace = pl.col("session_id"), pl.col("trace_id")
    by_trace = session.is_null() & trace.is_not_null()
    keys = {
        "__session": session,
        "__trace": pl.when(by_trace).then(trace),
        "__alone": pl.when(session.is_null() & trace.is_null()).then(pl.col(_ROW)),
    }
    turns = traces.lazy().with_row_index(_ROW).with_columns(**keys).sort("ts", _ROW, nulls_last=True)
    items = pl.col("item_id")
    there = turns.collect_schema()
    canonical = [name for name in CANONICAL if name in there]
    first = [name for name in canonical if name not in ("item_id", *_TURNS, *_SUMS, *_LISTS)]
    gathered = turns.group_by(*keys).agg(
        pl.when(items.n_unique() == 1).then(items.first()).alias("item_id"),
        items.alias("__items"),
        pl.col(first).first(),
        pl.col(*_TURNS),
        *(_sum(name) for name in _SUMS if name in there),
        *(_elements(name) for name in _LISTS if name in there),
        pl.col(_ROW).min(),
    )
    own = pl.coalesce("item_id", stable_hash(pl.col("__items").list.join("\n", ignore_nulls=True)))
    result = gathered.sort(_ROW).with_columns(own.alias("item_id")).select(canonical)
    return result.collect() if isinstance(traces, pl.DataFrame) else result


def _elements(name: str) -> pl.Expr:
    """Join lists to one; those that are null or empty add nothing."""
    return pl.col(name).filter(pl.col(name).list.len() > 0).explode(**NOTHING_OF_EMPTY)


def _sum(name: str) -> pl.Expr:
    """Sum what is there; nothing at all is not nought."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)
