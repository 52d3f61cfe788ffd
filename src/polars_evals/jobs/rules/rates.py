"""A share of rows that must pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from polars_evals.drift.columns import as_text
from polars_evals.drift.inference.intervals import wilson
from polars_evals.jobs.rules.base import Evidence, Findings, Gate, where
from polars_evals.suite.declared import Fraction
from polars_evals.wording import counted


class MinPassRate(Gate):
    """So many rows of each candidate, and of each slice if wanted, must pass."""

    least: Fraction = Field(alias="min_pass_rate", description="a number from 0 to 1")

    rule: ClassVar[str] = "min_pass_rate"

    @property
    def demand(self) -> str:
        """The least pass rate."""
        return f"min_pass_rate = {self.least:g}"

    def judge(self, seen: Evidence) -> Findings:
        """Find the versions and slices in which too few rows pass, or none is scored."""
        groups, frame = dict[str, pl.Expr](), seen.scored
        if seen.comparison is not None:
            spec = seen.comparison.spec
            groups["version"] = as_text(seen.schema, spec.version)
            frame = frame.filter(groups["version"].is_in(spec.candidate))
        if self.by is not None:
            seen.require(self.by)
            groups["slice"] = as_text(seen.schema, self.by)
        judged, objections = 0, list[str]()
        for metric in self.metrics(seen):
            rates = self.rates(frame, metric, groups)
            judged += int(rates["n"].sum())
            objections += [
                self.objection(metric, row)
                if row["n"]
                else f"{where(metric, self.by, row)}: no row has a label to judge"
                for row in rates.iter_rows(named=True)
                if not row["n"] or row["passed"] / row["n"] < self.least
            ]
        return Findings(judged, objections, reason="no row has a label to judge")

    def rates(self, frame: pl.LazyFrame, metric: str, groups: Mapping[str, pl.Expr]) -> pl.DataFrame:
        """Count the rows, and those that pass."""
        labelled = frame.select(
            *(expr.alias(name) for name, expr in groups.items()), passed=pl.col(f"{metric}_label") == "pass"
        )
        totals = [pl.col("passed").count().alias("n"), pl.col("passed").sum()]
        rates = labelled.group_by(*groups).agg(totals).sort(*groups) if groups else labelled.select(totals)
        return rates.collect(engine="streaming")

    def objection(self, metric: str, row: Mapping[str, Any]) -> str:
        """Say how far below the minimum a rate is."""
        n, passed = row["n"], row["passed"]
        low, high = (float(end[0]) for end in wilson(np.array([passed]), np.array([n]), 0.05))
        return (
            f"{where(metric, self.by, row)}: pass rate {passed / n:.1%} is below {self.least:.1%} "
            f"({passed:,} of {n:,}, 95% interval {low:.1%} to {high:.1%}); "
            f'look at the {counted(n - passed, "row")} with {metric}_label = "fail"'
        )
