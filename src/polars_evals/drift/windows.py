"""The windows of each series of scores: rows, means and spread, weighed to one mix if asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals._polars import format_text, offset_by, truncate
from polars_evals.drift import columns
from polars_evals.drift.inference import column, floats
from polars_evals.drift.inference.clusters import residuals, robust_variance
from polars_evals.drift.pair import slice_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats
    from polars_evals.drift.read import Rows

    Period = tuple[date | datetime, date | datetime]

MOST_WINDOWS = 10_000
MOMENTS = ("n", "n_null", "mean", "spread", "freedom")


@dataclass(frozen=True)
class Series:
    """The windows of one statistic, version and slice, by stratum too where they are weighed to one mix."""

    identity: dict[str, Any]
    frame: pl.DataFrame
    strata: pl.DataFrame | None
    bounded: bool


def all_windows(windows: pl.Series, every: str) -> pl.DataFrame:
    """Return all windows from the first to the last, those without rows too."""
    first, last = windows.sort()[0], windows.sort()[-1]
    step = pl.select(offset_by(pl.lit(first, dtype=windows.dtype), every, windows.dtype) - first).item()
    count = (last - first) / step
    if count > MOST_WINDOWS:
        raise ValueError(
            f"every={every!r} gives {count:,.0f} windows from {first} to {last}; take longer ones"
        )
    # Windows follow the clock on the wall: half a step never misses one that a change of clocks cuts short.
    times = pl.datetime_range(first, last, max(step / 2, step.resolution))
    grid = pl.select(truncate(times, every, windows.dtype).cast(windows.dtype).alias("window"))
    return pl.concat([grid, windows.unique().to_frame()]).unique().sort("window")


def series_of(
    rows: pl.DataFrame, read: Rows, by: Sequence[str], strata: Sequence[str], *, clustered: bool
) -> Iterator[Series]:
    """Yield each statistic of each version and slice: n, mean, spread and pass rate by window."""
    who = [*(["version"] if "version" in rows.columns else []), *(columns.trait(name) for name in by)]
    keys = [*who, "window"]

    def apart(frame: pl.DataFrame) -> dict[tuple[Any, ...], pl.DataFrame]:
        return frame.partition_by(who, as_dict=True, maintain_order=True) if who else {(): frame}

    parts = [name for name in map(columns.trait, strata) if name not in who]
    values = dict[tuple[str, str], str]()
    for name in read.names:
        values[name, "mean"] = f"{name}:score"
        if _labels_add(rows, name):
            values[name, "pass_rate"] = f"{name}:pass"
    moments = [one for name in values.values() for one in _moments(name)]
    labels = [pl.col(f"{name}:pass").count().cast(pl.Int64).alias(f"{name} labels") for name in read.names]
    rates = [pl.col(f"{name}:pass").mean().alias(f"{name} pass_rate") for name in read.names]
    grouped = rows.lazy().group_by(keys).agg(*moments, *labels, *rates)
    frame = columns.aggregated(grouped).sort(keys, nulls_last=True)
    if clustered:
        for name in values.values():
            frame = frame.drop(f"{name} spread", f"{name} freedom").join(
                _clustered(rows, name, keys), on=keys, how="left", nulls_equal=True, maintain_order="left"
            )
    split = {}
    if parts:
        by_part = columns.aggregated(rows.lazy().group_by([*keys, *parts]).agg(moments))
        by_part = by_part.sort([*keys, *parts], nulls_last=True).with_columns(stratum=pl.struct(parts))
        split = apart(by_part)
    bounded = rows.select(pl.col(name).is_between(0, 1).all() for name in values.values()).row(0, named=True)
    for value, windows in apart(frame).items():
        traits = value[len(who) - len(by) :]
        identity = {
            "version": value[0] if "version" in who else None,
            "slice": slice_name(by, traits) if by else None,
            "by": list(by) or None,
            "value": list(traits) or None,
        }
        for (metric, statistic), name in values.items():
            measure = read.measures.get(metric)
            named = [pl.col(f"{name} {key}").alias(key) for key in MOMENTS]
            rates = [pl.col(f"{metric} {key}").alias(key) for key in ("labels", "pass_rate")]
            yield Series(
                {"metric": metric, "statistic": statistic} | identity,
                windows.select("window", *named, *rates),
                split[value].select("window", "stratum", *named) if split else None,
                bool(bounded[name]) and (measure is None or measure.share),
            )


def _moments(name: str) -> list[pl.Expr]:
    value = pl.col(name).cast(pl.Float64)
    n = value.count().cast(pl.Int64)
    found = (n, value.null_count().cast(pl.Int64), value.mean(), value.var(), n - 1)
    return [one.alias(f"{name} {key}") for key, one in zip(MOMENTS, found, strict=True)]


def _labels_add(rows: pl.DataFrame, metric: str) -> bool:
    """Say whether labels tell anything that the scores do not: those of 0/1 scores are the same numbers."""
    passed, score = pl.col(f"{metric}:pass"), pl.col(f"{metric}:score")
    return bool(rows.select((passed.is_not_null() & (passed.cast(pl.Float64) != score)).any()).item())


def _clustered(rows: pl.DataFrame, name: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return n times the squared cluster-robust standard error of each window's mean."""
    value = pl.col(name).cast(pl.Float64)
    single = pl.int_range(pl.len()).cast(pl.String)
    total, size, groups = pl.col("total"), pl.col("size"), pl.len().cast(pl.Int64)
    squared = robust_variance(residuals(total, size), size)
    sums = columns.aggregated(
        rows.lazy()
        # A row without a cluster is one of its own; the prefix keeps its number apart from names.
        .with_columns(pl.coalesce(format_text("c{}", "cluster"), format_text("r{}", single)).alias("cluster"))
        .filter(value.is_not_null())
        .group_by(*keys, "cluster", maintain_order=True)
        .agg(total=value.sum(), size=value.count().cast(pl.Float64))
    )
    spread = pl.when(groups > 1).then(squared * size.sum())
    return columns.aggregated(
        sums.lazy()
        .group_by(keys, maintain_order=True)
        .agg(spread.alias(f"{name} spread"), (groups - 1).alias(f"{name} freedom"))
    )


