"""Bounds on numbers of the rows: latency, cost, tokens; and on the share of rows that have an answer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

import polars as pl
from pydantic import Field

from polars_evals._errors import ConfigError
from polars_evals.drift.answers import ERROR, error_of
from polars_evals.drift.columns import as_text
from polars_evals.jobs.rules.base import Evidence, Findings, Gate, where
from polars_evals.suite.declared import Fraction, Table, Text
from polars_evals.wording import counted, have

Number = Annotated[float, Field(allow_inf_nan=False)]
Measure = Field(alias="measure", description="a column of numbers")


class RowsGate(Gate):
    """A gate about the rows of each candidate, or about all rows where nothing is compared."""

    takes_metric: ClassVar[bool] = False

    def grouped(self, seen: Evidence) -> tuple[pl.LazyFrame, dict[str, pl.Expr]]:
        """Return the rows to look at, and what tells groups apart."""
        groups, frame = dict[str, pl.Expr](), seen.scored
        if seen.comparison is not None:
            spec = seen.comparison.spec
            groups["version"] = as_text(seen.schema, spec.version)
            frame = frame.filter(groups["version"].is_in(spec.candidate))
        if self.by is not None:
            seen.require(self.by)
            groups["slice"] = as_text(seen.schema, self.by)
        return frame, groups


class Bound(RowsGate):
    """A number made of a column's values must not exceed a bound."""

    column: Text = Measure

    @property
    @abstractmethod
    def most(self) -> float:
        """The bound."""

    @abstractmethod
    def value(self) -> pl.Expr:
        """Make the number."""

    @property
    @abstractmethod
    def what(self) -> str:
        """What is bounded, in words."""

    def judge(self, seen: Evidence) -> Findings:
        """Find the versions and slices whose number is too large, or that have none."""
        seen.require(self.column)
        if not seen.schema[self.column].is_numeric():
            raise ConfigError(
                f"a gate bounds {self.column!r}, which is {seen.schema[self.column]}, no number"
            )
        frame, groups = self.grouped(seen)
        chosen = frame.select(
            *(expr.alias(name) for name, expr in groups.items()), value=pl.col(self.column).cast(pl.Float64)
        )
        # What took for ever is a number too.
        measured = chosen.with_columns(pl.col("value").fill_nan(None))
        numbers = [pl.col("value").count().alias("n"), self.value().alias("value")]
        found = measured.group_by(*groups).agg(numbers).sort(*groups) if groups else measured.select(numbers)
        rows = found.collect(engine="streaming")
        objections = [
            f"{where(self.column, self.by, row)}: {self.what} {row['value']:,.6g} is above {self.most:,.6g} "
            f"(of {counted(row['n'], 'row')})"
            if row["n"]
            else f"{where(self.column, self.by, row)}: no row has a number"
            for row in rows.iter_rows(named=True)
            if not row["n"] or not row["value"] <= self.most
        ]
        return Findings(int(rows["n"].sum()), objections, reason=f"no row has a number in {self.column!r}")

    @property
    def demand(self) -> str:
        """The bound."""
        by = f" by {self.by}" if self.by else ""
        return f"{self.column}{by}: {self.what} at most {self.most:g}"


class MaxMean(Bound):
    """A mean must not exceed a bound: `measure = "cost"`, `max_mean = 0.02`."""

    bound: Number = Field(alias="max_mean", description="a number")

    rule: ClassVar[str] = "max_mean"

    def value(self) -> pl.Expr:
        """Take the mean."""
        return pl.col("value").mean()

    @property
    def most(self) -> float:
        """The bound."""
        return self.bound

    @property
    def what(self) -> str:
        """The mean."""
        return "mean"


class Quantile(Table):
    """A quantile and its bound."""

    q: Fraction = Field(description="a number from 0 to 1")
    value: Number = Field(description="a number")


class MaxQuantile(Bound):
    """A quantile must not exceed a bound: `measure = "ms"`, `max_quantile = { q = 0.95, value = 900 }`."""

    limit: Quantile = Field(alias="max_quantile", description="{ q = 0.95, value = 900 }")

    rule: ClassVar[str] = "max_quantile"

    def value(self) -> pl.Expr:
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

    @property
    def demand(self) -> str:
        """The greatest share."""
        return f"max_error_rate = {self.bound:g}" + (f" by {self.by}" if self.by else "")

    def judge(self, seen: Evidence) -> Findings:
        """Find the versions and slices that fail too often."""
        failed = error_of(seen.schema)
        if failed is None:
            seen.require(ERROR)
            raise ConfigError(
                f"a gate counts errors, but {ERROR!r} is {seen.schema[ERROR]}, no text or Boolean"
            )
        frame, groups = self.grouped(seen)
        chosen = frame.select(*(expr.alias(name) for name, expr in groups.items()), failed=failed)
        numbers = [pl.len().alias("n"), pl.col("failed").sum()]
        found = chosen.group_by(*groups).agg(numbers).sort(*groups) if groups else chosen.select(numbers)
        rows = found.collect(engine="streaming")
        objections = [
            f"{where('errors', self.by, row)}: {row['failed'] / row['n']:.1%} of {have(row['n'], 'row')} "
            f"one, more than {self.bound:.1%}; look at the {counted(row['failed'], 'row')} "
            f"whose {ERROR} is set"
            for row in rows.iter_rows(named=True)
            if row["n"] and row["failed"] / row["n"] > self.bound
        ]
        return Findings(int(rows["n"].sum()), objections)


class MinAnswered(RowsGate):
    """A share of the rows must have an answer, that is, an output that is not empty."""

    bound: Fraction = Field(alias="min_answered", description="a number from 0 to 1")
    column: Text = Field(default="output", alias="output", description="the column of outputs")

    rule: ClassVar[str] = "min_answered"

    @property
    def demand(self) -> str:
        """The least share."""
        return f"min_answered = {self.bound:g}" + (f" by {self.by}" if self.by else "")

    def judge(self, seen: Evidence) -> Findings:
        """Find the versions and slices that lack too many answers."""
        seen.require(self.column)
        frame, groups = self.grouped(seen)
        text = seen.schema[self.column] == pl.String()
        column = pl.col(self.column)
        answered = column.is_not_null() & (column.str.strip_chars() != "" if text else pl.lit(True))
        chosen = frame.select(*(expr.alias(name) for name, expr in groups.items()), answered=answered)
        numbers = [pl.len().alias("n"), pl.col("answered").sum()]
        found = chosen.group_by(*groups).agg(numbers).sort(*groups) if groups else chosen.select(numbers)
        rows = found.collect(engine="streaming")
        objections = [
            f"{where('answers', self.by, row)}: {row['answered'] / row['n']:.1%} of {have(row['n'], 'row')} "
            f"one, fewer than {self.bound:.1%}; look at the rows whose {self.column} is missing or empty"
            for row in rows.iter_rows(named=True)
            if row["n"] and row["answered"] / row["n"] < self.bound
        ]
        return Findings(int(rows["n"].sum()), objections)
