"""Compare the versions in the store, follow them over time, and judge the gates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from polars_evals._errors import ConfigError
from polars_evals.drift import Comparison, ComparisonSpec, Timeline, compare_spec, timeline
from polars_evals.drift.columns import as_text, version_text
from polars_evals.jobs.config import DAY, Job, names_of
from polars_evals.jobs.gates import FAILED, GateInput, GateResult, judge_all, unknown_items
from polars_evals.jobs.outcome import Outcome
from polars_evals.jobs.store import Snapshot, State
from polars_evals.storage.secrets import one_line
from polars_evals.wording import counted, listed


def judge(job: Job, snapshot: Snapshot | None, outcome: Outcome) -> Outcome:
    """Compare the versions in the store and judge the gates. No gate passes on an empty store."""
    if snapshot is None or not snapshot.rows:
        reason = ("the store has no rows to judge",)
        return replace(
            outcome, gates=tuple(gate.with_level(GateResult(gate.name, FAILED, reason)) for gate in job.gates)
        )
    scored = snapshot.scan()
    comparison, absent, notes = None, tuple[str, ...](), list(outcome.notes)
    if job.compare is not None:
        comparison, absent = compared(job, scored, notes, snapshot.state)
    line = followed(job, scored, comparison, notes)
    seen = GateInput(
        names_of(job.suite), scored, job.compare, comparison, job.gates, line, job.report.items, absent
    )
    gates = judge_all(seen)
    if unknown := unknown_items(seen):
        notes.append(f"must_not_flip: {counted(len(unknown), 'item')} not in the store: {listed(unknown)}")
    return replace(outcome, comparison=comparison, timeline=line, gates=tuple(gates), notes=tuple(notes))


def compared(
    job: Job, scored: pl.LazyFrame, notes: list[str], state: State
) -> tuple[Comparison | None, tuple[str, ...]]:
    """Compare, unless there is nothing to compare yet; returns also the candidates that ought to be there.

    As long as there is the baseline only, candidates are to come. Where there are other versions, or rows
    were too old to be kept, one that the job names and that has no rows may be written wrong, or gone.
    """
    assert job.compare is not None
    rows_went = state.forgotten is not None
    spec, schema = job.compare, scored.collect_schema()
    absent = tuple[str, ...]()
    try:
        if spec.version in schema:
            spec, scored = chosen(job, spec, scored, state)
        if spec.version in schema:
            present = scored.select(as_text(schema, spec.version).unique()).collect(engine="streaming")
            there = set(present.to_series().drop_nulls())
            others = there - {version_text(schema, spec.version, spec.baseline)}
            missing = [one for one in spec.candidate or () if one not in there]
            if missing:
                notes.append(
                    f"there are no rows yet of {', '.join(missing)}{too_old(job) if rows_went else ''}"
                )
                absent = tuple(missing) if others or rows_went else ()
                others = there.intersection(spec.candidate)
            if not others:
                notes.append(
                    f"there is nothing to compare {spec.baseline} with yet{too_old(job) if rows_went else ''}"
                )
                return None, absent
            if missing:
                spec = replace(spec, candidate=[one for one in spec.candidate if one in there])
        return compare_spec(scored, spec), absent
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        hint = too_old(job) if rows_went else ""
        raise ConfigError(f"[compare]: {one_line(error)}; the scores are in the store{hint}") from None


def chosen(
    job: Job, spec: ComparisonSpec, scored: pl.LazyFrame, state: State
) -> tuple[ComparisonSpec, pl.LazyFrame]:
    """Leave out the versions that the job ignores, and find the newest candidate if that is asked for."""
    schema = scored.collect_schema()
    version = as_text(schema, spec.version)
    if job.ignore:
        scored = scored.filter(version.is_in(list(job.ignore)).not_().fill_null(True))
    if not job.newest:
        return spec, scored
    baseline = version_text(schema, spec.version, spec.baseline)
    timed = isinstance(schema.get("ts"), pl.Date | pl.Datetime)
    first = (
        scored.select(
            "source_file", "source_time", version=version, ts=pl.col("ts") if timed else pl.lit(None)
        )
        .filter(pl.col("version") != baseline)
        .group_by("version", "source_file")
        .agg(pl.col("ts").min(), pl.col("source_time").min())
        .collect(engine="streaming")
    )
    runs = {name: int(about["run"]) for name, about in state.inputs.items()}
    order = first.with_columns(
        run=pl.col("source_file").replace_strict(runs, default=0, return_dtype=pl.Int64)
    )
    latest = order.group_by("version").agg(pl.col("ts", "run", "source_time").min())
    if latest.is_empty():
        return spec, scored
    newest = latest.sort("ts", "run", "source_time", "version", nulls_last=False).item(-1, "version")
    return replace(spec, candidate=[newest]), scored


def too_old(job: Job) -> str:
    """Say that rows were deleted, and which option keeps them."""
    retention = job.retention
    if retention is None:
        return "; old rows were deleted when [store] had a `keep`"
    unless = ", unless keep_baseline = true" if retention.spared is None else ""
    return f'; keep = "{retention.keep}" in [store] deletes old rows{unless}'


def followed(
    job: Job, scored: pl.LazyFrame, comparison: Comparison | None, notes: list[str]
) -> Timeline | None:
    """Follow the scores over time, if a gate or the page asks for that."""
    try:
        if job.timeline is not None:
            return timeline(scored, **job.timeline)
        if job.compare is None or job.report.time is None:
            return None
        # On days on which there is nothing to compare, the page follows the baseline.
        spec = job.compare if comparison is None else comparison.spec
        by = job.compare.by if comparison is None else comparison.spec.slices
        by = None if by == "auto" else by
        return timeline_of(scored, spec, by, time=job.report.time, every=job.report.every or DAY)
    except (ValueError, pl.exceptions.PolarsError) as error:
        section = "the page has no timeline: [report]" if job.timeline is None else "no timeline: [timeline]"
        notes.append(f"{section}: {one_line(error)}")
        return None


def timeline_of(scored: pl.LazyFrame, spec: Any, by: Any, *, time: str, every: str) -> Timeline:
    """Follow the scores of a comparison over time, all versions together, for its page."""
    return timeline(
        scored, time=time, every=every, cluster=spec.cluster, by=by, metrics=spec.metrics,
        measures=spec.measures,
        min_effect=spec.min_effect, alpha=spec.alpha,
    )  # fmt: skip
