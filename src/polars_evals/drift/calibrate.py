"""Choose a threshold that agrees with people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from polars_evals.drawing import drawing
from polars_evals.drift import columns
from polars_evals.drift.inference import column, wilson
from polars_evals.drift.result import Result, Table
from polars_evals.wording import cell, left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.drift.inference import Floats
    from polars_evals.report import CalibrationPlots

RESAMPLES = 1_000
MOST_THRESHOLDS = 1_000
FEWEST_LABELS = 20
# Cross-validation: folds, and how often they are drawn anew.
FOLDS = 10
REDRAWN = 20
# Thresholds chosen on other folds differ, which the spread of one table does not show; found by simulation.
WIDENED = 1.2
MEASURES = ("precision", "recall", "f1", "kappa", "accuracy")
CHOICES = ("kappa", "f1", "accuracy")
TRUTHS = "booleans, 0 and 1, or 'fail' and 'pass'"
# Landis and Koch's words for a kappa up to each bound.
AGREEMENT = ((-0.01, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


def calibrate_one(
    scored: Frame, metric: str, *, truth: str, objective: str, alpha: float, seed: int
) -> Calibration:
    """Choose the threshold of one metric."""
    rows = read_verdicts(scored, [metric], truth=truth, objective=objective, alpha=alpha)
    missing = [("score", rows[metric].null_count()), (truth, rows["truth"].null_count())]
    notes = tuple(left_out(count, name) for name, count in missing if count)
    table = table_of(rows.select("truth", score=metric).drop_nulls())
    if table.is_empty():
        raise ValueError(f"no row has both a score and a verdict ({truth})")
    curve, best = _evaluate(table, objective, alpha, seed)
    return Calibration(
        curve=curve,
        best=best,
        notes=notes,
        settings={"metric": metric, "truth": truth, "objective": objective, "alpha": alpha, "seed": seed},
    )


def read_verdicts(
    scored: Frame, metrics: Sequence[str], *, truth: str, objective: str, alpha: float
) -> pl.DataFrame:
    """Return ``truth``, a boolean, and the score of each metric by its name."""
    if objective not in CHOICES:
        raise ValueError(f"objective must be one of {', '.join(CHOICES)}, got {objective!r}")
    columns.require_level(alpha)
    frame = columns.lazy(scored)
    schema = frame.collect_schema()
    columns.require(schema, truth, "truth")
    columns.find_metrics(schema, metrics)
    columns.check_signatures(frame, schema, metrics)
    rows = columns.collect(
        frame.select(
            *(pl.col(f"{name}_score").cast(pl.Float64).alias(f"{name}:score") for name in metrics),
            _truth(schema, truth).alias("truth"),
            pl.col(truth).alias("said"),
        ),
        metrics,
    )
    strange = rows.filter(pl.col("truth").is_null())["said"].drop_nulls()
    if strange.len():
        raise pl.exceptions.InvalidOperationError(
            f"truth={truth!r} holds {cell(str(strange[0]))!r}, which is no verdict; verdicts are {TRUTHS}"
        )
    return rows.select("truth", *(pl.col(f"{name}:score").alias(name) for name in metrics))


def _truth(schema: Schema, name: str) -> pl.Expr:
    """Return the human verdict as a boolean, null where it is none."""
    dtype = schema[name]
    if dtype == pl.Boolean:
        return pl.col(name)
    if dtype.is_integer():
        words = ["0", "1"]
    elif dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical):
        words = columns.LABELS
    else:
        raise pl.exceptions.InvalidOperationError(f"truth={name!r} is {dtype}; verdicts are {TRUTHS}")
    return pl.col(name).cast(pl.String).cast(pl.Enum(words), strict=False).to_physical().cast(pl.Boolean)


def agreement(kappa: float) -> str:
    """Return how good a kappa is, in one or two words."""
    return next((words for bound, words in AGREEMENT if round(kappa, 2) <= bound), "almost perfect")


def table_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of good and bad answers from each threshold up to the next."""
    counts = (
        rows.group_by("score").agg(good=pl.col("truth").sum(), bad=(~pl.col("truth")).sum()).sort("score")
    )
    if counts.height > MOST_THRESHOLDS:
        edges = np.quantile(
            rows["score"].to_numpy(), np.linspace(0, 1, MOST_THRESHOLDS), method="inverted_cdf"
        )
        edges = np.unique(edges)
        place = np.searchsorted(edges, counts["score"].to_numpy(), side="right") - 1
        counts = counts.with_columns(score=pl.Series(edges[place])).group_by("score").sum().sort("score")
    return counts.select(
        threshold="score", good=pl.col("good").cast(pl.Int64), bad=pl.col("bad").cast(pl.Int64)
    )


