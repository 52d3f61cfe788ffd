"""A leaderboard of versions: means, ranks and differences, with simultaneous intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit

from polars_evals.drift import columns
from polars_evals.drift.components import influence_of_items
from polars_evals.drift.inference import NEGLIGIBLE, floats
from polars_evals.drift.inference.clusters import one_mean
from polars_evals.drift.inference.multiple import benjamini_hochberg
from polars_evals.drift.read import cluster_codes, read_rows
from polars_evals.drift.result import Plotted
from polars_evals.drift.spec import aggregates_of, counts_in
from polars_evals.wording import counted, verb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.read import Rows
    from polars_evals.drift.spec import SomeAggregates, SomeMeasures, Unanswered
    from polars_evals.report.charts import RankingPlots  # noqa: F401

DRAWS = 20_000
# How far apart versions are before anything is known, in standard errors.
PRIOR = 1.5


@dataclass(frozen=True)
class _Means:
    """
    Means of all versions over the same items, and how these means vary together.

    `values` has a row for each item and a column for each version, `clusters` a number for each item.
    """

    values: Floats
    clusters: npt.NDArray[np.int64] | None
    bounded: bool
    sign: int

    @property
    def n(self) -> int:
        return len(self.values)

    @cached_property
    def means(self) -> Floats:
        return np.asarray(self.values.mean(axis=0))

    @cached_property
    def sizes(self) -> Floats:
        # The number of items of each unit: a cluster, or an item.
        return self.sums(np.ones(self.n))

    @property
    def units(self) -> int:
        return len(self.sizes)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each unit."""
        return values if self.clusters is None else np.bincount(self.clusters, values).astype(np.float64)

    @cached_property
    def covariance(self) -> Floats:
        apart = np.stack([self.sums(one) for one in (self.values - self.means).T], axis=1)
        return np.asarray(self.units / (self.units - 1) / self.n**2 * apart.T @ apart)

    def spread(self, values: Floats) -> tuple[float, float, float]:
        """
        Return standard error and degrees of freedom of a mean, and the standard error with what is unseen.

        Rare values make a variance uncertain: the last one adds that of two more units, one on each side, of
        the size that the fourth moment shows beyond a normal distribution's. It is 0 for normal values, and
        that of two items which flip for pass and fail where few items do. Where nothing varies, two units at
        the bounds are added.
        """
        found = one_mean(self.sizes, self.sums(values))
        squares = float(((values - values.mean()) ** 2).mean())
        if squares < NEGLIGIBLE**2:
            centre = abs(float(values.mean()))
            reach = centre if centre > NEGLIGIBLE else float(self.bounded)
            constant = reach * np.sqrt(2 * self.units / (self.units + 1)) / (self.units + 2)
            return (constant if centre > NEGLIGIBLE else 0.0), float(self.units - 1), constant
        tails = float(((values - values.mean()) ** 4).mean()) / squares - 3 * squares
        unseen = 2 * max(tails, 0.0) / found.effective**2 if self.bounded else 0.0
        return float(np.sqrt(found.variance)), found.df, float(np.sqrt(found.variance + unseen))


