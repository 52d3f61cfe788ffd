"""One row of numbers for a metric, over all items or for each slice, before anything is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.columns import trait
from polars_evals.drift.inference import floats
from polars_evals.drift.inference.estimate import ESTIMANDS, estimate_metric, scores_of, sides_of
from polars_evals.drift.inference.permutation import Units, flip_units
from polars_evals.drift.shape import Sample, ks, psi, psi_chance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.pair import Observations

    Slice = tuple[str | None, ...]

IDENTITY: dict[str, Any] = {
    "candidate": pl.String,
    "metric": pl.String,
    "slice": pl.String,
    "by": pl.List(pl.String),
    "value": pl.List(pl.String),
}


def slice_name(by: Sequence[str], value: Slice) -> str:
    """Return ``topic=refunds, language=de``."""
    return ", ".join(f"{name}={'null' if v is None else v}" for name, v in zip(by, value, strict=True))


def measure(observations: Observations, *, metric: str, by: Sequence[str] = (), seed: int) -> pl.DataFrame:
    """Return the estimates of a metric with its shape and permutation test, one row a slice."""
    keys = [trait(name) for name in by]
    return tabulate(
        estimate_metric(observations, metric, keys),
        candidate=observations.candidate,
        metric=metric,
        by=by,
        seed=seed,
        units=_units(observations, metric, keys),
        scores=_scores(observations, metric, keys),
    )


def tabulate(
    rows: pl.DataFrame,
    *,
    candidate: str,
    metric: str,
    by: Sequence[str],
    seed: int,
    units: Mapping[str, Mapping[Slice, Units]],
    scores: Mapping[Slice, tuple[Sample, Sample]],
) -> pl.DataFrame:
    """Name the rows that `estimate` made, and add shape and permutation test of each slice."""
    keys = [trait(name) for name in by]
    if keys:
        rows = rows.sort(keys, nulls_last=True)
    slices: list[Slice] = list(rows.select(keys).iter_rows()) if keys else [()]
    names = [slice_name(by, value) for value in slices]
    samples = [scores[value] for value in slices]
    found = [
        pl.Series("ks", [ks(*pair) for pair in samples], dtype=pl.Float64),
        pl.Series("psi", [psi(*pair) for pair in samples], dtype=pl.Float64),
        pl.Series("psi_chance", [psi_chance(*pair) for pair in samples], dtype=pl.Float64),
    ]
    for estimand, prefix in ESTIMANDS.items():
        of = [units.get(estimand, {}).get(value) for value in slices]
        seeds = [f"{candidate}\n{metric}\n{name}" + (f"\n{prefix}" if prefix else "") for name in names]
        p = [one and flip_units(one, seed=seed, name=name) for one, name in zip(of, seeds, strict=True)]
        found += [
            pl.Series(f"{prefix}p_permutation", p, dtype=pl.Float64),
            pl.Series(f"{prefix}moved", [one and one.moved for one in of], dtype=pl.Int64),
        ]
    identity = pl.DataFrame(
        {
            "candidate": [candidate] * len(slices),
            "metric": [metric] * len(slices),
            "slice": names if keys else [None],
            "by": [list(by) if keys else None] * len(slices),
            "value": [list(value) if keys else None for value in slices],
        },
        schema=IDENTITY,
    )
    return identity.hstack(rows.drop(keys)).with_columns(found)


def _units(observations: Observations, metric: str, keys: Sequence[str]) -> dict[str, dict[Slice, Units]]:
    """Return by estimand and slice what keeps its sign as a whole: differences of items, or of clusters."""
    if not observations.paired:
        return {}
    frame = scores_of(observations, metric, keys)
    cluster = ["cluster"] if observations.clustered else []
    found = {}
    for estimand, (side,) in sides_of(paired=True).items():
        values = frame.select(*keys, *cluster, side).filter(pl.col(side).is_not_null())
        if values.is_empty():
            continue
        if cluster:
            values = values.group_by(*keys, "cluster", maintain_order=True).agg(pl.col(side).sum())
        parts = values.group_by(*keys, maintain_order=True) if keys else [((), values)]
        take = Units.of if estimand == "score" else Units.counted
        found[estimand] = {key: take(floats(part[side])) for key, part in parts}
    return found


def _scores(
    observations: Observations, metric: str, keys: Sequence[str]
) -> dict[Slice, tuple[Sample, Sample]]:
    """Return by slice the sorted scores of both versions, all rows of them."""
    score = f"{metric}:score"
    frame = observations.rows.select(*keys, "side", score).filter(pl.col(score).is_not_null())
    parts: dict[Slice, pl.DataFrame] = dict(frame.group_by(*keys)) if keys else {(): frame}
    nothing = Sample(floats(pl.Series([], dtype=pl.Float64)))
    found = {
        key: (
            Sample(floats(part.filter(~pl.col("side"))[score].sort())),
            Sample(floats(part.filter("side")[score].sort())),
        )
        for key, part in parts.items()
    }
    if not keys:
        return found
    everywhere = observations.frame.select(keys).unique().iter_rows()
    return {key: found.get(key, (nothing, nothing)) for key in everywhere}
