"""From spans to answers: one answer, one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_evals._polars import format_text
from polars_evals.traces.canonical import CALLS, CANONICAL, CONTEXTS, OF_FILE, PARENT, QUESTION, SCORES
from polars_evals.traces.platforms.base import EVALUATION, SCORER
from polars_evals.traces.tables import BROKEN

Rows: TypeAlias = Literal["traces", "spans", "outputs", "all"]

_TRACE, _PICK, _ORDER, _EVALUATES = "@trace", "@pick", "@order", "@evaluates"

# Kinds of spans that never are the answer of a trace, even where they stand at its root.
_HELPING = ("tool", "retriever", "embedding")


def is_answer() -> pl.Expr:
    """Whether a span says something: a text, a call of a tool, or that it failed."""
    return pl.col("output").is_not_null() | pl.col(CALLS).is_not_null() | pl.col("error").is_not_null()


def choose_rows(
    frame: pl.LazyFrame,
    rows: Rows,
    kept: Sequence[str],
    *,
    are_spans: bool,
    may_break: bool,
    apart: bool = False,
) -> pl.LazyFrame:
    """Keep the rows that were asked for, and those that are broken.

    With `apart`, what two files say of one trace is two rows.
    """
    if rows == "all":
        return frame
    if rows == "outputs":
        has_output = pl.col("output").is_not_null()
        return frame.filter(has_output | pl.col(BROKEN).is_not_null() if may_break else has_output)
    if not are_spans:
        return frame
    if rows == "spans":
        # Where nothing says what a span is, one that names a model is a call of it.
        is_call = (pl.col("kind") == "llm").fill_null(pl.col("model").is_not_null())
        return frame.filter(is_answer() & is_call | pl.col(BROKEN).is_not_null())
    return _answers(frame, kept, [_TRACE, OF_FILE] if apart else [_TRACE])


def _answers(frame: pl.LazyFrame, kept: Sequence[str], trace: Sequence[str]) -> pl.LazyFrame:
    """Make each trace one row: its root where that has an answer, else its last model call."""
    is_root = pl.col(PARENT).is_null()
    is_call = pl.col("kind") == "llm"
    helps = pl.col("kind").is_in(_HELPING).fill_null(False)
    # A question that nobody answered is a row too, without an output.
    asks = pl.col("input").is_not_null() & ~helps
    rank = (
        pl.when(pl.col("kind").is_in([SCORER, EVALUATION]).fill_null(False))
        .then(0)
        .when(~is_answer())
        .then(asks.cast(pl.Int64))
        .when(helps)
        .then(2)
        .when(is_root)
        .then(5)
        .when(is_call.fill_null(False))
        .then(4)
        .otherwise(3)
    )
    # The highest rank, and of equals the latest; times since 1970 in microseconds are far below this step.
    late = pl.col("ts").dt.epoch("us").fill_null(0)
    spans = frame.with_row_index("@row").with_columns(
        pl.coalesce("trace_id", format_text("@{}", "@row")).alias(_TRACE),
        (rank.cast(pl.Int64) * 2**58 + late).alias(_PICK),
    )
    # Of equals the last: in an order of all spans, none is equal to another. Not the first of a reversed
    # column, of which Polars' streaming engine finds the wrong one where a file has two spans.
    best = pl.col(_ORDER).arg_max()

    def picked(name: str) -> pl.Expr:
        return pl.col(name).get(best)

    def in_time(name: str, where: pl.Expr) -> pl.Expr:
        return pl.col(name).filter(where & pl.col(name).is_not_null())

    def latest(name: str, where: pl.Expr) -> pl.Expr:
        return in_time(name, where).last()

    evaluates = (pl.col("kind") == EVALUATION).fill_null(False).any()
    calls = is_call.fill_null(False)
    retrieves = (pl.col("kind") == "retriever").fill_null(False)
    anywhere = pl.lit(True)
    found = {
        **{
            name: picked(name)
            for name in (*CANONICAL, *kept, BROKEN, QUESTION, PARENT, OF_FILE)
            if name not in ("tool_calls", "contexts", *trace)
        },
        "item_id": pl.coalesce(picked("item_id"), latest("item_id", anywhere)),
        QUESTION: pl.coalesce(latest(QUESTION, is_root), picked(QUESTION), latest(QUESTION, anywhere)),
        "input": pl.coalesce(latest("input", is_root), picked("input"), latest("input", anywhere)),
        "session_id": pl.coalesce(picked("session_id"), latest("session_id", anywhere)),
        "version": pl.coalesce(picked("version"), latest("version", anywhere)),
        "expected": pl.coalesce(picked("expected"), latest("expected", anywhere)),
        "model": pl.coalesce(picked("model"), latest("model", calls), latest("model", anywhere)),
        "latency_ms": pl.coalesce(picked("latency_ms"), latest("latency_ms", calls)),
        "finish_reason": pl.coalesce(latest("finish_reason", calls), picked("finish_reason")),
        **{name: _total(name, calls, picked(name)) for name in ("input_tokens", "output_tokens", "cost")},
        SCORES: pl.coalesce(picked(SCORES), latest(SCORES, anywhere)),
        CALLS: _joined(in_time(CALLS, calls), picked(CALLS)),
        CONTEXTS: _joined(
            in_time(CONTEXTS, retrieves),
            _joined(in_time(CONTEXTS, ~calls & ~is_root), picked(CONTEXTS)),
        ),
    }
    return (
        # Sorted once, for all: within a group the order stays.
        spans.sort("ts", "@row", nulls_last=True)
        .with_columns(pl.col(_PICK).rank("ordinal").alias(_ORDER))
        .group_by(trace)
        .agg(**found, **{_PICK: pl.col(_PICK).max(), "@row": pl.col("@row").min(), _EVALUATES: evaluates})
        .filter(pl.col(_PICK) >= 2**58, ~pl.col(_EVALUATES))
        .sort("@row")
        .drop(_TRACE, _PICK, _EVALUATES, "@row")
    )


def _total(name: str, calls: pl.Expr, own: pl.Expr) -> pl.Expr:
    """Sum over the model calls where they say it, else take the answer's own."""
    counted = pl.col(name).filter(calls & pl.col(name).is_not_null())
    return pl.when(counted.len() > 0).then(counted.sum()).otherwise(own)


def _joined(lists: pl.Expr, own: pl.Expr) -> pl.Expr:
    """Join the lists of several spans, which are JSON texts."""
    inner = lists.str.strip_prefix("[").str.strip_suffix("]")
    return pl.when(inner.len() > 0).then(format_text("[{}]", inner.str.join(","))).otherwise(own)
