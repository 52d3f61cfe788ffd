"""Follow scores over time: windows, control limits, and when a change began."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from datetime import time as clock
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from polars_evals._polars import offset_by, truncate
from polars_evals.drift import columns
from polars_evals.drift.inference import NEGLIGIBLE, column, floats
from polars_evals.drift.inference.corrections import mix_differs
from polars_evals.drift.inference.decide import VERDICTS, combine
from polars_evals.drift.inference.intervals import t_interval, wilson
from polars_evals.drift.inference.multiple import benjamini_hochberg
from polars_evals.drift.read import read_rows
from polars_evals.drift.result import Plotted
from polars_evals.drift.segments import SIGMAS, Monitor, Windows, deviations, reference_of
from polars_evals.drift.spec import Written, require_slices, slice_sets, with_slices
from polars_evals.drift.unanswered import WORDS
from polars_evals.drift.windows import all_windows, in_reference, series_of, to_reference_mix
from polars_evals.suite.measure import EFFECT_SHARE
from polars_evals.wording import left_out, listed, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.drift.spec import SomeBy, SomeMeasures, Unanswered
    from polars_evals.drift.windows import Period, Series
    from polars_evals.report.charts import TimelinePlots  # noqa: F401
    from polars_evals.suite.measure import Measure

SERIES: dict[str, Any] = {
    "metric": pl.String, "statistic": pl.String, "version": pl.String, "slice": pl.String,
    "by": pl.List(pl.String), "value": pl.List(pl.String),
}  # fmt: skip
SEGMENTS: dict[str, Any] = SERIES | {
    "began": pl.UInt32, "ended": pl.UInt32, "detected": pl.UInt32, "n": pl.Int64, "mean": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "difference": pl.Float64,
}  # fmt: skip
CHANGES: dict[str, Any] = SERIES | {
    "windows": pl.Int64, "empty_windows": pl.Int64, "n": pl.Int64, "reference_n": pl.Int64,
    "reference_mean": pl.Float64, "current_n": pl.Int64, "current_mean": pl.Float64,
    "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "safe_low": pl.Float64,
    "safe_high": pl.Float64, "began": pl.UInt32, "detected": pl.UInt32, "earlier": pl.UInt32,
    "p_always_valid": pl.Float64, "p_change": pl.Float64, "p_current": pl.Float64,
    "autocorrelation": pl.Float64, "alike": pl.Boolean,
}  # fmt: skip


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
    adjust: str | Sequence[str] | None = None,
    unanswered: Unanswered = "auto",
    reference: int | Period = 14,
    min_effect: float = 0.01,
    alpha: float = 0.05,
    tau: float = 0.05,
) -> Timeline:
    """
    Follow scores over time: the current level, and when it changed.

    Mean score, pass rate and the share of answered rows are separate series.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column `<name>_score` for each metric, and `<name>_label` for pass
        rates.
    time
        Column of dates or datetimes. Rows may come in any order: a late row counts in its own window.
    every
        Length of a window, as Polars writes it: `"1h"`, `"1d"`, `"1w"`, `"1mo"`.
    version
        Column of the version, to follow each version separately. None follows all rows together.
    by
        Columns or expressions to slice by, as for `compare` (without `"auto"`).
    cluster
        Column of groups of rows that are not independent, such as the conversation.
    metrics
        Names of the metrics; None for every `<name>_score` column.
    measures
        Columns of numbers to follow beside the scores, as for `compare`; only their means are followed.
    adjust
        Columns, such as the topic, whose mix may change over time. Every window is weighted to the mix of
        the reference period, so that a change of the mix alone does not change the level.
    unanswered
        How to treat errors and missing outputs, as in `compare`.
    reference
        The period to compare with: a number of first windows with data of each series, or a pair
        `(start, end)` of times, the end excluded. Times without a zone are in the zone of the `time` column.
        A longer reference detects smaller changes. Keep it the same when you repeat the timeline with new
        rows.
    min_effect
        The smallest difference in mean score that matters.
    alpha
        Level of the intervals and of the tests.
    tau
        The size of change that the test detects fastest. For a measure, in standard deviations of a row.

    Returns
    -------
    Timeline
        With frames `summary`, `segments` and `windows`, and a `verdict` about the present.

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
    >>> line.summary.select("verdict", "began", pl.col("difference").round(2))
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
    columns.require(schema, time, "time")
    if not isinstance(schema[time], pl.Date | pl.Datetime):
        raise pl.exceptions.InvalidOperationError(
            f"time column {time!r} is {schema[time]}; parse it first: pl.col({time!r}).str.to_datetime()"
        )
    check_length(every, schema, time)
    if not isinstance(reference, int):
        reference = _in_zone(reference, schema, time)
    if slices == "auto":
        raise ValueError('by="auto" is for compare; name the columns to follow over time')
    sets = slice_sets(slices)
    require_slices(schema, sets)
    strata = [adjust] if isinstance(adjust, str) else list(adjust or ())
    for name in strata:
        columns.require(schema, name, "adjust")
    read = read_rows(
        frame, metrics=metrics, measures=measures, version=version, cluster=cluster,
        by=sorted({name for group in (*sets, strata) for name in group}), unanswered=unanswered,
        count_answers=True,
        more={"time": pl.col(time), "window": truncate(pl.col(time), every, schema[time])},
    )  # fmt: skip
    missing = read.frame["window"].null_count()
    if missing == read.frame.height:
        raise ValueError(f"no row has a time ({time})")
    notes = [left_out(missing, f"time ({time})")] if missing else []
    rows = read.frame.drop_nulls("window")
    grid = all_windows(rows["window"], every)
    followed = [
        _follow(series, grid, every=every, reference=reference, alpha=alpha, tau=tau)
        for group in [(), *sets]
        for series in series_of(rows, read, group, strata, clustered=cluster is not None)
    ]
    # All rows first, and each metric with its slices.
    followed.sort(key=lambda one: read.names.index(one.change["metric"]))
    changes = [one.change for one in followed]
    judged = _judged(
        changes, grid, reference=reference, alpha=alpha, min_effect=min_effect, measures=read.measures
    )
    notes += [*read.notes, *_autocorrelation_note(changes), *_without_support(followed)]
    notes += _mix_notes(rows, [group for group in sets if set(group) != set(strata)], reference)
    return Timeline(
        summary=_rows_of(judged),
        windows=_windows_of(pl.concat([one.windows for one in followed])),
        segments=_segments_of(followed, grid, "mean"),
        pass_segments=_segments_of(followed, grid, "pass_rate"),
        period=rows.select(first=pl.col("time").min(), last=pl.col("time").max()).row(0),
        notes=tuple(notes),
        settings={
            "time": time, "every": every, "version": version, "by": [list(group) for group in sets],
            "cluster": cluster, "metrics": read.metrics,
            "measures": {name: one.plain for name, one in read.measures.items() if not one.share},
            "adjust": strata, "unanswered": unanswered,
            "reference": reference if isinstance(reference, int) else [str(end) for end in reference],
            "min_effect": min_effect, "alpha": alpha, "tau": tau,
        },
    )  # fmt: skip


