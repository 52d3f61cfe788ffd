"""Input files as they come: broken, empty, of another kind or an odd name: read, or refused by name."""

import gzip
import json
import os
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from polars_evals.jobs import inputs, run, scan_store
from polars_evals.jobs.inputs import Input
from polars_evals.storage.paths import list_files
from polars_evals.suite.signature import METADATA_KEY
from tests.jobs.support import DATA, deliver, invoke, make_job, table, traces

GOOD = b'{"trace_id": "a", "output": "x", "expected": "x"}\n'
DEEP = b"[" * 100_000 + b"\n"


def score(file: Path, *options: str) -> tuple[int, str]:
    code, out, error = invoke(
        "score", file, "--metric", "exact_match", "-o", file.parent / "out/scored.parquet", *options
    )
    assert "Traceback" not in error
    return code, out + error


BROKEN = {
    "cut": (GOOD * 3 + b'{"output": "x", "exp\n' + GOOD, "line 4, is no JSON object: Unterminated string"),
    "after blank lines": (GOOD + b"\n\r\n" + b"{]\n", "line 4, is no JSON object"),
    "a number": (GOOD + b"3\n" + GOOD, "line 2, is no JSON object: it is another JSON value"),
    "null": (GOOD * 500 + b"null\n", "line 501, is no JSON object: it is another JSON value"),
    "not a number": (GOOD + b'{"output": NaN}\n', "line 2, is no JSON object: NaN"),
    "deep": (GOOD + DEEP + GOOD, "line 2, is no JSON object: it is nested too deeply"),
    "deep inside": (
        GOOD + b'{"output": ' + DEEP.strip() + b"]" * 100_000 + b"}\n",
        "line 2, is no JSON object: it is nested too deeply",
    ),
    "latin-1": (GOOD + b'{"output": "\xe9"}\n', "line 2, is no JSON object: it is not valid UTF-8"),
    "latin-1, late": (GOOD * 500 + b'{"output": "\xe9"}\n', "line 501, is no JSON object: it is not valid"),
    "empty": (b"", "is empty"),
    "blank": (b"\n \n\r\n", "is empty"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_record_is_counted_and_a_deep_one_costs_its_file(
    tmp_path: Path, name: str, packed: bool
) -> None:
    content, _ = BROKEN[name]
    (tmp_path / "good.jsonl").write_bytes(GOOD)
    file = tmp_path / ("bad.jsonl.gz" if packed else "bad.jsonl")
    file.write_bytes(gzip.compress(content) if packed else content)
    code, told = score(file, "--json")
    if name.startswith("deep"):
        assert code == 3
        assert "bad.jsonl" in told
        assert "record 2: it is nested more than 128 levels deep" in told
    elif name in ("empty", "blank"):
        assert (code, "bad.jsonl" in told, "is empty" in told) == (3, True, True)
        code, told = score(tmp_path / "*.jsonl*", "--json")
        assert (code, json.loads(told)["left_out"]) == (0, {str(file): "empty"})
    else:
        lines = [line for line in content.splitlines() if line.strip()]
        result = json.JSONDecoder().raw_decode(told)[0]
        assert (code, result["rows"]) == (0, len(lines))
        assert result["broken"] == (name != "not a number")
        assert sum("1 record cannot be read" in each for each in result["warnings"]) == result["broken"]


@pytest.mark.parametrize("name", BROKEN)
def test_a_job_takes_the_other_files(tmp_path: Path, name: str) -> None:
    content, _ = BROKEN[name]
    job = make_job(tmp_path)
    (tmp_path / "traces/bad.jsonl").write_bytes(content)
    (tmp_path / "traces/good.jsonl").write_bytes(GOOD)
    code, told, _ = invoke("run", job, "--json")
    found = json.loads(told)
    if name.startswith("deep"):
        assert (code, found["added"], list(found["failures"])) == (3, 1, ["traces/bad.jsonl"])
        assert "nested more than" in found["failures"]["traces/bad.jsonl"]
    elif name == "not a number":
        # The record can be read, but has no key.
        assert (code, found["added"], list(found["failures"])) == (3, 1, ["traces/bad.jsonl"])
    elif name in ("empty", "blank"):
        assert (code, found["added"], found["left_out"]) == (0, 1, {"traces/bad.jsonl": "empty"})
        assert any("left out 1 file (empty): traces/bad.jsonl" in note for note in found["notes"])
    else:
        # A record that cannot be read has no key: it is counted, and the other lines are taken.
        assert (code, found["added"], found["failures"]) == (0, 1, {})
        assert found["broken"] == {"traces/bad.jsonl": 1}
        assert any("1 record cannot be read" in note for note in found["notes"])
    assert scan_store(tmp_path / "scores").collect().height == 1
    (tmp_path / "traces/bad.jsonl").write_bytes(GOOD.replace(b'"a"', b'"b"'))
    again = run(job)
    assert (again.added, again.exit_code()) == (1, 0)


@pytest.mark.parametrize(
    "name", ["a.parq", "a.PARQUET", "a.Pq", "a", "a.parquet.tmp", "a.json", "a.snappy.parquet"]
)
def test_parquet_of_any_name(tmp_path: Path, name: str) -> None:
    traces(range(3)).write_parquet(tmp_path / name)
    assert score(tmp_path / name)[0] == 0


@pytest.mark.parametrize("name", ["a.ndjson", "a.JSONL", "a.json", "a", "a.txt", "a.jsonl.gz", "a.gz"])
def test_lines_of_any_name(tmp_path: Path, name: str) -> None:
    content = gzip.compress(GOOD) if name.endswith("gz") else GOOD
    (tmp_path / name).write_bytes(content)
    assert score(tmp_path / name)[0] == 0


@pytest.mark.parametrize("name", ["a.xlsx", "a.json", "a.txt", "a", "a.jsonl", "a.parquet", "a.gz"])
def test_other_kinds_are_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("output,expected\nx,x\n")
    code, told = score(tmp_path / name)
    assert code == 3
    assert name in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    "name", ["a[1]", "a*", "a?", "sp ace", "é漢🎉", "a'b\"c", "a#b%20", "[", "{a}", "-a"]
)
def test_names_are_taken_literally(tmp_path: Path, name: str, suffix: str) -> None:
    for other in ("a1", "ab", name):
        file = tmp_path / f"{other}.{suffix}"
        frame = pl.DataFrame({"trace_id": [other], "output": [other], "expected": [other]})
        frame.write_ndjson(file) if suffix == "jsonl" else frame.write_parquet(file)
    code, told = score(tmp_path / f"{name}.{suffix}", "--json")
    assert (code, json.loads(told)["rows"]) == (0, 1)
    (tmp_path / "traces").mkdir()
    os.rename(tmp_path / f"{name}.{suffix}", tmp_path / f"traces/{name}.{suffix}")
    assert run(make_job(tmp_path)).added == 1
    assert table(tmp_path)["trace_id"].to_list() == [name]


def test_an_ambiguous_file_is_not_taken_for_a_table(tmp_path: Path) -> None:
    both = {"span_id": ["a"], "root_span_id": ["a"], "output": ["x"], "gen_ai.output.messages": ["[]"]}
    pl.DataFrame(both).write_parquet(tmp_path / "both.parquet")
    code, told = score(tmp_path / "both.parquet")
    assert code == 3
    assert "both.parquet could be otel (columns gen_ai.output.messages); braintrust" in told
    assert "name one with --format" in told


def test_a_table_may_be_called_anything(tmp_path: Path) -> None:
    """The words of an error are no way to tell one from another."""
    folder = tmp_path / "what could be"
    folder.mkdir()
    pl.DataFrame({"answer": ["x"], "gold": ["x"]}).write_parquet(folder / "own.parquet")
    file = str(folder / "own.parquet")
    frame = Input([str(folder)]).read({file: file}, ["answer", "gold"]).frame
    assert frame is not None
    assert frame.collect().columns[:2] == ["answer", "gold"]


@pytest.mark.parametrize("damage", ["[" * 100_000, "[1]", "{cut", "7"])
def test_damaged_signatures_are_told(tmp_path: Path, damage: str) -> None:
    scored = traces(range(3), exact_match_score=[1.0, 0.0, 1.0])
    scored.write_parquet(tmp_path / "bad.parquet", metadata={METADATA_KEY: damage})
    code, _, error = invoke("compare", tmp_path / "bad.parquet", "--version", "model", "--baseline", "v1")
    assert code == 3
    assert "bad.parquet' are damaged; score the rows again" in error


def test_only_parquet_is_compared(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_bytes(GOOD)
    code, _, error = invoke("compare", tmp_path / "answers.jsonl", "--version", "model", "--baseline", "v1")
    assert code == 3
    assert f"cannot read '{tmp_path}/answers.jsonl' as Parquet" in error


def test_pipes_and_folders_in_the_place_of_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    code, told = score(tmp_path / "pipe.jsonl")
    assert (code, "is a pipe or a device" in told) == (3, True)
    (tmp_path / "out.parquet").mkdir()
    code, _, error = invoke("score", DATA, "--metric", "exact_match", "-o", tmp_path / "out.parquet")
    assert (code, "is a folder; name a file" in error) == (2, True)


def test_a_name_that_is_no_unicode_is_refused_and_the_others_are_taken(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    traces(range(3)).write_parquet(tmp_path / "traces/a.parquet")
    os.rename(tmp_path / "traces/a.parquet", os.fsencode(tmp_path) + b"/traces/\xff.parquet")
    traces(range(3)).write_parquet(tmp_path / "traces/a.parquet")
    outcome = run(job)
    assert outcome.exit_code() == 3
    assert "is not valid Unicode; rename the file" in outcome.to_json()
    assert len(table(tmp_path)) == 3


def test_scored_files_of_any_name_are_compared_by_that_name(tmp_path: Path) -> None:
    """Also where the name is a pattern, which another file matches."""
    wanted, other = tmp_path / "s[1].parquet", tmp_path / "s1.parquet"
    for file, metric in ((wanted, "levenshtein"), (other, "exact_match")):
        assert invoke("score", DATA, "--metric", metric, "-o", file)[0] == 0
    options = ["--version", "model", "--baseline", "assistant-1.0", "--item", "item_id"]
    code, out, _ = invoke("compare", wanted, *options)
    assert (code, "levenshtein" in out, "exact_match" in out) == (0, True, False)
    assert invoke("compare", wanted, other, *options)[0] == 3


@pytest.mark.parametrize("name", ["evals [eu]", "what?", "all*"])
def test_a_job_in_a_folder_whose_name_looks_like_a_pattern(tmp_path: Path, name: str) -> None:
    job = make_job(tmp_path / name)
    (job.parent / "traces/[x]").mkdir()
    traces(range(3)).write_parquet(job.parent / "traces/[x]/a.parquet")
    assert run(job).added == 3


def test_times_of_any_form_are_read_as_utc(tmp_path: Path) -> None:
    """Whatever the first file had."""
    job = make_job(tmp_path, key='keep = "36500d"')
    moment = datetime(2026, 1, 2, 3, 4, 5)
    forms: list[Any] = [
        None,
        moment,
        moment.replace(tzinfo=UTC),
        moment.date(),
        "2026-01-02T03:04:05Z",
        int(moment.replace(tzinfo=UTC).timestamp() * 1000),
    ]
    for number, ts in enumerate(forms):
        frame = traces(range(number, number + 1)).with_columns(ts=pl.lit(ts))
        deliver(frame, tmp_path / f"traces/{number}.parquet", number)
        frame = traces(range(10 + number, 11 + number)).with_columns(ts=pl.lit(ts))
        frame.write_ndjson(tmp_path / f"traces/{number}.jsonl")
        outcome = run(job)
        assert (outcome.failures, outcome.added) == ({}, 2)
    held = table(tmp_path)
    assert held.schema["ts"] == pl.Datetime("us", "UTC")
    assert held["ts"].null_count() == 2
    assert set(held["ts"].drop_nulls().dt.date()) == {moment.date()}


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    traces(range(3)).write_ndjson(content := BytesIO())
    (tmp_path / "traces/a.jsonl").write_bytes(b"\xef\xbb\xbf" + content.getvalue())
    assert run(job).rows == 3


def test_a_file_that_is_renamed_after_listing_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(tmp_path)
    for number in range(2):
        deliver(traces(range(number * 3, number * 3 + 3)), tmp_path / f"traces/{number}.parquet", number)
    found = list_files

    def rotating(*arguments: Any) -> Any:
        listing = found(*arguments)
        os.rename(tmp_path / "traces/1.parquet", tmp_path / "traces/1.parquet.old")
        return listing

    monkeypatch.setattr(inputs, "list_files", rotating)
    outcome = run(job)
    assert (list(outcome.failures), outcome.rows) == (["traces/1.parquet"], 3)


def test_many_double_stars_are_as_good_as_one(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("a" * 12)
    deliver(traces(range(3)), deep / "a.parquet", 1)
    (deep / "a.txt").write_text("")
    assert Input([f"{tmp_path}/{'**/' * 7}*.parquet"]).files() == [str(deep / "a.parquet")]


def test_a_file_of_no_known_format_is_left_out_in_whatever_batch_it_comes(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    (tmp_path / "traces/settings.json").write_text('{"retries": 3}', encoding="utf-8")
    code, told, _ = invoke("run", job, "--json")
    assert (code, list(json.loads(told)["failures"])) == (3, ["traces/settings.json"])
    (tmp_path / "traces/good.jsonl").write_bytes(GOOD)
    assert invoke("run", job)[0] == 0
    # By itself, on a later day.
    (tmp_path / "traces/other.json").write_text('{"retries": 4}', encoding="utf-8")
    code, told, _ = invoke("run", job, "--json")
    found = json.loads(told)
    assert (code, found["failures"]) == (0, {})
    assert found["left_out"] == {"traces/other.json": "no known trace format"}
