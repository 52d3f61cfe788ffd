"""The options of a comparison, written once for every command that makes one."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from polars_evals.cli import options
from polars_evals.cli.console import explained

# What is found in the scored rows.
AUTO = "auto"

# Which way is better.
WAYS = ("lower", "higher")

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import polars as pl

    from polars_evals.drift import Comparison, ComparisonSpec


def spec_of(
    *,
    version: options.FoundVersion = None,
    baseline: options.Baseline = None,
    candidate: options.Candidates = None,
    item: options.Item = None,
    cluster: options.Cluster = None,
    by: options.By = None,
    metrics: options.Metrics = None,
    measures: options.Measures = None,
    aggregates: options.Aggregates = None,
    truth: options.Truth = None,
    adjust: options.Adjust = None,
    min_effect: options.MinEffect = 0.01,
    alpha: options.Alpha = 0.05,
    margin: options.Margin = None,
    unanswered: options.Unanswered = "auto",
) -> ComparisonSpec:
    """Make a specification of the options; a list that was not given is None or empty."""
    from polars_evals.drift import ComparisonSpec

    return ComparisonSpec(
        version=version or AUTO, baseline=baseline or AUTO, candidate=candidate or None, item=item,
        cluster=cluster, by=slices(by), metrics=metrics or None, measures=named_measures(measures),
        aggregates=named_aggregates(aggregates), truth=named_truth(truth), adjust=adjust or None,
        min_effect=min_effect, alpha=alpha, margin=margin, unanswered=unanswered,  # type: ignore[arg-type]
    )  # fmt: skip


def with_defaults(spec: ComparisonSpec, scored: pl.LazyFrame) -> ComparisonSpec:
    """Find what was not given: the column of versions, the baseline (the first version) and the item."""
    import polars as pl

    from polars_evals._errors import ConfigError

    columns, found = scored.collect_schema(), spec
    if spec.version == AUTO and AUTO not in columns:
        counts = {name: scored.select(pl.col(name).drop_nulls().n_unique()).collect().item()
                  for name in ("model", "version") if name in columns}  # fmt: skip
        several = [name for name, count in counts.items() if count > 1]
        if not several:
            raise ConfigError(
                "no column of versions was found: neither `model` nor `version` has two values; "
                "name it with --version"
            )
        found = replace(found, version=several[0])
        has_items = "item_id" in columns and scored.select(pl.col("item_id").count()).collect().item()
        if found.item is None and has_items:
            found = replace(found, item="item_id")
    if spec.baseline == AUTO:
        versions = scored.select(pl.col(found.version).drop_nulls().cast(pl.String)).head(1).collect()
        if versions.is_empty():
            raise ConfigError(f"the column {found.version!r} of --version has no values")
        found = replace(found, baseline=versions.item())
    return found


def slices(by: list[str] | None) -> str | list[str | list[str]] | None:
    """Read the slices: `auto`, columns, or columns joined by commas."""
    if not by:
        return None
    return "auto" if by == ["auto"] else [one.split(",") if "," in one else one for one in by]


def named_measures(given: list[str] | None) -> str | list[Any] | None:
    """Read the measures: `auto`, columns, or columns with their direction."""
    from polars_evals.suite import Measure
    from polars_evals.wording import did_you_mean

    if not given or given == ["auto"]:
        return "auto" if given else None
    found: list[Any] = []
    for one in given:
        name, _, way = one.rpartition(":")
        if not name:
            found.append(one)
        elif way in WAYS:
            found.append(Measure(name, lower_is_better=way == "lower"))
        else:
            raise ValueError(f"--measure {one}: write {name}:lower or {name}:higher{did_you_mean(way, WAYS)}")
    return found


def named_aggregates(given: list[str] | None) -> list[Any] | None:
    """Read the aggregates: names, or types with the class that they are about."""
    from polars_evals.suite import Aggregate

    parts = [one.partition(":") for one in given or ()]
    return [Aggregate(kind, positive=of) if of else kind for kind, _, of in parts] or None


def named_truth(given: str | None) -> str | dict[str, str] | None:
    """Read the labels: a column, or the column of one metric."""
    metric, sign, column = (given or "").partition("=")
    return {metric: column} if sign else given


def compares(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a comparison in the place of its argument `spec`."""
    asked = signature(spec_of).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        with explained():
            spec = spec_of(**{name: given.pop(name) for name in asked})
        command(**given, spec=spec)

    hints = {**get_type_hints(command, include_extras=True, localns={"ComparisonSpec": Any})}
    hints |= get_type_hints(spec_of, include_extras=True, localns={"ComparisonSpec": Any})
    taken: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        taken += asked.values() if parameter.name == "spec" else [parameter]
    typed = [parameter.replace(annotation=hints[parameter.name]) for parameter in taken]
    del hints["spec"]
    run.__signature__ = Signature(typed)  # type: ignore[attr-defined]
    run.__annotations__ = hints | {"return": None}
    return run


def need_pairs(comparison: Comparison) -> None:
    """Refuse to conclude from nothing: every candidate needs something to compare, in every metric."""
    from polars_evals._errors import InputError
    from polars_evals.jobs.gates import nothing_compared

    if lone := nothing_compared(comparison, comparison.summary):
        raise InputError("\n".join(lone))


def leave(verdicts: Collection[str], *, fail_on_inconclusive: bool) -> None:
    """Leave with the exit code of the worst verdict."""
    from polars_evals._errors import GATE_FAILED, INCONCLUSIVE

    if "regressed" in verdicts:
        raise typer.Exit(GATE_FAILED)
    raise typer.Exit(INCONCLUSIVE if fail_on_inconclusive and "inconclusive" in verdicts else 0)
