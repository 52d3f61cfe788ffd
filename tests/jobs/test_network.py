"""Object stores behind a network that fails: answers lost, connections cut, keys and regions refused."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from polars_evals.jobs import run
from polars_evals.storage.objects import download, open_folder
from polars_evals.storage.paths import list_files
from polars_evals.traces.content import ENDINGS
from tests.jobs.objects import SECRET, Bucket, s3_bucket, s3_server
from tests.jobs.support import command, deliver, invoke, make_job, start, traces

COMMIT = re.compile(r"/_delta_log/\d+\.json$|/_evals/manifest-\d+\.json$")


class Network:
    """Stands before the server; `meddle` gets a request and a function that lets the server answer it."""

    def __init__(self) -> None:
        self.meddle: Callable[[dict[str, Any], Callable[[], Any]], Any] | None = None
        self.endpoint = ""

    def around(self, app: Any) -> Any:
        def between(environ: dict[str, Any], start_response: Any) -> Any:
            def pass_on() -> list[bytes]:
                return [b"".join(app(environ, start_response))]

            if self.meddle is None:
                return app(environ, start_response)
            answer = self.meddle({**environ, "start": start_response}, pass_on)
            return pass_on() if answer is None else answer

        return between

    def bucket(self) -> Bucket:
        return s3_bucket(self.endpoint, f"b-{uuid4().hex[:12]}")


@pytest.fixture(name="network")
def _network() -> Iterator[Network]:
    network = Network()
    with s3_server(network.around) as endpoint:
        network.endpoint = endpoint
        yield network


def refused(request: dict[str, Any], status: str, code: str) -> list[bytes]:
    """Answer as Amazon does when it refuses."""
    request["start"](status, [("Content-Type", "application/xml")])
    return [f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode()]


def is_commit(request: dict[str, Any]) -> bool:
    return request["REQUEST_METHOD"] == "PUT" and bool(COMMIT.search(request["PATH_INFO"]))


def test_a_commit_whose_answer_is_lost_counts_once(tmp_path: Path, network: Network) -> None:
    """The server has it, the client hears of an error, asks again and is told that it is there."""
    bucket = network.bucket()
    job = bucket.job(tmp_path)
    bucket.put(traces(range(10)), "traces/a.parquet")
    lost = []

    def lose(request: dict[str, Any], pass_on: Callable[[], Any]) -> Any:
        if is_commit(request) and request["PATH_INFO"] not in lost:
            lost.append(request["PATH_INFO"])
            pass_on()
            return refused(request, "503 Slow Down", "SlowDown")
        return None

    network.meddle = lose
    for number in range(3):
        bucket.put(traces(range(10 * number, 10 * number + 15)), f"traces/{number}.parquet")
        assert run(job).rows == 15 + 10 * number
    assert len(lost) >= 3
    assert run(job).added == 0
    assert bucket.table()["trace_id"].n_unique() == 35


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_it_commits(tmp_path: Path, network: Network, moment: str) -> None:
    """By the server, when it gets the commit: before it keeps it, or before it can answer."""
    bucket = network.bucket()
    job = bucket.job(tmp_path)
    bucket.put(traces(range(10)), "traces/a.parquet")
    run(job)
    bucket.put(traces(range(5, 20)), "traces/b.parquet")
    killed: list[subprocess.Popen[str]] = []

    def kill(request: dict[str, Any], pass_on: Callable[[], Any]) -> Any:
        if not is_commit(request) or process.poll() is not None:
            return None
        answer = pass_on() if moment == "after" else []
        process.kill()
        killed.append(process)
        if moment == "before":
            request["start"]("500 Killed", [])
        return answer

    process = start("run", job)
    network.meddle = kill
    process.communicate()
    assert killed == [process]
    network.meddle = None
    assert len(bucket.table()) == (10 if moment == "before" else 20)
    assert run(job).added == (10 if moment == "before" else 0)
    assert bucket.table()["trace_id"].n_unique() == 20
    assert run(job).added == 0


def cutting(pieces: int, length: int, seen: list[str]) -> Callable[..., Any]:
    """Cut the connection after so many bytes, of so many answers."""

    def cut(request: dict[str, Any], pass_on: Callable[[], Any]) -> Any:
        if request["REQUEST_METHOD"] != "GET" or not request["PATH_INFO"].endswith(".jsonl"):
            return None
        seen.append(request.get("HTTP_RANGE", ""))
        if len(seen) > pieces:
            return None
        [body] = pass_on()

        def some() -> Iterator[bytes]:
            yield body[:length]
            raise ConnectionAbortedError

        return some()

    return cut


@pytest.mark.filterwarnings("ignore")
def test_a_connection_that_is_cut_is_taken_up_where_it_broke(tmp_path: Path, network: Network) -> None:
    bucket = network.bucket()
    folder = open_folder(bucket.url, bucket.options)
    rows = [{"trace_id": str(n), "output": "x" * 50, "expected": "x" * 50} for n in range(20_000)]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    folder.write("traces/a.jsonl", content)
    seen: list[str] = []
    network.meddle = cutting(3, len(content) // 5, seen)
    listed = list_files(f"{bucket.url}/traces/a.jsonl", ENDINGS, bucket.options)
    copies, failures = download(listed.entries, tmp_path / "copies", bucket.options)
    assert failures == {}
    assert Path(copies[f"{bucket.url}/traces/a.jsonl"]).read_bytes() == content
    assert seen[0] == ""
    assert all(re.fullmatch(r"bytes=\d+-\d*", asked) for asked in seen[1:])
    assert len(set(seen)) > 2
    job = bucket.job(tmp_path)
    job.write_text(job.read_text().replace("**/*.parquet", "*.jsonl"))
    seen.clear()
    assert (run(job).rows, run(job).exit_code()) == (20_000, 0)


@pytest.mark.parametrize("wrong", ["aws_access_key_id", "aws_secret_access_key"])
@pytest.mark.parametrize("where", ["store", "input"])
def test_keys_that_the_server_refuses(
    tmp_path: Path, network: Network, wrong: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the server's own check of keys and signatures."""
    bucket = network.bucket()
    import boto3  # type: ignore[import-untyped]

    bucket.put(traces(range(5)), "traces/a.parquet")
    iam = boto3.client(
        "iam",
        endpoint_url=network.endpoint,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    user = f"u-{uuid4().hex[:8]}"
    iam.create_user(UserName=user)
    allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName=user, PolicyName="all", PolicyDocument=document)
    key = iam.create_access_key(UserName=user)["AccessKey"]
    good = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    local = make_job(tmp_path / "local")
    if where == "store":
        deliver(traces(range(5)), tmp_path / "local/traces/a.parquet", 1)
    bucket.options.update({**good, wrong: SECRET})
    told = "\n".join(f"{name} = {json.dumps(value)}" for name, value in bucket.options.items())
    text = local.read_text()
    text = (
        text.replace('"scores"', f'"{bucket.url}/scores"')
        if where == "store"
        else text.replace("traces/**/*.*", f"{bucket.url}/traces/*")
    )
    local.write_text(f"[storage_options]\n{told}\n{text}")
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
    log = tmp_path / "errors.log"
    ended = command("--log", log, "run", local)
    assert ended.returncode == 3, ended.stderr
    expected = "InvalidAccessKeyId" if wrong == "aws_access_key_id" else "SignatureDoesNotMatch"
    assert f"the credentials are not accepted, or may not do this ({expected})" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert good["aws_secret_access_key"] not in ended.stderr + log.read_text()
    if wrong == "aws_secret_access_key":
        assert SECRET not in ended.stdout + ended.stderr + log.read_text()


