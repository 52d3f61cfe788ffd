"""Scanning: laziness, sets of files, mapping, and errors that say the way out."""

from __future__ import annotations

import gzip
import logging
import re
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals import traces
from polars_evals._polars import TIME_CASTS
from polars_evals.traces.detect import AmbiguousFormatError, UnknownFormatError
from polars_evals.traces.rows import CANONICAL
from tests.traces.helpers import digest

if TYPE_CHECKING:
    from pathlib import Path

    from polars_evals.storage.paths import Paths

SPANS = pl.DataFrame(
    {
        "trace_id": ["t1", "t2", "t3"],
        "model": ["a", "b", "a"],
        "ts": [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)],
        "input": ["1?", "2?", "3?"],
        "output": ["one", None, "three"],
        "latency": [0.5, 0.25, 1.0],
    }
)


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    file = tmp_path / "spans.parquet"
    SPANS.write_parquet(file)
    return file


# Laziness


def test_projection_and_filters_reach_the_scan(spans: Path) -> None:
    traces = pe.scan_traces(spans, rows="outputs")
    plan = traces.filter(pl.col("model") == "a", pl.col("ts") > datetime(2026, 1, 2, tzinfo=UTC)).select(
        "model"
    )
    [selection] = [line for line in plan.explain().splitlines() if "SELECTION" in line]
    assert re.search(r'col\("model"\)+ == \(?"a"', selection)
    assert re.search(r'col\("ts"\)+ >', selection)
    assert 'col("output").is_not_null()' in selection
    assert "PROJECT 3/" in plan.explain() or "PROJECT 2/" in plan.explain()
    assert plan.collect().rows() == [("a",)]


def test_filters_reach_the_scan_under_other_names(spans: Path) -> None:
    renamed = {"trace_id": "TraceId", "ts": "when", "model": "llm"}
    SPANS.rename(renamed).with_columns(pl.col("when").cast(pl.Datetime("ns", "UTC"))).write_parquet(spans)
    traces = pe.scan_traces(spans, "generic", columns=renamed, keep=["latency"])
    plan = traces.filter(
        pl.col("model") == "a",
        pl.col("trace_id") == "t3",
        pl.col("latency") > 0.1,
        pl.col("ts") >= datetime(2026, 1, 3, tzinfo=UTC),
    ).explain()
    [selection] = [line for line in plan.splitlines() if "SELECTION" in line]
    assert all(f'col("{name}")' in selection for name in ("llm", "TraceId", "latency", "when"))


