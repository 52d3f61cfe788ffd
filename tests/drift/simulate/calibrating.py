"""Laws of `calibrate` and `against_baseline`: what is reported was not chosen to look good."""

from __future__ import annotations

import numpy as np
import polars as pl

import polars_evals as pe

from . import ALPHA, Floats, Rng, group, judged, reports

CALIBRATION, add = group("Calibrating a threshold")


def labelled(rng: Rng, n: int, apart: float) -> tuple[Floats, Floats]:
    truth = (rng.random(n) < 0.6).astype(float)
    return np.clip(rng.normal(0.5 + apart * (truth - 0.5), 0.18), 0, 1).round(2), truth


def kappa(passed: Floats, truth: Floats) -> float:
    agreed, chance = (
        (passed == truth).mean(),
        passed.mean() * truth.mean() + (1 - passed.mean()) * (1 - truth.mean()),
    )
    return float((agreed - chance) / (1 - chance)) if chance < 1 else 0.0


def calibrated(rng: Rng, sets: int, *, n: int, apart: float, what: str) -> float:
    population = labelled(rng, 100_000, apart)
    found = []
    for seed in range(sets):
        score, truth = labelled(rng, n, apart)
        frame = pl.DataFrame({"m_score": score, "ok": truth > 0})
        result = pe.calibrate(frame, metrics="m", truth="ok", seed=seed)
        best = result.summary.row(0, named=True)
        true = kappa((population[0] >= best["threshold"]).astype(float), population[1])
        if what == "verdict":
            found.append(float(result.verdict == "calibrated"))
        else:
            found.append(float(best["kappa_ci_low"] <= true <= best["kappa_ci_high"]))
    return float(np.mean(found))


def unchanged_run(rng: Rng, sets: int) -> float:
    """A stochastic model against another run of itself: similarity of answers, 100 items."""
    answers = rng.choice(3, p=[0.7, 0.2, 0.1], size=(3, sets, 100))
    before, after = (answers[1] == answers[0]).astype(float), (answers[2] == answers[0]).astype(float)
    return reports(judged(before, after, threshold=0.5, min_effect=0.0), "regressed", "improved")


add("noise, n = 60: `calibrated`", calibrated, high=0.05, n=60, apart=0.0, what="verdict")
add("noise, n = 200: `calibrated`", calibrated, high=0.05, n=200, apart=0.0, what="verdict")
add("interval of kappa holds the true one, n = 40", calibrated, low=0.93, n=40, apart=0.2, what="cover")
add("interval of kappa holds the true one, n = 150", calibrated, low=0.93, n=150, apart=0.2, what="cover")
add("unchanged model against another run of its baseline: an alarm", unchanged_run, high=ALPHA)

LAWS = CALIBRATION
