"""The part of a page about latency, cost and other measures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.report.figure import figure
from polars_evals.report.markup import join
from polars_evals.report.sections import UNFOLDED_PANELS, Section, grid, more, numbers
from polars_evals.wording import line

if TYPE_CHECKING:
    from polars_evals.drift import Comparison
    from polars_evals.report.markup import Html

# Candidates whose measures are drawn, those with the worst verdicts first.
MOST_CANDIDATES = 3


def measures(comparison: Comparison) -> Section | None:
    """Return how measures changed, and how their values are spread."""
    spec = comparison.spec
    whole = comparison.measures.filter(pl.col("slice").is_null(), pl.col("ratio").is_not_null())
    if whole.is_empty():
        return None
    verdicts = comparison.verdicts
    order = sorted(spec.candidates, key=lambda name: VERDICTS.index(verdicts[name]))
    drawn = [name for name in order if name in whole["candidate"]][:MOST_CANDIDATES]
    changed = [_changes(comparison, name) for name in drawn]
    panels = []
    if comparison.table is not None and spec.item is not None:
        panels = [
            _values(comparison, name, measure)
            for name in drawn
            for measure in spec.measures
            if not whole.filter(candidate=name, metric=measure).is_empty()
        ][:UNFOLDED_PANELS]
    content = join(
        changed,
        grid(panels),
        more(len(spec.candidates), len(drawn), "those with the worst verdicts are drawn"),
        [_slices(comparison, name) for name in drawn],
    )
    return Section("measures", "Latency, cost and other measures", content)


def _slices(comparison: Comparison, name: str) -> Html | None:
    mine = comparison.slices.filter(
        pl.col("candidate") == name, pl.col("metric").is_in(list(comparison.spec.measures))
    )
    if mine.is_empty():
        return None
    caption = f"Means of {line(name, 60)} in slices, worst verdict first"
    return numbers(comparison, mine.sort("verdict", "metric", "q_value"), caption, "mean")


def _changes(comparison: Comparison, name: str) -> Html:
    level = f"{1 - comparison.spec.alpha:.0%}"
    return figure(
        partial(comparison.plot.measures, name),
        label=f"Changes of measures of {line(name, 60)} with {level} intervals; the table has the numbers",
        caption=f"{line(name, 60)}: change against the baseline with its {level} interval.",
    )


def _values(comparison: Comparison, name: str, measure: str) -> Html:
    return figure(
        partial(comparison.plot.values, measure, candidate=name),
        label=f"Values of {line(measure, 60)} of {line(name, 60)} and {line(comparison.spec.baseline, 60)}",
        caption="The lines are the medians, the dashed lines the 95th percentiles.",
        panel=True,
    )