@pytest.mark.parametrize(
    "dtype", [pl.Datetime(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo")]
)
def test_times_of_any_unit_and_zone_filter_alike(spans: Path, dtype: pl.Datetime) -> None:
    times = SPANS.get_column("ts")
    local = (
        times.dt.convert_time_zone(dtype.time_zone) if dtype.time_zone else times.dt.replace_time_zone(None)
    )
    SPANS.with_columns(local.cast(dtype)).write_parquet(spans, row_group_size=1)
    late = pe.scan_traces(spans, rows="all").filter(pl.col("ts") >= datetime(2026, 1, 2, tzinfo=UTC))
    if dtype.time_unit in TIME_CASTS:
        assert "SELECTION" in late.explain()
    assert late.select("trace_id", "ts").collect().rows() == SPANS[1:].select("trace_id", "ts").rows()


def test_filters_of_lines_are_applied_before_other_columns_are_read(tmp_path: Path) -> None:
    SPANS.write_ndjson(tmp_path / "spans.jsonl")
    traces = pe.scan_traces(tmp_path / "spans.jsonl", rows="outputs")
    assert traces.select("model").collect().rows() == [("a",), ("a",)]
    assert "$['input']" not in traces.select("model").explain()


def test_engines_agree(spans: Path) -> None:
    traces = pe.scan_traces(spans)
    assert_frame_equal(traces.collect(), traces.collect(engine="streaming"))
    assert_frame_equal(traces.collect(), traces.collect(optimizations=pl.QueryOptFlags.none()))


def test_no_column_at_all_still_counts(spans: Path) -> None:
    assert pe.scan_traces(spans, rows="outputs").select(pl.len()).collect().item() == 2
    assert (
        pe.scan_traces(spans, rows="outputs").select("session_id", "expected").collect().rows()
        == [(None, None)] * 2
    )


# Sets of files


def test_folder_pattern_list_and_url_are_the_same(tmp_path: Path) -> None:
    parts = tmp_path / "day" / "deep"
    parts.mkdir(parents=True)
    SPANS[:1].write_parquet(parts / "a.parquet")
    SPANS[1:].write_parquet(parts / "b.parquet")
    (parts / "_SUCCESS.parquet").write_bytes(b"not data")
    (tmp_path / "readme.txt").write_text("not data")
    whole = pe.scan_traces(tmp_path, rows="outputs").collect()
    assert whole.get_column("output").to_list() == ["one", "three"]
    paths: list[Paths] = [
        str(tmp_path),
        f"{tmp_path}/**/[ab].parquet",
        [parts / "a.parquet", str(parts / "b.parquet")],
        [parts / "a.parquet", parts / "a.parquet", f"{parts}/?.parquet"],
        f"file://{parts}/[ab].parquet",
        [f"file://{parts}/a.parquet", f"file://{parts}/b.parquet"],
    ]
    for path in paths:
        assert_frame_equal(pe.scan_traces(path, rows="outputs").collect(), whole)


def test_a_file_named_twice_is_read_once(spans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(spans.parent)
    assert (
        pe.scan_traces(["spans.parquet", "./spans.parquet", spans, "*.parquet"], rows="outputs")
        .collect()
        .height
        == 2
    )


def test_traces_are_imported_when_they_are_used() -> None:
    code = "import sys, polars_evals as pe; assert 'polars_evals.traces' not in sys.modules; pe.scan_traces"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(traces.__all__) - {"Detection", "TraceCheck"} <= set(dir(pe))
    with pytest.raises(AttributeError, match="no attribute 'scan_trace'"):
        pe.scan_trace  # type: ignore[attr-defined]  # noqa: B018


def test_url_of_lines(tmp_path: Path) -> None:
    SPANS.write_ndjson(tmp_path / "a.jsonl")
    assert pe.scan_traces(f"file://{tmp_path}/*.jsonl", rows="outputs").select("output").collect().rows() == [
        ("one",),
        ("three",),
    ]


def test_file_names_are_taken_literally(tmp_path: Path) -> None:
    SPANS.write_parquet(tmp_path / "run[1].parquet")
    assert pe.scan_traces(tmp_path / "run[1].parquet", rows="outputs").collect().height == 2
    assert pe.scan_traces(tmp_path, rows="outputs").collect().height == 2


def test_file_without_a_suffix_is_told_by_its_content(tmp_path: Path) -> None:
    SPANS.write_parquet(tmp_path / "export")
    SPANS.write_ndjson(tmp_path / "lines")
    assert pe.scan_traces(tmp_path / "export", rows="outputs").collect().height == 2
    assert pe.scan_traces(tmp_path / "lines", rows="outputs").collect().height == 2


def test_compressed_lines_blank_lines_and_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeff" + SPANS.write_ndjson().replace("\n", "\r\n\r\n")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert pe.scan_traces(tmp_path, rows="outputs").select("output").collect().rows() == [
        ("one",),
        ("three",),
    ]
    assert pe.check_traces(tmp_path).files.select("rows", "broken").rows() == [(3, 0)]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_hive_folders_are_columns(tmp_path: Path, suffix: str) -> None:
    for model, part in (("1.10", SPANS[:1]), ("1.9", SPANS[1:])):
        folder = tmp_path / f"model={model}" / "day=01"
        folder.mkdir(parents=True)
        data = part.drop("model")
        data.write_parquet(folder / "x.parquet") if suffix == "parquet" else data.write_ndjson(
            folder / "x.jsonl"
        )
    traces = pe.scan_traces(tmp_path, keep=["day"], rows="outputs")
    # Not numbers: version 1.10 is not 1.1.
    assert traces.select("model", "day", "output").collect().rows() == [
        ("1.10", "01", "one"),
        ("1.9", "01", "three"),
    ]
    one = traces.filter(pl.col("model") == "1.9")
    assert one.collect().height == 1
    if suffix == "parquet":
        assert "model=1.10" not in one.explain()


def test_columns_may_come_and_go(tmp_path: Path) -> None:
    SPANS.drop("model", "latency").write_parquet(tmp_path / "a.parquet")
    SPANS.with_columns(expected=pl.lit("one"), extra=pl.lit(1)).write_parquet(tmp_path / "b.parquet")
    traces = pe.scan_traces(tmp_path, keep=["extra", "latency"], rows="outputs")
    assert traces.select("trace_id", "model", "expected", "extra", "latency").collect().rows() == [
        ("t1", None, None, None, None),
        ("t3", None, None, None, None),
        ("t1", "a", "one", 1, 0.5),
        ("t3", "a", "one", 1, 1.0),
    ]
    SPANS.drop("output").write_parquet(tmp_path / "c.parquet")
    with pytest.raises(pl.exceptions.NoDataError, match=r"c.parquet' has 3 records .* no answer"):
        pe.scan_traces(tmp_path)
    assert pe.scan_traces(tmp_path, rows="all").collect().height == 9


def test_types_may_change_between_files(tmp_path: Path) -> None:
    for name, value in (
        ("a", "text"),
        ("b", 7),
        ("c", {"x": 1}),
        ("d", {"x": 1, "y": [{"z": None}]}),
        ("e", None),
    ):
        pl.DataFrame({"input": ["q"], "output": [value], "ts": ["2026-01-01"]}).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    traces = pe.scan_traces(tmp_path, rows="all").select("output").collect()
    assert sorted(traces.get_column("output").drop_nulls()) == [
        "7",
        "text",
        '{"x":1,"y":[{"z":null}]}',
        '{"x":1,"y":null}',
    ]
    assert traces.height == 5


def test_files_without_rows_and_columns_without_values(tmp_path: Path) -> None:
    SPANS.clear().write_parquet(tmp_path / "empty.parquet")
    nulls = pl.DataFrame({name: [None] for name in CANONICAL})
    nulls.write_parquet(tmp_path / "nulls.parquet")
    traces = pe.scan_traces(tmp_path / "empty.parquet", rows="outputs")
    assert dict(traces.collect().schema) == dict(CANONICAL)
    assert traces.collect().is_empty()
    for rows in ("traces", "outputs"):
        with pytest.raises(pl.exceptions.NoDataError, match=r'nulls.parquet.* no answer .*rows="all"'):
            pe.scan_traces(tmp_path, rows=rows)
    nothing = pe.scan_traces(tmp_path / "nulls.parquet", rows="all").collect()
    assert dict(nothing.schema) == dict(CANONICAL)
    assert nothing.rows() == [(None,) * len(CANONICAL)]
    (tmp_path / "nulls.parquet").unlink()
    SPANS.write_parquet(tmp_path / "full.parquet")
    assert pe.scan_traces(tmp_path, rows="outputs").collect().height == 2


def test_empty_lines_file(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert pe.scan_traces(tmp_path, "braintrust", rows="outputs").collect().is_empty()
    with pytest.raises(pl.exceptions.SchemaError, match="is empty"):
        pe.scan_traces(tmp_path, rows="outputs")
    SPANS.write_ndjson(tmp_path / "full.jsonl")
    assert pe.scan_traces(tmp_path, rows="outputs").collect().height == 2


def test_parquet_and_lines_together(tmp_path: Path) -> None:
    SPANS.write_parquet(tmp_path / "a.parquet")
    SPANS.write_ndjson(tmp_path / "b.jsonl")
    traces = pe.scan_traces(tmp_path, rows="outputs").collect()
    assert_frame_equal(traces[:2], traces[2:])


# Items


def test_item_is_the_named_hash_of_the_input(spans: Path) -> None:
    items = pe.scan_traces(spans, rows="outputs").select("item_id").collect().get_column("item_id").to_list()
    assert items == [digest("1?"), digest("3?")]
    # Written down, so that it can never change unseen.
    assert items[0] == "8efc816ed70962a02543522d5fe32a28"


def test_item_that_is_there_wins(spans: Path) -> None:
    SPANS.with_columns(item_id=pl.Series([7, None, None])).write_parquet(spans)
    assert pe.scan_traces(spans, rows="outputs").select("item_id").collect().rows() == [
        ("7",),
        (digest("3?"),),
    ]


def test_no_input_no_item(spans: Path) -> None:
    SPANS.drop("input").write_parquet(spans)
    assert (
        pe.scan_traces(spans, rows="outputs").select("item_id", "input").collect().rows()
        == [(None, None)] * 2
    )


# Mapping


def test_mapping_by_name_path_and_expression(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "q": ["1?"],
            "reply": ['{"choices": [{"text": "one"}]}'],
            "meta": [{"llm": {"name": "m"}, "a.b": "dotted"}],
            "a.b": ["flat"],
            "epoch": [1_767_225_600],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    for file in ("a.parquet", "a.jsonl"):
        traces = pe.scan_traces(
            tmp_path / file,
            format="generic",
            columns={
                "input": "q",
                "output": "reply.choices[0].text",
                "model": "meta.llm.name",
                "version": "meta['a.b']",
                "expected": "a.b",
                "ts": "epoch",
                "session_id": pl.lit("s"),
            },
        )
        names = ("item_id", "trace_id", "session_id", "ts", "model", "version", "input", "output", "expected")
        assert traces.select(names).collect().row(0) == (
            *(digest("1?"), None, "s", datetime(2026, 1, 1, tzinfo=UTC), "m", "dotted", "1?", "one", "flat"),
        )


def test_mapping_overrules_a_platform(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "span_id": ["a"],
            "root_span_id": ["a"],
            "output": ["no"],
            "answer": ['{"role": "x", "content": "y"}'],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    traces = pe.scan_traces(tmp_path, columns={"output": "answer", "item_id": "span_id"})
    # What is mapped is taken as it is.
    assert traces.select("item_id", "output").collect().row(0) == ("a", '{"role": "x", "content": "y"}')


def test_expression_over_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"output": "x"}\n')
    traces = pe.scan_traces(
        tmp_path, columns={"model": pl.col("output").str.len_chars()}, keep=["source_file", "source_line"]
    )
    assert traces.select("model", "source_file", "source_line").collect().row(0) == (
        *("1", str(tmp_path / "a.jsonl"), '{"output": "x"}'),
    )


def test_kept_columns_keep_their_types(spans: Path) -> None:
    traces = pe.scan_traces(spans, keep=["latency", "ts"])
    assert traces.collect_schema()["latency"] == pl.Float64
    assert traces.collect().columns == [*CANONICAL, "latency", "source_ts"]


# Errors


def test_nothing_there() -> None:
    for path, message in {
        "no/such*.parquet": r"the pattern 'no/such\*.parquet' matches no file of traces: .parquet",
        "no/such.parquet": "no such file or folder: 'no/such.parquet'",
    }.items():
        with pytest.raises(FileNotFoundError, match=message):
            pe.scan_traces(path)
    with pytest.raises(FileNotFoundError, match="empty"):
        pe.scan_traces([])


def test_folder_without_traces(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"no file of traces: .parquet, .* \(only .*notes.txt\)"):
        pe.scan_traces(tmp_path)


def test_bad_options(spans: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown format 'langfus'; did you mean \"langfuse\"\?"):
        pe.scan_traces(spans, "langfus")
    with pytest.raises(
        ValueError, match=r"maps 'outputs', which is not a canonical column; did you mean \"output\"\?"
    ):
        pe.scan_traces(spans, columns={"outputs": "output"})
    with pytest.raises(
        ValueError, match="rows must be one of 'traces', 'spans', 'outputs', 'all', not 'some'"
    ):
        pe.scan_traces(spans, rows="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'output\[', which is not a column or a path"):
        pe.scan_traces(spans, columns={"output": "output["})
    with pytest.raises(TypeError, match="give a column name or an expression"):
        pe.scan_traces(spans, columns={"output": 3})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"keep=\['latency'\]"):
        pe.scan_traces(spans, keep="latency")
    with pytest.raises(ValueError, match="source_ts twice"):
        pe.scan_traces(spans, keep=["ts", "ts"])


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_missing_column_names_column_file_and_option(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"spans.{suffix}"
    SPANS.write_parquet(file) if suffix == "parquet" else SPANS.write_ndjson(file)
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError,
        match=rf"(?s)columns=\{{'input': ...\}} names 'inputs'.*spans.{suffix}'; did you mean \"input\"\?",
    ):
        pe.scan_traces(file, columns={"input": "inputs"})
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="keep= names 'cost'"):
        pe.scan_traces(file, keep=["cost"])


def test_missing_output_names_file_and_option(spans: Path) -> None:
    SPANS.drop("output").write_parquet(spans)
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError,
        match=r'parquet\' has no column \'output\'; name it with columns=\{"output": ...\} \(columns: .*ts',
    ):
        pe.scan_traces(spans, "generic")
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError,
        match=r'has no column \'outputs\', where LangSmith .*; name it with columns=\{"output": ...\}',
    ):
        pe.scan_traces(spans, "langsmith")


