"""Aggregates, labels, mixes and shrunken slices in comparisons and rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sacrebleu
from polars.testing import assert_frame_equal
from sklearn import metrics as sklearn

import polars_evals as pe
from polars_evals.drift.inference.corrections import adjust_sides, correct_judge, shrink

DATA = Path(__file__).parents[3] / "shared" / "data"
SIDES: dict[str, Any] = {"version": "model", "baseline": "v1"}


def labelled(n: int = 200, right: tuple[float, float] = (0.8, 0.5), seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    expected = rng.choice(list("abc"), n)
    outputs = [np.where(rng.random(n) < one, expected, rng.choice(list("abc"), n)) for one in right]
    return pl.DataFrame(
        {
            "item_id": [*range(n)] * 2,
            "model": ["v1"] * n + ["v2"] * n,
            "topic": [("x", "y")[k % 2] for k in range(n)] * 2,
            "output": np.concatenate(outputs),
            "expected": np.concatenate([expected, expected]),
        }
    )


def test_an_aggregate_is_a_row_with_interval_test_and_verdict() -> None:
    frame = labelled()
    comparison = pe.compare(frame, **SIDES, item="item_id", by="topic", aggregates=["macro_f1", "mcc"])
    assert comparison.summary["metric"].to_list() == ["macro_f1", "mcc"]
    assert comparison.verdict == "regressed"
    for row in (comparison.summary.row(0, named=True), comparison.slices.row(0, named=True)):
        part = frame if "value" not in row else frame.filter(pl.col("topic") == row["value"])
        for side, model in (("baseline", "v1"), ("candidate", "v2")):
            mine = part.filter(pl.col("model") == model)
            oracle = sklearn.f1_score(mine["expected"], mine["output"], average="macro")
            assert row[f"{side}_mean"] == pytest.approx(oracle, abs=1e-9)
        assert row["ci_low"] < row["difference"] < row["ci_high"]
    assert comparison.confusion.columns == ["version", "expected", "output", "n"]
    table = sklearn.confusion_matrix(
        *(frame.filter(pl.col("model") == "v2")[c] for c in ("expected", "output"))
    )
    mine = comparison.confusion.filter(pl.col("version") == "v2").sort("expected", "output")
    assert mine["n"].to_list() == table.ravel().tolist()


def test_accuracy_is_compared_as_the_mean_of_exact_match() -> None:
    scored = pe.Suite([pe.Metric("exact_match")], aggregates=["accuracy"]).score(labelled())
    rows = pe.compare(scored, **SIDES, item="item_id").summary
    same = ["n", "baseline_mean", "candidate_mean", "difference", "se", "ci_low", "ci_high", "p_value"]
    assert_frame_equal(rows[:1].select(same), rows[1:].select(same), abs_tol=1e-9)


def test_stored_counts_need_no_texts() -> None:
    suite = pe.Suite(
        [pe.Metric("exact_match")], aggregates=["macro_f1", pe.Aggregate("corpus_bleu", name="b")]
    )
    scored = suite.score(labelled())
    whole = pe.compare(scored, **SIDES, item="item_id")
    bare = pe.compare(scored.drop("output", "expected"), **SIDES, item="item_id")
    assert_frame_equal(whole.summary, bare.summary)
    asked = pe.compare(scored, **SIDES, item="item_id", aggregates=["b"])
    assert asked.summary["metric"].to_list() == ["exact_match", "b"]
    assert pe.rank(scored, version="model", item="item_id").summary["metric"].n_unique() == 3


def test_repeats_of_an_item_count_once() -> None:
    frame = labelled()
    often = pl.concat([frame, frame, frame])
    once, thrice = (
        pe.compare(one, **SIDES, item="item_id", aggregates="mcc").summary for one in (frame, often)
    )
    same = ["n", "baseline_mean", "difference"]
    assert_frame_equal(once.select(same), thrice.select(same), abs_tol=1e-9)
    assert thrice["se"].item() == pytest.approx(once["se"].item(), rel=0.02)


def test_an_undefined_value_is_null_with_a_reason() -> None:
    frame = labelled().with_columns(
        output=pl.when(pl.col("model") == "v2").then("output").otherwise(pl.lit("a"))
    )
    row = pe.compare(frame, **SIDES, item="item_id", aggregates="mcc").summary.row(0, named=True)
    assert row["baseline_mean"] is None
    assert row["candidate_mean"] is not None
    assert row["difference"] is None
    assert row["verdict"] == "inconclusive"
    assert row["reason"] == "the baseline has no mcc: the expected or the given labels are all the same"
    ranking = pe.rank(frame, version="model", item="item_id", aggregates=["mcc", "accuracy"])
    assert ranking.summary["metric"].unique().to_list() == ["accuracy"]
    assert any("v1 has no mcc" in note for note in ranking.notes)


@pytest.mark.parametrize(
    ("aggregates", "message"),
    [
        (["macrof1"], 'unknown aggregate "macrof1"; did you mean "macro_f1"'),
        (["macro_f1", "macro_f1"], "each once"),
        (pe.Aggregate("mcc", expected="label"), "aggregate 'mcc': there is no column 'label'"),
    ],
)
def test_wrong_aggregates_are_named(aggregates: Any, message: str) -> None:
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=message):
        pe.compare(labelled(), **SIDES, item="item_id", aggregates=aggregates)


@pytest.mark.skipif(not DATA.exists(), reason="needs the shared data")
def test_prime_numbers_as_classes() -> None:
    frame = pl.read_parquet(DATA / "llmdrift_prime.parquet")
    frame = frame.with_columns(
        answer=pl.col("output").str.extract(r"\[(\w+)\]").str.to_lowercase(), item=pl.col("input")
    )
    comparison = pe.compare(
        frame, version="model", baseline="gpt-4-0314", candidate="gpt-4-0613", item="item",
        aggregates=[
            pe.Aggregate("macro_f1", output="answer"),
            pe.Aggregate("recall", output="answer", positive="yes"),
        ],
    )  # fmt: skip
    assert comparison.verdict == "regressed"
    # The later version says that no number is prime.
    assert comparison.summary.filter(pl.col("metric") == "recall")["candidate_mean"].item() < 0.2


@pytest.mark.skipif(not DATA.exists(), reason="needs the shared data")
def test_decisions_are_those_of_sacrebleus_paired_bootstrap() -> None:
    from sacrebleu.significance import PairedTest

    frame = pl.read_parquet(DATA / "outputs.parquet")
    models = frame["model"].unique().sort().to_list()[:4]
    texts = {one: frame.filter(pl.col("model") == one).sort("input") for one in models}
    expected = texts[models[0]]["expected"].to_list()
    systems = [(one, part["output"].to_list()) for one, part in texts.items()]
    _, told = PairedTest(
        systems, {"BLEU": sacrebleu.BLEU()}, references=[expected], test_type="bs", n_samples=300
    )()
    found = pe.compare(
        frame.filter(pl.col("model").is_in(models)), version="model", baseline=models[0], item="input",
        aggregates="corpus_bleu", metrics=None,
    ).summary  # fmt: skip
    for (name, _), result in list(zip(systems, told["BLEU"], strict=True))[1:]:
        row = found.filter(pl.col("candidate") == name).row(0, named=True)
        assert row["candidate_mean"] * 100 == pytest.approx(result.score, abs=0.01)
        assert (row["p_value"] < 0.05) == (result.p_value < 0.05), name


def rated(n: int = 600, labels: int = 150) -> pl.DataFrame:
    """A judge that passes 40% instead of 10% of the candidate's bad answers."""
    rng = np.random.default_rng(1)
    good = [rng.random(n) < 0.75, rng.random(n) < 0.65]
    said = [
        np.where(one, rng.random(n) < 0.95, rng.random(n) < bad)
        for one, bad in zip(good, (0.1, 0.5), strict=True)
    ]
    known = np.arange(n) % (n // labels) == 0
    return pl.DataFrame(
        {
            "item_id": [*range(n)] * 2,
            "model": ["v1"] * n + ["v2"] * n,
            "judge_score": np.concatenate(said).astype(float),
            "human": pl.Series(np.concatenate(good)).set(pl.Series(~np.concatenate([known, known])), None),
        }
    )


def test_labels_correct_a_judge() -> None:
    frame = rated()
    comparison = pe.compare(frame, **SIDES, item="item_id", truth="human")
    row = comparison.summary.row(0, named=True)
    alone = pe.compare(frame, **SIDES, item="item_id").summary.row(0, named=True)
    for name in ("baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high", "verdict"):
        assert row[f"judge_{name}"] == alone[name]
    assert (row["labels_baseline"], row["labels_candidate"]) == (150, 150)
    assert row["judge_off_candidate"] > row["judge_off_baseline"]
    assert row["difference"] < row["judge_difference"]
    assert row["ci_high"] - row["ci_low"] < row["people_ci_high"] - row["people_ci_low"]
    assert "judge is corrected by people: 150 labels of v1, 150 of v2" in " ".join(comparison.notes)
    # The same labels as a mapping, and as a frame.
    labels = frame.drop_nulls("human").select(
        item_id=pl.col("item_id").cast(pl.String), version="model", rater=pl.lit("ann"),
        label=pl.when("human").then(pl.lit("pass")).otherwise(pl.lit("fail")),
    )  # fmt: skip
    for truth in ({"judge": "human"}, labels, labels.lazy()):
        other = pe.compare(frame, **SIDES, item="item_id", truth=truth)
        assert_frame_equal(other.summary, comparison.summary)


def test_with_all_labels_the_truth_is_what_people_say() -> None:
    rng = np.random.default_rng(2)
    scores, truth = (tuple(rng.random(100) for _ in range(2)) for _ in range(2))
    one = correct_judge(scores, truth, (np.ones(100), np.ones(100)), paired=True, alpha=0.05)  # type: ignore[arg-type]
    assert np.mean(one.candidate - one.baseline) == pytest.approx(np.mean(truth[1] - truth[0]))
    assert one.people[0] == pytest.approx(np.mean(truth[1] - truth[0]))


def test_few_labels_do_not_correct() -> None:
    row = pe.compare(rated(labels=6), **SIDES, item="item_id", truth="human").summary.row(0, named=True)
    assert row["verdict"] == "inconclusive"
    assert "people labelled 6 rows of the baseline and 6 of the candidate" in row["reason"]


def test_labels_that_are_unlike_the_rest_are_noted() -> None:
    frame = rated().with_columns(
        human=pl.when((pl.col("judge_score") < 0.5) | (pl.col("item_id") < 50)).then(True)
    )
    notes = pe.compare(frame, **SIDES, item="item_id", truth="human").notes
    assert any("labelled rows of v1 are not a random sample" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "truth", "message"),
    [
        ({}, "humn", "truth of judge: there is no column 'humn'; did you mean"),
        ({}, {"juge": "human"}, "there is no metric 'juge'; did you mean"),
        ({}, "model", "'model' holds 'v1'"),
        ({"human": pl.lit(5)}, "human", "outside the range of judge_score, 0 to 1"),
        ({"human": pl.lit(None, dtype=pl.Boolean)}, "human", "no row of the compared versions has a label"),
        (
            {},
            pl.DataFrame({"item_id": ["zz"], "version": ["v1"], "label": ["pass"]}),
            "1 labelled item is not in",
        ),
        ({}, pl.DataFrame({"item_id": ["1"], "version": ["v9"], "label": ["pass"]}), "of the versions v9"),
    ],
)
def test_wrong_labels_are_named(change: dict[str, pl.Expr], truth: Any, message: str) -> None:
    with pytest.raises((ValueError, pl.exceptions.PolarsError), match=message):
        pe.compare(rated().with_columns(**change), **SIDES, item="item_id", truth=truth)


