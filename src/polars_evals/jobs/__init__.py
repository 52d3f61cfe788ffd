"""Scheduled jobs: a store of scores that grows exactly once for each input, gates and reports."""

from typing import TYPE_CHECKING

from polars_evals._lazy import import_lazily

if TYPE_CHECKING:
    from polars_evals._errors import ConfigError, InputError, JobError, StoreError
    from polars_evals.jobs.config import Job
    from polars_evals.jobs.ingest import scan_scored, score_files
    from polars_evals.jobs.inputs import Input
    from polars_evals.jobs.outcome import Outcome
    from polars_evals.jobs.runner import Status, maintain, run, status
    from polars_evals.jobs.store import scan_store

__all__ = [
    "ConfigError",
    "Input",
    "InputError",
    "Job",
    "JobError",
    "Outcome",
    "Status",
    "StoreError",
    "maintain",
    "run",
    "scan_scored",
    "scan_store",
    "score_files",
    "status",
]

if not TYPE_CHECKING:
    __getattr__ = import_lazily(
        __name__,
        {
            "ConfigError": "._errors",
            "Input": "inputs",
            "InputError": "._errors",
            "Job": "config",
            "JobError": "._errors",
            "Outcome": "outcome",
            "Status": "runner",
            "StoreError": "._errors",
            "maintain": "runner",
            "run": "runner",
            "scan_scored": "ingest",
            "scan_store": "store",
            "score_files": "ingest",
            "status": "runner",
        },
        __all__,
    )


def __dir__() -> list[str]:
    return sorted(__all__)
