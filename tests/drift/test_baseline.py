"""The baseline's outputs as the expected ones."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe

TRACES = pl.DataFrame(
    {
        "case": ["a", "b", "a", None, "a", "b", "c", None],
        "model": ["v1", "v1", "v1", "v1", "v2", "v2", "v2", "v2"],
        "output": [None, "x", "first", "lost", "y", "z", "new", "lost"],
        "expected": ["old"] * 8,
        "ts": range(8),
    }
)
EXPECTED = ["first", "x", "first", None, "first", "x", None, None]


def test_expected_is_the_first_output_of_the_baseline() -> None:
    found = pe.against_baseline(TRACES, version="model", baseline="v1", item="case")
    assert_frame_equal(found, TRACES.with_columns(expected=pl.Series(EXPECTED)))
    lazy = pe.against_baseline(TRACES.lazy(), version="model", baseline="v1", item="case")
    assert lazy.collect_schema() == TRACES.schema
    assert_frame_equal(lazy.collect(), found)


def test_columns_may_have_other_names() -> None:
    renamed = TRACES.drop("expected").rename({"output": "answer"})
    found = pe.against_baseline(
        renamed, version="model", baseline="v1", item="case", output="answer", expected="before"
    )
    assert found.columns == [*renamed.columns, "before"]
    assert found["before"].to_list() == EXPECTED


def test_refused() -> None:
    with pytest.raises(ValueError, match=r"baseline 'v0' is not in column 'model' \(versions: 'v1', 'v2'\)"):
        pe.against_baseline(TRACES, version="model", baseline="v0", item="case")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="output: there is no column 'output'"):
        pe.against_baseline(TRACES.drop("output"), version="model", baseline="v1", item="case")


def test_scored_against_itself_the_baseline_is_perfect() -> None:
    frame = pe.against_baseline(TRACES, version="model", baseline="v1", item="case")
    scored = frame.with_columns(pe.exact_match("output", "expected", missing="null")).unnest(
        "exact_match", separator="_"
    )
    comparison = pe.compare(scored, version="model", baseline="v1", item="case")
    assert comparison.summary.select("baseline_mean", "candidate_mean", "n").row(0) == (1.0, 0.0, 2)