def rates_of(good: Floats, bad: Floats) -> dict[str, Floats]:
    """Return all measures by threshold, along the last axis; 0 where there is nothing to divide."""
    tp = np.cumsum(good[..., ::-1], axis=-1)[..., ::-1]
    fp = np.cumsum(bad[..., ::-1], axis=-1)[..., ::-1]
    fn, tn = tp[..., :1] - tp, fp[..., :1] - fp
    n = tp + fp + fn + tn
    agreed = (tp + tn) / n
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "precision": _divide(tp, tp + fp),
        "recall": _divide(tp, tp + fn),
        "f1": _divide(2 * tp, 2 * tp + fp + fn),
        "kappa": _divide(agreed - chance, 1 - chance),
        "accuracy": agreed,
    }


def _divide(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a, dtype=np.float64), where=b > 1e-12)


def _evaluate(
    table: pl.DataFrame, objective: str, alpha: float, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    thresholds = table["threshold"].to_numpy()
    good, bad = table["good"].to_numpy().astype(np.float64), table["bad"].to_numpy().astype(np.float64)
    rates = rates_of(good, bad)
    n = int(good.sum() + bad.sum())
    # Resampling n rows with replacement is a multinomial draw over the cells of the table.
    draws = np.random.default_rng(seed).multinomial(n, np.concatenate([good, bad]) / n, size=RESAMPLES)
    resampled = rates_of(*np.split(draws.astype(np.float64), 2, axis=1))
    intervals = {
        "precision": wilson(rates["tp"], rates["tp"] + rates["fp"], alpha),
        "recall": wilson(rates["tp"], rates["tp"] + rates["fn"], alpha),
        "accuracy": wilson(rates["tp"] + rates["tn"], np.full(len(good), float(n)), alpha),
    }
    for name in ("f1", "kappa"):
        intervals[name] = tuple(np.quantile(resampled[name], [alpha / 2, 1 - alpha / 2], axis=0))
    curve = pl.DataFrame(
        [pl.Series("threshold", thresholds)]
        + [pl.Series(name, rates[name].astype(np.int64)) for name in ("tp", "fp", "fn", "tn")]
        + [
            series
            for name in MEASURES
            for series in (
                column(name, rates[name]),
                column(f"{name}_ci_low", intervals[name][0]),
                column(f"{name}_ci_high", intervals[name][1]),
            )
        ]
    )
    chosen = int(rates[objective].argmax())
    spread = np.quantile(
        thresholds[resampled[objective].argmax(axis=1)], [alpha / 2, 1 - alpha / 2], method="inverted_cdf"
    )
    crossed = _crossed(good, bad, objective, seed)
    best = pl.DataFrame(
        {
            "threshold": float(thresholds[chosen]),
            "threshold_ci_low": float(spread[0]),
            "threshold_ci_high": float(spread[1]),
            "n": n,
            "n_pass": int(good.sum()),
            "n_fail": int(bad.sum()),
            **_measures(crossed, alpha),
        }
    )
    verdict, reason = _judge(best.row(0, named=True), alpha)
    return curve, best.with_columns(verdict=pl.lit(verdict), reason=pl.lit(reason))


def _crossed(good: Floats, bad: Floats, objective: str, seed: int) -> Floats:
    """Return tp, fp, fn, tn of thresholds that were chosen without the verdicts they are counted on."""
    rng = np.random.default_rng([seed, FOLDS])
    found = np.zeros((REDRAWN, 4))
    for draw in range(REDRAWN):
        # Folds of equal size, pass and fail apart: a place in a random order, modulo the number of folds.
        parts = []
        for counts in (good, bad):
            cell = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
            fold = rng.permutation(len(cell)) % FOLDS
            table = np.bincount(fold * len(counts) + cell, minlength=FOLDS * len(counts))
            parts.append(table.reshape(FOLDS, len(counts)).astype(np.float64))
        chosen = rates_of(*(counts.sum(axis=0) - counts for counts in parts))[objective].argmax(axis=1)
        tested = rates_of(parts[0], parts[1])
        found[draw] = [tested[name][np.arange(FOLDS), chosen].sum() for name in ("tp", "fp", "fn", "tn")]
    return found


def _measures(crossed: Floats, alpha: float) -> dict[str, float]:
    """Return every measure with its interval, from the tables of several draws of folds."""
    table = crossed.mean(axis=0)
    n = table.sum()
    z = WIDENED * float(ndtri(1 - alpha / 2))
    # The spread of a measure of a table: how it answers to a little more in each of its cells.
    step = 1e-4 * n
    value, draws = of_table(table), [of_table(one) for one in crossed]
    moved = [of_table(table + step * np.eye(4)[cell]) for cell in range(4)]
    found = {f"{name}": float(count) for name, count in zip(("tp", "fp", "fn", "tn"), table, strict=True)}
    for name in MEASURES:
        slope = np.array([(one[name] - value[name]) / step for one in moved])
        sampled = float(table @ slope**2 - (table @ slope) ** 2 / n)
        half = z * np.sqrt(max(sampled, 0.0) + np.var([one[name] for one in draws]) + (0.5 / n) ** 2)
        lowest = -1.0 if name == "kappa" else 0.0
        found |= {
            name: value[name],
            f"{name}_ci_low": max(lowest, value[name] - half),
            f"{name}_ci_high": min(1.0, value[name] + half),
        }
    return found


def of_table(table: Floats) -> dict[str, float]:
    """Return every measure of tp, fp, fn and tn."""
    tp, fp, fn, tn = table
    good, bad = np.array([fn, tp]), np.array([tn, fp])
    return {name: float(values[1]) for name, values in rates_of(good, bad).items()}


def _judge(best: dict[str, Any], alpha: float) -> tuple[str, str]:
    low, high = best["threshold_ci_low"], best["threshold_ci_high"]
    interval = f"{100 * (1 - alpha):g}% interval {low:g} to {high:g}"
    verdicts = f"{best['n_pass']:,} pass and {best['n_fail']:,} fail verdicts"
    if min(best["n_pass"], best["n_fail"]) < FEWEST_LABELS:
        return "inconclusive", f"{verdicts} are too few to tell; at least {FEWEST_LABELS} of each are needed"
    if best["kappa_ci_low"] <= 0:
        return (
            "inconclusive",
            "the score may agree with the verdicts by chance only "
            f"(cross-validated kappa {best['kappa']:.2f})",
        )
    if high - low > 0.2:
        return (
            "inconclusive",
            f"the best threshold is not settled ({interval}); more verdicts would narrow it",
        )
    words = agreement(best["kappa"])
    link = "and the agreement is" if best["kappa"] > 0.6 else "yet the agreement is only"
    return (
        "calibrated",
        f"{best['threshold']:g} agrees best, {link} {words} "
        f"(cross-validated kappa {best['kappa']:.2f}, {interval} of the threshold, {verdicts})",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """
    How the thresholds of a metric agree with human verdicts, as `calibrate` found it.

    Attributes
    ----------
    curve
        A row for each threshold: counts, precision, recall, F1, kappa and accuracy with their intervals.
    best
        The best threshold with its interval, and how well it does on verdicts that did not choose it, with
        verdict and reason.
    notes
        What was left out, in words.
    settings
        How the calibration was made.
    """

    curve: pl.DataFrame
    best: pl.DataFrame
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def threshold(self) -> float:
        """The threshold that agrees best."""
        return float(self.best["threshold"].item())

    @property
    def verdict(self) -> str:
        """Whether the verdicts settle the threshold: calibrated or inconclusive."""
        return str(self.best["verdict"].item())

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        return f"{self.verdict}: {self.settings['metric']} ≥ {self.threshold:g}; {self.best['reason'].item()}"

    @property
    def plot(self) -> CalibrationPlots:
        """Charts of this calibration: `curve`."""
        plots: CalibrationPlots = drawing().plots_of(self)
        return plots

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        return {"best": self.best, "curve": self.curve}

    def tables(self) -> list[Table]:
        """Return what to show, most important first."""
        rows = [
            {
                "measure": name,
                "value": self.best[name].item(),
                "low": self.best[f"{name}_ci_low"].item(),
                "high": self.best[f"{name}_ci_high"].item(),
            }
            for name in ("threshold", *MEASURES)
        ]
        # A dozen thresholds over the whole curve show its shape.
        step = max(1, self.curve.height // 12)
        return [
            Table.of("best", pl.DataFrame(rows)),
            Table.of("curve", self.curve.gather_every(step).select("threshold", *MEASURES), shown=13),
        ]
