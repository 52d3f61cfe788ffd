"""Choose thresholds that agree with people, and the metric that agrees best."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from polars_evals.drawing import drawing
from polars_evals.drift import columns
from polars_evals.drift.inference import column
from polars_evals.drift.inference.intervals import wilson
from polars_evals.drift.inference.multiple import holm
from polars_evals.drift.result import Result
from polars_evals.wording import cell, counted, left_out, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.drift.inference import Floats
    from polars_evals.report import CalibrationPlots

    Bools = npt.NDArray[np.bool_]

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
# The eight combinations of a human verdict and what two metrics say.
CELLS = 8
PAIRS: dict[str, Any] = {"a": pl.String, "b": pl.String} | dict.fromkeys(
    ("difference", "ci_low", "ci_high", "p_value", "p_corrected"), pl.Float64
)


def calibrate(
    scored: Frame,
    *,
    metrics: str | Sequence[str],
    truth: str,
    objective: str = "kappa",
    alpha: float = 0.05,
    seed: int = 0,
) -> Calibration:
    """
    Choose the thresholds that agree best with human verdicts.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column `<name>_score` for each metric.
    metrics
        Name of the metric, or several names: they are compared on the rows that all of them scored.
    truth
        Column of human verdicts: booleans, 0 and 1, or `"fail"` and `"pass"`. Rows without one are
        counted and left out.
    objective
        What the best threshold maximises: `"kappa"`, agreement beyond chance; `"f1"`; or `"accuracy"`.
    alpha
        Level of the intervals.
    seed
        Fixes the bootstrap and the folds.

    Returns
    -------
    Calibration
        With frames `summary` (a row for each metric, best first), `curve` (a row for each metric and
        threshold) and `pairs` (the paired differences of metrics), and a `verdict`.

    Notes
    -----
    The thresholds are the scores that occur, or 1,000 of their quantiles where there are more. Intervals of
    precision, recall and accuracy are Wilson's; those of F1 and kappa, and of the best threshold, are
    percentiles of 1,000 bootstrap resamples. The numbers of `summary` are cross-validated: a threshold is
    chosen on nine tenths of the verdicts and counted on the last tenth, in turn, 20 times over, with the same
    folds for all metrics. Those of `curve` are of all verdicts, and at the threshold that was chosen they
    look better than they are.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_evals as pe
    >>> scored = pl.DataFrame(
    ...     {
    ...         "rouge1_score": [i / 100 for i in range(100)],
    ...         "human_ok": [i >= 60 for i in range(100)],
    ...     }
    ... )
    >>> calibration = pe.calibrate(scored, metrics="rouge1", truth="human_ok")
    >>> calibration.threshold
    0.6
    >>> calibration.verdict
    'calibrated'
    """
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    columns.require_distinct(names)
    read = _read(scored, names, truth=truth, objective=objective, alpha=alpha)
    # The order of the rows decides their folds, so it must not be an accident.
    rows = read.drop_nulls().sort("truth", *names)
    if rows.is_empty():
        every = "a score" if len(names) == 1 else "a score of every metric"
        raise ValueError(f"no row has both {every} and a verdict ({truth})")
    verdicts = rows["truth"].to_numpy()
    said = _crossed(rows, names, verdicts, objective, seed)
    tables = {name: _table(rows.select("truth", score=name)) for name in names}
    resampled = {name: _resampled(table, seed) for name, table in tables.items()}
    pairs = pl.DataFrame(
        [
            {"a": a, "b": b} | _difference(verdicts, said[a], said[b], objective, alpha)
            for a, b in combinations(names, 2)
        ],
        schema=PAIRS,
    )
    summary = pl.DataFrame(
        [
            {"metric": name}
            | _best(tables[name], resampled[name], objective, alpha)
            | _measures(_counts(verdicts, said[name]), alpha)
            for name in names
        ]
    )
    judged = [_judge(row, alpha) for row in summary.iter_rows(named=True)]
    return Calibration(
        summary=summary.with_columns(
            verdict=pl.Series([verdict for verdict, _ in judged]),
            reason=pl.Series([reason for _, reason in judged]),
        ).sort(objective, "metric", descending=[True, False]),
        curve=pl.concat(_curve(name, tables[name], resampled[name], alpha) for name in names),
        pairs=pairs.with_columns(p_corrected=pl.Series(holm(pairs["p_value"].to_numpy()))),
        notes=_lost(read, rows.height, names, truth),
        settings={"metrics": names, "truth": truth, "objective": objective, "alpha": alpha, "seed": seed},
    )


def _lost(read: pl.DataFrame, kept: int, metrics: Sequence[str], truth: str) -> tuple[str, ...]:
    if len(metrics) == 1:
        missing = [("score", read[metrics[0]].null_count()), (truth, read["truth"].null_count())]
        return tuple(left_out(count, name) for name, count in missing if count)
    lost = read.height - kept
    lack = f"{counted(lost, 'row')} {verb(lost, 'lacks', 'lack')} a verdict or the score of a metric"
    return (f"{lack} and {verb(lost, 'was', 'were')} left out",) if lost else ()


def _read(scored: Frame, metrics: Sequence[str], *, truth: str, objective: str, alpha: float) -> pl.DataFrame:
    """Return `truth`, a boolean, and the score of each metric by its name."""
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
            f"truth={truth!r} holds {cell(str(strange[0]))!r}, which is not a verdict; verdicts are {TRUTHS}"
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


def agreement_words(kappa: float) -> str:
    """Return how good a kappa is, in one or two words."""
    return next((words for bound, words in AGREEMENT if round(kappa, 2) <= bound), "almost perfect")


def _table(rows: pl.DataFrame) -> pl.DataFrame:
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


def _rates(good: Floats, bad: Floats) -> dict[str, Floats]:
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


def _resampled(table: pl.DataFrame, seed: int) -> dict[str, Floats]:
    """Return all measures by threshold of each bootstrap resample."""
    good, bad = table["good"].to_numpy().astype(np.float64), table["bad"].to_numpy().astype(np.float64)
    n = int(good.sum() + bad.sum())
    # Resampling n rows with replacement is a multinomial draw over the cells of the table.
    draws = np.random.default_rng(seed).multinomial(n, np.concatenate([good, bad]) / n, size=RESAMPLES)
    return _rates(*np.split(draws.astype(np.float64), 2, axis=1))


def _curve(name: str, table: pl.DataFrame, resampled: dict[str, Floats], alpha: float) -> pl.DataFrame:
    rates = _rates(table["good"].to_numpy().astype(np.float64), table["bad"].to_numpy().astype(np.float64))
    n = rates["tp"] + rates["fp"] + rates["fn"] + rates["tn"]
    intervals = {
        "precision": wilson(rates["tp"], rates["tp"] + rates["fp"], alpha),
        "recall": wilson(rates["tp"], rates["tp"] + rates["fn"], alpha),
        "accuracy": wilson(rates["tp"] + rates["tn"], n, alpha),
    }
    for measure in ("f1", "kappa"):
        intervals[measure] = tuple(np.quantile(resampled[measure], [alpha / 2, 1 - alpha / 2], axis=0))
    return pl.DataFrame(
        [pl.repeat(name, table.height, eager=True).alias("metric"), table["threshold"]]
        + [pl.Series(count, rates[count].astype(np.int64)) for count in ("tp", "fp", "fn", "tn")]
        + [
            series
            for measure in MEASURES
            for series in (
                column(measure, rates[measure]),
                column(f"{measure}_ci_low", intervals[measure][0]),
                column(f"{measure}_ci_high", intervals[measure][1]),
            )
        ]
    )


def _best(table: pl.DataFrame, resampled: dict[str, Floats], objective: str, alpha: float) -> dict[str, Any]:
    """Return the best threshold of all verdicts, and its bootstrap interval."""
    thresholds = table["threshold"].to_numpy()
    good, bad = table["good"].to_numpy().astype(np.float64), table["bad"].to_numpy().astype(np.float64)
    ends = np.quantile(
        thresholds[resampled[objective].argmax(axis=1)], [alpha / 2, 1 - alpha / 2], method="inverted_cdf"
    )
    return {
        "threshold": float(thresholds[int(_rates(good, bad)[objective].argmax())]),
        "threshold_ci_low": float(ends[0]),
        "threshold_ci_high": float(ends[1]),
        "n": int(good.sum() + bad.sum()),
        "n_pass": int(good.sum()),
        "n_fail": int(bad.sum()),
    }


def _crossed(
    rows: pl.DataFrame, metrics: Sequence[str], truth: Bools, objective: str, seed: int
) -> dict[str, Bools]:
    """Return what each metric says of each row, in several draws, by thresholds chosen without its fold."""
    rng = np.random.default_rng([seed, FOLDS])
    folds = np.empty((REDRAWN, len(truth)), dtype=np.int64)
    for draw in folds:
        # Folds of equal size, pass and fail apart, and the same for all metrics.
        for side in (truth, ~truth):
            draw[side] = rng.permutation(int(side.sum())) % FOLDS
    said = {}
    for name in metrics:
        edges = _table(rows.select(score=name, truth="truth"))["threshold"].to_numpy()
        cell = np.searchsorted(edges, rows[name].to_numpy(), side="right") - 1
        answers = np.empty(folds.shape, dtype=np.bool_)
        for number, fold in enumerate(folds):
            parts = []
            for side in (truth, ~truth):
                counts = np.bincount(fold[side] * len(edges) + cell[side], minlength=FOLDS * len(edges))
                parts.append(counts.reshape(FOLDS, len(edges)).astype(np.float64))
            chosen = _rates(*(one.sum(axis=0) - one for one in parts))[objective].argmax(axis=1)
            answers[number] = cell >= chosen[fold]
        said[name] = answers
    return said


def _counts(truth: Bools, said: Bools) -> Floats:
    """Return tp, fp, fn and tn of each draw."""
    good, bad = truth.sum(), (~truth).sum()
    tp, fp = (said & truth).sum(axis=1), (said & ~truth).sum(axis=1)
    return np.stack([tp, fp, good - tp, bad - fp], axis=1).astype(np.float64)


def _measures(crossed: Floats, alpha: float) -> dict[str, float]:
    """Return every measure with its interval, from the tables of several draws of folds."""
    table = crossed.mean(axis=0)
    n = table.sum()
    z = WIDENED * float(ndtri(1 - alpha / 2))
    # The spread of a measure of a table: how it answers to a little more in each of its cells.
    step = 1e-4 * n
    value, draws = _of_table(table), [_of_table(one) for one in crossed]
    moved = [_of_table(table + step * np.eye(4)[cell]) for cell in range(4)]
    found = {name: float(count) for name, count in zip(("tp", "fp", "fn", "tn"), table, strict=True)}
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


def _of_table(table: Floats) -> dict[str, float]:
    """Return every measure of tp, fp, fn and tn."""
    tp, fp, fn, tn = table
    good, bad = np.array([fn, tp]), np.array([tn, fp])
    return {name: float(values[1]) for name, values in _rates(good, bad).items()}


def _joint_counts(truth: Bools, one: Bools, other: Bools) -> Floats:
    """Return how often verdict and both metrics go together, a row for each draw."""
    place = 4 * truth.astype(np.int64) + 2 * one.astype(np.int64) + other.astype(np.int64)
    return np.stack([np.bincount(draw, minlength=CELLS) for draw in place]).astype(np.float64)


def _both(table: Floats, objective: str) -> tuple[float, float]:
    """Return what two metrics reach, given the eight counts."""
    cube = table.reshape(2, 2, 2)
    found = []
    for counts in (cube.sum(axis=2), cube.sum(axis=1)):
        (tn, fp), (fn, tp) = counts
        found.append(_of_table(np.array([tp, fp, fn, tn]))[objective])
    return found[0], found[1]


def _difference(
    truth: Bools,
    one: Bools,
    other: Bools,
    objective: str,
    alpha: float,
) -> dict[str, float]:
    """Return the paired difference of two metrics, from how it answers to a little more of each count."""
    counts = _joint_counts(truth, one, other)
    table = counts.mean(axis=0)
    n, step = table.sum(), 1e-4 * table.sum()

    def difference(of: Floats) -> float:
        a, b = _both(of, objective)
        return a - b

    value = difference(table)
    slope = np.array(
        [(difference(table + step * np.eye(CELLS)[cell]) - value) / step for cell in range(CELLS)]
    )
    sampled = float(table @ slope**2 - (table @ slope) ** 2 / n)
    # The same verdicts chose the thresholds of both, which the spread of one table does not show.
    spread = max(sampled, 0.0) + float(np.var([difference(draw) for draw in counts])) + (0.5 / n) ** 2
    se = WIDENED * float(np.sqrt(spread))
    half = float(ndtri(1 - alpha / 2)) * se
    return {
        "difference": value,
        "ci_low": max(-2.0, value - half),
        "ci_high": min(2.0, value + half),
        "p_value": float(2 * ndtr(-abs(value) / se)),
    }


def _judge(best: dict[str, Any], alpha: float) -> tuple[str, str]:
    low, high = best["threshold_ci_low"], best["threshold_ci_high"]
    interval = f"{100 * (1 - alpha):g}% interval {low:g} to {high:g}"
    verdicts = f"{best['n_pass']:,} pass and {best['n_fail']:,} fail verdicts"
    if min(best["n_pass"], best["n_fail"]) < FEWEST_LABELS:
        return "inconclusive", f"{verdicts} are too few; at least {FEWEST_LABELS} of each are needed"
    if best["kappa_ci_low"] <= 0:
        return (
            "inconclusive",
            "the score may agree with the verdicts by chance only "
            f"(cross-validated kappa {best['kappa']:.2f})",
        )
    if high - low > 0.2:
        return (
            "inconclusive",
            f"the best threshold is uncertain ({interval}); more verdicts would narrow it",
        )
    words = agreement_words(best["kappa"])
    link = "and the agreement is" if best["kappa"] > 0.6 else "yet the agreement is only"
    return (
        "calibrated",
        f"{best['threshold']:g} agrees best, {link} {words} "
        f"(cross-validated kappa {best['kappa']:.2f}, {interval} of the threshold, {verdicts})",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """
    How the thresholds of one or more metrics agree with human verdicts, as `calibrate` found it.

    Attributes
    ----------
    summary
        A row for each metric, best first: its best threshold with its interval, and how well it does on
        verdicts that did not choose it, with verdict and reason.
    curve
        A row for each metric and threshold: counts, precision, recall, F1, kappa and accuracy with their
        intervals.
    pairs
        The paired difference of every two metrics with its interval, and p-values, also corrected by Holm.
    notes
        What was left out, in words.
    settings
        How the calibration was made.
    """

    summary: pl.DataFrame
    curve: pl.DataFrame
    pairs: pl.DataFrame
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def metric(self) -> str:
        """The metric that agrees best."""
        return str(self.summary["metric"][0])

    @property
    def threshold(self) -> float:
        """The threshold of that metric that agrees best."""
        return float(self.summary["threshold"][0])

    @property
    def verdict(self) -> str:
        """`calibrated` if the verdicts determine the threshold, or the best metric; else `inconclusive`."""
        best = self.summary.row(0, named=True)
        if self.summary.height == 1:
            return str(best["verdict"])
        return "inconclusive" if best["kappa_ci_low"] <= 0 or self.rivals else "calibrated"

    @property
    def rivals(self) -> list[str]:
        """The metrics that may agree as well as the best one."""
        mine = self.pairs.filter((pl.col("a") == self.metric) | (pl.col("b") == self.metric))
        near = mine.filter(pl.col("p_corrected") > self.settings["alpha"])
        return near.select(pl.when(pl.col("a") == self.metric).then("b").otherwise("a")).to_series().to_list()

    @property
    def plot(self) -> CalibrationPlots:
        """Charts of this calibration: `curve`."""
        plots: CalibrationPlots = drawing().plots_of(self)
        return plots

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        return {"summary": self.summary, "curve": self.curve, "pairs": self.pairs}