def test_answers_that_are_missing_stay_rows(spans: Path) -> None:
    """In a table of answers a missing one is a failure; only among spans is it none of the answers."""
    assert pe.scan_traces(spans).collect()["output"].to_list() == ["one", None, "three"]
    assert pe.scan_traces(spans, "generic", keep=["latency"]).collect().height == 3
    assert pe.scan_traces(spans, rows="outputs").collect()["output"].to_list() == ["one", "three"]
    suite = pe.Suite([pe.Metric("exact_match")])
    scored = suite.score(pe.scan_traces(spans, columns={"expected": "input"}).collect())
    assert scored.select("exact_match_score", "exact_match_label").row(1) == (0.0, "fail")
    marked = SPANS.with_columns(span_id="trace_id", root_span_id="trace_id")
    marked.write_parquet(spans)
    # So is a trace whose question was not answered; one that asked nothing either is none.
    assert pe.scan_traces(spans).collect()["output"].to_list() == ["one", None, "three"]
    marked.drop("input").write_parquet(spans)
    assert pe.scan_traces(spans).collect()["output"].to_list() == ["one", "three"]


def test_other_kinds_of_file_are_refused(tmp_path: Path) -> None:
    for name, way_out in (
        ("x.txt", "JSON Lines, JSON, CSV"),
        ("x.xlsx", r"pl\.read_excel\(\.\.\.\)\.write_parquet"),
    ):
        file = tmp_path / name
        file.write_bytes(b"some words")
        with pytest.raises(
            pl.exceptions.ComputeError, match=rf"{name}: \.\w+ cannot be read; use Parquet"
        ) as refused:
            pe.scan_traces(file)
        assert refused.match(way_out)
        [row] = pe.check_traces(file).files.rows(named=True)
        assert "cannot be read" in row["error"]


