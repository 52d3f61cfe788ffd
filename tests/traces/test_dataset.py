"""Expected values from a dataset: joined once per item, nothing repeated, nothing lost unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe

if TYPE_CHECKING:
    from pathlib import Path

TRACES = pl.DataFrame({"item_id": ["b", "a", "c", "a", None], "output": ["B", "A", "C", "x", "y"]})
DATASET = pl.DataFrame({"item_id": ["a", "b", "z"], "expected": ["A", "B", "Z"]})
WANTED = TRACES.with_columns(expected=pl.Series(["B", "A", None, "A", None]))


def test_order_and_type_of_frame_stay() -> None:
    eager: pl.DataFrame = pe.with_expected(TRACES, DATASET)
    lazy: pl.LazyFrame = pe.with_expected(TRACES.lazy(), DATASET.lazy())
    assert_frame_equal(eager, WANTED)
    assert_frame_equal(lazy.collect(), WANTED)
    assert_frame_equal(lazy.collect(engine="streaming"), WANTED)


def test_files(tmp_path: Path) -> None:
    DATASET.write_parquet(tmp_path / "d.parquet")
    DATASET.write_ndjson(tmp_path / "d.jsonl")
    DATASET.write_csv(tmp_path / "d.csv")
    for name in ("d.parquet", "d.jsonl", "d.csv"):
        assert_frame_equal(pe.with_expected(TRACES, tmp_path / name), WANTED)
        assert_frame_equal(pe.with_expected(TRACES, str(tmp_path / name)), WANTED)


def test_own_values_stay_where_the_dataset_has_none() -> None:
    traces = TRACES.with_columns(expected=pl.lit("own"))
    joined = pe.with_expected(traces, DATASET)
    assert joined.get_column("expected").to_list() == ["B", "A", "own", "A", "own"]
    assert joined.columns == ["item_id", "output", "expected"]


def test_several_references() -> None:
    dataset = pl.DataFrame({"item_id": ["a"], "refs": [["A", "a"]]})
    joined = pe.with_expected(TRACES.with_columns(expected=pl.lit("own")), dataset, expected="refs")
    assert joined.schema["expected"] == pl.List(pl.String)
    assert joined.get_column("expected").to_list() == [["own"], ["A", "a"], ["own"], ["A", "a"], ["own"]]
    back = pe.with_expected(joined, DATASET)
    assert back.get_column("expected").to_list() == [["B"], ["A"], ["own"], ["A"], ["own"]]


def test_values_that_are_not_text() -> None:
    numbers = pl.DataFrame({"item_id": ["a", "b"], "expected": [1, 2]})
    assert pe.with_expected(TRACES, numbers).get_column("expected").to_list() == ["2", "1", None, "1", None]
    nested = pl.DataFrame({"item_id": ["a"], "expected": [{"x": 1}]})
    assert pe.with_expected(TRACES, nested).get_column("expected").to_list()[1] == '{"x":1}'


def test_keys_of_another_type_and_name() -> None:
    traces = pl.DataFrame({"input": ["q"], "item_id": ["7"]})
    assert (
        pe.with_expected(traces, pl.DataFrame({"item_id": [7], "expected": ["A"]}))["expected"].item() == "A"
    )
    by_input = pl.DataFrame({"input": ["q"], "expected": ["A"]})
    assert pe.with_expected(traces, by_input, on="input")["expected"].item() == "A"


def test_repeated_items() -> None:
    same = pl.concat([DATASET, DATASET])
    assert_frame_equal(pe.with_expected(TRACES, same), WANTED)
    differing = pl.concat([DATASET, DATASET.with_columns(expected=pl.lit("other"))])
    with pytest.raises(ValueError, match=r"holds 3 items twice .*'expected': 'a', 'b', 'z'"):
        pe.with_expected(TRACES, differing)


def test_unmatched_are_listed_and_can_be_refused() -> None:
    assert pe.unmatched_items(TRACES, DATASET).rows() == [
        *((None, "traces", 1), ("c", "traces", 1)),
        ("z", "dataset", 1),
    ]
    with pytest.raises(
        ValueError, match=r"2 traces belong to 2 items that the dataset does not hold: 'c', None"
    ):
        pe.with_expected(TRACES.lazy(), DATASET, unmatched="raise")
    matched = TRACES[:2]
    assert_frame_equal(pe.with_expected(matched, DATASET, unmatched="raise"), WANTED[:2])
    assert pe.unmatched_items(matched, DATASET[:2]).is_empty()


def test_errors() -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=r"dataset has no column 'answer'.*expected="):
        pe.with_expected(TRACES, DATASET, expected="answer")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=r"'id' in the traces .*on="):
        pe.with_expected(TRACES, DATASET, on="id")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="'output' in the dataset"):
        pe.with_expected(TRACES, DATASET, on="output")
    with pytest.raises(ValueError, match="'keep' or 'raise'"):
        pe.with_expected(TRACES, DATASET, unmatched="drop")  # type: ignore[arg-type]
