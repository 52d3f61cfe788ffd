"""Gates: conditions that fail a run, each with a line that says what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from polars_evals.drift import Comparison, compare
from polars_evals.drift.columns import as_text, nearest
from polars_evals.drift.inference import wilson
from polars_evals.jobs.config import Gate, Job
from polars_evals.jobs.errors import ConfigError

SHOWN = 5


@dataclass(frozen=True)
class GateResult:
    """What became of a gate: `passed`, `failed`, or `skipped` when there is nothing to judge yet."""

    name: str
    status: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Judge:
    """All that gates can look at."""

    job: Job
    scored: pl.LazyFrame
    comparison: Comparison | None

    def results(self) -> list[GateResult]:
        """Judge every gate."""
        corrected = self.corrected()
        return [self.result(gate, corrected) for gate in self.job.gates]

    def result(self, gate: Gate, corrected: pl.DataFrame) -> GateResult:
        """Judge one gate."""
        if self.comparison is None and self.job.compare is not None:
            return GateResult(describe(gate), "skipped", ("there is no candidate to compare yet",))
        if gate.min_pass_rate is not None:
            lines = list(self.low_pass_rates(gate, gate.min_pass_rate))
        elif gate.fail_on:
            lines = list(self.bad_verdicts(gate, corrected))
        else:
            lines = list(self.flipped(gate))
        return GateResult(describe(gate), "failed" if lines else "passed", tuple(lines))

    def unknown_items(self) -> list[str]:
        """Find the items of `must_not_flip` that no row has: they cannot be watched."""
        listed = {item for gate in self.job.gates for item in gate.must_not_flip}
        if self.comparison is None or not listed:
            return []
        item = as_text(self.scored.collect_schema(), self.comparison.settings["item"])
        found = self.scored.select(item.alias("item")).filter(pl.col("item").is_in(list(listed))).unique()
        return sorted(listed - set(found.collect(engine="streaming").get_column("item")))

    def metrics(self, gate: Gate) -> list[str]:
        """Name the metrics that a gate is about."""
        return [gate.metric] if gate.metric else [str(metric.name) for metric in self.job.suite.metrics]

    def low_pass_rates(self, gate: Gate, least: float) -> Iterator[str]:
        """Find the versions, and slices if wanted, in which too few rows pass."""
        schema = self.scored.collect_schema()
        groups, frame = dict[str, pl.Expr](), self.scored
        if self.comparison is not None:
            settings = self.comparison.settings
            groups["version"] = as_text(schema, settings["version"])
            frame = frame.filter(groups["version"].is_in(settings["candidates"]))
        if gate.by is not None:
            require(schema, gate.by)
            groups["slice"] = as_text(schema, gate.by)
        for metric in self.metrics(gate):
            label = pl.col(f"{metric}_label")
            counted = frame.select(
                *(expr.alias(name) for name, expr in groups.items()), passed=label == "pass"
            ).drop_nulls("passed")
            totals = [pl.len().alias("n"), pl.col("passed").sum()]
            rates = (counted.group_by(*groups).agg(totals) if groups else counted.select(totals)).collect(
                engine="streaming"
            )
            for row in rates.sort(*groups, *(["n"] if not groups else [])).iter_rows(named=True):
                n, passed = row["n"], row["passed"]
                if n == 0 or passed / n >= least:
                    continue
                low, high = (float(end[0]) for end in wilson(np.array([passed]), np.array([n]), 0.05))
                yield (
                    f"{where(metric, gate.by, row)}: pass rate {passed / n:.1%} is below {least:.1%} "
                    f"({passed:,} of {n:,}, 95% interval {low:.1%} to {high:.1%}); "
                    f'look at the {n - passed:,} rows with {metric}_label = "fail"'
                )

    def corrected(self) -> pl.DataFrame:
        """Collect the rows that verdict gates look at, with Holm's correction over all their tests."""
        if self.comparison is None:
            return pl.DataFrame()
        rows = pl.concat([self.comparison.summary, self.comparison.slices], how="diagonal")
        looked_at = [self.looked_at(gate) for gate in self.job.gates if gate.fail_on]
        if not looked_at:
            return pl.DataFrame()
        rows = rows.filter(pl.any_horizontal(looked_at))
        return rows.with_columns(holm=holm(rows["p_value"]))

    def looked_at(self, gate: Gate) -> pl.Expr:
        """Select the rows of the comparison that a gate is about."""
        metric = pl.col("metric").is_in(self.metrics(gate))
        return metric if gate.by is None else metric & (pl.col("by") == pl.lit([gate.by], pl.List(pl.String)))

    def bad_verdicts(self, gate: Gate, corrected: pl.DataFrame) -> Iterator[str]:
        """Find the rows whose verdict fails the gate."""
        assert self.comparison is not None
        alpha = self.comparison.settings["alpha"]
        for row in corrected.filter(self.looked_at(gate)).iter_rows(named=True):
            verdict, corrected_p = row["verdict"], row["holm"]
            found = verdict in ("regressed", "improved")
            if found and corrected_p is not None and corrected_p > alpha:
                verdict = "inconclusive"
            if verdict not in gate.fail_on:
                continue
            named = {"version": row["candidate"], "slice": row["slice"]}
            test = "" if corrected_p is None else f", Holm p = {corrected_p:.2g}"
            flips = row["newly_failing"]
            look = f"; look at the {flips:,} items that newly fail" if flips else ""
            yield f"{where(row['metric'], None, named)}: {verdict}: {row['reason']}{test}{look}"

    def flipped(self, gate: Gate) -> Iterator[str]:
        """Find the listed items that passed in the baseline and fail in a candidate."""
        assert self.comparison is not None
        settings = self.comparison.settings
        item = as_text(self.scored.collect_schema(), settings["item"])
        few = self.scored.filter(item.is_in(list(gate.must_not_flip))).collect(engine="streaming")
        present = set(few.get_column(settings["version"]).cast(pl.String))
        candidates = [one for one in settings["candidates"] if one in present]
        if settings["baseline"] not in present or not candidates:
            return
        flips = compare(
            few,
            version=settings["version"],
            baseline=settings["baseline"],
            candidate=candidates,
            item=settings["item"],
            metrics=self.metrics(gate),
            max_flips=None,
        ).flips.filter(pl.col("flip") == "newly_failing")
        for (candidate, metric), rows in flips.group_by("candidate", "metric", maintain_order=True):
            items = rows.get_column("item").cast(pl.String).sort().to_list()
            shown = ", ".join(items[:SHOWN]) + (
                f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
            )
            means = rows.select(pl.col("baseline_score", "candidate_score").mean()).row(0)
            named = {"version": candidate}
            yield (
                f"{where(str(metric), None, named)}: {len(items):,} of {len(gate.must_not_flip):,} items "
                f"that must not flip now fail (mean score {means[0]:.2f} to {means[1]:.2f}); look at {shown}"
            )


