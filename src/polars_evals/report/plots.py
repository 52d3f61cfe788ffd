"""Charts of results, as Altair charts to show, to change or to save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.columns import nearest
from polars_evals.report import charts
from polars_evals.report.theme import WIDE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_evals.drift import Calibration, Comparison, Timeline

MOST_SLICES = 40
MOST_WINDOWS = 400


class ComparisonPlots:
    """Charts of a comparison."""

    def __init__(self, comparison: Comparison) -> None:
        self._of = comparison

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
        summary, settings = self._of.summary, self._of.settings
        several = len(settings["candidates"]) > 1
        labels = [
            f"{metric} · {candidate}" if several else metric
            for candidate, metric in summary.select("candidate", "metric").iter_rows()
        ]
        return charts.forest(summary, labels, min_effect=settings["min_effect"], width=width)

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
        settings = self._of.settings
        metric, candidate = self._chosen(metric, candidate)
        rows = self._of.distributions.filter(pl.col("metric") == metric, pl.col("candidate") == candidate)
        return charts.distribution(rows, baseline=settings["baseline"], width=width, title=metric)

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
            msg = 'the comparison has no slices to draw; compare with by=[…] or by="auto"'
            raise ValueError(msg)
        min_effect = self._of.settings["min_effect"]
        return charts.forest(rows, rows["slice"].to_list(), min_effect=min_effect, width=width, title=metric)

    def _chosen(self, metric: str | None, candidate: str | None) -> tuple[str, str]:
        settings = self._of.settings
        return (
            _one_of("metric", metric, settings["metrics"]),
            _one_of("candidate", candidate, settings["candidates"]),
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
        changes = self._of.changes
        metric = _one_of("metric", metric, self._of.settings["metrics"])
        if self._of.settings["version"] is not None:
            version = _one_of("version", version, changes["version"].drop_nulls().unique(maintain_order=True))
        if part is not None:
            part = _one_of("slice", part, changes["slice"].drop_nulls().unique(maintain_order=True))
        wanted = (
            pl.col("metric").eq(metric),
            pl.col("version").eq_missing(pl.lit(version, dtype=pl.String)),
            pl.col("slice").eq_missing(pl.lit(part, dtype=pl.String)),
        )
        change = changes.filter(*wanted)
        if change.is_empty():
            msg = f"there is no series of {metric!r} for version {version!r} and slice {part!r}"
            raise ValueError(msg)
        windows = self._of.windows.filter(*wanted).tail(MOST_WINDOWS)
        title = " · ".join(name for name in (metric, version, part) if name is not None)
        return charts.series(windows, change.row(0, named=True), value=value, width=width, title=title)


class CalibrationPlots:
    """Charts of a calibration."""

    def __init__(self, calibration: Calibration) -> None:
        self._of = calibration

    def curve(self, *, width: int = WIDE) -> Any:
        """
        Draw how well each threshold agrees with the human verdicts.

        Parameters
        ----------
        width
            Pixels, with the labels.

        Notes
        -----
        The band around the line is the interval of the measure that was maximised, the grey span that of the
        best threshold.
        """
        of = self._of
        return charts.agreement(
            of.curve,
            of.best.row(0, named=True),
            objective=of.settings["objective"],
            width=width,
            title=of.settings["metric"],
        )


def _one_of(role: str, name: str | None, choices: Iterable[str]) -> str:
    known = list(choices)
    if name is None:
        return known[0]
    if name not in known:
        there_are = ", ".join(map(repr, known[:20]))
        msg = f"{role}: there is no {name!r}{nearest(name, known)} (there are: {there_are})"
        raise ValueError(msg)
    return name