def check_length(every: str, schema: Schema, time: str) -> None:
    """Raise unless `every` is a length of time, and one that the column can hold."""

    def fits(dtype: Any) -> bool:
        start = pl.Series([0]).cast(dtype)
        try:
            return bool((start.dt.truncate(every).dt.offset_by(every) > start).item())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return False

    if not fits(pl.Datetime("us")):
        raise ValueError(f'every must be a length of time, such as "1d", "1w" or "1h", got {every!r}')
    if not fits(schema[time]):
        raise ValueError(
            f'every="{every}" is shorter than a day, but column {time!r} holds dates; take "1d" or longer'
        )


def _in_zone(period: Period, schema: Schema, time: str) -> Period:
    """Return a period in the zone of the column; times without a zone are taken to be in it already."""
    dtype = schema[time]
    if not isinstance(dtype, pl.Datetime):
        return period
    ends = [one if isinstance(one, datetime) else datetime.combine(one, clock()) for one in period]
    if dtype.time_zone is not None:
        zone = ZoneInfo(dtype.time_zone)
        ends = [one.astimezone(zone) if one.tzinfo else one.replace(tzinfo=zone) for one in ends]
    elif any(one.tzinfo for one in ends):
        raise ValueError(f"reference has a time zone, but column {time!r} has none; give times without one")
    return ends[0], ends[1]


class _Followed(NamedTuple):
    """The windows of a series, its segments, the numbers that judge it, and strata without support."""

    windows: pl.DataFrame
    segments: list[dict[str, Any]]
    change: dict[str, Any]
    missed: list[str]


