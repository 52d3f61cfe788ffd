"""Choose thresholds that agree with people, and the metric that agrees best."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from polars_evals.drift import columns
from polars_evals.drift.inference import slopes
from polars_evals.drift.inference.intervals import wilson
from polars_evals.drift.inference.multiple import holm
from polars_evals.drift.result import Plotted
from polars_evals.wording import counted, left_out, line, verb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.report.charts import CalibrationPlots  # noqa: F401

    Bools = npt.NDArray[np.bool_]

RESAMPLES = 1_000
MOST_THRESHOLDS = 1_000
FEWEST_LABELS = 20
# Cross-validation: folds, and how often they are drawn anew.
FOLDS = 10
REDRAWN = 20
# Thresholds chosen on other folds differ, which the spread of one table does not show; found by simulation.
WIDENED = 1.2
COUNTS = ("tp", "fp", "fn", "tn")
STATISTICS = ("precision", "recall", "f1", "kappa", "accuracy")
CHOICES = ("kappa", "f1", "accuracy")
TRUTHS = "booleans, 0 and 1, or 'fail' and 'pass'"
# Landis and Koch's words for a kappa up to each bound.
AGREEMENT = ((-0.01, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
# The combinations of a human verdict and what two metrics say.
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
        Name of the metric, or several names. They are compared on the rows that all of them scored.
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
    The thresholds are the distinct scores, or 1,000 of their quantiles if there are more. Intervals of
    precision, recall and accuracy are Wilson's; those of F1 and kappa, and of the best threshold, are
    percentiles of 1,000 bootstrap resamples. The numbers of `summary` are cross-validated: a threshold is
    chosen on nine tenths of the verdicts and counted on the last tenth, in turn, 20 times over, with the
    same folds for all metrics. Those of `curve` use all verdicts, so they are too good at the chosen
    threshold.

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
    tables = {name: _Table.of(rows[name].to_numpy(), verdicts, seed) for name in names}
    pairs = pl.DataFrame(
        [
            {"a": a, "b": b} | _difference(verdicts, said[a], said[b], objective, alpha)
            for a, b in combinations(names, 2)
        ],
        schema=PAIRS,
    )
    summary = []
    for name in names:
        row = {"metric": name} | _best(tables[name], objective, alpha)
        row |= _crossed_row(verdicts, said[name], alpha)
        summary.append(row | _verdict(row, alpha))
    return Calibration(
        summary=pl.DataFrame(summary).sort(objective, "metric", descending=[True, False]),
        curve=pl.concat(_curve(name, tables[name], alpha) for name in names),
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
    scores = [pl.col(f"{name}_score").cast(pl.Float64).alias(f"{name}:score") for name in metrics]
    rows = columns.collect(frame.select(*scores, said=truth), metrics)
    verdicts = None if schema[truth].is_float() else columns.verdicts(rows["said"])
    strange = f"is {schema[truth]}"
    if verdicts is not None:
        others = rows["said"].filter(verdicts.is_null()).drop_nulls()
        strange = f"holds {line(str(others[0]), 60)!r}, which is not a verdict" if others.len() else ""
    if verdicts is None or strange:
        raise pl.exceptions.InvalidOperationError(f"truth={truth!r} {strange}; verdicts are {TRUTHS}")
    return rows.select(verdicts.alias("truth"), *(pl.col(f"{name}:score").alias(name) for name in metrics))


def agreement_words(kappa: float) -> str:
    """Return how good a kappa is, in one or two words."""
    return next((words for bound, words in AGREEMENT if round(kappa, 2) <= bound), "almost perfect")


@dataclass(frozen=True)
class _Table:
    """How many good and bad answers lie from each threshold up to the next, and 1,000 resamples of them."""

    thresholds: Floats
    rates: dict[str, Floats]
    resampled: dict[str, Floats]

    @classmethod
    def of(cls, scores: Floats, truth: Bools, seed: int) -> _Table:
        """Count, and resample: n rows with replacement are a multinomial draw over the cells."""
        thresholds, place = _thresholds(scores)
        size, n = len(thresholds), len(scores)
        counts = np.bincount(~truth * size + place, minlength=2 * size).astype(np.float64)
        draws = np.random.default_rng(seed).multinomial(n, counts / n, size=RESAMPLES).astype(np.float64)
        return cls(thresholds, _rates(*np.split(counts, 2)), _rates(*np.split(draws, 2, axis=1)))


def _thresholds(scores: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the scores that occur, or quantiles of many, and the place of each score among them."""
    edges = np.unique(scores)
    if len(edges) > MOST_THRESHOLDS:
        edges = np.unique(np.quantile(scores, np.linspace(0, 1, MOST_THRESHOLDS), method="inverted_cdf"))
    return edges, np.searchsorted(edges, scores, side="right") - 1