def holm(p_values: pl.Series) -> pl.Series:
    """Correct p-values for looking at several, by Holm's step-down; a missing one is not a test."""
    p = p_values.drop_nulls().to_numpy()
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)) if len(p) else p
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(adjusted, 1.0)
    values: Iterator[Any] = iter(corrected.tolist())
    return pl.Series("holm", [None if one is None else next(values) for one in p_values], pl.Float64)


def describe(gate: Gate) -> str:
    """Name a gate."""
    about = (gate.metric or "every metric") + (f" by {gate.by}" if gate.by else "")
    if gate.min_pass_rate is not None:
        return f"{about}: min_pass_rate = {gate.min_pass_rate:g}"
    if gate.fail_on:
        return f"{about}: fail_on = {', '.join(gate.fail_on)}"
    return f"{about}: must_not_flip = {len(gate.must_not_flip):,} items"


def where(metric: str, by: str | None, row: dict[str, Any]) -> str:
    """Say which metric, slice and version a line is about."""
    piece = row.get("slice")
    shown = f" [{piece if by is None else f'{by}={piece}'}]" if piece is not None else ""
    version = row.get("version")
    return f"{metric}{shown}" + (f" of {version}" if version is not None else "")


def require(schema: pl.Schema, name: str) -> None:
    """Insist that the store has a column that a gate names."""
    if name not in schema:
        raise ConfigError(
            f"a gate names the column {name!r}, which the store does not have{nearest(name, schema)}"
        )


def failed(results: Sequence[GateResult]) -> bool:
    """Whether any gate failed."""
    return any(result.status == "failed" for result in results)
