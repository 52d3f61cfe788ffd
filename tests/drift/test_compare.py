"""What a comparison holds, refuses and counts."""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_evals as pe

from .frames import drawn, label, versions

SHRUNK = ["shrunk", "shrunk_low", "shrunk_high"]
SUMMARY = [
    "candidate", "metric", "n", "n_baseline_only", "n_candidate_only", "clusters", "paired",
    "baseline_mean", "candidate_mean", "difference", "se", "ci_low", "ci_high", "worst_case", "correlation",
    "p_value", "q_value", "p_permutation", "baseline_pass_rate", "candidate_pass_rate",
    "pass_rate_difference", "pass_ci_low", "pass_ci_high", "pass_worst_case", "pass_p_value",
    "pass_q_value", "pass_p_permutation", "newly_failing", "newly_passing", "p_mcnemar", "ks", "psi",
    "psi_chance", "mde", "n_needed", "sequential_low", "sequential_high", "p_sequential",
    "sequential_verdict", "min_effect", "score_verdict", "pass_verdict", "decided_by", "not_worse",
    "verdict", "reason",
]  # fmt: skip


def compare(frame: pl.DataFrame | pl.LazyFrame, **options: Any) -> pe.Comparison:
    return pe.compare(frame, **{"version": "model", "baseline": "a", "item": "case_id"} | options)


def assert_no_nan(comparison: pe.Comparison) -> None:
    for name, frame in comparison.frames().items():
        for series in frame.select(pl.selectors.float()):
            assert series.is_finite().all(), (name, series.name)


def test_schema() -> None:
    a, b = drawn(50)
    comparison = compare(versions({"a": a, "b": b}, topic=["x", "y"] * 25), by=["topic"])
    assert comparison.summary.columns == SUMMARY
    assert comparison.slices.columns == [*SUMMARY[:2], "slice", "by", "value", *SUMMARY[2:], *SHRUNK]
    assert comparison.summary.schema["verdict"] == pl.Enum(
        ["regressed", "inconclusive", "improved", "no_change"]
    )
    unpaired = compare(versions({"a": a, "b": b}, topic=["x", "y"] * 25), item=None, by=["topic"])
    for name, frame in comparison.frames().items():
        assert set(frame.columns) == set(unpaired.frames()[name].columns)


def test_lazy_eager_row_order_and_dtypes_do_not_matter() -> None:
    a, b = drawn(80, shift=-0.02)
    frame = versions({"a": a, "b": b}, topic=["x", "y"] * 40)
    expected = compare(frame, by=["topic"])
    variants: list[pl.DataFrame | pl.LazyFrame] = [
        frame.lazy(),
        frame.sample(fraction=1, shuffle=True, seed=1),
        frame.with_columns(pl.col("model").cast(pl.Categorical), pl.col("m_label").cast(pl.String)),
        frame.with_columns(pl.col("model").cast(pl.Enum(["b", "a"])), pl.col("topic").cast(pl.Categorical)),
    ]
    for variant in variants:
        found = compare(variant, by=["topic"])
        assert_frame_equal(found.summary, expected.summary, abs_tol=1e-12)
        assert_frame_equal(found.slices, expected.slices, abs_tol=1e-12)
        assert_frame_equal(found.flips, expected.flips)


@pytest.mark.parametrize("kind", [pl.Int64, pl.Date, pl.Datetime("us"), pl.Boolean])
def test_versions_of_any_type(kind: Any) -> None:
    a, b = drawn(30)
    names: dict[Any, list[Any]] = {pl.Date: [date(2025, 1, 1), date(2025, 2, 1)], pl.Boolean: [False, True]}
    values = pl.Series(names.get(kind, [1, 2])).cast(kind)
    frame = versions({"a": a, "b": b}).with_columns(
        pl.col("model")
        .replace_strict({"a": 0, "b": 1})
        .replace_strict({0: values[0], 1: values[1]}, return_dtype=kind)
    )
    comparison = compare(frame, baseline=values[0], candidate=values[1])
    assert comparison.summary["n"].to_list() == [30]


