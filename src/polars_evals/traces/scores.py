"""The scores that a platform holds, of people and of judges, as columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_evals.expressions.python import elementwise
from polars_evals.traces.detect import look, scores_of
from polars_evals.traces.plan import Group, ScanPlan
from polars_evals.traces.platforms.base import Candidate, Platform, Scores, ScoreTable, read_scores
from polars_evals.traces.read import LINE, read_records, record_frames
from polars_evals.traces.rows import CANONICAL, SCORES, Rows, finished, kept_name


def with_scores(plan: ScanPlan, rows: Rows) -> pl.LazyFrame:
    """Scan with `<name>_score` and `<name>_label` for each score that the files hold."""
    kept = [kept_name(name) for name in plan.keep]
    frames = [(group, _with_tables(plan, group, rows)) for group in plan.groups]
    names = sorted({name for group, frame in frames for name in _names(group, frame)})
    columns = [f"{name}_{part}" for name in names for part in ("score", "label")]
    taken = sorted({*columns} & {*CANONICAL, *kept})
    if taken:
        raise ValueError(f"the platform's scores would overwrite {', '.join(taken)}; leave it out of keep=")
    finish = [
        finished(
            frame.with_columns(_read(group.platform, names).struct.unnest()) if names else frame,
            [*kept, *columns],
            **plan.options,
        )
        for group, frame in frames
    ]
    return finish[0] if len(finish) == 1 else pl.concat(finish, how="vertical_relaxed")


def _with_tables(plan: ScanPlan, group: Group, rows: Rows) -> pl.LazyFrame:
    """Add the scores of tables that stand beside the traces: by span, or else by trace."""
    beside = _tables(plan, group.platform)
    frame = plan.rows(group, rows, scores=beside.get("span_id"))
    by_trace = beside.get("trace_id")
    if not by_trace:
        return frame
    found = pl.col("trace_id").replace_strict(by_trace, default=None, return_dtype=pl.String)
    return frame.with_columns(pl.coalesce(SCORES, found).alias(SCORES))


def _tables(plan: ScanPlan, platform: Platform) -> dict[str, dict[str, str]]:
    """Read the tables of scores: for spans and for traces, the scores of each as JSON."""
    if platform.score_table is None:
        return {}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for file in plan.detection.left_out:
        seen = look(file, plan.storage_options)
        if scores_of(seen) is not platform:
            continue
        for frame in record_frames(file, seen.kind, (("data",),), None, storage_options=plan.storage_options):
            for row in _entries(platform.score_table, frame).iter_rows(named=True):
                key = "span_id" if row["span_id"] else "trace_id"
                if row[key] and row["name"]:
                    held = found.setdefault(key, {}).setdefault(row[key], {})
                    held[row["name"]] = {"score": _number(row["value"]), "label": row["label"]}
    return {
        key: {owner: json.dumps(held) for owner, held in entries.items()} for key, entries in found.items()
    }


def _entries(table: ScoreTable, frame: pl.DataFrame) -> pl.DataFrame:
    names = ("trace_id", "span_id", "name", "value", "label")
    places = {name: [Candidate(path, "word") for path in table.places.get(name, ())] for name in names}
    return read_records(frame.get_column(LINE), places)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float({"true": "1", "false": "0"}.get(text, text))
    except ValueError:
        return None


def _names(group: Group, frame: pl.LazyFrame) -> set[str]:
    """Look up the names of the scores."""
    held = frame.select(pl.col(SCORES).unique()).collect(engine="streaming").to_series()
    return {name for text in held.drop_nulls() for name in _parsed(group.platform, text)}


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
