"""From the fields of a source to rows: canonical columns, one answer a row, a session a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

import polars as pl

from polars_evals._polars import NOTHING_OF_EMPTY, format_text
from polars_evals.traces.platforms.base import EVALUATION, HELPERS, SCORER, Candidate, candidates
from polars_evals.traces.read import BROKEN, FILE, NUMBER, read_value
from polars_evals.traces.source import TIME, Field, Stream, Table, as_text, as_time, text_as_time

Rows: TypeAlias = Literal["traces", "spans", "outputs", "all"]
FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

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
_KINDS: Mapping[str, str] = {
    "llm": "llm generation chat_model chat text_completion completion generate_content model response "
    "ai.generatetext.dogenerate ai.streamtext.dostream ai.generateobject.dogenerate",
    "tool": "tool execute_tool ai.toolcall",
    "agent": "agent invoke_agent create_agent",
    "retriever": "retriever reranker retrieval",
    "embedding": "embedding embeddings",
    "chain": "chain span workflow task parser prompt unknown event evaluator guardrail eval score function "
    "ai.generatetext ai.streamtext ai.generateobject",
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
    group: Table | Stream, *, columns: Mapping[str, str | pl.Expr], keep: Sequence[str]
) -> pl.LazyFrame:
    """Scan files to a row per record: the canonical columns, what the choice of answers needs, the kept."""
    times = ("ts", "end")
    fields = {name: _field(name, group, columns) for name in (*CANONICAL, *HELPERS) if name not in times}
    if isinstance(group, Stream):
        for hashed, other in (("question", "item_id"), ("record", "trace_id")):
            pair = [field.expr for field in (fields[hashed], fields[other]) if field is not None]
            if len(pair) == 2 and all(expr.meta.is_column() for expr in pair):
                group.unless[pair[0].meta.output_name()] = pair[1].meta.output_name()
    made = {name: pl.lit(None, pl.String) if one is None else as_text(one) for name, one in fields.items()}
    made |= {name: _time(name, group, columns) for name in times}
    kept = {kept_name(name): _kept(name, group) for name in keep}
    used = {name for expr in columns.values() if isinstance(expr, pl.Expr) for name in expr.meta.root_names()}
    sources = {name: _kept(name, group) for name in used} if isinstance(group, Stream) else {}
    if isinstance(group, Table):
        # Tables have no line numbers to show.
        sources[NUMBER] = pl.lit(None, pl.Int64)
    frame, broken = group.scan().with_columns(**sources), _broken(group)
    return frame.with_columns(**{f"@{name}": expr for name, expr in made.items()}, **kept).select(
        *_typed(broken, has_record=fields["record"] is not None),
        *kept,
        *(PARENT, CALLS, CONTEXTS, SCORES, QUESTION, NUMBER),
        broken.alias(BROKEN),
        pl.col(FILE).alias(OF_FILE),
    )


def _typed(broken: pl.Expr, *, has_record: bool) -> list[pl.Expr]:
    """Give each canonical column its type."""
    status = pl.col("@status").str.to_lowercase().str.split(".").list.last()
    failed = pl.when(status.is_in(_ERRORS)).then(pl.coalesce("@status_message", pl.lit("error")))
    kind = pl.col("@kind").str.to_lowercase()
    names = {word: name for name, words in _KINDS.items() for word in words.split()}
    took = (pl.col("@end") - pl.col("@ts")).dt.total_microseconds() / 1000
    place = format_text("line {}: {}", pl.col(NUMBER).fill_null(0), broken)
    typed = {name: pl.col(f"@{name}") for name in CANONICAL if name not in ("tool_calls", "contexts")} | {
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
    return [expr.alias(name) for name, expr in typed.items()]


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


# What stands before several references, which are a JSON list of texts.
SEVERAL = "\x1e"


def with_values(frame: FrameT, column: str, key: str, values: Mapping[str, str]) -> FrameT:
    """Fill a column of texts, where it is null, by the values of keys."""
    if not values:
        return frame
    found = pl.col(key).replace_strict(dict(values), default=None, return_dtype=pl.String)
    return frame.with_columns(pl.coalesce(column, found).alias(column))


def finished(frame: pl.LazyFrame, *, several: bool) -> pl.LazyFrame:
    """Read the lists, of which `expected` may be one, and the counts."""
    expected = pl.col("expected")
    plain = expected.str.strip_prefix(SEVERAL)
    if several:
        listed = pl.when(expected.str.starts_with(SEVERAL)).then(plain)
        one = pl.when(expected.is_not_null()).then(pl.concat_list(expected))
        plain = pl.coalesce(listed.str.json_decode(pl.List(pl.String())), one)
    lists = {name: pl.col(f"@{name}").str.json_decode(CANONICAL[name]) for name in ("tool_calls", "contexts")}
    # What took nothing and gave nothing was never counted.
    counts = {
        name: pl.when((pl.col(name) != 0) | pl.col("output").is_not_null()).then(pl.col(name))
        for name in ("input_tokens", "output_tokens", "cost")
    }
    return frame.with_columns(plain.alias("expected"), **lists, **counts)


def _field(name: str, group: Table | Stream, columns: Mapping[str, str | pl.Expr]) -> Field | None:
    """Find one field; None where these files do not hold it."""
    mapped = columns.get("input" if name == "question" else name)
    if mapped is None:
        places = candidates(group.platform, name)
        if name == "item_id" and group.platform.common and isinstance(group, Stream):
            # Tables of chats often have an `id` that is the same everywhere.
            places = [place for place in places if place.path == name or place.path not in group.constant]
        return group.field(places)
    readings = {"question": "item", "expected": "references", "tool_calls": "calls", "contexts": "contexts"}
    reading = readings.get(name, "text")
    if isinstance(mapped, str):
        return group.source_field(mapped, reading)
    text = mapped.cast(pl.String)
    return Field(text if reading in ("text", "references") else read_value(text, reading), pl.String())


def _time(name: str, group: Table | Stream, columns: Mapping[str, str | pl.Expr]) -> pl.Expr:
    """Find a time: the first that is there, with times that are written as texts last."""
    mapped = columns.get(name)
    if isinstance(mapped, pl.Expr):
        return mapped.cast(TIME)
    if isinstance(group, Stream):
        found = group.source_field(mapped) if mapped else group.field(candidates(group.platform, name))
        return pl.lit(None, TIME) if found is None else text_as_time(found.expr)
    times, texts = list[pl.Expr](), list[pl.Expr]()
    for place in [Candidate(mapped, "text")] if mapped else candidates(group.platform, name):
        field = group.field([place])
        if field is None:
            continue
        dtype = group.schema.get(place.path, field.dtype)
        dtype = dtype if dtype.is_nested() else field.dtype
        if isinstance(dtype, pl.String):
            texts.append(field.expr)
        elif (time := as_time(Field(field.expr, dtype))) is not None:
            times.append(time)
        else:
            raise pl.exceptions.SchemaError(
                f"column {place.path!r} in {group.files[0]!r} has type {dtype}, which is not a time; "
                'map another one with columns={"ts": ...}'
            )
    if texts:
        times.append(text_as_time(pl.coalesce(texts)))
    # One alone stays bare, so that filters pass through it to the scan.
    return pl.coalesce(times) if len(times) > 1 else times[0] if times else pl.lit(None, TIME)


def _kept(name: str, group: Table | Stream) -> pl.Expr:
    """Take a source column as it is."""
    if isinstance(group, Table) and (name in group.schema or name in group.hive or name == FILE):
        return pl.col(name)
    found = group.source_field(name)
    return pl.lit(None) if found is None else found.expr


def _broken(group: Table | Stream) -> pl.Expr:
    """Say what is wrong with a record, or with a cell that must hold JSON; null where nothing is."""
    if isinstance(group, Stream):
        return pl.col(BROKEN)
    reasons = []
    for name in group.platform.json:
        if isinstance(group.schema.get(name), pl.String):
            # Only where there is no answer need the JSON be checked.
            text = pl.when(pl.col("@output").is_null()).then(pl.col(name))
            is_blank = text.str.strip_chars().is_in(["", "null"])
            is_broken = text.is_not_null() & ~is_blank & read_value(text, "opened").is_null()
            reasons.append(pl.when(is_broken).then(pl.lit(f"the JSON in {name} is broken")))
    return pl.coalesce(reasons) if reasons else pl.lit(None, pl.String)


_TRACE, _PICK, _ORDER, _EVALUATES = "@trace", "@pick", "@order", "@evaluates"

# Kinds of spans that never are the answer of a trace, even where they stand at its root.
_HELPING = ("tool", "retriever", "embedding")


def is_answer() -> pl.Expr:
    """Whether a span says something: a text, a call of a tool, or that it failed."""
    return pl.col("output").is_not_null() | pl.col(CALLS).is_not_null() | pl.col("error").is_not_null()


def choose_rows(
    frame: pl.LazyFrame,
    group: Table | Stream,
    rows: Rows,
    kept: Sequence[str],
    *,
    may_repeat: bool,
    apart: bool,
) -> pl.LazyFrame:
    """Keep the rows that were asked for, and broken ones; of a span that `may_repeat`, the last."""
    if rows == "all":
        return frame
    if rows == "outputs":
        has_output = pl.col("output").is_not_null()
        may_break = isinstance(group, Stream) or group.platform.json
        return frame.filter(has_output | pl.col(BROKEN).is_not_null() if may_break else has_output)
    if not group.platform.spans:
        return frame
    if group.platform.requests:
        frame = _with_requests(frame)
    file = [OF_FILE] if apart else []
    if rows != "spans":
        return _answer_of_each_trace(frame, kept, [_TRACE, *file], may_repeat=may_repeat)
    if may_repeat:
        frame = _once(frame.with_row_index("@row"), ["trace_id", *file]).drop("@row")
    # Where nothing says what a span is, one that names a model is a call of it.
    is_call = (pl.col("kind") == "llm").fill_null(pl.col("model").is_not_null())
    return frame.filter(is_answer() & is_call | pl.col(BROKEN).is_not_null())


def _once(spans: pl.LazyFrame, trace: Sequence[str]) -> pl.LazyFrame:
    """Keep the last of the spans that have one id in a trace."""
    own = pl.coalesce("span_id", format_text("@{}", "@row"))
    return (
        spans.with_columns(own.alias("@own"))
        .unique([*trace, "@own"], keep="last", maintain_order=True)
        .drop("@own")
    )


def _with_requests(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Give each result what its request says; a request without a result stays.

    Requests have no parent. Results of several models may have the same names, so each is a trace of its own.
    """
    is_request = pl.col(PARENT).is_null()
    results = frame.filter(~is_request)
    requests = frame.filter(is_request).unique("trace_id", keep="last", maintain_order=True)
    lone = requests.join(results, on="trace_id", how="anti", maintain_order="left")
    # Without its request the name of a result has to do, which is the last place for a question.
    said = {name: (f"@asked_{name}", name) for name in ("input", QUESTION)}
    said |= {name: (name, f"@asked_{name}") for name in ("model", "expected")}
    asked = requests.select("trace_id", *(pl.col(name).alias(f"@asked_{name}") for name in said))
    own = pl.coalesce("span_id", format_text("{}/{}", "trace_id", pl.col("model").fill_null("")))
    answered = (
        results.join(asked, on="trace_id", how="left", maintain_order="left")
        .with_columns(pl.coalesce(places).alias(name) for name, places in said.items())
        .with_columns(trace_id=own)
        .drop(f"@asked_{name}" for name in said)
    )
    return pl.concat([answered, lone.select(answered.collect_schema().names())])


