"""A leaderboard of versions: means, ranks and differences, with intervals that hold all at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drawing import drawing
from polars_evals.drift import columns
from polars_evals.drift.components import influence_of_items
from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.inference.multiple import benjamini_hochberg
from polars_evals.drift.result import Result
from polars_evals.drift.rows import read_rows
from polars_evals.drift.spec import aggregates_of, counts_in
from polars_evals.wording import counted, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.spec import SomeAggregates
    from polars_evals.report import RankingPlots

DRAWS = 20_000
FEWEST_UNITS = 2
SUMMARY: dict[str, Any] = {
    "metric": pl.String, "version": pl.String, "n": pl.Int64, "mean": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "rank": pl.Int64, "rank_low": pl.Int64, "rank_high": pl.Int64,
    "p_best": pl.Float64,
}  # fmt: skip
PAIRS: dict[str, Any] = {
    "metric": pl.String, "a": pl.String, "b": pl.String, "n": pl.Int64, "difference": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "p_value": pl.Float64, "q_value": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class Moments:
    """Means of all versions over the same items, and how these means vary together."""

    n: int
    units: int
    means: Floats
    covariance: Floats

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the covariance."""
        return self.units - 1


def rank(
    scored: Frame,
    *,
    version: str,
    item: str,
    metrics: Sequence[str] | None = None,
    aggregates: SomeAggregates = None,
    cluster: str | None = None,
    baseline: Any = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Ranking:
    """
    Rank versions: a leaderboard with intervals for means, ranks and differences.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column ``<name>_score`` for each metric.
    version
        Column that tells the versions apart.
    item
        Column that names the test case. Only items that all versions have a score for are compared; repeats
        of an item are averaged.
    metrics
        Names of the metrics; None for every ``<name>_score`` column.
    aggregates
        Statistics of all items to rank by too, such as ``["macro_f1"]``, or `Aggregate`s; their values stand
        in ``mean``. None takes those whose counts a suite kept.
    cluster
        Column that groups items which are not independent, such as the conversation or document.
    baseline
        Compare every version with this one. None compares all pairs.
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
    All intervals of a metric hold at once with probability 1 − alpha: those of the means, and, separately,
    those of the differences and the ranks that follow from them (Hothorn, Bretz and Westfall 2008; Mohamad,
    Goeman and van Zwet 2019). `q_value` is Benjamini–Hochberg's over the pairs of all metrics. `p_best` is
    the probability to be the best, given the means and how they vary together.

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
        scored, version=version, item=item, metrics=metrics, cluster=cluster,
        more={f"{name}:counts": expr for name, expr in counts.items()},
    )  # fmt: skip
    if taken := [name for name in counts if name in rows.metrics]:
        raise ValueError(f'aggregates: {taken[0]!r} is the name of a metric; give it one: name="…"')
    before = None if baseline is None else columns.version_text(schema, version, baseline)
    if before is not None and before not in rows.versions:
        raise columns.absent("baseline", before, version, rows.versions)
    notes, moments = list(rows.notes), dict[str, Moments]()
    for metric in rows.metrics:
        items = items_of(rows.frame, metric, rows.versions)
        moments[metric], note = summed(items, rows.versions, metric)
        notes += note
    for name in counts:
        items, reasons = influence_of_items(rows.frame, name, rows.versions)
        if reasons:
            told = "; ".join(f"{one} has no {name}: {why}" for one, why in reasons.items())
            notes.append(f"{name} is left out: {told}")
            continue
        moments[name], note = summed(items, rows.versions, name)
        notes += note
    return ranking_of(
        moments,
        rows.versions,
        notes=notes,
        settings={
            "version": version, "item": item, "cluster": cluster, "baseline": before,
            "metrics": rows.metrics, "aggregates": list(counts), "alpha": alpha, "seed": seed,
        },
    )  # fmt: skip


def items_of(rows: pl.DataFrame, metric: str, versions: Sequence[str]) -> pl.DataFrame:
    """Return a row for each item with a score in any version: a column for each version, and the cluster."""
    clustered = "cluster" in rows.columns
    scores = rows.filter(pl.col(f"{metric}:score").is_not_null())
    keys = ["item", "cluster"] if clustered else ["item"]
    if clustered:
        of_item = scores.group_by("item", maintain_order=True).agg(pl.col("cluster").drop_nulls().first())
        scores = scores.drop("cluster").join(of_item, on="item", how="left", maintain_order="left")
    return columns.aggregated(
        scores.lazy()
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col(f"{metric}:score").filter(pl.col("version") == one).mean().alias(f"v:{at}")
            for at, one in enumerate(versions)
        )
    )


def incomplete(lost: int) -> str:
    """Say how many items not all versions have."""
    return f"{counted(lost, 'item')} without a score in every version {verb(lost, 'was', 'were')} left out"


def summed(items: pl.DataFrame, versions: Sequence[str], metric: str) -> tuple[Moments, list[str]]:
    """Return means and covariance over the items that all versions have, and a note on the others."""
    scores = [f"v:{at}" for at in range(len(versions))]
    complete = items.drop_nulls(scores)
    lost = items.height - complete.height
    notes = [f"{metric}: {incomplete(lost)}"] if lost else []
    values = complete.select(scores).to_numpy()
    n = len(values)
    means = values.mean(axis=0) if n else np.full(len(versions), np.nan)
    apart = values - means
    if "cluster" in complete.columns:
        own = complete["cluster"].rank("dense").cast(pl.Int64).fill_null(-1 - pl.Series(range(n)))
        sums = np.zeros((own.n_unique(), len(versions)))
        np.add.at(sums, own.rank("dense").to_numpy() - 1, apart)
        apart = sums
    units = len(apart)
    scale = units / max(units - 1, 1) / max(n, 1) ** 2
    return Moments(n, units, means, scale * apart.T @ apart), notes


def ranking_of(
    moments: dict[str, Moments], versions: Sequence[str], *, notes: Sequence[str], settings: dict[str, Any]
) -> Ranking:
    """Turn means and covariances into ranks and intervals."""
    if len(versions) < 2:
        raise ValueError(
            f"column {settings['version']!r} holds only {versions[0]!r}: there is nothing to rank"
        )
    tables, pairs = [], []
    for metric, one in moments.items():
        if one.units < FEWEST_UNITS:
            what = "clusters" if settings["cluster"] else "items"
            raise ValueError(
                f"{metric}: {one.units} {what} have a score in every version; at least 2 are needed"
            )
        table, compared = _judged(one, metric, versions, settings)
        tables.append(table)
        pairs.append(compared)
    asked = pl.concat(pairs)
    q = benjamini_hochberg(asked["p_value"].to_numpy())
    return Ranking(
        summary=pl.concat(tables),
        pairs=asked.with_columns(pl.Series("q_value", q)).select(list(PAIRS)),
        notes=tuple(notes),
        settings=settings,
    )


def _judged(
    one: Moments, metric: str, versions: Sequence[str], settings: dict[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    from scipy.stats import t

    alpha, names = settings["alpha"], list(versions)
    rng = np.random.default_rng([settings["seed"], len(metric), *metric.encode()])
    draws = rng.multivariate_normal(np.zeros(len(names)), one.covariance, size=DRAWS, method="eigh")
    draws /= np.sqrt(rng.chisquare(one.freedom, size=(DRAWS, 1)) / one.freedom)
    se = _errors(one)
    half = _width(draws, se, alpha, one.freedom) * se
    best = one.means + draws
    winners = best >= best.max(axis=1, keepdims=True) - NEGLIGIBLE
    p_best = (winners / winners.sum(axis=1, keepdims=True)).mean(axis=0)
    couples = np.array(list(combinations(range(len(names)), 2)))
    a, b = couples.T
    difference = one.means[b] - one.means[a]
    spread = _pair_errors(one, a, b, difference)
    reach = _width(draws[:, b] - draws[:, a], spread, alpha, one.freedom) * spread
    low, high = difference - reach, difference + reach
    above, below = np.zeros(len(names), dtype=int), np.zeros(len(names), dtype=int)
    # `b` is certainly better than `a`, or worse: all at once, so the ranks hold all at once.
    np.add.at(above, a, low > 0)
    np.add.at(above, b, high < 0)
    np.add.at(below, b, low > 0)
    np.add.at(below, a, high < 0)
    order = (-np.round(one.means, 12)).argsort(kind="stable")
    ranks = pl.Series(np.round(one.means, 12)).rank("min", descending=True).cast(pl.Int64)
    table = pl.DataFrame(
        {
            "metric": metric, "version": names, "n": one.n, "mean": one.means, "ci_low": one.means - half,
            "ci_high": one.means + half, "rank": ranks, "rank_low": 1 + above,
            "rank_high": len(names) - below, "p_best": p_best,
        },
        schema=SUMMARY,
    )[order.tolist()]  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(spread > 0, 2 * t.sf(np.abs(difference) / spread, one.freedom), 1.0)
    pairs = pl.DataFrame(
        {
            "metric": metric, "a": [names[i] for i in a], "b": [names[i] for i in b], "n": one.n,
            "difference": difference, "ci_low": low, "ci_high": high, "p_value": p, "q_value": None,
        },
        schema=PAIRS,
    )  # fmt: skip
    return table, _asked(pairs, one, names, settings, draws)


def _asked(
    pairs: pl.DataFrame, one: Moments, names: Sequence[str], settings: dict[str, Any], draws: Floats
) -> pl.DataFrame:
    """Return the pairs that were asked for; against one baseline, fewer intervals need to hold."""
    before = settings["baseline"]
    if before is None:
        return pairs
    at = names.index(before)
    others = np.array([i for i in range(len(names)) if i != at])
    difference = one.means[others] - one.means[at]
    spread = _pair_errors(one, np.full(len(others), at), others, difference)
    reach = _width(draws[:, others] - draws[:, [at]], spread, settings["alpha"], one.freedom) * spread
    turned = pairs.filter((pl.col("a") == before) | (pl.col("b") == before))
    p = {row["b"] if row["a"] == before else row["a"]: row["p_value"] for row in turned.to_dicts()}
    return pl.DataFrame(
        {
            "metric": pairs["metric"][0], "a": before, "b": [names[i] for i in others], "n": one.n,
            "difference": difference, "ci_low": difference - reach, "ci_high": difference + reach,
            "p_value": [p[names[i]] for i in others], "q_value": None,
        },
        schema=PAIRS,
    )  # fmt: skip


def _pair_errors(one: Moments, a: Any, b: Any, difference: Floats) -> Floats:
    """Return the standard errors of differences; a constant one has that of two more items without any."""
    variance = one.covariance[a, a] + one.covariance[b, b] - 2 * one.covariance[a, b]
    spread: Floats = np.sqrt(np.clip(variance, 0, None))
    spread[spread < NEGLIGIBLE] = 0.0
    n = one.units + 2
    surely = np.abs(difference) * np.sqrt(2 * one.units / (n - 1)) / n
    return np.where((spread == 0) & (np.abs(difference) > NEGLIGIBLE), surely, spread)


def _errors(one: Moments) -> Floats:
    """Return the standard errors of the means; equal scores have that of two more items, at 0 and at 1."""
    se = np.sqrt(np.clip(np.diag(one.covariance), 0, None))
    n = one.units + 2
    centre = (one.units * one.means + 1) / n
    squares = one.units * (one.means - centre) ** 2 + centre**2 + (1 - centre) ** 2
    return np.where(se < NEGLIGIBLE, np.sqrt(squares / (n - 1) / n), se)


def _width(draws: Floats, errors: Floats, alpha: float, freedom: int) -> float:
    """Return how many standard errors all intervals need, for all of them to hold at once."""
    from scipy.stats import t

    free = errors > 0
    if not free.any():
        return 0.0
    greatest = np.abs(draws[:, free] / errors[free]).max(axis=1)
    return max(float(np.quantile(greatest, 1 - alpha)), float(t.isf(alpha / 2, freedom)))


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Result):
    """
    A leaderboard, as `rank` found it.

    Attributes
    ----------
    summary
        A row for each metric and version, best first: mean, rank, their intervals, probability to be the
        best.
    pairs
        The differences between versions (``b`` − ``a``), with intervals and tests.
    notes
        What was left out or needs care, in words.
    settings
        How the ranking was made.
    """

    summary: pl.DataFrame
    pairs: pl.DataFrame
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def verdict(self) -> str:
        """Whether one version is the best on every metric, beyond doubt: decided or undecided."""
        sure = self.summary.filter(pl.col("rank_high") == 1)
        alone = sure["version"].n_unique() == 1 and sure.height == self.summary["metric"].n_unique()
        return "decided" if alone else "undecided"

    @property
    def plot(self) -> RankingPlots:
        """Charts of this ranking: `means`."""
        plots: RankingPlots = drawing().plots_of(self)
        return plots

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        return {"summary": self.summary, "pairs": self.pairs}
