"""Alerts to servers and commands that misbehave: told once, at no cost, and the address stays secret."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import polars as pl
import pytest

from polars_evals.jobs import ConfigError, InputError, Job, alerts, run, status
from tests.jobs.support import command, deliver, make_job, traces

JOB = '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n[[gate]]\nfail_on = "regressed"\n'
SECRET = "T0SECRETPATHB0"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "PATIENCE", 0.01)
    monkeypatch.setattr(alerts, "TIMEOUT", 0.3)


@contextmanager
def serving(handle: Any) -> Iterator[str]:
    """Serve on this machine with a function that gets each request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            handle(self)

        def do_GET(self) -> None:
            handle(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/services/{SECRET}"
    server.shutdown()
    server.server_close()
    thread.join()


def red_job(folder: Path, alert: str) -> Path:
    """Make a job whose first run fails a gate."""
    job = make_job(
        folder,
        more=f'{JOB}[alert]\n{alert}\n[report]\nsummary = "summary.json"\nmarkdown = "report.md"\n',
    )
    deliver(traces(range(60)), folder / "traces/v1.parquet", 1)
    deliver(traces(range(60), "v2").with_columns(output=pl.lit("?")), folder / "traces/v2.parquet", 2)
    return job


def answer(request: BaseHTTPRequestHandler, code: int, **headers: str) -> None:
    request.send_response(code)
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()


def everything(folder: Path) -> str:
    """Read all that a job wrote."""
    return "".join(
        file.read_bytes().decode(errors="replace")
        for file in folder.rglob("*")
        if file.is_file() and file.suffix in (".json", ".md", ".log")
    )


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_no_delivery(tmp_path: Path, code: int) -> None:
    """Following it would turn what is posted into a question, and lose it."""
    seen: list[str] = []

    def handle(request: BaseHTTPRequestHandler) -> None:
        seen.append(f"{request.command} {request.path}")
        if "elsewhere" in request.path:
            answer(request, 200)
        else:
            answer(request, code, Location="/elsewhere")

    with serving(handle) as url:
        outcome = run(red_job(tmp_path, f'webhook = "{url}"'))
    [note] = [note for note in outcome.notes if "alert" in note]
    assert f"the server answers {code}" in note
    assert "name the address that it points to" in note
    assert seen == [f"POST /services/{SECRET}"] * 3
    assert outcome.exit_code() == 1
    assert SECRET not in everything(tmp_path / "scores") + outcome.to_json()


def test_a_server_that_never_answers(tmp_path: Path) -> None:
    ended = Event()
    with serving(lambda _: ended.wait(20)) as url:
        outcome = run(red_job(tmp_path, f'webhook = "{url}"'))
        ended.set()
    assert outcome.exit_code() == 1
    assert any("timed out" in note for note in outcome.notes)


def test_those_who_were_told_are_not_told_again_because_others_were_not(tmp_path: Path) -> None:
    posted: list[Any] = []
    working = tmp_path / "working"
    script = f"import pathlib, sys; sys.exit(not pathlib.Path({str(working)!r}).exists())"

    def handle(request: BaseHTTPRequestHandler) -> None:
        posted.append(json.loads(request.rfile.read(int(request.headers["Content-Length"]))))
        answer(request, 200)

    with serving(handle) as url:
        told = json.dumps([sys.executable, "-c", script])
        job = red_job(tmp_path, f'webhook = "{url}"\ncommand = {told}')
        outcome = run(job)
        [note] = [note for note in outcome.notes if "alert" in note]
        assert note.endswith("command: it ended with exit code 1:")
        assert any("command" in note for note in run(job).notes)
        working.touch()
        for _ in range(2):
            assert not any("alert" in note for note in run(job).notes)
    assert len(posted) == 1
    assert [one.alert for one in status(job).runs] == [True, True, True, False]


def test_a_command_that_leaves_something_running(tmp_path: Path) -> None:
    told = tmp_path / "told"
    ended = tmp_path / "ended"
    script = f"echo told >> {told}; (sleep 60; touch {ended}) &"
    outcome = run(red_job(tmp_path, f"command = {json.dumps(['sh', '-c', script])}"))
    assert not ended.exists()
    assert not any("alert" in note for note in outcome.notes)
    assert told.read_text() == "told\n"


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/{}", "http://no-such-host.invalid/x?key={}"])
def test_the_address_is_not_in_what_is_written(tmp_path: Path, address: str) -> None:
    outcome = run(red_job(tmp_path, f'webhook = "{address.format(SECRET)}"'))
    assert any("the alert was not sent" in note for note in outcome.notes)
    assert SECRET not in everything(tmp_path / "scores") + outcome.to_json()
    assert SECRET not in (tmp_path / "summary.json").read_text() + (tmp_path / "report.md").read_text()


def test_the_address_is_not_in_what_is_shown(tmp_path: Path) -> None:
    """Not even of one that Python's library refuses and quotes."""
    job = red_job(tmp_path, f'webhook = "http://127.0.0.1:1/{SECRET} x"')
    ended = command("--debug", "--log", tmp_path / "errors.log", "run", job)
    assert ended.returncode == 1, ended.stderr
    assert "the alert was not sent" in ended.stdout
    assert SECRET not in ended.stdout + ended.stderr + everything(tmp_path / "scores")


def test_a_port_that_is_none_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must have a port") as refused:
        Job.load(make_job(tmp_path, more=f'[alert]\nwebhook = "http://127.0.0.1:{SECRET}/x"'))
    assert SECRET not in str(refused.value)


def test_a_command_is_looked_for_beside_the_job_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = red_job(tmp_path / "jobs", 'command = ["./page-someone"]')
    script = tmp_path / "jobs/page-someone"
    script.write_text("#!/bin/sh\ntouch ${0%/*}/paged\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    run(job)
    assert (tmp_path / "jobs/paged").exists()


def test_the_path_of_a_webhook_hides_no_other_path(tmp_path: Path) -> None:
    job = red_job(tmp_path, 'webhook = "http://127.0.0.1:1/traces"')
    (tmp_path / "traces/broken.parquet").write_bytes(b"PAR1")
    assert "not read: traces/broken.parquet" in "\n".join(run(job).lines())


def posts(folder: Path) -> tuple[str, Any]:
    """Write a command that keeps each message."""
    script = folder / "keep.py"
    script.write_text(f"import sys; open({str(folder / 'told')!r}, 'a').write(sys.stdin.read() + '\\n')")

    def told() -> list[Any]:
        file = folder / "told"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    return f"command = {json.dumps([sys.executable, str(script)])}", told


def test_a_refused_run_is_in_the_history_and_told(tmp_path: Path) -> None:
    alert, told = posts(tmp_path)
    job = make_job(tmp_path, more=f"[alert]\n{alert}")
    with pytest.raises(InputError):
        run(job)
    assert [one["status"] for one in told()] == ["refused"]
    deliver(traces(range(6)), tmp_path / "traces/a.parquet", 1)
    run(job)
    other = job.read_text().replace('"exact_match"', '"contains"')
    right = job.read_text()
    job.write_text(other)
    for _ in range(2):
        with pytest.raises(ConfigError, match="the suite is not the one"):
            run(job)
    assert [one["status"] for one in told()] == ["refused", "passed", "refused"]
    assert [(one.status, one.exit_code) for one in status(job).runs] == [
        ("refused", 3),
        ("passed", 0),
        ("refused", 2),
        ("refused", 2),
    ]
    assert any("refused (2): the suite is not the one" in line for line in status(job).lines())
    job.write_text(right)
    run(job)
    assert told()[-1]["status"] == "passed"


def test_what_nobody_foresaw_is_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(6)), tmp_path / "traces/a.parquet", 1)
    run(job)
    monkeypatch.setattr("polars_evals.jobs.runner.compare_and_judge", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(job)
    monkeypatch.undo()
    assert (status(job).runs[-1].status, status(job).runs[-1].exit_code) == ("failed unexpectedly", 70)


def test_something_else_that_goes_wrong_on_a_red_job_is_told(tmp_path: Path) -> None:
    alert, told = posts(tmp_path)
    job = red_job(tmp_path, alert)
    run(job)
    (tmp_path / "traces/broken.parquet").write_bytes(b"PAR1")
    run(job)
    run(job)
    assert len(told()) == 2
    assert any("broken.parquet" in line for line in told()[1]["lines"])
    job.write_text(job.read_text() + "[[gate]]\nmin_pass_rate = 1.0\n")
    run(job)
    run(job)
    assert len(told()) == 3
