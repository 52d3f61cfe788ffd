"""Metrics are expressions of a plugin: plans name them, share them, and go to other processes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from tests.cases import CASES, Case

if TYPE_CHECKING:
    from pathlib import Path

# What Python itself computes: a model, a schema, values of any depth.
IN_PYTHON = {"json_fields", "json_schema", "semantic", "tool_calls", "tool_calls_valid"}
NATIVE = [case for case in CASES if case.name not in IN_PYTHON]
# Polars finds the pattern, and this scores what it finds.
CALLED = {"regex_match": "given"}

STEPS = [
    pe.strip_reasoning("output"),
    pe.unfence("output"),
    pe.extract_json("output"),
    pe.extract_choice("output"),
    pe.extract_number("output"),
    pe.extract_after("output", "is", "Answer:"),
    pe.extract_boxed("output"),
    pe.extract_regex("output", r"(\w+)"),
    pe.extract_field("output", "$.a"),
]

RUN = """
import sys, polars as pl
for plan in sys.argv[1:]:
    frame = pl.LazyFrame.deserialize(plan).collect()
    frame.write_parquet(plan + ".parquet")
assert "polars_evals" not in sys.modules
"""


@pytest.mark.parametrize("case", NATIVE, ids=lambda case: f"{case.name}-{len(case.options)}")
def test_plans_name_the_function(case: Case) -> None:
    plan = case.frame.lazy().select(case(details=True)).explain()
    assert "python_udf" not in plan
    assert f":{CALLED.get(case.name, case.name)}(" in plan


def test_plans_run_where_the_package_is_not_imported(tmp_path: Path) -> None:
    queries = [case.frame.lazy().select(case(details=True)) for case in NATIVE]
    texts = pl.LazyFrame({"output": ["The answer is (B). 42", "```\nx\n```", None]})
    queries += [texts.select(step) for step in STEPS]
    queries.append(texts.select(pe.regex_match("output", r"\d+", details=True)))
    queries.append(
        pe.Suite([pe.Metric("rouge"), pe.Metric("bleu")]).score(texts.with_columns(expected="output"))
    )
    plans = [tmp_path / f"{number}.plan" for number in range(len(queries))]
    for query, plan in zip(queries, plans, strict=True):
        query.serialize(plan)
    subprocess.run([sys.executable, "-c", RUN, *map(str, plans)], check=True)
    for query, plan in zip(queries, plans, strict=True):
        assert_frame_equal(pl.read_parquet(f"{plan}.parquet"), query.collect(), categorical_as_str=True)


def test_score_and_label_are_one_call() -> None:
    frame = pl.LazyFrame({"output": ["a", "b"], "expected": ["a", "c"]})
    scored = pe.levenshtein("output", "expected")
    query = frame.select(scored.struct.field("score"), scored.struct.field("label"))
    assert query.explain().count(":levenshtein(") == 1


def test_wrong_types_are_refused_by_the_schema() -> None:
    frame = pl.LazyFrame({"output": [1], "expected": ["a"]})
    message = (
        r"levenshtein: `output` must be text \(String, Categorical, Enum\) or a list of texts, got Int64"
    )
    with pytest.raises(pl.exceptions.ComputeError, match=message):
        frame.select(pe.levenshtein("output", "expected")).collect_schema()


def test_a_missing_label_is_no_failure() -> None:
    frame = pl.DataFrame({"output": ["a", None, "a", None], "expected": ["a", "a", None, None]})
    for metric in (pe.levenshtein, pe.rouge, pe.exact_match, pe.json_fields):
        scored = frame.select(metric("output", "expected", missing="unlabelled").alias("m")).unnest("m")
        assert scored["score"].to_list()[1:] == [0.0, None, None]


def test_a_step_of_polars_between_native_ones() -> None:
    frame = pl.DataFrame({"output": ["<think>x</think> so 7 then", "none"]})
    metric = pe.Metric(
        "exact_match",
        expected=pl.lit("7"),
        clean=["reasoning", {"regex": r"so (.*)"}, "number"],
        details=True,
    )
    scored = pe.Suite([metric]).score(frame)
    assert scored["exact_match_score"].to_list() == [1.0, 0.0]
    assert scored["exact_match_cleaning"].to_list() == [None, "no reasoning, no match of so (.*), no number"]