def traffic(n: int = 1_500, drop: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    level, parts = np.array([0.9, 0.8, 0.7, 0.5]), []
    for model, mix in (("v1", [0.25] * 4), ("v2", [0.15, 0.2, 0.25, 0.4])):
        topic = rng.choice(4, n, p=mix)
        score = (rng.random(n) < level[topic] - (drop if model == "v2" else 0)) * 1.0
        parts.append(pl.DataFrame({"model": model, "topic": [f"t{one}" for one in topic], "m_score": score}))
    return pl.concat(parts).with_columns(
        m_label=pl.when(pl.col("m_score") > 0).then(pl.lit("pass")).otherwise(pl.lit("fail"))
    )


def test_a_mix_is_adjusted_and_noted() -> None:
    raw = pe.compare(traffic(), **SIDES, by="topic")
    assert raw.verdict == "regressed"
    assert any("the mix of topic differs between v1 and v2 (t3: 2" in note for note in raw.notes)
    adjusted = pe.compare(traffic(), **SIDES, adjust="topic")
    row = adjusted.summary.row(0, named=True)
    assert row["verdict"] != "regressed"
    assert row["pass_rate_difference"] == pytest.approx(row["difference"])
    means = traffic().group_by("model", "topic").agg(pl.col("m_score").mean(), pl.len())
    both = means.filter(pl.col("model") == "v1").join(means.filter(pl.col("model") == "v2"), on="topic")
    weighed = np.average(both["m_score_right"], weights=both["len"])
    assert row["candidate_mean"] == pytest.approx(weighed)
    assert pe.compare(traffic(drop=0.08), **SIDES, adjust="topic").verdict == "regressed"


def test_the_ratio_of_an_adjusted_measure_is_that_of_the_adjusted_means() -> None:
    slow = traffic().with_columns(latency_ms=pl.col("topic").str.slice(1).cast(pl.Float64) * 100 + 50)
    for adjust, ratio in ((None, 1.2), ("topic", 1.0)):
        row = pe.compare(slow, **SIDES, measures="latency_ms", adjust=adjust).measures.row(0, named=True)
        assert row["ratio"] == pytest.approx(row["candidate_value"] / row["baseline_value"])
        assert row["ratio"] == pytest.approx(ratio, abs=0.05)


def test_strata_of_one_version_and_rows_without_one_are_left_out() -> None:
    more = pl.DataFrame({"model": ["v2"] * 9 + ["v1"], "topic": ["new"] * 9 + [None], "m_score": [0.0] * 10})
    frame = pl.concat([traffic().drop("m_label"), more])
    comparison = pe.compare(frame, **SIDES, adjust=["topic"])
    assert "1 row has no topic and is not in the numbers" in comparison.notes
    assert "topic: new has fewer than 2 rows in v1 or v2 and is left out" in comparison.notes
    apart = pe.compare(traffic().drop("m_label"), **SIDES, adjust="topic").summary
    assert comparison.summary["difference"].item() == pytest.approx(apart["difference"].item())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adjust": "row"}, "adjust: row has 3,000 values in 3,000 rows"),
        ({"adjust": "empty"}, "adjust: empty is null in every row"),
        ({"adjust": "topic", "item": "row"}, "adjust is for versions that are not paired"),
        ({"adjust": "tpic"}, "there is no column 'tpic'; did you mean"),
        ({"adjust": "model"}, "have no value of model in common"),
    ],
)
def test_wrong_adjustments_are_named(options: dict[str, Any], message: str) -> None:
    frame = traffic().with_row_index("row").with_columns(empty=pl.lit(None, dtype=pl.String))
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=message):
        pe.compare(frame, **SIDES, **options)