def rank(
    scored: Frame,
    *,
    version: str,
    item: str,
    metrics: Sequence[str] | None = None,
    measures: SomeMeasures = None,
    aggregates: SomeAggregates = None,
    cluster: str | None = None,
    baseline: Any = None,
    unanswered: Unanswered = "auto",
    alpha: float = 0.05,
    seed: int = 0,
) -> Ranking:
    """
    Rank versions: a leaderboard with intervals for means, ranks and differences.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column `<name>_score` for each metric.
    version
        Column of the version.
    item
        Column that identifies the test case. Only items with a score in all versions are compared. Repeats
        of an item are averaged.
    metrics
        Names of the metrics; None for every `<name>_score` column.
    measures
        Columns of numbers to rank by, such as `latency_ms`, as in `compare`. If lower is better, the lowest
        is the best.
    aggregates
        Statistics of all items to rank by, such as `["macro_f1"]`, or `Aggregate`s. Their values are in the
        column `mean`. None takes those that the suite scored.
    cluster
        Column of groups of items that are not independent, such as the conversation or document.
    baseline
        Compare every version with this one. None compares all pairs.
    unanswered
        How to treat errors and missing outputs, as in `compare`. If answers are missing, the share of
        `answered` items is ranked like a metric, and so are `error`, `truncated` and `filtered`, where lower
        is better.
    alpha
        Level of the intervals.
    seed
        Fixes the draws behind the simultaneous intervals and `p_best`.

    Returns
    -------
    Ranking
        With frames `summary` (a row for each metric and version, best first) and `pairs`.

    Notes
    -----
    The intervals of a metric are simultaneous (1 − alpha): those of the means, and, separately, those of the
    differences and the ranks that follow from them (Hothorn, Bretz and Westfall 2008; Mohamad, Goeman and
    van Zwet 2019). Standard errors are cluster-robust (CR2) with their degrees of freedom. `q_value` is
    Benjamini–Hochberg's over the pairs of all metrics. `p_best` is the probability of being the best. It
    takes into account that part of a lead is chance (a normal distribution of true means, with the spread
    estimated from the data).

    Examples
    --------
    >>> scored = pl.DataFrame(
    ...     {
    ...         "item_id": list(range(40)) * 3,
    ...         "model": ["a"] * 40 + ["b"] * 40 + ["c"] * 40,
    ...         "exact_match_score": [0.0, 1.0] * 20 + [1.0, 1.0, 1.0, 0.0] * 10 + [1.0] * 36 + [0.0] * 4,
    ...     }
    ... )
    >>> ranking = pe.rank(scored, version="model", item="item_id")
    >>> ranking.summary.select("version", "mean", "rank", "rank_low", "rank_high")
    shape: (3, 5)
    ┌─────────┬──────┬──────┬──────────┬───────────┐
    │ version ┆ mean ┆ rank ┆ rank_low ┆ rank_high │
    │ ---     ┆ ---  ┆ ---  ┆ ---      ┆ ---       │
    │ str     ┆ f64  ┆ i64  ┆ i64      ┆ i64       │
    ╞═════════╪══════╪══════╪══════════╪═══════════╡
    │ c       ┆ 0.9  ┆ 1    ┆ 1        ┆ 2         │
    │ b       ┆ 0.75 ┆ 2    ┆ 1        ┆ 3         │
    │ a       ┆ 0.5  ┆ 3    ┆ 2        ┆ 3         │
    └─────────┴──────┴──────┴──────────┴───────────┘
    """
    columns.require_level(alpha)
    schema = columns.lazy(scored).collect_schema()
    counts = counts_in(schema, None if aggregates is None else aggregates_of(aggregates))
    if counts and metrics is None and not any(name.endswith("_score") for name in schema):
        metrics = ()
    rows = read_rows(
        scored, version=version, item=item, metrics=metrics, measures=measures, cluster=cluster,
        unanswered=unanswered, count_answers=True,
        more={f"{name}:counts": expr for name, expr in counts.items()},
    )  # fmt: skip
    if taken := [name for name in counts if name in rows.names]:
        raise ValueError(f'aggregates: {taken[0]!r} is the name of another row; give it one: name="…"')
    versions = rows.versions
    before = rows.baseline(version, baseline, schema)
    if len(versions) < 2:
        raise ValueError(f"column {version!r} holds only {versions[0]!r}: there is nothing to rank")
    settings = {
        "version": version, "item": item, "cluster": cluster, "baseline": before, "metrics": rows.metrics,
        "measures": {name: one.plain for name, one in rows.measures.items() if not one.share},
        "aggregates": list(counts), "unanswered": unanswered, "alpha": alpha, "seed": seed,
    }  # fmt: skip
    notes, tables, pairs = list(rows.notes), [], []
    for metric, means, lost in chain(_means(rows), _influences(rows, list(counts), notes)):
        if lost:
            left = f"{counted(lost, 'item')} without a score in every version {verb(lost, 'was', 'were')}"
            notes.append(f"{metric}: {left} left out")
        if means.units < 2:
            what = "clusters" if cluster else "items"
            raise ValueError(
                f"{metric}: {means.units} {what} have a score in every version; at least 2 are needed"
            )
        table, compared = _ranked(means, metric, versions, settings)
        tables.append(table)
        pairs.append(compared)
    asked = pl.concat(pairs)
    return Ranking(
        summary=pl.concat(tables),
        pairs=asked.with_columns(q_value=benjamini_hochberg(asked["p_value"].to_numpy())),
        notes=tuple(notes),
        settings=settings,
    )


