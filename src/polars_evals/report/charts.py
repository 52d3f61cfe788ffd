"""Charts of results for notebooks, as Altair charts to show, to change or to save."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import polars as pl

try:
    import altair as alt
except ImportError:
    raise ImportError("charts need altair: pip install 'polars-evals[plot]'") from None

from polars_evals.drift import Agreement, Calibration, Comparison, Ranking, Runs, SamplePlan, Timeline
from polars_evals.report.numbers import NAME, day, distinct
from polars_evals.report.tables import bins_of, is_series, rows_of
from polars_evals.wording import did_you_mean, line, listed, reveal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_evals.drift.result import Result

R = TypeVar("R")
# Okabe and Ito's palette. Text and lines are grey enough to be read on light and on dark notebooks.
TEXT, GREY, BAND = "#7a828b", "#8a939d", "#8a939d"
BLUE, SKY, VERMILION, GREEN, PURPLE = "#0072b2", "#56b4e9", "#d55e00", "#009e73", "#cc79a7"
COLOURS = {"regressed": VERMILION, "inconclusive": GREY, "improved": BLUE, "no_change": GREY}
SHAPES = dict(zip(COLOURS, ("triangle-down", "diamond", "triangle-up", "circle"), strict=True))
WIDE, HEIGHT, ROW = 640, 190, 24
MOST_SLICES, MOST_WINDOWS, BINS = 40, 400, 40
# From this ratio of the 95th percentile to the median on, values are drawn on a logarithmic axis.
SKEWED = 2.5
NO_MEASURES = "the comparison has no measures to draw; compare with measures={…}"


def _one_of(role: str, name: str | None, choices: Iterable[str]) -> str:
    """Return a name that is there, the first where none is asked for."""
    known = list(choices)
    if name is None:
        return known[0]
    if name not in known:
        there_are = listed([repr(one) for one in known], 20)
        raise ValueError(f"{role}: there is no {name!r}{did_you_mean(name, known)} (there are: {there_are})")
    return name


def _themed(*layers: Any, width: int, title: str | None, height: int = HEIGHT) -> Any:
    """Return layers as one chart without a ground of its own, so that it fits dark notebooks too."""
    text = {"labelColor": TEXT, "titleColor": TEXT, "titleFontWeight": "normal", "labelFontSize": 12}
    return alt.layer(*layers).properties(
        width=width,
        height=height,
        background="transparent",
        title=alt.TitleParams("" if title is None else line(reveal(title), 200), color=TEXT, anchor="start"),
        config=alt.Config(
            axis={"domainColor": GREY, "gridColor": GREY, "gridOpacity": 0.25, "tickColor": GREY, **text},
            legend={"orient": "bottom", "labelLimit": 300, **text},
            view={"stroke": None},
        ),
    )


def _plain(field: str, title: str | None = None, *, axis: Any = None, **options: Any) -> Any:
    """Return a horizontal axis without a grid."""
    return alt.X(field, title=title, axis=alt.Axis(grid=False, **(axis or {})), **options)


def _dashed(data: pl.DataFrame) -> Any:
    return alt.Chart(data).mark_rule(color=GREY, strokeDash=[4, 3])


def _colour(names: Sequence[str], colours: Sequence[str], field: str = "of", **legend: Any) -> Any:
    scale = alt.Scale(domain=list(names), range=list(colours))
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(title=None, **legend))


def _intervals(
    rows: pl.DataFrame, labels: Sequence[str], x: Any, width: int, title: str | None, *under: Any,
    size: int = 70, **look: Any,
) -> Any:  # fmt: skip
    """Draw values with their ends, the first three columns, one row each, in the order given."""
    names, (_, low, high) = distinct(map(reveal, labels)), rows.columns[:3]
    base = alt.Chart(rows.with_columns(pl.Series("label", names, dtype=pl.String)))
    y = alt.Y("label:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=320))
    mark = {} if look else {"color": BLUE}
    colour = {"color": look["color"]} if look else {}
    rules = base.mark_rule(strokeWidth=2, **mark)
    points = base.mark_point(size=size, filled=True, opacity=1, **mark)
    return _themed(
        *under,
        rules.encode(x=alt.X(f"{low}:Q", title=None), x2=f"{high}:Q", y=y, **colour),
        points.encode(x=x, y=y, **look),
        width=width, height=max(2, len(names)) * ROW, title=title,
    )  # fmt: skip


def _values(rows: pl.DataFrame, labels: Sequence[str], axis: str, width: int, title: str | None) -> Any:
    x = alt.X("value:Q", title=axis, scale=alt.Scale(zero=False))
    return _intervals(rows.select("value", "low", "high"), labels, x, width, title)


def _forest(
    rows: pl.DataFrame, labels: Sequence[str], *, effect: float, width: int, title: str | None, axis: str
) -> Any:
    """Draw differences with their intervals, coloured by their verdicts."""
    shown = [name for name in COLOURS if name in set(rows["verdict"])]
    legend = alt.Legend(title=None, symbolSize=90)
    looks = {
        key: channel(
            "verdict:N", scale=alt.Scale(domain=shown, range=[of[one] for one in shown]), legend=legend
        )
        for key, channel, of in (("color", alt.Color, COLOURS), ("shape", alt.Shape, SHAPES))
    }
    band, zero = pl.DataFrame({"low": [-effect], "high": [effect]}), pl.DataFrame({"zero": [0.0]})
    return _intervals(
        rows.select("difference", "ci_low", "ci_high", pl.col("verdict").cast(pl.String)),
        labels,
        alt.X("difference:Q", title=["← worse · better →", axis], scale=alt.Scale(zero=True)),
        width,
        title,
        alt.Chart(band).mark_rect(color=BAND, opacity=0.2).encode(x=alt.X("low:Q", title=None), x2="high:Q"),
        alt.Chart(zero).mark_rule(color=GREY).encode(x=alt.X("zero:Q", title=None)),
        size=90,
        **looks,
    )


def _roundest(above: float, most: float) -> float:
    """Return the number with the fewest digits between two: what someone chose."""
    for digits in (1, 2, 3):
        found = floor(most * 10**digits + 1e-9) / 10**digits
        if found > above:
            return found
    return most


def _spread(shares: pl.DataFrame, names: Sequence[str], x: Any, y: str) -> list[Any]:
    """Return bars of one version and the outline of another, of `low`, `high` and a share for each."""
    colour = _colour(names, [SKY, VERMILION], symbolType="square")
    axis = alt.Y("share:Q", title=y, axis=alt.Axis(format="~%", tickCount=4))
    before, after = (
        shares.select("low", "high", share=side).with_columns(of=pl.lit(name))
        for side, name in zip(("before", "after"), names, strict=True)
    )
    # A step needs the right edge of the last bin too.
    steps = pl.concat([after, after.tail(1).with_columns(low="high")])
    return [
        alt.Chart(before).mark_bar(binSpacing=0, opacity=0.6).encode(x=x, x2="high:Q", y=axis, color=colour),
        alt.Chart(steps).mark_line(interpolate="step-after", strokeWidth=2).encode(x=x, y=axis, color=colour),
    ]


class _Plots(Generic[R]):
    def __init__(self, result: R) -> None:
        self._of = result


def _metric(metric: str | None, rows: pl.DataFrame) -> str:
    return _one_of("metric", metric, rows["metric"].unique(maintain_order=True))


class ComparisonPlots(_Plots[Comparison]):
    """
    Charts of a comparison.

    `metric`, `measure` and `candidate` are names; None takes the first. `width` is in pixels.
    """

    def differences(self, *, width: int = WIDE) -> Any:
        """
        Draw what decided each metric over all items: the difference of means or pass rates with its interval.

        Notes
        -----
        The intervals are those of one row each; the verdicts are also corrected for the number of rows. The
        grey band holds the differences below `min_effect`.

        Examples
        --------
        >>> scored = pl.DataFrame(
        ...     {
        ...         "case_id": [1, 2, 3, 4] * 2,
        ...         "model": ["v1"] * 4 + ["v2"] * 4,
        ...         "levenshtein_score": [0.9, 0.8, 1.0, 0.7, 0.5, 0.3, 0.6, 0.4],
        ...     }
        ... )
        >>> comparison = pe.compare(scored, version="model", baseline="v1", item="case_id")
        >>> comparison.plot.differences().save("differences.html")
        """
        return self._forest(lambda row: row.slice is None, None, width)

    def evidence(self, candidate: str | None = None, *, width: int = WIDE) -> Any:
        """Draw the differences of a candidate over all items and in each slice, the greatest loss first."""
        candidate = _one_of("candidate", candidate, self._of.spec.candidates)
        return self._forest(lambda row: row.candidate == candidate, None, width)

    def slices(self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE) -> Any:
        """
        Draw the difference of each slice with its interval, the greatest loss first.

        Notes
        -----
        Of more than 40 slices, those that moved most are drawn.
        """
        chosen = self._chosen(metric, candidate)
        if self._of.slices.is_empty():
            raise ValueError('the comparison has no slices to draw; compare with by=[…] or by="auto"')
        return self._forest(
            lambda row: row.slice is not None and (row.metric, row.candidate) == chosen, chosen[0], width
        )

    def _forest(self, wanted: Any, title: str | None, width: int) -> Any:
        """Draw rows that are no measures; to the right is better, also where less is better."""
        rows = [row for row in rows_of(self._of) if wanted(row) and not row.has_unit]
        kept = sorted(rows, key=lambda row: -row.weight)[:MOST_SLICES]
        kept.sort(key=lambda row: (row.slice is not None, row.likely_gain))
        several = len({row.candidate for row in kept}) > 1
        parts = [
            (row.candidate if several else None, row.slice, row.name if title is None else None)
            for row in kept
        ]
        labels = [" · ".join(filter(None, one)) for one in parts]
        schema = dict.fromkeys(("difference", "ci_low", "ci_high"), pl.Float64) | {"verdict": pl.String}
        frame = pl.DataFrame([(*row.drawn(), row.verdict) for row in kept], schema, orient="row")
        effect = self._of.spec.min_effect
        return _forest(frame, labels, effect=effect, width=width, title=title, axis="difference")

    def distributions(
        self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE
    ) -> Any:
        """Draw how the scores of baseline and candidate are spread."""
        metric, candidate = self._chosen(metric, candidate)
        bins = bins_of(self._of, metric, candidate)
        x = _plain("low:Q", "score", bin="binned", scale=alt.Scale(nice=False))
        names = distinct(map(reveal, (self._of.spec.baseline, candidate)))
        layers = _spread(bins, names, x, "share of answers")
        threshold = self._threshold(metric)
        if threshold is not None:
            cut = pl.DataFrame({"threshold": [threshold], "name": [f"passes from {threshold:g}"]})
            at = alt.X("threshold:Q", title="score")
            layers.append(_dashed(cut).encode(x=at, tooltip="name:N"))
        return _themed(*layers, width=width, title=metric)

    def paired(self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE) -> Any:
        """Draw how many items lost and gained how much."""
        metric, candidate = self._chosen(metric, candidate)
        found = self._paired(metric, candidate).select("difference").collect()
        size, at = pl.col("difference").abs(), pl.col("at")
        step = 2 * (found.select(size.max()).item() or 1.0) / BINS
        # Equal scores have a bin of their own around 0.
        place = pl.col("difference").sign() * ((size / step).floor() + 0.5) * step
        kinds = ["worse", "the same", "better"]
        way = (at.sign() * self._of.spec.sign(metric) + 1).cast(pl.Int64)
        data = found.select(at=place).group_by("at").agg(count=pl.len()).sort("at")
        data = data.with_columns(
            kind=way.replace_strict(range(3), kinds), low=at - step / 2, high=at + step / 2
        )
        chart = alt.Chart(data).mark_bar(binSpacing=1, opacity=1).encode(
            x=_plain("low:Q", "candidate − baseline", bin="binned"),
            x2="high:Q",
            y=alt.Y("count:Q", title="items"),
            color=_colour(kinds, [VERMILION, GREY, BLUE], "kind", symbolType="square"),
        )  # fmt: skip
        return _themed(chart, width=width, title=metric)

    def pass_rates(
        self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE
    ) -> Any:
        """Draw the share of answers that pass, of baseline and candidate, with Wilson's intervals."""
        metric, candidate = self._chosen(metric, candidate)
        rows = self._of.pass_rates.filter(
            pl.col("metric") == metric, pl.col("candidate") == candidate, pl.col("slice").is_null()
        )
        if rows.is_empty() or rows["pass_rate"].null_count():
            raise ValueError(f"{metric} has no labels: nothing passes or fails")
        rates = rows.sort(pl.col("version") != self._of.spec.baseline).select(
            "version", value="pass_rate", low="ci_low", high="ci_high"
        )
        labels = [f"{name}: {rate:.1%} pass" for name, rate in rates.select("version", "value").iter_rows()]
        return _values(rates, labels, "pass rate", width, metric)

    def measures(self, candidate: str | None = None, *, width: int = WIDE) -> Any:
        """Draw by which part of the baseline's value each measure changed: its mean and its quantiles."""
        candidate = _one_of("candidate", candidate, self._of.spec.candidates)
        rows = self._of.measures.filter(
            pl.col("candidate") == candidate, pl.col("slice").is_null(), pl.col("ratio").is_not_null()
        )
        if rows.is_empty():
            raise ValueError(NO_MEASURES)
        labels = [
            f"{name} ({'less' if lower else 'more'} is better), {statistic}"
            for name, statistic, lower in rows.select("metric", "statistic", "lower_is_better").iter_rows()
        ]
        ratios = {"difference": "ratio", "ci_low": "ratio_low", "ci_high": "ratio_high"}
        parts = rows.select("verdict", **{key: pl.col(name) - 1 for key, name in ratios.items()})
        effect = rows.select((pl.col("min_effect") / pl.col("baseline_value").abs()).min()).item() or 0.0
        axis = "change, as a part of the baseline"
        return _forest(parts, labels, effect=effect, width=width, title=None, axis=axis)

    def values(self, measure: str | None = None, *, candidate: str | None = None, width: int = WIDE) -> Any:
        """
        Draw how the values of a measure are spread, with the median and the 95th percentile of each version.

        Notes
        -----
        The axis is logarithmic where the 95th percentile is far above the median.
        """
        spec = self._of.spec
        if not spec.measures:
            raise ValueError(NO_MEASURES)
        measure = _one_of("measure", measure, list(spec.measures))
        candidate = _one_of("candidate", candidate, spec.candidates)
        found = self._paired(measure, candidate)
        values = found.select(before="baseline_score", after="candidate_score").collect()
        both = pl.concat([values["before"], values["after"]])
        low, middle, high = both.min(), both.median(), both.quantile(0.95, "linear")
        log = bool(low > 0 and high / middle > SKEWED)  # type: ignore[operator]
        unit = spec.measures[measure].unit
        named = f"{measure} ({unit})" if unit else measure
        scale = alt.Scale(type="log" if log else "linear", nice=False, zero=False)
        title = f"{line(named, NAME)}{', logarithmic' if log else ''}"
        x = _plain("low:Q", title, bin="binned", scale=scale, axis={"format": "~s"})
        names = distinct(map(reveal, (spec.baseline, candidate)))
        marks = pl.DataFrame(
            [
                {"low": values[side].quantile(at, "linear"), "of": name, "kind": kind}
                for side, name in zip(("before", "after"), names, strict=True)
                for at, kind in ((0.5, "median"), (0.95, "p95"))
            ]
        )
        rules = alt.Chart(marks).mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", scale=scale),
            color=alt.Color("of:N", scale=alt.Scale(domain=names, range=[SKY, VERMILION])),
            strokeDash=alt.StrokeDash("kind:N", legend=alt.Legend(title=None)),
        )  # fmt: skip
        layers = _spread(_shares(values, log=log), names, x, "share of items")
        return _themed(*layers, rules, width=width, title=measure)

    def _paired(self, metric: str, candidate: str) -> pl.LazyFrame:
        return self._of.items.filter(pl.col("metric") == metric, pl.col("candidate") == candidate)

    def _threshold(self, metric: str) -> float | None:
        """Return the least score that passes, where every score below it fails."""
        long = self._of.items.filter(pl.col("metric") == metric)
        both = pl.concat(
            long.select(score=f"{side}_score", label=f"{side}_label") for side in ("baseline", "candidate")
        )
        score, label = pl.col("score"), pl.col("label")
        ends = both.select(score.filter(label == "pass").min(), fails=score.filter(label == "fail").max())
        passes, fails = ends.collect().row(0)
        if passes is None or fails is None or passes <= fails:
            return None
        return _roundest(float(fails), float(passes))

    def _chosen(self, metric: str | None, candidate: str | None) -> tuple[str, str]:
        return _metric(metric, self._of.summary), _one_of("candidate", candidate, self._of.spec.candidates)


