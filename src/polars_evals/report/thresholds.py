"""The part of a page that shows how thresholds agree with people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_evals.report.figure import figure
from polars_evals.report.markup import join
from polars_evals.report.page_tables import old_tables, table
from polars_evals.report.sections import Section
from polars_evals.wording import line

if TYPE_CHECKING:
    from polars_evals.drift import Calibration

METHOD = (
    "Every score that occurs is tried as a threshold against the human verdicts. The numbers at the best "
    "threshold were chosen to look good: hold some verdicts back to know how well it does."
)


def threshold_section(result: Calibration) -> Section:
    """Return the curve of thresholds, and the best one in numbers."""
    best, curve = old_tables(result)
    level = f"{1 - result.settings['alpha']:.0%}"
    chart = figure(
        result.plot.curve,
        label=f"Agreement with the human verdicts by threshold: {line(result.headline)}",
        caption=(
            f"The band is the {level} interval of {result.settings['objective']}, the grey span that of the "
            "best threshold."
        ),
    )
    tables = (
        table(caption, list(one.rows[0]), [list(row.values()) for row in one.rows], total=one.total)
        for caption, one in (
            (f"At the best threshold, with {level} intervals", best),
            ("Some thresholds", curve),
        )
    )
    return Section("thresholds", "Thresholds", join(chart, tables))