def _follow(
    series: Series, grid: pl.DataFrame, *, every: str, reference: int | Period, alpha: float, tau: float
) -> _Followed:
    """Follow a series over all windows of the grid."""
    frame = grid.join(series.frame, on="window", how="left", maintain_order="left").with_columns(
        pl.col("n", "n_null", "labels").fill_null(0)
    )
    inside = in_reference(frame, reference)
    n, missed = floats(frame["n"]), list[str]()
    rows = n
    if series.strata is not None:
        frame, rows, missed = to_reference_mix(frame, series.strata, inside)
    mean = floats(frame["mean"])
    windows = Windows(rows, mean, floats(frame["spread"]), series.bounded)
    start = int(np.flatnonzero(inside)[-1]) + 1 if inside.any() else 0
    known = reference_of(windows, inside)
    sigma, p, p_change = np.full((3, len(n)), np.nan)
    segments, change = list[dict[str, Any]](), dict[str, Any]()
    if known is not None:
        sigma = deviations(windows, known)
        monitor = Monitor(windows, known, tau)
        found, p, p_change = monitor.watch(start, alpha)
        segments = [monitor.row(one, found, alpha) for one in found]
        change = monitor.current(found, start, alpha)
    centre = np.nan if known is None else known.mean
    low, high = centre - SIGMAS * sigma, centre + SIGMAS * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(windows.spread / rows)
    ci_low, ci_high, _ = t_interval(mean, se, floats(frame["freedom"]), alpha)
    labels, rate = floats(frame["labels"]), floats(frame["pass_rate"])
    pass_low, pass_high = wilson(rate * labels, labels, alpha)
    following = offset_by(pl.col("window"), every, frame.schema["window"])
    followed = frame.select(
        *(pl.lit(series.identity[name], dtype=dtype).alias(name) for name, dtype in SERIES.items()),
        "window", pl.coalesce(pl.col("window").shift(-1), following).alias("window_end"), "n", "n_null",
        "mean", column("ci_low", ci_low), column("ci_high", ci_high), "pass_rate",
        column("pass_ci_low", pass_low), column("pass_ci_high", pass_high), pl.Series("reference", inside),
        column("center", np.full(len(n), centre)), column("limit_low", low), column("limit_high", high),
        column("outside", np.where(np.isnan(sigma), np.nan, (mean < low) | (mean > high))).cast(pl.Boolean),
        column("p_always_valid", p), column("p_change", p_change),
    )  # fmt: skip
    change |= series.identity | {"windows": len(n), "empty_windows": int((n == 0).sum()), "n": int(n.sum())}
    change |= {"p_always_valid": p[-1], "p_change": p_change[-1]}
    return _Followed(followed, [series.identity | one for one in segments], change, missed)


def _without_support(followed: Sequence[_Followed]) -> list[str]:
    if not (names := sorted({name.replace(columns.TRAIT, "") for one in followed for name in one.missed})):
        return []
    return [
        f"adjust: {listed(names)} {verb(len(names), 'has', 'have')} rows in the reference period or after, "
        f"not in both, and {verb(len(names), 'is', 'are')} left out of the weighted means"
    ]


def _mix_notes(rows: pl.DataFrame, sets: Sequence[tuple[str, ...]], reference: int | Period) -> list[str]:
    """Say which columns to slice by have another mix than in the reference period."""
    counts = rows.group_by("window").len("n").sort("window")
    inside = counts.filter(in_reference(counts, reference))["window"]
    early = rows["window"].is_in(inside.implode()).to_numpy()
    notes = []
    for group in sets:
        place = rows.select(pl.struct(map(columns.trait, group)).rank("dense").cast(pl.Int64)).to_series()
        strata = place.to_numpy() - 1
        if mix_differs(strata[early], strata[~early], int(strata.max()) + 1):
            name = ", ".join(group)
            notes.append(
                f"the mix of {name} differs from that of the reference period, which can move the level: "
                f"adjust={list(group) if len(group) > 1 else repr(name)} corrects for it"
            )
    return notes


def _segments_of(found: Sequence[_Followed], grid: pl.DataFrame, statistic: str) -> pl.DataFrame:
    """Return a row for each segment of each series: from when to when, and at what level."""
    rows = [segment for one in found for segment in one.segments if segment["statistic"] == statistic]
    frame = pl.DataFrame(rows, schema=SEGMENTS).drop("statistic")
    return columns.flat(_dated(frame, grid, "began", "ended", "detected"))


def _dated(frame: pl.DataFrame, grid: pl.DataFrame, *names: str) -> pl.DataFrame:
    return frame.with_columns(grid["window"].gather(frame[name]).alias(name) for name in names)


