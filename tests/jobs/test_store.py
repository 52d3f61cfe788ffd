"""What a store holds after runs: every key once, the newest row of it, whatever the order of events."""

import json
import os
from datetime import date, datetime
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.jobs import ConfigError, InputError, Job, StoreError, maintain, run, scan_store, status
from polars_evals.jobs import runner as run_module
from polars_evals.jobs.store import Store
from polars_evals.storage import atomic
from polars_evals.storage.objects import open_folder
from polars_evals.suite import signatures
from tests.jobs.support import deliver, make_job, read_store, table, traces


def test_new_files_are_added_once(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(50)), tmp_path / "traces/a.parquet", 100)
    first = run(job)
    assert (first.added, first.updated, first.rows, first.exit_code()) == (50, 0, 50, 0)
    before = table(tmp_path)
    version = read_store(tmp_path / "scores").version
    again = run(job)
    assert (again.added, again.updated, again.rows, dict(again.files)) == (0, 0, 50, {})
    assert read_store(tmp_path / "scores").version == version
    deliver(traces(range(50, 60)), tmp_path / "traces/deep/b.parquet", 200)
    assert run(job).added == 10
    assert_frame_equal(table(tmp_path).filter(pl.col("source_file") == "traces/a.parquet"), before)


def test_scores_are_those_of_the_suite(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    frame = traces(range(30))
    deliver(frame, tmp_path / "traces/a.parquet", 100)
    run(job)
    expected = Job.load(job).suite.score(frame).with_columns(pl.selectors.enum().cast(pl.String))
    stored = table(tmp_path).sort("source_row").select(expected.columns)
    assert_frame_equal(stored, expected)


def test_redelivered_rows_are_updated_by_key(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(20)), tmp_path / "traces/a.parquet", 100)
    run(job)
    better = traces(range(15, 25)).with_columns(expected=pl.col("output"))
    deliver(better, tmp_path / "traces/b.parquet", 200)
    outcome = run(job)
    assert (outcome.added, outcome.updated, outcome.rows) == (5, 5, 25)
    stored = table(tmp_path)
    assert stored["trace_id"].n_unique() == 25
    assert (
        stored.filter(pl.col("source_file") == "traces/b.parquet")["exact_match_score"].to_list()
        == [1.0] * 10
    )


def test_an_older_file_that_comes_late_does_not_win(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(10), note=["new"] * 10), tmp_path / "traces/a.parquet", 200)
    run(job)
    deliver(traces(range(5, 15), note=["old"] * 10), tmp_path / "traces/b.parquet", 100)
    outcome = run(job)
    assert (outcome.added, outcome.updated) == (5, 0)
    assert table(tmp_path).group_by("note").len().sort("note").rows() == [("new", 10), ("old", 5)]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(10)), tmp_path / "traces/a.parquet", 100)
    run(job)
    deliver(traces(range(12)), tmp_path / "traces/a.parquet", 300)
    outcome = run(job)
    assert (outcome.added, outcome.updated, outcome.rows) == (2, 10, 12)


def test_newest_is_told_by_a_column(tmp_path: Path) -> None:
    job = make_job(tmp_path, key='newest = "revision"')
    deliver(traces(range(4), revision=[5, 1, None, 5]), tmp_path / "traces/a.parquet", 300)
    deliver(traces(range(4), revision=[4, 2, 1, None]), tmp_path / "traces/b.parquet", 400)
    assert run(job).rows == 4
    assert table(tmp_path)["revision"].to_list() == [5, 2, 1, 5]


def test_keys_of_several_columns_and_repeats_within_a_file(tmp_path: Path) -> None:
    job = make_job(tmp_path, key='key = ["item_id", "model"]')
    twice = pl.concat([traces(range(10), note=["first"] * 10), traces(range(3), note=["second"] * 3)])
    deliver(
        pl.concat([twice, traces(range(10), "v2", note=["other"] * 10)]), tmp_path / "traces/a.parquet", 1
    )
    assert run(job).rows == 20
    notes = table(tmp_path).filter(pl.col("model") == "v1").sort("item_id")["note"].to_list()
    assert notes == ["second"] * 3 + ["first"] * 7


