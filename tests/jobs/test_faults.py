"""What happens when things go wrong, tried for real: killed processes, full disks, broken files."""

import fcntl
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_evals.jobs import StoreError, run, scan_store, status
from polars_evals.jobs.runner import Watch
from polars_evals.jobs.store import find_store
from tests.jobs.support import command, deliver, invoke, make_job, read_store, start, table, traces

# `make faults` raises it.
KILLS = int(os.environ.get("EVALS_KILLS", "5"))
KILLED = Path(__file__).parent / "killed.py"


def first_day(folder: Path) -> None:
    for number in range(3):
        deliver(
            traces(range(number * 400, number * 400 + 500)), folder / f"traces/{number}.parquet", 100 + number
        )


def second_day(folder: Path) -> None:
    """Deliver old rows again, with a column that is new, and new ones."""
    again = traces(range(1_000, 1_600), cost=[0.5] * 600).with_columns(output=pl.col("expected"))
    deliver(again, folder / "traces/3.parquet", 200)


def undisturbed(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the table after each day of a job that nothing happens to."""
    job = make_job(folder)
    first_day(folder)
    run(job)
    before = table(folder)
    second_day(folder)
    run(job)
    return before, table(folder)


@contextmanager
def killer(job: Path) -> Iterator[Callable[[int], int]]:
    """Give a function that runs the job up to a step and returns its exit code."""
    process = subprocess.Popen(
        [sys.executable, KILLED, "run", str(job)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run_until(step: int) -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        print(step, file=process.stdin, flush=True)
        return int(process.stdout.readline())

    with process:
        yield run_until


def test_killed_at_any_step_and_run_again(tmp_path: Path) -> None:
    """Kill runs of two days, over and over on one store; a reader always sees all of a run or nothing."""
    before, after = undisturbed(tmp_path / "calm")
    folder = tmp_path / "killed"
    job = make_job(folder)
    first_day(folder)
    steps = sorted(random.Random(1).sample(range(1, 60), min(KILLS, 59)))
    with killer(job) as run_until:
        ends = []
        for step in steps:
            ends.append(run_until(step))
            if find_store(folder / "scores"):
                assert_frame_equal(table(folder), before)
        run(job)
        assert_frame_equal(table(folder), before)
        second_day(folder)
        for step in steps:
            ends.append(run_until(step))
            found = table(folder)
            if len(found) == len(before):
                assert_frame_equal(found.select(before.columns), before)
            else:
                assert_frame_equal(found, after)
    assert set(ends) <= {0, -signal.SIGKILL}
    assert ends.count(-signal.SIGKILL) >= len(steps) // 2
    run(job)
    assert_frame_equal(table(folder), after)
    assert not list((folder / "scores/_evals").glob("staging-*"))


def test_killed_at_any_time_and_run_again(tmp_path: Path) -> None:
    before, after = undisturbed(tmp_path / "calm")
    folder = tmp_path / "killed"
    job = make_job(folder)
    first_day(folder)
    began = time.monotonic()
    assert command("run", job).returncode == 0
    length = time.monotonic() - began
    second_day(folder)
    chance = random.Random(1)
    for _ in range(max(2, KILLS // 2)):
        process = start("run", job)
        time.sleep(chance.uniform(0.3, 1.1) * length)
        process.kill()
        process.communicate()
        found = table(folder)
        assert len(found) in (len(before), len(after))
    run(job)
    assert_frame_equal(table(folder), after)
    assert run(job).added == 0


def test_runs_at_once_lose_and_duplicate_nothing(tmp_path: Path) -> None:
    before, _ = undisturbed(tmp_path / "calm")
    folder = tmp_path / "crowded"
    job = make_job(folder)
    first_day(folder)
    processes = [start("run", job, "--json") for _ in range(2)]
    results = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], results
    assert sorted(json.loads(out)["added"] for out, _ in results) == [0, len(before)]
    assert_frame_equal(table(folder), before)


def test_a_second_run_says_that_it_waits(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    first_day(tmp_path)
    run(job)
    with open(tmp_path / "scores/_evals/lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start("run", job)
        assert process.stderr is not None
        assert "another run holds" in process.stderr.readline()
        assert process.poll() is None
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_disk_full(tmp_path: Path) -> None:
    """A file system of 600 kB, which the first run fits in and the second does not."""
    job = make_job(tmp_path)
    inside = f"""
        cd '{tmp_path}'
        mount -t tmpfs -o size=600k tmpfs scores || exit 99
        {sys.executable} -m polars_evals.cli run '{job}' > first.out 2>&1; echo $? > first
        mv large.parquet traces/large.parquet
        {sys.executable} -m polars_evals.cli run '{job}' > second.out 2>&1; echo $? > second
        cp -r scores copy
    """
    (tmp_path / "scores").mkdir()
    first_day(tmp_path)
    noise = random.Random(1)
    large = traces(range(5_000, 8_000)).with_columns(
        output=pl.Series([noise.randbytes(200).hex() for _ in range(3_000)])
    )
    deliver(large, tmp_path / "large.parquet", 200)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", inside], capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr}")
    assert (tmp_path / "first").read_text().strip() == "0", (tmp_path / "first.out").read_text()
    told = (tmp_path / "second.out").read_text()
    assert (tmp_path / "second").read_text().strip() == "3", told
    assert "nothing was added" in told
    assert "Traceback" not in told
    assert not list((tmp_path / "copy/_evals").glob("staging-*/*"))
    os.rmdir(tmp_path / "scores")
    os.rename(tmp_path / "copy", tmp_path / "scores")
    assert len(table(tmp_path)) == 1_300
    assert run(job).rows == 4_300


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """The same with the limit on file sizes that any user can set."""
    job = make_job(tmp_path)
    first_day(tmp_path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))

    ended = command("run", job, preexec_fn=limit)
    assert ended.returncode == 3, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "cannot be written" in ended.stderr
    assert run(job).rows == 1_300


def test_bad_files_are_set_apart(tmp_path: Path) -> None:
    job = make_job(tmp_path, more='[report]\njunit = "report.xml"')
    good = [traces(range(n * 10, n * 10 + 10)) for n in range(4)]
    for number, frame in enumerate(good):
        deliver(frame, tmp_path / f"traces/good-{number}.parquet", number)
    whole = (tmp_path / "traces/good-0.parquet").read_bytes()
    (tmp_path / "traces/truncated.parquet").write_bytes(whole[:-100])
    (tmp_path / "traces/empty.parquet").write_bytes(b"")
    (tmp_path / "traces/no-json.jsonl").write_text(
        '{"trace_id": "x", "output": "a", "expected": "a"}\n{"trace_id"'
    )
    deliver(good[0].drop("output"), tmp_path / "traces/no-output.parquet", 5)
    deliver(good[0].drop("trace_id"), tmp_path / "traces/no-key.parquet", 5)
    flipped = tmp_path / "traces/flipped.parquet"
    noise = random.Random(2)
    long = traces(range(100, 400)).with_columns(
        output=pl.Series([noise.randbytes(50).hex() for _ in range(300)])
    )
    deliver(long, flipped, 6)
    damaged = bytearray(flipped.read_bytes())
    for place in range(len(damaged) // 3, len(damaged) // 2):
        damaged[place] ^= 0xFF
    flipped.write_bytes(damaged)
    ended = command("run", job, "--json")
    assert ended.returncode == 3, ended.stderr
    result = json.loads(ended.stdout)
    bad = [
        "empty.parquet",
        "flipped.parquet",
        "no-key.parquet",
        "no-output.parquet",
        "truncated.parquet",
    ]
    assert sorted(result["failures"]) == [f"traces/{name}" for name in bad]
    # The record that is cut off is counted; the one before it is taken.
    assert (result["rows"], result["broken"]) == (41, {"traces/no-json.jsonl": 1})
    assert "trace_id" in result["failures"]["traces/no-key.parquet"]
    assert (tmp_path / "report.xml").read_text().count("<error") == len(bad)
    (tmp_path / "traces/truncated.parquet").write_bytes(whole)
    for name in bad[:-1]:
        (tmp_path / "traces" / name).unlink()
    assert command("run", job).returncode == 0


def test_a_file_that_vanishes_or_changes_under_way(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    for number in range(3):
        deliver(traces(range(number * 10, number * 10 + 10)), tmp_path / f"traces/{number}.parquet", number)

    def meddle(_: int) -> None:
        (tmp_path / "traces/1.parquet").unlink()

    outcome = run(job, watch=Watch(start=meddle))
    assert list(outcome.failures) == ["traces/1.parquet"]
    assert "no longer exists" in outcome.failures["traces/1.parquet"]
    assert (outcome.rows, outcome.exit_code()) == (20, 3)

    deliver(traces(range(100, 110)), tmp_path / "traces/1.parquet", 50)
    touched = Watch(start=lambda _: os.utime(tmp_path / "traces/1.parquet", (60, 60)))
    outcome = run(job, watch=touched)
    assert "changed while it was read" in outcome.failures["traces/1.parquet"]
    assert outcome.rows == 20
    assert run(job).rows == 30


def spoil_log(store: Path) -> None:
    last = max((store / "_delta_log").glob("*.json"))
    last.write_bytes(last.read_bytes()[:40])


def remove_log(store: Path) -> None:
    shutil.rmtree(store / "_delta_log")


def remove_data(store: Path) -> None:
    next(store.glob("part-*")).unlink()


def cut_data(store: Path) -> None:
    part = next(store.glob("part-*"))
    part.write_bytes(part.read_bytes()[:-1])


def remove_state(store: Path) -> None:
    for file in store.glob("_evals/state-*"):
        file.unlink()


@pytest.mark.parametrize("spoil", [spoil_log, remove_log, remove_data, cut_data, remove_state])
def test_a_damaged_store_is_refused_and_left_alone(tmp_path: Path, spoil: object) -> None:
    assert callable(spoil)
    job = make_job(tmp_path)
    deliver(traces(range(10)), tmp_path / "traces/a.parquet", 1)
    run(job)
    spoil(tmp_path / "scores")
    deliver(traces(range(10, 20)), tmp_path / "traces/b.parquet", 2)

    def content() -> dict[str, bytes]:
        return {
            str(file): file.read_bytes()
            for file in (tmp_path / "scores").rglob("*")
            if file.is_file() and file.parent.name != "runs"
        }

    before = content()
    with pytest.raises(StoreError, match="damaged and was left as it is"):
        run(job)
    assert content() == before


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(10)), tmp_path / "traces/a.parquet", 1)
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores/thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match="is not a store of scores"):
        run(job)
    assert os.listdir(tmp_path / "scores") == ["thesis.txt"]
    traces(range(3)).write_delta(tmp_path / "table")
    job.write_text(job.read_text().replace('"scores"', '"table"'))
    with pytest.raises(StoreError, match="is not a store of scores"):
        run(job)
    assert len(pl.read_delta(str(tmp_path / "table"))) == 3


@pytest.mark.parametrize("spoil", [spoil_log, remove_data, cut_data, remove_state])
def test_a_damaged_store_is_restored(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """The next run takes again what is lost."""
    job, calm = make_job(tmp_path / "job"), make_job(tmp_path / "calm")
    for one in (job, calm):
        for number in range(2):
            frame = traces(range(number * 10, number * 10 + 10))
            deliver(frame, one.parent / f"traces/{number}.parquet", number)
            run(one)
    if spoil is remove_state:
        max((job.parent / "scores/_evals").glob("state-*"), key=os.path.getmtime).unlink()
    else:
        spoil(job.parent / "scores")
    code, _, error = invoke("run", job)
    assert (code, "maintain JOB --restore" in error) == (3, True)
    assert invoke("maintain", job, "--restore")[0] == 0
    assert run(job).rows == 20
    assert_frame_equal(table(job.parent), table(calm.parent))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_stop_the_run_at_once(tmp_path: Path, number: signal.Signals) -> None:
    """In the middle of a query that would take minutes."""
    long = "metric = [{ type = 'levenshtein', max_chars = 1000000 }]"
    job = make_job(tmp_path, suite=long)
    deliver(traces(range(10)), tmp_path / "traces/a.parquet", 1)
    run(job)
    before = table(tmp_path)
    noise = random.Random(3)
    texts = [noise.randbytes(20_000).hex() for _ in range(20)]
    slow = pl.DataFrame({"trace_id": [str(n) for n in range(4_000)]}).with_columns(
        output=pl.Series(texts * 200), expected=pl.Series(texts[1:] * 200 + texts[:1] * 200)
    )
    deliver(slow, tmp_path / "traces/slow.parquet", 2)
    process = start("run", job)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "scores/_evals").glob("staging-*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(number)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert f"stopped by {number.name}" in told
    assert_frame_equal(table(tmp_path), before)


def test_a_reader_keeps_its_snapshot_while_runs_go_on(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(10)), tmp_path / "traces/a.parquet", 1)
    run(job)
    reader = scan_store(tmp_path / "scores")
    for number in range(5):
        deliver(traces(range(12 + number)), tmp_path / "traces/a.parquet", 2 + number)
        run(job)
    assert reader.collect().height == 10
    assert read_store(tmp_path / "scores").rows == 16


WRITER = """
import sys
from pathlib import Path
from polars_evals.jobs import maintain, run
from tests.jobs.support import deliver, traces

folder = Path(sys.argv[1])
for number in range(int(sys.argv[2])):
    # The rows of before are replaced, so that each commit removes data files.
    deliver(traces(range(20)), folder / "traces/a.parquet", 10 + number)
    run(folder / "job.toml")
    if number % 3 == 2:
        maintain(folder / "job.toml", keep_days=0)
"""


def test_a_store_can_be_read_while_another_process_commits(tmp_path: Path) -> None:
    """From the first commit on it is there, and never looks damaged."""
    job = make_job(tmp_path)
    arguments = [sys.executable, "-c", WRITER, str(tmp_path), "25"]
    with subprocess.Popen(arguments, cwd=Path(__file__).parents[2]) as writer:
        while not (tmp_path / "scores/_delta_log/00000000000000000000.json").exists():
            assert writer.poll() is None
        reads = 0
        while writer.poll() is None:
            assert read_store(tmp_path / "scores").rows == 20
            scan_store(tmp_path / "scores").collect_schema()
            assert status(job).now.rows == 20
            reads += 1
        assert writer.returncode == 0
    assert reads > 3
