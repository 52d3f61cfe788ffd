# The public names, each once: see `polars_evals/__init__.pyi`.
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