def _shares(values: pl.DataFrame, *, log: bool) -> pl.DataFrame:
    """Return the share of each version's values in bins of one width on the axis."""
    scaled = values.select(pl.all().log(10) if log else pl.all()).to_numpy()
    low, high = scaled.min(), scaled.max()
    edges = np.linspace(low, high if high > low else low + BINS, BINS + 1)
    ends = 10**edges if log else edges
    shares = dict(
        zip(values.columns, (np.histogram(own, edges)[0] / len(own) for own in scaled.T), strict=True)
    )
    return pl.DataFrame({"low": ends[:-1], "high": ends[1:], **shares})


class TimelinePlots(_Plots[Timeline]):
    """
    Charts of a timeline.

    `metric` is the name of a metric or measure, `version` a version, where each was followed on its own, and
    `slice` a slice, as in `"topic=refunds"`: None takes the first metric, the first version, and all rows.
    `width` is in pixels.
    """

    def scores(
        self,
        metric: str | None = None,
        *,
        version: str | None = None,
        slice: str | None = None,  # noqa: A002
        width: int = WIDE,
    ) -> Any:
        """
        Draw the mean over time with intervals, the reference level, and where a change began.

        Notes
        -----
        Of more than 400 windows, the last 400 are drawn.
        """
        return self._series("mean", "ci_", metric, version, slice, width=width)

    def pass_rates(
        self,
        metric: str | None = None,
        *,
        version: str | None = None,
        slice: str | None = None,  # noqa: A002
        width: int = WIDE,
    ) -> Any:
        """Draw the pass rate over time with Wilson's intervals."""
        return self._series("pass_rate", "pass_ci_", metric, version, slice, width=width)

    def _series(
        self, value: str, ends: str, metric: str | None, version: str | None, part: str | None, *, width: int
    ) -> Any:
        changes = self._of.summary
        metric = _metric(metric, changes)
        if self._of.settings["version"] is not None:
            version = _one_of("version", version, changes["version"].drop_nulls().unique(maintain_order=True))
        if part is not None:
            part = _one_of("slice", part, changes["slice"].drop_nulls().unique(maintain_order=True))
        wanted = is_series(metric, version, part)
        change = changes.filter(wanted)
        if change.is_empty():
            raise ValueError(f"there is no series of {metric!r} for version {version!r} and slice {part!r}")
        row = change.row(0, named=True)
        windows = self._of.windows.filter(wanted).tail(MOST_WINDOWS)
        at = pl.col("window").cast(pl.Datetime("ms")).dt.replace_time_zone(None)
        base = alt.Chart(windows.select(time=at, value=value, low=f"{ends}low", high=f"{ends}high"))
        time, y = (
            _plain("time:T"),
            alt.Y("value:Q", title=value.replace("_", " "), scale=alt.Scale(zero=False)),
        )
        layers = [
            base.mark_rule(color=GREY, opacity=0.5).encode(x=time, y="low:Q", y2="high:Q"),
            base.mark_line(color=BLUE, strokeWidth=1.5).encode(x=time, y=y),
            base.mark_point(color=BLUE, filled=True, opacity=1, size=20).encode(x=time, y=y),
        ]
        if value == "mean" and row["reference_mean"] is not None:
            level = pl.DataFrame({"level": [row["reference_mean"]], "name": ["reference"]})
            layers.append(_dashed(level).encode(y="level:Q", tooltip="name:N"))
        if row["began"] is not None:
            began = change.select(
                pl.col("began").cast(pl.Datetime("ms")).dt.replace_time_zone(None),
                since=pl.lit(f"since {day(row['began'])}"),
            )
            # The colour of the verdict: an improvement is not drawn as a loss.
            mark = alt.Chart(began).mark_rule(color=COLOURS[row["verdict"]], strokeWidth=2)
            layers.append(mark.encode(x="began:T", tooltip="since:N"))
        return _themed(*layers, width=width, title=" · ".join(filter(None, (metric, version, part))))


