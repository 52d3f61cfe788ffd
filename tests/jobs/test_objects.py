"""Inputs, store and reports in an object store: the same rows, exactly once, and errors in one line."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_evals.jobs import ConfigError, InputError, Job, StoreError, maintain, run
from polars_evals.jobs.runner import Watch
from polars_evals.jobs.store import Store
from polars_evals.storage.objects import Address, obstore, open_folder
from polars_evals.storage.paths import list_files
from polars_evals.storage.secrets import redacted
from polars_evals.traces.content import ENDINGS
from tests.jobs.objects import SECRET, Bucket, s3_bucket, s3_server
from tests.jobs.support import command, deliver, invoke, make_job, table, traces


@pytest.fixture(name="endpoint", scope="module")
def _endpoint() -> Iterator[str]:
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture(name="bucket")
def _bucket(endpoint: str) -> Bucket:
    return s3_bucket(endpoint, f"b-{uuid4().hex[:12]}")


COMPARE = '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n[[gate]]\nfail_on = "regressed"\n'


def test_a_job_in_an_object_store(tmp_path: Path, bucket: Bucket) -> None:
    """The same table as on this machine, after several days, with a file that came again."""
    days = {
        "traces/2026/v1.parquet": traces(range(50)),
        "traces/2026/v2.parquet": traces(range(50), "v2").with_columns(output=pl.lit("?")),
        "traces/2026/v1.1.parquet": traces(range(40, 60)).with_columns(output=pl.lit("later")),
    }
    reports = f'[report]\njunit = "{bucket.url}/out/report.xml"\nsummary = "{bucket.url}/out/summary.json"\n'
    there = bucket.job(tmp_path, COMPARE + reports)
    here = make_job(tmp_path / "here", COMPARE)
    for number, (name, frame) in enumerate(days.items()):
        # A bucket knows times to the second, and of two files of one second the name decides.
        time.sleep(1.1)
        bucket.put(frame, name)
        deliver(frame, tmp_path / "here" / name, 100 + number)
        outcome, expected = run(there), run(here)
        assert (outcome.rows, outcome.added, outcome.updated) == (
            expected.rows,
            expected.added,
            expected.updated,
        )
        assert outcome.exit_code() == expected.exit_code()
    assert run(there).added == 0
    mine = [name for name in table(tmp_path / "here").columns if not name.startswith("source_")]
    assert_frame_equal(bucket.table().select(mine), table(tmp_path / "here").select(mine))
    assert set(bucket.table()["source_file"]) <= {f"{bucket.url}/{name}" for name in days}
    folder = open_folder(f"{bucket.url}/out", bucket.options)
    assert json.loads(folder.read("summary.json"))["exit_code"] == 1
    assert b"<testsuites" in folder.read("report.xml")
    assert not [
        name for name in open_folder(bucket.url, bucket.options).files("scores/_evals") if "probe" in name
    ]


def test_two_runs_at_once(tmp_path: Path, bucket: Bucket) -> None:
    """There are no locks: the commit of one is refused, and nothing is lost, doubled or left behind."""
    job = bucket.job(tmp_path)
    bucket.put(traces(range(10)), "traces/a.parquet")
    for rows in (10, 20):
        if rows == 20:
            bucket.put(traces(range(10, 20)), "traces/b.parquet")
        with pytest.raises(StoreError, match="another run changed the store"):
            run(job, watch=Watch(start=lambda _: (run(job), None)[1]))
        assert len(bucket.table()) == rows
    assert run(job).rows == 20
    parts = [name for name in open_folder(f"{bucket.url}/scores", bucket.options).files() if "part-" in name]
    assert len(parts) == 2


def test_maintenance_beside_a_run_damages_nothing(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no locks: what a run has written and not committed yet stays, however little is kept."""
    job = bucket.job(tmp_path)
    for number in range(3):
        bucket.put(traces(range(number * 10, number * 10 + 10)), f"traces/{number}.parquet")
        run(job)
    bucket.put(traces(range(30, 40)), "traces/new.parquet")
    commit = Store.write_commit
    done = list[dict[str, object]]()

    def beside(store: Store, *arguments: Any) -> None:
        monkeypatch.setattr(Store, "write_commit", commit)
        done.append(maintain(job, keep_days=0))
        commit(store, *arguments)

    monkeypatch.setattr(Store, "write_commit", beside)
    with pytest.raises(StoreError, match="another run changed the store"):
        run(job)
    assert done[0]["files"] == 1
    assert len(bucket.table()) == 30
    assert run(job).rows == 40
    maintain(job, keep_days=0)
    assert len(bucket.table()) == 40


def test_http_has_to_be_allowed(bucket: Bucket) -> None:
    options = {key: value for key, value in bucket.options.items() if "allow_http" not in key}
    with pytest.raises(InputError, match="aws_allow_http"):
        list_files(f"{bucket.url}/x/*.parquet", ENDINGS, options)