def to_reference_mix(
    frame: pl.DataFrame, strata: pl.DataFrame, inside: npt.NDArray[np.bool_]
) -> tuple[pl.DataFrame, Floats, list[str]]:
    """
    Weigh the strata of every window to the mix of the reference period (post-stratification).

    Returns the frame with weighted means, the number of rows that each is worth, and the strata that only one
    of the two periods has. A window that lacks a stratum is held against the reference by the strata that it
    has: its mean is that of the reference plus how far these strata are from their own means there.
    """
    names = strata["stratum"].unique().sort().to_list()
    filled = strata.filter(pl.col("n") > 0)
    place = [names.index(one) for one in filled["stratum"]]
    here = frame["window"].search_sorted(filled["window"]).to_numpy(), place
    n, total, inner = np.zeros((3, frame.height, len(names)))
    n[here] = filled["n"].to_numpy()
    total[here] = n[here] * filled["mean"].to_numpy()
    inner[here] = (n[here] - 1) * floats(filled["spread"].fill_null(0.0))
    known, later = n[inside].sum(axis=0), n[~inside].sum(axis=0)
    share = known / max(known.sum(), 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        level = np.where(known > 0, total[inside].sum(axis=0) / known, 0.0)
        weight = np.where(n > 0, share, 0.0)
        weight /= weight.sum(axis=1, keepdims=True)
        apart = np.where(weight > 0, total / n - level, 0.0)
        mean = share @ level + (weight * apart).sum(axis=1)
        worth = 1 / np.where(n > 0, weight**2 / n, 0.0).sum(axis=1)
        used = np.where(share > 0, n, 0.0)
        freedom = np.maximum(used - 1, 0).sum(axis=1)
        within = np.where(share > 0, inner, 0.0).sum(axis=1) / freedom
        # Where rows come in clusters, their means vary more by the same factor.
        rows = n.sum(axis=1)
        between = np.where(n > 0, n * (total / n - (total.sum(axis=1) / rows)[:, None]) ** 2, 0.0)
        plain = (inner.sum(axis=1) + between.sum(axis=1)) / (rows - 1)
        plain = np.where(used.sum(axis=1) > 1, plain, np.nan)
        design = np.nan_to_num(floats(frame["spread"]) / plain, nan=1.0)
    worth = np.where(np.isfinite(worth) & (used.sum(axis=1) > 0), worth, 0.0)
    weighed = frame.with_columns(
        column("mean", np.where(worth > 0, mean, np.nan)), column("spread", within * design)
    )
    missed = [
        slice_name(list(one), tuple(one.values()))
        for one, before, after in zip(names, known, later, strict=True)
        if (before > 0) != (after > 0)
    ]
    return weighed, worth, missed


def in_reference(frame: pl.DataFrame, reference: int | Period) -> npt.NDArray[np.bool_]:
    """Return which windows are those of the reference; up to the last with data where they are counted."""
    if isinstance(reference, int):
        filled = frame["n"].to_numpy() > 0
        return np.asarray(np.cumsum(filled) - filled < min(reference, int(filled.sum())))
    dtype = frame.schema["window"]
    start, end = (one if dtype == pl.Date else pl.lit(one, dtype=dtype) for one in reference)
    return frame.select((pl.col("window") >= start) & (pl.col("window") < end)).to_series().to_numpy()