def test_columns_come_and_go(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 100)
    run(job)
    deliver(traces(range(3, 6), tokens=[1, 2, 3]).drop("topic"), tmp_path / "traces/b.parquet", 200)
    assert run(job).exit_code() == 0
    stored = table(tmp_path)
    assert stored["tokens"].to_list() == [None] * 3 + [1, 2, 3]
    assert stored["topic"].null_count() == 3
    deliver(traces(range(6, 9), tokens=["many"] * 3), tmp_path / "traces/c.parquet", 300)
    outcome = run(job)
    assert outcome.failures == {"traces/c.parquet": "column 'tokens' is String, but Int64 in the store"}
    assert (outcome.added, outcome.exit_code()) == (0, 3)


def test_every_kind_of_column_is_kept(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    frame = traces(range(2)).with_columns(
        small=pl.Series([1, 2], dtype=pl.UInt8),
        ratio=pl.Series([0.5, None], dtype=pl.Float32),
        kind=pl.Series(["a", "b"], dtype=pl.Categorical),
        day=pl.lit(date(2026, 1, 2)),
        local=pl.lit(datetime(2026, 1, 2, 3)),
        zoned=pl.lit(datetime(2026, 1, 2, 3)).dt.replace_time_zone("Europe/Berlin"),
        tags=pl.Series([["x"], []], dtype=pl.List(pl.String)),
        usage=pl.Series([{"in": 1}, {"in": None}]),
        nothing=pl.lit(None),
    )
    deliver(frame, tmp_path / "traces/a.parquet", 100)
    assert run(job).exit_code() == 0
    stored = scan_store(tmp_path / "scores").collect()
    assert stored["zoned"][0] == frame["zoned"][0]
    assert stored["usage"].to_list() == [{"in": 1}, {"in": None}]
    assert stored.schema["kind"] == pl.String
    assert "nothing" not in stored.columns


def test_rows_without_a_key_refuse_their_file_alone(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(5)), tmp_path / "traces/a.parquet", 100)
    keyless = traces(range(5, 8)).with_columns(
        trace_id=pl.when(pl.col("item_id") != "item-6").then("trace_id")
    )
    deliver(keyless, tmp_path / "traces/b.parquet", 200)
    outcome = run(job)
    assert outcome.rows == 5
    assert outcome.exit_code() == 3
    assert "1 of 3 rows has no trace_id" in outcome.failures["traces/b.parquet"]


def test_a_changed_suite_is_refused_and_rescored_on_request(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(30)), tmp_path / "traces/a.parquet", 100)
    run(job)
    before = table(tmp_path)
    deliver(traces(range(30, 40)), tmp_path / "traces/b.parquet", 200)
    make_job(tmp_path, suite='metric = [{ type = "levenshtein", threshold = 0.95 }, { type = "contains" }]')
    with pytest.raises(ConfigError, match="--rescore") as refusal:
        run(job)
    assert "threshold:0.95" in str(refusal.value)
    assert_frame_equal(table(tmp_path), before)
    outcome = run(job, rescore=True)
    assert (outcome.rescored, outcome.added, outcome.rows) == (True, 10, 40)
    stored = scan_store(tmp_path / "scores").collect()
    names = [name for name in stored.columns if name.endswith(("_score", "_label"))]
    assert sorted(names) == ["contains_label", "contains_score", "levenshtein_label", "levenshtein_score"]
    assert read_store(tmp_path / "scores").state.signatures == Job.load(job).suite.signature
    clean = tmp_path / "clean"
    make_job(clean, suite='metric = [{ type = "levenshtein", threshold = 0.95 }, { type = "contains" }]')
    deliver(traces(range(30)), clean / "traces/a.parquet", 100)
    deliver(traces(range(30, 40)), clean / "traces/b.parquet", 200)
    run(clean / "job.toml")
    assert_frame_equal(table(tmp_path), table(clean))
    assert run(job).added == 0


def test_signatures_travel_in_the_data_files(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 100)
    run(job)
    for part in read_store(tmp_path / "scores").parts:
        assert pe.signatures(part.path) == Job.load(job).suite.signature


def test_small_data_files_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "SMALL_FILES", 4)
    job = make_job(tmp_path)
    for number in range(6):
        deliver(traces(range(number * 10, number * 10 + 10)), tmp_path / f"traces/{number}.parquet", number)
        assert run(job).added == 10
    assert len(read_store(tmp_path / "scores").parts) < 4
    assert table(tmp_path)["trace_id"].n_unique() == 60


