"""A comparison and a ranking of a cluster's data are those of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals import cluster
from polars_evals.cluster import engines
from tests.cluster.local import LocalEngine
from tests.drift.frames import label

SETTINGS: dict[str, Any] = {"version": "model", "baseline": "v1", "candidate": ["v2", "v3"]}


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take lists of tables for the data of an engine."""
    monkeypatch.setitem(engines.ENGINES, "local", LocalEngine)
    monkeypatch.setitem(engines.PACKAGES, "builtins", "local")


def scored(seed: int, items: int = 60, *, continuous: bool = False, repeats: int = 1) -> pl.DataFrame:
    """Scores of three versions, with gaps in everything: versions, items, clusters, slices and scores."""
    rng = np.random.default_rng(seed)
    base = rng.beta(5, 2, items)
    traits = pl.DataFrame(
        {
            "case_id": [f"item-{n}" for n in range(items)],
            "user": [None if n % 11 == 0 else f"user-{rng.integers(items // 4 + 1)}" for n in range(items)],
            "topic": [("refunds", "sales", None)[rng.integers(3)] for _ in range(items)],
            "language": [rng.choice(["de", "en"]) for _ in range(items)],
        },
        schema=dict.fromkeys(("case_id", "user", "topic", "language"), pl.String),
    )
    frames = []
    for shift, version in enumerate(("v1", "v2", "v3", None) * repeats):
        scores = {}
        for name in ("a", "b"):
            score = np.clip(base + rng.normal(-0.03 * (shift % 4), 0.1, items), 0, 1)
            score = score if continuous else np.round(score, 2)
            scores[f"{name}_score"] = pl.Series(score).set(pl.Series(rng.random(items) < 0.05), None)
        frame = traits.with_columns(pl.Series(name, values) for name, values in scores.items()).with_columns(
            label("a_score"),
            model=pl.lit(version, dtype=pl.String),
            case_id=pl.when(pl.Series(rng.random(items) > 0.05)).then("case_id"),
        )
        frames.append(frame.filter(pl.Series(rng.random(items) > 0.1)))
    return pl.concat(frames)


def tables(frame: pl.DataFrame) -> list[pa.Table]:
    return [frame[:300].to_arrow(), frame[300:].to_arrow(), frame[:0].to_arrow()]


def found(frame: pl.DataFrame, options: Any, **more: Any) -> pe.Comparison:
    return cluster.compare(tables(frame), **(SETTINGS | options), **more)


def assert_equal(one: pe.Comparison, other: pe.Comparison) -> None:
    """Numbers, notes and settings; the texts of items stay on the cluster."""
    for name, frame in other.frames().items():
        texts = pl.selectors.matches("^input$|^expected$|output")
        assert_frame_equal(one.frames()[name].drop(texts), frame.drop(texts))
    assert one.notes == other.notes
    assert one.settings == other.settings
    assert one.verdicts == other.verdicts


LONG = (pl.col("input").str.len_chars() > 6).alias("long")
OPTIONS: list[dict[str, Any]] = [
    {"item": "case_id"},
    {"item": "case_id", "by": ["topic", ("topic", "language")]},
    {"item": "case_id", "cluster": "user", "by": "topic", "unanswered": "apart"},
    {"item": "case_id", "by": ["topic", LONG], "measures": {"seconds": {"lower_is_better": True}}},
    {"item": "case_id", "by": "auto", "candidate": None, "margin": 0.02},
    {"by": "language", "measures": "auto", "metrics": ["a"], "alpha": 0.2},
    {"cluster": "user", "by": ["topic"], "candidate": {"v3", "v2"}},
]


def with_texts(frame: pl.DataFrame) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return frame.with_columns(
        input=pl.lit("question ") + pl.col("case_id"),
        output=pl.when(pl.Series(rng.random(len(frame)) < 0.9)).then(pl.lit("some answer")),
        seconds=pl.Series(rng.gamma(2, 1, len(frame))),
        latency_ms=pl.Series(rng.gamma(2, 1, len(frame))),
    )


