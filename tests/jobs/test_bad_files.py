"""One bad file costs one file: it is set aside by name, the others are taken, and the exit code says so."""

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from polars_evals.jobs import ConfigError, Job, StoreError, run
from polars_evals.jobs.ingest import Ingest
from polars_evals.jobs.runner import Watch
from polars_evals.storage import atomic
from tests.jobs.support import deliver, make_job, table, traces

ROW = '"trace_id": "%s", "output": "a", "expected": "a"'


def lines(*more: str) -> str:
    return "".join(f"{{{ROW % number}, {text}}}\n" for number, text in enumerate(more))


def nested(depth: int) -> str:
    return '{"a": ' * depth + "1" + "}" * depth


def test_empty_objects_are_kept_as_far_as_they_can_be(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    odd = '"metadata": {}, "usage": {"input": {}, "tokens": 3}, "calls": [{"arguments": {}}]'
    (tmp_path / "traces/a.jsonl").write_text(lines(odd, odd))
    outcome = run(job)
    assert (outcome.rows, outcome.exit_code()) == (2, 0)
    held = table(tmp_path)
    assert "metadata" not in held.columns
    assert held["usage"].to_list() == [{"input": "{}", "tokens": 3}] * 2
    assert held["calls"].to_list() == [[{"arguments": "{}"}]] * 2
    (tmp_path / "traces/b.jsonl").write_text(lines('"metadata": {"user": "x"}').replace('"0"', '"9"'))
    assert run(job).exit_code() == 0
    assert table(tmp_path)["metadata"].drop_nulls().to_list() == [{"user": "x"}]


@pytest.mark.parametrize("dtype", [pl.UInt64, pl.Int128])
def test_numbers_beyond_what_a_store_holds(tmp_path: Path, dtype: type[pl.UInt64] | type[pl.Int128]) -> None:
    job = make_job(tmp_path)
    huge = traces(range(3)).with_columns(size=pl.lit(2**63 + 5, dtype))
    small = traces(range(3, 6)).with_columns(size=pl.lit(7, dtype))
    deliver(huge, tmp_path / "traces/huge.parquet", 1)
    deliver(small, tmp_path / "traces/small.parquet", 1)
    outcome = run(job)
    assert (list(outcome.failures), outcome.rows, outcome.exit_code()) == (["traces/huge.parquet"], 3, 3)
    assert "size" in outcome.failures["traces/huge.parquet"]
    assert table(tmp_path)["size"].to_list() == [7, 7, 7]


@pytest.mark.parametrize(
    "bad",
    [
        '"Output": "b"',
        '"meta": {"a": 1, "A": 2}',
        f'"deep": {nested(60)}',
        r'"tok\u0000ns": 1',
        r'"m": {"\u0000": 1}',
    ],
    ids=["columns", "keys", "nesting", "null in a column", "null in a key"],
)
def test_what_delta_cannot_hold(tmp_path: Path, bad: str) -> None:
    job = make_job(tmp_path)
    (tmp_path / "traces/bad.jsonl").write_text(lines(bad))
    deliver(traces(range(3)), tmp_path / "traces/good.parquet", 1)
    outcome = run(job)
    assert (list(outcome.failures), outcome.rows, outcome.exit_code()) == (["traces/bad.jsonl"], 3, 3)
    assert "Delta table" in outcome.failures["traces/bad.jsonl"]


def test_whole_numbers_and_others_in_either_order(tmp_path: Path) -> None:
    tables = []
    for order in ((0, 1), (1, 0)):
        folder = tmp_path / str(order[0])
        job = make_job(folder)
        files = {
            "whole.parquet": traces(range(3), cost=[1, 2, 3]),
            "other.parquet": traces(range(3, 6), cost=[0.5, 1.5, 2.5]),
        }
        for place in order:
            name = list(files)[place]
            deliver(files[name], folder / "traces" / name, 1)
            outcome = run(job)
            assert (outcome.failures, outcome.exit_code()) == ({}, 0)
        assert run(job).rows == 6
        tables.append(table(folder))
    assert tables[0].schema["cost"] == pl.Float64()
    assert_frame_equal(*tables)


def test_parquet_that_arrow_does_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)

    def refuse(*_: object) -> None:
        raise pq.ParquetFile.__init__.__globals__["pa"].ArrowInvalid("Couldn't deserialize thrift")

    monkeypatch.setattr(pq, "read_metadata", refuse)
    assert (run(job).rows, run(job).exit_code()) == (3, 0)


