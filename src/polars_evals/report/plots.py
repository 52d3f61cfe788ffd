"""Charts of results, as Altair charts to show, to change or to save."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift import Agreement, Calibration, Comparison, Ranking, Runs, SamplePlan, Timeline
from polars_evals.report import charts, spread_charts, time_charts
from polars_evals.report.choice import one_of
from polars_evals.report.claims import slice_word
from polars_evals.report.drawn_rows import MOST_SLICES, evidence_rows
from polars_evals.report.evidence import lower_is_better
from polars_evals.report.measure_plots import MeasurePlots
from polars_evals.report.question_plots import AgreementPlots, RankingPlots, RunsPlots, SamplePlanPlots
from polars_evals.report.theme import WIDE

if TYPE_CHECKING:
    from polars_evals.drift.result import Result

MOST_WINDOWS = 400


def _roundest(above: float, most: float) -> float:
    """Return the number with the fewest digits between two: what someone chose."""
    for digits in (1, 2, 3):
        found = floor(most * 10**digits + 1e-9) / 10**digits
        if found > above:
            return found
    return most


class ComparisonPlots(MeasurePlots):
    """Charts of a comparison."""

    def differences(self, *, width: int = WIDE) -> Any:
        """
        Draw the difference of each metric with its interval, and of each candidate where there are several.

        Parameters
        ----------
        width
            Pixels, with the labels.

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
        >>> comparison.plot.differences().save("differences.svg")
        """
        summary, spec = self._of.summary, self._of.spec
        several = len(spec.candidates) > 1
        return charts.forest(
            summary,
            summary["metric"].to_list(),
            groups=summary["candidate"].to_list() if several else None,
            min_effect=spec.min_effect,
            width=width,
        )

    def evidence(self, candidate: str | None = None, *, width: int = WIDE) -> Any:
        """
        Draw the differences of a candidate over all items and in each slice, under the name of the slice.

        Parameters
        ----------
        candidate
            The candidate; None for the first.
        width
            Pixels, with the labels.

        Notes
        -----
        All items come first, then the slices with the greatest loss. Of more slices than fit 40 rows, those
        with the worst verdicts are drawn, each with all its metrics.
        """
        spec = self._of.spec
        candidate = one_of("candidate", candidate, spec.candidates)
        kept = evidence_rows(self._of, candidate)
        short = len(self._of.slices["by"].unique()) == 1
        slices = ["all items" if one is None else slice_word(one, short=short) for one in kept["slice"]]
        if kept["metric"].n_unique() == 1:
            labels, groups, title = slices, None, kept["metric"][0]
        else:
            labels, groups, title = kept["metric"].to_list(), slices, None
            if kept["slice"].null_count() == kept.height:
                groups = None
        return charts.forest(
            kept, labels, groups=groups, min_effect=spec.min_effect, width=width, title=title
        )

    def distributions(
        self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE
    ) -> Any:
        """
        Draw how the scores of baseline and candidate are spread.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        candidate
            The candidate; None for the first.
        width
            Pixels, with the labels.
        """
        spec = self._of.spec
        metric, candidate = self._chosen(metric, candidate)
        rows = self._of.distributions.filter(pl.col("metric") == metric, pl.col("candidate") == candidate)
        return spread_charts.distribution(
            rows,
            baseline=spec.baseline,
            width=width,
            threshold=self._threshold(metric),
            title=self._title(metric, candidate),
        )

    def paired(self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE) -> Any:
        """
        Draw how many items lost and gained how much.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        candidate
            The candidate; None for the first.
        width
            Pixels, with the labels.
        """
        metric, candidate = self._chosen(metric, candidate)
        rows = (
            self._of.items.filter(pl.col("metric") == metric, pl.col("candidate") == candidate)
            .select("difference")
            .collect()
        )
        return spread_charts.paired(
            spread_charts.difference_bins(rows),
            min_effect=self._of.spec.min_effect,
            width=width,
            lower_is_better=lower_is_better(self._of, metric),
            title=self._title(metric, candidate),
        )

    def pass_rates(
        self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE
    ) -> Any:
        """
        Draw the share of answers that pass, of the baseline and of a candidate.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        candidate
            The candidate; None for the first.
        width
            Pixels, with the labels.
        """
        metric, candidate = self._chosen(metric, candidate)
        versions = [self._of.spec.baseline, candidate]
        rows = self._of.pass_rates.filter(
            pl.col("metric") == metric, pl.col("candidate") == candidate, pl.col("slice").is_null()
        )
        order = pl.col("version").replace_strict({name: at for at, name in enumerate(versions)}, default=9)
        rates = rows.sort(order)
        if rates.is_empty() or rates["pass_rate"].null_count():
            raise ValueError(f"{metric} has no labels: nothing passes or fails")
        return spread_charts.passes(rates, width=width, title=metric)

    def _threshold(self, metric: str) -> float | None:
        """Return the least score that passes, where every score below it fails."""
        if self._of.table is None:
            return None
        long = self._of.items.filter(pl.col("metric") == metric)
        both = pl.concat(
            long.select(score=f"{side}_score", label=f"{side}_label") for side in ("baseline", "candidate")
        )
        passes, fails = (
            both.select(
                pl.col("score").filter(pl.col("label") == "pass").min().alias("passes"),
                pl.col("score").filter(pl.col("label") == "fail").max().alias("fails"),
            )
            .collect()
            .row(0)
        )
        if passes is None or fails is None or passes <= fails:
            return None
        return _roundest(float(fails), float(passes))

    def slices(self, metric: str | None = None, *, candidate: str | None = None, width: int = WIDE) -> Any:
        """
        Draw the difference of each slice with its interval, the greatest loss first.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        candidate
            The candidate; None for the first.
        width
            Pixels, with the labels.

        Notes
        -----
        Of more than 40 slices, those with the worst verdicts are drawn.
        """
        metric, candidate = self._chosen(metric, candidate)
        rows = (
            self._of.slices.filter(pl.col("metric") == metric, pl.col("candidate") == candidate)
            .sort("verdict", "difference", nulls_last=True)
            .head(MOST_SLICES)
            .sort("difference", nulls_last=True)
        )
        if rows.is_empty():
            raise ValueError('the comparison has no slices to draw; compare with by=[…] or by="auto"')
        min_effect = self._of.spec.min_effect
        return charts.forest(rows, rows["slice"].to_list(), min_effect=min_effect, width=width, title=metric)

    def _chosen(self, metric: str | None, candidate: str | None) -> tuple[str, str]:
        metrics = self._of.summary["metric"].unique(maintain_order=True).to_list()
        return (
            one_of("metric", metric, metrics),
            one_of("candidate", candidate, self._of.spec.candidates),
        )


class TimelinePlots:
    """Charts of a timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self._of = timeline

    def scores(
        self,
        metric: str | None = None,
        *,
        version: str | None = None,
        slice: str | None = None,  # noqa: A002
        width: int = WIDE,
    ) -> Any:
        """
        Draw the mean score over time, with control limits, and where a change began.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        version
            The version, where each was followed on its own; None for the first.
        slice
            The slice, as in ``"topic=refunds"``; None for all rows.
        width
            Pixels, with the labels.

        Notes
        -----
        The grey period is the reference; the dashed lines are three standard errors around its mean, and
        windows outside of them are triangles. Of more than 400 windows, the last 400 are drawn.
        """
        return self._series("mean", metric, version, slice, width)

    def pass_rates(
        self,
        metric: str | None = None,
        *,
        version: str | None = None,
        slice: str | None = None,  # noqa: A002
        width: int = WIDE,
    ) -> Any:
        """
        Draw the pass rate over time with Wilson's intervals.

        Parameters
        ----------
        metric
            Name of the metric; None for the first.
        version
            The version, where each was followed on its own; None for the first.
        slice
            The slice, as in ``"topic=refunds"``; None for all rows.
        width
            Pixels, with the labels.
        """
        return self._series("pass_rate", metric, version, slice, width)

    def _series(
        self, value: str, metric: str | None, version: str | None, part: str | None, width: int
    ) -> Any:
        changes = self._of.summary
        metric = one_of("metric", metric, self._of.settings["metrics"])
        if self._of.settings["version"] is not None:
            version = one_of("version", version, changes["version"].drop_nulls().unique(maintain_order=True))
        if part is not None:
            part = one_of("slice", part, changes["slice"].drop_nulls().unique(maintain_order=True))
        wanted = (
            pl.col("metric").eq(metric),
            pl.col("version").eq_missing(pl.lit(version, dtype=pl.String)),
            pl.col("slice").eq_missing(pl.lit(part, dtype=pl.String)),
        )
        change = changes.filter(*wanted)
        if change.is_empty():
            raise ValueError(f"there is no series of {metric!r} for version {version!r} and slice {part!r}")
        windows = self._of.windows.filter(*wanted).tail(MOST_WINDOWS)
        segments = self._of.segments.filter(*wanted)
        title = " · ".join(name for name in (metric, version, part) if name is not None)
        return time_charts.series(
            windows, change.row(0, named=True), segments, value=value, width=width, title=title
        )


