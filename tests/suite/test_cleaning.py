"""Suites that clean before they score, and that compare with literals."""

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError

import polars_evals as pe

DF = pl.DataFrame(
    {
        "output": ["<think>12</think> 42", "42", "Answer: 42", "<think>a</think>\nAnswer: 41"],
        "expected": ["42", "Answer: 42", "42", "42"],
    }
)


def scores(suite: pe.Suite, frame: pl.DataFrame = DF, name: str = "exact_match") -> list[float]:
    return suite.score(frame)[f"{name}_score"].to_list()


def test_steps_run_one_after_the_other() -> None:
    clean = ["reasoning", {"after": "Answer:"}]
    assert scores(pe.Suite([pe.Metric("exact_match", clean=clean)])) == [1, 0, 1, 0]
    assert scores(pe.Suite([pe.Metric("exact_match", clean=clean, clean_expected=True)])) == [1, 1, 1, 0]
    own = pe.Metric("exact_match", clean=["reasoning"], clean_expected=[{"after": "Answer:"}])
    assert scores(pe.Suite([own])) == [1, 1, 0, 0]


def test_of_suite_and_metric_the_metric_wins() -> None:
    suite = pe.Suite(
        [pe.Metric("exact_match"), pe.Metric("exact_match", clean="number")], clean=["reasoning"]
    )
    assert scores(suite) == [1, 0, 0, 0]
    assert scores(suite, name="exact_match_2") == [1, 0, 1, 0]
    assert suite.score(DF).columns[:2] == DF.columns
    assert suite.score(DF.lazy()).collect(engine="streaming").equals(suite.score(DF))


def test_details_say_what_was_not_found() -> None:
    metric = pe.Metric("exact_match", clean=["reasoning", {"after": "Answer:"}], details=True)
    notes = pe.Suite([metric]).score(DF)["exact_match_cleaning"].to_list()
    assert notes == ['no "Answer:"', 'no reasoning, no "Answer:"', "no reasoning", None]


def test_turns_are_cleaned_one_by_one() -> None:
    frame = pl.DataFrame({"output": [["<think>a</think>x", "y"]], "expected": [["x", "y"]]})
    assert scores(pe.Suite([pe.Metric("exact_match", clean=["reasoning"])]), frame) == [1.0]


def test_cleaning_is_part_of_the_signature() -> None:
    plain, cleaned, both = (
        pe.Suite([pe.Metric("exact_match", **options)]).signature["exact_match"]
        for options in ({}, {"clean": ["reasoning"]}, {"clean": ["reasoning"], "clean_expected": True})
    )
    assert len({plain, cleaned, both}) == 3
    assert 'clean:["reasoning"]' in cleaned


def test_files(tmp_path: pytest.TempPathFactory) -> None:
    path = tmp_path / "evals.toml"  # type: ignore[operator]
    path.write_text(
        """
        clean = ["reasoning", "fence", {after = ["Answer:", "####"]}]
        clean_expected = true
        expected = {literal = "42"}
        [[metric]]
        type = "exact_match"
        [[metric]]
        name = "other"
        type = "exact_match"
        clean = [{regex = "([0-9]+)", group = 1}]
        expected = {literal = "41"}
        """
    )
    suite = pe.Suite.load(path)
    assert scores(suite) == [1, 1, 1, 0]
    assert scores(suite, name="other") == [0, 0, 0, 1]
    again = pe.Suite.from_dict(suite.to_dict())
    assert again.signature == suite.signature
    assert 'expected:{"literal":"42"}' in suite.signature["exact_match"]
    for text, message in [
        ('clean = ["fences"]\n[[metric]]\ntype = "exact_match"', 'did you mean "fence"'),
        ('[[metric]]\ntype = "exact_match"\nclean = 3', "must be a list of steps"),
        ('[[metric]]\ntype = "exact_match"\nexpected = {lit = 3}', "must be a name or"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            pe.Suite.load(path)


def test_literals() -> None:
    frame = pl.DataFrame({"output": ["Paris", "Rome"]})
    metric = pe.Metric("exact_match", expected=pl.lit("Paris"))
    assert scores(pe.Suite([metric]), frame) == [1.0, 0.0]
    assert scores(pe.Suite([pe.Metric("exact_match")], expected=pl.lit("Rome")), frame) == [0.0, 1.0]
    several = pe.Metric("exact_match", expected={"literal": ["Paris", "Rome"]})
    assert scores(pe.Suite([several]), frame) == [1.0, 1.0]
    assert pe.Suite([metric]).check(frame).is_empty()
    with pytest.raises(ValueError, match=r"must be the name of a column, or pl\.lit"):
        pe.Metric("exact_match", expected=pl.col("x"))


def test_a_text_that_is_no_column_is_explained() -> None:
    with pytest.raises(
        ColumnNotFoundError, match=r'no column "hello"; there are "output".*pl\.lit\("hello"\)'
    ):
        pe.Suite([pe.Metric("contains", expected="hello")]).score(pl.DataFrame({"output": ["a"]}))


def test_check_looks_at_cleaned_texts() -> None:
    frame = pl.DataFrame({"output": ["<think>a</think>"], "expected": ["x"]})
    found = pe.Suite([pe.Metric("exact_match", clean=["reasoning"])]).check(frame)
    assert found.select("finding", "column").rows() == [("empty", "output")]