def test_repeats_are_averaged_and_never_count_as_items() -> None:
    a, b = drawn(40, shift=-0.05)
    frame = versions({"a": a, "b": b})
    once, thrice = compare(frame), compare(pl.concat([frame] * 3))
    # The flips of repeats are not tested, and their pass rates have no score interval.
    apart = {
        "ks",
        "psi",
        "psi_chance",
        "reason",
        "p_mcnemar",
        "pass_ci_low",
        "pass_ci_high",
        "pass_worst_case",
    }
    same = [c for c in SUMMARY if c not in apart]
    assert_frame_equal(once.summary.select(same), thrice.summary.select(same))
    assert once.summary["p_mcnemar"].item() is not None
    assert thrice.summary["p_mcnemar"].item() is None
    assert any("40 items have several rows in a version" in note for note in thrice.notes)
    one_sided = pl.concat([frame, frame.filter(pl.col("model") == "b").with_columns(pl.col("m_score") * 0)])
    assert compare(one_sided).summary["candidate_mean"].item() == pytest.approx(b.mean() / 2)


def test_the_same_frame_gives_the_same_result() -> None:
    a, b = drawn(5_000, shift=-0.01)
    traits = {"topic": np.arange(5_000) % 3, "chat": np.arange(5_000) % 700}
    frame = pl.concat([versions({"a": a, "b": b}, **traits)] * 2).sample(fraction=1, shuffle=True, seed=1)
    # Many chunks give a parallel engine the chance to add them up in another order.
    frame = pl.concat(frame.iter_slices(500), rechunk=False)
    options: list[dict[str, Any]] = [
        {"by": ["topic"]}, {"by": "auto", "cluster": "chat"}, {"by": ["topic"], "item": None}
    ]  # fmt: skip
    for chosen in options:
        assert len({compare(frame, **chosen).to_json() for _ in range(20)}) == 1, chosen


def test_an_item_flips_when_most_of_its_repeats_do() -> None:
    frame = pl.DataFrame(
        {
            "case_id": [1, 1, 1, 1, 2, 2, 2],
            "model": ["a", "b", "b", "b", "a", "b", "b"],
            "m_score": [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0],
        }
    ).with_columns(label("m_score"))
    row = compare(frame).summary.row(0, named=True)
    assert (row["newly_failing"], row["newly_passing"]) == (1, 0)
    assert row["candidate_pass_rate"] == pytest.approx((1 / 3 + 1) / 2)


def test_missing_items_scores_and_versions_are_counted() -> None:
    frame = pl.DataFrame(
        {
            "case_id": [1, 2, 3, 4, None, 1, 2, 3, 5, None, None, 6, 6],
            "model": ["a"] * 5 + ["b"] * 6 + [None, "c"],
            "m_score": [0.9, 0.8, None, 0.7, 0.5, 0.9, None, None, 0.6, 0.5, 0.5, 0.1, 0.1],
        }
    )
    comparison = compare(frame, candidate="b")
    row = comparison.summary.row(0, named=True)
    assert (row["n"], row["n_baseline_only"], row["n_candidate_only"]) == (1, 2, 1)
    assert row["verdict"] == "inconclusive"
    found = {(r["metric"], r["item"], r["missing"], r["reason"]) for r in comparison.unmatched.to_dicts()}
    assert found == {
        (None, "4", "candidate", "no row"),
        (None, "5", "baseline", "no row"),
        ("m", "2", "candidate", "no score"),
        ("m", "3", "both", "no score"),
        (None, None, "candidate", "1 row without an item"),
        (None, None, "baseline", "2 rows without an item"),
    }
    assert [note.split(" row")[0] for note in comparison.notes] == ["1", "3", "3", "1 of 4 items of a has no"]
    assert_no_nan(comparison)


