"""How the numbers of a row are written: scores with a few digits, measures with their unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from polars_evals.wording import change

if TYPE_CHECKING:
    from polars_evals.drift.spec import ResolvedSpec
    from polars_evals.suite.measure import Measure


class Written(NamedTuple):
    """The form of the numbers of a score, or of a measure."""

    measure: Measure | None
    digits: int = 4

    @classmethod
    def of(cls, metric: str, spec: ResolvedSpec, digits: int = 4) -> Written:
        """Take the form of a metric or measure; a share of answers is written like a score."""
        measure = spec.measure(metric)
        return cls(None if measure is None or measure.share else measure, digits)

    def size(self, value: float) -> str:
        """Write how much something changed."""
        return f"{abs(value):.{self.digits}f}" if self.measure is None else self.measure.amount(abs(value))

    def signed(self, value: float) -> str:
        """Write a change."""
        if self.measure is None:
            return f"{value:+.{self.digits}f}".replace("-", "−")
        return self.measure.amount(value, signed=True).replace("-", "−", 1)

    def effect(self, value: float) -> str:
        """Write the smallest change that matters."""
        return f"{value:g}" if self.measure is None else self.measure.amount(value)

    def span(self, low: float, high: float) -> str:
        """Write an interval."""
        return f"{self.signed(low)} to {self.signed(high)}"

    def levels(self, before: float | None, after: float | None) -> str:
        """Write what was and what is, the unit once."""
        if self.measure is None:
            return change(before, after, ".3f")
        both = ("–" if one is None else self.measure.amount(one) for one in (before, after))
        return " → ".join(both)

    def difference(self, row: dict[str, Any], brackets: str = "()") -> str:
        """Write the difference of a row with its interval."""
        if row["difference"] is None:
            return "–"
        told = self.signed(row["difference"])
        if row["ci_low"] is None:
            return told
        if brackets == "[]":
            return f"{told} [{self.signed(row['ci_low'])}, {self.signed(row['ci_high'])}]"
        return f"{told} ({self.span(row['ci_low'], row['ci_high'])})"
