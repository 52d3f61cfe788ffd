"""Gates about rows: pass rates, errors, missing answers, bounds on latency, cost and other numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from polars_evals._errors import ConfigError
from polars_evals.drift.answers import ERROR, error_of
from polars_evals.drift.columns import as_text
from polars_evals.drift.comparison import TOLERANCE
from polars_evals.drift.inference.intervals import wilson
from polars_evals.jobs.gates.base import Evidence, Findings, Gate, Number, subject
from polars_evals.suite.declared import Fraction, Table, Text
from polars_evals.wording import counted, have


class RowsGate(Gate):
    """A bound on a statistic of the rows of each candidate, or of all rows without a comparison."""

    @abstractmethod
    def value(self, seen: Evidence, metric: str) -> pl.Expr:
        """Return the value of a row: null where there is nothing to judge."""

    @abstractmethod
    def objection(self, row: Mapping[str, Any]) -> str | None:
        """Say what is wrong with a group of `n` values whose statistic is `found`, or return None."""

    def number(self) -> pl.Expr:
        """Return the statistic of the values."""
        return pl.col("value").mean()

    @property
    def lacking(self) -> str:
        """What to report for a group without values."""
        return "there are no rows"

    def metrics(self, seen: Evidence) -> list[str]:
        """Name the columns that the gate is about."""
        return [str(self.about)] if self.about else super().metrics(seen)

    def judge(self, seen: Evidence) -> Findings:
        """Find the versions and slices beyond the bound, or without values."""
        groups, frame = dict[str, pl.Expr](), seen.scored
        if seen.comparison is not None:
            spec = seen.comparison.spec
            groups["candidate"] = as_text(seen.schema, spec.version)
            frame = frame.filter(groups["candidate"].is_in(spec.candidate))
        if self.by is not None:
            seen.require(self.by)
            groups["slice"] = pl.concat_str(pl.lit(f"{self.by}="), as_text(seen.schema, self.by))
        judged, objections = 0, list[str]()
        for metric in self.metrics(seen):
            values = frame.select(
                *(expr.alias(name) for name, expr in groups.items()), value=self.value(seen, metric)
            )
            numbers = [pl.col("value").count().alias("n"), self.number().alias("found")]
            found = values.group_by(*groups).agg(numbers).sort(*groups) if groups else values.select(numbers)
            for row in found.collect(engine="streaming").iter_rows(named=True):
                judged += row["n"]
                row["metric"] = metric
                if (text := self.objection(row) if row["n"] else self.lacking) is not None:
                    objections.append(f"{subject(row)}: {text}")
        return Findings(judged, objections, reason=self.lacking)


class MinPassRate(RowsGate):
    """A share of the rows of each candidate, and of each slice with `by`, must pass."""

    least: Fraction = Field(alias="min_pass_rate", description="a number from 0 to 1")

    rule: ClassVar[str] = "min_pass_rate"

    @property
    def demand(self) -> str:
        """The least pass rate."""
        return f"min_pass_rate = {self.least:g}"

    def value(self, seen: Evidence, metric: str) -> pl.Expr:
        """Say whether a row passes."""
        return pl.col(f"{metric}_label") == "pass"

    @property
    def lacking(self) -> str:
        """Say that no row has a label."""
        return "no row has a label to judge"

    def objection(self, row: Mapping[str, Any]) -> str | None:
        """Say how far below the minimum a rate is."""
        n, passed = row["n"], round(row["found"] * row["n"])
        if passed / n >= self.least:
            return None
        low, high = (float(end[0]) for end in wilson(np.array([passed]), np.array([n]), 0.05))
        return (
            f"pass rate {passed / n:.1%} is below {self.least:.1%} ({passed:,} of {n:,}, 95% interval "
            f"{low:.1%} to {high:.1%}); look at the {counted(n - passed, 'row')} with "
            f'{row["metric"]}_label = "fail"'
        )


class Bound(RowsGate):
    """A number made of a column's values must not exceed a bound."""

    column: Text = Field(alias="measure", description="a column of numbers")

    takes_metric: ClassVar[bool] = False

    @property
    @abstractmethod
    def most(self) -> float:
        """The bound."""

    @property
    @abstractmethod
    def what(self) -> str:
        """What is bounded, in words."""

    @property
    def about(self) -> str:
        """The column."""
        return self.column

    @property
    def demand(self) -> str:
        """The bound."""
        return f"{self.what} at most {self.most:g}"

    @property
    def lacking(self) -> str:
        """Say that no row has a number."""
        return "no row has a number"

    def value(self, seen: Evidence, metric: str) -> pl.Expr:
        """Return the column; infinity counts as a number."""
        seen.require(metric)
        if not seen.schema[metric].is_numeric():
            raise ConfigError(f"a gate bounds {metric!r}, which is {seen.schema[metric]}, not a number")
        return pl.col(metric).cast(pl.Float64).fill_nan(None)

    def objection(self, row: Mapping[str, Any]) -> str | None:
        """Say how far above the bound a number is."""
        if row["found"] <= self.most:
            return None
        return f"{self.what} {row['found']:,.6g} is above {self.most:,.6g} (of {counted(row['n'], 'row')})"