def test_flips_carry_the_texts_and_are_sorted_by_loss() -> None:
    frame = versions({"a": [0.9, 0.1, 0.8, 0.9], "b": [0.6, 0.9, 0.1, 0.8]}).with_columns(
        input=pl.format("q{}", "case_id"),
        expected=pl.format("e{}", "case_id"),
        output=pl.format("{}{}", "model", "case_id"),
    )
    for source in (frame, frame.lazy()):
        flips = compare(source).flips
        assert flips.select(
            "item", "flip", "input", "expected", "baseline_output", "candidate_output"
        ).rows() == [
            (2, "newly_failing", "q2", "e2", "a2", "b2"),
            (0, "newly_failing", "q0", "e0", "a0", "b0"),
            (1, "newly_passing", "q1", "e1", "a1", "b1"),
        ]
        assert flips["difference"].to_list() == pytest.approx([-0.7, -0.3, 0.8])
    assert compare(frame).summary["newly_failing"].item() == 2


def test_flips_of_equal_loss_are_sorted_by_item() -> None:
    frame = versions({"a": [1.0] * 3, "b": [0.0] * 3}).with_columns(n_score="m_score", n_label="m_label")
    flips = compare(frame).flips
    assert flips.select("item", "metric").rows() == [(i, m) for i in range(3) for m in "mn"]


@pytest.mark.parametrize("source", ["eager", "lazy"])
def test_flips_carry_the_columns_they_are_sliced_by(source: str) -> None:
    frame = versions(
        {"a": [0.9, 0.1, 0.8], "b": [0.6, 0.9, 0.1]}, topic=["x", None, "y"], size=[1, 2, 3], input=["q"] * 3
    )
    given = frame if source == "eager" else frame.lazy()
    # A name that flips have anyway keeps its meaning.
    flips = compare(given, by=["topic", ("topic", "size"), "input"]).flips
    assert flips.columns[3:7] == ["item", "size", "topic", "input"]
    assert flips.select("item", "topic", "size").rows() == [(2, "y", "3"), (0, "x", "1"), (1, None, "2")]
    assert "topic" in compare(given, by="topic").flips.columns
    assert "topic" not in compare(given, by="auto").flips.columns
    none = compare(versions({"a": [0.9], "b": [0.9]}, topic=["x"]), by="topic").flips
    assert none.is_empty()
    assert none.schema["topic"] == pl.String


def test_several_candidates_are_each_compared_with_the_baseline() -> None:
    a, b = drawn(60, shift=-0.1)
    frame = versions({"a": a, "b": b, "c": a})
    everything = compare(frame)
    assert everything.summary.select("candidate", "verdict").rows() == [
        ("b", "regressed"),
        ("c", "inconclusive"),
    ]
    chosen = compare(frame, candidate=["c"])
    assert chosen.summary["candidate"].to_list() == ["c"]
    assert chosen.verdict == "inconclusive"
    assert compare(frame, candidate=["c"], min_effect=0.1).verdict == "no_change"


def test_metrics_without_labels_or_chosen_by_name() -> None:
    a, b = drawn(30)
    frame = versions({"a": a, "b": b}).with_columns(other_score=pl.col("m_score").round().cast(pl.Int64))
    comparison = compare(frame)
    assert comparison.summary["metric"].to_list() == ["m", "other"]
    row = comparison.summary.row(1, named=True)
    assert [row[c] for c in ("baseline_pass_rate", "newly_failing", "p_mcnemar")] == [None] * 3
    assert compare(frame, metrics=["other"]).summary["metric"].to_list() == ["other"]


