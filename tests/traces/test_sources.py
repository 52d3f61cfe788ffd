"""Each platform's export, real where its package can make one, comes out as the canonical columns."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polars_evals.traces import check_traces, detect_traces, scan_traces
from polars_evals.traces.platforms import PLATFORMS
from polars_evals.traces.rows import CANONICAL
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
BASIC = ("item_id", "trace_id", "session_id", "ts", "model", "version", "input", "output", "expected")
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
    # What has no text failed, called a tool, or was never answered.
    without = traces.collect().filter(pl.col("output").is_null())
    assert without.height <= 1
    assert without.filter(
        pl.col("error").is_null() & pl.col("tool_calls").is_null() & pl.col("input").is_null()
    ).is_empty()
    assert traces.collect().get_column("item_id").null_count() == 0


@pytest.mark.parametrize("name", EXPORTS)
def test_format_is_detected(name: str) -> None:
    assert detect_traces(FIXTURES / EXPORTS[name]).format == name.removesuffix("_lines")


def test_every_source_has_an_export_here() -> None:
    assert {name.removesuffix("_lines") for name in EXPORTS} <= set(PLATFORMS)


@pytest.mark.parametrize("name", EXPORTS)
def test_all_rows_are_kept_on_request(name: str) -> None:
    file = FIXTURES / EXPORTS[name]
    raw = pl.read_parquet(file).height if name in PARQUET else len(file.read_text().splitlines())
    everything = scan_traces(file, rows="all").collect()
    # A record of MLflow's is a trace, of which every span is a row.
    assert everything.height == raw or name.startswith("mlflow")
    assert everything.drop_nulls("output").equals(scan_traces(file, rows="outputs").collect())
    checked = check_traces(file)
    [counted] = checked.files.rows(named=True)
    assert (counted["records"], counted["broken"], counted["error"]) == (raw, 0, None)
    assert counted["spans"] == everything.height
    assert counted["rows"] == scan_traces(file).collect().height
    no_rows = checked.reasons.filter(pl.col("reason").str.starts_with("spans"))["records"].sum()
    assert counted["rows"] + no_rows == counted["spans"]


@pytest.mark.parametrize("name", ["langfuse", "langfuse_lines"])
def test_langfuse(name: str) -> None:
    assert rows(name, *BASIC) == [
        (
            *(digest("Capital of France?"), "t1", "s1", datetime(2026, 1, 1, tzinfo=UTC), "gpt-x", "v2"),
            *("Capital of France?", "Paris", "Paris"),
        ),
        (digest("2+2?"), "t2", None, datetime(2026, 1, 3, tzinfo=UTC), "gpt-y", "7", "2+2?", "4", None),
        # A question whose answer is a literal JSON null was not answered.
        (
            *rows(name, "item_id")[2],
            "t3",
            "s2",
            datetime(2026, 1, 4, tzinfo=UTC),
            "gpt-y",
            *rows(name, "version")[2],
            *rows(name, "input")[2],
            None,
            None,
        ),
    ]
    # The span without an output is no row, but it is there.
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
    assert scan_traces(file).select(BASIC).collect().rows() == [
        (digest("2+2?"), "t1", "s1", datetime(2026, 1, 1, tzinfo=UTC), "gpt-x", "3", "2+2?", "4", None),
        (digest("3+3?"), "t2", None, datetime(2026, 1, 2, tzinfo=UTC), None, None, "3+3?", "6", None),
    ]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_langfuse_texts_are_as_they_were(kind: str, tmp_path: Path) -> None:
    outputs = ['"4"', '"say \\"hi\\""', '"a" and "b"', '{"n": 1}', "plain", "", " "]
    observations = pl.DataFrame({"output": outputs, "experiment_item_expected_output": outputs}).with_columns(
        trace_id=pl.int_range(pl.len()).cast(pl.String), provided_model_name=pl.lit("m")
    )
    file = tmp_path / f"observations.{kind}"
    getattr(observations, {"parquet": "write_parquet", "jsonl": "write_ndjson"}[kind])(file)
    traces = scan_traces(file).collect()
    assert traces["output"].to_list() == outputs
    assert traces["expected"].to_list() == outputs


def test_langfuse_reads_one_table_and_only_what_is_committed() -> None:
    detection = detect_traces(FIXTURES / "langfuse/p")
    assert [Path(file).name for file in detection.files] == ["2026-01-01T00-00-00Z.parquet"]
    assert sorted((Path(file).parent.name, why) for file, why in detection.left_out.items()) == [
        ("manifests", "another table of the Langfuse export"),
        ("observations_v2", "no manifest yet"),
        ("scores", "another table of the Langfuse export"),
    ]
    assert "left out 1 file (no manifest yet)" in str(detection)


def test_langsmith() -> None:
    everything = scan_traces(FIXTURES / "langsmith").collect()
    assert everything.select("item_id", "input", "output").rows() == [
        ("ex1", "Capital of France?", "Paris"),
        (digest("2+2?"), "2+2?", "4"),
        # The text is as it was; the spacing of JSON is none of the item.
        (digest('{"other":0}'), '{"other": 0}', "chosen"),
        (digest('{"other":1}'), '{"other": 1}', "generated"),
        (digest('{"other":2}'), '{"other": 2}', "hello"),
        (digest('{"other":3}'), '{"other": 3}', '{"documents": ["d"]}'),
        # Not answered, which is not nothing.
        (digest('{"other":4}'), '{"other": 4}', None),
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
        (None, None, None, "tagged"),
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
        (None, "gpt-x-2026-01-01", "c1", None),
    ]
    [(trace, ts, asked, item), *_] = rows(name, "trace_id", "ts", "input", "item_id")
    assert len(trace) == 32
    assert ts.year == 2026
    assert item == digest(asked)


def test_otel_attributes_in_a_map_column(tmp_path: Path) -> None:
    said = '[{"role":"assistant","parts":[{"type":"text","content":"Paris"}]}]'
    attributes = {"gen_ai.output.messages": said, "gen_ai.response.model": "m"}
    spans = pa.table(
        {
            "TraceId": ["t"],
            "Timestamp": [datetime(2026, 1, 1)],
            "SpanAttributes": pa.array([list(attributes.items())], pa.map_(pa.string(), pa.string())),
        }
    )
    pq.write_table(spans, tmp_path / "spans.parquet")
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
    assert traces.row(0) == ("e1", "2+2?", "four", "4")


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
        pl.exceptions.NoDataError, match=r"(?s)without_output.*no answer.*SampleColumn\('output'"
    ):
        scan_traces(FIXTURES / "inspect/without_output.parquet")


def test_lm_eval() -> None:
    [paris, four] = rows("lm_eval", *BASIC)
    item, trace, session, ts, model, version, asked, output, expected = paris
    assert (session, version) == (None, None)
    assert len({trace, four[1]}) == 2
    assert ts == datetime(2026, 11, 16, 2, 43, 1, 168778, tzinfo=UTC)
    assert (model, asked, output, expected) == ("org__mock-1", "Q: Capital of France?\nA:", "Paris", "Paris")
    assert item.startswith("capitals/0-")
    assert len(item) > 20
    assert four[0].startswith("capitals/1-")


def test_promptfoo() -> None:
    columns = ("model", "output", "expected", "session_id")
    assert sorted(rows("promptfoo", *columns, rows="outputs")) == [
        ("echo", "Answer: Capital of France?", "Paris", None),
        ("echo", "Answer: List", "a", None),
        ("echo", "Answer: fail", None, None),
        ("mock:model-1", "Paris", "Paris", None),
        ("mock:model-1", '{"items":["a",1]}', "a", "s1"),
    ]
    # An item is a test by its variables, whichever its number is: two providers answer each.
    assert sorted(Counter(rows("promptfoo", "item_id")).values()) == [2, 2, 2]
    # The failed call has no output, and counts.
    assert len(rows("promptfoo", "item_id", rows="all")) == 6
    assert len([error for (error,) in rows("promptfoo", "error") if error]) == 1


def test_braintrust() -> None:
    columns = ("item_id", "trace_id", "model", "output", "expected")
    # A root and its model call are one answer.
    assert rows("braintrust", *columns)[0] == ("rec1", "a", "gpt-x", "Paris", "Paris")
    everything = [(output, expected) for *_, output, expected in rows("braintrust", *columns, rows="outputs")]
    assert everything == [
        ("Paris", "Paris"),
        ("Paris", None),
        ('{"n":[1,2.5]}', None),
        ("null", None),  # A model that says "null" is not a missing value.
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
    broken, sound = check_traces(tmp_path).files.rows(named=True)
    assert "a.parquet" in broken["error"]
    assert broken["rows"] is None
    assert (sound["error"], sound["rows"]) == (None, scan_traces(whole).collect().height)


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
    assert check_traces(file).files.get_column("broken").item() == 2


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
    assert check_traces(tmp_path / "data.parquet").files.get_column("broken").item() == 1


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
}


@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_is_none_is_an_error_for_every_source(name: str, tmp_path: Path) -> None:
    frame = pl.read_parquet(FIXTURES / EXPORTS[name])
    frame.with_columns(pl.lit([1]).alias(TIMES[name])).write_parquet(tmp_path / "data.parquet")
    with pytest.raises(pl.exceptions.SchemaError, match=TIMES[name]):
        scan_traces(tmp_path / "data.parquet")