class CalibrationPlots:
    """Charts of a calibration."""

    def __init__(self, calibration: Calibration) -> None:
        self._of = calibration

    def curve(self, metric: str | None = None, *, width: int = WIDE) -> Any:
        """
        Draw how well each threshold agrees with the human verdicts.

        Parameters
        ----------
        metric
            Name of the metric; None for the one that agrees best.
        width
            Pixels, with the labels.

        Notes
        -----
        The band around the line is the interval of the measure that was maximised, the grey span that of the
        best threshold.
        """
        of = self._of
        metric = of.metric if metric is None else one_of("metric", metric, of.settings["metrics"])
        return charts.agreement(
            of.curve.filter(pl.col("metric") == metric),
            of.summary.row(by_predicate=pl.col("metric") == metric, named=True),
            objective=of.settings["objective"],
            width=width,
            title=metric,
        )


KINDS: dict[type[Result], Any] = {
    Agreement: AgreementPlots,
    Calibration: CalibrationPlots,
    Comparison: ComparisonPlots,
    Ranking: RankingPlots,
    Runs: RunsPlots,
    SamplePlan: SamplePlanPlots,
    Timeline: TimelinePlots,
}


def plots_of(result: Result) -> Any:
    """
    Return the charts of a result.

    Parameters
    ----------
    result
        What `compare`, `timeline`, `calibrate`, `rank`, `plan`, `runs` or `agreement` returned.
    """
    return KINDS[type(result)](result)
