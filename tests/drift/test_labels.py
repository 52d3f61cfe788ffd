"""Samples for people to rate, and their ratings read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_evals as pe


def frame(items: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "item_id": [*range(items), *range(items)],
            "model": ["v1"] * items + ["v2"] * items,
            "topic": ["rare" if n % 20 == 0 else "common" for n in range(items)] * 2,
            "judge_score": rng.random(2 * items).round(1),
        }
    )


@pytest.mark.parametrize("strategy", ["uncertain", "random", "stratified"])
def test_weights_are_one_over_the_chance_to_be_drawn(strategy: str) -> None:
    scored = frame()
    by = "topic" if strategy == "stratified" else None
    drawn = [pe.sample_items(scored, 40, strategy=strategy, by=by, seed=seed) for seed in range(300)]  # type: ignore[arg-type]
    assert {one["item_id"].n_unique() for one in drawn} == {40}
    assert all(one.height == 80 for one in drawn)
    every = pl.concat(one.unique("item_id") for one in drawn)
    seen = every.group_by("item_id").agg(pl.len() / len(drawn), weight=1 / pl.col("weight").first())
    # The share of draws that hold an item is its chance: 300 draws are off by at most 3.5 standard errors.
    error = (seen["len"] - seen["weight"]).abs() / (seen["weight"] * (1 - seen["weight"]) / 300).sqrt()
    assert error.filter(seen["weight"] < 1).max() < 4.5  # type: ignore[operator]
    # Weighted means of samples are on average the mean of all.
    means = [np.average(one["judge_score"], weights=one["weight"]) for one in drawn]
    assert np.mean(means) == pytest.approx(scored["judge_score"].mean(), abs=0.01)


def test_uncertain_items_are_drawn_more_often_and_none_for_sure() -> None:
    scored = frame().with_columns(judge_score=pl.when(pl.col("item_id") < 30).then(0.5).otherwise(1.0))
    sample = pe.sample_items(scored, 60).unique("item_id")
    assert (sample["item_id"] < 30).mean() > 0.3  # type: ignore[operator]
    assert sample["weight"].min() > 1  # type: ignore[operator]


def test_a_seed_fixes_the_draw_whatever_the_order_of_the_rows() -> None:
    scored = frame()
    one, other = (pe.sample_items(rows, 30, seed=7) for rows in (scored, scored.reverse().lazy()))
    assert set(one["item_id"]) == set(other["item_id"])
    assert set(one["item_id"]) != set(pe.sample_items(scored, 30, seed=8)["item_id"])
    assert one.columns == [*scored.columns, "weight"]


def test_more_than_there_is_takes_all() -> None:
    sample = pe.sample_items(frame(10), 100)
    assert sample.height == 20
    assert sample["weight"].to_list() == [1.0] * 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "best"}, "strategy must be"),
        ({"n": 0}, "n must be a whole number"),
        ({"strategy": "stratified"}, 'by="topic"'),
        ({"strategy": "random", "by": "topic"}, "by is for"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pe.sample_items(frame(), **options)  # type: ignore[arg-type]


def test_a_weight_that_is_there_is_not_overwritten() -> None:
    with pytest.raises(pl.exceptions.DuplicateError, match="weight"):
        pe.sample_items(frame().with_columns(weight=1.0))


def write(path: Path, *records: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def rated(label: object, ts: str = "2026-01-01T10:00:00Z", **more: object) -> dict[str, object]:
    return {"item_id": "q1", "version": "v1", "label": label, "rater": "ann", "ts": ts, "report": "8f"} | more


def test_the_last_rating_of_a_rater_counts_in_any_order_of_files(tmp_path: Path) -> None:
    late = write(tmp_path / "a.jsonl", rated("fail", "2026-01-02T10:00:00.123Z", note="no source"))
    early = write(tmp_path / "b.jsonl", rated("pass"), rated("unsure", rater="bob"))
    for files in ([late, early], [early, late], tmp_path):
        labels = pe.read_labels(files).sort("rater")
        assert labels.columns == ["item_id", "version", "label", "note", "rater", "ts", "weight"]
        assert labels["label"].to_list() == ["fail", None]
        assert labels["note"].to_list() == ["no source", None]
        assert labels.schema["label"] == pl.Enum(["fail", "pass"])


def test_numbers_weights_and_ids_that_are_numbers(tmp_path: Path) -> None:
    labels = pe.read_labels(write(tmp_path / "a.jsonl", rated(0.5, item_id=7, weight=2), rated(1, item_id=8)))
    assert labels["label"].to_list() == [0.5, 1.0]
    assert labels["item_id"].to_list() == ["7", "8"]
    assert labels["weight"].to_list() == [2.0, None]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (rated("good"), 'line 1: "label" must be'),
        ({"item_id": "a", "label": "pass"}, 'line 1: "version" is missing'),
        (rated("pass", weight=0), '"weight" must be a number above 0'),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, record: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pe.read_labels(write(tmp_path / "a.jsonl", record))


def test_no_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        pe.read_labels(tmp_path / "none.jsonl")