def test_a_file_on_which_polars_panics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    for name in ("a", "panics", "z"):
        deliver(traces(range(3), name), tmp_path / f"traces/{name}.parquet", 1)
    query = Ingest._query

    def panic(self: Ingest, reading: Any, sources: list[object]) -> Any:
        if any("panics" in str(source) for source in sources):
            raise pl.exceptions.PanicException("index out of bounds")
        return query(self, reading, sources)  # type: ignore[arg-type]

    monkeypatch.setattr(Ingest, "_query", panic)
    outcome = run(job)
    assert (list(outcome.failures), outcome.rows, outcome.exit_code()) == (["traces/panics.parquet"], 6, 3)
    assert "index out of bounds" in outcome.failures["traces/panics.parquet"]


@pytest.mark.parametrize("name", ["a%20b", "a\\b", "100%", "ä ö"])
def test_a_store_of_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    job = make_job(folder)
    for number in range(2):
        deliver(traces(range(number, number + 3)), folder / f"traces/{number}.parquet", number)
        run(job)
    assert len(table(folder)) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def test_two_first_runs_at_once_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    monkeypatch.setattr(atomic, "_lock", lambda *_: False)
    inner = []

    def meddle(_: int) -> None:
        # The first run has read that there is no store, and now another one begins and ends.
        inner.append(run(job).rows)

    with pytest.raises(StoreError, match=r"another run changed the store|cannot be written"):
        run(job, watch=Watch(start=meddle))
    assert inner == [3]
    assert len(table(tmp_path)) == 3
    assert len(list((tmp_path / "scores").glob("part-*"))) == 1
    assert (run(job).rows, run(job).exit_code()) == (3, 0)


def test_a_commit_that_fails_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    run(job)
    before = {file.name for file in (tmp_path / "scores").rglob("*") if file.is_file()}
    deliver(traces(range(3, 6)), tmp_path / "traces/b.parquet", 2)

    def fail(*_: object, **__: object) -> None:
        raise Exception("something of Delta's own")  # noqa: TRY002

    with monkeypatch.context() as patched:
        patched.setattr("polars_evals.jobs.store.Store.transact", fail)
        patched.setattr("polars_evals.storage.atomic.place", lambda *_: fail())
        with pytest.raises((StoreError, Exception), match="something of Delta's own"):
            run(job)
    after = {file.name for file in (tmp_path / "scores").rglob("*") if file.is_file()}
    assert {name for name in after - before if name.startswith("part-")} == set()
    assert run(job).rows == 6


def test_a_small_file_that_unpacks_to_an_endless_line(tmp_path: Path) -> None:
    """300 MB of one line in 1 MB of gzip: refused by name, without ever holding it."""
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    with gzip.open(tmp_path / "traces/endless.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(b'{"trace_id": "x", "output": "')
        for _ in range(300):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n')
    outcome = run(job)
    assert (outcome.rows, list(outcome.failures)) == (3, ["traces/endless.jsonl.gz"])
    assert "a line of more than 256 MB" in outcome.failures["traces/endless.jsonl.gz"]


def test_a_report_inside_the_store_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, more='[report]\nsummary = "scores/summary.json"')
    with pytest.raises(ConfigError, match=r"\[report\]: `summary` is inside the store"):
        Job.load(job)


def test_files_damaged_at_random(tmp_path: Path) -> None:
    """`make faults` damages thousands."""
    from tests.jobs import damage

    (tmp_path / "traces").mkdir()
    damage.damaged(tmp_path, 40, 5)
    taken, aside = damage.check(tmp_path)
    assert taken >= damage.WHOLE
    assert taken + aside == damage.WHOLE + 40


