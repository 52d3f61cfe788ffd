"""How a job stands, and the upkeep of its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from polars_evals._errors import ConfigError, StoreError, is_failure
from polars_evals.jobs.config import Job
from polars_evals.jobs.history import Record, read_history
from polars_evals.jobs.outcome import Outcome
from polars_evals.jobs.retention import Retention, check_keep, expire
from polars_evals.jobs.runner import judge
from polars_evals.jobs.store import SMALL_BYTES, Snapshot, Store, scan_parts, write_parts
from polars_evals.report.terminal import status_lines
from polars_evals.storage.objects import open_folder
from polars_evals.storage.secrets import one_line
from polars_evals.suite.signature import to_metadata
from polars_evals.wording import to_json

WEEK = 7


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
    folder = open_folder(job.store.path, job.store.storage_options)
    snapshot = _read_existing(Store(folder))
    runs = tuple(read_history(folder, last))
    taken = Outcome(
        store=folder.address, rows=snapshot.rows, added=0, updated=0, files={}, failures={}, rescored=False
    )
    return Status(folder.address, runs, judge(job, snapshot, taken), len(snapshot.state.inputs))


def _read_existing(store: Store) -> Snapshot:
    snapshot = store.read()
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
        Told if another run must be waited for.

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
        retention = replace(retention or Retention(keep), keep=_checked_keep(keep))
    folder = open_folder(job.store.path, job.store.storage_options)
    store = Store(folder)
    if restore:
        with store.locked(lambda: say(f"another run holds {store.address}; waiting for it")):
            sound = store.restore()
        return {"store": store.address, "rows": sound.rows, "version": sound.version}
    _read_existing(store)
    with store.locked(lambda: say(f"another run holds {store.address}; waiting for it")):
        before = _read_existing(store)
        forgotten = _delete_old(store, before, retention)
        _compact(store, _read_existing(store))
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
        "forgotten": forgotten,
        "files_before": len(before.parts),
        "files": len(after.parts),
        "removed": removed,
    }


def _checked_keep(keep: str) -> str:
    try:
        return check_keep(keep)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _delete_old(store: Store, before: Snapshot, retention: Retention | None) -> int:
    """Remove the rows that are no longer kept, in a commit of its own, and return how many."""
    expiry = expire(retention, before, before.parts, before.schema)
    if expiry.refused:
        raise StoreError(f"{store.address}: {expiry.notes[0]}")
    if not expiry.counts:
        return 0
    with store.folder.staging() as staging:
        metadata = to_metadata(before.state.signatures)
        after = [
            one for part in before.parts for one in expiry.remains(part, before.schema, staging, metadata)
        ]
        store.commit(
            before,
            replace(before.state, forgotten=expiry.forgotten),
            before.schema,
            [part for part in after if part not in before.parts],
            [part for part in before.parts if part not in after],
        )
    return expiry.total


def _compact(store: Store, before: Snapshot) -> None:
    small = [part for part in before.parts if part.size < SMALL_BYTES]
    if len(small) < 2:
        return
    with store.folder.staging() as staging:
        together = write_parts(
            scan_parts(small, before.schema),
            staging / uuid4().hex,
            to_metadata(before.state.signatures),
            read=small,
        )
        store.commit(before, before.state, before.schema, [part for part in together if part.rows], small)
