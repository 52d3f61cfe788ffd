"""Score what is new every hour: a failed gate fails the task at once, a bad input is tried again."""

from datetime import datetime, timedelta
from subprocess import run

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

JOB = "/srv/evals/job.toml"
GATE_FAILED, USAGE = 1, 2


@dag(schedule="@hourly", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def evals() -> None:
    """Run the job; the store takes every input once, so a retry or a run by hand does no harm."""

    @task(retries=3, retry_delay=timedelta(minutes=5))
    def score_and_gate() -> None:
        ended = run(["polars-evals", "run", JOB], capture_output=True, text=True, check=False)
        print(ended.stdout, ended.stderr)
        if ended.returncode in (GATE_FAILED, USAGE):
            raise AirflowFailException(ended.stdout or ended.stderr)
        if ended.returncode:
            raise AirflowException(ended.stderr or ended.stdout)

    score_and_gate()


evals()
