"""From the fields of a source to the canonical columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_evals._polars import format_text
from polars_evals.traces.fields import (
    FILE,
    HELPERS,
    NUMBER,
    READINGS,
    TIME,
    Candidate,
    Field,
    as_text,
    as_time,
    candidates,
    with_text_as_time,
)
from polars_evals.traces.platforms.base import Platform
from polars_evals.traces.streams import Stream
from polars_evals.traces.tables import BROKEN, Table, numbered, read_text

CANONICAL: Mapping[str, pl.DataType] = {
    "item_id": pl.String(),
    "trace_id": pl.String(),
    "span_id": pl.String(),
    "session_id": pl.String(),
    "ts": TIME,
    "model": pl.String(),
    "version": pl.String(),
    "input": pl.String(),
    "output": pl.String(),
    "expected": pl.String(),
    "kind": pl.String(),
    "error": pl.String(),
    "finish_reason": pl.String(),
    "latency_ms": pl.Float64(),
    "input_tokens": pl.Int64(),
    "output_tokens": pl.Int64(),
    "cost": pl.Float64(),
    "tool_calls": pl.List(pl.Struct({"name": pl.String(), "arguments": pl.String()})),
    "contexts": pl.List(pl.String()),
}

# What the platforms call the kinds of a span.
_KINDS: Mapping[str, tuple[str, ...]] = {
    "llm": (
        *(
            "llm",
            "generation",
            "chat_model",
            "chat",
            "text_completion",
            "completion",
            "generate_content",
            "model",
        ),
        *("ai.generatetext.dogenerate", "ai.streamtext.dostream", "ai.generateobject.dogenerate", "response"),
    ),
    "tool": ("tool", "execute_tool", "ai.toolcall"),
    "agent": ("agent", "invoke_agent", "create_agent"),
    "retriever": ("retriever", "reranker", "retrieval"),
    "embedding": ("embedding", "embeddings"),
    "chain": (
        *(
            "chain",
            "span",
            "workflow",
            "task",
            "parser",
            "prompt",
            "unknown",
            "event",
            "evaluator",
            "guardrail",
            "eval",
        ),
        *("score", "function", "ai.generatetext", "ai.streamtext", "ai.generateobject"),
    ),
}
_ERRORS = ("error", "failed", "status_code_error", "2", "traceststatus.error", "exception")

# Fields that are texts until an answer has been chosen, for lists of several spans are joined as texts.
CALLS, CONTEXTS, SCORES, PARENT = "@tool_calls", "@contexts", "@scores", "@parent_id"
OF_FILE = "@file"
# The question's hash, which is the item where there is no other.
QUESTION = "@question"


def kept_name(column: str) -> str:
    """Name a kept source column; one that has a canonical name is set apart."""
    return f"source_{column}" if column in CANONICAL else column


def spans_frame(
    group: Table | Stream,
    platform: Platform,
    *,
    columns: Mapping[str, str | pl.Expr],
    keep: Sequence[str],
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Scan files to a row per record: the canonical columns, what the choice of answers needs, the kept."""
    fields = {
        name: _field(name, group, platform, columns)
        for name in (*CANONICAL, *HELPERS)
        if name not in ("ts", "end")
    }
    texts = {name: None if found is None else as_text(found) for name, found in fields.items()}
    times = {name: _times(name, group, platform, columns) for name in ("ts", "end")}
    kept = {kept_name(name): _kept(name, group) for name in keep}
    mapped = {
        name for expr in columns.values() if isinstance(expr, pl.Expr) for name in expr.meta.root_names()
    }
    own = {name: group.source_field(name).expr for name in mapped} if isinstance(group, Stream) else {}
    frame = group.scan(storage_options)
    if isinstance(group, Table):
        frame = numbered(frame).with_columns(pl.lit(None, pl.String).alias(BROKEN))
    elif own:
        frame = frame.with_columns(**own)
    written = {f"@{name}": found[1] for name, found in times.items() if found[1] is not None}
    frame = frame.with_columns(
        **{f"@{name}": pl.lit(None, pl.String) if expr is None else expr for name, expr in texts.items()},
        **kept,
        **{f"{name}_text": expr for name, expr in written.items()},
    )
    for name in written:
        frame = with_text_as_time(frame, f"{name}_text")
    instants = {
        name: _first([*found[0], *([pl.col(f"@{name}_text")] if found[1] is not None else [])], TIME)
        for name, found in times.items()
    }
    broken = _broken(group, platform)
    return frame.with_columns(**{"@ts": instants["ts"], "@end": instants["end"]}).select(
        *_typed(broken, has_record=texts["record"] is not None),
        *kept,
        PARENT,
        CALLS,
        CONTEXTS,
        SCORES,
        QUESTION,
        NUMBER,
        broken.alias(BROKEN),
        pl.col(FILE).alias(OF_FILE),
    )