def _means(rows: Rows) -> Iterator[tuple[str, _Means, int]]:
    """Yield each metric with the items that all versions have, and the number of the others."""
    frame, versions = rows.frame, rows.versions
    item = frame["item"].rank("dense").to_numpy().astype(np.int64) - 1
    version = frame["version"].cast(pl.Enum(versions)).to_physical().to_numpy().astype(np.int64)
    place, shape = item * len(versions) + version, (int(item.max()) + 1, len(versions))
    clusters = None
    if "cluster" in frame.columns:
        # A row for each item, in their order.
        items = frame.select(item=pl.Series(item), cluster="cluster").sort("cluster", nulls_last=True)
        clusters = cluster_codes(items.unique("item", keep="first", maintain_order=True).sort("item"))
    for name in rows.names:
        scores = floats(frame[f"{name}:score"])
        known = ~np.isnan(scores)
        size = np.bincount(place[known], minlength=shape[0] * shape[1])
        with np.errstate(invalid="ignore"):
            values = (np.bincount(place[known], scores[known], len(size)) / size).reshape(shape)
        whole = ~np.isnan(values).any(axis=1)
        lost = int((size.reshape(shape).sum(axis=1) > 0).sum() - whole.sum())
        groups = None if clusters is None else np.unique(clusters[whole], return_inverse=True)[1]
        measure = rows.measures.get(name)
        bounded = (measure is None or measure.share) and bool(frame[f"{name}:score"].is_between(0, 1).all())
        sign = 1 if measure is None else measure.sign
        yield name, _Means(values[whole], groups, bounded, sign), lost


def _influences(rows: Rows, names: Sequence[str], notes: list[str]) -> Iterator[tuple[str, _Means, int]]:
    """Yield each aggregate with the influence of the items that all versions have."""
    for name in names:
        items, reasons = influence_of_items(rows.frame, name, rows.versions)
        if reasons:
            why = "; ".join(f"{one} has no {name}: {reason}" for one, reason in reasons.items())
            notes.append(f"{name} is left out: {why}")
            continue
        whole = items.drop_nulls([f"v:{at}" for at in range(len(rows.versions))])
        values = whole.select(pl.col("^v:.*$")).to_numpy()
        yield name, _Means(values, cluster_codes(whole), bounded=False, sign=1), items.height - whole.height