class MaxMean(Bound):
    """A mean must not exceed a bound: `measure = "cost"`, `max_mean = 0.02`."""

    bound: Number = Field(alias="max_mean", description="a number")

    rule: ClassVar[str] = "max_mean"

    @property
    def what(self) -> str:
        """The mean."""
        return "mean"

    @property
    def most(self) -> float:
        """The bound."""
        return self.bound


class Quantile(Table):
    """A quantile and its bound."""

    q: Fraction = Field(description="a number from 0 to 1")
    value: Number = Field(description="a number")


class MaxQuantile(Bound):
    """A quantile must not exceed a bound: `measure = "ms"`, `max_quantile = { q = 0.95, value = 900 }`."""

    limit: Quantile = Field(alias="max_quantile", description="{ q = 0.95, value = 900 }")

    rule: ClassVar[str] = "max_quantile"

    def number(self) -> pl.Expr:
        """Take the quantile."""
        return pl.col("value").quantile(self.limit.q, "linear")

    @property
    def most(self) -> float:
        """The bound."""
        return self.limit.value

    @property
    def what(self) -> str:
        """The quantile."""
        return f"{self.limit.q:g} quantile"


class MaxErrorRate(RowsGate):
    """At most a share of the rows may have an error: `max_error_rate = 0.02`."""

    bound: Fraction = Field(alias="max_error_rate", description="a share between 0 and 1")

    rule: ClassVar[str] = "max_error_rate"
    takes_metric: ClassVar[bool] = False

    @property
    def demand(self) -> str:
        """The greatest share."""
        return f"max_error_rate = {self.bound:g}"

    def metrics(self, seen: Evidence) -> list[str]:
        """Look at the errors."""
        return ["errors"]

    def value(self, seen: Evidence, metric: str) -> pl.Expr:
        """Say whether a row has an error."""
        has_error = error_of(seen.schema)
        if has_error is None:
            seen.require(ERROR)
            raise ConfigError(
                f"a gate counts errors, but {ERROR!r} is {seen.schema[ERROR]}, not text or Boolean"
            )
        return has_error

    def objection(self, row: Mapping[str, Any]) -> str | None:
        """Say how many rows have an error."""
        if row["found"] <= self.bound + TOLERANCE:
            return None
        return (
            f"{row['found']:.1%} of {have(row['n'], 'row')} one, more than {self.bound:.1%}; look at the "
            f"{counted(round(row['found'] * row['n']), 'row')} whose {ERROR} is set"
        )


class MinAnswered(RowsGate):
    """A share of the rows must have an answer, that is, an output that is not empty."""

    bound: Fraction = Field(alias="min_answered", description="a number from 0 to 1")
    column: Text = Field(default="output", alias="output", description="the column of outputs")

    rule: ClassVar[str] = "min_answered"
    takes_metric: ClassVar[bool] = False

    @property
    def demand(self) -> str:
        """The least share."""
        return f"min_answered = {self.bound:g}"

    def metrics(self, seen: Evidence) -> list[str]:
        """Look at the answers."""
        return ["answers"]

    def value(self, seen: Evidence, metric: str) -> pl.Expr:
        """Say whether a row has an answer."""
        seen.require(self.column)
        column, is_text = pl.col(self.column), seen.schema[self.column] == pl.String()
        return column.is_not_null() & (column.str.strip_chars() != "" if is_text else pl.lit(True))

    def objection(self, row: Mapping[str, Any]) -> str | None:
        """Say how many rows have an answer."""
        if row["found"] >= self.bound - TOLERANCE:
            return None
        return (
            f"{row['found']:.1%} of {have(row['n'], 'row')} one, fewer than {self.bound:.1%}; look at the "
            f"rows whose {self.column} is missing or empty"
        )
