"""Repeated runs: pass@k and pass^k against their definitions, and by simulation."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_evals as pe
from polars_evals.drift.runs import pass_at_k


def scored(passes: np.ndarray) -> pl.DataFrame:
    """Return one row a run, from a matrix of items and runs."""
    n, runs = passes.shape
    flat = passes.astype(float).ravel()
    return pl.DataFrame({"item": np.repeat(np.arange(n), runs), "v": "a", "m_score": flat}).with_columns(
        m_label=pl.when(pl.col("m_score") > 0.5).then(pl.lit("pass")).otherwise(pl.lit("fail"))
    )


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_rates_are_those_of_all_ways_to_choose(k: int) -> None:
    for passed in range(6):
        runs = [1] * passed + [0] * (5 - passed)
        ways = list(combinations(runs, k))
        any_passes = np.mean([max(way) for way in ways])
        all_pass = np.mean([min(way) for way in ways])
        found = pass_at_k(np.array([float(passed)]), np.array([5.0]), k)
        assert (found[0][0], found[1][0]) == pytest.approx((any_passes, all_pass), abs=1e-12)


def test_they_are_unbiased_and_their_intervals_cover() -> None:
    rng = np.random.default_rng(1)
    true = {
        k: (
            1 - np.mean((1 - rng.beta(1, 2, 400_000)) ** k),
            np.mean(rng.beta(1, 2, 400_000) ** k),
        )
        for k in (1, 3)
    }
    values: dict[int, list[tuple[float, float]]] = {1: [], 3: []}
    covered, times = 0, 300
    for _ in range(times):
        chance = rng.beta(1, 2, 40)
        summary = pe.runs(
            scored(rng.random((40, 5)) < chance[:, None]), version="v", item="item", k=(1, 3)
        ).summary
        for row in summary.iter_rows(named=True):
            values[row["k"]].append((row["pass_at_k"], row["pass_all_k"]))
            if row["k"] == 3:
                covered += row["ci_low"] <= true[3][0] <= row["ci_high"]
                covered += row["all_ci_low"] <= true[3][1] <= row["all_ci_high"]
    for k, found in values.items():
        assert np.mean(found, axis=0) == pytest.approx(true[k], abs=0.015)
    assert 0.92 < covered / (2 * times) < 0.985


def test_items_with_too_few_runs_are_left_out_and_counted() -> None:
    frame = pl.concat([scored(np.ones((3, 4))), scored(np.zeros((2, 2))).with_columns(pl.col("item") + 10)])
    repeats = pe.runs(frame, version="v", item="item", k=[1, 4, 9])
    assert repeats.summary.select("k", "n", "items_left_out", "pass_at_k").rows() == [
        (1, 5, 0, 0.6),
        (4, 3, 2, 1.0),
    ]
    assert any("no item has 9 runs" in note for note in repeats.notes)
    # All three passed: that is not certainty.
    assert repeats.summary["ci_low"][1] < 0.6


def test_one_run_an_item_tells_nothing_in_one_note() -> None:
    frame = pl.concat(
        scored(np.ones((5, 1))).with_columns(v=pl.lit(v), n_score="m_score", n_label="m_label") for v in "abc"
    )
    repeats = pe.runs(frame, version="v", item="item")
    assert repeats.headline.startswith("inconclusive: every item has one run, so it is unknown")
    assert repeats.notes == (
        "every item has one run per version: more runs are needed to see how answers vary",
    )
    # Two versions of three were asked once.
    mixed = pl.concat([frame, frame.filter(pl.col("v") == "a")])
    repeats = pe.runs(mixed, version="v", item="item", k=[1, 2, 4])
    assert repeats.headline == "stable: 0 items pass in some runs and fail in others"
    assert repeats.notes == (
        "no item of b in m, c in m, b in n, c in n has 2 runs, so there is no pass@2",
        "no item has 4 runs, so there is no pass@4",
    )
    unlabelled = pe.runs(mixed.drop("m_label", "n_label"), version="v", item="item")
    assert unlabelled.headline.startswith("inconclusive: no item has several runs with a label")


def test_flaky_items_and_variance() -> None:
    passes = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    repeats = pe.runs(scored(passes), version="v", item="item")
    assert dict(repeats.items.select("item", "pass_rate").rows()) == {3: 0.25, 1: 0.5}
    assert repeats.verdict == "flaky"
    rng = np.random.default_rng(0)
    noisy = pl.DataFrame(
        {
            "item": np.repeat(np.arange(3_000), 3),
            "v": "a",
            "m_score": np.repeat(rng.normal(0, 0.3, 3_000), 3) + rng.normal(0, 0.1, 9_000),
        }
    )
    row = pe.runs(noisy, version="v", item="item").variance.row(0, named=True)
    assert row["between_items"] == pytest.approx(0.09, rel=0.06)
    assert row["between_runs"] == pytest.approx(0.01, rel=0.05)
    assert row["share_between_runs"] == pytest.approx(0.1, rel=0.1)


def test_scores_without_labels_have_a_variance_only() -> None:
    repeats = pe.runs(scored(np.ones((3, 2))).drop("m_label"), version="v", item="item")
    assert repeats.summary.is_empty()
    assert repeats.variance.height == 1
    assert any("no label" in note for note in repeats.notes)


@pytest.mark.parametrize("k", [0, [], [1.5], True])
def test_k_is_checked(k: object) -> None:
    with pytest.raises(ValueError, match="k must be whole numbers"):
        pe.runs(scored(np.ones((3, 2))), version="v", item="item", k=k)  # type: ignore[arg-type]


def test_it_shows_itself(tmp_path: Path) -> None:
    repeats = pe.runs(scored(np.eye(4)), version="v", item="item")
    assert "flaky items" in str(repeats)
    assert "<svg" in repeats.to_html()
    repeats.plot.pass_at_k().save(tmp_path / "runs.svg")