@pytest.mark.parametrize(
    ("scores", "verdict", "reason"),
    [
        ({"a": [0.5], "b": [0.4]}, "inconclusive", "one item"),
        ({"a": [0.5, 0.9], "b": [0.5, 0.9]}, "inconclusive", "all 2 differences are 0, but rare changes"),
        ({"a": [0.5, 0.9] * 500, "b": [0.5, 0.9] * 500}, "no_change", "smaller than 0.01"),
        ({"a": [0.5, 0.9, 0.7], "b": [0.4, 0.8, 0.6]}, "inconclusive", "both possible"),
        ({"a": [0.5, 0.9, 0.7] * 20, "b": [0.4, 0.8, 0.6] * 20}, "regressed", "fell by 0.1"),
        ({"a": [0.5, 0.9, 0.8] * 400, "b": [0.505, 0.905, 0.805] * 400}, "no_change", "smaller than"),
        ({"a": [0.0] * 9, "b": [1.0] * 9}, "improved", "rose by 1"),
        ({"a": [None, None], "b": [0.5, 0.5]}, "inconclusive", "no item has a score in both"),
        ({"a": [None] * 9, "b": [0.5] * 9}, "improved", "no item has a score in both"),
        ({"a": [0.1, 0.9, 0.5], "b": [0.9, 0.1, 0.4]}, "inconclusive", "both possible"),
    ],
)
def test_small_and_constant_data_have_a_defined_row(scores: Any, verdict: str, reason: str) -> None:
    comparison = compare(versions(scores))
    assert comparison.verdict == verdict
    assert reason in comparison.summary["reason"][0]
    assert_no_nan(comparison)


def test_no_overlap_one_cluster_and_one_row_unpaired() -> None:
    a, b = drawn(20)
    frame = versions({"a": a, "b": b}, doc=["x"] * 20)
    apart = frame.with_columns(case_id=pl.format("{}{}", "model", "case_id"))
    assert "no item has a score in both versions" in compare(apart).summary["reason"].item()
    assert compare(apart).unmatched.height == 40
    assert "one cluster" in compare(frame, cluster="doc").summary["reason"].item()
    assert "one cluster" in compare(frame, cluster="doc", item=None).summary["reason"].item()
    lonely = compare(frame.head(21), item=None)
    assert "each version needs at least 2" in lonely.summary["reason"].item()
    for comparison in (compare(apart), compare(frame, cluster="doc"), lonely):
        assert comparison.verdict == "inconclusive"
        assert_no_nan(comparison)


def test_correction_and_min_effect_can_withhold_a_verdict() -> None:
    a = np.zeros(100)
    noise = np.random.default_rng(0).normal(size=100)
    b = -0.02 + 0.09 * (noise - noise.mean()) / noise.std()
    frame = versions({"a": a, "b": b})
    assert compare(frame).verdict == "regressed"
    # A change of 0.03 is possible; one of 0.05 is ruled out.
    assert compare(frame, min_effect=0.03).verdict == "regressed"
    assert compare(frame, min_effect=0.05).verdict == "no_change"
    others = {f"n{i}_score": np.r_[a, np.random.default_rng(i + 1).normal(0, 0.5, 100)] for i in range(30)}
    corrected = compare(
        frame.with_columns(**{name: pl.Series(x) for name, x in others.items()})
    ).summary.filter(pl.col("metric") == "m")
    assert corrected["verdict"].item() == "inconclusive"
    assert "not after correction for 31 tests" in corrected["reason"].item()


