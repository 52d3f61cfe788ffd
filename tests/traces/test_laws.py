"""The laws of traces, and attempts to break them."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe
from polars_evals.traces import content
from polars_evals.traces.detect import choose_files
from polars_evals.traces.read import read_records
from tests.traces.helpers import digest


def write(file: Path, *records: Any) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def span(trace: str, span: str, parent: str | None = None, **values: Any) -> dict[str, Any]:
    """A span as Braintrust writes it."""
    return {"root_span_id": trace, "span_id": span, "span_parents": [parent] if parent else None, **values}


def scan(path: Path, **options: Any) -> pl.DataFrame:
    return pe.scan_traces(path, **options).collect()


# The same question pairs.

QUESTION = "What is the capital of France?"
USER = {"role": "user", "content": QUESTION}
SAME_QUESTION = {
    "text": QUESTION,
    "message": USER,
    "messages": [USER],
    "request": {"model": "a", "messages": [USER], "temperature": 0.1, "stream": False},
    "another model and settings": {"messages": [USER], "model": "b", "max_tokens": 9, "seed": 3},
    "request as text": json.dumps({"model": "a", "messages": [USER]}, indent=2),
    "parts": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
    "OpenTelemetry": [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}],
    "LangChain": [
        [{"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": QUESTION}}]
    ],
    "LangGraph, with a random id": {"messages": [{"type": "human", "content": QUESTION, "id": "8d1f"}]},
    "pairs": [["human", QUESTION]],
    "Gemini": {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}], "model": "g"},
    "Responses": {"model": "a", "input": QUESTION},
    "ShareGPT": [{"from": "human", "value": QUESTION}],
    "arguments": {"args": [QUESTION], "kwargs": {}},
    "named": {"question": QUESTION, "model": "m", "session_id": "s", "timestamp": "2026-01-01"},
    "with the answer behind it": [USER, {"role": "assistant", "content": "Paris"}],
    "with the work of tools behind it": [
        USER,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "12"},
    ],
}


@pytest.mark.parametrize("name", SAME_QUESTION)
def test_one_question_is_one_item_however_it_is_written(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "a.jsonl", span("t", "a", input=SAME_QUESTION[name], output="Paris"))
    assert scan(file).select("item_id", "input").row(0) == (digest(QUESTION), QUESTION)


def test_other_questions_are_other_items(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Answer in German."}
    before = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    image = [
        {
            "role": "user",
            "content": [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": "x"}],
        }
    ]
    others = [
        QUESTION,
        QUESTION.lower(),
        [system, USER],
        [*before, USER],
        image,
        {"question": QUESTION, "place": "EU"},
    ]
    file = write(
        tmp_path / "a.jsonl", *(span(str(n), "a", input=asked, output="x") for n, asked in enumerate(others))
    )
    assert scan(file)["item_id"].n_unique() == len(others)


def test_the_spacing_and_order_of_json_are_none_of_the_question(tmp_path: Path) -> None:
    asked = ['{"b": [1, 2], "a": "x"}', '{"a":"x","b":[1,2]}', {"b": [1, 2], "a": "x"}]
    file = write(
        tmp_path / "a.jsonl", *(span(str(n), "a", input=each, output="x") for n, each in enumerate(asked))
    )
    found = scan(file)
    assert found["item_id"].unique().to_list() == [digest('{"a":"x","b":[1,2]}')]
    assert found["input"].to_list()[:2] == asked[:2]


@pytest.mark.parametrize("asked", ["", " \n", None, [{"role": "user", "content": " "}], {"question": ""}])
def test_a_blank_question_is_no_item(tmp_path: Path, asked: Any) -> None:
    file = write(tmp_path / "a.jsonl", span("t", "a", input=asked, output="x"))
    assert scan(file)["item_id"].to_list() == [None]
    assert any("no item" in warning for warning in pe.check_traces(file).warnings)


# One answer, one row.


def test_a_trace_is_one_row(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl",
        # Newest first, as exports often are.
        span("t", "c2", "root", input=[USER], output="Paris!", created="2026-01-01T00:00:04Z",
             span_attributes={"type": "llm"}, metadata={"model": "m"}, metrics={"prompt_tokens": 5,
             "completion_tokens": 2}),
        span("t", "tool", "root", input="x", output="12", created="2026-01-01T00:00:03Z",
        span_attributes={"type": "tool"}), span("t", "c1", "root", input=[USER],
        created="2026-01-01T00:00:02Z", span_attributes={"type": "llm"},
             output=[{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f",
             "arguments": "{}"}}]}], metadata={"model": "m"}, metrics={"prompt_tokens": 3,
             "completion_tokens": 1}),
        span("t", "root", input=QUESTION, output="It is Paris.", created="2026-01-01T00:00:01Z",
        expected="Paris"),
    )  # fmt: skip
    [row] = scan(file).to_dicts()
    assert (row["span_id"], row["output"], row["expected"], row["model"]) == (
        "root",
        "It is Paris.",
        "Paris",
        "m",
    )
    assert (row["input_tokens"], row["output_tokens"]) == (8, 3)
    assert row["tool_calls"] == [{"name": "f", "arguments": "{}"}]
    assert scan(file, rows="spans")["span_id"].to_list() == ["c2", "c1"]
    assert scan(file, rows="all").height == 4


def test_without_an_answer_at_the_root_the_last_model_call_counts(tmp_path: Path) -> None:
    calls = [
        span("t", str(n), "root", input=QUESTION, output=f"{n}", created=f"2026-01-01T00:00:0{9 - n}Z",
             span_attributes={"type": "llm"}) for n in range(3)
    ]  # fmt: skip
    file = write(tmp_path / "a.jsonl", span("t", "root", created="2026-01-01T00:00:00Z"), *calls)
    assert scan(file).select("span_id", "output", "item_id").rows() == [("0", "0", digest(QUESTION))]


def test_a_trace_in_several_files_is_one_row(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", span("t", "root", input=QUESTION, output="Paris"))
    write(
        tmp_path / "b.jsonl",
        span("t", "call", "root", input=QUESTION, output="Paris", metadata={"model": "m"}),
    )
    assert scan(tmp_path).select("output", "model").rows() == [("Paris", "m")]


# Text is as it was.


@pytest.mark.parametrize(
    "text", ["", " ", '"quoted"', '{"a" :  1}', "[1,  2]", "null", 'a\nb\t"c\\', "\u00e9\U0001f600", "1.0"]
)
def test_text_is_as_it_was(tmp_path: Path, text: str) -> None:
    chat = [{"message": {"role": "assistant", "content": text}}]
    file = write(
        tmp_path / "a.jsonl",
        span("1", "a", input="q", output=text, expected=text),
        span("2", "a", input="q", output=chat, expected=text),
    )
    assert scan(file).select("output", "expected").rows() == [(text, text)] * 2


# Nothing is lost in silence.


def test_records_without_answers_are_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", span("1", "a", input="q"), span("2", "a", input="q"))
    with pytest.raises(pl.exceptions.NoDataError, match=r"a.jsonl' has 2 records .* no answer .*columns="):
        scan(file)
    checked = pe.check_traces(file)
    assert not checked.ok
    assert "no answer" in checked.files["error"].item()
    assert scan(file, rows="all").height == 2


def test_a_line_cut_inside_a_character_costs_that_line(tmp_path: Path) -> None:
    good = json.dumps(span("1", "a", input="q", output="caf\u00e9"), ensure_ascii=False).encode()
    cut = json.dumps(span("2", "a", input="q", output="caf\u00e9"), ensure_ascii=False).encode()
    file = tmp_path / "a.jsonl"
    file.write_bytes(
        good + b"\n" + cut[: cut.index(b"\xc3") + 1] + b"\n" + good.replace(b'"1"', b'"3"') + b"\n"
    )
    found = scan(file)
    assert found["output"].to_list() == ["caf\u00e9", None, "caf\u00e9"]
    assert found["error"].to_list() == [None, "line 2: it is not valid UTF-8", None]
    checked = pe.check_traces(file)
    assert checked.files.select("records", "rows", "broken").row(0) == (3, 3, 1)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert scan(packed)["output"].to_list() == found["output"].to_list()


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "UNPACKED_BYTES", 1 << 20)
    line = json.dumps(span("1", "a", output="x" * 1000)).encode() + b"\n"
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(line * 20_000))
    with pytest.raises(
        pl.exceptions.ComputeError, match=r"a.jsonl.gz' has .* unpacks to more than .* unpack it yourself"
    ):
        scan(file)
    with zipfile.ZipFile(tmp_path / "b.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", b'{"id": "' + b"x" * (8 << 20) + b'"}')
    with pytest.raises(pl.exceptions.ComputeError, match=r"b.eval/samples.* unpacks to more than"):
        scan(tmp_path / "b.eval")


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polars_evals.traces import read as records

    monkeypatch.setattr(records, "LONGEST_RECORD", 1 << 20)
    (tmp_path / "a.jsonl").write_bytes(b'{"output": "' + b"x" * (20 << 20))
    with pytest.raises(pl.exceptions.ComputeError, match=r"a.jsonl' has a line or a record of more than"):
        scan(tmp_path / "a.jsonl")


def test_a_cut_gzip_is_refused_by_name(tmp_path: Path) -> None:
    whole = gzip.compress(
        b"".join(json.dumps(span(str(n), "a", output=str(n))).encode() + b"\n" for n in range(9_000))
    )
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(pl.exceptions.ComputeError, match=r"a.jsonl.gz': its gzip data is broken or cut off"):
        scan(tmp_path / "a.jsonl.gz")


# A folder is files.


def test_files_of_several_platforms_are_read_each_as_what_it_is(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", span("1", "a", input="q", output="braintrust"))
    write(tmp_path / "b.jsonl", {"doc_id": 0, "doc": {"q": 1}, "target": "x", "arguments": [["q", {}]],
                                 "resps": [["lm"]], "filtered_resps": ["lm"]})  # fmt: skip
    pl.DataFrame({"output": ["table"], "input": ["q"]}).write_parquet(tmp_path / "c.parquet")
    (tmp_path / "d.csv").write_text("input,output\nq,csv\n")
    assert sorted(scan(tmp_path)["output"]) == ["braintrust", "csv", "lm", "table"]
    detection = pe.detect_traces(tmp_path)
    assert set(detection.format.split("+")) == {"braintrust", "lm_eval", "generic"}


def test_a_file_of_no_format_is_refused_by_name_and_never_read_as_nulls(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", span("1", "a", input="q", output="x"))
    write(tmp_path / "b.jsonl", {"foo": 1, "bar": 2})
    with pytest.raises(pl.exceptions.SchemaError, match=r"columns bar, foo of .*b.jsonl"):
        scan(tmp_path)
    (tmp_path / "b.jsonl").rename(tmp_path / "b.json")
    assert pe.detect_traces(tmp_path).left_out == {str(tmp_path / "b.json"): "no known trace format"}
    assert scan(tmp_path).height == 1


# Lazy.


def test_a_column_that_nobody_asks_for_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.jsonl", span("1", "a", input="q", output="x"))
    asked: list[int] = []

    def read(texts: pl.Series, fields: Any, unless: Any) -> pl.DataFrame:
        asked.append(len(fields))
        return read_records(texts, fields, unless)

    monkeypatch.setattr("polars_evals.traces.source.read_records", read)
    traces = pe.scan_traces(file, rows="all")
    traces.collect()
    traces.select("output").collect()
    everything, one = asked
    assert one == 1 < everything


def test_an_archive_that_ends_inside_an_entry_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "epoch": 1, "output": {}}))
    data = bytearray(path.read_bytes())
    sizes = data.rindex(b"PK\x01\x02") + 20
    data[sizes : sizes + 8] = (1_000_000).to_bytes(4, "little") * 2
    path.write_bytes(data)
    # Newer Pythons see it from the sizes, before they read.
    with pytest.raises(pl.exceptions.ComputeError, match=r"(cut off|Overlapped entries: .*); fetch it again"):
        pe.scan_traces(path).collect()


@pytest.mark.parametrize(("place", "bits"), [(8, 1), (8, 0x20), (10, 14), (10, 12), (10, 93)])
def test_an_archive_with_a_wrong_flag_is_named(tmp_path: Path, place: int, bits: int) -> None:
    """One bit makes an entry encrypted, patched, or packed with LZMA, Bzip2 or Zstandard."""
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "epoch": 1, "output": {}}))
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\x01\x02") + place] = bits
    path.write_bytes(data)
    with pytest.raises((pl.exceptions.ComputeError, OSError)):
        pe.scan_traces(path).collect()


def test_only_the_tables_of_the_same_export_are_left_out(tmp_path: Path) -> None:
    """A folder `observations` somewhere does not hide the traces of others."""
    names = ["mine.jsonl", "team/answers.jsonl", "blob/observations/1.jsonl", "blob/scores/1.jsonl"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('{"output": "a"}\n')
    found = [
        Path(file).relative_to(tmp_path).as_posix()
        for file in choose_files(content.expand(tmp_path), None)[0]
    ]
    assert sorted(found) == ["blob/observations/1.jsonl", "mine.jsonl", "team/answers.jsonl"]