def test_a_key_that_changed_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 100)
    run(job)
    make_job(tmp_path, key='key = "item_id"')
    with pytest.raises(ConfigError, match="was made with key"):
        run(job)


def test_a_commit_on_an_outdated_snapshot_is_refused(tmp_path: Path) -> None:
    """What guards the store where file locks do not work."""
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 100)
    run(job)
    stale = read_store(tmp_path / "scores")
    deliver(traces(range(3, 6)), tmp_path / "traces/b.parquet", 200)
    run(job)
    before = table(tmp_path)
    store = Store(open_folder(tmp_path / "scores"))
    with pytest.raises(StoreError, match="another run changed the store"):
        store.commit(stale, stale.state, stale.schema, [])
    assert_frame_equal(table(tmp_path), before)


def test_other_tools_read_the_same_rows(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(10)), tmp_path / "traces/a.parquet", 100)
    run(job)
    deliver(traces(range(5, 15)), tmp_path / "traces/b.parquet", 200)
    run(job)
    path = tmp_path / "scores"
    mine = table(tmp_path)
    read = pl.read_delta(str(path))
    assert_frame_equal(read.select(mine.columns).sort("trace_id", "source_file", "source_row"), mine)


def test_the_store_in_the_folder_of_the_inputs_is_not_an_input(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    job.write_text(job.read_text().replace("traces/**/*.*", "**/*.parquet"))
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 100)
    for _ in range(2):
        assert run(job).rows == 3


def test_inputs_that_were_taken_may_go(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    with pytest.raises(InputError, match="matches no"):
        run(job)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 100)
    run(job)
    (tmp_path / "traces/a.parquet").unlink()
    deliver(traces(range(3, 6)), tmp_path / "traces/b.parquet", 100)
    assert (run(job).rows, run(job).exit_code()) == (6, 0)


def test_inputs_that_are_all_gone_are_no_success(tmp_path: Path) -> None:
    """Such as those of a file system that is not mounted; unless the job says that this is fine."""
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 100)
    run(job)
    (tmp_path / "traces/a.parquet").unlink()
    outcome = run(job)
    assert (outcome.rows, outcome.exit_code()) == (3, 3)
    [reason] = outcome.failures.values()
    assert "matches no" in reason
    job.write_text(job.read_text().replace("[input]", "[input]\nallow_empty = true"))
    outcome = run(job)
    assert (outcome.rows, outcome.exit_code()) == (3, 0)
    assert "matches no" in outcome.notes[0]


def test_exports_without_identifiers(tmp_path: Path) -> None:
    """Such as tables of two versions, which are told apart by their files."""
    job = make_job(tmp_path)
    nameless = traces(range(4)).drop("trace_id")
    deliver(nameless.with_columns(trace_id=pl.lit(None, pl.String)), tmp_path / "traces/v1.parquet", 100)
    outcome = run(job)
    assert "4 of 4 rows have no trace_id" in outcome.failures["traces/v1.parquet"]
    assert '["source_file", "source_row"]' in outcome.failures["traces/v1.parquet"]
    make_job(tmp_path, key='key = ["source_file", "source_row"]')
    for name in ("v1", "v2"):
        deliver(nameless, tmp_path / f"traces/{name}.parquet", 200)
    assert (run(job).rows, run(job).added) == (8, 0)
    deliver(traces(range(6)).drop("trace_id"), tmp_path / "traces/v2.parquet", 300)
    outcome = run(job)
    assert (outcome.added, outcome.updated, outcome.rows) == (2, 4, 10)