def _rates(good: Floats, bad: Floats) -> dict[str, Floats]:
    """Return counts and statistics by threshold, along the last axis."""
    tp = np.cumsum(good[..., ::-1], axis=-1)[..., ::-1]
    fp = np.cumsum(bad[..., ::-1], axis=-1)[..., ::-1]
    counts = np.stack([tp, fp, tp[..., :1] - tp, fp[..., :1] - fp], axis=-1)
    values = np.moveaxis(np.concatenate([counts, _statistics(counts)], axis=-1), -1, 0)
    return dict(zip((*COUNTS, *STATISTICS), values, strict=True))


def _statistics(counts: Floats) -> Floats:
    """Return the statistics of tables of tp, fp, fn and tn; 0 where there is nothing to divide."""
    tp, fp, fn, tn = np.moveaxis(counts, -1, 0)
    n = tp + fp + fn + tn
    agreed = _divide(tp + tn, n)
    chance = _divide((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn), n**2)
    parts = (tp, tp + fp), (tp, tp + fn), (2 * tp, 2 * tp + fp + fn), (agreed - chance, 1 - chance)
    return np.stack([*(_divide(*part) for part in parts), agreed], axis=-1)


def _divide(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a, dtype=np.float64), where=b > 1e-12)


def _curve(name: str, table: _Table, alpha: float) -> pl.DataFrame:
    rates = table.rates
    tp, fp, fn, tn = (rates[count] for count in COUNTS)
    intervals = {
        "precision": wilson(tp, tp + fp, alpha),
        "recall": wilson(tp, tp + fn, alpha),
        "accuracy": wilson(tp + tn, tp + fp + fn + tn, alpha),
    }
    found = {"threshold": table.thresholds} | {count: rates[count].astype(np.int64) for count in COUNTS}
    for one in STATISTICS:
        ends = intervals.get(one, np.quantile(table.resampled[one], [alpha / 2, 1 - alpha / 2], axis=0))
        found |= zip((one, f"{one}_ci_low", f"{one}_ci_high"), (rates[one], *ends), strict=True)
    curve = pl.DataFrame(found).with_columns(pl.col(pl.Float64).fill_nan(None))
    return curve.select(pl.lit(name).alias("metric"), pl.all())


def _best(table: _Table, objective: str, alpha: float) -> dict[str, Any]:
    """Return the best threshold of all verdicts, and its bootstrap interval."""
    thresholds, best = table.thresholds, table.resampled[objective].argmax(axis=1)
    ends = np.quantile(thresholds[best], [alpha / 2, 1 - alpha / 2], method="inverted_cdf")
    good, bad = (int(table.rates[count][0]) for count in ("tp", "fp"))
    chosen = float(thresholds[table.rates[objective].argmax()])
    found = {"threshold": chosen, "threshold_ci_low": float(ends[0]), "threshold_ci_high": float(ends[1])}
    return found | {"n": good + bad, "n_pass": good, "n_fail": bad}


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
        edges, place = _thresholds(rows[name].to_numpy())
        answers = np.empty(folds.shape, dtype=np.bool_)
        for number, fold in enumerate(folds):
            shape = 2, FOLDS, len(edges)
            at = np.ravel_multi_index((~truth * 1, fold, place), shape)
            counts = np.bincount(at, minlength=np.prod(shape)).reshape(shape).astype(np.float64)
            chosen = _rates(*(counts.sum(axis=1, keepdims=True) - counts))[objective].argmax(axis=1)
            answers[number] = place >= chosen[fold]
        said[name] = answers
    return said


def _crossed_row(truth: Bools, said: Bools, alpha: float) -> dict[str, float]:
    """Return counts and statistics with their intervals, from the tables of several draws of folds."""
    cells = np.stack([said & truth, said & ~truth, ~said & truth, ~said & ~truth], axis=-1)
    draws = cells.sum(axis=1).astype(np.float64)
    values, errors = _estimated(_statistics, draws)
    half = float(ndtri(1 - alpha / 2)) * errors
    lowest = np.where(np.array(STATISTICS) == "kappa", -1.0, 0.0)
    ends = zip(values, np.maximum(values - half, lowest), np.minimum(values + half, 1.0), strict=True)
    found = dict(zip(COUNTS, draws.mean(axis=0).tolist(), strict=True))
    for name, numbers in zip(STATISTICS, ends, strict=True):
        found |= zip((name, f"{name}_ci_low", f"{name}_ci_high"), map(float, numbers), strict=True)
    return found


