"""Put a run into the history, and tell people of it if the status changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polars_evals._errors import JobError
from polars_evals.jobs import history
from polars_evals.jobs.config import Job
from polars_evals.jobs.history import Record
from polars_evals.jobs.outcome import Outcome
from polars_evals.storage.objects import Folder
from polars_evals.storage.secrets import one_line

# Of the inputs that were set aside, so many are kept by name.
NAMED = 100


def remember(job: Job, folder: Folder, outcome: Outcome) -> Outcome:
    """Add a run to the history and send what is due; what is in the way is a note, and costs nothing else."""
    try:
        before = history.read_history(folder, last=1)
        last = before[-1] if before else None
        outcome = replace(outcome, same_as=same_as(outcome, last))
        due = due_ways(job, folder, outcome, last)
        name = history.append(folder, record_of(outcome, alert=bool(due)))
        if due and job.alert is not None:
            problems = job.alert.send(message(job, outcome, last), due)
            # Those who were told before are not told again because others were not reached.
            for way in job.alert.ways:
                if problems.get(way) is None:
                    history.mark_sent(folder, name, way)
            notes = [
                f"the alert was not sent, the next run tries again: {way}: {problem}"
                for way, problem in problems.items()
                if problem
            ]
            outcome = replace(outcome, notes=(*outcome.notes, *notes))
    except (JobError, OSError, ValueError, KeyError, TypeError) as error:
        outcome = replace(outcome, notes=(*outcome.notes, f"the history was not written: {one_line(error)}"))
    return outcome


def record_of(outcome: Outcome, *, alert: bool) -> Record:
    """Make the record of a run."""
    return Record(
        time=history.now(),
        status=outcome.status,
        exit_code=outcome.exit_code(),
        rows=outcome.rows,
        added=outcome.added,
        updated=outcome.updated,
        files=len(outcome.files),
        failures=dict(list(outcome.failures.items())[:NAMED]),
        gates=tuple(outcome.to_dict()["gates"]),
        verdicts=outcome.verdicts,
        notes=outcome.notes,
        alert=alert,
    )


def same_as(outcome: Outcome, last: Record | None) -> str | None:
    """Return the time of the last run if nothing is new since and the gates say the same."""
    if last is None or outcome.files or outcome.rescored or dict(last.failures) != dict(outcome.failures):
        return None
    return last.time if last.states() == {one.name: one.status for one in outcome.gates} else None


def due_ways(job: Job, folder: Folder, outcome: Outcome, last: Record | None) -> list[str]:
    """Say how people are to be told: the status changed, or they were not reached when it did."""
    if job.alert is None:
        return []
    ways = list(job.alert.ways)
    if last is None:
        return ways if outcome.status != "passed" else []
    if outcome.status != last.status:
        return ways
    if not last.alert:
        return []
    told = history.sent(folder, last.name)
    return [way for way in ways if way not in told]


def message(job: Job, outcome: Outcome, last: Record | None) -> dict[str, Any]:
    """Write what people are told."""
    return {
        "job": job.name,
        "status": outcome.status,
        "was": last.status if last else "not run before",
        "exit_code": outcome.exit_code(),
        "store": outcome.store,
        "verdicts": outcome.verdicts,
        "lines": outcome.lines(),
    }
