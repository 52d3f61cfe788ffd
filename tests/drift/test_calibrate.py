"""Calibration: measures by threshold, the best one, and whether it is settled."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

import polars_evals as pe
from polars_evals.drift.calibrate import _both, _joint_counts, agreement_words


def judged(n: int = 400, *, seed: int = 0, noise: float = 0.1, decimals: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), decimals)
    return pl.DataFrame({"m_score": score, "ok": score + rng.normal(0, noise, n) >= 0.6})


def test_measures_equal_statsmodels_at_every_threshold() -> None:
    frame = judged(120)
    curve = pe.calibrate(frame, metrics="m", truth="ok").curve
    score, truth = frame["m_score"].to_numpy(), frame["ok"].to_numpy()
    assert curve["threshold"].to_list() == sorted(set(score))
    for row in curve.iter_rows(named=True):
        said = score >= row["threshold"]
        tp, fp, fn, tn = (
            (said & truth).sum(),
            (said & ~truth).sum(),
            (~said & truth).sum(),
            (~said & ~truth).sum(),
        )
        assert [row[c] for c in ("tp", "fp", "fn", "tn")] == [tp, fp, fn, tn]
        assert row["precision"] == pytest.approx(tp / (tp + fp), rel=1e-9)
        assert row["recall"] == pytest.approx(tp / (tp + fn), rel=1e-9)
        assert row["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn), rel=1e-9)
        assert row["accuracy"] == pytest.approx((tp + tn) / 120, rel=1e-9)
        assert row["kappa"] == pytest.approx(
            cohens_kappa([[tp, fp], [fn, tn]], return_results=False), rel=1e-9, abs=1e-12
        )
        intervals = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "accuracy": (tp + tn, 120)}
        for name, counts in intervals.items():
            expected = proportion_confint(*counts, method="wilson")
            assert (row[f"{name}_ci_low"], row[f"{name}_ci_high"]) == pytest.approx(
                expected, rel=1e-9, abs=1e-12
            )
        for name in ("f1", "kappa"):
            assert row[f"{name}_ci_low"] <= row[name] + 0.05
            assert row[f"{name}_ci_high"] >= row[name] - 0.05


@pytest.mark.parametrize("objective", ["kappa", "f1", "accuracy"])
def test_the_best_threshold_is_found(objective: str) -> None:
    calibration = pe.calibrate(judged(3000), metrics="m", truth="ok", objective=objective)
    best = calibration.summary.row(0, named=True)
    chosen = calibration.curve.filter(pl.col("threshold") == calibration.threshold)
    assert chosen[objective].item() == calibration.curve[objective].max()
    # On verdicts that did not choose it, it does a little worse.
    assert 0.9 * chosen[objective].item() < best[objective] <= chosen[objective].item() + 0.005
    assert best["threshold_ci_low"] <= calibration.threshold <= best["threshold_ci_high"]
    assert abs(calibration.threshold - 0.6) < 0.12
    assert calibration.verdict == "calibrated"


def test_the_threshold_interval_covers() -> None:
    covered = 0
    for seed in range(60):
        calibration = pe.calibrate(judged(400, seed=seed, noise=0.15), metrics="m", truth="ok")
        low, high = calibration.summary.select("threshold_ci_low", "threshold_ci_high").row(0)
        covered += low <= 0.6 <= high
    assert covered >= 60 * 0.95 - 3 * np.sqrt(60 * 0.95 * 0.05) - 1


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (judged(30), "are too few"),
        (judged(400).with_columns(ok=pl.lit(True)), "400 pass and 0 fail labels are too few"),
        (judged(400).with_columns(pl.col("ok").shuffle(seed=1)), "by chance only"),
        (judged(80, noise=0.5), "is uncertain|by chance only"),
    ],
)
def test_too_little_to_tell(frame: pl.DataFrame, reason: str) -> None:
    calibration = pe.calibrate(frame, metrics="m", truth="ok")
    assert calibration.verdict == "inconclusive"
    assert any(part in calibration.summary["reason"].item() for part in reason.split("|"))
    for series in [
        *calibration.summary.select(pl.selectors.float()),
        *calibration.curve.select(pl.selectors.float()),
    ]:
        assert series.drop_nulls().is_finite().all()


@pytest.mark.parametrize("kind", [pl.Int8, pl.String, pl.Categorical, pl.Enum(["fail", "pass"])])
def test_verdicts_of_any_type(kind: Any) -> None:
    frame = judged(200)
    words = (
        pl.when("ok").then(pl.lit("pass")).otherwise(pl.lit("fail")).cast(kind) if kind != pl.Int8 else None
    )
    other = frame.with_columns(ok=pl.col("ok").cast(kind) if words is None else words)
    expected = pe.calibrate(frame, metrics="m", truth="ok")
    assert pe.calibrate(other.lazy(), metrics="m", truth="ok").curve.equals(expected.curve)


def test_rows_without_score_or_verdict_are_counted() -> None:
    frame = pl.concat([judged(100), pl.DataFrame({"m_score": [None, 0.5, None], "ok": [True, None, None]})])
    calibration = pe.calibrate(frame, metrics="m", truth="ok")
    assert calibration.notes == (
        "2 rows have no score and were left out",
        "2 rows have no ok and were left out",
    )
    assert calibration.summary["n"].item() == 100
    same = pe.calibrate(frame.rename({"ok": "score"}), metrics="m", truth="score")
    assert same.notes == ("2 rows have no score and were left out",) * 2


def test_many_thresholds_are_thinned() -> None:
    frame = judged(20_000, decimals=9)
    curve = pe.calibrate(frame, metrics="m", truth="ok").curve
    assert 900 < curve.height <= 1000
    at = curve.row(500, named=True)
    said = frame["m_score"] >= at["threshold"]
    assert at["tp"] == (said & frame["ok"]).sum()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": "mm"}, pl.exceptions.ColumnNotFoundError, 'did you mean "m"'),
        ({"truth": "okk"}, pl.exceptions.ColumnNotFoundError, 'did you mean "ok"'),
        ({"objective": "f2"}, ValueError, "one of kappa, f1, accuracy"),
        (
            {"truth": "grade"},
            pl.exceptions.InvalidOperationError,
            r"truth='grade' holds 'A', .* are booleans, 0 and 1, or 'fail' and 'pass'",
        ),
        (
            {"truth": "stars"},
            pl.exceptions.InvalidOperationError,
            "truth='stars' holds '5'",
        ),
        ({"truth": "m_score"}, pl.exceptions.InvalidOperationError, "truth='m_score' is Float64"),
        ({"truth": "none"}, ValueError, "no row has both"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(options: Any, error: type[Exception], message: str) -> None:
    frame = judged(50).with_columns(grade=pl.lit("A"), stars=5, none=pl.lit(None, dtype=pl.Boolean))
    with pytest.raises(error, match=message):
        pe.calibrate(frame, **{"metrics": "m", "truth": "ok"} | options)


@pytest.mark.parametrize(
    ("kappa", "words"),
    [
        (-0.1, "poor"),
        (0.2, "slight"),
        (0.32, "fair"),
        (0.6, "moderate"),
        (0.61, "substantial"),
        (0.81, "almost perfect"),
    ],
)
def test_agreement_in_words(kappa: float, words: str) -> None:
    assert agreement_words(kappa) == words


def test_a_settled_threshold_is_not_an_endorsement() -> None:
    good, bad = [True] * 200 + [False] * 100, [True] * 100 + [False] * 200
    frame = pl.DataFrame({"m_score": [1.0] * 300 + [0.0] * 300, "ok": good + bad})
    calibration = pe.calibrate(frame, metrics="m", truth="ok")
    assert calibration.verdict == "calibrated"
    assert calibration.headline.startswith(
        "calibrated: m ≥ 1; 1 agrees best, yet the agreement is only fair (cross-validated kappa 0.33, "
    )
    strong = pe.calibrate(judged(3000), metrics="m", truth="ok").headline
    assert "agrees best, and the agreement is almost perfect (cross-validated kappa 0.8" in strong


def test_forms() -> None:
    calibration = pe.calibrate(judged(3000), metrics="m", truth="ok")
    assert repr(calibration).startswith("calibrated: m ≥ 0.")
    assert json.loads(calibration.to_json())["summary"]["rows"][0]["verdict"] == "calibrated"
    assert ">thresholds</caption>" in calibration._repr_html_()
    assert calibration.to_markdown().startswith("**calibrated")


def two_metrics(n: int = 300, *, seed: int = 0, noise: tuple[float, float] = (0.15, 0.6)) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    quality = rng.random(n)
    one, other = (np.clip(quality + rng.normal(0, size, n), 0, 1) for size in noise)
    return pl.DataFrame({"near_score": one, "far_score": other, "human_ok": quality > 0.5})


def test_the_better_metric_is_found() -> None:
    found = pe.calibrate(two_metrics(), metrics=["far", "near"], truth="human_ok")
    assert (found.metric, found.verdict) == ("near", "calibrated")
    assert found.summary["metric"].to_list() == ["near", "far"]
    [pair] = found.pairs.to_dicts()
    assert (pair["a"], pair["b"]) == ("far", "near")
    assert pair["ci_low"] < pair["difference"] < pair["ci_high"] < 0
    kappas = dict(found.summary.select("metric", "kappa").iter_rows())
    assert pair["difference"] == pytest.approx(kappas["far"] - kappas["near"])
    # By itself, a metric has the same cross-validated kappa but for the draw of its folds.
    alone = pe.calibrate(two_metrics(), metrics="near", truth="human_ok")
    assert kappas["near"] == pytest.approx(alone.summary["kappa"].item(), abs=0.03)
    assert "near agrees best" in repr(found)
    assert "near agrees best" in found.to_html()
    for frame in found.frames().values():
        frame.write_csv()


def test_metrics_that_are_alike_are_not_told_apart() -> None:
    """Without a difference, at most one set in twenty tells metrics apart."""
    wrong = 0
    for seed in range(60):
        found = pe.calibrate(
            two_metrics(120, seed=seed, noise=(0.3, 0.3)), metrics=["near", "far"], truth="human_ok"
        )
        wrong += found.pairs["p_corrected"].item() <= 0.05
    assert wrong <= 7


def test_kappa_of_a_table_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    truth, one, other = rng.random((3, 200)) > 0.4
    one = np.where(rng.random(200) < 0.7, truth, one)
    counts = _joint_counts(truth, one[None], other[None])[0]
    tables = [
        [[(~truth & ~s).sum(), (~truth & s).sum()], [(truth & ~s).sum(), (truth & s).sum()]]
        for s in (one, other)
    ]
    assert _both(counts, "kappa") == pytest.approx([cohens_kappa(table).kappa for table in tables])


def test_rows_without_a_score_are_left_out_for_all() -> None:
    frame = two_metrics().with_columns(far_score=pl.when(pl.int_range(pl.len()) >= 10).then("far_score"))
    found = pe.calibrate(frame, metrics=["near", "far"], truth="human_ok")
    assert found.summary["n"].unique().to_list() == [290]
    assert found.notes == ("10 rows lack a verdict or the score of a metric and were left out",)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="far"):
        pe.calibrate(frame.drop("far_score"), metrics=["near", "far"], truth="human_ok")
    with pytest.raises(ValueError, match="each metric once"):
        pe.calibrate(frame, metrics=["near", "near"], truth="human_ok")
