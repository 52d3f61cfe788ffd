"""Verdicts of the timeline: gates about one model that drifts, without any other to compare it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
from pydantic import Field

from polars_evals.drift import Timeline
from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.jobs.rules.base import SKIPPED, Context, Evidence, Findings, Gate, GateResult, Verdicts


class OverTime(Gate):
    """No series of `[timeline]` may have one of some verdicts. Its tests may be looked at every day."""

    verdicts: Verdicts = Field(alias="timeline", description=f"one or more of {', '.join(VERDICTS)}")

    rule: ClassVar[str] = "timeline"
    takes_by: ClassVar[bool] = False
    needs_timeline: ClassVar[bool] = True

    @property
    def demand(self) -> str:
        """The verdicts."""
        return f"timeline = {', '.join(self.verdicts)}"

    @property
    def waits_for_candidate(self) -> bool:
        """A timeline needs none."""
        return False

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Add the measures that are followed."""
        return (*context.metrics, *context.followed)

    def result(self, seen: Evidence) -> GateResult:
        """Judge, unless there is only the reference of every series yet."""
        found = self.judge(seen)
        if seen.timeline is not None and not found.judged and not found.objections:
            waiting = self.changes(seen.timeline, self.metrics(seen))
            if not waiting.is_empty():
                first = waiting.row(0, named=True)
                return GateResult(self.name, SKIPPED, (f"{series(first)}: {first['reason']}",))
        return super().result(seen)

    def changes(self, line: Timeline, metrics: Sequence[str]) -> pl.DataFrame:
        """Select the series that the gate is about: without a name, the measures too."""
        wanted = [*metrics, *(() if self.metric else line.settings["measures"])]
        return line.summary.filter(pl.col("metric").is_in(wanted))

    def judge(self, seen: Evidence) -> Findings:
        """Find the series whose level changed."""
        if seen.timeline is None:
            return Findings(0, reason="there is no timeline: see the notes")
        changes = self.changes(seen.timeline, self.metrics(seen))
        objections = [
            f"{series(row)}: {row['verdict']}: {row['reason']}"
            for row in changes.iter_rows(named=True)
            if row["verdict"] in self.verdicts
        ]
        judged = changes.filter(pl.col("current_n") > 0).height
        # One that fails the gate was judged, with however little.
        return Findings(max(judged, len(objections)), objections, "series", "no series has scores over time")


def series(row: Mapping[str, Any]) -> str:
    """Name a series."""
    pieces = [row.get("slice"), row.get("version")]
    return str(row["metric"]) + "".join(f" [{piece}]" for piece in pieces if piece is not None)
