"""A comparison of merged aggregates equals the comparison of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.cluster import Aggregates, aggregate, merge
from tests.drift.frames import label

SETTINGS: dict[str, Any] = {"version": "model", "baseline": "v1", "candidate": ["v2", "v3"]}


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


def parts_of(frame: pl.DataFrame, parts: int, key: str | None) -> list[pl.DataFrame]:
    """Split rows by the hash of their key; those without one, anywhere."""
    place = pl.int_range(pl.len()) if key is None else pl.col(key).hash() % parts
    place = pl.when(pl.lit(True) if key is None else pl.col(key).is_not_null()).then(place)
    numbered = frame.with_columns(part=place.fill_null(pl.int_range(pl.len())).cast(pl.Int64) % parts)
    return [numbered.filter(part=part).drop("part") for part in range(parts)]


def merged(frame: pl.DataFrame, parts: int, **options: Any) -> Aggregates:
    pieces = parts_of(frame, parts, options.get("item"))
    # As messages, because that is how workers hand them on.
    return merge(
        Aggregates.from_bytes(aggregate(piece, **SETTINGS, **options).to_bytes()) for piece in pieces
    )


def assert_equal(found: pe.Comparison, wanted: pe.Comparison, *, exact: bool = True) -> None:
    shapes = ["p_permutation", "pass_p_permutation", "ks", "psi", "psi_chance", "q_value", "pass_q_value"]
    approximate = [] if exact else shapes
    for name, frame in wanted.frames().items():
        result = found.frames()[name]
        left, right = (_comparable(one.drop(approximate, strict=False)) for one in (result, frame))
        assert_frame_equal(left, right, rel_tol=1e-9, abs_tol=1e-12)
        for column in approximate:
            if column in frame.columns:
                np.testing.assert_allclose(
                    result[column].fill_null(-1), frame[column].fill_null(-1), atol=0.02, err_msg=column
                )
    assert found.notes == wanted.notes
    assert found.settings == wanted.settings
    assert found.verdicts == wanted.verdicts


def _comparable(frame: pl.DataFrame) -> pl.DataFrame:
    # The last digit that a reason shows may round either way; the columns hold the number itself.
    return frame.with_columns(
        pl.selectors.by_name("reason", require_all=False).str.replace_all(r"[\d.e-]+", "#")
    )


OPTIONS: list[dict[str, Any]] = [
    {"item": "case_id"},
    {"item": "case_id", "by": ["topic", ("topic", "language")]},
    {"item": "case_id", "cluster": "user", "by": "topic"},
    {},
    {"by": "language"},
    {"cluster": "user", "by": ["topic"]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("repeats", [1, 2])
def test_merged_aggregates_equal_the_rows(options: dict[str, Any], repeats: int) -> None:
    frame = scored(1, 240, repeats=repeats)
    wanted = pe.compare(frame, **SETTINGS, **options)
    # Averages of repeats are not rounded, and so may fall between the steps that are counted.
    assert_equal(merged(frame, 5, **options).compare(), wanted, exact=repeats == 1 or "item" not in options)


@given(
    seed=st.integers(0, 10_000),
    items=st.integers(1, 30),
    parts=st.integers(1, 7),
    options=st.sampled_from(OPTIONS),
)
@settings(max_examples=20)
def test_few_items_and_empty_parts(seed: int, items: int, parts: int, options: dict[str, Any]) -> None:
    frame = scored(seed, items)
    try:
        wanted = pe.compare(frame, **SETTINGS, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            merged(frame, parts, **options).compare()
        return
    assert_equal(merged(frame, parts, **options).compare(), wanted)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_unrounded_scores_differ_only_in_shape_and_permutation(options: dict[str, Any]) -> None:
    frame = scored(2, 2_000, continuous=True)
    wanted = pe.compare(frame, **SETTINGS, **options)
    assert_equal(merged(frame, 4, **options).compare(), wanted, exact=False)


def test_a_constant_difference_has_no_spread() -> None:
    frame = pl.DataFrame(
        {
            "case_id": list(range(300)) * 2,
            "user": [n // 3 for n in range(300)] * 2,
            "model": ["v1"] * 300 + ["v2"] * 300,
            "a_score": [0.9] * 300 + [0.6] * 300,
        }
    )
    options: dict[str, Any] = {"version": "model", "baseline": "v1", "candidate": "v2", "item": "case_id"}
    for cluster in (None, "user"):
        parts = [aggregate(part, **options, cluster=cluster) for part in parts_of(frame, 7, "case_id")]
        summary = merge(parts).compare().summary
        assert summary["se"].item() == 0
        assert_frame_equal(summary, pe.compare(frame, **options, cluster=cluster).summary, rel_tol=1e-12)


def test_aggregates_stay_small() -> None:
    few, many = (scored(3, items) for items in (2_000, 20_000))
    sizes = [len(merged(frame, 2, item="case_id", max_flips=10).to_bytes()) for frame in (few, many)]
    assert sizes[1] < 1.5 * sizes[0]


def test_flips_and_unmatched_items_are_bounded_but_all_are_counted() -> None:
    frame = scored(4, 400)
    found = merged(frame, 3, item="case_id", max_flips=5).compare()
    wanted = pe.compare(frame, **SETTINGS, item="case_id", max_flips=5)
    assert_frame_equal(found.flips, wanted.flips)
    assert_frame_equal(found.summary, wanted.summary, rel_tol=1e-9)
    known = found.unmatched.filter(pl.col("item").is_not_null())
    assert known.group_by("candidate", "metric").len()["len"].max() == 5


def test_scores_made_in_different_ways_are_refused() -> None:
    frame = scored(5).with_columns(a_signature=pl.lit("levenshtein|threshold:0.7"))
    other = frame.with_columns(a_signature=pl.lit("levenshtein|threshold:0.8"))
    parts = [aggregate(one, **SETTINGS, item="case_id") for one in (frame, other)]
    assert parts[0].compare().verdicts
    with pytest.raises(ValueError, match="'a_signature' differs between the rows"):
        merge(parts).compare()


def test_bad_settings() -> None:
    frame = scored(6)
    with pytest.raises(ValueError, match="needs all rows in one place"):
        aggregate(frame, **SETTINGS, by="auto")
    with pytest.raises(ValueError, match="candidate 'v9' is not in column 'model'"):
        aggregate(frame, version="model", baseline="v1", candidate="v9").compare()
    with pytest.raises(ValueError, match="same settings"):
        merge([aggregate(frame, **SETTINGS), aggregate(frame, **SETTINGS, item="case_id")])
    with pytest.raises(ValueError, match="no aggregates"):
        merge([])
    with pytest.raises(ValueError, match="max_flips"):
        aggregate(frame, **SETTINGS, max_flips=-1)
    many = pl.DataFrame({"model": ["v1", "v2", "v3"] * 500, "topic": range(1_500), "a_score": [0.5] * 1_500})
    with pytest.raises(ValueError, match="gives 1,500 slices"):
        aggregate(many, **SETTINGS, by="topic")
    some = many.with_columns(topic=pl.lit("a") + (pl.col("topic") // 3).cast(pl.String))
    other = some.with_columns(topic=pl.lit("b") + pl.col("topic"))
    third = some.with_columns(topic=pl.lit("c") + pl.col("topic"))
    parts = merge(aggregate(part, **SETTINGS, by="topic") for part in (some, other, third))
    with pytest.raises(ValueError, match="gives 1,500 slices"):
        parts.compare()