def test_other_endings_are_read_by_their_content(tmp_path: Path) -> None:
    line = b'{"output": "one"}\n'
    (tmp_path / "a.json").write_bytes(line)
    (tmp_path / "b.log").write_bytes(b"\xef\xbb\xbf\n " + line)
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(line))
    SPANS[:1].write_parquet(tmp_path / "d.data")
    (tmp_path / "e.json").write_bytes(b"")
    for name in ("a.json", "b.log", "c.json.gz", "d.data"):
        assert pe.scan_traces(tmp_path / name).collect()["output"].to_list() == ["one"], name
    assert pe.scan_traces(tmp_path / "e.json", "generic").collect().height == 0


@pytest.mark.parametrize(
    "deep", [b"[" * 100_000, b'{"output": ' + b"[" * 100_000, b'{"output": ' + b"[" * 600 + b"]" * 600 + b"}"]
)
def test_a_line_that_is_nested_too_deeply_costs_its_file(tmp_path: Path, deep: bytes) -> None:
    span = b'{"span_id": "1", "root_span_id": "1", "output": "one"}\n'
    (tmp_path / "deep.jsonl").write_bytes(deep + b"\n" + span)
    with pytest.raises(pl.exceptions.ComputeError, match=r"deep\.jsonl', record 1: .* more than 128 levels"):
        pe.scan_traces(tmp_path).collect()
    assert "more than 128 levels" in pe.check_traces(tmp_path).files["error"][0]


