"""Each platform's export, real where its package can make one, comes out as the canonical columns."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from polars_evals.traces import check_traces, detect_traces, scan_traces
from polars_evals.traces.canonical import CANONICAL
from polars_evals.traces.sources import SOURCES
from tests.traces.helpers import digest

FIXTURES = Path(__file__).parent / "fixtures"

EXPORTS = {
    "braintrust": "braintrust/events.jsonl",
    "inspect": "inspect/samples.parquet",
    "langfuse": "langfuse/p/observations_v2/2026-01-01T00-00-00Z.parquet",
    "langfuse_lines": "langfuse/observations.jsonl",
    "langsmith": "langsmith/export_id=e/tenant_id=t/session_id=project/runs/year=2026/month=01/day=02"
    "/data.parquet",
    "lm_eval": "lm_eval/org__mock-1/samples_capitals_2026-11-16T02-43-01.168778.jsonl",
    "mlflow": "mlflow/traces.parquet",
    "mlflow_lines": "mlflow/traces.jsonl",
    "otel": "otel/spans.parquet",
    "otel_lines": "otel/spans.jsonl",
    "phoenix": "phoenix/spans.parquet",
    "promptfoo": "promptfoo/results.jsonl",
}
PARQUET = sorted(name for name, file in EXPORTS.items() if file.endswith("parquet"))
LINES = sorted(name for name, file in EXPORTS.items() if file.endswith("jsonl"))


def rows(name: str, *columns: str, **options: Any) -> list[tuple[Any, ...]]:
    return scan_traces(FIXTURES / EXPORTS[name], **options).select(columns).collect().rows()


@pytest.mark.parametrize("name", EXPORTS)
def test_schema_is_canonical_and_known_before_anything_runs(name: str) -> None:
    traces = scan_traces(FIXTURES / EXPORTS[name])
    assert dict(traces.collect_schema()) == dict(CANONICAL)
    assert dict(traces.collect().schema) == dict(CANONICAL)
    assert dict(traces.collect(engine="streaming").schema) == dict(CANONICAL)
    # promptfoo has a call that failed, which is an answer that is missing.
    assert traces.collect().get_column("output").null_count() == (name == "promptfoo")
    assert traces.collect().get_column("item_id").null_count() == 0


@pytest.mark.parametrize("name", EXPORTS)
def test_format_is_detected(name: str) -> None:
    assert detect_traces(FIXTURES / EXPORTS[name]).format == name.removesuffix("_lines")


def test_every_source_has_an_export_here() -> None:
    assert {name.removesuffix("_lines") for name in EXPORTS} == set(SOURCES) - {"generic"}


@pytest.mark.parametrize("name", EXPORTS)
def test_all_rows_are_kept_on_request(name: str) -> None:
    file = FIXTURES / EXPORTS[name]
    raw = pl.read_parquet(file).height if name in PARQUET else len(file.read_text().splitlines())
    everything = scan_traces(file, rows="all").collect()
    assert everything.height == raw
    assert everything.drop_nulls("output").equals(scan_traces(file, rows="outputs").collect())
    [counted] = check_traces(file).rows(named=True)
    assert (counted["rows"], counted["invalid_json"], counted["error"]) == (raw, 0, None)
    assert counted["outputs"] == everything.drop_nulls("output").height


@pytest.mark.parametrize("name", ["langfuse", "langfuse_lines"])
def test_langfuse(name: str) -> None:
    assert rows(name, *CANONICAL) == [
        (
            *(digest("Capital of France?"), "t1", "s1", datetime(2026, 1, 1, tzinfo=UTC), "gpt-x", "v2"),
            *("Capital of France?", "Paris", "Paris"),
        ),
        (digest("2+2?"), "t2", None, datetime(2026, 1, 3, tzinfo=UTC), "gpt-y", "7", "2+2?", "4", None),
    ]
    # The span without an output and the literal JSON null are no rows, but they are there.
    assert rows(name, "trace_id", "model", "version", rows="all")[1] == ("t1", None, "r1")


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_langfuse_as_its_api_writes_it(kind: str, tmp_path: Path) -> None:
    observations = pl.DataFrame(
        {
            "id": ["o1", "o2"],
            "traceId": ["t1", "t2"],
            "parentObservationId": [None, None],
            "startTime": ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"],
            "sessionId": ["s1", None],
            "model": ["gpt-x", None],
            "promptVersion": [3, None],
            "input": ["2+2?", "3+3?"],
            "output": ["4", "6"],
        },
        schema_overrides={"parentObservationId": pl.String},
    )
    file = tmp_path / f"observations.{kind}"
    getattr(observations, {"parquet": "write_parquet", "jsonl": "write_ndjson"}[kind])(file)
    assert detect_traces(file).format == "langfuse"
    assert scan_traces(file).collect().rows() == [
        (digest("2+2?"), "t1", "s1", datetime(2026, 1, 1, tzinfo=UTC), "gpt-x", "3", "2+2?", "4", None),
        (digest("3+3?"), "t2", None, datetime(2026, 1, 2, tzinfo=UTC), None, None, "3+3?", "6", None),
    ]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_langfuse_texts_that_are_json_strings_are_unquoted(kind: str, tmp_path: Path) -> None:
    outputs = ['"4"', '"say \\"hi\\""', '"a" and "b"', '{"n": 1}', "plain"]
    observations = pl.DataFrame({"output": outputs, "experiment_item_expected_output": outputs}).with_columns(
        trace_id=pl.lit("t"), provided_model_name=pl.lit("m")
    )
    file = tmp_path / f"observations.{kind}"
    getattr(observations, {"parquet": "write_parquet", "jsonl": "write_ndjson"}[kind])(file)
    traces = scan_traces(file).collect()
    said = ["4", 'say "hi"', '"a" and "b"', '{"n": 1}', "plain"]
    assert traces["output"].to_list() == said
    assert traces["expected"].to_list() == said


def test_langfuse_reads_one_table_and_only_what_is_committed() -> None:
    detection = detect_traces(FIXTURES / "langfuse/p")
    assert [Path(file).name for file in detection.files] == ["2026-01-01T00-00-00Z.parquet"]
    assert sorted((Path(file).parent.name, why) for file, why in detection.left_out.items()) == [
        ("observations_v2", "no manifest yet"),
        ("scores", "another table of the Langfuse blob export"),
    ]
    assert "left out 1 file (no manifest yet)" in str(detection)


def test_langsmith() -> None:
    everything = scan_traces(FIXTURES / "langsmith").collect()
    assert everything.select("item_id", "input", "output").rows() == [
        ("ex1", "Capital of France?", "Paris"),
        (digest("2+2?"), "2+2?", "4"),
        (digest('{"other":0}'), '{"other":0}', "chosen"),
        (digest('{"other":1}'), '{"other":1}', "generated"),
        (digest('{"other":2}'), '{"other":2}', "hello"),
        (digest('{"other":3}'), '{"other":3}', '{"documents":["d"]}'),
    ]
    assert everything.select("session_id", "model", "version", "ts").row(0) == (
        *("th1", "gpt-x", "abc"),
        datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_langsmith_project_folder_is_not_the_session() -> None:
    kept = scan_traces(FIXTURES / "langsmith", keep=["session_id", "day"]).collect()
    assert kept.select("session_id", "source_session_id", "day").row(0) == ("th1", "project", "01")


@pytest.mark.parametrize("name", ["mlflow", "mlflow_lines"])
def test_mlflow(name: str) -> None:
    assert rows(name, "output", "expected", "session_id", "model") == [
        ("Paris", "Paris", "s1", "gpt-x"),
        ("4", None, None, "gpt-x"),
        ('He said "null"', None, "s1", "gpt-x"),
    ]
    [first, *_] = rows(name, "input", "trace_id", "version", "ts")
    assert json.loads(first[0]) == {"question": "Capital of France?", "answer": "Paris"}
    assert first[1].startswith("tr-")
    assert first[2] == "m-1"
    assert first[3].year == 2026
    assert rows(name, "model", rows="all")[-1] == ("tagged",)


def test_mlflow_times_agree_in_both_exports() -> None:
    assert rows("mlflow", "ts") == rows("mlflow_lines", "ts")


@pytest.mark.parametrize("name", ["otel", "otel_lines"])
def test_otel(name: str) -> None:
    assert rows(name, "output", "model", "session_id", "expected") == [
        ("Paris", "gpt-x-2026-01-01", "c1", None),
        # Text parts are joined; the reasoning is left out, and a call of a tool is no output.
        ('The sum is "4"', "gpt-x-2026-01-01", "c1", None),
    ]
    [(trace, ts, asked, item), *_] = rows(name, "trace_id", "ts", "input", "item_id")
    assert len(trace) == 32
    assert ts.year == 2026
    assert item == digest(asked)


def test_otel_attributes_in_a_map_column(tmp_path: Path) -> None:
    said = '[{"role":"assistant","parts":[{"type":"text","content":"Paris"}]}]'
    attributes = {"gen_ai.output.messages": said, "gen_ai.response.model": "m"}
    frame = pl.DataFrame(
        {"TraceId": ["t"], "Timestamp": [datetime(2026, 1, 1)], "SpanAttributes": [attributes]},
        schema_overrides={"SpanAttributes": pl.Map(pl.String, pl.String)},
    )
    frame.write_parquet(tmp_path / "spans.parquet")
    traces = scan_traces(tmp_path / "spans.parquet").select("trace_id", "ts", "model", "output").collect()
    assert traces.row(0) == ("t", datetime(2026, 1, 1, tzinfo=UTC), "m", "Paris")


def test_phoenix() -> None:
    assert rows("phoenix", "input", "output", "model", "session_id") == [
        ("Capital of France?", "It is Paris.", None, None),
        ("Capital of France?", "Paris", "gpt-x", "s1"),
        ("2+2?", "4", "gpt-x", "s1"),
        ("Count", "one two", "gpt-x", "s1"),
    ]
    assert all(len(trace) == 32 and ts.year == 2026 for trace, ts in rows("phoenix", "trace_id", "ts"))


def test_phoenix_experiment(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "example_id": ["e1"],
            "input": [{"question": "2+2?"}],
            "reference_output": [{"answer": "4"}],
            "output": ["four"],
        }
    )
    frame.write_parquet(tmp_path / "runs.parquet")
    traces = scan_traces(tmp_path).select("item_id", "input", "output", "expected").collect()
    assert traces.row(0) == ("e1", '{"question":"2+2?"}', "four", '{"answer":"4"}')


def test_inspect() -> None:
    assert rows("inspect", "item_id", "output", "expected", "model") == [
        ("fr", "Paris", "Paris", "mockllm/model"),
        ("sum", "4", "4", "mockllm/model"),
        # The second epoch: other rows of the same items.
        ("fr", "Rome", "Paris", "mockllm/model"),
        ("sum", "4", "4", "mockllm/model"),
    ]
    assert len({trace for (trace,) in rows("inspect", "trace_id")}) == 4


def test_inspect_says_how_to_export_outputs() -> None:
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match=r"(?s)without_output.*SampleColumn\('output'"
    ):
        scan_traces(FIXTURES / "inspect/without_output.parquet")


def test_lm_eval() -> None:
    [paris, four] = rows("lm_eval", *CANONICAL)
    item, trace, session, ts, model, version, asked, output, expected = paris
    assert (trace, session, version) == (None, None, None)
    assert ts == datetime(2026, 11, 16, 2, 43, 1, 168778, tzinfo=UTC)
    assert (model, asked, output, expected) == ("org__mock-1", "Q: Capital of France?\nA:", "Paris", "Paris")
    assert item.startswith("0-")
    assert len(item) > 20
    assert four[0].startswith("1-")


def test_promptfoo() -> None:
    columns = ("item_id", "model", "output", "expected", "session_id")
    assert sorted(rows("promptfoo", *columns, rows="outputs")) == [
        ("0", "echo", "Answer: Capital of France?", "Paris", None),
        ("0", "mock:model-1", "Paris", "Paris", None),
        ("1", "echo", "Answer: List", "a", None),
        ("1", "mock:model-1", '{"items":["a",1]}', "a", "s1"),
        ("2", "echo", "Answer: fail", None, None),
    ]
    # The failed call has no output, and counts.
    assert len(rows("promptfoo", "item_id")) == len(rows("promptfoo", "item_id", rows="all")) == 6


def test_braintrust() -> None:
    assert rows("braintrust", "item_id", "trace_id", "model", "output", "expected") == [
        ("rec1", "a", None, "Paris", "Paris"),
        ("a", "a", "gpt-x", "Paris", None),
        ("c", "c", "gpt-x", '{"n":[1,2.5]}', None),
        ("c", "c", "gpt-x", "null", None),  # A model that says "null" is not a missing value.
    ]
    assert rows("braintrust", "ts", "version")[0] == (
        datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC),
        "exp1",
    )


def test_braintrust_in_parquet(tmp_path: Path) -> None:
    pl.read_ndjson(FIXTURES / EXPORTS["braintrust"]).write_parquet(tmp_path / "events.parquet")
    columns = ("item_id", "trace_id", "session_id", "ts", "model", "output", "expected")
    traces = scan_traces(tmp_path / "events.parquet").select(columns).collect()
    # Polars' own reader writes the objects that it holds as text with spaces.
    written = traces.with_columns(pl.col("output").str.replace_all(" ", "", literal=True))
    assert written.rows() == rows("braintrust", *columns)


@pytest.mark.parametrize("name", PARQUET)
def test_truncated_parquet_names_the_file(name: str, tmp_path: Path) -> None:
    data = (FIXTURES / EXPORTS[name]).read_bytes()
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(data[: len(data) // 2])
    with pytest.raises(pl.exceptions.ComputeError, match=r"cannot read '.*broken.parquet'"):
        scan_traces(broken, name)


@pytest.mark.parametrize("name", PARQUET)
def test_an_unreadable_file_does_not_hide_the_others(name: str, tmp_path: Path) -> None:
    whole = FIXTURES / EXPORTS[name]
    (tmp_path / "a.parquet").write_bytes(whole.read_bytes()[:100])
    shutil.copy(whole, tmp_path / "b.parquet")
    broken, sound = check_traces(tmp_path).rows(named=True)
    assert "a.parquet" in broken["error"]
    assert broken["rows"] is None
    assert (sound["error"], sound["outputs"]) == (None, scan_traces(whole).collect().height)


@pytest.mark.parametrize("name", LINES)
def test_invalid_line_is_kept_and_counted(name: str, tmp_path: Path) -> None:
    whole = (FIXTURES / EXPORTS[name]).read_text()
    folder = tmp_path / "model"
    folder.mkdir()
    file = folder / Path(EXPORTS[name]).name
    # The last line is cut off, and one line is valid JSON but no object.
    cut = whole.rstrip("\n")[:-20]
    file.write_text(cut + "\n[1, 2]\n")
    traces = scan_traces(file, rows="outputs").collect()
    sound = scan_traces(FIXTURES / EXPORTS[name], rows="all").collect()[:-1].drop_nulls("output")
    assert traces.height == sound.height + 2
    assert traces.tail(2).get_column("output").to_list() == [None, None]
    assert check_traces(file).get_column("invalid_json").item() == 2


def _json_column(name: str) -> str:
    return {"langsmith": "outputs", "mlflow": "trace", "otel": "gen_ai.output.messages"}[name]


@pytest.mark.parametrize("name", ["langsmith", "mlflow", "otel"])
def test_invalid_json_in_a_cell_is_kept_and_counted(name: str, tmp_path: Path) -> None:
    column = _json_column(name)
    frame = pl.read_parquet(FIXTURES / EXPORTS[name])
    first = pl.int_range(pl.len()) == 0
    frame.with_columns(pl.when(first).then(pl.lit('{"broken')).otherwise(column).alias(column)).write_parquet(
        tmp_path / "data.parquet"
    )
    sound = scan_traces(FIXTURES / EXPORTS[name]).collect()
    traces = scan_traces(tmp_path / "data.parquet").collect()
    assert traces.height == sound.height
    assert traces.get_column("output")[0] is None
    assert traces[1:].get_column("output").to_list() == sound[1:].get_column("output").to_list()
    assert check_traces(tmp_path / "data.parquet").get_column("invalid_json").item() == 1


def test_wrong_types(tmp_path: Path) -> None:
    frame = pl.read_parquet(FIXTURES / EXPORTS["langfuse"])
    frame.with_columns(output=pl.lit(42)).write_parquet(tmp_path / "output.parquet")
    assert scan_traces(tmp_path / "output.parquet").select("output").collect().row(0) == ("42",)
    frame.with_columns(start_time=pl.lit(True)).write_parquet(tmp_path / "time.parquet")
    with pytest.raises(
        pl.exceptions.SchemaError, match=r"'start_time' in '.*time.parquet' has type Boolean.*columns="
    ):
        scan_traces(tmp_path / "time.parquet")


TIMES = {
    "langfuse": "start_time",
    "langsmith": "start_time",
    "phoenix": "start_time",
    "mlflow": "request_time",
}


@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_is_none_is_an_error_for_every_source(name: str, tmp_path: Path) -> None:
    frame = pl.read_parquet(FIXTURES / EXPORTS[name])
    frame.with_columns(pl.lit([1]).alias(TIMES[name])).write_parquet(tmp_path / "data.parquet")
    with pytest.raises(pl.exceptions.SchemaError, match=TIMES[name]):
        scan_traces(tmp_path / "data.parquet")
