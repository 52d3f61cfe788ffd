"""The scheduled job: find what is new, score it, add it once, compare, gate, report."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals.drift import Comparison, Timeline, compare
from polars_evals.drift.columns import as_text, version_text
from polars_evals.drift.text import counted
from polars_evals.jobs.config import Job
from polars_evals.jobs.errors import ConfigError, InputError, StoreError
from polars_evals.jobs.gates import Judge
from polars_evals.jobs.ingest import Ingest, Source, one_line
from polars_evals.jobs.open import open_store
from polars_evals.jobs.outcome import Outcome, over_time, write_reports, write_whole
from polars_evals.jobs.schema import SOURCE, conform, merge_schemas
from polars_evals.jobs.settle import PART, outdated, without
from polars_evals.jobs.store import Part, Snapshot, State, Store, scan_parts, write_parts

# Data files smaller than this are put together when there are so many of them.
SMALL_BYTES, SMALL_FILES = 16 << 20, 32


@dataclass
class Watch:
    """How a run tells what it is doing; the default tells nobody."""

    say: Callable[[str], None] = lambda _: None
    start: Callable[[int], None] = lambda _: None
    advance: Callable[[int], None] = lambda _: None


def run(job: Job | str | Path, *, rescore: bool = False, watch: Watch | None = None) -> Outcome:
    """
    Run a job: score what is new, add it to the store once, compare, gate and report.

    Parameters
    ----------
    job
        A job, or the path of its file.
    rescore
        Score all rows of the store again if the suite has changed; without it, a changed suite is an error.
    watch
        Told what the run is doing.

    Returns
    -------
    Outcome
        What was added, what was not and why, the gates and the comparison.

    Raises
    ------
    ConfigError, InputError, StoreError
        If the run cannot do its work. The store is then as it was.

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
    watch = watch or Watch()
    store = open_store(job.store.path, job.store.format)
    try:
        with store.locked(lambda: watch.say(f"another run holds {store.path}; waiting for it")):
            outcome, snapshot = update(job, store, rescore=rescore, watch=watch)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"the store {str(store.path)!r} cannot be written: {one_line(error)}; nothing was added"
        ) from error
    if snapshot is not None:
        outcome = judge(job, snapshot, outcome)
    outcome = replace(outcome, reports=write_reports(outcome, job.report))
    if job.report.summary is not None:
        write_whole(job.report.summary, outcome.to_json())
    return outcome


def update(job: Job, store: Store, *, rescore: bool, watch: Watch) -> tuple[Outcome, Snapshot | None]:
    """Score what is new and commit it, at once or not at all."""
    before = store.read()
    signatures = job.suite.signature
    changed = before is not None and before.state.signatures != signatures
    check_fit(job, before, changed=changed and not rescore)
    sources, failures, notes = find_new(job, store, before)
    watch.start(len(sources))
    with store.staging() as folder:
        live, schema = (before.parts, dict(before.schema)) if before else ((), {})
        ingest = Ingest(job.input, job.suite, job.store.key, job.store.newest, folder, watch.advance)
        if before is not None and changed:
            watch.say(f"scoring {counted(before.rows, 'row')} again")
            live, schema = rescored(before, ingest)
        elif before is not None:
            ingest.score_columns |= set(before.state.score_columns)
        ingest.schema = drop(schema, SOURCE)
        ingest.take(sources)
        schema = {**ingest.schema, **SOURCE} if ingest.parts or schema else {}
        lost = outdated(live, ingest.parts, schema, key=job.store.key, newest=job.store.newest)
        after, updated = settled(
            live, ingest.parts, lost, schema=schema, folder=folder, metadata=job.suite.metadata
        )
        outcome = Outcome(
            store=str(store.path),
            rows=sum(part.rows for part in after),
            added=sum(part.rows for part in after) - sum(part.rows for part in live),
            updated=updated,
            files=ingest.rows,
            failures={**failures, **ingest.failures},
            rescored=changed,
            notes=tuple(notes),
        )
        if not (ingest.rows or changed) or not (after or before):
            return outcome, before
        kept = {part.path for part in after}
        old = before.parts if before else ()
        store.commit(
            before,
            next_state(job, before, signatures, ingest),
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
                f"the store {str(config.path)!r} was made with {name} = {stored!r}, the job says {wanted!r}; "
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
            f"the suite is not the one that made the scores in {str(config.path)!r}:{differing}\n"
            "Scores made in different ways are not mixed: run with --rescore to score all stored rows again, "
            "put the suite back, or name another store"
        )


