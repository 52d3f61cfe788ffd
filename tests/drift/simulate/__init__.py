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
from polars_evals.drift.inference.decide import adjust_p_values, decide, summarize, test, verdict_of
from polars_evals.drift.inference.estimate import Estimates
from polars_evals.drift.pair import names_in, pair
from polars_evals.drift.spec import ComparisonSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polars_evals.drift.spec import ResolvedSpec

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Rng = np.random.Generator
ALPHA = 0.05
# A row is a data set; or several metrics by name.
Sets = Floats | dict[str, Floats]


@dataclass(frozen=True)
class Law:
    """What must hold: a share of data sets at least `low` and at most `high`."""

    group: str
    name: str
    low: float
    high: float
    share: Callable[[Rng, int], float]
    # What the rules before these gave, where an audit found them wrong.
    before: str = ""
    # How many data sets `make simulate` draws: fewer where each is a job that is asked on many days.
    sets: int = 1_000

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


def group(name: str, sets: int = 1_000) -> tuple[list[Law], Callable[..., None]]:
    """Return a list of laws and the function that adds one: its name, its function, limits and options."""
    laws: list[Law] = []

    def add(
        text: str, function: Any, *, low: float = 0.0, high: float = 1.0, was: str = "", **options: Any
    ) -> None:
        laws.append(Law(name, text, low, high, partial(function, **options), was, sets))

    return laws, add


@dataclass(frozen=True)
class Judged:
    """Data sets that are judged each by itself: their components, their rows, and their verdicts."""

    components: pl.DataFrame
    rows: pl.DataFrame
    spec: ResolvedSpec

    @property
    def verdicts(self) -> list[str]:
        """The verdict on each set, as `Comparison.verdict` has it."""
        whole = self.rows.filter(pl.col("slice").is_null())
        rows = {key[0]: part["verdict"] for key, part in whole.group_by("set")}
        return [
            verdict_of(part, rows[key[0]], self.spec.alpha)
            for key, part in self.components.group_by("set", maintain_order=True)
        ]

    def share(self, *verdicts: str) -> float:
        """Return how many sets have some verdicts."""
        return float(np.mean([one in verdicts for one in self.verdicts]))


def compared(
    before: Sets,
    after: Sets,
    *,
    threshold: float | None = None,
    cluster: Places | None = None,
    slices: Places | None = None,
    paired: bool = True,
    runs: int = 1,
    **options: Any,
) -> Judged:
    """
    Judge many data sets at once: a row of `before` and `after` is a set, with NaN for a missing answer.

    Every set is a slice of one table and is corrected by itself: its rows are what `compare` gives for it.
    Several metrics are arrays by name.
    """
    first, second = ({"m": one} if isinstance(one, np.ndarray) else one for one in (before, after))
    sets, n = next(iter(first.values())).shape
    place = np.repeat(np.arange(sets), n)
    shared = {"set": place, "item": np.arange(sets * n)}
    if cluster is not None:
        shared["cluster"] = place * 100_000 + np.broadcast_to(cluster, (sets, n)).ravel()
    if slices is not None:
        shared["slice"] = np.broadcast_to(slices, (sets, n)).ravel()
    one = pl.DataFrame(shared)
    frames = [one.with_columns(pl.lit("a").alias("model"), *_scores(first))]
    frames += [
        one.with_columns(
            pl.lit("b").alias("model"),
            *_scores({name: values.reshape(runs, sets, n)[run] for name, values in second.items()}),
        )
        for run in range(runs)
    ]
    frame = pl.concat(frames)
    if threshold is not None:
        frame = frame.with_columns(
            pl.when(pl.col(f"{name}_score") >= threshold).then(pl.lit("pass"))
            .when(pl.col(f"{name}_score").is_not_null()).then(pl.lit("fail"))
            .cast(pl.Enum(["fail", "pass"])).alias(f"{name}_label")
            for name in first
        )  # fmt: skip
    groups = [["set"]] if slices is None else [["set"], ["set", "slice"]]
    spec = ComparisonSpec(
        version="model", baseline="a", item="item" if paired else None,
        cluster=None if cluster is None else "cluster", by=[tuple(by) for by in groups], **options,
    )  # fmt: skip
    reading.MOST_SLICES = 10**9
    scores = reading.read(frame, spec)
    pairs = pair(scores.rows, scores.spec, "b")
    estimates = Estimates(scores.spec)
    for name in names_in(scores.rows, scores.spec):
        for by in groups:
            estimates.add(pairs, name, pairs.slicing(by))
    return judged_alone(estimates)


def _scores(values: Mapping[str, Floats]) -> list[pl.Series]:
    return [pl.Series(f"{name}_score", one.ravel()).fill_nan(None) for name, one in values.items()]


def judged_alone(estimates: Estimates) -> Judged:
    """Judge sets that are corrected each by itself: a set is a slice here, and a comparison otherwise."""
    estimated, facts = estimates.frames()
    tested = test(estimated, facts, estimates.spec)
    inside = pl.col("value").list.len() > 1
    own = {
        "set": pl.col("value").list.first().cast(pl.Int64),
        "slice": pl.when(inside).then("slice"),
    }
    sliced = any(len(by) > 1 for by in estimates.spec.slices)
    spec = replace(estimates.spec, by=(("slice",),) if sliced else ())
    facts = facts.with_columns(**own)
    sets = tested.with_columns(**own).sort("set", maintain_order=True).partition_by("set")
    rows = pl.concat(adjust_p_values(part, spec) for part in sets).sort("row", maintain_order=True)
    components = decide(rows, facts, spec)
    return Judged(components.sort("set", maintain_order=True), summarize(components, facts, spec), spec)


def judged(before: Sets, after: Sets, **options: Any) -> pl.DataFrame:
    """Return the rows of many data sets: those of slices, where there are any."""
    found = compared(before, after, **options)
    return found.rows if options.get("slices") is None else found.rows.filter(pl.col("slice").is_not_null())


def reports(rows: pl.DataFrame, *verdicts: str, of: str = "verdict") -> float:
    """Return the share of sets with any row of some verdicts."""
    return float(rows.group_by("set").agg(pl.col(of).is_in(list(verdicts)).any())[of].mean())  # type: ignore[arg-type]


def alarms(rows: pl.DataFrame, of: str = "verdict") -> float:
    return reports(rows, "regressed", "improved", of=of)