@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
def test_a_comparison_equals_that_of_the_rows(options: dict[str, Any]) -> None:
    frame = with_texts(scored(1, 240))
    assert_equal(found(frame, options), pe.compare(frame, **(SETTINGS | options)))


def test_versions_that_nobody_asked_about_are_not_collected() -> None:
    frame = scored(1, 240).drop_nulls("model")
    table = found(frame, {"candidate": "v2", "item": "case_id"}).table
    assert table is not None
    assert set(table.collect()["model"]) == {"v1", "v2"}


def test_above_max_items_a_share_of_whole_items_is_compared() -> None:
    many = pl.DataFrame({"case_id": range(20_000)}).join(
        pl.DataFrame({"model": ["v1", "v2"], "a_score": [0.5, 0.4]}), how="cross"
    )
    options = {"candidate": "v2", "item": "case_id"}
    comparison = found(many, options, max_items=5_000)
    n = comparison.summary["n"].item()
    assert 4_000 < n < 6_000
    assert comparison.unmatched.is_empty()
    assert comparison.notes[-1].endswith(" chosen by a hash of the item (max_items = 5,000)")
    assert found(many, options, max_items=5_000).summary["n"].item() == n
    assert found(many, options, max_items=40_000).notes == ()
    with pytest.raises(
        ValueError, match="40,000 rows, more than max_items=5,000, and without an item column"
    ):
        found(many, {"candidate": "v2"}, max_items=5_000)


def test_what_is_wrong_is_said_before_anything_is_collected() -> None:
    frame = scored(6)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match='did you mean "topic"'):
        found(frame, {"by": "topics"})
    with pytest.raises(ValueError, match="candidate 'v9' is not in column 'model'"):
        found(frame, {"candidate": "v9"})
    with pytest.raises(TypeError, match="expected a Ray Dataset or a Spark DataFrame, got DataFrame"):
        cluster.compare(frame, **SETTINGS)
    mixed = frame.with_columns(a_signature=pl.when(pl.col("model") == "v1").then(pl.lit("x")))
    with pytest.raises(ValueError, match="'a_signature' differs between the rows"):
        found(mixed, {"item": "case_id"})
    with pytest.raises(ValueError, match="'a_signature' differs between the rows"):
        cluster.rank(tables(mixed), version="model", item="case_id")
    other = frame.with_columns(a_signature=pl.when(pl.col("model") == "v3").then(pl.lit("x")))
    assert found(other, {"candidate": "v2", "item": "case_id"}).verdicts


@pytest.mark.parametrize("options", [{}, {"baseline": "v1"}, {"cluster": "user"}], ids=str)
def test_a_ranking_equals_that_of_the_rows(options: dict[str, Any]) -> None:
    frame = scored(2, 240)
    asked: dict[str, Any] = {"version": "model", "item": "case_id", **options}
    ranked, whole = cluster.rank(tables(frame), **asked), pe.rank(frame, **asked)
    for name, table in whole.frames().items():
        assert_frame_equal(ranked.frames()[name], table)
    assert ranked.notes == whole.notes
    assert ranked.settings == whole.settings
    some = cluster.rank(tables(frame), **asked, max_items=100)
    assert "chosen by a hash" in some.notes[-1]


@pytest.mark.parametrize("asked", [None, ["macro_f1"], ["accuracy"]])
def test_aggregates_of_counts_and_of_texts_are_those_of_the_rows(asked: Any) -> None:
    rng = np.random.default_rng(3)
    expected = rng.choice(list("ab"), 240)
    frame = pl.concat(
        pl.DataFrame(
            {
                "case_id": range(240),
                "model": model,
                "expected": expected,
                "output": rng.choice(list("ab"), 240),
            }
        )
        for model in ("v1", "v2", "v3")
    )
    frame = pe.Suite([pe.Metric("exact_match")], aggregates=["macro_f1"]).score(frame)
    options: dict[str, Any] = {"item": "case_id", "aggregates": asked}
    assert_equal(found(frame, options), pe.compare(frame, **SETTINGS, **options))
    ranking = cluster.rank(tables(frame), version="model", **options)
    assert_frame_equal(ranking.summary, pe.rank(frame, version="model", **options).summary)