def test_the_log_of_commits_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files and the folders that name them are synced to disk, as data files are."""
    synced = list[str]()
    fsync = os.fsync

    def seen(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", seen)
    job = make_job(tmp_path)
    log = tmp_path / "scores/_delta_log"
    for number in range(2):
        synced.clear()
        deliver(traces(range(number, number + 3)), tmp_path / f"traces/{number}.parquet", number)
        run(job)
        assert {str(log / f"{number:020}.json"), str(log), str(log.parent)} <= set(synced)


def test_versions_that_share_a_key_are_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, more='[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n')
    both = pl.concat([traces(range(300), model) for model in ("v1", "v2")])
    same = both.with_columns(trace_id=pl.col("item_id"))
    deliver(same, tmp_path / "traces/a.parquet", 1)
    with pytest.raises(InputError, match=r"300 keys have rows of several models, such as .*v1, v2; .*`key`"):
        run(job)
    deliver(both, tmp_path / "traces/a.parquet", 2)
    assert run(job).rows == 600


def test_rows_that_replace_each_other_in_one_run_are_counted(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(10)), tmp_path / "traces/a.parquet", 1)
    deliver(traces(range(4)), tmp_path / "traces/b.parquet", 2)
    outcome = run(job)
    assert (outcome.rows, outcome.added, outcome.replaced) == (10, 10, 4)
    assert "4 replaced by others of the same key" in outcome.headline
    assert json.loads(outcome.to_json())["replaced"] == 4


def test_maintenance_after_a_change_of_the_suite_keeps_the_signatures(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    for number in range(2):
        deliver(traces(range(number * 3, number * 3 + 3)), tmp_path / f"traces/{number}.parquet", number)
        run(job)
    before = signatures([part.path for part in read_store(tmp_path / "scores").parts])
    make_job(tmp_path, suite='metric = [{ type = "exact_match" }, { type = "levenshtein", threshold = 0.9 }]')
    assert maintain(job)["files"] == 1
    assert signatures([part.path for part in read_store(tmp_path / "scores").parts]) == before


@pytest.mark.parametrize("change", [{"layout": 3}, {"later": 1}])
def test_a_store_of_a_newer_version_is_refused(tmp_path: Path, change: dict[str, int]) -> None:
    """What this version does not know would be lost with its next commit."""
    job = make_job(tmp_path)
    for number in range(2):
        deliver(traces(range(3)), tmp_path / f"traces/{number}.parquet", 1)
        run(job)
    state = max((tmp_path / "scores/_evals").glob("state-*"), key=lambda file: file.stat().st_mtime_ns)
    state.write_text(json.dumps({**json.loads(state.read_text()), **change}))
    log = sorted((tmp_path / "scores/_delta_log").iterdir())
    for action in (run, status, maintain, partial(maintain, restore=True)):
        with pytest.raises(StoreError, match="version of polars-evals"):
            action(job)
    assert sorted((tmp_path / "scores/_delta_log").iterdir()) == log


def test_a_log_that_names_files_elsewhere_touches_none(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    run(job)
    victim = tmp_path / "part-victim.parquet"
    traces(range(3)).write_parquet(victim)
    [log] = (tmp_path / "scores/_delta_log").glob("*.json")
    [name] = (file.name for file in (tmp_path / "scores").glob("part-*"))
    log.write_text(log.read_text().replace(name, "../part-victim.parquet"))
    for action in (run, maintain):
        with pytest.raises(StoreError, match="not a data file of a store"):
            action(job)
    assert victim.exists()


@pytest.mark.parametrize("name", ["job.toml", "evals.toml", "answers.csv", "page-someone"])
def test_a_report_does_not_overwrite_the_job(tmp_path: Path, name: str) -> None:
    (tmp_path / "evals.toml").write_text("[[metric]]\ntype = 'exact_match'\n")
    (tmp_path / "answers.csv").write_text("item_id,expected\n1,a\n")
    more = f"""
[input.dataset]
path = "answers.csv"
[alert]
command = ["./page-someone"]
[report]
summary = "./{name}"
"""
    job = make_job(tmp_path, suite='path = "evals.toml"', more=more)
    with pytest.raises(ConfigError, match="`summary` would overwrite"):
        Job.load(job)


def test_a_run_without_locks_leaves_the_staging_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_lock", lambda *_: False)
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    run(job)
    other = tmp_path / "scores/_evals/staging-other"
    other.mkdir()
    run(job)
    assert other.exists()
    # The other run may end, and remove it, while this one looks; a link that leads nowhere is as good.
    (tmp_path / "scores/_evals/staging-gone").symlink_to(tmp_path / "nowhere")
    run(job)
    os.utime(other, (1, 1))
    run(job)
    assert not other.exists()


def test_a_killed_run_leaves_no_texts_for_ever(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    run(job)
    left = [tmp_path / f"scores/part-{number:032x}.parquet" for number in range(2)]
    for file in left:
        traces(range(3)).write_parquet(file)
    os.utime(left[0], (1, 1))
    maintain(job, keep_days=0)
    assert [file.exists() for file in left] == [False, True]
    os.utime(left[1], (1, 1))
    deliver(traces(range(3, 6)), tmp_path / "traces/b.parquet", 1)
    run(job)
    assert not left[1].exists()
