"""Verdicts of the comparison that fail the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from polars_evals.drift import Comparison
from polars_evals.drift.answers import OUTCOMES, can_tell
from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.drift.inference.sequential import sequential_interval, sequential_p
from polars_evals.jobs.rules.base import Context, Evidence, Findings, Gate, Verdicts, where
from polars_evals.suite.measure import AUTO, KNOWN
from polars_evals.wording import counted, verb

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats


class ComparisonGate(Gate):
    """A gate about rows of the comparison."""

    sequential: bool = Field(default=True, description="true, or false for a job that asks only once")

    needs_compare: ClassVar[bool] = True

    @classmethod
    def known(cls, context: Context) -> tuple[str, ...]:
        """Add the measures, and the shares of answers that failed."""
        asked = () if context.compare is None else context.compare.measures
        measures = KNOWN if asked == AUTO else asked
        return (*context.metrics, *measures, *OUTCOMES)

    def looked_at(self, seen: Evidence) -> pl.Expr:
        """Select the rows of the comparison that the gate is about: without a name, the measures too."""
        measures = () if self.metric else seen.compared().spec.measures
        metric = pl.col("metric").is_in([*self.metrics(seen), *measures])
        return metric if self.by is None else metric & (pl.col("by") == self.by)

    def findings(self, seen: Evidence, rows: pl.DataFrame, objections: Sequence[str]) -> Findings:
        """Say how much was compared, and object to candidates of which nothing was."""
        if rows.is_empty() and self.metric in OUTCOMES and can_tell(self.metric, seen.schema):
            # Nothing failed, so that there is no row about it: that is judged, and well.
            every = seen.compared().summary.filter(pl.col("metric") == seen.metrics[0])
            return Findings(int(every["n"].sum()), [], "item" if seen.compared().spec.paired else "row")
        whole = rows.filter(pl.col("slice").is_null()) if self.by is None else rows
        lone = nothing_compared(seen.compared(), whole)
        judged = int(whole.select(compared_rows().sum()).item())
        about = "item" if seen.compared().spec.paired else "row"
        return Findings(judged, [*lone, *objections], about, "; ".join(lone))


class FailOn(ComparisonGate):
    """No row of the comparison may have one of some verdicts, after Holm's correction over all such gates.

    A job that runs every day asks the same question again and again while rows are added. Its p-values hold
    for all days together, so that a job without any change fails once in its life with probability alpha at
    most. `sequential = false` is for a job that asks once.
    """

    verdicts: Verdicts = Field(alias="fail_on", description=f"one or more of {', '.join(VERDICTS)}")

    rule: ClassVar[str] = "fail_on"

    @property
    def demand(self) -> str:
        """The verdicts."""
        return f"fail_on = {', '.join(self.verdicts)}"

    def judge(self, seen: Evidence) -> Findings:
        """Find the rows whose verdict fails the gate."""
        rows = corrected(seen).filter(self.looked_at(seen))
        return self.findings(seen, rows, list(self.bad_verdicts(seen, rows.filter(compared_rows() > 0))))

    def bad_verdicts(self, seen: Evidence, rows: pl.DataFrame) -> Iterator[str]:
        """Say which rows have such a verdict; one that the correction does not confirm is inconclusive."""
        alpha = seen.compared().spec.alpha
        days = " over all days" if self.sequential else ""
        for row in rows.iter_rows(named=True):
            verdict, p = row["verdict"], row["daily" if self.sequential else "holm"]
            if verdict in ("regressed", "improved") and p is not None and p > alpha:
                verdict = "inconclusive"
            if verdict not in self.verdicts:
                continue
            named = {"version": row["candidate"], "slice": row["slice"]}
            test = "" if p is None else f", Holm p = {p:.2g}{days}"
            flips = row["newly_failing"]
            place = (
                f" in {seen.items_file}"
                if seen.items_file
                else " (`items` in [report] writes them to a file)"
            )
            look = ""
            if flips:
                newly = f"{counted(flips, 'item')} that newly {verb(flips, 'fails', 'fail')}"
                look = f"; look at the {newly}{place}"
            yield f"{where(row['metric'], None, named)}: {verdict}: {row['reason']}{test}{look}"


class NotWorseThan(ComparisonGate):
    """Every candidate must be shown to be worse by less than a margin: what is not known yet fails.

    All rows must hold at once, so that no correction for their number is needed.
    """

    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        alias="not_worse_than", description="a number above 0"
    )

    rule: ClassVar[str] = "not_worse_than"

    def check(self, context: Context) -> None:
        """Scores are between 0 and 1: none is worse by more than that."""
        if self.margin >= 1 and self.metric in (None, *context.metrics):
            raise ValueError(f"`{self.rule}` must be below 1, as scores are, got {self.margin:g}")

    @property
    def demand(self) -> str:
        """The margin."""
        return f"not_worse_than = {self.margin:g}"

    def judge(self, seen: Evidence) -> Findings:
        """Find the rows whose interval reaches beyond the margin."""
        comparison = seen.compared()
        rows = pl.concat([comparison.summary, comparison.slices], how="diagonal").filter(self.looked_at(seen))
        if self.metric is None:
            # A margin has a unit: that of scores is not that of measures.
            rows = rows.filter(~pl.col("metric").is_in(list(comparison.spec.measures)))
        if self.sequential:
            low, high = daily_interval(rows, comparison.spec.alpha)
            rows = rows.with_columns(ci_low=low, ci_high=high)
        if self.metric is not None and comparison.spec.sign(self.metric) < 0:
            # Lower is better: a gain is what fell.
            rows = rows.with_columns(ci_low=-pl.col("ci_high"), ci_high=-pl.col("ci_low"))
        objections = [
            f"{where(row['metric'], None, {'version': row['candidate'], 'slice': row['slice']})}: "
            f"{self.found(row)}"
            for row in rows.filter(compared_rows() > 0).iter_rows(named=True)
            if row["ci_low"] is None or not row["ci_low"] > -self.margin
        ]
        return self.findings(seen, rows, objections)

    def found(self, row: Mapping[str, Any]) -> str:
        """Say what is known of a row that is not shown to be good enough."""
        if row["ci_low"] is None or not np.isfinite(row["ci_low"]):
            return (
                f"{counted(row['n'], 'item')} {verb(row['n'], 'is', 'are')} too few to tell whether it is "
                f"worse by {self.margin:g}"
            )
        interval = f"between {row['ci_low']:+.4f} and {row['ci_high']:+.4f}"
        worse = row["ci_high"] <= -self.margin
        told = (
            f"is worse by more than {self.margin:g}" if worse else f"may be worse by {self.margin:g} or more"
        )
        return f"{told}: the difference is {interval} (n = {row['n']:,})"


def compared_rows() -> pl.Expr:
    """How many items a row of a comparison is about, or rows where versions are not paired."""
    sides = pl.min_horizontal("n_baseline_only", "n_candidate_only")
    return pl.when(pl.col("paired") | (sides > 0)).then(pl.col("n")).otherwise(0)


def nothing_compared(comparison: Comparison, rows: pl.DataFrame) -> list[str]:
    """Say of which candidates and metrics nothing could be compared, and why as far as that can be seen."""
    hint = ""
    if comparison.spec.paired and not comparison.unmatched.is_empty():
        sides = comparison.unmatched.select(
            "missing", item=pl.col("item").cast(pl.String).str.strip_chars().str.to_lowercase()
        ).unique()
        if sides["item"].is_duplicated().any():
            hint = f"; some values of {comparison.spec.item!r} differ only in case or in white space"
    return [
        f"{where(row['metric'], None, {'version': row['candidate'], 'slice': row.get('slice')})}: nothing is "
        f"compared: {row['reason']}{hint}"
        for row in rows.filter(compared_rows() == 0).iter_rows(named=True)
    ]


def corrected(seen: Evidence) -> pl.DataFrame:
    """Collect the rows that verdict gates look at, with Holm's correction over all their tests."""
    comparison = seen.compared()
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal")
    looked_at = [gate.looked_at(seen) for gate in seen.gates if isinstance(gate, FailOn)]
    rows = rows.filter(pl.any_horizontal(looked_at))
    return rows.with_columns(holm=holm(rows["p_value"]), daily=holm(daily_p(rows)).alias("daily"))