@pytest.mark.parametrize(
    "content",
    [
        b'[{"output": "a"}, {"output": "b"}]',
        b'\xef\xbb\xbf\n [\n{"output": "a"},\n{"output": "b"}\n]',
        b'{\n  "output": "a"\n}\n{\n "output": "b"}\n',
        b'{"output": "a"}\n{"output": "b"}',
    ],
)
def test_json_in_any_shape_is_read(tmp_path: Path, content: bytes) -> None:
    for name in ("x.jsonl", "x.json", "x.log"):
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    for file in sorted(tmp_path.iterdir()):
        for asked in ("auto", "generic"):
            assert pe.scan_traces(file, asked).collect()["output"].to_list() == ["a", "b"], (file, asked)


# Detection


def test_unknown_columns_say_what_was_seen(spans: Path) -> None:
    pl.DataFrame({"foo": [1], "bar": [2]}).write_parquet(spans)
    with pytest.raises(
        UnknownFormatError, match=r'columns bar, foo of .*spans.parquet; .*columns=\{"output"'
    ):
        pe.scan_traces(spans)


def test_ambiguity_names_the_candidates(spans: Path) -> None:
    both = {"span_id": ["a"], "root_span_id": ["a"], "output": ["x"], "gen_ai.output.messages": ["[]"]}
    pl.DataFrame(both).write_parquet(spans)
    with pytest.raises(
        AmbiguousFormatError,
        match=r"be otel \(columns gen_ai.output.messages\); braintrust \(columns root_span_id, span_id\)",
    ):
        pe.scan_traces(spans)
    assert pe.detect_traces(spans, "braintrust").format == "braintrust"
    assert pe.scan_traces(spans, "braintrust").collect().height == 1


