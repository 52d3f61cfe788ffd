"""Frames larger than memory: what a run holds does not grow with its input."""

import gzip
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from time import sleep

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from polars_evals.cli.reading import score_input
from polars_evals.jobs import InputError, inputs, run
from polars_evals.jobs.inputs import Input
from polars_evals.suite import Metric, Suite
from tests.jobs.support import make_job, start, table, traces

KILOBYTES = 4


def peak(*arguments: object) -> float:
    """Return the most memory, in MB, that the command had of its own: mapped files do not count."""
    most = 0
    with start(*arguments) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            found = re.search(r"RssAnon:\s+(\d+)", status.read_text())
            most = max(most, int(found[1]) if found else 0)
            sleep(0.01)
        assert process.returncode == 0, process.stderr and process.stderr.read()
    return most / 1024


@pytest.mark.parametrize("name", ["run", "score"])
def test_what_is_held_hardly_grows(tmp_path: Path, name: str) -> None:
    """One row group holds all rows, as many writers make it. Texts repeat, so that writing them is quick."""
    peaks, raw = list[float](), list[float]()
    # More than two batches either way: Polars scores that many at once.
    for rows in (100_000, 180_000):
        folder = tmp_path / str(rows)
        job = make_job(folder, suite='metric = [{ type = "exact_match" }]')
        text = pl.lit("x" * 1_000 * KILOBYTES) + pl.col("trace_id")
        pl.DataFrame({"trace_id": pl.int_range(rows, eager=True).cast(pl.String)}).with_columns(
            output=text, expected=text
        ).write_parquet(folder / "traces/a.parquet", row_group_size=rows)
        options = [folder / "traces", "--metric", "exact_match", "--output", folder / "o.parquet"]
        peaks.append(peak(name, *([job] if name == "run" else options)))
        raw.append(2 * rows * KILOBYTES / 1000)
        written = folder / ("scores/part-*.parquet" if name == "run" else "o.parquet")
        scored = pl.scan_parquet(written).select(pl.len(), pl.col("exact_match_score").mean())
        assert scored.collect().row(0) == (rows, 1.0)
    assert peaks[1] - peaks[0] < 0.25 * (raw[1] - raw[0]), peaks
    assert peaks[1] < 0.75 * raw[1], peaks


@pytest.mark.parametrize("where", ["traces/a.parquet", "traces/model=v1/a b.parquet"])
def test_large_row_groups_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    tables = []
    for largest in (inputs.LARGEST_ROW_GROUP, 0):
        monkeypatch.setattr(inputs, "LARGEST_ROW_GROUP", largest)
        monkeypatch.setattr(inputs, "STEP_BYTES", 1_000)
        folder = tmp_path / str(largest)
        job = make_job(folder)
        (folder / where).parent.mkdir(exist_ok=True)
        traces(range(100)).write_parquet(folder / where)
        assert run(job).exit_code() == 0
        tables.append(table(folder).drop("source_time"))
        assert not list((folder / "scores").rglob("*copies*"))
    assert_frame_equal(*tables)


VALUES: dict[str, pl.Series] = {
    "enum": pl.Series(["a", None], dtype=pl.Enum(["b", "a"])),
    "categorical": pl.Series(["a", None], dtype=pl.Categorical),
    "decimal": pl.Series([Decimal("1.5"), None]),
    "time zone": pl.Series([datetime(2020, 1, 1, tzinfo=UTC), None]).dt.convert_time_zone("Europe/Berlin"),
    "nanoseconds": pl.Series([datetime(2020, 1, 1), None], dtype=pl.Datetime("ns")),
    "milliseconds": pl.Series([datetime(2020, 1, 1), None], dtype=pl.Datetime("ms")),
    "date": pl.Series([date(2020, 1, 1), None]),
    "time": pl.Series([time(1, 2, 3), None]),
    "duration": pl.Series([timedelta(1), None]),
    "binary": pl.Series([b"\xff", None]),
    "list": pl.Series([["a", None], None]),
    "struct": pl.Series([{"a": 1, "b": [{"c": "x"}]}, None]),
    "array": pl.Series([[1.0, 2.0], None], dtype=pl.Array(pl.Float32, 2)),
    "null": pl.Series([None, None]),
    "small": pl.Series([1, None], dtype=pl.Int8),
    "large": pl.Series([2**63, None], dtype=pl.UInt64),
    "huge": pl.Series([2**100, None], dtype=pl.Int128),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_copy_with_small_row_groups_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(inputs, "LARGEST_ROW_GROUP", 0)
    monkeypatch.setattr(inputs, "STEP_BYTES", 1)
    frame = pl.DataFrame({"name": VALUES[name], "text": ["x", "y"]})
    frame.write_parquet(file := tmp_path / "a.parquet")
    copy = inputs.with_small_row_groups(str(file), tmp_path / "copies")
    assert (copy == str(file)) == (name == "huge")  # which Arrow cannot read
    assert_frame_equal(pl.read_parquet(copy, hive_partitioning=False), pl.read_parquet(file))


def test_small_files_are_read_as_they_are(tmp_path: Path) -> None:
    traces(range(10)).write_parquet(file := tmp_path / "a.parquet")
    assert inputs.with_small_row_groups(str(file), tmp_path / "copies") == str(file)
    assert not (tmp_path / "copies").exists()


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "jsonl.gz"])
def test_steps_are_as_long_as_their_rows_allow(tmp_path: Path, kind: str) -> None:
    def steps(frame: pl.DataFrame) -> tuple[int, int]:
        file = tmp_path / f"a.{kind}"
        if kind == "parquet":
            frame.write_parquet(file)
        else:
            text = frame.write_ndjson().encode()
            file.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
        with inputs.small_steps(inputs.row_bytes(str(file))) as rows:
            state = pl.Config.state(env_only=True)
            # As Polars calls it today, and called it before.
            set_to = state.get("POLARS_IDEAL_MORSEL_SIZE") or state.get("POLARS_STREAMING_CHUNK_SIZE")
            return int(set_to or 0), rows

    short = pl.DataFrame({"n": range(1_000)})
    assert steps(short) == (inputs.STEP_ROWS, inputs.ROW_GROUP_ROWS)
    long = steps(pl.select(text=pl.format("{}" + "x" * 9_990, pl.int_range(1_000))))
    assert long == pytest.approx((inputs.STEP_BYTES / 10_000, inputs.ROW_GROUP_BYTES / 10_000), rel=0.05)
    assert steps(short.clear()) == (inputs.STEP_ROWS, inputs.ROW_GROUP_ROWS)