def _judged(
    changes: Sequence[dict[str, Any]],
    grid: pl.DataFrame,
    *,
    reference: int | Period,
    alpha: float,
    min_effect: float,
    measures: Mapping[str, Measure],
) -> pl.DataFrame:
    """Return a row for each series, with q-values over all of them, verdict and reason."""
    frame = pl.DataFrame(list(changes), schema=CHANGES).with_columns(pl.col(pl.Float64).fill_nan(None))
    tested = pl.when(pl.col("current_n") > 0).then("p_change")
    q = benjamini_hochberg(floats(frame.select(tested).to_series()))
    frame = _dated(frame.with_columns(column("q_value", q)), grid, "began", "detected", "earlier")
    judged = [
        _verdict(row, reference, alpha, min_effect, measures.get(row["metric"]))
        for row in frame.iter_rows(named=True)
    ]
    last = pl.DataFrame(judged, {"verdict": pl.Enum(VERDICTS), "reason": pl.String}, orient="row")
    first = pl.exclude("safe_low", "safe_high", "earlier", "alike", "autocorrelation", "q_value")
    return frame.select(first, "q_value", "autocorrelation").hstack(last)


# What a row says of the pass rate, by what it says of the mean.
PASS_COLUMNS = {
    "reference_mean": "reference_pass_rate", "current_mean": "current_pass_rate",
    "difference": "pass_rate_difference", "ci_low": "pass_ci_low", "ci_high": "pass_ci_high",
    "began": "pass_began", "detected": "pass_detected", "p_change": "pass_p_change",
    "q_value": "pass_q_value", "verdict": "pass_verdict", "reason": "pass_reason",
}  # fmt: skip