def test_a_password_in_an_address_is_not_shown() -> None:
    told = redacted(
        "cannot reach http://user:passw0rd@host:9000/b nor abfss://box@account.dfs.core.windows.net/x"
    )
    assert told == "cannot reach http://***@host:9000/b nor abfss://box@account.dfs.core.windows.net/x"


def test_bad_objects_cost_themselves(tmp_path: Path, bucket: Bucket) -> None:
    job = bucket.job(tmp_path)
    bucket.put(traces(range(10)), "traces/good.parquet")
    folder = open_folder(bucket.url, bucket.options)
    folder.write("traces/bad.parquet", b"PAR1 no more")
    folder.write("traces/empty.parquet", b"")
    outcome = run(job)
    assert (outcome.rows, outcome.exit_code()) == (10, 3)
    assert sorted(outcome.failures) == [f"{bucket.url}/traces/{name}.parquet" for name in ("bad", "empty")]


def test_trace_exports_are_read_by_their_format(tmp_path: Path, bucket: Bucket) -> None:
    line = '{"trace_id": "%s", "output": "a", "expected": "a", "model": "v1"}\n'
    folder = open_folder(bucket.url, bucket.options)
    folder.write("lines/one=1/a.jsonl", (line % "x" + line % "y").encode())
    job = bucket.job(tmp_path)
    job.write_text(job.read_text().replace("traces/**/*.parquet", "lines"))
    assert run(job).rows == 2


def test_what_a_pattern_finds(bucket: Bucket) -> None:
    folder = open_folder(bucket.url, bucket.options)
    for name in ("a.parquet", "x/b.parquet", "x/y/c.jsonl", "x/.d.parquet", "x/e.txt", "xx/f.parquet"):
        folder.write(name, b"1")

    def found(pattern: str) -> list[str]:
        return [
            file.removeprefix(f"{bucket.url}/") for file in list_files(pattern, ENDINGS, bucket.options).files
        ]

    assert found(bucket.url) == ["a.parquet", "x/b.parquet", "x/y/c.jsonl", "xx/f.parquet"]
    assert found(f"{bucket.url}/x") == ["x/b.parquet", "x/y/c.jsonl"]
    assert found(f"{bucket.url}/*.parquet") == ["a.parquet"]
    assert found(f"{bucket.url}/**/*.parquet") == ["a.parquet", "x/b.parquet", "xx/f.parquet"]
    assert found(f"{bucket.url}/x/b.parquet") == ["x/b.parquet"]
    assert list_files(f"{bucket.url}/nowhere/*", ENDINGS, bucket.options).unreadable


