"""Cut rows into windows of time, and sum them up by series and window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from datetime import time as clock
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import polars as pl

from polars_evals._polars import format_text, offset_by, truncate
from polars_evals.drift import columns
from polars_evals.drift.clusters import residuals, robust_variance
from polars_evals.drift.measure import slice_name
from polars_evals.wording import left_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from polars_evals.drift.columns import Schema
    from polars_evals.suite.measure import Measure

    Period = tuple[date | datetime, date | datetime]

MOST_WINDOWS = 10_000


@dataclass(frozen=True)
class Series:
    """The windows with rows of one metric, version and slice; bounded, where all scores are in [0, 1]."""

    identity: dict[str, Any]
    frame: pl.DataFrame
    bounded: bool = True
    measure: Measure | None = None


def check_length(every: str, schema: Schema, time: str) -> None:
    """Raise unless `every` is a length of time, and one that the column can hold."""
    lengths = {}
    for dtype in (pl.Datetime("us"), schema[time]):
        start = pl.Series([0]).cast(dtype)
        try:
            lengths[dtype] = (start.dt.truncate(every).dt.offset_by(every) > start).item()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            lengths[dtype] = False
    if all(lengths.values()):
        return
    if schema[time] == pl.Date and lengths[pl.Datetime("us")]:
        msg = f'every="{every}" is shorter than a day, but column {time!r} holds dates; take "1d" or longer'
    else:
        msg = f'every must be a length of time, such as "1d", "1w" or "1h", got {every!r}'
    raise ValueError(msg)


def in_zone(period: Period, schema: Schema, time: str) -> Period:
    """Return a period in the zone of the column; times without a zone are taken to be in it already."""
    dtype = schema[time]
    if not isinstance(dtype, pl.Datetime):
        return period
    start, end = (one if isinstance(one, datetime) else datetime.combine(one, clock()) for one in period)
    if dtype.time_zone is None:
        if start.tzinfo is not None or end.tzinfo is not None:
            raise ValueError(
                f"reference has a time zone, but column {time!r} has none; give times without one"
            )
        return start, end
    zone = ZoneInfo(dtype.time_zone)
    start, end = (
        one.replace(tzinfo=zone) if one.tzinfo is None else one.astimezone(zone) for one in (start, end)
    )
    return start, end


def read(
    frame: pl.LazyFrame,
    schema: Schema,
    metrics: Sequence[str],
    sets: Sequence[tuple[str, ...]],
    *,
    measures: Iterable[str] = (),
    time: str,
    every: str,
    version: str | None,
    cluster: str | None,
) -> pl.DataFrame:
    """Return the rows with their window, version, cluster, slices and measures."""
    traits = sorted({name for group in sets for name in group})
    return columns.collect(
        frame.select(
            pl.col(time).alias("time"),
            truncate(pl.col(time), every, schema[time]).alias("window"),
            (pl.lit(None, dtype=pl.String) if version is None else columns.as_text(schema, version)).alias(
                "version"
            ),
            *([] if cluster is None else [columns.as_text(schema, cluster).alias("cluster")]),
            *(columns.as_text(schema, name).alias(columns.trait(name)) for name in traits),
            *columns.scores_and_labels(schema, metrics),
            *columns.values_of(measures),
        ),
        metrics,
        measures,
    )


def dated(rows: pl.DataFrame, time: str, version: str | None) -> tuple[pl.DataFrame, list[str]]:
    """Set rows apart that have no time or version, and count them."""
    notes = []
    if missing := rows["window"].null_count():
        notes.append(left_out(missing, f"time ({time})"))
        rows = rows.filter(pl.col("window").is_not_null())
    if version is not None and (missing := rows["version"].null_count()):
        notes.append(left_out(missing, f"version ({version})"))
        rows = rows.filter(pl.col("version").is_not_null())
    if rows.is_empty():
        raise ValueError("no row has a time" + ("" if version is None else " and a version"))
    return rows, notes


def grid_of(windows: pl.Series, every: str) -> pl.DataFrame:
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
    rows: pl.DataFrame, metric: str, by: Sequence[str], *, clustered: bool, measure: Measure | None = None
) -> Iterator[Series]:
    """Yield each version and slice of a metric: n, mean, spread and pass rate by window."""
    who = ["version", *(columns.trait(name) for name in by)]
    keys = [*who, "window"]
    score, passed = pl.col(f"{metric}:score"), pl.col(f"{metric}:pass")
    n = score.count().cast(pl.Int64)
    frame = columns.aggregated(
        rows.lazy()
        .group_by(keys)
        .agg(
            n=n,
            n_null=score.null_count().cast(pl.Int64),
            mean=score.mean(),
            spread=score.var(),
            freedom=n - 1,
            labels=passed.count().cast(pl.Int64),
            pass_rate=passed.mean(),
        )
    )
    scores = rows[f"{metric}:score"]
    bounded = measure is None and bool(scores.is_between(0, 1).all())
    if clustered:
        frame = frame.drop("spread", "freedom").join(
            _clustered(rows, metric, keys), on=keys, how="left", nulls_equal=True
        )
    for value, part in sorted(
        frame.group_by(who), key=lambda pair: tuple((v is None, v or "") for v in pair[0])
    ):
        version, *slices = value
        identity = {
            "metric": metric,
            "version": version,
            "slice": slice_name(by, tuple(slices)) if by else None,
            "by": list(by) or None,
            "value": slices or None,
        }
        yield Series(identity, part.drop(who), bounded, measure)


def _clustered(rows: pl.DataFrame, metric: str, keys: Sequence[str]) -> pl.DataFrame:
    """Return n times the squared cluster-robust standard error of each window's mean."""
    score = pl.col(f"{metric}:score")
    single = pl.int_range(pl.len()).cast(pl.String)
    total, size, groups = pl.col("total"), pl.col("size"), pl.len().cast(pl.Int64)
    squared = robust_variance(residuals(total, size), size)
    sums = columns.aggregated(
        rows.lazy()
        # A row without a cluster is one of its own; the prefix keeps its number apart from names.
        .with_columns(pl.coalesce(format_text("c{}", "cluster"), format_text("r{}", single)).alias("cluster"))
        .filter(score.is_not_null())
        .group_by(*keys, "cluster", maintain_order=True)
        .agg(total=score.sum(), size=score.count().cast(pl.Float64))
    )
    return columns.aggregated(
        sums.lazy()
        .group_by(keys)
        .agg(
            spread=pl.when(groups > 1).then(squared * size.sum()),
            freedom=groups - 1,
        )
    )
