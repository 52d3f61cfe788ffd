"""The pages of rankings, plans, repeated runs and agreement: a chart or two, then every table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from polars_evals.drift import Agreement, Calibration, Ranking, Runs, SamplePlan
from polars_evals.report.figure import figure
from polars_evals.report.markup import join
from polars_evals.report.page_tables import old_tables, table
from polars_evals.report.sections import MOST_PANELS, Section
from polars_evals.wording import line

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_evals.drift.result import Result

METHODS: dict[type[Result], str] = {
    Ranking: (
        "All intervals of a metric hold at once, and so do the intervals of the ranks. Versions are compared "
        "on the items that all of them answered. q-values are corrected over all pairs and metrics."
    ),
    Calibration: (
        "Every metric has a threshold that was chosen on nine tenths of the verdicts and counted on the last "
        "tenth, the same rows and folds for all. Differences are paired, and corrected by Holm."
    ),
    SamplePlan: (
        "The sample size of the paired t test, more where items come in clusters, fewer where answers are "
        "averaged over runs."
    ),
    Runs: (
        "Of an item with c of n runs passed, the chance that any, or all, of k runs pass is estimated "
        "without bias. Items with fewer than k runs are left out of that row."
    ),
    Agreement: (
        "Kappas and alpha measure agreement beyond chance: 1 is perfect, 0 is chance. Intervals come from "
        "leaving out one item at a time."
    ),
}


def question_section(result: Result) -> Section:
    """Return the charts and tables of a result."""
    figures = [
        figure(draw, label=f"{name}: {line(result.headline)}", panel=len(drawn(result)) > 1)
        for name, draw in drawn(result)[:MOST_PANELS]
    ]
    tables = (
        table(one.title, list(one.rows[0]), [list(row.values()) for row in one.rows], total=one.total)
        for one in old_tables(result)
        if one.rows
    )
    return Section("result", "Result", join(figures, tables))


def drawn(result: Result) -> list[tuple[str, Callable[..., Any]]]:
    """Return the charts of a result with what they show."""
    if isinstance(result, Ranking):
        return [(name, partial(result.plot.means, name)) for name in result.settings["metrics"]]
    if isinstance(result, SamplePlan):
        return [("Items needed", result.plot.items)]
    if isinstance(result, Runs):
        pairs = result.summary.select("metric", "version").unique(maintain_order=True).iter_rows()
        return [
            (f"{metric}, {version}", partial(result.plot.pass_at_k, metric, version=version))
            for metric, version in pairs
        ]
    if isinstance(result, Calibration):
        return [(name, partial(result.plot.curve, name)) for name in result.summary["metric"]]
    assert isinstance(result, Agreement)
    return [("Agreement", result.plot.values)]
