"""One reading of a set of paths: the rows of all files that can be read, and an account of every file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe
from polars_evals.traces.dataset import Dataset
from polars_evals.traces.scan import Reading, read_traces


def write(file: Path, *records: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def rows(reading: Reading) -> pl.DataFrame:
    assert reading.frame is not None
    return reading.frame.collect()


def span(trace: str, span: str, **values: Any) -> dict[str, Any]:
    return {"root_span_id": trace, "span_id": span, **values}


def test_every_file_is_accounted_for(tmp_path: Path) -> None:
    good = write(tmp_path / "a.jsonl", span("t", "a", output="4"), span("u", "b", output="5"))
    empty = write(tmp_path / "b.jsonl")
    unknown = write(tmp_path / "c.jsonl", {"prompt": "2 + 2?", "verdict": 1})
    no_answers = write(tmp_path / "d.jsonl", {"instance_id": "i", "model_patch": None})
    damaged = tmp_path / "e.parquet"
    damaged.write_bytes(b"PAR1")
    (tmp_path / "f.json").write_text('{"name": "settings"}')
    reading = read_traces(tmp_path)
    assert reading.formats == {str(good): "braintrust"}
    assert reading.left_out == {str(empty): "empty", str(tmp_path / "f.json"): "no known trace format"}
    assert set(reading.failed) == {str(unknown), str(no_answers), str(damaged)}
    assert "no answer in any of them" in reading.failed[str(no_answers)]
    assert rows(reading).select("output", "source_file", "source_row", "source_broken").rows() == [
        ("4", str(good), 0, None),
        ("5", str(good), 1, None),
    ]


def test_the_counts_are_those_of_scan_and_check(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", span("t", "a", output="4"), span("u", "b", output="5"))
    write(tmp_path / "b.jsonl", span("t", "c", span_parents=["a"], output="no answer of its own"))
    with (tmp_path / "b.jsonl").open("a") as file:
        file.write('{"span_id": "d", "ou')
    write(tmp_path / "empty.jsonl")
    scanned = pe.scan_traces(tmp_path).collect()
    read = rows(read_traces(tmp_path))
    assert read.drop("source_file", "source_row", "source_broken").equals(scanned)
    assert scanned.height == pe.check_traces(tmp_path).rows == 3
    assert read.get_column("source_broken").drop_nulls().to_list() == ["it is no JSON object"]


def test_a_table_of_no_platform_is_read_as_it_is_where_its_columns_are_needed(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl",
        {"answer": "4", "truth": "4", "hard": True, "tries": 1, "price": 1, "found": ["a"], "ts": 1767225600},
        {"answer": "5", "truth": "6", "hard": False, "tries": 2, "price": 0.5, "found": ["b", "c"]},
    )
    read = rows(read_traces(file, as_is=["answer", "truth"]))
    assert read.select("answer", "hard", "tries", "price", "found").rows() == [
        ("4", True, 1, 1.0, ["a"]),
        ("5", False, 2, 0.5, ["b", "c"]),
    ]
    assert read.schema["ts"] == pl.Datetime("us", "UTC")
    assert str(read["ts"][0]) == "2026-01-01 00:00:00+00:00"
    refused = read_traces(file, as_is=["output"])
    assert refused.frame is None
    assert list(refused.failed) == [str(file)]


def test_a_column_of_two_kinds_becomes_text(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", {"output": "4", "level": 1}, {"output": "5", "level": "high"})
    write(tmp_path / "b.jsonl", {"output": "6", "level": [1]})
    pl.DataFrame({"output": ["7"], "level": [2.5]}).write_parquet(tmp_path / "c.parquet")
    read = rows(read_traces(tmp_path, as_is=["output"]))
    assert sorted(read["level"]) == ["1", "2.5", "[1]", "high"]


def test_a_broken_line_of_a_table_is_a_row_with_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"output": "4", "n": 1}\n\n{"output": "5"\n{"output": "6", "n": 3}\n')
    read = rows(read_traces(file, as_is=["output"]))
    assert read.select("output", "n", "error", "source_row").rows() == [
        ("4", 1, None, 0),
        (None, None, "line 3: it is no JSON object", 2),
        ("6", 3, None, 3),
    ]


def test_an_unknown_table_among_known_ones_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", span("t", "a", output="4"))
    unknown = write(tmp_path / "b.jsonl", {"answer": "4", "truth": "4"})
    assert list(read_traces(tmp_path, as_is=["answer"]).failed) == [str(unknown)]
    with pytest.raises(pl.exceptions.SchemaError, match=r"b\.jsonl"):
        pe.scan_traces(tmp_path)


@pytest.mark.parametrize("depth", [129, 180, 400, 1000, 100_000])
def test_a_record_that_is_nested_too_deeply_costs_its_file(tmp_path: Path, depth: int) -> None:
    good = write(tmp_path / "a.jsonl", {"output": "4"})
    deep = tmp_path / "b.jsonl"
    deep.write_text('{"output": "5", "deep": ' + "[" * depth + "]" * depth + "}\n")
    reading = read_traces(tmp_path, as_is=["output"])
    assert reading.files == (str(good),)
    assert "nested more than 128" in reading.failed[str(deep)]
    with pytest.raises(pl.exceptions.ComputeError, match=r"b\.jsonl.*nested more than 128"):
        pe.scan_traces(tmp_path).collect()


def test_a_dataset_holds_the_expected_values(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", {"item_id": "q1", "output": "4"}, {"item_id": "q2", "output": "5"})
    pl.DataFrame({"item_id": ["q1"], "answer": ["4"]}).write_csv(tmp_path / "qa.csv")
    read = rows(read_traces(file, dataset=Dataset(str(tmp_path / "qa.csv"), "item_id", "answer")))
    assert read.select("output", "expected").rows() == [("4", "4"), ("5", None)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_utf_16_is_called_what_it_is(tmp_path: Path, encoding: str, name: str) -> None:
    (tmp_path / name).write_bytes('{"output": "4"}\n'.encode(encoding))
    with pytest.raises(pl.exceptions.ComputeError, match="is encoded as UTF-16"):
        pe.scan_traces(tmp_path / name)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "a.csv", "a.yaml", "a.jsonl.gz"])
def test_an_empty_file_is_called_empty(tmp_path: Path, name: str) -> None:
    import gzip

    (tmp_path / name).write_bytes(gzip.compress(b"\n") if name.endswith("gz") else b"")
    with pytest.raises(pl.exceptions.PolarsError, match=r"empty"):
        pe.scan_traces(tmp_path / name)
    assert "empty" in str(read_traces(tmp_path / name, as_is=["output"]))


YAML = {
    "itself": ("- &a\n  output: x\n  more: *a\n", "refers to itself"),
    "aliases": (
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
        + "output: *a11\n",
        "aliases stand for more than",
    ),
    "deep": ("output: " + "[" * 5_000 + "]" * 5_000, "nested more than 128 levels"),
}


@pytest.mark.parametrize("name", YAML)
def test_yaml_that_expands_costs_its_file(tmp_path: Path, name: str) -> None:
    content, reason = YAML[name]
    good = write(tmp_path / "a.jsonl", {"output": "4"})
    (tmp_path / "b.yaml").write_text(content)
    reading = read_traces(tmp_path, as_is=["output"])
    assert reading.files == (str(good),)
    assert reason in reading.failed[str(tmp_path / "b.yaml")]


def test_parquet_that_unpacks_to_far_more_than_its_size_costs_its_file(tmp_path: Path) -> None:
    good = write(tmp_path / "a.jsonl", {"output": "4"})
    rows = 300_000_000
    frame = pl.LazyFrame({"output": ["x"]}).select(pl.col("output").repeat_by(rows // 300).explode())
    frame = pl.concat([frame] * 300)
    frame.sink_parquet(tmp_path / "b.parquet", compression="zstd")
    reading = read_traces(tmp_path, as_is=["output"])
    assert reading.files == (str(good),)
    assert "times its size" in reading.failed[str(tmp_path / "b.parquet")]


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({"prompt": "2 + 2?", "response": "4"}, "--column input=prompt --column output=response"),
        (
            {"instruction": "2 + 2?", "completion": "4", "gold": "4"},
            "input=instruction output=completion expected=gold",
        ),
        ({"question": "2 + 2?", "answer": "4", "pred": "5"}, "input=question output=pred expected=answer"),
        (
            {"question": "2 + 2?", "answer": "It is 4", "truth": "4"},
            "input=question output=answer expected=truth",
        ),
        (
            {"query": "2 + 2?", "prediction": "4", "label": "4"},
            "input=query output=prediction expected=label",
        ),
        (
            {"problem": "2 + 2?", "model_output": "4", "solution": "4"},
            "input=problem output=model_output expected=solution",
        ),
        (
            {"text": "2 + 2?", "generated_text": "4", "target": "4"},
            "input=text output=generated_text expected=target",
        ),
        (
            {"inputs": {"question": "2 + 2?"}, "outputs": {"answer": "4"}},
            "input=inputs.question output=outputs.answer",
        ),
        (
            {"question": "2 + 2?", "gpt-4_pred": "4", "gold": "4"},
            "input=question output=gpt-4_pred expected=gold",
        ),
        (
            {"prompt": "2 + 2?", "responses": ["4", "5"], "answer": "4"},
            "input=prompt output=responses[0] expected=answer",
        ),
    ],
)
def test_an_unknown_table_is_refused_with_the_columns_that_read_it(
    tmp_path: Path, row: Any, wanted: str
) -> None:
    file = write(tmp_path / "a.jsonl", row)
    with pytest.raises(pl.exceptions.SchemaError) as refused:
        pe.scan_traces(file)
    options = dict(pair.split("=", 1) for pair in wanted.replace("--column ", "").split())
    for name, path in options.items():
        assert f"--column {name}={path}" in str(refused.value).replace("'", "")
    read = pe.scan_traces(file, columns=options).collect()
    assert read["output"].null_count() == 0
    assert read["input"].to_list() == ["2 + 2?"]


def test_rows_without_an_expected_value_are_counted(tmp_path: Path) -> None:
    frame = pl.DataFrame({"input": ["a", "b"], "output": ["1", "2"], "expected": ["1", None]})
    frame.write_parquet(tmp_path / "answers.parquet")
    warnings = pe.check_traces(str(tmp_path / "answers.parquet")).warnings
    assert warnings[0] == "1 of 2 rows has no expected value"


@pytest.mark.parametrize("options", [{"keep": ["topic"]}, {"columns": {"output": "answer"}}])
def test_named_columns_do_not_hide_that_no_file_can_be_read(tmp_path: Path, options: dict[str, Any]) -> None:
    damaged = tmp_path / "e.parquet"
    damaged.write_bytes(b"PAR1")
    assert list(read_traces(damaged, **options).failed) == [str(damaged)]