def test_one_stratum_adjusts_nothing() -> None:
    rng = np.random.default_rng(6)
    b, c, one = rng.random(50), rng.random(40), np.zeros(50, dtype=np.int64)
    before, after = adjust_sides(b, one, c, one[:40], 1)
    assert before == pytest.approx(b)
    assert after == pytest.approx(c)


def test_slices_are_pulled_to_the_whole_as_far_as_chance_explains_them() -> None:
    rng = np.random.default_rng(7)
    alike = rng.normal(0, 0.07, 50)
    estimate, low, high = shrink(alike, np.full(50, 0.07), np.full(50, 20.0), 0.0, alpha=0.05)
    assert np.abs(estimate).max() < np.abs(alike).max() / 2
    assert ((low < estimate) & (estimate < high)).all()
    apart = np.array([-0.5, 0.0, 0.5, 0.0])
    kept, _, _ = shrink(apart, np.full(4, 0.01), np.full(4, 100.0), 0.0, alpha=0.05)
    assert kept == pytest.approx(apart, abs=0.01)
    alone, _, _ = shrink(np.array([0.3]), np.array([0.1]), np.array([9.0]), 0.0, alpha=0.05)
    assert alone == pytest.approx([0.3])


def test_slices_have_shrunken_differences_between_their_own_and_the_overall_one() -> None:
    comparison = pe.compare(labelled(), **SIDES, item="item_id", by="topic", aggregates="accuracy")
    overall = comparison.summary["difference"].item()
    for row in comparison.slices.iter_rows(named=True):
        assert min(row["difference"], overall) <= row["shrunk"] <= max(row["difference"], overall)
        assert row["shrunk_low"] < row["shrunk"] < row["shrunk_high"]