def deciding(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `summary` with the numbers of the part that decided its verdict."""
    if row["part"] == "mean":
        return dict(row)
    return dict(row) | {mean: row[rate] for mean, rate in PASS_COLUMNS.items() if rate in row}


def _rows_of(judged: pl.DataFrame) -> pl.DataFrame:
    """Put the mean and the pass rate of a metric into one row, with the verdict of both."""
    both = _beside(judged.rename({"verdict": "score_verdict"}), ["metric", "version", "slice"], {
        "score_verdict" if mean == "verdict" else mean: rate for mean, rate in PASS_COLUMNS.items()
    })  # fmt: skip
    verdicts = [combine(filter(None, one)) for one in both.select("score_verdict", "pass_verdict").rows()]
    verdict = pl.Series("verdict", verdicts, pl.Enum(VERDICTS))
    both = both.with_columns(verdict)
    # Where the pass rate alone gives the verdict.
    by_rate = (pl.col("pass_verdict") == verdict) & (pl.col("score_verdict") != verdict)
    both = both.with_columns(
        pl.when(by_rate).then(f"pass_{name}").otherwise(name).alias(name)
        for name in ("began", "detected", "reason")
    ).with_columns(part=pl.when(by_rate).then(pl.lit("pass_rate")).otherwise(pl.lit("mean")))
    last = ["score_verdict", "pass_verdict", "part", "verdict", "reason"]
    return both.select(pl.exclude(*last, "pass_reason"), *last)


def _windows_of(windows: pl.DataFrame) -> pl.DataFrame:
    """Put the windows of a metric's pass rate beside those of its mean."""
    taken = {name: f"pass_{name}" for name in ("center", "limit_low", "limit_high", "outside", "p_change")}
    return _beside(windows, ["metric", "version", "slice", "window"], taken)


def _beside(frame: pl.DataFrame, keys: Sequence[str], taken: Mapping[str, str]) -> pl.DataFrame:
    """Put columns of the pass rates, renamed, beside the rows of the means."""
    rates = frame.filter(pl.col("statistic") == "pass_rate").select(*keys, *taken).rename(taken)
    means = columns.flat(frame.filter(pl.col("statistic") == "mean").drop("statistic"))
    return means.join(rates, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _autocorrelation_note(changes: Sequence[dict[str, Any]]) -> list[str]:
    """Say where windows resemble their neighbours."""
    if not (found := [one["autocorrelation"] for one in changes if one.get("alike")]):
        return []
    some = f"in {len(found):,} of {len(changes):,} series" if len(changes) > 1 else "here"
    return [
        f"windows resemble those before them {some} (autocorrelation up to {max(found):.2f}); they count as "
        "fewer, and small changes take longer to see"
    ]


def _verdict(
    row: dict[str, Any], reference: int | Period, alpha: float, min_effect: float, measure: Measure | None
) -> tuple[str, str]:
    if row["reference_n"] is None:
        return "inconclusive", "the reference period has fewer than 2 windows with scores"
    if not row["current_n"]:
        return "inconclusive", _nothing_after(reference, row["windows"] - row["empty_windows"])
    change, low, high, q = (row[name] for name in ("difference", "ci_low", "ci_high", "q_value"))
    with_unit = None if measure is None or measure.share else measure
    if with_unit is not None:
        own = with_unit.min_effect
        min_effect = EFFECT_SHARE * abs(row["reference_mean"]) if own is None else own
    written = Written(with_unit)
    effect = written.effect(min_effect)
    interval = f"{100 * (1 - alpha):g}% interval {written.span(low, high)}"
    tested = f"{interval}, not corrected; corrected q = {q:.2g}"
    # The time of a window that begins at midnight says nothing.
    began, earlier = (str(row[name]).partition(" 00:00:00")[0] for name in ("began", "earlier"))
    # There was a change, and it still is one; after several, the present level must differ from the first.
    clear = low > 0 or high < 0
    lasting = clear if row["earlier"] is None else row["p_current"] <= alpha
    if row["began"] is not None and lasting and q <= alpha and abs(change) >= min_effect - NEGLIGIBLE:
        moved = "lower" if change < 0 else "higher"
        worse = change * (1 if measure is None else measure.sign) < 0
        return "regressed" if worse else "improved", (
            f"{_subject(row, measure)} is {written.size(change)} {moved} than in the reference period since "
            f"{began} ({tested})"
        )
    history = ""
    if row["earlier"] is not None:
        history = f"the change of {earlier} ended on {began}; since then "
    elif row["began"] is not None:
        history = f"the level changed on {began}; since then "
    if row["safe_low"] >= -min_effect and row["safe_high"] <= min_effect:
        return "no_change", f"{history}any change from the reference is smaller than {effect} ({interval})"
    if clear and row["began"] is None:
        reason = f"a change is likely, but not confirmed by so few rows ({tested})"
    elif clear:
        reason = f"{history}a difference from the reference is likely, but not confirmed ({interval})"
    elif low >= -min_effect and high <= min_effect:
        reason = f"{history}no change was seen, but so few rows cannot rule out {effect} ({interval})"
    else:
        reason = f"{history}no change and a change of {effect} are both possible ({interval})"
    return "inconclusive", reason


def _subject(row: dict[str, Any], measure: Measure | None) -> str:
    if measure is not None:
        return f"the {WORDS.get(measure.name, f'mean {measure.name}')}"
    return "the pass rate" if row["statistic"] == "pass_rate" else "the mean score"


def _nothing_after(reference: int | Period, filled: int) -> str:
    if not isinstance(reference, int):
        return "there are no scores after the reference period"
    # Half of the windows are left to be judged; fewer than 2 make no reference.
    smaller = f"a smaller one, such as reference={max(2, filled // 2)}, or " if filled > 2 else ""
    return (
        f"the reference of {reference:,} windows takes all {filled:,} windows with scores; "
        f"give {smaller}shorter windows"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(Plotted["TimelinePlots"]):
    """
    Scores over time: the result of `timeline`.

    Attributes
    ----------
    summary
        A row for each metric, measure, outcome, version and slice: the current level, the reference, when
        the level began, and the reason of the verdict. `difference` is that of the mean and
        `pass_rate_difference` that of the pass rate, each with interval and verdict. `part` names the one
        that decided, and `began` is its date.
    windows
        A row for each series and window, empty windows included: means and pass rates with intervals,
        control limits and the always-valid p-values.
    segments
        A row for each level of a mean: its start, its end, and its value with an interval.
    pass_segments
        The same for pass rates, if labels differ from scores of 0 and 1.
    period
        The first and the last time in the data.
    plot
        Charts: `scores` and `pass_rates`.
    notes
        Sentences about rows that were left out, and about limits of the result.
    settings
        The options.
    """

    segments: pl.DataFrame
    pass_segments: pl.DataFrame
    windows: pl.DataFrame
    period: Period

    @property
    def verdict(self) -> str:
        """
        One verdict for all series.

        `regressed` where any series did; else that of the series of all rows: `improved` where any did,
        `no_change` where none changed, `inconclusive` otherwise.
        """
        every = self.summary["verdict"].cast(pl.String)
        everywhere = every.filter(self.summary["slice"].is_null())
        return combine([*everywhere, *(one for one in every if one == "regressed")])
