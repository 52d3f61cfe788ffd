"""Object stores under stress, on servers of this machine: kills, runs at once, many objects."""

import json
import os
import random
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_evals.jobs import StoreError, run
from polars_evals.jobs.runner import Watch
from polars_evals.storage.objects import open_folder
from polars_evals.storage.paths import list_files
from polars_evals.traces.content import ENDINGS
from tests.jobs.objects import (
    Bucket,
    azure_container,
    azure_server,
    google_bucket,
    s3_bucket,
    s3_server,
    speaking_as_google,
)
from tests.jobs.support import command, deliver, make_job, start, table, traces

pytestmark = pytest.mark.stores

KILLS = int(os.environ.get("EVALS_KILLS", "10"))


@pytest.fixture(name="s3", scope="module")
def _s3() -> Iterator[str]:
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture(name="azure", scope="module")
def _azure() -> Iterator[str]:
    with azure_server() as endpoint:
        yield endpoint


@pytest.fixture(name="google", scope="module")
def _google() -> Iterator[str]:
    with s3_server(speaking_as_google) as endpoint:
        yield endpoint


@pytest.fixture(name="bucket", params=["s3", "google", "azure"])
def _bucket(request: pytest.FixtureRequest) -> Bucket:
    make = {"s3": s3_bucket, "google": google_bucket, "azure": azure_container}[request.param]
    return make(request.getfixturevalue(request.param), f"b-{uuid4().hex[:12]}")


def test_the_same_table_as_on_this_machine(tmp_path: Path, bucket: Bucket) -> None:
    there, here = bucket.job(tmp_path), make_job(tmp_path / "here")
    for number in range(4):
        frame = traces(range(number * 30, number * 30 + 50))
        bucket.put(frame, f"traces/{number}.parquet")
        deliver(frame, tmp_path / f"here/traces/{number}.parquet", number)
        assert run(there).rows == run(here).rows
    mine = [name for name in table(tmp_path / "here").columns if not name.startswith("source_")]
    assert_frame_equal(bucket.table().select(mine), table(tmp_path / "here").select(mine))


def test_a_second_run_is_refused(tmp_path: Path, bucket: Bucket) -> None:
    job = bucket.job(tmp_path)
    bucket.put(traces(range(10)), "traces/a.parquet")
    with pytest.raises(StoreError, match="another run changed the store"):
        run(job, watch=Watch(start=lambda _: (run(job), None)[1]))
    assert len(bucket.table()) == 10


def test_killed_at_any_time(tmp_path: Path, bucket: Bucket) -> None:
    """A reader always sees all of a run or nothing of it, and the next run does what is left to do."""
    job = bucket.job(tmp_path)
    bucket.put(traces(range(500)), "traces/a.parquet")
    began = time.monotonic()
    assert command("run", job).returncode == 0
    length = time.monotonic() - began
    before = bucket.table()
    bucket.put(traces(range(400, 900)), "traces/b.parquet")
    chance = random.Random(1)
    for _ in range(KILLS):
        process = start("run", job)
        time.sleep(chance.uniform(0.3, 1.1) * length)
        process.kill()
        process.communicate()
        found = bucket.table()
        assert len(found) in (500, 900)
        if len(found) == 500:
            assert_frame_equal(found, before)
    assert run(job).rows == 900
    assert bucket.table()["trace_id"].n_unique() == 900
    assert run(job).added == 0


def test_many_runs_at_once(tmp_path: Path, bucket: Bucket) -> None:
    job = bucket.job(tmp_path)
    for number in range(3):
        bucket.put(traces(range(number * 100, number * 100 + 100)), f"traces/{number}.parquet")
    processes = [start("run", job, "--json") for _ in range(4)]
    ended = [(process.communicate(), process.returncode) for process in processes]
    assert {code for _, code in ended} <= {0, 3}, ended
    added = [json.loads(out)["added"] for (out, _), code in ended if code == 0]
    assert sum(added) == 300
    for (_, error), code in ended:
        assert code == 0 or "another run changed the store" in error
    assert len(bucket.table()) == 300
    assert run(job).added == 0


def test_ten_thousand_objects(s3: str) -> None:
    bucket = s3_bucket(s3, f"b-{uuid4().hex[:12]}")
    folder = open_folder(bucket.url, bucket.options)
    traces(range(5)).write_parquet(held := BytesIO())
    content = held.getvalue()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: folder.write(f"traces/day={n % 7}/{n:05}.parquet", content), range(10_000)))
    began = time.monotonic()
    listing = list_files(f"{bucket.url}/traces/**/*.parquet", ENDINGS, bucket.options)
    assert len(listing.files) == 10_000
    assert time.monotonic() - began < 60
    assert len(list_files(f"{bucket.url}/traces/day=3/*.parquet", ENDINGS, bucket.options).files) == 1_429


def test_wrong_keys_of_azure(tmp_path: Path, azure: str) -> None:
    bucket = azure_container(azure, f"b-{uuid4().hex[:12]}")
    bucket.put(traces(range(10)), "traces/a.parquet")
    good = bucket.options["azure_storage_account_key"]
    bucket.options["azure_storage_account_key"] = "AAAA" + good[4:]
    ended = command("run", bucket.job(tmp_path))
    assert ended.returncode == 3, ended.stderr
    assert "the credentials are not accepted" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert good[4:] not in ended.stderr + ended.stdout


def test_gzip_lines_in_a_bucket(tmp_path: Path, bucket: Bucket) -> None:
    import gzip

    lines = "".join(
        json.dumps({"trace_id": str(n), "output": "a", "expected": "a"}) + "\n" for n in range(1_000)
    )
    open_folder(bucket.url, bucket.options).write("traces/a.jsonl.gz", gzip.compress(lines.encode()))
    job = bucket.job(tmp_path)
    job.write_text(job.read_text().replace("**/*.parquet", "*.jsonl.gz"))
    assert run(job).rows == 1_000
    assert bucket.table().select(pl.col("exact_match_score").mean()).item() == 1.0