def test_an_item_without_a_cluster_is_one_of_its_own() -> None:
    a, b = drawn(60)
    frame = versions({"a": a, "b": b}, doc=[None] * 60).with_columns(pl.col("doc").cast(pl.String))
    clustered, plain = compare(frame, cluster="doc"), compare(frame)
    assert clustered.summary["clusters"].item() == 60
    assert clustered.summary["se"].item() == pytest.approx(plain.summary["se"].item(), rel=1e-12)
    assert "120 rows have no cluster" in clustered.notes[0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"baseline": "z"}, ValueError, "baseline 'z' is not in column 'model'"),
        ({"candidate": "assistant"}, ValueError, r"candidate 'assistant' .*versions: 'a', 'b'"),
        ({"candidate": ["b", "b"]}, ValueError, "must all differ"),
        ({"candidate": "a"}, ValueError, "must all differ"),
        ({"candidate": []}, ValueError, "nothing to compare"),
        ({"item": "case"}, pl.exceptions.ColumnNotFoundError, 'did you mean "case_id"'),
        ({"version": "modell"}, pl.exceptions.ColumnNotFoundError, 'did you mean "model"'),
        ({"by": ["topik"]}, pl.exceptions.ColumnNotFoundError, "by: there is no column 'topik'"),
        ({"by": ["model", "model"]}, ValueError, "each slice once"),
        (
            {"metrics": ["mm"]},
            pl.exceptions.ColumnNotFoundError,
            "no numeric column 'mm_score'; did you mean \"m\"",
        ),
        ({"metrics": []}, ValueError, "name each metric once"),
        ({"alpha": 1.5}, ValueError, "alpha must lie between 0 and 1"),
        ({"alpha": 1e-300}, ValueError, "alpha must be at least 1e-12"),
        ({"min_effect": -1}, ValueError, "min_effect"),
        ({"min_effect": math.nan}, ValueError, "min_effect"),
        ({"by": ["output_tokens"]}, ValueError, "must have one value per item, but 3 items have several"),
        ({"cluster": "output_tokens"}, ValueError, "cluster must have one value per item"),
        ({"by": ["tags"]}, pl.exceptions.InvalidOperationError, "column 'tags' is List"),
    ],
)
def test_what_cannot_be_compared_is_refused(options: Any, error: type[Exception], message: str) -> None:
    frame = versions({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.4]}).with_columns(
        output_tokens=pl.int_range(pl.len()), tags=pl.lit([1])
    )
    with pytest.raises(error, match=message):
        compare(frame, **options)


def test_bad_frames_are_refused() -> None:
    frame = versions({"a": [0.1, 0.2], "b": [0.1, 0.2]})
    with pytest.raises(ValueError, match="holds only 'a'"):
        compare(frame.head(2))
    with pytest.raises(ValueError, match=r"baseline 'a' is not in column 'model' \(versions: none"):
        compare(frame.clear())
    with pytest.raises(TypeError, match="DataFrame or LazyFrame, got dict"):
        compare({})  # type: ignore[arg-type]
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no <name>_score column"):
        compare(frame.drop("m_score"))
    with pytest.raises(ValueError, match="'m_score' has 4 NaN or infinite values"):
        compare(frame.with_columns(m_score=pl.lit(math.nan)))
    with pytest.raises(pl.exceptions.InvalidOperationError, match="other than 'fail' and 'pass'"):
        compare(frame.with_columns(m_label=pl.lit("ok")))
    with pytest.raises(pl.exceptions.InvalidOperationError, match="'m_label' is Float64"):
        compare(frame.with_columns(m_label=pl.lit(1.0)))


FIELDS = pl.struct(score="m_score", label="m_label")


@pytest.mark.parametrize(
    ("scores", "options", "way_out"),
    [
        (
            [FIELDS.alias("m"), FIELDS.alias("n"), pl.struct("case_id").alias("other")],
            {},
            '.unnest("m", "n", separator="_")',
        ),
        (
            [FIELDS.alias("m"), pl.col("m_score").alias("n_score")],
            {"metrics": "m"},
            '.unnest("m", separator="_")',
        ),
        (
            [pl.col("m_score").alias("score"), pl.col("m_label").alias("label")],
            {},
            '.rename({"score": "<name>_score", "label": "<name>_label"})',
        ),
        ([pl.col("m_score").alias("score")], {}, '.rename({"score": "<name>_score"})'),
        ([], {}, "score first: with `polars-evals score`, with a suite, or with a metric and .unnest("),
    ],
)
def test_scores_in_another_shape_are_told_the_way_out(scores: Any, options: Any, way_out: str) -> None:
    frame = versions({"a": [0.1, 0.2], "b": [0.1, 0.2]})
    shaped = frame.select("model", "case_id", *scores)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=re.escape(way_out)):
        compare(shaped, **options)


