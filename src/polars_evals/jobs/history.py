"""The history of runs in the store: one small file for each run, which never changes.

An alert is sent when something else is wrong than in the run before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from polars_evals._errors import UNEXPECTED, JobError
from polars_evals.jobs.config import Job
from polars_evals.jobs.outcome import Outcome
from polars_evals.storage.objects import Folder, open_folder
from polars_evals.storage.secrets import one_line

RUNS = "_evals/runs"
RUNS_KEPT, RUNS_SPARE = 1000, 100
# The status of a run that could not do its work, for a reason that users can mend, or for another.
REFUSED, BROKEN = "refused", "failed unexpectedly"
STAMP = "%Y%m%dT%H%M%S%f"
# What reading and writing the history can raise.
HISTORY_ERRORS = (JobError, OSError, ValueError, KeyError, TypeError)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One run: its time, its result, and the files that it read and skipped."""

    time: str = field(default_factory=_now)
    status: str
    exit_code: int
    rows: int = 0
    added: int = 0
    updated: int = 0
    files: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[Mapping[str, Any], ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # Whether an alert was due.
    alert: bool = False
    # Whether all rows were scored again with a changed suite.
    rescored: bool = False
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON holds it."""
        return {key: value for key, value in vars(self).items() if key != "name"}

    @classmethod
    def of(cls, name: str, content: bytes) -> Record:
        """Read a record; ignore fields that a later version added."""
        known = {one.name for one in fields(cls)}
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in json.loads(content).items()
            if key in known
        }
        return cls(**given, name=name)

    def problems(self) -> set[str]:
        """Return what is wrong: failed gates, unreadable inputs, and why a run was refused."""
        failed = {name for name, status in self.states().items() if status == "failed"}
        return failed | set(self.failures) | set(self.notes if self.status in (REFUSED, BROKEN) else ())

    def states(self) -> dict[str, str]:
        """Return the status of each gate."""
        return {str(gate["gate"]): str(gate["status"]) for gate in self.gates}


def read_history(folder: Folder, last: int = 10) -> list[Record]:
    """Read the last runs, oldest first."""
    names = [name for name in sorted(folder.files(RUNS)) if name.endswith(".json")]
    return [Record.of(name, folder.read(f"{RUNS}/{name}")) for name in names[max(0, len(names) - last) :]]


def _append(folder: Folder, record: Record) -> str:
    """Add a run and return its name. Delete the oldest runs if there are very many."""
    names = sorted(folder.files(RUNS))
    time = datetime.now(UTC)
    with suppress(ValueError, IndexError):
        # Names are in the order of the runs, also where the clock was put back.
        last = datetime.strptime(names[-1].partition("-")[0], STAMP).replace(tzinfo=UTC)
        time = max(time, last + timedelta(microseconds=1))
    name = f"{time.strftime(STAMP)}-{uuid4().hex[:8]}.json"
    # As ASCII, which also holds what is no text in the name of a file.
    folder.create(f"{RUNS}/{name}", json.dumps(record.to_dict()).encode())
    names.append(name)
    if len(names) > RUNS_KEPT + RUNS_SPARE:
        folder.remove(f"{RUNS}/{name}" for name in names[:-RUNS_KEPT])
    return name


def _sent_file(name: str, way: str) -> str:
    """Name the file that says in which way an alert about a run was sent."""
    return f"{name}.{way}.sent"


# Of the inputs that were set aside, so many are kept by name.
NAMED = 100


def remember(job: Job, folder: Folder, outcome: Outcome) -> Outcome:
    """Add a run to the history and send its alerts; a failure becomes a note of the run."""
    try:
        last = _last_run(folder)
        outcome = replace(outcome, same_as=_same_as(outcome, last))
        same = ("status", "rows", "added", "updated", "verdicts", "notes", "rescored")
        record = Record(
            **{name: getattr(outcome, name) for name in same},
            exit_code=outcome.exit_code(),
            files=len(outcome.files),
            failures=dict(list(outcome.failures.items())[:NAMED]),
            gates=tuple(gate.to_dict() for gate in outcome.gates),
        )
        notes = _append_and_send(job, folder, record, outcome.lines(), last)
        return replace(outcome, notes=(*outcome.notes, *notes))
    except HISTORY_ERRORS as error:
        return replace(outcome, notes=(*outcome.notes, f"the history was not written: {one_line(error)}"))


def remember_refusal(job: Job, error: BaseException) -> None:
    """Add a run that was refused or failed to the history, if there is one, and send its alerts."""
    reason = one_line(error)
    status, code = (REFUSED, error.code) if isinstance(error, JobError) else (BROKEN, UNEXPECTED)
    record = Record(status=status, exit_code=code, notes=(reason,))
    try:
        folder = open_folder(job.store.path, job.store.storage_options)
        if "_evals" in folder.folders():
            _append_and_send(job, folder, record, [reason], _last_run(folder))
            return
    except HISTORY_ERRORS:
        pass
    if job.alert is not None:
        job.alert.send(_message(job, record, [reason], None), job.alert.ways)


def _append_and_send(
    job: Job, folder: Folder, record: Record, lines: Sequence[str], last: Record | None
) -> list[str]:
    """Add a run to the history and send its alerts; return what failed."""
    due = _due_ways(job, folder, record, last)
    name = _append(folder, replace(record, alert=bool(due)))
    if not due or job.alert is None:
        return []
    problems = job.alert.send(_message(job, record, lines, last), due)
    # A way that worked is not used again because another one failed.
    for way in job.alert.ways:
        if problems.get(way) is None:
            folder.create(f"{RUNS}/{_sent_file(name, way)}", b"1")
    return [
        f"the alert was not sent, the next run tries again: {way}: {problem}"
        for way, problem in problems.items()
        if problem
    ]


def _last_run(folder: Folder) -> Record | None:
    return next(iter(read_history(folder, last=1)), None)


def _same_as(outcome: Outcome, last: Record | None) -> str | None:
    """Return the time of the last run if nothing has changed since, else None."""
    if last is None or outcome.files or outcome.rescored or dict(last.failures) != dict(outcome.failures):
        return None
    return last.time if last.states() == {one.name: one.status for one in outcome.gates} else None


def _due_ways(job: Job, folder: Folder, record: Record, last: Record | None) -> list[str]:
    """Return the ways to send an alert: all if there is a new problem, else those that failed last time."""
    if job.alert is None:
        return []
    ways = list(job.alert.ways)
    if last is None:
        return ways if record.status != "passed" else []
    if record.status != last.status or record.problems() - last.problems():
        return ways
    if not last.alert:
        return []
    held = folder.files(RUNS)
    return [way for way in ways if _sent_file(last.name, way) not in held]


def _message(job: Job, record: Record, lines: Sequence[str], last: Record | None) -> dict[str, Any]:
    return {
        "job": job.name,
        "status": record.status,
        "was": last.status if last else "not run before",
        "exit_code": record.exit_code,
        "store": job.store.path,
        "verdicts": dict(record.verdicts),
        "lines": list(lines),
    }
