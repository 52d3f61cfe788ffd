"""One row of numbers for a metric, over all items or for each slice, before anything is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.columns import trait
from polars_evals.drift.estimate import estimate
from polars_evals.drift.inference import floats
from polars_evals.drift.permutation import Units, flip_units
from polars_evals.drift.shape import Sample, ks, psi

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.pairing import Observations

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


def measure(
    observations: Observations, *, candidate: str, metric: str, by: Sequence[str] = (), seed: int
) -> pl.DataFrame:
    """Return the estimates of a metric with its shape and permutation test, one row a slice."""
    keys = [trait(name) for name in by]
    return tabulate(
        estimate(observations, metric, keys),
        candidate=candidate,
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
    units: Mapping[Slice, Units],
    scores: Mapping[Slice, tuple[Sample, Sample]],
) -> pl.DataFrame:
    """Name the rows that `estimate` made, and add shape and permutation test of each slice."""
    keys = [trait(name) for name in by]
    if keys:
        rows = rows.sort(keys, nulls_last=True)
    names, p_permutation, distance, stability = [], [], [], []
    slices: list[Slice] = list(rows.select(keys).iter_rows()) if keys else [()]
    for value in slices:
        names.append(slice_name(by, value))
        row = f"{candidate}\n{metric}\n{names[-1]}"
        p_permutation.append(flip_units(units[value], seed=seed, name=row) if value in units else None)
        distance.append(ks(*scores[value]))
        stability.append(psi(*scores[value]))
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
    return pl.concat([identity, rows.drop(keys)], how="horizontal").with_columns(
        pl.Series("p_permutation", p_permutation, dtype=pl.Float64),
        pl.Series("ks", distance, dtype=pl.Float64),
        pl.Series("psi", stability, dtype=pl.Float64),
    )


def _units(observations: Observations, metric: str, keys: Sequence[str]) -> dict[Slice, Units]:
    """Return by slice what keeps its sign as a whole: differences of items, or their sums by cluster."""
    if not observations.paired:
        return {}
    difference = (pl.col(f"{metric}:c") - pl.col(f"{metric}:b")).alias("d")
    cluster = ["cluster"] if observations.clustered else []
    frame = observations.frame.select(*keys, *cluster, difference).filter(pl.col("d").is_not_null())
    if cluster:
        frame = frame.group_by(*keys, "cluster", maintain_order=True).agg(pl.col("d").sum())
    if not keys:
        return {(): Units.of(floats(frame["d"]))}
    return {key: Units.of(floats(part["d"])) for key, part in frame.group_by(*keys, maintain_order=True)}


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