def test_extreme_options_and_values() -> None:
    frame = versions({"a": [0.1, 0.2, 0.9], "b": [0.1, 0.3, 0.4]})
    assert compare(frame, min_effect=1e-30).summary["n_needed"].item() is None
    assert compare(frame, min_effect=0).summary["n_needed"].item() is None
    assert_no_nan(compare(frame.with_columns(pl.col("m_score") * 1e49), alpha=1e-9))
    with pytest.raises(ValueError, match="NaN or infinite"):
        compare(frame.with_columns(pl.col("m_score") * 1e300))
    users = pl.concat([frame.with_columns(case_id=pl.col("case_id") + 3 * i) for i in range(400)])
    with pytest.raises(ValueError, match="by='case_id' gives 1,200 slices; at most 1,000"):
        compare(users, by=["case_id"])


def test_scores_of_different_signatures_are_refused() -> None:
    frame = versions({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.4], "c": [0.1, 0.2, 0.4]})
    signed = frame.with_columns(
        m_signature=pl.when(pl.col("model") == "c")
        .then(pl.lit("m|threshold:0.8"))
        .otherwise(pl.lit("m|threshold:0.7"))
    )
    assert compare(signed, candidate="b").verdict
    with pytest.raises(ValueError, match=r"'m_signature' differs(.|\n)*threshold:0.7\n *m.threshold:0.8"):
        compare(signed)
    with pytest.raises(ValueError, match=r"\(none\)"):
        compare(pl.concat([frame, signed.filter(pl.col("model") == "a")], how="diagonal"))


score = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 0.7, 1.0]), st.floats(0, 1))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.one_of(st.none(), st.integers(0, 4)), score), max_size=25
    ),
    item=st.sampled_from(["case_id", None]),
    clustered=st.booleans(),
    by=st.sampled_from([None, ["topic"], "auto"]),
)
def test_any_frame_has_a_whole_result(rows: Any, item: Any, clustered: bool, by: Any) -> None:
    rows = [("a", 0, 0.5), ("b", 0, 0.5), *rows]
    frame = pl.DataFrame(
        rows, schema={"model": pl.String, "case_id": pl.Int64, "m_score": pl.Float64}, orient="row"
    ).with_columns(label("m_score"), topic=pl.col("case_id") % 2, doc=pl.col("case_id") // 2)
    comparison = compare(frame, item=item, cluster="doc" if clustered else None, by=by)
    assert_no_nan(comparison)
    row = comparison.summary.row(0, named=True)
    known = frame.filter(pl.col("m_score").is_not_null())
    if item is None:
        assert row["n"] == known.height
    else:
        sides = [set(known.filter(pl.col("model") == v)["case_id"].drop_nulls()) for v in ("a", "b")]
        assert row["n"] == len(sides[0] & sides[1])
        assert row["n_baseline_only"] == len(sides[0] - sides[1])
        assert row["n_candidate_only"] == len(sides[1] - sides[0])
    for text in (repr(comparison), comparison.to_json(), comparison.to_markdown(), comparison.to_junit()):
        assert not re.search(r"\bnan\b", text.lower())


def test_rows_without_a_reference_are_counted_and_are_no_missing_answers() -> None:
    frame = pl.DataFrame(
        {
            "model": ["v1"] * 50 + ["v2"] * 50,
            "item": [str(n % 50) for n in range(100)],
            "output": ["a"] * 100,
            # Other items have references in each version.
            "expected": ["a"] * 30 + [None] * 20 + [None] * 10 + ["a"] * 40,
        }
    )
    note = "30 of 100 rows have no expected value"
    for missing in ("fail", "unlabelled"):
        scored = pe.Suite([pe.Metric("exact_match", missing=missing)]).score(frame)
        comparison = pe.compare(scored, version="model", item="item", baseline="v1")
        assert any(note in one for one in comparison.notes)
        # Nothing is known of them: they are not answered less often.
        assert comparison.summary["metric"].to_list() == ["exact_match"]
    assert comparison.summary["n"].to_list() == [20]
    complete = pe.Suite(["exact_match"]).score(frame.with_columns(expected=pl.lit("a")))
    assert not any("expected" in one for one in pe.compare(complete, version="model", baseline="v1").notes)