def _estimated(statistic: Callable[[Floats], Floats], draws: Floats) -> tuple[Floats, Floats]:
    """Return statistics of the mean of several tables of one sample, and their standard errors."""
    table = draws.mean(axis=0)
    n = table.sum()
    slope = slopes(statistic, table, 1e-4 * n)
    sampled = table @ slope**2 - (table @ slope) ** 2 / n
    # The same verdicts chose the thresholds, which the spread of one table does not show.
    variance = np.maximum(sampled, 0.0) + np.var(statistic(draws), axis=0) + (0.5 / n) ** 2
    return statistic(table), WIDENED * np.sqrt(variance)


def _joint_counts(truth: Bools, one: Bools, other: Bools) -> Floats:
    """Return how often verdict and both metrics go together, a row for each draw."""
    place = 4 * truth + 2 * one + other
    return np.stack([np.bincount(draw, minlength=CELLS) for draw in place]).astype(np.float64)


def _both(tables: Floats, objective: str) -> Floats:
    """Return what two metrics reach, given tables of the eight counts."""
    cube = tables.reshape(*tables.shape[:-1], 2, 2, 2)
    pairs = np.stack([cube.sum(axis=-1), cube.sum(axis=-2)], axis=-3).reshape(*tables.shape[:-1], 2, 4)
    # From tn, fp, fn, tp to the order of `COUNTS`.
    return _statistics(pairs[..., [3, 1, 2, 0]])[..., STATISTICS.index(objective)]


def _difference(truth: Bools, one: Bools, other: Bools, objective: str, alpha: float) -> dict[str, float]:
    """Return the paired difference of two metrics, from how it answers to a little more of each count."""

    def difference(tables: Floats) -> Floats:
        reached = _both(tables, objective)
        return np.asarray(reached[..., 0] - reached[..., 1])

    value, se = (float(one) for one in _estimated(difference, _joint_counts(truth, one, other)))
    half = float(ndtri(1 - alpha / 2)) * se
    ends = {"ci_low": max(-2.0, value - half), "ci_high": min(2.0, value + half)}
    return {"difference": value} | ends | {"p_value": float(2 * ndtr(-abs(value) / se))}


def _verdict(best: dict[str, Any], alpha: float) -> dict[str, str]:
    low, high = best["threshold_ci_low"], best["threshold_ci_high"]
    interval = f"{100 * (1 - alpha):g}% interval {low:.3g} to {high:.3g}"
    verdicts = f"{best['n_pass']:,} pass and {best['n_fail']:,} fail labels"
    kappa = f"cross-validated kappa {best['kappa']:.2f}"
    verdict = "inconclusive"
    if min(best["n_pass"], best["n_fail"]) < FEWEST_LABELS:
        reason = f"{verdicts} are too few; at least {FEWEST_LABELS} of each are needed"
    elif best["kappa_ci_low"] <= 0:
        reason = f"the score may agree with the labels by chance only ({kappa})"
    elif high - low > 0.2:
        reason = f"the best threshold is uncertain ({interval}); more labels narrow it"
    else:
        verdict, words = "calibrated", agreement_words(best["kappa"])
        link = "and the agreement is" if best["kappa"] > 0.6 else "yet the agreement is only"
        reason = f"{best['threshold']:g} agrees best, {link} {words} "
        reason += f"({kappa}, {interval} of the threshold, {verdicts})"
    return {"verdict": verdict, "reason": reason}


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Plotted["CalibrationPlots"]):
    """
    How well the thresholds of metrics agree with human verdicts: the result of `calibrate`.

    Attributes
    ----------
    summary
        A row for each metric, best first: its best threshold with its interval, and its agreement with
        verdicts that were not used to choose it, with verdict and reason.
    curve
        A row for each metric and threshold: counts, precision, recall, F1, kappa and accuracy with their
        intervals.
    pairs
        The paired difference of every two metrics with its interval, and p-values, also corrected by Holm.
    plot
        Charts: `curve`.
    notes
        Sentences about rows that were left out.
    settings
        The options.
    """

    curve: pl.DataFrame
    pairs: pl.DataFrame

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
