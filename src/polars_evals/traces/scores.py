"""The scores that a platform holds, of people and of judges, as columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_evals.expressions.python import elementwise
from polars_evals.traces.detect import look, score_table_of
from polars_evals.traces.platforms.base import Platform, Scores, as_number, candidates, read_scores
from polars_evals.traces.query import TraceQuery
from polars_evals.traces.read import LINE, read_records, record_frames
from polars_evals.traces.rows import CANONICAL, SCORES, Rows, with_values
from polars_evals.traces.source import Stream, Table


def with_scores(query: TraceQuery, rows: Rows) -> pl.LazyFrame:
    """Scan with `<name>_score` and `<name>_label` for each score that the files hold."""
    frames = [(group.platform, _with_tables(query, group, rows)) for group in query.groups]
    names = sorted({name for platform, frame in frames for name in _names(platform, frame)})
    columns = [f"{name}_{part}" for name in names for part in ("score", "label")]
    taken = sorted({*columns} & {*CANONICAL, *query.kept})
    if taken:
        raise ValueError(f"the platform's scores would overwrite {', '.join(taken)}; leave it out of keep=")
    scored = [
        frame.with_columns(_read(platform, names).struct.unnest()) if names else frame
        for platform, frame in frames
    ]
    return query.finish(scored, [*query.kept, *columns])


def _with_tables(query: TraceQuery, group: Table | Stream, rows: Rows) -> pl.LazyFrame:
    """Add the scores of tables that stand beside the traces: by span, or else by trace."""
    spans, traces = _tables(query, group.platform)
    return with_values(query.rows(group, rows, scores=spans), SCORES, "trace_id", traces)


def _tables(query: TraceQuery, platform: Platform) -> tuple[dict[str, str], dict[str, str]]:
    """Read the tables of scores: for spans and for traces, the scores of each as JSON."""
    found = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    places = {
        field: candidates(platform, f"score.{field}")
        for field in ("trace_id", "span_id", "name", "value", "label")
    }
    for name in query.detection.left_out if platform.score_marks else ():
        file = look(name, query.storage_options)
        if score_table_of(file) is not platform:
            continue
        for frame in record_frames(file, (("data",),), storage_options=query.storage_options):
            for row in read_records(frame.get_column(LINE), places).iter_rows(named=True):
                owner = row["span_id"] or row["trace_id"]
                if owner and row["name"]:
                    held = found[not row["span_id"]].setdefault(owner, {})
                    held[row["name"]] = {
                        "score": as_number({"true": 1, "false": 0}.get(row["value"], row["value"])),
                        "label": row["label"],
                    }
    spans, traces = ({owner: json.dumps(held) for owner, held in one.items()} for one in found)
    return spans, traces


def _names(platform: Platform, frame: pl.LazyFrame) -> set[str]:
    """Look up the names of the scores."""
    held = frame.select(pl.col(SCORES).unique()).collect(engine="streaming").to_series()
    return {name for text in held.drop_nulls() for name in _parsed(platform, text)}


def _parsed(platform: Platform, text: str) -> Scores:
    held: Any = text
    for _ in range(2):  # Tables hold JSON as text.
        try:
            held = json.loads(held) if isinstance(held, str) else held
        except ValueError:
            return {}
    return read_scores(held, platform.grades)


def _read(platform: Platform, names: Sequence[str]) -> pl.Expr:
    parts = (("score", pl.Float64()), ("label", pl.String()))
    dtype = pl.Struct({f"{name}_{part}": kind for name in names for part, kind in parts})

    def read(batch: Sequence[pl.Series]) -> pl.Series:
        rows = []
        for text in batch[0]:
            found = {} if text is None else _parsed(platform, text)
            both = [found.get(name, (None, None)) for name in names]
            rows.append(dict(zip([field.name for field in dtype.fields], sum(both, ()), strict=True)))
        return pl.Series(rows, dtype=dtype)

    return elementwise("scan_traces", {"scores": pl.col(SCORES)}, read, dtype)