def _typed(broken: pl.Expr, *, has_record: bool) -> list[pl.Expr]:
    """Give each canonical column its type."""
    status = pl.col("@status").str.to_lowercase().str.split(".").list.last()
    failed = pl.when(status.is_in(_ERRORS)).then(pl.coalesce("@status_message", pl.lit("error")))
    kind = pl.col("@kind").str.to_lowercase()
    names = {word: name for name, words in _KINDS.items() for word in words}
    took = (pl.col("@end") - pl.col("@ts")).dt.total_microseconds() / 1000
    place = format_text("line {}: {}", pl.col(NUMBER).fill_null(0), broken)
    typed = {
        "item_id": pl.col("@item_id"),
        "ts": pl.col("@ts"),
        "kind": kind.replace_strict(names, default=kind, return_dtype=pl.String),
        "error": pl.coalesce(pl.when(broken.is_not_null()).then(place), "@error", failed, "@error_type"),
        "latency_ms": pl.coalesce(
            _number("@latency_ms"), _number("@latency_ns") / 1e6, took, _number("@latency_s") * 1000
        ),
        "input_tokens": _number("@input_tokens").cast(pl.Int64),
        "output_tokens": _number("@output_tokens").cast(pl.Int64),
        "cost": _number("@cost"),
    }
    if has_record:
        # An answer without an id is named by its file and by all that it says.
        name = pl.col(FILE).str.extract(r"([^/\\]+)$")
        typed["trace_id"] = pl.coalesce("@trace_id", format_text("{}#{}", name, "@record"))
    plain = {name: pl.col(f"@{name}") for name in CANONICAL if name not in ("tool_calls", "contexts")}
    return [expr.alias(name) for name, expr in (plain | typed).items()]


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def finished(frame: pl.LazyFrame, kept: Sequence[str], *, has_own_item: bool) -> pl.LazyFrame:
    """Read the lists, and settle which item a row belongs to."""
    lists = {name: pl.col(f"@{name}").str.json_decode(CANONICAL[name]) for name in ("tool_calls", "contexts")}
    item = pl.col("item_id") if has_own_item else pl.coalesce("item_id", QUESTION)
    # What took nothing and gave nothing was never counted.
    counts = {
        name: pl.when((pl.col(name) != 0) | pl.col("output").is_not_null()).then(pl.col(name))
        for name in ("input_tokens", "output_tokens", "cost")
    }
    return frame.with_columns(item_id=item, **lists, **counts).select(*CANONICAL, *kept)


def _field(
    name: str, group: Table | Stream, platform: Platform, columns: Mapping[str, str | pl.Expr]
) -> Field | None:
    """Find one field; None where these files do not hold it."""
    named = {"question": "input"}.get(name, name)
    if named in columns:
        mapped, reading = columns[named], "item" if name == "question" else "text"
        if reading == "text" and name in ("tool_calls", "contexts"):
            reading = READINGS[name]
        if isinstance(mapped, pl.Expr):
            text = mapped.cast(pl.String)
            if reading == "text":
                return Field(text, pl.String())
            return Field(
                read_text(pl.struct(value=text).struct.json_encode(), [Candidate("value", reading)]),
                pl.String(),
            )
        return (
            group.source_field(mapped, reading)
            if isinstance(group, Stream)
            else group.field([Candidate(mapped, reading)])
        )
    return group.field(candidates(platform, name))


def _first(found: Sequence[pl.Expr], dtype: pl.DataType) -> pl.Expr:
    """Take the first that is not null; one alone stays bare, so that filters pass through it to the scan."""
    return pl.coalesce(found) if len(found) > 1 else found[0] if found else pl.lit(None, dtype)


def _times(
    name: str, group: Table | Stream, platform: Platform, columns: Mapping[str, str | pl.Expr]
) -> tuple[list[pl.Expr], pl.Expr | None]:
    """Find the times, and the texts that have yet to be read as times."""
    times, texts = list[pl.Expr](), list[pl.Expr]()
    mapped = columns.get(name)
    if isinstance(mapped, pl.Expr):
        return [mapped.cast(TIME)], None
    if isinstance(group, Stream):
        found = group.source_field(mapped) if mapped else group.field(candidates(platform, name))
        return [], None if found is None else found.expr
    for place in [Candidate(mapped, "text")] if mapped else candidates(platform, name):
        field = group.field([place])
        if field is None:
            continue
        held = group.schema.get(place.path)
        field = Field(field.expr, held) if held is not None and held.is_nested() else field
        if isinstance(field.dtype, pl.String):
            texts.append(field.expr)
        elif (time := as_time(field)) is None:
            raise pl.exceptions.SchemaError(
                f"column {place.path!r} in {group.files[0]!r} has type {field.dtype}, which is not a time; "
                'map another one with columns={"ts": ...}'
            )
        else:
            times.append(time)
    return times, _first(texts, pl.String()) if texts else None


def _kept(name: str, group: Table | Stream) -> pl.Expr:
    if isinstance(group, Stream):
        return group.source_field(name).expr
    if name in group.schema or name in group.hive or name == FILE:
        return pl.col(name)
    found = group.field([Candidate(name, "text")])
    return pl.lit(None) if found is None else found.expr


def _broken(group: Table | Stream, platform: Platform) -> pl.Expr:
    """Say what is wrong with a record, or with a cell that must hold JSON; null where nothing is."""
    if isinstance(group, Stream):
        return pl.col(BROKEN)
    texts = [name for name in platform.json if isinstance(group.schema.get(name), pl.String)]
    reasons = []
    for name in texts:
        # Only where there is no answer need the JSON be checked.
        text = pl.when(pl.col("@output").is_null()).then(pl.col(name))
        is_json = read_text(
            pl.struct(value=text).struct.json_encode(), [Candidate("value", "opened")]
        ).is_not_null()
        is_blank = text.str.strip_chars().is_in(["", "null"])
        reasons.append(
            pl.when(text.is_not_null() & ~is_blank & ~is_json).then(pl.lit(f"the JSON in {name} is broken"))
        )
    return pl.coalesce(reasons) if reasons else pl.lit(None, pl.String)