def _ranked(
    one: _Means, metric: str, versions: Sequence[str], settings: dict[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    alpha, names, count = settings["alpha"], list(versions), len(versions)
    rng = np.random.default_rng([settings["seed"], len(metric), *metric.encode()])
    # Few units make versions look more alike than they are, and the intervals too narrow.
    own = min(1.0, count / one.units)
    covariance = (1 - own) * one.covariance + own * np.diag(np.diag(one.covariance))
    draws = rng.multivariate_normal(np.zeros(count), covariance, size=DRAWS, method="eigh")
    low, high = _mean_intervals(one, draws, alpha)
    pairs = _pairs(one, draws, list(combinations(range(count), 2)), alpha)
    # One is certainly better than the other: at once for all pairs, so the ranks hold at once.
    ahead, behind = np.zeros((2, count), dtype=np.int64)
    for pair in pairs:
        if pair["ci_low"] > 0 or pair["ci_high"] < 0:
            better, worse = ("b", "a") if one.sign * pair["difference"] > 0 else ("a", "b")
            ahead[pair[worse]] += 1
            behind[pair[better]] += 1
    value = np.round(one.sign * one.means, 12)
    table = pl.DataFrame({
        "metric": metric, "version": names, "n": [one.n] * count, "mean": one.means, "ci_low": low,
        "ci_high": high, "rank": pl.Series(value).rank("min", descending=True).cast(pl.Int64),
        "rank_low": 1 + ahead, "rank_high": count - behind, "p_best": _p_best(one, rng),
    })  # fmt: skip
    if settings["baseline"] is not None:
        # Against one baseline, fewer intervals need to hold.
        at = names.index(settings["baseline"])
        pairs = _pairs(one, draws, [(at, other) for other in range(count) if other != at], alpha)
    rows = [{"metric": metric, **pair, "a": names[pair["a"]], "b": names[pair["b"]]} for pair in pairs]
    return table[(-value).argsort(kind="stable").tolist()], pl.DataFrame(rows)


def _pairs(
    one: _Means, draws: Floats, couples: Sequence[tuple[int, int]], alpha: float
) -> list[dict[str, Any]]:
    """Return the differences of versions, by number, with simultaneous intervals and p-values."""
    a, b = np.array(couples).T
    level = _level(draws[:, b] - draws[:, a], alpha)
    found = []
    for first, second in couples:
        apart = one.values[:, second] - one.values[:, first]
        se, df, safe = one.spread(apart)
        difference, half = float(apart.mean()), -float(stdtrit(df, level / 2)) * safe
        p = 2 * float(stdtr(df, -abs(difference) / se)) if se > 0 else 1.0
        pair = {"a": first, "b": second, "n": one.n, "difference": difference}
        found.append(pair | {"ci_low": difference - half, "ci_high": difference + half, "p_value": p})
    return found


def _mean_intervals(one: _Means, draws: Floats, alpha: float) -> Floats:
    """Return the lower and the upper ends of the intervals of the means, which hold at once."""
    level, ends = _level(draws, alpha), []
    for at, mean in enumerate(one.means):
        se, df, safe = one.spread(one.values[:, at])
        quantile = -float(stdtrit(df, level / 2))
        if one.bounded and 0 <= mean <= 1:
            # The exact interval of a proportion, with the items that the standard error is worth.
            worth = mean * (1 - mean) / se**2 if 0 < mean < 1 and se > 0 else float(one.units)
            worth *= float(ndtri(level / 2) / quantile) ** 2
            passed, failed = mean * worth, (1 - mean) * worth
            low = betaincinv(passed, failed + 1, level / 2) if passed > 0 else 0.0
            high = betaincinv(passed + 1, failed, 1 - level / 2) if failed > NEGLIGIBLE else 1.0
            ends.append((low, high))
        else:
            ends.append((mean - quantile * safe, mean + quantile * safe))
    return np.array(ends).T


def _level(draws: Floats, alpha: float) -> float:
    """Return the level of each interval at which all of them hold at once."""
    spread = draws.std(axis=0)
    free = spread > NEGLIGIBLE
    if not free.all():
        # Nothing tells how those that do not vary would go together with the others.
        return float(-np.expm1(np.log1p(-alpha) / len(free)))
    greatest = np.abs(draws / spread).max(axis=1)
    return min(alpha, 2 * float(ndtr(-np.quantile(greatest, 1 - alpha))))


def _p_best(one: _Means, rng: np.random.Generator) -> Floats:
    """
    Return the probability of each version to be the best.

    True means come from a normal distribution around a common level, with the spread τ. For each of some τ,
    the data give a weight (the likelihood of the means, the level integrated out) and a normal distribution
    of the true means, which are drawn; a half-Cauchy prior keeps τ near the size of the standard errors where
    the data say little.
    """
    count = len(one.means)
    freedom = max(one.units - 1, 3)
    noise = one.covariance * freedom / (freedom - 2)
    apart = np.eye(count) - 1 / count
    scale = float(np.sqrt(max(np.trace(apart @ noise) / max(count - 1, 1), 0.0)))
    if scale < NEGLIGIBLE:
        best = one.sign * one.means >= (one.sign * one.means).max() - NEGLIGIBLE
        return np.asarray(best / best.sum())
    normal = rng.standard_normal((DRAWS // 10, count))
    chances, weights = [], []
    for tau in scale * np.geomspace(0.02, 50, 40):
        whole = noise + tau**2 * np.eye(count)
        inverse = np.linalg.inv(whole)
        pull = inverse.sum(axis=0)
        level_weight = float(inverse.sum())
        level = float(pull @ one.means) / level_weight
        rest = one.means - level
        unlikely = np.linalg.slogdet(whole)[1] + np.log(level_weight) + float(rest @ inverse @ rest)
        # The prior of log τ.
        weights.append(-0.5 * unlikely + np.log(tau / (PRIOR**2 * scale**2 + tau**2)))
        shrunk = level + tau**2 * inverse @ rest
        left = tau**2 * np.eye(count) - tau**4 * (inverse - np.outer(pull, pull) / level_weight)
        values, vectors = np.linalg.eigh(left)
        draws = one.sign * (shrunk + normal * np.sqrt(np.clip(values, 0, None)) @ vectors.T)
        winners = draws >= draws.max(axis=1, keepdims=True) - NEGLIGIBLE
        chances.append((winners / winners.sum(axis=1, keepdims=True)).mean(axis=0))
    weight = np.exp(np.array(weights) - max(weights))
    return np.asarray(weight @ np.array(chances) / weight.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Plotted["RankingPlots"]):
    """
    A leaderboard: the result of `rank`.

    Attributes
    ----------
    summary
        A row for each metric and version, best first: mean, rank, their intervals, probability to be the
        best.
    pairs
        The differences between versions (`b` − `a`), with intervals and tests.
    plot
        Charts: `means`.
    notes
        Sentences about rows that were left out, and about limits of the result.
    settings
        The options.
    """

    pairs: pl.DataFrame

    @property
    def verdict(self) -> str:
        """`decided` if one version is clearly the best on every metric, else `undecided`."""
        metrics = self.settings["metrics"]
        sure = self.summary.filter(pl.col("rank_high") == 1, pl.col("metric").is_in(metrics))
        alone = sure["version"].n_unique() == 1 and sure.height == len(metrics)
        return "decided" if alone else "undecided"