def test_the_command_reads_and_writes_there(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the environment that all tools know."""
    for name, value in bucket.options.items():
        monkeypatch.setenv(name.upper(), value)
    bucket.put(traces(range(50)), "traces/v1.parquet")
    bucket.put(traces(range(50), "v2"), "traces/v2.parquet")
    output = f"{bucket.url}/out/scored.parquet"
    done = invoke("score", f"{bucket.url}/traces", "--metric", "exact_match", "-o", output)
    assert done[0] == 0, done
    options = ["--version", "model", "--baseline", "v1", "--item", "item_id"]
    code, out, error = invoke("compare", output, *options, "--junit", f"{bucket.url}/out/report.xml")
    assert (code, "exact_match" in out) == (0, True), error
    assert b"testsuites" in open_folder(bucket.url, bucket.options).read("out/report.xml")


@pytest.mark.parametrize("where", ["store", "input"])
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, bucket: Bucket, where: str) -> None:
    bucket.put(traces(range(10)), "traces/a.parquet")
    good = bucket.job(tmp_path).read_text()
    name = bucket.url.removeprefix("s3://")
    place = f'path = "{bucket.url}/{"scores" if where == "store" else "traces"}'
    cases = {
        "there is no such bucket": good.replace(place, place.replace(name, "nowhere-at-all")),
        "it cannot be reached": good.replace(bucket.options["aws_endpoint_url"], "http://127.0.0.1:1"),
    }
    for expected, text in cases.items():
        job = tmp_path / "bad.toml"
        job.write_text(text)
        code, out, error = invoke("run", job)
        assert code == 3, error
        assert expected in error
        assert len(error.strip().splitlines()) == 1
        assert SECRET not in out + error


def test_refused_credentials_are_told_and_not_shown(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_folder(f"{bucket.url}/x", bucket.options)
    library = obstore()

    def refuse(*_: object, **__: object) -> None:
        raise library.exceptions.PermissionDeniedError(
            f"Server returned non-2xx status code: 403: <Code>InvalidAccessKeyId</Code> key {SECRET}"
        )

    monkeypatch.setattr(library, "list_with_delimiter", refuse)
    with pytest.raises(StoreError, match=r"the credentials are not accepted.*\(InvalidAccessKeyId\)") as told:
        folder.files()
    assert SECRET not in str(told.value)


def test_options_are_never_shown(tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "a-secret-of-the-environment")
    job = bucket.job(tmp_path)
    job.write_text(job.read_text().replace(f'"{SECRET}"', '{ env = "MY_KEY" }'))
    loaded = Job.load(job)
    assert loaded.store.storage_options is not None
    assert loaded.store.storage_options["aws_secret_access_key"] == "a-secret-of-the-environment"
    assert "a-secret" not in repr(loaded)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(ConfigError, match="names the variable MY_KEY, which is not set"):
        Job.load(job)


@pytest.mark.parametrize(
    "key",
    [
        f'{{"private_key": "{SECRET}", "client_email": ',
        json.dumps({"private_key": f"-----BEGIN {SECRET}", "private_key_id": "x", "client_email": "a@b"}),
    ],
)
def test_a_key_that_cannot_be_read_is_not_shown(tmp_path: Path, key: str) -> None:
    """Not as text, and not as a list of its bytes either."""
    job = Bucket("gs://somewhere", {"google_service_account_key": key}).job(tmp_path)
    ended = command("--debug", "--log", tmp_path / "errors.log", "run", job)
    assert ended.returncode == 2, ended.stderr
    assert "storage_options" in ended.stderr
    told = ended.stdout + ended.stderr + (tmp_path / "errors.log").read_text()
    assert SECRET not in told
    assert ", ".join(map(str, SECRET.encode()[:4])) not in re.sub(r"\s+", " ", told)


def test_a_store_without_conditional_put_is_refused(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    import obstore

    put = obstore.put

    def overwrite(*arguments: object, mode: str | None = None, **options: object) -> object:
        return put(*arguments, **options)

    monkeypatch.setattr(obstore, "put", overwrite)
    bucket.put(traces(range(3)), "traces/a.parquet")
    with pytest.raises(StoreError, match="no conditional put"):
        run(bucket.job(tmp_path))


def test_a_broken_connection_is_taken_up_again(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the byte where it broke; and an object that was replaced meanwhile is left to the next run."""
    import obstore

    from polars_evals.storage.objects import download

    folder = open_folder(bucket.url, bucket.options)
    content = bytes(range(256)) * 4096
    folder.write("large.jsonl", content)
    listed = list_files(f"{bucket.url}/large.jsonl", ENDINGS, bucket.options)
    get, asked = obstore.get, []

    class Broken:
        def __init__(self, whole: object) -> None:
            self.whole = whole

        def stream(self, **options: object) -> Iterator[bytes]:
            first = bytes(next(iter(self.whole.stream(min_chunk_size=1000))))  # type: ignore[attr-defined]
            yield first[:1000]
            raise obstore.exceptions.GenericError("connection reset")

    def breaking(store: object, key: str, *, options: dict[str, object]) -> object:
        asked.append(options.get("range"))
        whole = get(store, key, options=options)
        return Broken(whole) if len(asked) < 4 else whole

    monkeypatch.setattr(obstore, "get", breaking)
    copies, failures = download(listed.entries, tmp_path / "copies", bucket.options)
    assert failures == {}
    assert Path(copies[f"{bucket.url}/large.jsonl"]).read_bytes() == content
    assert asked[0] is None
    assert asked[3] == {"offset": 3000}
    folder.write("large.jsonl", content[:1000])
    _, failures = download(listed.entries, tmp_path / "again", bucket.options)
    assert "changed while it was read" in failures[f"{bucket.url}/large.jsonl"]


@pytest.mark.parametrize("address", ["s3:///path", "ftp://x/y", "file:///x"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ConfigError):
        Address.of(address)


def test_azure_addresses() -> None:
    found = Address.of("abfss://box@account.dfs.core.windows.net/a/b/")
    assert (found.host, found.path) == ("box@account.dfs.core.windows.net", "a/b")


def test_an_input_error_is_no_store_error(bucket: Bucket) -> None:
    with pytest.raises(InputError, match="there is no such bucket"):
        list_files("s3://nowhere-at-all/x/*.parquet", ENDINGS, bucket.options)


def test_old_rows_go_there_too(tmp_path: Path, bucket: Bucket) -> None:
    job = bucket.job(tmp_path, 'keep = "90d"\ntime = "ts"\n')
    ages = [datetime.now(UTC) - timedelta(days=days) for days in (200, 80, 10)]
    bucket.put(traces(range(3), ts=ages), "traces/a.parquet")
    assert run(job).rows == 2
    bucket.put(traces(range(6), ts=[*ages, *ages]), "traces/a.parquet")
    outcome = run(job)
    assert (outcome.added, outcome.updated, outcome.rows) == (2, 2, 4)
    done = maintain(job, keep="30d", keep_days=0)
    assert (done["forgotten"], done["rows"], done["files"]) == (2, 2, 1)
    assert bucket.table()["trace_id"].to_list() == ["v1-2", "v1-5"]
    assert run(job).added == 0