class CalibrationPlots(_Plots[Calibration]):
    """Charts of a calibration; `width` is in pixels."""

    def curve(self, metric: str | None = None, *, width: int = WIDE) -> Any:
        """
        Draw how well each threshold agrees with the human verdicts, of the metric that agrees best.

        Notes
        -----
        The band is the interval of the measure that was maximised, the grey span that of the best threshold.
        """
        of = self._of
        metric = of.metric if metric is None else _one_of("metric", metric, of.settings["metrics"])
        curve = of.curve.filter(pl.col("metric") == metric)
        best = of.summary.row(by_predicate=pl.col("metric") == metric, named=True)
        objective = of.settings["objective"]
        names = list(dict.fromkeys((objective, "precision", "recall")))
        data = curve.select("threshold", *names).unpivot(index="threshold", variable_name="measure")
        ends = {"low": "threshold_ci_low", "high": "threshold_ci_high", "best": "threshold"}
        span = alt.Chart(pl.DataFrame({key: [best[name]] for key, name in ends.items()}))
        band = curve.select("threshold", low=f"{objective}_ci_low", high=f"{objective}_ci_high")
        x = _plain("threshold:Q", "threshold")
        return _themed(
            span.mark_rect(color=BAND, opacity=0.2).encode(x="low:Q", x2="high:Q"),
            alt.Chart(band).mark_area(color=BLUE, opacity=0.2).encode(x=x, y="low:Q", y2="high:Q"),
            span.mark_rule(color=VERMILION, strokeWidth=2).encode(x="best:Q"),
            alt.Chart(data).mark_line(strokeWidth=2).encode(
                x=x, y=alt.Y("value:Q", title=None),
                color=_colour(names, [BLUE, GREEN, PURPLE][: len(names)], "measure"),
                strokeDash=alt.StrokeDash("measure:N", sort=names),
            ),
            width=width, title=metric,
        )  # fmt: skip


