"""Verdicts of the timeline: gates about one model that drifts, without any other to compare it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from polars_evals.drift.verdict import VERDICTS
from polars_evals.jobs.errors import ConfigError
from polars_evals.jobs.rules.base import Context, Evidence, Findings, Gate
from polars_evals.jobs.section import Section
from polars_evals.wording import did_you_mean


@dataclass(frozen=True)
class OverTime(Gate):
    """No series of `[timeline]` may have one of some verdicts. Its tests may be looked at every day."""

    verdicts: tuple[str, ...] = ()

    rule: ClassVar[str] = "timeline"
    takes_by: ClassVar[bool] = False
    needs_timeline: ClassVar[bool] = True

    @classmethod
    def read(cls, section: Section, about: Mapping[str, Any]) -> Self:
        """Read the verdicts."""
        verdicts = section.texts(cls.rule, f"one or more of {', '.join(VERDICTS)}") or ()
        for verdict in verdicts:
            if verdict not in VERDICTS:
                raise ConfigError(
                    f'{section.where}: `timeline` knows {", ".join(VERDICTS)}, not "{verdict}"'
                    f"{did_you_mean(verdict, VERDICTS)}"
                )
        return cls(**about, verdicts=verdicts)

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

    def judge(self, seen: Evidence) -> Findings:
        """Find the series whose level changed."""
        if seen.timeline is None:
            return Findings(0, reason="there is no timeline: see the notes")
        wanted = [*self.metrics(seen), *(() if self.metric else seen.timeline.settings["measures"])]
        changes = seen.timeline.changes.filter(pl.col("metric").is_in(wanted))
        objections = [
            f"{series(row)}: {row['verdict']}: {row['reason']}"
            for row in changes.iter_rows(named=True)
            if row["verdict"] in self.verdicts
        ]
        return Findings(changes.height, objections, "series", "no series has scores over time")


def series(row: Mapping[str, Any]) -> str:
    """Name a series."""
    pieces = [row.get("slice"), row.get("version")]
    return str(row["metric"]) + "".join(f" [{piece}]" for piece in pieces if piece is not None)
