"""Several metrics against the same verdicts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

import polars_evals as pe
from polars_evals.drift.calibrations import _both, _counts


def scored(n: int = 300, *, seed: int = 0, noise: tuple[float, float] = (0.15, 0.6)) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    quality = rng.random(n)
    one, other = (np.clip(quality + rng.normal(0, size, n), 0, 1) for size in noise)
    return pl.DataFrame({"near_score": one, "far_score": other, "human_ok": quality > 0.5})


def test_the_better_metric_is_found() -> None:
    found = pe.calibrate(scored(), metric=["far", "near"], truth="human_ok")
    assert (found.best, found.verdict) == ("near", "calibrated")
    assert found.table["metric"].to_list() == ["near", "far"]
    [pair] = found.pairs.to_dicts()
    assert (pair["a"], pair["b"]) == ("far", "near")
    assert pair["ci_low"] < pair["difference"] < pair["ci_high"] < 0
    kappas = dict(found.table.select("metric", "kappa").iter_rows())
    assert pair["difference"] == pytest.approx(kappas["far"] - kappas["near"])
    # By itself, a metric has the same cross-validated kappa but for the draw of its folds.
    alone = pe.calibrate(scored(), metric="near", truth="human_ok")
    assert kappas["near"] == pytest.approx(alone.best["kappa"].item(), abs=0.03)
    assert "near agrees best" in repr(found)
    assert "near agrees best" in found.to_html()
    for frame in found.frames().values():
        frame.write_csv()


def test_metrics_that_are_alike_are_not_told_apart() -> None:
    """Without a difference, at most one set in twenty tells metrics apart."""
    wrong = 0
    for seed in range(60):
        found = pe.calibrate(
            scored(120, seed=seed, noise=(0.3, 0.3)), metric=["near", "far"], truth="human_ok"
        )
        wrong += found.pairs["p_corrected"].item() <= 0.05
    assert wrong <= 7


def test_kappa_of_a_table_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    truth, one, other = rng.random((3, 200)) > 0.4
    one = np.where(rng.random(200) < 0.7, truth, one)
    counts = _counts(truth, one[None], other[None])[0]
    tables = [
        [[(~truth & ~s).sum(), (~truth & s).sum()], [(truth & ~s).sum(), (truth & s).sum()]]
        for s in (one, other)
    ]
    assert _both(counts, "kappa") == pytest.approx([cohens_kappa(table).kappa for table in tables])


def test_rows_without_a_score_are_left_out_for_all() -> None:
    frame = scored().with_columns(far_score=pl.when(pl.int_range(pl.len()) >= 10).then("far_score"))
    found = pe.calibrate(frame, metric=["near", "far"], truth="human_ok")
    assert found.table["n"].unique().to_list() == [290]
    assert found.notes == ("10 rows lack a verdict or the score of a metric and were left out",)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="far"):
        pe.calibrate(frame.drop("far_score"), metric=["near", "far"], truth="human_ok")
    with pytest.raises(ValueError, match="each metric once"):
        pe.calibrate(frame, metric=["near", "near"], truth="human_ok")