def test_labels_that_differ_in_case_alone_are_noted() -> None:
    frame = labelled().with_columns(output=pl.col("output").replace("a", "A"))
    notes = pe.compare(frame, **SIDES, item="item_id", aggregates="accuracy").notes
    assert any("'A' and 'a' are different classes" in note for note in notes)
    assert not pe.compare(labelled(), **SIDES, item="item_id", aggregates="accuracy").notes


def few(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    right, said = rng.random(2 * n) < 0.5, rng.random(2 * n)
    return pl.DataFrame(
        {
            "item_id": [*range(n)] * 2,
            "model": ["v1"] * n + ["v2"] * n,
            "topic": rng.choice(["s", "t"], 2 * n, p=[0.1, 0.9]),
            "expected": rng.choice(["x", "y", "z"], n).tolist() * 2,
            "output": rng.choice(["x", "y", "z"], 2 * n),
            "judge_score": said,
            "human": right,
        }
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("n", "options", "most"),
    [
        (4, {"aggregates": "macro_f1"}, 1),
        (4, {"aggregates": pe.Aggregate("accuracy", name="mine")}, 1),
        (4, {"aggregates": "corpus_bleu"}, 1),
        (4, {"aggregates": "cohen_kappa"}, 2),
        (12, {"truth": "human"}, 1),
        (12, {"adjust": "topic", "item": None}, 1),
    ],
)
def test_no_interval_and_no_worst_case_is_larger_than_the_scale(
    n: int, options: dict[str, Any], most: float, seed: int
) -> None:
    frame = few(n, seed).drop("judge_score" if "aggregates" in options else [])
    comparison = pe.compare(frame, **SIDES, **{"item": "item_id"} | options)
    names = ["difference", "ci_low", "ci_high", "worst_case", "sequential_low", "sequential_high"]
    found = comparison.summary.select(*names, "pass_worst_case").unpivot()["value"].drop_nulls()
    assert not found.is_empty()
    assert found.abs().max() <= most  # type: ignore[operator]
    assert "v2 against v1" in comparison.headline


def test_scores_of_another_scale_may_differ_by_more_than_1() -> None:
    frame = few(40, 0).with_columns(
        judge_score=pl.when(model="v1").then(4.5).otherwise(1.5) + pl.col("judge_score") / 2
    )
    frame = frame.with_columns(human=(10 * pl.col("judge_score")).floor() / 10)
    row = pe.compare(frame, **SIDES, item="item_id", truth="human").summary.row(0, named=True)
    assert row["difference"] < -2.5
    assert row["ci_low"] < row["difference"] < row["ci_high"] < -2