def test_long_lines_anywhere_in_a_file_count(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    short = ['{"n": 1}\n'] * 200_000
    file.write_text(
        "".join([*short, '{"n": "' + "x" * 100_000 + '"}\n', *short, *["x" * 50_000 + "\n"] * 100])
    )
    assert inputs.row_bytes(str(file)) > 20_000


@pytest.mark.parametrize("place", ["", "model=v9"])
def test_a_copy_keeps_the_name_and_folders_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Folders named `key=value` hold values, but those of the copy mean nothing."""
    (tmp_path / place).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / place)
    traces(range(20), model="real").write_parquet("a.parquet")
    Path("model=v2").mkdir()
    traces(range(20), model="real").drop("model").write_parquet("model=v2/a.parquet")
    found = []
    for largest in (inputs.LARGEST_ROW_GROUP, 0):
        monkeypatch.setattr(inputs, "LARGEST_ROW_GROUP", largest)
        output = Path(f"out/model=v3/{largest}.parquet")
        source = Input(
            ["a.parquet", "model=v2/a.parquet"], "generic", {"model": "model"}, keep=["source_file"]
        )
        score_input(source, Suite([Metric("exact_match")]), output, "polars")
        found.append(pl.read_parquet(output, hive_partitioning=False))
        assert [file.name for file in output.parent.iterdir() if file.name.startswith(".")] == []
    assert_frame_equal(*found)
    assert set(found[1]["model"]) == {"real", "v2"}
    assert set(found[1]["source_file"]) == {"a.parquet", "model=v2/a.parquet"}


def test_old_times_are_those_that_polars_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LARGEST_ROW_GROUP", 0)
    table = pa.table({"ts": pa.array([datetime(3020, 1, 1)], pa.timestamp("us")), "output": ["x"]})
    pq.write_table(table, file := tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    copy = inputs.with_small_row_groups(str(file), tmp_path / "copies")
    assert_frame_equal(pl.read_parquet(copy), pl.read_parquet(file))


def test_texts_that_repeat_are_copied_in_small_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary holds them once in the file, but not where they are unpacked."""
    monkeypatch.setattr(inputs, "LARGEST_ROW_GROUP", 0)
    pl.DataFrame({"n": range(50_000)}).with_columns(output=pl.lit("prompt " * 300)).write_parquet(
        file := tmp_path / "a.parquet"
    )
    copy = inputs.with_small_row_groups(str(file), tmp_path / "copies")
    assert max(rows for rows, _ in inputs._row_groups(copy)) <= inputs.STEP_ROWS


def test_a_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LARGEST_ROW_GROUP", 0)
    traces(range(1_000)).write_parquet(file := tmp_path / "a.parquet", compression="uncompressed")
    content = bytearray(file.read_bytes())
    content[4:400] = b"\xff" * 396
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet"):
        score_input(Input([str(file)]), Suite([Metric("exact_match")]), tmp_path / "o.parquet", "polars")


def test_a_file_that_changes_while_it_is_copied_waits_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(tmp_path)
    for name in ("a", "b"):
        traces(range(10), model=name).write_parquet(tmp_path / f"traces/{name}.parquet")
    copied = inputs.with_small_row_groups

    def changes(file: str, folder: Path) -> str:
        if file.endswith("b.parquet"):
            Path(file).write_bytes(b"PAR1")
        return copied(file, folder)

    monkeypatch.setattr("polars_evals.jobs.inputs.with_small_row_groups", changes)
    outcome = run(job)
    assert outcome.exit_code() == 3
    assert "changed while it was read" in outcome.to_json()
    assert set(table(tmp_path)["model"]) == {"a"}
