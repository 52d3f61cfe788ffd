"""From the fields of a source to the canonical columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_evals.traces.fields import LINE, TIME, Fields, as_time, with_text_as_time
from polars_evals.traces.text import stable_hash, with_chat_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.traces.files import FileGroup
    from polars_evals.traces.sources import Candidate, Source

CANONICAL: Mapping[str, pl.DataType] = {
    "item_id": pl.String(),
    "trace_id": pl.String(),
    "session_id": pl.String(),
    "ts": TIME,
    "model": pl.String(),
    "version": pl.String(),
    "input": pl.String(),
    "output": pl.String(),
    "expected": pl.String(),
}

# Whether a row's JSON is broken; only there while the frame is built.
INVALID = "__invalid_json"

# Always set by the platforms, and taken as they are, so that a filter on them reaches the scan.
_NEVER_UNSET = ("trace_id",)

# Times that are text, until they are read.
_TIME_TEXT = "__time_text"


def kept_name(column: str) -> str:
    """Name a kept source column; one that has a canonical name is set apart."""
    return f"source_{column}" if column in CANONICAL else column


def canonical_frame(
    group: FileGroup,
    source: Source,
    *,
    columns: Mapping[str, str | pl.Expr],
    keep: Sequence[str],
    rows: Literal["outputs", "all"],
    storage_options: dict[str, Any] | None = None,
    flag_invalid: bool = False,
) -> pl.LazyFrame:
    """Scan a group of files to the canonical columns and the kept ones."""
    fields = group.fields
    exprs = {name: _column(name, fields, source, columns) for name in CANONICAL if name != "ts"}
    times, written_times = _times(fields, source, columns, group)
    exprs["ts"] = _first(times)
    values = {
        name: pl.lit(None, dtype) if (expr := exprs[name]) is None else expr
        for name, dtype in CANONICAL.items()
    }
    kept = {kept_name(name): _kept(name, fields) for name in keep}
    json_columns = _json_columns(fields, source)
    named = {
        root for expr in columns.values() if isinstance(expr, pl.Expr) for root in expr.meta.root_names()
    }
    frame = group.scan([*fields.used, *(named - fields.used.keys())], storage_options)
    frame = frame.with_columns(
        **values, **kept, **{_TIME_TEXT: _first(written_times)} if written_times else {}
    )
    if written_times:
        frame = with_text_as_time(frame, _TIME_TEXT)
        frame = frame.with_columns(ts=pl.coalesce("ts", _TIME_TEXT) if times else pl.col(_TIME_TEXT))
    if source.chat and "output" not in columns and exprs["output"] is not None:
        frame = with_chat_text(frame, "output")
    has_output = pl.col("output").is_not_null()
    if flag_invalid:
        frame = frame.with_columns(_invalid(json_columns, fields.lines).alias(INVALID))
    elif rows == "outputs":
        # Only where there is no output need the JSON be checked.
        invalid = _invalid(json_columns, fields.lines, where=~has_output)
        frame = frame.filter(has_output | invalid if json_columns or fields.lines else has_output)
    if "item_id" not in columns and exprs["input"] is not None:
        hashed = stable_hash(pl.col("input"))
        frame = frame.with_columns(
            item_id=hashed if exprs["item_id"] is None else pl.coalesce("item_id", hashed)
        )
    return frame.select(*values, *kept, *([INVALID] if flag_invalid else []))


def _column(
    name: str, fields: Fields, source: Source, columns: Mapping[str, str | pl.Expr]
) -> pl.Expr | None:
    """Build one canonical column of text; None where these files do not hold it."""
    if name in columns:
        mapped = columns[name]
        return mapped.cast(pl.String) if isinstance(mapped, pl.Expr) else fields.text(mapped)
    tried = [_candidate(candidate, fields, source) for candidate in source.columns[name]]
    found = [expr for expr in tried if expr is not None]
    if source.unset and name not in _NEVER_UNSET:
        found = [expr.replace(list(source.unset), None) for expr in found]
    return _first(found)


def _first(found: Sequence[pl.Expr]) -> pl.Expr | None:
    """Take the first that is not null; one alone stays bare, so that filters pass through it to the scan."""
    return pl.coalesce(found) if len(found) > 1 else found[0] if found else None


def _candidate(candidate: Candidate, fields: Fields, source: Source) -> pl.Expr | None:
    if not isinstance(candidate, str):
        return candidate(fields)
    # The root path leaves nothing of broken JSON, and writes sound JSON in one way.
    return fields.text(f"{candidate} -> $" if candidate in source.json else candidate)


def _times(
    fields: Fields, source: Source, columns: Mapping[str, str | pl.Expr], group: FileGroup
) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Find the times, and the texts that have yet to be read as times."""
    candidates = (columns["ts"],) if "ts" in columns else source.columns["ts"]
    times, texts = [], []
    for candidate in candidates:
        if not isinstance(candidate, str):
            time = candidate.cast(TIME) if isinstance(candidate, pl.Expr) else candidate(fields)
        elif (field := fields.find(candidate)) is None:
            continue
        elif isinstance(field.dtype, pl.String):
            texts.append(field.expr)
            continue
        elif (time := as_time(field)) is None:
            raise pl.exceptions.SchemaError(
                f"column {candidate!r} in {group.files[0]!r} has type {field.dtype}, which is not a time; "
                'map another one with columns={"ts": ...}'
            )
        if time is not None:
            times.append(time)
    return times, texts


def _kept(name: str, fields: Fields) -> pl.Expr:
    field = fields.find(name)
    return pl.lit(None) if field is None else field.expr


def _json_columns(fields: Fields, source: Source) -> list[pl.Expr]:
    """Find the texts that must be valid JSON."""
    found = [fields.find(name) for name in source.json if fields.knows(name)]
    return [field.expr for field in found if field is not None and isinstance(field.dtype, pl.String)]


def _invalid(texts: Sequence[pl.Expr], lines: bool, *, where: pl.Expr | None = None) -> pl.Expr:
    """Say of each row whether its line, or a text that must be valid JSON, is broken."""
    broken = [pl.lit(False)]
    if lines:
        line = _only(pl.col(LINE), where)
        broken.append(
            ~line.str.starts_with("{") | line.is_not_null() & line.str.json_path_match("$").is_null()
        )
    for text in texts:
        held = _only(text, where)
        broken.append(~held.str.strip_chars().is_in(["", "null"]) & held.str.json_path_match("$").is_null())
    return pl.any_horizontal(broken).fill_null(False)


def _only(text: pl.Expr, where: pl.Expr | None) -> pl.Expr:
    return text if where is None else pl.when(where).then(text)
