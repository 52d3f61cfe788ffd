"""The recipes in the documentation are files that work."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from polars_evals.jobs import Job, run
from polars_evals.jobs.config import JobTable
from polars_evals.jobs.history import read_history
from polars_evals.storage.objects import open_folder
from tests.jobs.support import deliver, make_job, table, traces

RECIPES = Path(__file__).parents[2] / "docs/recipes"
FAILING = '[[gate]]\nmetric = "exact_match"\nmin_pass_rate = 0.99\n'


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Put the command on a path of its own."""
    script = tmp_path / "bin/polars-evals"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m polars_evals.cli "$@"\n')
    script.chmod(0o755)
    return f"{script.parent}:/usr/bin:/bin"


def test_the_example_with_every_section_is_a_job_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (RECIPES.parent / "jobs.md").read_text("utf-8")
    [example] = re.findall(r"```toml\n(# nightly\.toml\n.*?)```", page, flags=re.DOTALL)
    assert set(tomllib.loads(example)) == set(JobTable.model_fields) - {"storage_options"}
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.slack.com/services/x")
    # Nobody is told of a test.
    quiet = re.sub(r"\[alert\]\n.*?\n\n", "", example, flags=re.DOTALL)
    for name, text in {"nightly.toml": example, "quiet.toml": quiet}.items():
        (tmp_path / name).write_text(text)
        assert Job.load(tmp_path / name).retention is not None
    for version in ("v1", "v2"):
        rows = traces(range(60), version).with_columns(
            session_id=pl.col("item_id"),
            latency_ms=pl.lit(100.0),
            error=pl.lit(None, pl.String),
            ts=pl.lit(datetime.now(UTC)) - pl.duration(days=pl.int_range(60) % 20),
        )
        deliver(rows, tmp_path / f"traces/{version}.parquet", 1)
    outcome = run(tmp_path / "quiet.toml")
    assert len(outcome.gates) == 6
    assert {gate.judged > 0 for gate in outcome.gates} == {True}
    assert set(outcome.reports) == {"html", "junit", "markdown", "summary", "items"}


def job_with(folder: Path, more: str) -> Path:
    job = make_job(folder, more=more)
    deliver(traces(range(9)), folder / "traces/a.parquet", 1)
    return job


def test_cron_prints_only_what_someone_must_see(tmp_path: Path, path: str) -> None:
    lines = (RECIPES / "crontab").read_text().splitlines()
    [entry] = [line for line in lines if line.startswith("17 ")]
    *schedule, shell = entry.split(" ", 5)
    assert schedule == ["17", "*", "*", "*", "*"]
    assert "%" not in shell  # cron would take it for a new line

    def cron(job: Path) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": path, "JOB": str(job), "HOME": str(tmp_path)}
        return subprocess.run(
            ["/bin/sh", "-c", shell], env=environment, capture_output=True, text=True, check=False
        )

    quiet = cron(job_with(tmp_path / "fine", ""))
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    loud = cron(job_with(tmp_path / "bad", FAILING))
    assert loud.returncode == 1
    assert "FAILED exact_match: min_pass_rate = 0.99" in loud.stdout