class RankingPlots(_Plots[Ranking]):
    """Charts of a ranking; `width` is in pixels."""

    def means(self, metric: str | None = None, *, width: int = WIDE) -> Any:
        """Draw the mean of each version with its simultaneous interval, best first."""
        metric = _metric(metric, self._of.summary)
        rows = self._of.summary.filter(pl.col("metric") == metric)
        values = rows.select(value="mean", low="ci_low", high="ci_high")
        return _values(values, rows["version"].to_list(), "mean score", width, metric)


class SamplePlanPlots(_Plots[SamplePlan]):
    """Charts of a plan; `width` is in pixels."""

    def items(self, metric: str | None = None, *, width: int = WIDE) -> Any:
        """Draw how many items find a difference of each size."""
        summary = self._of.summary
        if summary["metric"].count():
            metric = _metric(metric, summary.drop_nulls("metric"))
            summary = summary.filter(pl.col("metric") == metric)
        rows = summary.sort("min_effect").drop_nulls("items").select("min_effect", "items")
        x = _plain("min_effect:Q", "difference to be found")
        y = alt.Y("items:Q", title="items", scale=alt.Scale(type="log"))
        point = {"filled": True, "opacity": 1}
        wanted = summary.head(1).select("min_effect", "items")
        return _themed(
            alt.Chart(rows).mark_line(color=GREY).encode(x=x, y=y),
            alt.Chart(rows).mark_point(color=BLUE, size=60, **point).encode(x=x, y=y),
            alt.Chart(wanted).mark_point(color=VERMILION, size=120, **point).encode(x=x, y=y),
            width=width, title=metric,
        )  # fmt: skip