def find_new(
    job: Job, store: Store, before: Snapshot | None
) -> tuple[list[Source], dict[str, str], list[str]]:
    """List the inputs that are new or have changed; an input that was taken and is gone is no matter."""
    try:
        files = job.input.files(outside=store.path)
    except InputError as error:
        if before is None:
            raise
        return [], {}, [f"no input: {error}"]
    known = before.state.inputs if before else {}
    found, failures = list[Source](), dict[str, str]()
    for file in files:
        try:
            source = Source.of(file, job.folder)
        except OSError as error:
            failures[Path(os.path.relpath(file, job.folder)).as_posix()] = one_line(error)
            continue
        if any(known.get(source.name, {}).get(mark) != value for mark, value in source.mark.items()):
            found.append(source)
    return found, failures, []


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
    parts = write_parts(
        conform(scored, schema),
        ingest.folder / uuid4().hex,
        ingest.suite.metadata,
        read=[part.path for part in before.parts],
    )
    return tuple(part for part in parts if part.rows), schema


def settled(
    live: tuple[Part, ...],
    staged: list[Part],
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
        after += [part] if rows is None else without(part, rows, schema, folder, metadata)
        updated += 0 if rows is None or part not in live else rows.height
    small = [part for part in after if part.size < SMALL_BYTES]
    if staged and len(small) >= SMALL_FILES:
        together = write_parts(
            scan_parts(small, schema),
            folder / uuid4().hex,
            metadata,
            read=[part.path for part in small],
        )
        after = [part for part in after if part not in small] + together
    return after, updated


def next_state(job: Job, before: Snapshot | None, signatures: dict[str, str], ingest: Ingest) -> State:
    """Add the inputs that were taken to what the store knows."""
    inputs = dict(before.state.inputs) if before else {}
    number = before.state.runs + 1 if before else 1
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for name, rows in ingest.rows.items():
        inputs[name] = {**ingest.marks[name], "rows": rows, "run": number, "taken": now}
    columns = tuple(sorted(ingest.score_columns))
    return State(job.store.key, job.store.newest, signatures, columns, inputs, number)


def judge(job: Job, snapshot: Snapshot, outcome: Outcome) -> Outcome:
    """Compare the versions in the store and judge the gates."""
    scored = snapshot.scan()
    comparison, notes = None, list(outcome.notes)
    if job.compare is not None:
        comparison = compared(job, scored, notes)
    judged = Judge(job, scored, comparison)
    gates = judged.results()
    if unknown := judged.unknown_items():
        named = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        notes.append(f"must_not_flip: {counted(len(unknown), 'item')} not in the store: {named}")
    line = followed(job, scored, comparison, notes)
    return replace(outcome, comparison=comparison, timeline=line, gates=tuple(gates), notes=tuple(notes))


def compared(job: Job, scored: pl.LazyFrame, notes: list[str]) -> Comparison | None:
    """Compare, unless there is nothing to compare yet."""
    settings = dict(job.compare or {})
    settings.setdefault("metrics", [str(metric.name) for metric in job.suite.metrics])
    schema, version = scored.collect_schema(), settings["version"]
    try:
        if version in schema:
            present = scored.select(as_text(schema, version).unique()).collect(engine="streaming")
            there = set(present.to_series().drop_nulls())
            wanted = settings.get("candidate") or []
            others = there - {version_text(schema, version, settings["baseline"])}
            missing = [one for one in wanted if one not in there]
            if missing:
                notes.append(f"no rows yet of {', '.join(missing)}")
                settings["candidate"] = [one for one in wanted if one in there]
            if not others or settings.get("candidate") == []:
                notes.append(f"nothing to compare {settings['baseline']} with yet")
                return None
        return compare(scored, **settings)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise ConfigError(f"[compare]: {one_line(error)}; the scores are in the store") from None


def followed(
    job: Job, scored: pl.LazyFrame, comparison: Comparison | None, notes: list[str]
) -> Timeline | None:
    """Follow the scores over time, if the page is to show that; what is in the way costs no gate."""
    if comparison is None or job.report.time is None:
        return None
    try:
        return over_time(scored, comparison, time=job.report.time, every=job.report.every)
    except (ValueError, pl.exceptions.PolarsError) as error:
        notes.append(f"the page has no timeline: [report]: {one_line(error)}")
        return None


def drop(schema: dict[str, pl.DataType], names: dict[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Return the columns without some."""
    return {name: dtype for name, dtype in schema.items() if name not in names}
