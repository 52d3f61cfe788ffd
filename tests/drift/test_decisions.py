"""What is decided: verdicts of rows and comparisons, what is ruled out, ties, and that it repeats itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_evals as pe
from polars_evals.drift import ComparisonSpec, compare_spec
from polars_evals.drift.inference.decide import combine
from polars_evals.drift.inference.quantiles import fixed_counts, sequential_counts
from polars_evals.jobs.gates import GateInput
from polars_evals.jobs.rules import FailOn, NotWorseThan

from .frames import drawn, versions

if TYPE_CHECKING:
    from pathlib import Path


def compare(frame: pl.DataFrame, **options: Any) -> pe.Comparison:
    return pe.compare(frame, **{"version": "model", "baseline": "a", "item": "case_id"} | options)


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (["improved", "regressed", "no_change"], "regressed"),
        (["improved", "inconclusive"], "improved"),
        (["no_change", "no_change"], "no_change"),
        (["no_change", "inconclusive"], "inconclusive"),
        ([], "inconclusive"),
    ],
)
def test_a_row_has_the_verdict_of_its_components(verdicts: list[str], verdict: str) -> None:
    assert combine(verdicts) == verdict


def test_a_better_model_is_called_better_whatever_its_slices_say() -> None:
    a, b = drawn(240, shift=0.06)
    comparison = compare(versions({"a": a, "b": b}, topic=[f"t{i % 8}" for i in range(240)]), by="topic")
    assert "inconclusive" in comparison.slices["verdict"].to_list()
    assert comparison.verdict == "improved"


def test_a_slice_that_fell_makes_the_comparison_regressed() -> None:
    a, _ = drawn(300)
    topic = np.array(["x", "y", "z"])[np.arange(300) % 3]
    b = np.clip(np.where(topic == "z", a - 0.4, a + 0.01), 0, 1)
    comparison = compare(versions({"a": a, "b": b}, topic=topic), by="topic")
    assert comparison.slices.filter(pl.col("slice") == "topic=z")["verdict"].item() == "regressed"
    assert comparison.verdict == "regressed"


def test_a_pass_rate_that_fell_at_the_same_mean_decides() -> None:
    rng = np.random.default_rng(1)
    before = rng.uniform(0.71, 0.9, 200)
    after = np.where(np.arange(200) % 2, before - 0.2, before + 0.2).clip(0, 1)
    row = compare(versions({"a": before, "b": after})).summary.row(0, named=True)
    assert (row["verdict"], row["pass_verdict"], row["decided_by"]) == ("regressed", "regressed", "pass_rate")
    assert row["score_verdict"] != "regressed"


def test_scores_of_0_and_1_are_one_test_with_their_labels() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.random((2, 100)) < 0.7).astype(float)
    comparison = compare(versions({"a": a, "b": b}))
    row = comparison.summary.row(0, named=True)
    assert row["q_value"] == row["pass_q_value"] == pytest.approx(comparison.components["p_test"][0])
    assert comparison.components["same"].to_list() == [False, True]


def test_the_worst_case_is_below_the_difference_and_has_the_sign_of_a_gain() -> None:
    a, b = drawn(400, shift=0.1)
    frame = versions({"a": a, "b": b}).with_columns(latency_ms=pl.lit(100.0) + pl.col("case_id") % 7)
    slow = frame.with_columns(
        latency_ms=pl.when(pl.col("model") == "b").then(pl.col("latency_ms") + 20).otherwise("latency_ms")
    )
    rows = compare(slow, measures="latency_ms").summary
    score, took = (rows.filter(pl.col("metric") == name).row(0, named=True) for name in ("m", "latency_ms"))
    assert 0 < score["worst_case"] < score["difference"]
    assert score["pass_worst_case"] < score["pass_rate_difference"]
    assert took["worst_case"] < -20


def test_a_change_is_found_unless_it_is_shown_to_be_small() -> None:
    rng = np.random.default_rng(0)
    before = rng.uniform(0.4, 0.6, 1_000)
    frame = versions({"a": before, "b": before - 0.004 + rng.normal(0, 0.01, 1_000)})
    assert compare(frame, min_effect=0.005).summary["score_verdict"].item() == "regressed"
    assert compare(frame, min_effect=0.01).summary["score_verdict"].item() == "no_change"


def test_equal_items_give_no_narrow_interval_at_any_time() -> None:
    row = compare(versions({"a": [0.9] * 12, "b": [0.8] * 12})).summary.row(0, named=True)
    assert row["sequential_low"] is None or row["sequential_low"] < -0.1 < row["sequential_high"]
    sequential = compare(versions({"a": [0.9] * 400, "b": [0.8] * 400})).summary.row(0, named=True)
    assert sequential["sequential_low"] < -0.1 < sequential["sequential_high"]


@pytest.mark.parametrize("n", [5, 6, 10, 30])
@pytest.mark.parametrize(("before", "after"), [(1.0, 0.72), (0.0, 0.28), (0.9, 0.8), (0.5, 0.45), (0.2, 0.1)])
def test_the_interval_of_equal_changes_agrees_with_their_test(n: int, before: float, after: float) -> None:
    comparison = compare(versions({"a": [before] * n, "b": [after] * n}))
    row = comparison.components.filter(pl.col("component") == "mean").row(0, named=True)
    assert row["ci_low"] <= row["difference"] <= row["ci_high"]
    if row["p_value"] <= 0.05:
        assert row["ci_low"] > 0 or row["ci_high"] < 0
    if row["verdict"] in ("regressed", "improved"):
        assert row["p_value"] <= 0.05


@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("n", [5, 6, 12, 40])
@pytest.mark.parametrize("change", [-0.3, -0.01, 0.02, 0.5])
def test_equal_changes_have_one_answer_for_one_look_and_for_many(n: int, change: float, scale: float) -> None:
    """Also of scores without bounds, and of scores that were weighed to another mix."""
    rng = np.random.default_rng(n)
    before = np.round(rng.uniform(0.3, 0.5, n), 3) * scale
    frame = versions({"a": before, "b": before + change}, topic=["x", "y"] * (n // 2) + ["x"] * (n % 2))
    constant = versions({"a": [0.5] * n, "b": [0.5 + change] * n}, topic=frame["topic"][:n].to_list())
    for comparison in (compare(frame), compare(constant), compare(constant, item=None, adjust="topic")):
        row = comparison.components.row(0, named=True)
        for p, ends in (("p_value", "ci"), ("p_sequential", "sequential")):
            low, high = row[f"{ends}_low"], row[f"{ends}_high"]
            if row[p] is None or low is None:
                continue
            assert low <= row["difference"] <= high
            assert (row[p] <= 0.05) == (low > 0 or high < 0)
        if row["verdict"] in ("regressed", "improved"):
            assert row["ci_low"] is not None
            assert row["sequential_low"] is not None


def test_an_interval_of_a_quantile_agrees_with_its_test() -> None:
    rng = np.random.default_rng(0)
    for n in (6, 20, 100):
        before = rng.uniform(0, 1000, n)
        for change in (0.0, 20.0, 50.0, 400.0):
            frame = versions({"a": [0.5] * n, "b": [0.5] * n}).with_columns(
                latency_ms=pl.Series(np.concatenate([before, before + change]))
            )
            rows = compare(frame, measures="auto").components.drop_nulls("quantile")
            for row in rows.iter_rows(named=True):
                for p, ends in (("p_value", "ci"), ("p_sequential", "sequential")):
                    if row[p] is not None:
                        apart = row[f"{ends}_low"] > 0 or row[f"{ends}_high"] < 0
                        assert apart == (row[p] <= 0.05), (row, change)


def test_no_p_value_is_0() -> None:
    rng = np.random.default_rng(0)
    before = rng.uniform(0.5, 1, 5_000)
    row = compare(versions({"a": before, "b": before - 0.4 - 0.001 * rng.random(5_000)})).components
    for name in ("p_value", "p_test", "q_value", "p_family", "p_sequential"):
        assert 0 < row[name][0] < 1e-100


def test_a_better_model_with_a_worse_row_names_it_first() -> None:
    """A loss that does not survive the correction over all rows does not make the comparison regressed."""
    rng, n = np.random.default_rng(2), 200
    scores = {}
    for place, shift in enumerate((0.1, 0.1, 0.1, -0.0155, 0, 0)):
        before = np.clip(rng.normal(0.5, 0.1, n), 0, 1)
        scores[f"m{place}_score"] = [*before, *np.clip(before + shift + rng.normal(0, 0.1, n), 0, 1)]
    frame = pl.DataFrame({"case_id": [*range(n)] * 2, "model": ["a"] * n + ["b"] * n, **scores})
    comparison = compare(frame)
    assert comparison.verdict == "improved"
    assert comparison.summary.filter(pl.col("verdict") == "regressed")["metric"].to_list() == ["m3"]
    assert comparison.headline.startswith("b against a: overall may be worse on m3")


def test_one_reason_is_said_once_and_with_a_real_minus() -> None:
    alone = compare(versions({"a": [1.0], "b": [0.0]})).summary["reason"].item()
    assert alone.count("one item has a score in both versions") == 1
    told = compare(versions({"a": [0.9] * 30, "b": [0.2] * 30})).summary["reason"].item()
    assert "−0." in told
    assert "-0." not in told


def test_a_median_with_ties_is_tested_by_the_level_at_which_its_interval_reaches_0() -> None:
    rng = np.random.default_rng(2)
    found = []
    for n in (30, 100, 300):
        took = [np.where(rng.random(n) < share, 1.0, 2.0) for share in (0.7, 0.25)]
        frame = versions({"a": [0.5] * n, "b": [0.5] * n}).with_columns(
            seconds=pl.Series(np.concatenate(took))
        )
        measures = {"seconds": {"lower_is_better": True, "quantiles": [0.5]}}
        rows = compare(frame, measures=measures).measures
        found.append(rows.filter(pl.col("statistic") == "median").row(0, named=True))
    assert [row["difference"] for row in found] == [1.0, 1.0, 1.0]
    assert [row["p_value"] < 0.05 for row in found] == [True, True, True]
    assert found[2]["p_value"] < found[0]["p_value"]
    assert found[2]["verdict"] == "regressed"


def test_order_statistics_around_a_quantile_hold_it() -> None:
    from scipy import stats

    for n, p in ((20, 0.5), (150, 0.95), (1_000, 0.1)):
        first, last = fixed_counts(n, p, np.array([0.05, 1e-6]))
        assert first.tolist() == stats.binom.ppf([0.025, 5e-7], n, p).tolist()
        assert (last - 1).tolist() == stats.binom.isf([0.025, 5e-7], n, p).tolist()
        wide = sequential_counts(n, p, np.array([0.05]))
        assert wide[0][0] <= first[0]
        assert wide[1][0] >= last[0]


def test_a_confidence_sequence_of_a_quantile_holds_at_all_times() -> None:
    below = np.random.default_rng(5).random((1_000, 500)) < 0.95
    counts, missed = below.cumsum(axis=1), np.zeros(1_000, dtype=bool)
    for n in range(5, 501, 5):
        first, last = sequential_counts(n, 0.95, np.array([0.05]))
        missed |= (counts[:, n - 1] < first[0]) | (counts[:, n - 1] > last[0] - 1)
    assert missed.mean() <= 0.05


def test_items_that_a_candidate_lacks_are_noted_and_compared_with_the_others() -> None:
    a, _ = drawn(1_000)
    hard = np.arange(1_000) < 400
    frame = versions({"a": np.where(hard, a - 0.3, a).clip(0, 1), "b": np.where(hard, a - 0.3, a).clip(0, 1)})
    few = frame.filter((pl.col("model") == "a") | (pl.col("case_id") >= 400))
    [note] = [note for note in compare(few).notes if "no row of b" in note]
    assert note.startswith(
        "400 of 1,000 items of a have no row of b and are not compared; there a scores m 0."
    )
    assert "p = " in note
    assert not any("no row" in note for note in compare(frame).notes)


def complementary() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    kind = np.array(["x", "y"])[np.arange(400) % 2]
    a = rng.uniform(0.3, 0.7, 400)
    b = a + np.where(kind == "x", -0.2, 0.2) + rng.normal(0, 0.05, 400)
    frame = versions({"a": a, "b": b.clip(0, 1)}, kind=kind, copy=kind, n=np.arange(400) % 3)
    return frame.with_columns(
        expected=pl.when(pl.col("case_id") % 5 == 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
    )


def test_both_sides_of_a_tie_are_listed() -> None:
    comparison = compare(complementary(), by="auto")
    assert comparison.slices.select("slice", "verdict").rows() == [
        ("copy=x", "regressed"), ("copy=y", "improved"),
    ]  # fmt: skip


def test_what_is_expected_is_searched_like_any_other_column() -> None:
    frame = complementary().drop("kind", "copy")
    lost = frame.with_columns(
        m_score=pl.when((pl.col("model") == "b") & (pl.col("expected") == "yes"))
        .then(0.0)
        .otherwise("m_score")
    )
    comparison = compare(lost, by="auto")
    assert "expected=yes" in comparison.slices["slice"].to_list()


def test_the_same_data_give_the_same_result_twenty_times(tmp_path: Path) -> None:
    """Ties, complements, repeats and rows in any order of groups: nothing may depend on chance."""
    one = complementary().with_columns(latency_ms=(pl.col("case_id") % 4).cast(pl.Float64) + 1)
    frame = pl.concat([one, one.filter(pl.col("case_id") % 9 == 0)])
    path = tmp_path / "scored.parquet"
    frame.write_parquet(path, row_group_size=97)
    seen = set()
    for number in range(20):
        source = pl.scan_parquet(path) if number % 2 else frame
        found = pe.compare(
            source,
            version="model",
            baseline="a",
            item="case_id",
            by="auto",
            measures="auto",
        )
        seen.add(found.to_json() + found.items.collect().write_csv() + found.explain())
    assert len(seen) == 1


def gate_status(gate: FailOn | NotWorseThan, frame: pl.DataFrame, **options: Any) -> str:
    spec = ComparisonSpec(version="model", baseline="a", item="case_id", **options)
    return gate.result(GateInput(("m",), frame.lazy(), spec, compare_spec(frame, spec), (gate,))).status


def test_a_gate_fails_on_what_the_comparison_calls_regressed() -> None:
    fail_on = FailOn(fail_on=("regressed",))
    rng = np.random.default_rng(1)
    before = rng.uniform(0.71, 0.9, 300)
    same = versions({"a": before, "b": before})
    assert gate_status(fail_on, same) == "passed"
    # Half of the items fail at the same mean.
    half = np.where(np.arange(300) % 2, before - 0.15, before + 0.15)
    assert gate_status(fail_on, versions({"a": before, "b": half})) == "failed"
    # Of ten calls four fail.
    lost = (pl.col("model") == "b") & (pl.col("case_id") % 5 < 2)
    errors = same.with_columns(error=pl.when(lost).then(pl.lit("timeout")))
    assert gate_status(fail_on, errors) == "failed"
    # One call in eight takes three times as long, and the others are a little faster.
    slow = (pl.col("model") == "b") & (pl.col("case_id") % 8 == 0)
    took = pl.Series(np.exp(rng.normal(0, 0.2, 600)))
    later = same.with_columns(latency_ms=took).with_columns(
        latency_ms=pl.when(slow).then(pl.col("latency_ms") * 3).when(pl.col("model") == "b")
        .then(pl.col("latency_ms") * 0.7).otherwise("latency_ms")
    )  # fmt: skip
    compared = compare(later, measures="latency_ms")
    row = compared.summary.filter(pl.col("metric") == "latency_ms").row(0, named=True)
    assert (row["verdict"], row["decided_by"], row["score_verdict"] == "regressed") == (
        "regressed",
        "p95",
        False,
    )
    assert gate_status(fail_on, later, measures="latency_ms") == "failed"


def test_equal_items_are_not_shown_to_be_no_worse_until_there_are_enough() -> None:
    gate = NotWorseThan(not_worse_than=0.05)
    for n, status in ((2, "failed"), (30, "failed"), (400, "passed")):
        assert gate_status(gate, versions({"a": [0.9] * n, "b": [0.9] * n})) == status
    # The mean stays, and a tenth of the items falls below the threshold.
    falls = np.where(np.arange(400) % 10 == 0, 0.69, 0.72)
    assert gate_status(gate, versions({"a": [0.717] * 400, "b": falls})) == "failed"


def test_no_gate_says_that_a_p_value_is_0() -> None:
    frame = versions({"a": [0.9] * 50, "b": [0.4] * 50})
    [row] = compare(frame).family_wise().iter_rows(named=True)
    assert 0 < row["p_corrected"] < 1e-9
