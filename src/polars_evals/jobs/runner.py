"""Run a scheduled job, say how it stands, and keep its store in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from polars_evals._errors import ConfigError, InputError, StoreError, is_failure
from polars_evals.drift import Comparison, ComparisonSpec, Timeline, compare_spec, timeline
from polars_evals.drift.columns import as_text, version_text
from polars_evals.jobs.columns import SOURCE, merge_schemas
from polars_evals.jobs.config import DAY, Job, names_of
from polars_evals.jobs.gates import FAILED, GateInput
from polars_evals.jobs.history import Record, read_history, remember, remember_refusal
from polars_evals.jobs.ingest import Ingest, Source, relative
from polars_evals.jobs.outcome import Outcome, write_reports
from polars_evals.jobs.retention import Retention, check_keep, expire, replaced_rows, without
from polars_evals.jobs.rules import unknown_items
from polars_evals.jobs.store import PART, SMALL_FILES, Part, Snapshot, State, Store, Writer
from polars_evals.report.terminal import status_lines
from polars_evals.storage.objects import is_remote, open_folder
from polars_evals.storage.secrets import one_line
from polars_evals.suite.signature import to_metadata
from polars_evals.wording import counted, listed, to_json

WEEK = 7


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
        Callbacks that report the progress of the run.

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
    store = _store_of(job)
    try:
        with store.locked(watch.say):
            outcome, snapshot = _update(job, store, rescore=rescore, watch=watch)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"the store {store.address!r} cannot be written: {one_line(error)}; nothing was added"
        ) from error
    # Where no input could be taken at all, there is nothing to say of gates.
    if snapshot is not None or not outcome.failures:
        outcome = compare_and_judge(job, snapshot, outcome)
    if snapshot is not None:
        outcome = remember(job, store.folder, outcome)
    return write_reports(outcome, job.report)


def _store_of(job: Job) -> Store:
    return Store(open_folder(job.store.path, job.store.storage_options))


def _update(job: Job, store: Store, *, rescore: bool, watch: Watch) -> tuple[Outcome, Snapshot | None]:
    """Score new files and commit them in one transaction."""
    before = store.last_commit()
    changed = before is not None and before.state.signatures != job.suite.signature
    _check_fit(job, before, changed=changed and not rescore)
    sources, beside, failures, notes = _find_new(job, before)
    watch.start(len(sources))
    with store.folder.staging() as staging:
        live, schema = (list(before.parts), dict(before.schema)) if before else ([], {})
        writer = Writer(staging, job.suite.metadata)
        ingest = Ingest(job, writer, watch.advance)
        if before is not None and changed:
            watch.say(f"scoring {counted(before.rows, 'row')} again")
            live, schema = _score_again(before, ingest)
        elif before is not None:
            ingest.score_columns |= set(before.state.score_columns)
        rows_of = _without_source(schema)
        ingest.schema = rows_of
        ingest.take(sources)
        for source, reason in beside:
            ingest.leave_out(source, reason)
        live = ingest.widened(live, rows_of)
        schema = {**ingest.schema, **SOURCE} if ingest.parts or schema else {}
        version = None if job.compare is None else job.compare.version
        lost = replaced_rows(live, ingest.parts, schema, job.store, version)
        current = without(writer, [*live, *ingest.parts], schema, lost)
        expiry = expire(job.retention, before, current, schema, list(ingest.taken))
        after = expiry.remaining(writer, current, schema)
        if ingest.parts:
            after = writer.merged(after, schema, least=SMALL_FILES)
        replaced = lost.filter(pl.col(PART).is_in([part.path for part in ingest.parts])).height
        outcome = Outcome(
            store=store.address,
            rows=_count_rows(after),
            added=max(0, _count_rows(current) - _count_rows(live) - expiry.fresh),
            updated=lost.height - replaced,
            replaced=replaced,
            files={name: about["rows"] for name, about in ingest.taken.items()},
            failures={**failures, **ingest.failures},
            rescored=changed,
            notes=(*notes, *ingest.notes(), *expiry.notes),
            left_out=ingest.left_out,
            broken=ingest.broken,
        )
        if not (ingest.taken or changed or expiry.counts) or not (after or before or expiry.counts):
            return outcome, before
        state = replace(_next_state(job, before, ingest), forgotten=expiry.forgotten)
        store.commit(before, state, schema, after)
    return outcome, store.last_commit()


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
    reports = {_place_of(file): kind for kind, file in job.report.files.items()}
    names = set(map(os.path.basename, job.report.files.values()))
    for file in files:
        if os.path.basename(file) in names and (kind := reports.get(_place_of(file))):
            raise ConfigError(f"[report]: `{kind}` is also an input: {file!r}; name another file")


def _place_of(file: str) -> str:
    return file if is_remote(file) else os.path.realpath(file)


def _score_again(before: Snapshot, ingest: Ingest) -> tuple[list[Part], dict[str, pl.DataType]]:
    frame = before.scan().drop(before.state.score_columns, strict=False)
    try:
        scored = ingest.job.suite.score(frame)
        schema = merge_schemas({}, scored.collect_schema())
    except pl.exceptions.PolarsError as error:
        raise ConfigError(f"the stored rows cannot be scored with this suite: {one_line(error)}") from None
    given = frame.collect_schema()
    ingest.score_columns |= {name for name in schema if name not in given}
    ingest.schema = _without_source(schema)
    return ingest.rewrite(scored, before.parts), {**ingest.schema, **SOURCE}


def _next_state(job: Job, before: Snapshot | None, ingest: Ingest) -> State:
    known, number = (before.state.inputs, before.state.runs + 1) if before else ({}, 1)
    when = {"run": number, "taken": datetime.now(UTC).isoformat(timespec="seconds")}
    inputs = {**known, **{name: about | when for name, about in ingest.taken.items()}}
    columns = tuple(sorted(ingest.score_columns))
    return State(job.store.key, job.store.newest, job.suite.signature, columns, inputs, number)


def _count_rows(parts: Sequence[Part]) -> int:
    return sum(part.rows for part in parts)


def _without_source(schema: dict[str, pl.DataType]) -> dict[str, pl.DataType]:
    return {name: dtype for name, dtype in schema.items() if name not in SOURCE}


def compare_and_judge(job: Job, snapshot: Snapshot | None, outcome: Outcome) -> Outcome:
    """Compare the versions in the store and judge the gates. No gate passes on an empty store."""
    if snapshot is None or not snapshot.rows:
        results = [gate.result_of(FAILED, "the store has no rows to judge") for gate in job.gates]
        return replace(outcome, gates=tuple(results))
    scored = snapshot.scan()
    comparison, absent, notes = None, tuple[str, ...](), list(outcome.notes)
    if job.compare is not None:
        comparison, absent = _compare(job, job.compare, scored, notes, snapshot.state)
    line = _follow(job, scored, comparison, notes)
    seen = GateInput(
        names_of(job.suite), scored, job.compare, comparison, job.gates, line, job.report.items, absent
    )
    gates = tuple(gate.result(seen) for gate in job.gates)
    if unknown := unknown_items(seen):
        notes.append(f"must_not_flip: {counted(len(unknown), 'item')} not in the store: {listed(unknown)}")
    return replace(outcome, comparison=comparison, timeline=line, gates=gates, notes=tuple(notes))


def _compare(
    job: Job, spec: ComparisonSpec, scored: pl.LazyFrame, notes: list[str], state: State
) -> tuple[Comparison | None, tuple[str, ...]]:
    """Compare, unless there is nothing to compare yet; returns also the candidates that ought to be there.

    As long as there is the baseline only, candidates are to come. Where there are other versions, or rows
    were too old to be kept, one that the job names and that has no rows may be written wrong, or gone.
    """
    schema, absent = scored.collect_schema(), tuple[str, ...]()
    rows_went = state.forgotten is not None
    hint = _deletion_hint(job.retention) if rows_went else ""
    try:
        if spec.version in schema:
            spec, scored = _choose_candidate(job, spec, scored, state)
            present = scored.select(as_text(schema, spec.version).unique()).collect(engine="streaming")
            there = set(present.to_series().drop_nulls())
            others = there - {version_text(schema, spec.version, spec.baseline)}
            missing = [one for one in spec.candidate or () if one not in there]
            if missing:
                notes.append(f"there are no rows yet of {', '.join(missing)}{hint}")
                absent = tuple(missing) if others or rows_went else ()
                others = there.intersection(spec.candidate)
            if not others:
                notes.append(f"there is nothing to compare {spec.baseline} with yet{hint}")
                return None, absent
            if missing:
                spec = replace(spec, candidate=[one for one in spec.candidate if one in there])
        return compare_spec(scored, spec), absent
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
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


def _deletion_hint(retention: Retention | None) -> str:
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


@dataclass(frozen=True)
class Status:
    """The status of a job: its last runs, oldest first, and the gates on the current store."""

    store: str
    runs: tuple[Record, ...]
    now: Outcome
    inputs: int

    def lines(self) -> list[str]:
        """Return the status as lines of text: the gates, the last runs and the store."""
        return status_lines(self)

    def to_json(self) -> str:
        """Return the same as JSON."""
        now = self.now.to_dict()
        return to_json(
            {
                "store": self.store,
                "rows": self.now.rows,
                "inputs": self.inputs,
                "runs": [run.to_dict() for run in self.runs],
                "now": {key: now[key] for key in ("verdict", "verdicts", "exit_code", "gates", "notes")},
            }
        )


def status(job: Job | str | Path, *, last: int = 10) -> Status:
    """
    Return the status of a job without running it.

    Parameters
    ----------
    job
        A job, or the path of its file.
    last
        How many of the last runs to read.

    Raises
    ------
    StoreError
        If there is no store yet, or it cannot be read.
    """
    job = job if isinstance(job, Job) else Job.load(job)
    store = _store_of(job)
    snapshot = _read_existing(store)
    runs = tuple(read_history(store.folder, last))
    now = compare_and_judge(job, snapshot, Outcome(store.address, snapshot.rows))
    return Status(store.address, runs, now, len(snapshot.state.inputs))


def _read_existing(store: Store) -> Snapshot:
    snapshot = store.last_commit()
    if snapshot is None:
        raise StoreError(f"there is no store of scores at {store.address!r}; run the job first")
    return snapshot


def maintain(
    job: Job | str | Path,
    *,
    keep: str | None = None,
    keep_days: float = WEEK,
    restore: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """
    Remove old rows, put small data files together, and remove files that no reader needs any more.

    Parameters
    ----------
    job
        A job, or the path of its file.
    keep
        How long rows stay, such as `"90d"`; without it as `keep` in `[store]` says, or for ever.
    keep_days
        How long data files stay that were replaced, for those who read an older state of the store.
    restore
        Step a damaged store back to its last sound version, and do nothing else. The next run takes the
        inputs again whose rows are lost with that.
    say
        Called with a sentence if another run must be waited for.

    Returns
    -------
    dict
        How many rows went, how many data files there were and are, and how many old ones were removed.
    """
    if not keep_days >= 0:
        raise ConfigError(f"keep_days must be a number of days, at least 0, got {keep_days!r}")
    job = job if isinstance(job, Job) else Job.load(job)
    retention = job.retention
    if keep is not None:
        try:
            retention = replace(retention or Retention(keep), keep=check_keep(keep))
        except ValueError as error:
            raise ConfigError(str(error)) from None
    store = _store_of(job)
    if restore:
        with store.locked(say):
            sound = store.restore()
        return {"store": store.address, "rows": sound.rows, "version": sound.version}
    _read_existing(store)
    with store.locked(say):
        before = _read_existing(store)
        expiry = expire(retention, before, before.parts, before.schema)
        if expiry.refused:
            raise StoreError(f"{store.address}: {expiry.notes[0]}")
        with store.folder.staging() as staging:
            writer = Writer(staging, to_metadata(before.state.signatures))
            kept = expiry.remaining(writer, before.parts, before.schema)
            merged = writer.merged(kept, before.schema, least=2)
            if merged != list(before.parts):
                store.commit(before, replace(before.state, forgotten=expiry.forgotten), before.schema, merged)
        try:
            removed = store.vacuum(keep_days)
        except BaseException as error:
            if not is_failure(error) or isinstance(error, StoreError):
                raise
            raise StoreError(f"{store.address}: old files were not removed: {one_line(error)}") from error
        after = _read_existing(store)
    return {
        "store": store.address,
        "rows": after.rows,
        "forgotten": expiry.total,
        "files_before": len(before.parts),
        "files": len(after.parts),
        "removed": removed,
    }
