"""How a job stands, and the upkeep of its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from polars_evals.jobs.config import Job
from polars_evals.jobs.errors import ConfigError, StoreError, is_failure, one_line
from polars_evals.jobs.history import Record, read_history
from polars_evals.jobs.judging import judge
from polars_evals.jobs.open import open_folder, open_store
from polars_evals.jobs.outcome import Outcome
from polars_evals.jobs.store import SMALL_BYTES, Snapshot, Store, scan_parts, write_parts
from polars_evals.wording import counted, line, to_json

WEEK = 7


@dataclass(frozen=True)
class Status:
    """How a job stands: its last runs, oldest first, and what its gates say of the store as it is now."""

    store: str
    runs: tuple[Record, ...]
    now: Outcome
    inputs: int

    def lines(self) -> list[str]:
        """Tell a person, a line each."""
        told = [f"{self.store}: {counted(self.now.rows, 'row')} of {counted(self.inputs, 'input')}"]
        for run in self.runs:
            verdicts = ", ".join(f"{one} {verdict}" for one, verdict in run.verdicts.items())
            aside = f", {counted(len(run.failures), 'input')} set aside" if run.failures else ""
            told.append(
                f"{run.time}  {run.status} ({run.exit_code}): {counted(run.added, 'row')} added, "
                f"{run.updated:,} updated from {counted(run.files, 'file')}{aside}"
                + (f"; {verdicts}" if verdicts else "")
            )
        if self.runs:
            told += [f"set aside: {name}: {reason}" for name, reason in self.runs[-1].failures.items()]
        else:
            told.append("no run is on record")
        told += [f"now: {text}" for text in self.now.lines()[:-1] or [self.now.status]]
        return [line(text) for text in told]

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
    Say how a job stands, without running it.

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
    folder = open_folder(job.store.path, job.store.storage_options)
    snapshot = read(open_store(folder, job.store.format))
    runs = tuple(read_history(folder, last))
    taken = Outcome(
        store=folder.address, rows=snapshot.rows, added=0, updated=0, files={}, failures={}, rescored=False
    )
    return Status(folder.address, runs, judge(job, snapshot, taken), len(snapshot.state.inputs))


def read(store: Store) -> Snapshot:
    """Read a store that must be there."""
    snapshot = store.read()
    if snapshot is None:
        raise StoreError(f"there is no store of scores at {store.address!r}; run the job first")
    return snapshot


def maintain(
    job: Job | str | Path, *, keep_days: float = WEEK, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """
    Put small data files together, and remove files that no reader needs any more.

    Parameters
    ----------
    job
        A job, or the path of its file.
    keep_days
        How long data files stay that were replaced, for those who read an older state of the store.
    say
        Told if another run must be waited for.

    Returns
    -------
    dict
        How many data files there were and are, and how many old ones were removed.
    """
    if not keep_days >= 0:
        raise ConfigError(f"keep_days must be a number of days, at least 0, got {keep_days!r}")
    job = job if isinstance(job, Job) else Job.load(job)
    folder = open_folder(job.store.path, job.store.storage_options)
    store = open_store(folder, job.store.format)
    read(store)
    with store.locked(lambda: say(f"another run holds {store.address}; waiting for it")):
        before = read(store)
        compact(store, before, job)
        try:
            removed = store.vacuum(keep_days)
        except BaseException as error:
            if not is_failure(error) or isinstance(error, StoreError):
                raise
            raise StoreError(f"{store.address}: old files were not removed: {one_line(error)}") from error
        after = read(store)
    return {
        "store": store.address,
        "rows": after.rows,
        "files_before": len(before.parts),
        "files": len(after.parts),
        "removed": removed,
    }


def compact(store: Store, before: Snapshot, job: Job) -> None:
    """Put the small data files of a store together."""
    small = [part for part in before.parts if part.size < SMALL_BYTES]
    if len(small) < 2:
        return
    with store.folder.staging() as staging:
        together = write_parts(
            scan_parts(small, before.schema), staging / uuid4().hex, job.suite.metadata, read=small
        )
        store.commit(before, before.state, before.schema, [part for part in together if part.rows], small)
