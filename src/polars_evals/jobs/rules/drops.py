"""Bounds on what was measured, without any test: how far scores may fall, how many items may newly fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import Field

from polars_evals.jobs.rules.base import Context, Evidence, Findings, where
from polars_evals.jobs.rules.verdicts import ComparisonGate, compared_rows
from polars_evals.wording import counted

# What sums of floats may be off by: a bound of 0.02 allows 2 of 100.
TOLERANCE = 1e-9

Bound = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class MeasuredGate(ComparisonGate):
    """A bound on the numbers of a comparison: of the whole, or with `by` of each slice of a column."""

    bound: Bound

    @property
    def demand(self) -> str:
        """The bound."""
        return f"{self.rule} = {self.bound:g}"

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Scores only: a measure has a unit of its own."""
        return context.metrics

    def judge(self, seen: Evidence) -> Findings:
        """Find the rows that are beyond the bound."""
        comparison = seen.compared()
        rows = comparison.summary.with_columns(slice=None, by=None) if self.by is None else comparison.slices
        about = pl.col("metric").is_in(self.metrics(seen))
        rows = rows.filter(about if self.by is None else about & (pl.col("by") == self.by))
        objections = [
            f"{where(row['metric'], None, {'version': row['candidate'], 'slice': row['slice']})}: {text}"
            for row in rows.filter(compared_rows() > 0).iter_rows(named=True)
            for text in self.beyond(row)
        ]
        return self.findings(seen, rows, objections)

    @abstractmethod
    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Say in what a row is beyond the bound."""


class MaxNewlyFailing(MeasuredGate):
    """At most so many items may pass in the baseline and fail in a candidate, for each metric."""

    bound: Bound = Field(alias="max_newly_failing", description="a number of items, from 0 on")

    rule: ClassVar[str] = "max_newly_failing"
    needs_item: ClassVar[bool] = True

    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Count the items."""
        count = row["newly_failing"] or 0
        if count > self.bound:
            yield f"{counted(count, 'item')} newly failing, more than {self.bound:g}"


class MaxDrop(MeasuredGate):
    """Mean score and pass rate may be lower by so much at most, as measured."""

    bound: Bound = Field(alias="max_drop", description="a number from 0 on")

    rule: ClassVar[str] = "max_drop"

    def limit(self, before: float) -> float:
        """Return by how much a value may fall."""
        return self.bound

    def beyond(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Look at the mean score and at the pass rate."""
        for name, value in (("mean score", "mean"), ("pass rate", "pass_rate")):
            before, after = row[f"baseline_{value}"], row[f"candidate_{value}"]
            if before is None or after is None:
                continue
            drop, limit = before - after, self.limit(before)
            if drop > limit + TOLERANCE:
                yield f"{name} {before:.4g} → {after:.4g}, a drop of {drop:.4g}, more than {limit:.4g}"


class MaxRelativeDrop(MaxDrop):
    """Mean score and pass rate may be lower by at most a share of what the baseline has."""

    bound: Bound = Field(alias="max_relative_drop", description="a number from 0 on")

    rule: ClassVar[str] = "max_relative_drop"

    def limit(self, before: float) -> float:
        """Return by how much a value may fall."""
        return self.bound * before
