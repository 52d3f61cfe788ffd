"""The GitHub action: its steps, run as a runner would, against an API on this machine."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest
import yaml

from tests.jobs.support import deliver, make_job, traces

ROOT = Path(__file__).parents[2]
COMPARE = '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n[[gate]]\nmax_newly_failing = 3\n'


class Api:
    """Keeps comments as GitHub does."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = [{"id": 1, "body": "from a person"}]
        self.refuses = False
        api = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self, content: Any) -> None:
                self.send_response(403 if api.refuses else 200)
                self.end_headers()
                self.wfile.write(json.dumps(content).encode())

            def body(self) -> str:
                return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

            def do_GET(self) -> None:
                self.answer(api.comments)

            def do_POST(self) -> None:
                api.comments.append({"id": len(api.comments) + 1, "body": self.body()})
                self.answer({})

            def do_PATCH(self) -> None:
                [known] = [one for one in api.comments if one["id"] == int(self.path.rpartition("/")[2])]
                known["body"] = self.body()
                self.answer({})

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()


@pytest.fixture(name="api")
def _api() -> Iterator[Api]:
    api = Api()
    yield api
    api.server.shutdown()
    api.server.server_close()
    api.thread.join()


def run_action(folder: Path, api: Api, job: Path, head: str = "we/app") -> tuple[int, str, str]:
    """Run the steps of the action that are scripts; returns exit code, output and step summary."""
    runner = folder / "runner"
    (runner / "bin").mkdir(parents=True, exist_ok=True)
    (runner / "bin/polars-evals").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m polars_evals.cli "$@"\n')
    (runner / "bin/polars-evals").chmod(0o755)
    (runner / "bin/python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (runner / "bin/python").chmod(0o755)
    for name in ("polars-evals.md", "output", "summary"):
        (runner / name).unlink(missing_ok=True)
    event = {"pull_request": {"number": 7, "head": {"repo": {"full_name": head}}}}
    (runner / "event.json").write_text(json.dumps(event))
    known = {
        "inputs.job": str(job),
        "inputs.token": "t0ken",
        "steps.report.outputs.artifact-url": "https://github.com/we/app/artifacts/1",
    }
    around = {
        **os.environ,
        "PATH": f"{runner / 'bin'}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(runner),
        "GITHUB_STEP_SUMMARY": str(runner / "summary"),
        "GITHUB_OUTPUT": str(runner / "output"),
        "GITHUB_EVENT_PATH": str(runner / "event.json"),
        "GITHUB_REPOSITORY": "we/app",
        "GITHUB_API_URL": f"http://127.0.0.1:{api.server.server_port}",
        "GITHUB_ACTION_PATH": str(ROOT),
    }
    output, code = "", 0
    for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]:
        if "run" not in step or "pip install" in step["run"]:
            continue
        assert "${{" not in step["run"], "no input is pasted into a script"
        if (runner / "output").exists():
            known["steps.run.outputs.exit-code"] = (runner / "output").read_text().strip().partition("=")[2]
        given = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], value)
            for name, value in step["env"].items()
        }
        ended = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            env={**around, **given},
            capture_output=True,
            text=True,
            check=False,
        )
        output, code = output + ended.stdout + ended.stderr, ended.returncode
    return code, output, (runner / "summary").read_text()


def red_job(folder: Path) -> Path:
    job = make_job(folder, more=COMPARE)
    deliver(traces(range(60)), folder / "traces/v1.parquet", 1)
    deliver(traces(range(60), "v2").with_columns(output=pl.lit("?")), folder / "traces/v2.parquet", 2)
    return job


def test_it_blocks_and_keeps_one_comment_up_to_date(tmp_path: Path, api: Api) -> None:
    job = red_job(tmp_path)
    code, output, summary = run_action(tmp_path, api, job)
    assert code == 1, output
    assert summary.startswith("## polars-evals: a gate failed")
    [_, comment] = api.comments
    assert "## polars-evals: a gate failed" in comment["body"]
    assert "[Report](https://github.com/we/app/artifacts/1)" in comment["body"]
    deliver(traces(range(60), "v2"), tmp_path / "traces/v2.parquet", 3)
    assert run_action(tmp_path, api, job)[0] == 0
    [person, comment] = api.comments
    assert person["body"] == "from a person"
    assert "## polars-evals: passed" in comment["body"]


def test_a_fork_is_told_that_it_may_not_comment_and_is_blocked(tmp_path: Path, api: Api) -> None:
    code, output, summary = run_action(tmp_path, api, red_job(tmp_path), head="they/app")
    assert (code, len(api.comments)) == (1, 1)
    assert "from a fork, whose token may not comment" in output
    assert "a gate failed" in summary


def test_a_token_that_may_not_comment_costs_nothing(tmp_path: Path, api: Api) -> None:
    api.refuses = True
    code, output, _ = run_action(tmp_path, api, red_job(tmp_path))
    assert code == 1
    assert "GitHub answers 403" in output


def test_a_job_that_cannot_run_is_told(tmp_path: Path, api: Api) -> None:
    code, _, summary = run_action(tmp_path, api, tmp_path / "no; touch hacked.toml")
    assert code == 2
    assert "the job could not run (exit code 2)" in summary
    assert "no such job file" in api.comments[1]["body"]
