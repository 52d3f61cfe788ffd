"""Several metrics against the same human verdicts: which agrees best, and whether by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from polars_evals.drift import columns
from polars_evals.drift.calibrate import (
    FOLDS,
    REDRAWN,
    WIDENED,
    Calibration,
    calibrate_one,
    of_table,
    rates_of,
    read_verdicts,
    table_of,
)
from polars_evals.drift.result import Result, Table
from polars_evals.wording import counted, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats

# The eight ways in which a verdict, and what two metrics say of it, can go together.
CELLS = 8
PAIR = ("difference", "ci_low", "ci_high", "p_value")
SHOWN = ("kappa", "f1", "accuracy", "precision", "recall")


@overload
def calibrate(
    scored: Frame, *, metric: str, truth: str, objective: str = ..., alpha: float = ..., seed: int = ...
) -> Calibration: ...


@overload
def calibrate(
    scored: Frame,
    *,
    metric: list[str] | tuple[str, ...],
    truth: str,
    objective: str = ...,
    alpha: float = ...,
    seed: int = ...,
) -> Calibrations: ...


def calibrate(
    scored: Frame,
    *,
    metric: str | Sequence[str],
    truth: str,
    objective: str = "kappa",
    alpha: float = 0.05,
    seed: int = 0,
) -> Calibration | Calibrations:
    """
    Choose the threshold of a metric that agrees best with human verdicts.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column ``<metric>_score``.
    metric
        Name of the metric, or several names: they are then compared on the rows that all of them scored.
    truth
        Column of human verdicts: booleans, 0 and 1, or ``"fail"`` and ``"pass"``. Rows without one are
        counted and left out.
    objective
        What the best threshold maximises: ``"kappa"``, agreement beyond chance; ``"f1"``; or ``"accuracy"``.
    alpha
        Level of the intervals.
    seed
        Fixes the bootstrap.

    Returns
    -------
    Calibration
        With frames `curve` (a row for each threshold) and `best`, and a `verdict`. Of several metrics,
        `Calibrations`: a `table` with a row for each metric, best first, and `pairs` with the paired
        differences of their cross-validated agreement.

    Notes
    -----
    The thresholds are the scores that occur, or 1,000 of their quantiles where there are more. Intervals of
    precision, recall and accuracy are Wilson's; those of F1 and kappa, and of the best threshold, are
    percentiles of 1,000 bootstrap resamples. The numbers of `best` are cross-validated: a threshold is chosen
    on nine tenths of the verdicts and counted on the last tenth, in turn, 20 times over. Those of `curve` are
    of all verdicts, and at the threshold that was chosen they look better than they are.

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
    >>> calibration = pe.calibrate(scored, metric="rouge1", truth="human_ok")
    >>> calibration.threshold
    0.6
    >>> calibration.verdict
    'calibrated'
    """
    settings = {"truth": truth, "objective": objective, "alpha": alpha, "seed": seed}
    if isinstance(metric, str):
        return calibrate_one(scored, metric, truth=truth, objective=objective, alpha=alpha, seed=seed)
    return _several(scored, list(metric), settings)


def _several(scored: Frame, metrics: Sequence[str], settings: dict[str, Any]) -> Calibrations:
    truth_column, objective, alpha, seed = (
        settings[name] for name in ("truth", "objective", "alpha", "seed")
    )
    columns.require_distinct(metrics)
    every = read_verdicts(scored, metrics, truth=truth_column, objective=objective, alpha=alpha)
    rows = every.drop_nulls()
    if rows.is_empty():
        raise ValueError(f"no row has a verdict ({truth_column}) and a score of every metric")
    lost = every.height - rows.height
    lack = f"{counted(lost, 'row')} {verb(lost, 'lacks', 'lack')} a verdict or the score of a metric"
    notes = (f"{lack} and {verb(lost, 'was', 'were')} left out",) if lost else ()
    same = rows.select("truth", *(pl.col(name).alias(f"{name}_score") for name in metrics))
    found = {name: calibrate_one(same, name, **(settings | {"truth": "truth"})) for name in metrics}
    truth = rows["truth"].to_numpy()
    said = _crossed(rows, metrics, truth, objective, seed)
    pairs = pl.DataFrame(
        [
            {"a": a, "b": b} | _difference(truth, said[a], said[b], objective, alpha)
            for a, b in combinations(metrics, 2)
        ],
        schema={"a": pl.String, "b": pl.String} | dict.fromkeys(PAIR, pl.Float64),
    )
    pairs = pairs.with_columns(p_corrected=pl.Series(_holm(pairs["p_value"].to_numpy())))
    table = pl.DataFrame([_row(name, truth, said[name], found[name]) for name in metrics])
    table = table.sort(objective, "metric", descending=[True, False]).with_row_index("rank", 1)
    best, verdict, reason = _judge(table, pairs, found, objective, alpha)
    settings = {"metric": list(metrics)} | settings
    return Calibrations(found, table, pairs, best, verdict, reason, notes, settings)


def _crossed(
    rows: pl.DataFrame, metrics: Sequence[str], truth: npt.NDArray[np.bool_], objective: str, seed: int
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return what each metric says of each row, in several draws, by thresholds chosen without its fold."""
    rng = np.random.default_rng([seed, FOLDS])
    folds = np.empty((REDRAWN, len(truth)), dtype=np.int64)
    for draw in folds:
        # Folds of equal size, pass and fail apart, and the same for all metrics.
        for side in (truth, ~truth):
            draw[side] = rng.permutation(int(side.sum())) % FOLDS
    said = {}
    for name in metrics:
        edges = table_of(rows.select(score=name, truth="truth"))["threshold"].to_numpy()
        cell = np.searchsorted(edges, rows[name].to_numpy(), side="right") - 1
        answers = np.empty(folds.shape, dtype=np.bool_)
        for number, fold in enumerate(folds):
            parts = []
            for side in (truth, ~truth):
                counts = np.bincount(fold[side] * len(edges) + cell[side], minlength=FOLDS * len(edges))
                parts.append(counts.reshape(FOLDS, len(edges)).astype(np.float64))
            chosen = rates_of(*(one.sum(axis=0) - one for one in parts))[objective].argmax(axis=1)
            answers[number] = cell >= chosen[fold]
        said[name] = answers
    return said