def _answer_of_each_trace(
    frame: pl.LazyFrame, kept: Sequence[str], trace: Sequence[str], *, may_repeat: bool
) -> pl.LazyFrame:
    """Make each trace one row: its root where that has an answer, else its last model call."""
    is_root, calls, helps = pl.col(PARENT).is_null(), _is_kind("llm"), _is_kind(*_HELPING)
    # A question that nobody answered is a row too, without an output.
    asks = pl.col("input").is_not_null() & ~helps
    rank = (
        pl.when(_is_kind(SCORER, EVALUATION))
        .then(0)
        .when(~is_answer())
        .then(asks.cast(pl.Int64))
        .when(helps)
        .then(2)
        .when(is_root)
        .then(5)
        .when(calls)
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
    spans = _once(spans, trace) if may_repeat else spans
    best = pl.col(_ORDER).arg_max()

    def picked(name: str) -> pl.Expr:
        return pl.col(name).get(best)

    def latest(name: str, where: pl.Expr) -> pl.Expr:
        return _held(name, where).last()

    anywhere = pl.lit(True)
    found = {
        **{
            name: picked(name)
            for name in (*CANONICAL, *kept, BROKEN, QUESTION, PARENT, OF_FILE)
            if name not in ("tool_calls", "contexts", *trace)
        },
        **{
            name: pl.coalesce(picked(name), latest(name, anywhere))
            for name in ("item_id", "session_id", "version", "expected", SCORES)
        },
        **{
            name: pl.coalesce(latest(name, is_root), picked(name), latest(name, anywhere))
            for name in (QUESTION, "input")
        },
        "model": pl.coalesce(picked("model"), latest("model", calls), latest("model", anywhere)),
        "latency_ms": pl.coalesce(picked("latency_ms"), latest("latency_ms", calls)),
        "finish_reason": pl.coalesce(latest("finish_reason", calls), picked("finish_reason")),
        **{name: _total(name, calls, picked(name)) for name in ("input_tokens", "output_tokens", "cost")},
        CALLS: _joined(_held(CALLS, calls), picked(CALLS)),
        CONTEXTS: _joined(
            _held(CONTEXTS, _is_kind("retriever")),
            _joined(_held(CONTEXTS, ~calls & ~is_root), picked(CONTEXTS)),
        ),
        _PICK: pl.col(_PICK).max(),
        _EVALUATES: _is_kind(EVALUATION).any(),
        "@row": pl.col("@row").min(),
    }
    return (
        # Sorted once, for all: within a group the order stays.
        spans.sort("ts", "@row", nulls_last=True)
        .with_columns(pl.col(_PICK).rank("ordinal").alias(_ORDER))
        .group_by(trace)
        .agg(**found)
        .filter(pl.col(_PICK) >= 2**58, ~pl.col(_EVALUATES))
        .sort("@row")
        .drop(_TRACE, _PICK, _EVALUATES, "@row")
    )


def _is_kind(*kinds: str) -> pl.Expr:
    return pl.col("kind").is_in(kinds).fill_null(False)


def _held(name: str, where: pl.Expr) -> pl.Expr:
    return pl.col(name).filter(where & pl.col(name).is_not_null())


def _total(name: str, calls: pl.Expr, own: pl.Expr) -> pl.Expr:
    """Sum over the model calls where they say it, else take the answer's own."""
    counted = _held(name, calls)
    return pl.when(counted.len() > 0).then(counted.sum()).otherwise(own)


def _joined(lists: pl.Expr, own: pl.Expr) -> pl.Expr:
    """Join the lists of several spans, which are JSON texts."""
    inner = lists.str.strip_prefix("[").str.strip_suffix("]")
    return pl.when(inner.len() > 0).then(format_text("[{}]", inner.str.join(","))).otherwise(own)


_ROW = "__row"
_TURNS = ("input", "output", "expected")
_SUMS = {"latency_ms", "input_tokens", "output_tokens", "cost"}
_LISTS = {"tool_calls", "contexts"}


def conversations(traces: FrameT) -> FrameT:
    """
    Collect the spans of each session in one row, with the turns as lists in order of time.

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
    Spans without a session are grouped by trace. A span without session and trace is a conversation of one
    turn. Spans of the same time keep their order in `traces`.

    `item_id` is that of the turns if they share one, else the BLAKE2b hash of their ids in order. So the
    same questions in the same order pair across versions.

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
    session, trace, items = (pl.col(name) for name in ("session_id", "trace_id", "item_id"))
    keys = [
        session.alias("__session"),
        pl.when(session.is_null()).then(trace).alias("__trace"),
        pl.when(session.is_null() & trace.is_null()).then(pl.col(_ROW)).alias("__alone"),
    ]
    turns = traces.lazy().with_row_index(_ROW).sort("ts", _ROW, nulls_last=True)
    there = turns.collect_schema().keys()
    canonical = [name for name in CANONICAL if name in there]
    first = [name for name in canonical if name not in ("item_id", *_TURNS, *_SUMS, *_LISTS)]
    gathered = turns.group_by(keys).agg(
        pl.when(items.n_unique() == 1).then(items.first()).alias("item_id"),
        items.alias("__items"),
        pl.col(first).first(),
        pl.col(*_TURNS),
        # Nothing at all is not nought.
        *(pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in _SUMS & there),
        # Lists that are null or empty add nothing.
        *(
            pl.col(name).filter(pl.col(name).list.len() > 0).explode(**NOTHING_OF_EMPTY)
            for name in _LISTS & there
        ),
        pl.col(_ROW).min(),
    )
    own = pl.coalesce("item_id", read_value(pl.col("__items").list.join("\n", ignore_nulls=True), "hash"))
    result = gathered.sort(_ROW).with_columns(own.alias("item_id")).select(canonical)
    return result.collect() if isinstance(traces, pl.DataFrame) else result