def test_the_github_workflow_runs_the_job(tmp_path: Path, path: str) -> None:
    workflow = yaml.safe_load((RECIPES / "github-workflow.yml").read_text())
    steps = workflow["jobs"]["evals"]["steps"]
    [score] = [step["run"] for step in steps if "polars-evals run" in step.get("run", "")]
    [install] = [step["run"] for step in steps if step.get("run", "").startswith("pip install")]
    assert install == 'pip install "$POLARS_EVALS[jobs,report]"'
    assert workflow["env"]["POLARS_EVALS"].endswith(".whl")
    job_with(tmp_path / "evals", FAILING)
    summary = tmp_path / "summary.md"
    environment = {"PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
    ended = subprocess.run(
        ["/bin/sh", "-e", "-c", score], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert summary.read_text().startswith("## polars-evals: a gate failed")
    [upload] = [step for step in steps if "upload-artifact" in step.get("uses", "")]
    assert upload["if"] == "always()"
    restore, save = [step for step in steps if "cache" in step.get("uses", "")]
    assert (tmp_path / restore["with"]["path"]).is_dir()
    # A failed gate must not lose the store.
    assert (save["if"], save["with"]["path"]) == ("always()", restore["with"]["path"])
    assert save["with"]["key"].startswith(restore["with"]["restore-keys"])


def test_the_github_workflow_goes_on_after_a_failed_gate(tmp_path: Path, path: str) -> None:
    """Each run checks out anew, so that every file has a new time, and has the store from the cache."""
    workflow = yaml.safe_load((RECIPES / "github-workflow.yml").read_text())
    steps = workflow["jobs"]["evals"]["steps"]
    [score] = [step["run"] for step in steps if "polars-evals run" in step.get("run", "")]
    cached = next(step["with"]["path"] for step in steps if "cache" in step.get("uses", ""))
    tables = []
    for number in range(3):
        checkout = tmp_path / f"run-{number}"
        job_with(checkout / "evals", FAILING)
        # The same key twice: the later name counts, in whatever run.
        deliver(traces(range(2)).with_columns(output=pl.lit("x")), checkout / "evals/traces/b.parquet", 1)
        for file in (checkout / "evals/traces").iterdir():
            os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
        if number:
            # As tar does it, which renews the times of what it unpacks where it is told to.
            (checkout / cached).mkdir()
            packed = subprocess.run(
                ["tar", "-cf", "-", "."], cwd=tmp_path / "cache", capture_output=True, check=True
            )
            subprocess.run(["tar", "-xmf", "-"], cwd=checkout / cached, input=packed.stdout, check=True)
        ended = subprocess.run(
            ["/bin/sh", "-e", "-c", score], env={"PATH": path}, cwd=checkout, capture_output=True, check=False
        )
        assert ended.returncode == 1, ended.stderr
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        shutil.copytree(checkout / cached, tmp_path / "cache")
        tables.append(table(checkout / "evals").drop("source_time"))
    assert len(tables[0]) == 9
    assert tables[1].equals(tables[0])
    assert tables[2].equals(tables[0])
    assert len(read_history(open_folder(tmp_path / "cache"))) == 3


def test_the_airflow_task_tells_gates_from_inputs(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the few names of Airflow that the recipe uses, so that the test needs no Airflow."""
    tasks: list[Callable[[], None]] = []

    def dag(**options: Any) -> Callable[[Callable[[], None]], Callable[[], None]]:
        assert options["max_active_runs"] == 1
        return lambda function: function

    def task(**options: Any) -> Callable[[Callable[[], None]], Callable[[], None]]:
        def keep(function: Callable[[], None]) -> Callable[[], None]:
            tasks.append(function)
            return lambda: None

        return keep

    class AirflowException(Exception):  # noqa: N818 - Airflow's own names
        pass

    class AirflowFailException(AirflowException):
        pass

    sdk, exceptions = types.ModuleType("airflow.sdk"), types.ModuleType("airflow.sdk.exceptions")
    vars(sdk).update(dag=dag, task=task)
    vars(exceptions).update(AirflowException=AirflowException, AirflowFailException=AirflowFailException)
    for name, module in {
        "airflow": types.ModuleType("airflow"),
        "airflow.sdk": sdk,
        "airflow.sdk.exceptions": exceptions,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
    names = runpy.run_path(str(RECIPES / "airflow_dag.py"))
    [score_and_gate] = tasks

    def ends_for(job: Path) -> type[Exception] | None:
        score_and_gate.__globals__["JOB"] = str(job)
        try:
            score_and_gate()
        except AirflowException as error:
            return type(error)
        return None

    assert names["JOB"].endswith("job.toml")
    assert ends_for(job_with(tmp_path / "fine", "")) is None
    assert ends_for(job_with(tmp_path / "bad", FAILING)) is AirflowFailException
    broken = job_with(tmp_path / "broken", "")
    (broken.parent / "traces/x.parquet").write_bytes(b"no")
    assert ends_for(broken) is AirflowException
