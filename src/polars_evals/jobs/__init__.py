"""Scheduled jobs: a store of scores that grows exactly once for each input, gates and reports."""

from polars_evals.jobs.config import Job
from polars_evals.jobs.errors import ConfigError, InputError, JobError, StoreError
from polars_evals.jobs.open import scan_store
from polars_evals.jobs.outcome import Outcome
from polars_evals.jobs.runner import run

__all__ = ["ConfigError", "InputError", "Job", "JobError", "Outcome", "StoreError", "run", "scan_store"]
