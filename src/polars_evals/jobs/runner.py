"""Run a scheduled job: score new files, store each row once, compare, check gates, write reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals._errors import ConfigError, InputError, StoreError, is_failure
from polars_evals.jobs.config import Job
from polars_evals.jobs.history import remember, remember_refusal
from polars_evals.jobs.ingest import Ingest, Source, relative
from polars_evals.jobs.judging import judge
from polars_evals.jobs.outcome import Outcome
from polars_evals.jobs.reports import write_reports
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
from polars_evals.wording import counted


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
        return run_loaded(job, rescore=rescore, watch=watch or Watch())
    except BaseException as error:
        if is_failure(error):
            remember_refusal(job, error)
        raise


def run_loaded(job: Job, *, rescore: bool, watch: Watch) -> Outcome:
    """Run a job whose file was read."""
    store = Store(open_folder(job.store.path, job.store.storage_options))
    try:
        with store.locked(lambda: watch.say(f"another run holds {store.address}; waiting for it")):
            outcome, snapshot = update(job, store, rescore=rescore, watch=watch)
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


def update(job: Job, store: Store, *, rescore: bool, watch: Watch) -> tuple[Outcome, Snapshot | None]:
    """Score new files and commit them in one transaction."""
    before = store.read()
    signatures = job.suite.signature
    changed = before is not None and before.state.signatures != signatures
    check_fit(job, before, changed=changed and not rescore)
    sources, beside, failures, notes = find_new(job, before)
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
            live, schema = rescored(before, ingest)
        elif before is not None:
            ingest.score_columns |= set(before.state.score_columns)
        ingest.schema = drop(schema, SOURCE)
        ingest.take(sources)
        for source, reason in beside:
            ingest.leave_out(source, reason)
        if any(ingest.schema[name] != dtype for name, dtype in drop(schema, SOURCE).items()):
            # Whole numbers are now followed by others.
            live = rewritten(live, {**ingest.schema, **SOURCE}, scan_parts(live, schema), ingest)
        schema = {**ingest.schema, **SOURCE} if ingest.parts or schema else {}
        lost = outdated(
            live,
            ingest.parts,
            schema,
            key=job.store.key,
            newest=job.store.newest,
            version=None if job.compare is None else job.compare.version,
        )
        settled, updated = without_outdated(
            live, ingest.parts, lost, schema=schema, folder=folder, metadata=job.suite.metadata
        )
        expiry = expire(job.retention, before, settled, schema, list(ingest.rows))
        remaining = [
            one for part in settled for one in expiry.remains(part, schema, folder, job.suite.metadata)
        ]
        after = together(remaining, schema, folder, job.suite.metadata) if ingest.parts else remaining
        outcome = Outcome(
            store=store.address,
            rows=rows_of(after),
            added=max(0, rows_of(settled) - rows_of(live) - expiry.fresh),
            updated=updated,
            replaced=replaced_rows(lost, ingest.parts),
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
            replace(next_state(job, before, signatures, ingest), forgotten=expiry.forgotten),
            schema,
            [part for part in after if part not in old],
            [part for part in old if part.path not in kept],
        )
    return outcome, store.read()


def check_fit(job: Job, before: Snapshot | None, *, changed: bool) -> None:
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
            f"the suite is not the one that made the scores in {config.path!r}:{differing}\n"
            "Scores made in different ways are not mixed: run with --rescore to score all stored rows again, "
            "put the suite back, or name another store"
        )


def find_new(
    job: Job, before: Snapshot | None
) -> tuple[list[Source], list[tuple[Source, str]], dict[str, str], list[str]]:
    """List the inputs that are new or have changed, those that are no traces, and what cannot be listed."""
    listed = job.input.find(outside=job.store.path)
    refuse_reports(job, listed.files)
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


def refuse_reports(job: Job, files: Sequence[str]) -> None:
    """Raise if a report would replace an input, or be read as one by the next run."""
    names = {os.path.basename(file) for file in job.report.files.values()}
    reports = {place_of(file): kind for kind, file in job.report.files.items()}
    for file in files:
        if os.path.basename(file) in names and (kind := reports.get(place_of(file))):
            raise ConfigError(f"[report]: `{kind}` is also an input: {file!r}; name another file")


def place_of(file: str) -> str:
    """Return the path of a file with its links resolved."""
    return file if is_remote(file) else os.path.realpath(file)


def rescored(before: Snapshot, ingest: Ingest) -> tuple[tuple[Part, ...], dict[str, pl.DataType]]:
    """Score all rows of the store again."""
    frame = before.scan().drop(before.state.score_columns, strict=False)
    try:
        scored = ingest.suite.score(frame)
        schema = merge_schemas({}, scored.collect_schema())
    except pl.exceptions.PolarsError as error:
        raise ConfigError(f"the stored rows cannot be scored with this suite: {one_line(error)}") from None
    given = frame.collect_schema()
    ingest.score_columns |= {name for name in schema if name not in given}
    schema = {**drop(schema, SOURCE), **SOURCE}
    return rewritten(before.parts, schema, scored, ingest), schema


def rewritten(
    parts: Sequence[Part], schema: dict[str, pl.DataType], frame: pl.LazyFrame, ingest: Ingest
) -> tuple[Part, ...]:
    """Write the rows of data files again, with other columns."""
    written = write_parts(
        conform(frame, schema),
        ingest.folder / uuid4().hex,
        ingest.suite.metadata,
        read=parts,
    )
    return tuple(part for part in written if part.rows)


def without_outdated(
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


def together(
    parts: list[Part], schema: dict[str, pl.DataType], folder: Path, metadata: dict[str, str]
) -> list[Part]:
    """Put small data files together, once there are many."""
    small = [part for part in parts if part.size < SMALL_BYTES]
    if len(small) < SMALL_FILES:
        return parts
    joined = write_parts(scan_parts(small, schema), folder / uuid4().hex, metadata, read=small)
    return [part for part in parts if part not in small] + joined


def replaced_rows(lost: pl.DataFrame, staged: Sequence[Part]) -> int:
    """Count the rows of a run that are not stored, because a newer row has the same key."""
    return lost.filter(pl.col(PART).is_in([part.path for part in staged])).height


def next_state(job: Job, before: Snapshot | None, signatures: dict[str, str], ingest: Ingest) -> State:
    """Return the state of the store with the inputs of this run."""
    inputs = dict(before.state.inputs) if before else {}
    number = before.state.runs + 1 if before else 1
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for name, rows in ingest.rows.items():
        inputs[name] = {**ingest.marks[name], "rows": rows, "run": number, "taken": now}
    columns = tuple(sorted(ingest.score_columns))
    return State(job.store.key, job.store.newest, signatures, columns, inputs, number)


def rows_of(parts: Sequence[Part]) -> int:
    """Count the rows of data files."""
    return sum(part.rows for part in parts)


def drop(schema: dict[str, pl.DataType], names: dict[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Return the columns without some."""
    return {name: dtype for name, dtype in schema.items() if name not in names}