@pytest.mark.parametrize(
    ("status", "code", "meaning"),
    [
        ("301 Moved Permanently", "", "the region is wrong"),
        ("400 Bad Request", "AuthorizationHeaderMalformed", "the region is wrong"),
        ("403 Forbidden", "AccessDenied", "the credentials are not accepted"),
        ("403 Forbidden", "RequestTimeTooSkewed", "the clock of this machine is wrong"),
    ],
)
def test_what_amazon_refuses_is_told_in_a_line(
    tmp_path: Path, network: Network, status: str, code: str, meaning: str
) -> None:
    """In the words that its documentation has for it."""
    bucket = network.bucket()
    bucket.put(traces(range(5)), "traces/a.parquet")
    job = bucket.job(tmp_path)
    network.meddle = lambda request, _: refused(request, status, code)
    found, out, error = invoke("run", job)
    assert (found, len(error.strip().splitlines())) == (3, 1), error
    assert meaning in error
    assert code in error
    assert SECRET not in out + error


def test_no_secret_in_anything_that_a_job_writes(tmp_path: Path, network: Network) -> None:
    """A whole day of a job with reports in the bucket, and one on which the server is gone."""
    bucket = network.bucket()
    more = f"""[compare]
version = "model"
baseline = "v1"
item = "item_id"
[[gate]]
fail_on = "regressed"
[report]
html = "{bucket.url}/out/page.html"
junit = "{bucket.url}/out/report.xml"
summary = "{bucket.url}/out/summary.json"
markdown = "{bucket.url}/out/report.md"
items = "{bucket.url}/out/items.csv"
"""
    job = bucket.job(tmp_path, more)
    for model in ("v1", "v2"):
        bucket.put(traces(range(30), model), f"traces/{model}.parquet")
    open_folder(bucket.url, bucket.options).write("traces/bad.parquet", b"PAR1")
    log = tmp_path / "errors.log"
    code, out, error = invoke("--log", log, "run", job)
    assert code == 3
    root = open_folder(bucket.url, bucket.options)
    folders = ("out", "scores", "scores/_evals", "scores/_evals/runs", "scores/_delta_log")
    written = b"".join(root.read(f"{folder}/{name}") for folder in folders for name in root.files(folder))
    assert b"regressed" in written
    assert SECRET.encode() not in written
    network.meddle = lambda request, _: refused(request, "500 Oops", f"Internal{SECRET}")
    code, more_out, more_error = invoke("--debug", "--log", log, "run", job)
    assert code == 3
    told = log.read_text() if log.exists() else ""
    assert SECRET not in out + error + more_out + more_error + told
