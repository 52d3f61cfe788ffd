"""From the fields of a source to the canonical columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_evals.traces.fields import FILE, LINE, TIME, Field, Fields, as_text, as_time
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
_NEVER_UNSET = ("trace_id", "ts")


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
    exprs = {name: _column(name, fields, source, columns, group) for name in CANONICAL}
    values = {
        name: pl.lit(None, dtype) if (expr := exprs[name]) is None else expr
        for name, dtype in CANONICAL.items()
    }
    kept = {kept_name(name): _kept(name, fields) for name in keep}
    invalid = _invalid(fields, source)
    frame = group.scan(storage_options).with_columns(**values, **kept, **{INVALID: invalid})
    if source.chat and "output" not in columns and exprs["output"] is not None:
        frame = with_chat_text(frame, "output")
    if rows == "outputs":
        has_output = pl.col("output").is_not_null()
        frame = frame.filter(has_output if invalid.meta.is_literal() else has_output | pl.col(INVALID))
    if "item_id" not in columns and exprs["input"] is not None:
        hashed = stable_hash(pl.col("input"))
        frame = frame.with_columns(
            item_id=hashed if exprs["item_id"] is None else pl.coalesce("item_id", hashed)
        )
    return frame.select(*values, *kept, *([INVALID] if flag_invalid else []))


def _column(
    name: str, fields: Fields, source: Source, columns: Mapping[str, str | pl.Expr], group: FileGroup
) -> pl.Expr | None:
    """Build one canonical column; None where these files do not hold it."""
    if name in columns:
        return _mapped(name, columns[name], fields, group)
    found = [
        expr
        for candidate in source.columns[name]
        if (expr := _candidate(name, candidate, fields, source, group)) is not None
    ]
    if source.unset and name not in _NEVER_UNSET:
        found = [pl.when(~expr.is_in(source.unset)).then(expr) for expr in found]
    if not found:
        return None
    return found[0] if len(found) == 1 else pl.coalesce(found)


def _candidate(
    name: str, candidate: Candidate, fields: Fields, source: Source, group: FileGroup
) -> pl.Expr | None:
    if not isinstance(candidate, str):
        return candidate(fields)
    # The root path leaves nothing of broken JSON, and writes sound JSON in one way.
    field = fields.find(f"{candidate} -> $" if candidate in source.json else candidate)
    return None if field is None else _typed(name, candidate, field, group)


def _mapped(name: str, mapped: str | pl.Expr, fields: Fields, group: FileGroup) -> pl.Expr | None:
    """Build a column from what the user mapped it to, which is taken as it is."""
    if isinstance(mapped, pl.Expr):
        return mapped.cast(CANONICAL[name])
    field = fields.find(mapped)
    return None if field is None else _typed(name, mapped, field, group)


def _typed(name: str, origin: str, field: Field, group: FileGroup) -> pl.Expr:
    if name != "ts":
        return as_text(field)
    time = as_time(field)
    if time is None:
        raise pl.exceptions.SchemaError(
            f"column {origin!r} in {group.files[0]!r} has type {field.dtype}, which is not a time; "
            'map another one with columns={"ts": ...}'
        )
    return time


def _kept(name: str, fields: Fields) -> pl.Expr:
    if name == LINE and fields.lines:
        return pl.col(LINE)
    field = fields.find(name)
    return pl.lit(None, pl.String) if field is None else field.expr


def _invalid(fields: Fields, source: Source) -> pl.Expr:
    """Say of each row whether a column that must hold JSON holds something else."""
    if fields.lines:
        is_object = pl.col(LINE).str.starts_with("{") & pl.col(LINE).str.json_path_match("$").is_not_null()
        broken = [~is_object]
    else:
        broken = []
    for name in source.json:
        field = fields.find(name) if fields.knows(name) else None
        if field is not None and isinstance(field.dtype, pl.String):
            text = field.expr.str.strip_chars()
            broken.append(~text.is_in(["", "null"]) & text.str.json_path_match("$").is_null())
    return pl.any_horizontal(broken).fill_null(False) if broken else pl.lit(False)


__all__ = ["CANONICAL", "FILE", "INVALID", "canonical_frame", "kept_name"]
