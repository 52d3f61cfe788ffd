"""The baseline's outputs as the expected ones."""

from __future__ import annotations

import numpy as np
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
EXPECTED = ["first", None, None, None, "first", "x", None, None]
ONLY = [False, True, True, False, False, False, False, False]


def test_expected_is_the_first_output_of_the_baseline() -> None:
    found = pe.against_baseline(TRACES, version="model", baseline="v1", item="case")
    wanted = TRACES.with_columns(expected=pl.Series(EXPECTED), only_run=pl.Series(ONLY))
    assert_frame_equal(found, wanted)
    lazy = pe.against_baseline(TRACES.lazy(), version="model", baseline="v1", item="case")
    assert lazy.collect_schema() == wanted.schema
    assert_frame_equal(lazy.collect(), found)


def test_columns_may_have_other_names() -> None:
    renamed = TRACES.drop("expected").rename({"output": "answer"})
    found = pe.against_baseline(
        renamed, version="model", baseline="v1", item="case", output="answer", expected="before"
    )
    assert found.columns == [*renamed.columns, "before", "only_run"]
    assert found["before"].to_list() == EXPECTED


def test_refused() -> None:
    with pytest.raises(ValueError, match=r"baseline 'v0' is not in column 'model' \(versions: 'v1', 'v2'\)"):
        pe.against_baseline(TRACES, version="model", baseline="v0", item="case")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="output: there is no column 'output'"):
        pe.against_baseline(TRACES.drop("output"), version="model", baseline="v1", item="case")


def stochastic(runs: int, *, worse: float = 0.0, seed: int = 0) -> pl.DataFrame:
    """A baseline with some runs an item and a candidate with one, each answer one of three at random."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            item,
            model,
            rng.choice(["yes", "no", "maybe"], p=[0.7, 0.2, 0.1]) if rng.random() > lost else "what",
        )
        for item in range(200)
        for model, lost, count in (("v1", 0.0, runs), ("v2", worse, 1))
        for _ in range(count)
    ]
    return pl.DataFrame(rows, schema=["case", "model", "output"], orient="row")


def compared(frame: pl.DataFrame) -> pe.Comparison:
    moved = pe.against_baseline(frame, version="model", baseline="v1", item="case")
    scored = moved.with_columns(pe.exact_match("output", "expected")).unnest("exact_match", separator="_")
    return pe.compare(scored, version="model", baseline="v1", item="case")


def test_an_unchanged_model_has_not_regressed() -> None:
    verdicts = [compared(stochastic(2, seed=seed)).verdict for seed in range(20)]
    assert verdicts.count("regressed") <= 2
    assert compared(stochastic(2, worse=0.4)).verdict == "regressed"


def test_one_run_is_no_verdict_and_says_what_to_do() -> None:
    comparison = compared(stochastic(1, worse=0.4))
    assert comparison.verdict == "inconclusive"
    assert "run it a second time on the same items" in comparison.summary["reason"][0]
    assert any("only run of an item" in note for note in comparison.notes)
