"""`polars-evals traces`: what files hold, in words and as JSON; and what `score` says of such files."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from tests.jobs.support import invoke

SPANS = '{"span_id": "a", "root_span_id": "a", "input": "q", "output": "4"}\n{"span_id": "b", "root_sp'


def test_traces_says_what_a_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(SPANS)
    code, out, _ = invoke("traces", file)
    assert code == 0
    first, _, row, *_ = out.splitlines()
    assert first == "2 rows from 1 file, 1 with an output."
    assert row.split()[-4:] == ["braintrust", "2", "2", "1"]
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
    assert "from 1 file, " in out
    assert "a.jsonl  braintrust" in out
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


def test_check_says_what_to_choose(tmp_path: Path) -> None:
    file, output = tmp_path / "a.parquet", tmp_path / "out.parquet"
    pl.DataFrame({"output": ["東京です", "b"], "expected": ["東京です", None]}).write_parquet(file)
    code, out, _ = invoke("score", file, "--metric", "bleu", "--check")
    assert code == 0
    assert "warning: unspaced_script: bleu, output, 1 row (50%)" in out
    assert 'use tokenize="char"' in out
    assert not output.exists()
    code, out, error = invoke("score", file, "--metric", "bleu", "--check", "-o", output, "--json")
    found = json.loads(out)
    assert [one["finding"] for one in found["findings"]] == ["missing", "unspaced_script", "unspaced_script"]
    assert found["unlabelled"] == {"expected": 1}
    assert "1 of 2 rows has no expected value: scored 0.0" in error
    assert output.exists()
    code, out, _ = invoke("score", file, "--metric", "chrf", "--check", "--json")
    assert [one["finding"] for one in json.loads(out)] == ["missing"]
    code, _, error = invoke("score", file, "--metric", "bleu")
    assert code == 2
    assert "--output names the Parquet file to write" in error
    code, _, error = invoke("score", file, "--metric", "bleu", "-o", output, "--engine", "sparc")
    assert code == 2
    assert '--engine must be one of polars, ray, spark, got "sparc"; did you mean "spark"?' in error
