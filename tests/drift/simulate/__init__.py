"""
Simulated data sets and what must hold over thousands of them.

`make simulate` (`python -m tests.drift.simulate`) runs all laws and writes docs/simulated.md;
test_simulations.py runs a few sets of each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_evals.drift import read as reading
from polars_evals.drift.compare import Estimates
from polars_evals.drift.inference.decide import correct, decide, summarize
from polars_evals.drift.pair import pair
from polars_evals.drift.spec import ComparisonSpec

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Rng = np.random.Generator
ALPHA = 0.05


@dataclass(frozen=True)
class Law:
    """What must hold: a share of data sets at least `low` and at most `high`."""

    group: str
    name: str
    low: float
    high: float
    share: Callable[[Rng, int], float]

    def holds(self, share: float, sets: int) -> bool:
        """Say whether a share over so many sets is within three standard errors of its limits."""
        error = [3 * np.sqrt(max(bound * (1 - bound), 0.0) / sets) for bound in (self.low, self.high)]
        return bool(self.low - error[0] <= share <= self.high + error[1])

    @property
    def limit(self) -> str:
        """The limits in words."""
        if self.low and self.high != 1:
            return f"{100 * self.low:.3g}% to {100 * self.high:.3g}%"
        if self.low:
            return f"at least {100 * self.low:.3g}%"
        return f"at most {100 * self.high:.3g}%" if self.high < 1 else "none"


def group(name: str) -> tuple[list[Law], Callable[..., None]]:
    """Return a list of laws and the function that adds one: its name, its function, limits and options."""
    laws: list[Law] = []

    def add(text: str, function: Any, *, low: float = 0.0, high: float = 1.0, **options: Any) -> None:
        laws.append(Law(name, text, low, high, partial(function, **options)))

    return laws, add


def judged(
    before: Floats,
    after: Floats,
    *,
    threshold: float | None = None,
    cluster: Places | None = None,
    slices: Places | None = None,
    paired: bool = True,
    runs: int = 1,
    **options: Any,
) -> pl.DataFrame:
    """
    Judge many data sets at once: a row of `before` and `after` is a set, with NaN for a missing answer.

    Every set is a slice of one table and is corrected by itself: its row is what `compare` gives for it.
    """
    sets, n = before.shape
    place = np.repeat(np.arange(sets), n)
    shared = {"set": place, "item": np.arange(sets * n)}
    if cluster is not None:
        shared["cluster"] = place * 100_000 + np.broadcast_to(cluster, (sets, n)).ravel()
    if slices is not None:
        shared["slice"] = np.broadcast_to(slices, (sets, n)).ravel()
    one = pl.DataFrame(shared)
    frames = [one.with_columns(model=pl.lit("a"), m_score=pl.Series(before.ravel()))]
    frames += (
        [
            one.with_columns(model=pl.lit("b"), m_score=pl.Series(after.reshape(runs, sets, n)[run].ravel()))
            for run in range(runs)
        ]
        if runs > 1
        else [one.with_columns(model=pl.lit("b"), m_score=pl.Series(after.ravel()))]
    )
    frame = pl.concat(frames).with_columns(pl.col("m_score").fill_nan(None))
    if threshold is not None:
        passed = (
            pl.when(pl.col("m_score") >= threshold).then(pl.lit("pass")).when(pl.col("m_score").is_not_null())
        )
        frame = frame.with_columns(m_label=passed.then(pl.lit("fail")).cast(pl.Enum(["fail", "pass"])))
    by = ["set"] if slices is None else ["set", "slice"]
    spec = ComparisonSpec(
        version="model", baseline="a", item="item" if paired else None,
        cluster=None if cluster is None else "cluster", by=[tuple(by)], **options,
    )  # fmt: skip
    reading.MOST_SLICES = 10**9
    scores = reading.read(frame, spec)
    pairs = pair(scores.rows, scores.spec, "b")
    metrics = ["m"] + (["answered"] if "answered:score" in scores.rows.columns else [])
    estimates = Estimates(scores.spec)
    for name in metrics:
        estimates.add(pairs, name, pairs.slicing(by))
    _, rows = judged_alone(estimates)
    return rows.with_columns(set=pl.col("value").list.first().cast(pl.Int64))


def judged_alone(estimates: Estimates) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return components and rows of sets that are corrected each by itself."""
    tested, facts = estimates.test()
    # A set is a slice here, and a comparison of its own otherwise.
    spec = replace(estimates.spec, by=())
    first = pl.col("value").list.first()
    sets = (
        tested.with_columns(set=first).sort("set", maintain_order=True).partition_by("set", include_key=False)
    )
    rows = decide(
        pl.concat(correct(part, spec) for part in sets).sort("row", maintain_order=True), facts, spec
    )
    return rows, summarize(rows, facts, estimates.spec)


def reports(rows: pl.DataFrame, *verdicts: str, of: str = "verdict") -> float:
    """Return the share of sets with any row of some verdicts."""
    return float(rows.group_by("set").agg(pl.col(of).is_in(list(verdicts)).any())[of].mean())  # type: ignore[arg-type]


def alarms(rows: pl.DataFrame, of: str = "verdict") -> float:
    return reports(rows, "regressed", "improved", of=of)
