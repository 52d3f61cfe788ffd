"""Rows do not stay for ever where the job says so, and do not come back with the files they came from."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from polars_evals.jobs import ConfigError, Job, StoreError, maintain, run
from polars_evals.jobs.retention import Retention
from tests.jobs.support import deliver, invoke, make_job, table, traces

TODAY = datetime.now(UTC)
COMPARE = '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n'


def aged(rows: range, days: list[float], model: str = "v1", **columns: Any) -> pl.DataFrame:
    """Make traces of so many days ago each."""
    return traces(rows, model, ts=[TODAY - timedelta(days=age) for age in days], **columns)


def test_old_rows_go_and_do_not_come_back(tmp_path: Path) -> None:
    job = make_job(tmp_path, key='keep = "90d"')
    deliver(aged(range(6), [200, 120, 92, 88, 10, 0]), tmp_path / "traces/a.parquet", 1)
    outcome = run(job)
    assert (outcome.added, outcome.rows, outcome.exit_code()) == (3, 3, 0)
    assert any("deleted 3 rows older than" in note for note in outcome.notes)
    assert table(tmp_path)["trace_id"].to_list() == ["v1-3", "v1-4", "v1-5"]
    assert (run(job).added, run(job).rows) == (0, 3)
    # The file grows, and comes as a whole again.
    deliver(aged(range(8), [200, 120, 92, 88, 10, 0, 300, 1]), tmp_path / "traces/a.parquet", 2)
    outcome = run(job)
    assert (outcome.added, outcome.updated, outcome.rows) == (1, 3, 4)


def test_rows_go_with_the_days_also_when_nothing_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(tmp_path, key='keep = "90d"')
    deliver(aged(range(4), [80, 60, 40, 20]), tmp_path / "traces/a.parquet", 1)
    deliver(aged(range(4, 8), [30, 20, 10, 0]), tmp_path / "traces/b.parquet", 2)
    assert run(job).rows == 8
    for later, left in ((15, 7), (65, 4), (200, 4)):
        limit = TODAY + timedelta(days=later - 90)
        monkeypatch.setattr(Retention, "limit", lambda _, limit=limit: limit)
        outcome = run(job)
        assert (outcome.rows, outcome.added, outcome.exit_code()) == (left, 0, 0)
        assert len(table(tmp_path)) == left
    deliver(aged(range(8, 10), [0, -120]), tmp_path / "traces/c.parquet", 3)
    outcome = run(job)
    assert (outcome.added, outcome.rows) == (1, 1)


def test_a_first_run_whose_rows_are_all_too_old_is_remembered(tmp_path: Path) -> None:
    gate = '[[gate]]\nmetric = "exact_match"\nmin_pass_rate = 0.1\n'
    job = make_job(tmp_path, key='keep = "30d"', more=gate)
    deliver(aged(range(3), [200, 120, 92]), tmp_path / "traces/a.parquet", 1)
    outcome = run(job)
    assert (outcome.added, outcome.rows, outcome.exit_code()) == (0, 0, 1)
    assert any("deleted 3 rows older than" in note for note in outcome.notes)
    again = run(job)
    assert (again.files, again.exit_code()) == ({}, 1)
    code, out, _ = invoke("status", job, "--json")
    assert code == 0
    assert [one["status"] for one in json.loads(out)["runs"]] == [outcome.status, again.status]
    deliver(aged(range(3, 5), [1, 0]), tmp_path / "traces/b.parquet", 2)
    assert (run(job).rows, table(tmp_path)["trace_id"].to_list()) == (2, ["v1-3", "v1-4"])


def test_a_candidate_whose_rows_went_is_no_candidate_to_come(tmp_path: Path) -> None:
    compare = COMPARE + 'candidate = "v2"\n[[gate]]\nfail_on = "regressed"\n'
    job = make_job(tmp_path, key='keep = "30d"\nkeep_baseline = true', more=compare)
    deliver(aged(range(3), [200, 120, 92]), tmp_path / "traces/a.parquet", 1)
    waiting = run(job)
    assert ([gate.status for gate in waiting.gates], waiting.exit_code()) == (["skipped"], 0)
    deliver(aged(range(3), [200, 120, 92], "v2"), tmp_path / "traces/b.parquet", 2)
    for _ in range(2):
        outcome = run(job)
        assert ([gate.status for gate in outcome.gates], outcome.exit_code()) == (["failed"], 1)
        assert any(
            'no rows yet of v2; keep = "30d" in [store] deletes old rows' in note for note in outcome.notes
        )


def test_on_request(tmp_path: Path) -> None:
    """Without a word in the job file; what went stays away when its file changes."""
    job = make_job(tmp_path)
    old = aged(range(4), [400, 300, 20, 10])
    deliver(old, tmp_path / "traces/a.parquet", 1)
    deliver(aged(range(4, 6), [500, 400]), tmp_path / "traces/b.parquet", 1)
    assert run(job).rows == 6
    code, out, _ = invoke("maintain", job, "--keep", "1y", "--json")
    done = json.loads(out)
    assert (code, done["forgotten"], done["rows"], done["files"]) == (0, 3, 3, 1)
    assert maintain(job, keep="1y")["forgotten"] == 0
    assert run(job).added == 0
    deliver(pl.concat([old, aged(range(9, 11), [700, 1])]), tmp_path / "traces/a.parquet", 2)
    outcome = run(job)
    assert (outcome.added, outcome.rows) == (1, 4)
    # What was never here may be old: nobody said that it must not come.
    deliver(aged(range(20, 22), [700, 600]), tmp_path / "traces/backfill.parquet", 3)
    assert run(job).rows == 6
    maintain(job, keep_days=0)
    assert len(list((tmp_path / "scores").glob("part-*"))) == 1
    assert len(table(tmp_path)) == 6


def test_a_newer_row_that_is_too_old_takes_the_place_of_its_key(tmp_path: Path) -> None:
    """The newest row of a key counts, and then goes: no older one shows up behind it."""
    job = make_job(tmp_path, key='keep = "90d"')
    deliver(aged(range(2), [10, 10]), tmp_path / "traces/a.parquet", 1)
    assert run(job).rows == 2
    deliver(aged(range(1), [365]), tmp_path / "traces/b.parquet", 2)
    outcome = run(job)
    assert (outcome.rows, outcome.added, outcome.updated) == (1, 0, 1)


def test_the_baseline_may_stay(tmp_path: Path) -> None:
    frames = {"v1": aged(range(30), [200] * 30), "v2": aged(range(30), [1] * 30, "v2")}
    for keep, code, rows in (("", 2, 30), ("keep_baseline = true", 0, 60)):
        folder = tmp_path / f"kept{rows}"
        gate = f'{COMPARE}[[gate]]\nfail_on = "regressed"\n'
        job = make_job(folder, gate, key=f'keep = "90d"\n{keep}')
        for model, frame in frames.items():
            deliver(frame, folder / f"traces/{model}.parquet", 1)
        found, _, error = invoke("run", job)
        assert found == code, error
        assert len(table(folder)) == rows
        if not keep:
            assert 'keep = "90d"' in error


@pytest.mark.parametrize(
    ("ts", "rows"),
    [
        ([date(2001, 1, 1), date.today()], 1),
        ([datetime(2001, 1, 1), None], 1),
        (["2001-01-01", date.today().isoformat()], 1),
    ],
)
def test_times_of_any_kind(tmp_path: Path, ts: list[Any], rows: int) -> None:
    """A row without a time is as old as its file."""
    job = make_job(tmp_path, key='keep = "90d"')
    now = int(TODAY.timestamp())
    deliver(traces(range(2), ts=ts), tmp_path / "traces/a.parquet", now)
    assert run(job).rows == rows


def test_a_column_of_texts_is_no_column_of_times(tmp_path: Path) -> None:
    job = make_job(tmp_path, key='keep = "90d"\ntime = "topic"')
    deliver(traces(range(2)), tmp_path / "traces/a.parquet", int(TODAY.timestamp()))
    with pytest.raises(ConfigError, match=r'which holds String.*time = "source_time"'):
        run(job)
    job.write_text(job.read_text().replace('"topic"', '"source_time"'))
    assert run(job).rows == 2


def test_tables_without_times_go_by_those_of_their_files(tmp_path: Path) -> None:
    job = make_job(tmp_path, key='keep = "90d"')
    deliver(traces(range(3)), tmp_path / "traces/old.parquet", 1)
    deliver(traces(range(3, 5)), tmp_path / "traces/new.parquet", int(TODAY.timestamp()))
    assert run(job).rows == 2


def test_a_wrong_clock_does_not_empty_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path, key='keep = "90d"')
    deliver(aged(range(3), [1, 1, 1]), tmp_path / "traces/a.parquet", 1)
    run(job)
    with monkeypatch.context() as wrong:
        wrong.setattr(Retention, "limit", lambda _: TODAY + timedelta(days=10_000))
        outcome = run(job)
        assert outcome.rows == 3
        assert any("is the clock right?" in note for note in outcome.notes)
        with pytest.raises(StoreError, match=r"is the clock right\?"):
            maintain(job)
    deliver(aged(range(4), [1, 1, 1, 1]), tmp_path / "traces/a.parquet", 2)
    assert run(job).rows == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('keep = "3h"', "a day or more"),
        ('keep = "soon"', "a day or more"),
        ('keep = "-90d"', "a day or more"),
        ("keep = 90", "must be a length of time"),
        ('time = "ts"', "`time` needs `keep`"),
        ('keep = "9d"\nkeep_baseline = true', r"needs a section \[compare\]"),
        ('kep = "9d"', 'did you mean "keep"'),
    ],
)
def test_wrong_settings_are_told_when_the_job_is_read(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Job.load(make_job(tmp_path, key=text))
