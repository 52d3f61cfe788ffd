"""Scheduled jobs: a store of scores that grows exactly once for each input, gates and reports."""

from typing import TYPE_CHECKING

from polars_evals._lazy import import_lazily

# The public names, and where they are. They are imported when first used.
_LAZY = {
    **dict.fromkeys(("ConfigError", "InputError", "JobError", "StoreError"), "._errors"),
    "Job": "config",
    **dict.fromkeys(("scan_scored", "score_files"), "ingest"),
    "Input": "inputs",
    "Outcome": "outcome",
    **dict.fromkeys(("Status", "maintain", "run", "status"), "runner"),
    "scan_store": "store",
}

__all__ = ["Input"]
__all__ += [name for name in _LAZY if name != "Input"]

# A type checker cannot read the table.
if TYPE_CHECKING:
    from polars_evals._errors import ConfigError as ConfigError
    from polars_evals._errors import InputError as InputError
    from polars_evals._errors import JobError as JobError
    from polars_evals._errors import StoreError as StoreError
    from polars_evals.jobs.config import Job as Job
    from polars_evals.jobs.ingest import scan_scored as scan_scored
    from polars_evals.jobs.ingest import score_files as score_files
    from polars_evals.jobs.inputs import Input as Input
    from polars_evals.jobs.outcome import Outcome as Outcome
    from polars_evals.jobs.runner import Status as Status
    from polars_evals.jobs.runner import maintain as maintain
    from polars_evals.jobs.runner import run as run
    from polars_evals.jobs.runner import status as status
    from polars_evals.jobs.store import scan_store as scan_store
else:
    __getattr__ = import_lazily(__name__, _LAZY, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
