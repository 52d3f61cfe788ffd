"""`polars-evals traces`: what files hold, in words and as JSON; and what `score` says of such files."""

from __future__ import annotations

import json
from pathlib import Path

from tests.jobs.support import invoke

SPANS = '{"span_id": "a", "root_span_id": "a", "input": "q", "output": "4"}\n{"span_id": "b", "root_sp'


def test_traces_says_what_a_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(SPANS)
    code, out, _ = invoke("traces", file)
    assert code == 0
    assert "a.jsonl: braintrust, 2 records, 2 rows (1 with an output)" in out
    assert "1 broken: a row with an error" in out
    assert "warning: expected is null in every row" in out
    code, out, _ = invoke("traces", file, "--json")
    [told] = json.loads(out)["files"]
    assert (code, told["format"], told["records"], told["broken"]) == (0, "braintrust", 2, 1)


def test_traces_without_answers_are_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"span_id": "a", "root_span_id": "a", "input": "q"}\n')
    code, out, _ = invoke("traces", file)
    assert code == 3
    assert "a.jsonl: braintrust, 1 record, " in out
    assert "no answer in any of them" in out
    code, _, error = invoke("score", file, "--metric", "exact_match", "-o", tmp_path / "out.parquet")
    assert code == 3
    assert "no answer in any of them" in error


def test_score_warns_where_nothing_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(SPANS.splitlines()[0] + "\n")
    code, _, error = invoke("score", file, "--metric", "exact_match", "-o", tmp_path / "out.parquet")
    assert code == 0
    assert "warning: expected is null in every row" in error
