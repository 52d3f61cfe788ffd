"""How many items, and runs of each, a comparison needs."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.read import read_rows
from polars_evals.drift.result import Plotted
from polars_evals.drift.runs import between_and_within
from polars_evals.wording import have, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.read import Rows
    from polars_evals.report.charts import SamplePlanPlots  # noqa: F401

MOST_ITEMS = 10**12
# The effects in the table, in parts of the one that is asked for, and its numbers of runs.
SHOWN_EFFECTS, SHOWN_RUNS = (0.5, 1.0, 2.0, 4.0), (1, 2, 4, 8)
SUMMARY: dict[str, Any] = {
    "metric": pl.String, "min_effect": pl.Float64, "runs": pl.Int64, "items": pl.Int64, "answers": pl.Int64,
    "spread": pl.Float64, "power": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class PairedSpread:
    """How paired differences vary: their standard deviation with one run, and where it comes from."""

    total: float
    run_share: float = 0.0
    cluster_size: float = 1.0
    icc: float = 0.0

    def with_runs(self, runs: int) -> float:
        """Return the standard deviation of differences that average `runs` runs of each version."""
        return self.total * sqrt(1 - self.run_share + self.run_share / runs)

    @property
    def design(self) -> float:
        """The factor by which clusters increase the number of items."""
        return 1 + (self.cluster_size - 1) * self.icc


def plan(
    scored: Frame | None = None,
    *,
    pilot: Frame | None = None,
    spread: float | None = None,
    min_effect: float = 0.02,
    alpha: float = 0.05,
    power: float = 0.8,
    cluster_size: float | None = None,
    icc: float | None = None,
    runs: int = 1,
    run_share: float | None = None,
    version: str | None = None,
    baseline: Any = None,
    item: str | None = None,
    cluster: str | None = None,
    metrics: Sequence[str] | None = None,
) -> SamplePlan:
    """
    Find how many items two versions must answer to detect a change.

    Parameters
    ----------
    scored
        A pilot: scores of two or more versions on some items, which give the spread. It needs `version` and
        `item`.
    pilot
        The pilot, as a keyword.
    spread
        Standard deviation of the paired differences, instead of a pilot.
    min_effect
        The true difference in mean score to detect.
    alpha
        Level of the two-sided test.
    power
        Probability of detecting a true difference of `min_effect`.
    cluster_size
        Mean number of items in a cluster (a conversation, a document), if items are not independent.
    icc
        Correlation of the differences within a cluster. Use it with `cluster_size`.
    runs
        The number of answers of each version to each item. They are averaged.
    run_share
        Share of the variance between answers to the same item (0 to 1). A pilot with repeats gives it.
    version, item, cluster, metrics
        Columns of the pilot, as in `compare`. Its clusters give `cluster_size` and `icc`.
    baseline
        The baseline in the pilot, if it has more than two versions. The plan is for the candidate whose
        differences vary most.

    Returns
    -------
    SamplePlan
        With `items`, `runs` and the frame `summary`, which also shows other effects and numbers of runs.

    Notes
    -----
    Without clusters and runs this is the sample size of the paired t test. Clusters multiply it by 1 + (size
    − 1) · icc and leave as many degrees of freedom as there are clusters; runs divide the share of the
    variance that comes from them. `compare` with the same `min_effect` detects a true change of that size in
    about this share of cases.

    Examples
    --------
    >>> plan = pe.plan(spread=0.3, min_effect=0.02)
    >>> plan.items
    1768
    >>> pe.plan(spread=0.3, min_effect=0.02, cluster_size=5, icc=0.2).items
    3189
    """
    columns.require_level(alpha)
    columns.require_fraction(power, "power")
    if not min_effect > 0:
        raise ValueError(f"min_effect must be above 0, got {min_effect!r}")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise ValueError(f"runs must be a whole number of at least 1, got {runs!r}")
    if power <= alpha:
        raise ValueError(f"power must be above alpha, got power={power!r} and alpha={alpha!r}")
    notes: list[str] = []
    if pilot is not None and scored is not None:
        raise ValueError("plan takes one pilot, got two")
    scored = pilot if scored is None else scored
    if scored is None:
        spreads = {"": _given(spread, cluster_size, icc, runs, run_share)}
    else:
        if any(one is not None for one in (spread, cluster_size, icc, run_share)):
            raise ValueError(
                "a pilot supplies spread, cluster_size, icc and run_share: give the pilot or the numbers"
            )
        if version is None or item is None:
            raise ValueError("a pilot needs version= and item=, the columns of versions and items")
        read = read_rows(
            scored, version=version, item=item, metrics=metrics, cluster=cluster, unanswered="auto"
        )
        before = read.baseline(version, baseline, columns.lazy(scored).collect_schema())
        spreads, notes = _learn(read, version, before)
        if runs > 1 and all(one.run_share == 0 for one in spreads.values()):
            notes.append("the pilot has one run per item and version: the effect of more runs is unknown")
    shown = [
        (name, one, factor * min_effect, k)
        for name, one in spreads.items()
        for factor in SHOWN_EFFECTS
        for k in (sorted({runs, *SHOWN_RUNS}) if one.run_share > 0 else [runs])
    ]
    # What was asked for comes first.
    shown.sort(key=lambda row: row[2:] != (min_effect, runs))
    rows = [
        {
            "metric": name or None, "min_effect": effect, "runs": k,
            "items": (n := _needed(one, effect, alpha=alpha, power=power, runs=k)),
            "answers": None if n is None else 2 * n * k, "spread": one.with_runs(k), "power": power,
        }
        for name, one, effect, k in shown
    ]  # fmt: skip
    return SamplePlan(
        summary=pl.DataFrame(rows, schema=SUMMARY),
        notes=tuple(notes),
        settings={"min_effect": min_effect, "alpha": alpha, "power": power, "runs": runs}
        | {"spreads": {name or "given": vars(one) for name, one in spreads.items()}},
    )


def _needed(spread: PairedSpread, effect: float, *, alpha: float, power: float, runs: int) -> int | None:
    """Return the smallest number of items that finds an effect, or None if it cannot be counted."""

    def enough(n: int) -> bool:
        return _power_of(spread, effect, n, alpha=alpha, runs=runs) >= power

    fewest = high = max(2, ceil(2 * spread.cluster_size))
    while not enough(high):
        high *= 2
        if high > MOST_ITEMS:
            return None
    return bisect_left(range(high), x=True, lo=max(fewest, high // 2), key=enough)


def _power_of(spread: PairedSpread, effect: float, n: int, *, alpha: float, runs: int) -> float:
    """Return the probability that a two-sided paired t test of `n` items finds an effect."""
    from scipy.special import nctdtr, ndtr, stdtrit

    freedom = n / spread.cluster_size - 1
    error = spread.with_runs(runs) * sqrt(spread.design / n)
    if error == 0:
        return 1.0
    limit, shift = -float(stdtrit(freedom, alpha / 2)), effect / error
    if freedom > 1e5 or shift > 30:
        return float(ndtr(shift - limit) + ndtr(-limit - shift))
    return float(1 - nctdtr(freedom, shift, limit) + nctdtr(freedom, shift, -limit))


def _given(
    spread: float | None, cluster_size: float | None, icc: float | None, runs: int, run_share: float | None
) -> PairedSpread:
    if spread is None:
        raise ValueError(
            "plan needs spread=, the standard deviation of the paired differences, or a pilot: "
            "pe.plan(scored, version=..., item=...)"
        )
    if not 0 < spread < columns.LARGEST:
        raise ValueError(f"spread must be a number above 0, got {spread!r}")
    if (cluster_size is None) != (icc is None):
        raise ValueError("cluster_size= (items in a cluster) and icc= (their correlation) belong together")
    if cluster_size is not None and not cluster_size >= 1:
        raise ValueError(f"cluster_size must be at least 1, got {cluster_size!r}")
    for name, value in (("icc", icc), ("run_share", run_share)):
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
    if runs > 1 and run_share is None:
        raise ValueError(
            "runs= needs run_share=, the share of the variance between runs of an item; a pilot with "
            "repeated runs supplies it"
        )
    return PairedSpread(spread, run_share or 0.0, cluster_size or 1.0, icc or 0.0)


def _learn(rows: Rows, version: str, before: str | None) -> tuple[dict[str, PairedSpread], list[str]]:
    """Learn from a pilot how the differences of each metric vary."""
    versions = rows.versions
    if len(versions) < 2:
        raise ValueError(
            f"a pilot has two versions or more, but column {version!r} holds only {versions[0]!r}"
        )
    if before is None and len(versions) > 2:
        raise ValueError(
            f"a pilot of {len(versions)} versions needs baseline=, the version that the others are compared "
            f"with: {listed(versions)}"
        )
    before = before or versions[0]
    others = [one for one in versions if one != before]
    spreads, notes = {}, list(rows.notes)
    for metric in rows.metrics:
        found = {one: _spread(rows.frame, metric, before, one) for one in others}
        widest = max(others, key=lambda one: found[one].total * sqrt(found[one].design))
        spreads[metric] = found[widest]
        if found[widest].total == 0:
            raise ValueError(
                f"{metric}: all differences of the pilot are equal, so the items needed are unknown"
            )
        if len(others) > 1:
            notes.append(f"{metric}: planned for {widest}, whose differences from {before} vary most")
    return spreads, notes


def _spread(frame: pl.DataFrame, metric: str, before: str, after: str) -> PairedSpread:
    """Return how the differences of two versions vary."""
    score = f"{metric}:score"
    sides = [frame.filter(pl.col("version") == one).drop_nulls(score) for one in (before, after)]
    noise = [between_and_within(side, "item", score).within or 0.0 for side in sides]
    clustered = "cluster" in frame.columns
    of_items = {"mean": pl.col(score).mean(), "runs": pl.len()}
    of_items |= {"cluster": pl.col("cluster").drop_nulls().first()} if clustered else {}
    grouped = [side.lazy().group_by("item", maintain_order=True).agg(**of_items) for side in sides]
    before_means, after_means = map(columns.aggregated, grouped)
    pairs = before_means.join(after_means, on="item", suffix=":b", maintain_order="left")
    pairs = pairs.with_columns(d=pl.col("mean:b") - pl.col("mean"))
    if pairs.height < 3:
        raise ValueError(
            f"{metric}: in the pilot {have(pairs.height, 'item')} a score in both versions; 3 are needed"
        )
    observed = float(pairs["d"].var())  # type: ignore[arg-type]
    shares = pairs.select(pl.col("runs", "runs:b").pow(-1.0).mean()).row(0)
    averaged = sum(value * share for value, share in zip(noise, shares, strict=True))
    total = max(observed - averaged, 0.0) + sum(noise)
    size, icc = 1.0, 0.0
    if clustered:
        groups, rows, between, within = between_and_within(
            pairs.select("d", "cluster").drop_nulls(), "cluster", "d"
        )
        size = max(1.0, rows / max(groups, 1))
        whole = between + (within or 0.0)
        icc = between / whole if whole > 0 else 0.0
    return PairedSpread(sqrt(total), sum(noise) / total if total else 0.0, size, icc)


@dataclass(frozen=True, eq=False, repr=False)
class SamplePlan(Plotted["SamplePlanPlots"]):
    """
    How many items a comparison needs: the result of `plan`.

    Attributes
    ----------
    summary
        A row for each metric with the requested effect, then rows for other effects and numbers of runs.
    plot
        Charts: `items`.
    notes
        Sentences about limits of the result.
    settings
        The options.
    """

    @property
    def items(self) -> int:
        """The number of items that each version must answer, enough for every metric."""
        needed_items = self._asked["items"]
        if needed_items.null_count():
            raise ValueError(f"no number of items finds a difference of {self.settings['min_effect']:g}")
        return int(needed_items.max())  # type: ignore[arg-type]

    @property
    def runs(self) -> int:
        """How often each version answers each item."""
        return int(self.settings["runs"])

    @property
    def _asked(self) -> pl.DataFrame:
        return self.summary.head(len(self.settings["spreads"]))

    @property
    def verdict(self) -> str:
        """Always `planned`: a plan has no finding."""
        return "planned"
