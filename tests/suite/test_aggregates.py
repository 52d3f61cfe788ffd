"""A suite keeps what each row adds to its aggregates."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe

FRAME = pl.DataFrame({"output": ["Answer: yes", "no", None], "expected": ["yes", "yes", "no"]})


def test_counts_stand_beside_scores_and_are_the_same_eager_lazy_and_stored(tmp_path: Path) -> None:
    suite = pe.Suite(
        [pe.Metric("exact_match")], aggregates=["macro_f1", pe.Aggregate("corpus_bleu", name="b")]
    )
    scored = suite.score(FRAME)
    assert scored.columns[-2:] == ["macro_f1_counts", "b_counts"]
    assert_frame_equal(suite.score(FRAME.lazy()).collect(), scored)
    suite.sink_parquet(FRAME, tmp_path / "scored.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "scored.parquet"), scored)
    assert set(pe.signatures(tmp_path / "scored.parquet")) == {"exact_match", "macro_f1", "b"}


def test_the_suites_columns_and_cleaning_are_the_aggregates_too() -> None:
    suite = pe.Suite(
        [pe.Metric("exact_match")], output="answer", clean=[{"after": "Answer:"}], aggregates=["accuracy"]
    )
    counts = suite.score(FRAME.rename({"output": "answer"}))["accuracy_counts"]
    assert counts.struct.field("output").to_list() == ["yes", "no", None]
    own = pe.Suite(
        [pe.Metric("exact_match")], aggregates=[pe.Aggregate("accuracy", output="expected", clean=["fence"])]
    )
    assert own.aggregates[0].output == "expected"
    assert pe.Suite.from_dict(own.to_dict()) == own


def test_a_file_has_aggregates_with_and_without_metrics(tmp_path: Path) -> None:
    file = tmp_path / "evals.toml"
    file.write_text('[[aggregate]]\ntype = "f1"\nname = "yes_f1"\npositive = "yes"\n')
    suite = pe.Suite.load(file)
    assert suite.metrics == ()
    assert suite.score(FRAME).columns == ["output", "expected", "yes_f1_counts"]
    assert [one.name for one in suite.aggregates] == ["yes_f1"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('type = "makro_f1"', r'aggregate\[1\] "makro_f1": unknown aggregate.*did you mean "macro_f1"'),
        ('type = "f1"', "name the class"),
        ('type = "mcc"\noutputs = "x"', 'unknown option "outputs"; did you mean "output"'),
        ('output = "x"', "the `type` is missing"),
        ('type = "mcc"\nname = "exact_match"', "is an aggregate, and a metric"),
    ],
)
def test_errors_name_the_file_and_the_place(tmp_path: Path, entry: str, message: str) -> None:
    file = tmp_path / "evals.toml"
    file.write_text(f'[[metric]]\ntype = "exact_match"\n[[aggregate]]\n{entry}\n')
    with pytest.raises(ValueError, match=message) as told:
        pe.Suite.load(file)
    assert str(file) in str(told.value)


def test_a_column_that_is_not_there_is_named() -> None:
    suite = pe.Suite([pe.Metric("exact_match")], aggregates=[pe.Aggregate("mcc", expected="label")])
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match='aggregate "mcc": the frame has no column "label"'
    ):
        suite.score(FRAME)
