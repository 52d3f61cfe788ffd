"""Run a scheduled job: score new files, store each row once, compare, check gates, write reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from polars_evals._errors import ConfigError, InputError, StoreError, is_failure
from polars_evals.drift import Comparison, ComparisonSpec, Timeline, compare_spec, timeline
from polars_evals.drift.columns import as_text, version_text
from polars_evals.jobs.config import DAY, Job, names_of
from polars_evals.jobs.gates import FAILED, GateInput, GateResult, judge_all, unknown_items
from polars_evals.jobs.history import remember, remember_refusal
from polars_evals.jobs.ingest import Ingest, Source, relative
from polars_evals.jobs.outcome import Outcome, write_reports
from polars_evals.jobs.retention import PART, expire, outdated, without
from polars_evals.jobs.schema import SOURCE, conform, merge_schemas
from polars_evals.jobs.store import (
    SMALL_BYTES,
    SMALL_FILES,
    Part,
    Snapshot,
    State,
    Store,
    scan_parts,
    write_parts,
)
from polars_evals.storage.objects import is_remote, open_folder
from polars_evals.storage.secrets import one_line
from polars_evals.wording import counted, listed


@dataclass
class Watch:
    """Callbacks that report the progress of a run. By default, they do nothing."""

    say: Callable[[str], None] = lambda _: None
    start: Callable[[int], None] = lambda _: None
    advance: Callable[[int], None] = lambda _: None


def run(job: Job | str | Path, *, rescore: bool = False, watch: Watch | None = None) -> Outcome:
    """
    Run a job: score new files, add each row to the store once, compare, check gates and write reports.

    Parameters
    ----------
    job
        A job, or the path of its file.
    rescore
        Score all rows of the store again if the suite has changed; without it, a changed suite is an error.
    watch
        Callbacks that are told the progress of the run.

    Returns
    -------
    Outcome
        The added rows, the skipped files with reasons, the gates and the comparison.

    Raises
    ------
    ConfigError, InputError, StoreError
        If the run cannot continue. The store is then unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("job.toml").write_text(
    ...     '''
    ... [input]
    ... path = "data/traces.parquet"
    ... [suite]
    ... metric = [{ type = "exact_match" }]
    ... [store]
    ... path = "scores"
    ... '''
    ... )
    >>> from polars_evals.jobs import run, scan_store
    >>> outcome = run("job.toml")
    >>> outcome.added, outcome.exit_code()
    (2160, 0)
    >>> run("job.toml").added
    0
    >>> scan_store("scores").select(pl.len()).collect().item()
    2160
    """
    if not isinstance(job, Job):
        job = Job.load(job)
    try:
        return _run_loaded(job, rescore=rescore, watch=watch or Watch())
    except BaseException as error:
        if is_failure(error):
            remember_refusal(job, error)
        raise


def _run_loaded(job: Job, *, rescore: bool, watch: Watch) -> Outcome:
    store = Store(open_folder(job.store.path, job.store.storage_options))
    try:
        with store.locked(lambda: watch.say(f"another run holds {store.address}; waiting for it")):
            outcome, snapshot = _update(job, store, rescore=rescore, watch=watch)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"the store {store.address!r} cannot be written: {one_line(error)}; nothing was added"
        ) from error
    # Where no input could be taken at all, there is nothing to say of gates.
    if snapshot is not None or not outcome.failures:
        outcome = judge(job, snapshot, outcome)
    if snapshot is not None:
        outcome = remember(job, store.folder, outcome)
    return write_reports(outcome, job.report)


def _update(job: Job, store: Store, *, rescore: bool, watch: Watch) -> tuple[Outcome, Snapshot | None]:
    """Score new files and commit them in one transaction."""
    before = store.read()
    signatures = job.suite.signature
    changed = before is not None and before.state.signatures != signatures
    _check_fit(job, before, changed=changed and not rescore)
    sources, beside, failures, notes = _find_new(job, before)
    watch.start(len(sources))
    with store.folder.staging() as folder:
        live, schema = (before.parts, dict(before.schema)) if before else ((), {})
        ingest = Ingest(
            job.input,
            job.suite,
            job.store.key,
            job.store.newest,
            folder,
            watch.advance,
            store.check_schema,
        )
        if before is not None and changed:
            watch.say(f"scoring {counted(before.rows, 'row')} again")
            live, schema = _score_again(before, ingest)
        elif before is not None:
            ingest.score_columns |= set(before.state.score_columns)
        ingest.schema = _without_columns(schema, SOURCE)
        ingest.take(sources)
        for source, reason in beside:
            ingest.leave_out(source, reason)
        if any(ingest.schema[name] != dtype for name, dtype in _without_columns(schema, SOURCE).items()):
            # Whole numbers are now followed by others.
            live = _rewrite(live, {**ingest.schema, **SOURCE}, scan_parts(live, schema), ingest)
        schema = {**ingest.schema, **SOURCE} if ingest.parts or schema else {}
        lost = outdated(
            live,
            ingest.parts,
            schema,
            key=job.store.key,
            newest=job.store.newest,
            version=None if job.compare is None else job.compare.version,
        )
        current, updated = _without_outdated(
            live, ingest.parts, lost, schema=schema, folder=folder, metadata=job.suite.metadata
        )
        expiry = expire(job.retention, before, current, schema, list(ingest.rows))
        remaining = [
            one for part in current for one in expiry.remains(part, schema, folder, job.suite.metadata)
        ]
        after = _merge_small(remaining, schema, folder, job.suite.metadata) if ingest.parts else remaining
        outcome = Outcome(
            store=store.address,
            rows=_count_rows(after),
            added=max(0, _count_rows(current) - _count_rows(live) - expiry.fresh),
            updated=updated,
            replaced=lost.filter(pl.col(PART).is_in([part.path for part in ingest.parts])).height,
            files=ingest.rows,
            failures={**failures, **ingest.failures},
            rescored=changed,
            notes=(*notes, *ingest.notes(), *expiry.notes),
            left_out=ingest.left_out,
            broken=ingest.broken,
        )
        if not (ingest.rows or changed or expiry.counts) or not (after or before or expiry.counts):
            return outcome, before
        kept = {part.path for part in after}
        old = before.parts if before else ()
        store.commit(
            before,
            replace(_next_state(job, before, signatures, ingest), forgotten=expiry.forgotten),
            schema,
            [part for part in after if part not in old],
            [part for part in old if part.path not in kept],
        )
    return outcome, store.read()


def _check_fit(job: Job, before: Snapshot | None, *, changed: bool) -> None:
    """Refuse a job that would mix what the store keeps apart."""
    if before is None:
        return
    state, config = before.state, job.store
    for name, stored, wanted in (("key", state.key, config.key), ("newest", state.newest, config.newest)):
        if stored != wanted:
            raise ConfigError(
                f"the store {config.path!r} was made with {name} = {stored!r}, the job says {wanted!r}; "
                "put it back, or name another store"
            )
    if changed:
        new = job.suite.signature
        differing = "".join(
            f"\n  {name}: {state.signatures.get(name, 'not in the store')}\n  now: {new.get(name, 'gone')}"
            for name in dict.fromkeys([*state.signatures, *new])
            if state.signatures.get(name) != new.get(name)
        )
        raise ConfigError(
            f"the suite is not the one that made the scores in {config.path!r}: run with --rescore to score "
            f"all stored rows again, put the suite back, or name another store{differing}"
        )


def _find_new(
    job: Job, before: Snapshot | None
) -> tuple[list[Source], list[tuple[Source, str]], dict[str, str], list[str]]:
    """List the inputs that are new or have changed, those that are no traces, and what cannot be listed."""
    listed = job.input.find(outside=job.store.path)
    _refuse_reports(job, listed.files)
    failures, notes = dict(listed.unreadable), list[str]()
    if not listed.files:
        reasons = "; ".join(failures.values())
        if before is None:
            raise InputError(reasons)
        if job.input.allow_empty:
            failures, notes = {}, [f"no input: {reasons}"]
    known = before.state.inputs if before else {}
    found, beside = list[Source](), list[tuple[Source, str]]()
    for file in (*listed.files, *listed.left_out):
        try:
            entry = listed.entries.get(file)
            source = Source.of(file, job.folder) if entry is None else Source(file, file, entry)
        except OSError as error:
            failures[relative(file, job.folder)] = one_line(error)
            continue
        if any(known.get(source.name, {}).get(mark) != value for mark, value in source.mark.items()):
            if file in listed.left_out:
                beside.append((source, listed.left_out[file]))
            else:
                found.append(source)
    return found, beside, failures, notes


def _refuse_reports(job: Job, files: Sequence[str]) -> None:
    """Raise if a report would replace an input, or be read as one by the next run."""
    names = {os.path.basename(file) for file in job.report.files.values()}
    reports = {_place_of(file): kind for kind, file in job.report.files.items()}
    for file in files:
        if os.path.basename(file) in names and (kind := reports.get(_place_of(file))):
            raise ConfigError(f"[report]: `{kind}` is also an input: {file!r}; name another file")


def _place_of(file: str) -> str:
    return file if is_remote(file) else os.path.realpath(file)


def _score_again(before: Snapshot, ingest: Ingest) -> tuple[tuple[Part, ...], dict[str, pl.DataType]]:
    frame = before.scan().drop(before.state.score_columns, strict=False)
    try:
        scored = ingest.suite.score(frame)
        schema = merge_schemas({}, scored.collect_schema())
    except pl.exceptions.PolarsError as error:
        raise ConfigError(f"the stored rows cannot be scored with this suite: {one_line(error)}") from None
    given = frame.collect_schema()
    ingest.score_columns |= {name for name in schema if name not in given}
    schema = {**_without_columns(schema, SOURCE), **SOURCE}
    return _rewrite(before.parts, schema, scored, ingest), schema


def _rewrite(
    parts: Sequence[Part], schema: dict[str, pl.DataType], frame: pl.LazyFrame, ingest: Ingest
) -> tuple[Part, ...]:
    written = write_parts(
        conform(frame, schema),
        ingest.folder / uuid4().hex,
        ingest.suite.metadata,
        read=parts,
    )
    return tuple(part for part in written if part.rows)


def _without_outdated(
    live: Sequence[Part],
    staged: Sequence[Part],
    lost: pl.DataFrame,
    *,
    schema: dict[str, pl.DataType],
    folder: Path,
    metadata: dict[str, str],
) -> tuple[list[Part], int]:
    """Write the data files without outdated rows, and count those of them that were there before."""
    after, updated = list[Part](), 0
    by_part = {str(path): rows for (path,), rows in lost.partition_by(PART, as_dict=True).items()}
    for part in (*live, *staged):
        rows = by_part.get(part.path)
        after += [part] if rows is None else without(part, schema, folder, metadata, rows=rows)
        updated += 0 if rows is None or part not in live else rows.height
    return after, updated


def _merge_small(
    parts: list[Part], schema: dict[str, pl.DataType], folder: Path, metadata: dict[str, str]
) -> list[Part]:
    small = [part for part in parts if part.size < SMALL_BYTES]
    if len(small) < SMALL_FILES:
        return parts
    joined = write_parts(scan_parts(small, schema), folder / uuid4().hex, metadata, read=small)
    return [part for part in parts if part not in small] + joined


def _next_state(job: Job, before: Snapshot | None, signatures: dict[str, str], ingest: Ingest) -> State:
    inputs = dict(before.state.inputs) if before else {}
    number = before.state.runs + 1 if before else 1
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for name, rows in ingest.rows.items():
        inputs[name] = {**ingest.marks[name], "rows": rows, "run": number, "taken": now}
    columns = tuple(sorted(ingest.score_columns))
    return State(job.store.key, job.store.newest, signatures, columns, inputs, number)


def _count_rows(parts: Sequence[Part]) -> int:
    return sum(part.rows for part in parts)


def _without_columns(schema: dict[str, pl.DataType], names: dict[str, pl.DataType]) -> dict[str, pl.DataType]:
    return {name: dtype for name, dtype in schema.items() if name not in names}


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
        comparison, absent = _compare(job, scored, notes, snapshot.state)
    line = _follow(job, scored, comparison, notes)
    seen = GateInput(
        names_of(job.suite), scored, job.compare, comparison, job.gates, line, job.report.items, absent
    )
    gates = judge_all(seen)
    if unknown := unknown_items(seen):
        notes.append(f"must_not_flip: {counted(len(unknown), 'item')} not in the store: {listed(unknown)}")
    return replace(outcome, comparison=comparison, timeline=line, gates=tuple(gates), notes=tuple(notes))


def _compare(
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
            spec, scored = _choose_candidate(job, spec, scored, state)
        if spec.version in schema:
            present = scored.select(as_text(schema, spec.version).unique()).collect(engine="streaming")
            there = set(present.to_series().drop_nulls())
            others = there - {version_text(schema, spec.version, spec.baseline)}
            missing = [one for one in spec.candidate or () if one not in there]
            if missing:
                notes.append(
                    f"there are no rows yet of {', '.join(missing)}{_deletion_hint(job) if rows_went else ''}"
                )
                absent = tuple(missing) if others or rows_went else ()
                others = there.intersection(spec.candidate)
            if not others:
                notes.append(
                    f"there is nothing to compare {spec.baseline} with yet"
                    f"{_deletion_hint(job) if rows_went else ''}"
                )
                return None, absent
            if missing:
                spec = replace(spec, candidate=[one for one in spec.candidate if one in there])
        return compare_spec(scored, spec), absent
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        hint = _deletion_hint(job) if rows_went else ""
        raise ConfigError(f"[compare]: {one_line(error)}; the scores are in the store{hint}") from None


def _choose_candidate(
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


def _deletion_hint(job: Job) -> str:
    retention = job.retention
    if retention is None:
        return "; old rows were deleted when [store] had a `keep`"
    unless = ", unless keep_baseline = true" if retention.spared is None else ""
    return f'; keep = "{retention.keep}" in [store] deletes old rows{unless}'


def _follow(
    job: Job, scored: pl.LazyFrame, comparison: Comparison | None, notes: list[str]
) -> Timeline | None:
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