def test_gzip_data_that_is_broken_in_the_middle(tmp_path: Path) -> None:
    """Where the unpacking itself fails, and not the end of the file."""
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    packed = bytearray(gzip.compress("".join(lines(*['"x": 1'] * 200)).encode()))
    packed[20:40] = b"\xff" * 20
    (tmp_path / "traces/broken.jsonl.gz").write_bytes(packed)
    outcome = run(job)
    assert (outcome.rows, list(outcome.failures)) == (3, ["traces/broken.jsonl.gz"])
    assert "its gzip data is broken" in outcome.failures["traces/broken.jsonl.gz"]


def test_objects_whose_keys_come_and_go(tmp_path: Path) -> None:
    """As metadata has it: further keys, whole numbers and others, objects in lists; in either order."""
    days = {
        "a.jsonl": ('{"user": "x", "cost": 1}', '[{"name": "f", "n": 1}]'),
        "b.jsonl": ('{"cost": 0.5, "deep": {"k": [1]}}', '[{"name": "g", "ok": true}]'),
        "c.jsonl": ('{"deep": {"k": [2.5], "l": 1}, "user": null}', "[]"),
    }
    tables = []
    for order in (("a", "b", "c"), ("c", "b", "a"), ("abc",)):
        folder = tmp_path / "".join(order) / str(len(order))
        job = make_job(folder)
        for names in order:
            for name in names:
                metadata, calls = days[f"{name}.jsonl"]
                text = lines(f'"metadata": {metadata}, "calls": {calls}').replace('"0"', f'"{name}"')
                (folder / f"traces/{name}.jsonl").write_text(text)
            outcome = run(job)
            assert (outcome.failures, outcome.exit_code()) == ({}, 0)
        tables.append(table(folder).drop("source_time"))
    held = tables[0].sort("trace_id")
    assert held["metadata"].to_list() == [
        {"cost": 1.0, "deep": None, "user": "x"},
        {"cost": 0.5, "deep": {"k": [1.0], "l": None}, "user": None},
        {"cost": None, "deep": {"k": [2.5], "l": 1}, "user": None},
    ]
    assert held["calls"].to_list() == [
        [{"n": 1, "name": "f", "ok": None}],
        [{"n": None, "name": "g", "ok": True}],
        None,
    ]
    for other in tables[1:]:
        # A list that is empty in all that is read together has no type, and is null.
        none = pl.when(pl.col("calls").list.len() > 0).then("calls")
        assert_frame_equal(other.with_columns(calls=none), tables[0])


@pytest.mark.parametrize("first", [["many"], [0.5]], ids=["another type", "a wider type"])
def test_a_file_that_is_not_taken_has_no_say_in_the_columns(tmp_path: Path, first: list[object]) -> None:
    job = make_job(tmp_path)
    without_key = traces(range(3), tokens=first * 3, odd=["x"] * 3).with_columns(
        trace_id=pl.lit(None, pl.String)
    )
    deliver(without_key, tmp_path / "traces/a.parquet", 1)
    for number in range(2):
        deliver(traces(range(3), f"m{number}", tokens=[1, 2, 3]), tmp_path / f"traces/b{number}.parquet", 1)
    outcome = run(job)
    assert (list(outcome.failures), outcome.rows, outcome.exit_code()) == (["traces/a.parquet"], 6, 3)
    assert table(tmp_path).schema["tokens"] == pl.Int64
    assert "odd" not in table(tmp_path).columns


@pytest.mark.parametrize("name", ["path", "row", "__path", "__row", "path____", ""])
def test_columns_of_any_name(tmp_path: Path, name: str) -> None:
    job = make_job(tmp_path)
    for model in ("v1", "v2"):
        frame = traces(range(3), model).with_columns(pl.lit(model).alias(name))
        deliver(frame, tmp_path / f"traces/{model}.parquet", 1)
    outcome = run(job)
    assert (outcome.rows, outcome.failures) == (6, {})
    assert table(tmp_path)[name].to_list() == ["v1"] * 3 + ["v2"] * 3


@pytest.mark.parametrize("name", ["__part", "__key_hash", "source_row"])
def test_columns_whose_names_the_store_needs(tmp_path: Path, name: str) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)).with_columns(pl.lit(1).alias(name)), tmp_path / "traces/a.parquet", 1)
    deliver(traces(range(3), "v2"), tmp_path / "traces/b.parquet", 1)
    outcome = run(job)
    assert (list(outcome.failures), outcome.rows) == (["traces/a.parquet"], 3)
