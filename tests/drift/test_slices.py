"""Slices: each is the comparison of its own items, and a search lists those that moved and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.drift import ComparisonSpec

from .frames import drawn, label, versions


def compare(frame: pl.DataFrame, **options: Any) -> pe.Comparison:
    return pe.compare(frame, **{"version": "model", "baseline": "a", "item": "case_id"} | options)


def traits(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "topic": rng.choice(["billing", "code", "medicine"], n),
        "language": rng.choice(["de", "en"], n),
        "tier": rng.integers(0, 4, n),
        "vip": rng.random(n) < 0.3,
    }


SHRUNK = ["shrunk", "shrunk_low", "shrunk_high"]


@pytest.mark.parametrize(
    "options", [{}, {"cluster": "doc"}, {"item": None}, {"item": None, "cluster": "doc"}]
)
def test_a_slice_is_the_frame_filtered_to_it(options: Any) -> None:
    a, b = drawn(240, shift=-0.02, seed=1)
    doc = np.random.default_rng(2).integers(0, 40, 240)
    frame = versions({"a": a, "b": b}, doc=doc, **traits(240))
    frame = frame.filter(~((pl.col("model") == "b") & (pl.col("case_id") % 7 == 0)))
    comparison = compare(frame, by=["topic", ("topic", "vip")], **options)
    assert comparison.slices.height == 3 + 6
    # The number of tests differs, and the random signs have another name.
    apart = [
        "q_value", "pass_q_value", "p_permutation", "pass_p_permutation", "sequential_verdict",
        "score_verdict", "pass_verdict", "verdict", "reason",
    ]  # fmt: skip
    for row in comparison.slices.iter_rows(named=True):
        names, values = row["by"].split(", "), row["value"].split(", ")
        mask = [pl.col(c).cast(pl.String) == v for c, v in zip(names, values, strict=True)]
        alone = compare(frame.filter(mask), **options).summary.drop(apart)
        mine = comparison.slices.filter(pl.col("slice") == row["slice"]).drop(
            SHRUNK, "slice", "by", "value", *apart
        )
        assert_frame_equal(mine, alone, abs_tol=1e-12)


@pytest.mark.parametrize(
    "told",
    [
        pl.col("model") == "a",
        pl.col("model") == "b",
        (pl.col("model") == "a") | (pl.col("case_id") % 2 == 0),
    ],
)
def test_a_row_without_a_slice_is_in_that_of_its_item(told: pl.Expr) -> None:
    a, b = drawn(240, shift=-0.02, seed=1)
    frame = versions({"a": a, "b": b}, **traits(240))
    some = frame.with_columns(pl.when(told).then("topic").alias("topic"))
    by = ["topic", ("topic", "vip")]
    assert_frame_equal(compare(some, by=by).slices, compare(frame, by=by).slices)


@pytest.mark.parametrize("repeats", [1, 2])
def test_names_that_read_like_those_within_are_names(repeats: int) -> None:
    a, b = drawn(120, shift=-0.02, seed=1)
    frame = pl.concat([versions({"a": a, "b": b}, **traits(120))] * repeats)
    other = {"m_score": "by:m_score", "m_label": "by:m_label", "topic": "x", "language": "x:right"}
    odd = frame.rename(other).with_columns(pl.col("tier").alias("x:highest"), pl.col("vip").alias("m:b"))
    plain = compare(frame, by=["topic", "language", "tier", "vip"])
    found = compare(odd, by=["x", "x:right", "x:highest", "m:b"])
    # The random signs have another name.
    apart = [
        "metric", "slice", "by", "p_permutation", "pass_p_permutation", "q_value", "pass_q_value", "reason"
    ]  # fmt: skip
    assert_frame_equal(found.slices.drop(apart), plain.slices.drop(apart))
    assert found.summary["metric"].to_list() == ["by:m"]
    assert found.slices["slice"].str.starts_with("x:highest=").sum() == 4


def test_slice_names_and_missing_values() -> None:
    frame = versions(
        {"a": [0.1, 0.2, 0.9], "b": [0.1, 0.2, 0.8]}, topic=["x", None, "x"], vip=[True, False, None]
    )
    slices = compare(frame, by=["topic", ("topic", "vip")]).slices
    assert slices.select("slice", "by", "value", "n").rows() == [
        ("topic=x", "topic", "x", 2),
        ("topic=null", "topic", "null", 1),
        ("topic=x, vip=true", "topic, vip", "x, true", 1),
        ("topic=x, vip=null", "topic, vip", "x, null", 1),
        ("topic=null, vip=false", "topic, vip", "null, false", 1),
    ]


def test_a_trait_known_in_one_version_only_describes_the_item() -> None:
    a, b = drawn(60)
    frame = versions({"a": a, "b": b}, topic=["x", "y"] * 30)
    partly = frame.with_columns(topic=pl.when(pl.col("model") == "a").then("topic"))
    assert compare(partly, by=["topic"]).slices["n"].to_list() == [30, 30]


@pytest.mark.parametrize("options", [{}, {"cluster": "doc"}, {"item": None}])
def test_the_search_finds_the_slice_that_moved_and_no_other(options: Any) -> None:
    n = 900
    about = traits(n)
    a, b = drawn(n, seed=3)
    b = np.clip(b - 0.15 * (about["topic"] == "medicine"), 0, 1)
    frame = versions({"a": a, "b": b}, doc=np.arange(n) // 3, **about)
    comparison = compare(frame, by="auto", **options)
    assert comparison.slices.select("slice", "verdict").rows() == [("topic=medicine", "regressed")]
    assert "tried" in comparison.notes[-1]


def test_the_search_finds_a_pair_and_its_opposite() -> None:
    n = 2000
    about = traits(n, seed=4)
    a, b = drawn(n, seed=5)
    pair = (about["topic"] == "code") & (about["language"] == "de")
    b = np.clip(b - 0.2 * pair + 0.1 * (about["topic"] == "billing"), 0, 1)
    comparison = compare(versions({"a": a, "b": b}, **about), by="auto")
    assert set(comparison.slices.select("slice", "verdict").rows()) == {
        ("language=de, topic=code", "regressed"),
        ("topic=billing", "improved"),
    }


def test_a_change_everywhere_is_not_a_slice() -> None:
    a, b = drawn(800, shift=-0.1, seed=6)
    comparison = compare(versions({"a": a, "b": b}, **traits(800)), by="auto")
    assert comparison.verdict == "regressed"
    assert comparison.slices.is_empty()


@pytest.mark.parametrize("binary", [False, True])
def test_the_search_is_silent_on_noise(binary: bool) -> None:
    listed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = drawn(300, seed=seed)
        if binary:
            a, b = (rng.random((2, 300)) < 0.9).astype(float)
        noise = {f"c{k}": rng.integers(0, 5, 300) for k in range(4)}
        listed += not compare(versions({"a": a, "b": b}, **noise), by="auto").slices.is_empty()
    # 5% of 40 is 2; three binomial standard errors above it is 6.
    assert listed <= 6


def test_the_search_leaves_out_texts_answers_and_many_values() -> None:
    a, b = drawn(100)
    frame = versions(
        {"a": a, "b": b}, topic=["x", "y"] * 50, many=list(range(100)), one=["k"] * 100
    ).with_columns(label("m_score"), output=pl.lit("same"), input=pl.lit("q"), stop=pl.col("model") + "!")
    comparison = compare(frame, by="auto")
    assert comparison.notes == (
        "by='auto' tried 2 slices of topic and lists 0 that changed differently from the rest",
    )
    bare = compare(frame.drop("topic"), by="auto")
    assert "found no column" in bare.notes[0]


LENGTH = (pl.col("input").str.len_chars() > 5).alias("length")


def texts() -> pl.DataFrame:
    a, b = drawn(60)
    frame = versions({"a": a, "b": b}, topic=["x", "y"] * 30, input=["short", "much longer"] * 30)
    return frame.with_columns(ts=pl.datetime(2025, 1, 1) + pl.duration(days=pl.col("case_id") % 30))


@pytest.mark.parametrize("lazy", [True, False])
def test_expressions_are_slices(*, lazy: bool) -> None:
    frame = texts()
    made = frame.with_columns(LENGTH)
    options: Any = {"version": "model", "baseline": "a", "item": "case_id"}
    found = pe.compare(frame.lazy() if lazy else frame, by=[LENGTH, ("topic", LENGTH)], **options)
    named = pe.compare(made, by=["length", ("topic", "length")], **options)
    assert_frame_equal(found.slices, named.slices)
    assert found.spec.by == (("length",), ("topic", "length"))
    assert found.items.filter(pl.col("length") == "false").collect().height == 30
    assert pe.compare(frame, by=pl.col("topic"), **options).spec.by == (("topic",),)
    line = pe.timeline(frame, time="ts", reference=5, by=[LENGTH])
    assert line.summary["slice"].to_list() == [None, "length=false", "length=true"]


def test_expressions_need_a_name_and_a_frame() -> None:
    frame = texts()
    with pytest.raises(ValueError, match="the name 'input' of an expression is taken"):
        pe.compare(frame, version="model", baseline="a", by=[pl.col("input").str.len_chars()])
    with pytest.raises(TypeError, match="expressions are for compare and timeline"):
        ComparisonSpec(version="model", baseline="a", by=[LENGTH])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="name a column here"):
        ComparisonSpec(version="model", baseline="a", by=[("topic", LENGTH)])  # type: ignore[list-item]