class RunsPlots(_Plots[Runs]):
    """Charts of repeated runs; `metric` and `version` are names, `width` is in pixels."""

    def pass_at_k(self, metric: str | None = None, *, version: str | None = None, width: int = WIDE) -> Any:
        """Draw how often any, and how often all, of k runs pass."""
        summary = self._of.summary
        if summary.is_empty():
            raise ValueError(
                "there are no passes to draw: the metrics have no labels, or no item has enough runs"
            )
        metric = _metric(metric, summary)
        version = _one_of("version", version, summary["version"].unique(maintain_order=True))
        rows = summary.filter(pl.col("metric") == metric, pl.col("version") == version)
        kinds = {"any of k passes": ("pass_at_k", ""), "all of k pass": ("pass_all_k", "all_")}
        data = pl.concat(
            rows.select("k", value=of, low=f"{ends}ci_low", high=f"{ends}ci_high", kind=pl.lit(kind))
            for kind, (of, ends) in kinds.items()
        )
        x = _plain("k:O", "runs (k)", axis={"labelAngle": 0})
        y = alt.Y("value:Q", title="items", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
        colour, base = _colour(list(kinds), [BLUE, VERMILION], "kind"), alt.Chart(data)
        return _themed(
            base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(x=x, y="low:Q", y2="high:Q", color=colour),
            base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour),
            base.mark_point(filled=True, opacity=1, size=60).encode(x=x, y=y, color=colour, shape="kind:N"),
            width=width, title=f"{metric} · {version}",
        )  # fmt: skip


class AgreementPlots(_Plots[Agreement]):
    """Charts of an agreement; `width` is in pixels."""

    def values(self, *, width: int = WIDE) -> Any:
        """Draw each coefficient with its interval."""
        rows = self._of.summary.drop_nulls("value")
        labels = [name.replace("_", " ") for name in rows["statistic"]]
        low, high = (pl.coalesce(end, "value") for end in ("ci_low", "ci_high"))
        return _values(rows.select("value", low=low, high=high), labels, "coefficient", width, None)


_PLOTS: dict[type[Any], Any] = {
    Agreement: AgreementPlots, Calibration: CalibrationPlots, Comparison: ComparisonPlots,
    Ranking: RankingPlots, Runs: RunsPlots, SamplePlan: SamplePlanPlots, Timeline: TimelinePlots,
}  # fmt: skip


def plots_of(result: Result) -> Any:
    """Return the charts of a result."""
    return _PLOTS[type(result)](result)
