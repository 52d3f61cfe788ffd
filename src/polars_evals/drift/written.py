"""How the numbers of a row are written: scores with a few digits, measures with their unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from polars_evals.drift.spec import ResolvedSpec
    from polars_evals.suite.measure import Measure


class Written(NamedTuple):
    """The form of the numbers of a score, or of a measure."""

    measure: Measure | None

    @classmethod
    def of(cls, metric: str, spec: ResolvedSpec) -> Written:
        """Take the form of a metric or measure; a share of answers is written like a score."""
        measure = spec.measure(metric)
        return cls(None if measure is None or measure.share else measure)

    def size(self, value: float) -> str:
        """Write how much something changed."""
        return f"{abs(value):.4f}" if self.measure is None else self.measure.amount(abs(value))

    def signed(self, value: float) -> str:
        """Write a change."""
        if self.measure is None:
            return f"{value:+.4f}".replace("-", "−")
        return self.measure.amount(value, signed=True).replace("-", "−", 1)

    def effect(self, value: float) -> str:
        """Write the smallest change that matters."""
        return f"{value:g}" if self.measure is None else self.measure.amount(value)

    def span(self, low: float, high: float) -> str:
        """Write an interval."""
        return f"{self.signed(low)} to {self.signed(high)}"
