"""Follow scores over time: windows, control limits, and when a change began."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals._polars import truncate
from polars_evals.drawing import drawing
from polars_evals.drift import columns
from polars_evals.drift.result import Result, Table
from polars_evals.drift.series import autocorrelation_note, follow, judge_changes, segments_frame
from polars_evals.drift.spec import require_slices, slice_sets, with_slices
from polars_evals.drift.verdict import worst
from polars_evals.drift.windows import check_length, dated, grid_of, in_zone, read, series_of
from polars_evals.drift.written import Written
from polars_evals.suite.measure import AUTO, measures_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.spec import SomeBy, SomeMeasures
    from polars_evals.drift.windows import Period
    from polars_evals.report import TimelinePlots
    from polars_evals.suite.measure import Measures


def timeline(
    scored: Frame,
    *,
    time: str,
    every: str = "1d",
    version: str | None = None,
    by: SomeBy = None,
    cluster: str | None = None,
    metrics: Sequence[str] | None = None,
    measures: SomeMeasures = None,
    reference: int | Period = 14,
    min_effect: float = 0.01,
    alpha: float = 0.05,
    tau: float = 0.1,
) -> Timeline:
    """
    Follow the scores in windows of time: what the level is now, and when it changed.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column ``<name>_score`` for each metric, and ``<name>_label`` where
        pass rates are wanted.
    time
        Column of dates or datetimes. Rows may come in any order: a late row counts in its own window.
    every
        Length of a window, as Polars writes it: ``"1h"``, ``"1d"``, ``"1w"``, ``"1mo"``.
    version
        Column that tells versions apart, to follow each on its own; None follows all rows together.
    by
        Columns or expressions to slice by, as for `compare` (without ``"auto"``).
    cluster
        Column that groups rows which are not independent, such as the conversation.
    metrics
        Names of the metrics; None for every ``<name>_score`` column.
    measures
        Columns of numbers to follow beside the scores, as for `compare`; only their means are followed.
    reference
        The period that the rest is held against: so many first windows with data of each series, or a pair
        ``(start, end)`` of times, the end excluded; times without a zone are in the zone of the `time`
        column. The longer it is, the smaller the changes that can be seen. It must not move when the timeline
        is made again with new rows.
    min_effect
        The smallest difference in mean score that matters.
    alpha
        Level of the intervals and of the tests.
    tau
        The size of change that the always-valid test looks for first; smaller and larger ones take longer. Of
        a measure, as a part of its level in the reference period.

    Returns
    -------
    Timeline
        With frames `changes`, `segments` and `windows`, and a `verdict` about the present.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> import polars as pl
    >>> import polars_evals as pe
    >>> scored = pl.DataFrame(
    ...     {
    ...         "ts": [datetime(2025, 1, 1) + timedelta(hours=h) for h in range(24 * 20)],
    ...         "exact_score": [float(h % 5 > 0) if h < 24 * 12 else float(h % 2) for h in range(24 * 20)],
    ...     }
    ... )
    >>> line = pe.timeline(scored, time="ts", every="1d", reference=7)
    >>> line.changes.select("verdict", "began", pl.col("difference").round(2))
    shape: (1, 3)
    ┌───────────┬─────────────────────┬────────────┐
    │ verdict   ┆ began               ┆ difference │
    │ ---       ┆ ---                 ┆ ---        │
    │ enum      ┆ datetime[μs]        ┆ f64        │
    ╞═══════════╪═════════════════════╪════════════╡
    │ regressed ┆ 2025-01-13 00:00:00 ┆ -0.3       │
    └───────────┴─────────────────────┴────────────┘
    """
    columns.require_level(alpha)
    columns.require_effect(min_effect)
    columns.require_fraction(tau, "tau")
    if isinstance(reference, int) and reference < 2:
        raise ValueError(f"reference needs at least 2 windows to know how they vary, got {reference}")
    frame, slices = with_slices(scored, by)
    schema = frame.collect_schema()
    for role, name in (("time", time), ("version", version), ("cluster", cluster)):
        if name is not None:
            columns.require(schema, name, role)
    if not isinstance(schema[time], pl.Date | pl.Datetime):
        raise pl.exceptions.InvalidOperationError(
            f"time column {time!r} is {schema[time]}; parse it first: pl.col({time!r}).str.to_datetime()"
        )
    check_length(every, schema, time)
    if not isinstance(reference, int):
        reference = in_zone(reference, schema, time)
    if isinstance(slices, str) and slices == "auto":
        raise ValueError('by="auto" is for compare; name the columns to follow over time')
    names, sets = columns.find_metrics(schema, metrics), slice_sets(slices)
    followed_too = measures_of(measures, schema)
    for name in followed_too:
        columns.require_number(schema, name, "measures")
        if name in names:
            raise ValueError(f"measures: {name!r} is also the name of a metric; rename the column")
    require_slices(schema, sets)
    columns.check_signatures(frame, schema, names)
    rows = read(
        frame, schema, names, sets, measures=followed_too, time=time, every=every, version=version,
        cluster=cluster,
    )  # fmt: skip
    if measures == AUTO:
        known = [one for name, one in followed_too.items() if rows[f"{name}:score"].count()]
        followed_too = measures_of(known)
    rows, notes = dated(rows, time, version)
    grid = grid_of(rows["window"], every)
    followed = [
        follow(series, grid, every=every, reference=reference, alpha=alpha, tau=tau)
        for name in (*names, *followed_too)
        for group in [(), *sets]
        for series in series_of(
            rows, name, group, clustered=cluster is not None, measure=followed_too.get(name)
        )
    ]
    changes = judge_changes(
        [one.change for one in followed],
        grid,
        reference=reference,
        alpha=alpha,
        min_effect=min_effect,
        measures=followed_too,
    )
    return Timeline(
        windows=columns.flat(pl.concat([one.windows for one in followed])),
        changes=columns.flat(changes),
        segments=columns.flat(segments_frame(followed, grid)),
        period=rows.select(first=pl.col("time").min(), last=pl.col("time").max()).row(0),
        notes=(*notes, *autocorrelation_note([one.change for one in followed])),
        settings={
            "time": time, "every": every, "version": version, "by": [list(group) for group in sets],
            "cluster": cluster, "metrics": names,
            "measures": {name: one.plain for name, one in followed_too.items()},
            "reference": reference if isinstance(reference, int) else [str(end) for end in reference],
            "min_effect": min_effect, "alpha": alpha, "tau": tau,
        },
    )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(Result):
    """
    Scores over time, as `timeline` found them.

    Attributes
    ----------
    windows
        A row for each series and window, also where there are no rows: means and pass rates with intervals,
        control limits, CUSUM and the always-valid p-value.
    changes
        A row for each series: its present level against the reference, since when, and why this is the
        verdict.
    segments
        A row for each level that a series had: from when to when, and its mean with an interval.
    period
        The first and the last time in the data.
    notes
        What was left out or needs care, in words.
    settings
        How the timeline was made.
    """

    windows: pl.DataFrame
    changes: pl.DataFrame
    segments: pl.DataFrame
    period: Period
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The worst verdict of all series: regressed, inconclusive, improved or no_change."""
        return worst(self.changes["verdict"])

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        start = pl.col("window")
        days = truncate(start, "1d", self.windows.schema["window"])
        form = "%Y-%m-%d" if self.windows.select((days == start).all()).item() else "%Y-%m-%d %H:%M"
        first, last = (format(one, form) for one in self.period)
        every = self.settings["every"]
        return f"{self.verdict}: {self.changes.height:,} series from {first} to {last}, every {every}"

    @property
    def plot(self) -> TimelinePlots:
        """Charts of this timeline: `scores` and `pass_rates`."""
        plots: TimelinePlots = drawing().plots_of(self)
        return plots

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        return {"changes": self.changes, "segments": self.segments, "windows": self.windows}

    def tables(self) -> list[Table]:
        """Return what to show, most important first."""
        changes = self.changes.sort("verdict", "difference", maintain_order=True, nulls_last=True)
        names = ("metric", "version", "slice", "reason")
        row = partial(_row, measures=measures_of(self.settings["measures"]))
        return [
            Table.of("changes", changes, row, shown=20),
            Table.of("reasons", changes.select(names), shown=20, limit=400),
        ]


def _row(row: dict[str, Any], measures: Measures) -> dict[str, Any]:
    written = Written(measures.get(row["metric"]))
    return {name: row[name] for name in ("metric", "version", "slice", "verdict", "n")} | {
        "mean" if measures else "score": written.levels(row["reference_mean"], row["current_mean"]),
        "difference": written.difference(row, "[]"),
        "began": row["began"],
        "detected": row["detected"],
        "q": row["q_value"],
    }