def test_detection_is_logged(spans: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "polars_evals.traces"):
        pe.scan_traces(spans)
    assert caplog.messages == ["generic: a column output, and no platform's columns, in 1 file"]


def test_check_reports_each_file(tmp_path: Path) -> None:
    SPANS.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and nothing else")
    pl.DataFrame({"foo": [1]}).write_parquet(tmp_path / "c.parquet")
    (tmp_path / "d.jsonl").write_bytes(b'{"output": "\xe9"}\n')
    report = pe.check_traces(tmp_path).files
    counts = {
        row[0].rsplit("/")[-1]: row[1:] for row in report.select("file", "rows", "outputs", "broken").rows()
    }
    nothing = (None, None, None)
    assert counts == {
        "a.parquet": (3, 2, 0),
        "b.parquet": nothing,
        "c.parquet": nothing,
        "d.jsonl": (1, 0, 1),
    }
    fine, cut, foreign, latin = report.sort("file").get_column("error")
    assert fine is None
    assert "b.parquet" in cut
    assert "no known trace format" in foreign
    assert "no answer in any of them" in latin


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("outputs", [("x", None), (None, "x"), ("w", "x")])
def test_a_trace_of_two_spans_alone_in_its_file(
    tmp_path: Path, outputs: tuple[str | None, str | None], engine: Literal["in-memory", "streaming"]
) -> None:
    """The span with the answer is it, and of two the last; wherever it stands."""
    spans = {"span_id": ["a", "b"], "root_span_id": ["a", "a"], "input": ["?", "?"], "output": outputs}
    pl.DataFrame(spans).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame(spans).write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.parquet", "a.jsonl"):
        found = pe.scan_traces(tmp_path / name, "braintrust").collect(engine=engine)
        assert found["output"].to_list() == ["x"]