def units_of(rows: pl.DataFrame) -> tuple[Floats, Floats]:
    """Return the number of units behind each difference, and its degrees of freedom."""
    # Where a cluster column is named, clusters are what is independent.
    units = rows.select(pl.coalesce("clusters", "n").cast(pl.Float64)).to_series().to_numpy()
    paired = rows["paired"].to_numpy()
    # The variance of a difference of two means is that of a unit over this number.
    sides = [rows[f"n_{side}_only"].cast(pl.Float64).to_numpy() for side in ("baseline", "candidate")]
    with np.errstate(divide="ignore", invalid="ignore"):
        lone = sides[0] * sides[1] / (sides[0] + sides[1])
    n = np.where(paired, units, np.minimum(lone, units))
    return n, np.maximum(np.where(paired, units - 1, units - 2), 1.0)


def daily_interval(rows: pl.DataFrame, alpha: float) -> tuple[pl.Series, pl.Series]:
    """Return intervals that hold for all looks at growing data together."""
    n, df = units_of(rows)
    difference, se = (rows[name].cast(pl.Float64).to_numpy() for name in ("difference", "se"))
    # One side is asked about, so that twice the level is left to both.
    low, high = sequential_interval(difference, se, df, n, alpha=2 * alpha)
    return tuple(
        pl.Series(name, np.where(se == 0, difference, end), pl.Float64).fill_nan(None)
        for name, end in (("ci_low", low), ("ci_high", high))
    )  # type: ignore[return-value]


def daily_p(rows: pl.DataFrame) -> pl.Series:
    """Return p-values that hold for all looks at growing data together; see `drift.sequential`."""
    n, df = units_of(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = rows["difference"].to_numpy() / rows["se"].to_numpy()
    p = np.where(np.isinf(t), np.where(n >= 2, 0.0, 1.0), sequential_p(t, df, n))
    return pl.Series("daily", p, pl.Float64).fill_nan(None)


def holm(p_values: pl.Series) -> pl.Series:
    """Correct p-values for looking at several, by Holm's step-down; a missing one is not a test."""
    p = p_values.drop_nulls().to_numpy()
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)) if len(p) else p
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(adjusted, 1.0)
    values: Iterator[Any] = iter(corrected.tolist())
    return pl.Series("holm", [None if one is None else next(values) for one in p_values], pl.Float64)