def _counts(truth: npt.NDArray[np.bool_], one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> Floats:
    """Return how often verdict and both metrics go together, a row for each draw."""
    place = 4 * truth.astype(np.int64) + 2 * one.astype(np.int64) + other.astype(np.int64)
    return np.stack([np.bincount(draw, minlength=CELLS) for draw in place]).astype(np.float64)


def _both(table: Floats, objective: str) -> tuple[float, float]:
    """Return what two metrics reach, given the eight counts."""
    cube = table.reshape(2, 2, 2)
    found = []
    for counts in (cube.sum(axis=2), cube.sum(axis=1)):
        (tn, fp), (fn, tp) = counts
        found.append(of_table(np.array([tp, fp, fn, tn]))[objective])
    return found[0], found[1]


def _difference(
    truth: npt.NDArray[np.bool_],
    one: npt.NDArray[np.bool_],
    other: npt.NDArray[np.bool_],
    objective: str,
    alpha: float,
) -> dict[str, float]:
    """Return the paired difference of two metrics, from how it answers to a little more of each count."""
    counts = _counts(truth, one, other)
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


def _row(
    name: str, truth: npt.NDArray[np.bool_], said: npt.NDArray[np.bool_], one: Calibration
) -> dict[str, Any]:
    best = one.best.row(0, named=True)
    table = _counts(truth, said, said).mean(axis=0).reshape(2, 2, 2)
    (tn, fp), (fn, tp) = table.sum(axis=2)
    values = of_table(np.array([tp, fp, fn, tn]))
    return {
        "metric": name,
        "n": len(truth),
        "threshold": best["threshold"],
        "threshold_ci_low": best["threshold_ci_low"],
        "threshold_ci_high": best["threshold_ci_high"],
        **{key: values[key] for key in SHOWN},
        "verdict": best["verdict"],
        "reason": best["reason"],
    }


def _holm(p: Floats) -> Floats:
    order = np.argsort(p)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected


def _judge(
    table: pl.DataFrame, pairs: pl.DataFrame, found: dict[str, Calibration], objective: str, alpha: float
) -> tuple[str, str, str]:
    best = str(table["metric"][0])
    by_chance = found[best].best["kappa_ci_low"].item() <= 0
    mine = pairs.filter((pl.col("a") == best) | (pl.col("b") == best))
    open_ = mine.filter(pl.col("p_corrected") > alpha).with_columns(
        other=pl.when(pl.col("a") == best).then("b").otherwise("a")
    )
    level = f"cross-validated {objective} {table[objective][0]:.2f}"
    if by_chance:
        return best, "inconclusive", f"{best} agrees best ({level}), which may be chance"
    if open_.height:
        names = ", ".join(open_["other"])
        return (
            best,
            "inconclusive",
            f"{best} agrees best ({level}), but not more than chance apart from {names}",
        )
    return best, "calibrated", f"{best} agrees best ({level}), with every other metric clearly behind"


@dataclass(frozen=True, eq=False, repr=False)
class Calibrations(Result):
    """
    How several metrics agree with the same human verdicts, as `calibrate` found it.

    Attributes
    ----------
    calibrations
        The calibration of each metric by itself.
    table
        A row for each metric, best first: its threshold, and how well it does on verdicts that did not choose
        it, all metrics on the same rows and folds.
    pairs
        The paired difference of every two metrics with its interval, and p-values, also corrected by Holm.
    best
        The metric that agrees best.
    found, reason
        The verdict, and why, in words.
    notes
        What was left out, in words.
    settings
        How it was made.
    """

    calibrations: dict[str, Calibration]
    table: pl.DataFrame
    pairs: pl.DataFrame
    best: str
    found: str
    reason: str
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def verdict(self) -> str:
        """Whether the best is better by more than chance: calibrated or inconclusive."""
        return self.found

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        return f"{self.verdict}: {self.reason}"

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        return {"table": self.table, "pairs": self.pairs}

    def tables(self) -> list[Table]:
        """Return what to show, most important first."""
        return [
            Table.of("metrics", self.table.drop("reason"), shown=50),
            Table.of("pairs", self.pairs, shown=50),
            Table.of("reasons", self.table.select("metric", "reason"), shown=50, limit=400),
        ]
