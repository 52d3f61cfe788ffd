"""What to compare: the settings of a comparison, checked once and sent to every worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polars_evals.drift import columns
from polars_evals.drift.compare import choose_versions, slice_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from polars_evals.drift.columns import Schema
    from polars_evals.drift.compare import By


@dataclass(frozen=True)
class Plan:
    """The columns and versions of a comparison."""

    version: str
    baseline: str
    candidates: tuple[str, ...]
    item: str | None
    cluster: str | None
    by: tuple[tuple[str, ...], ...]
    metrics: tuple[str, ...]
    max_flips: int

    @property
    def traits(self) -> list[str]:
        """The columns to slice by."""
        return sorted({name for group in self.by for name in group})

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """All rows, and then each set of slices."""
        return [(), *self.by]

    @property
    def versions(self) -> list[str]:
        """Baseline and candidates."""
        return [self.baseline, *self.candidates]

    def needed(self, existing: Sequence[str]) -> list[str]:
        """Return the columns that a comparison reads, of those that exist."""
        ends = ("score", "label", "signature")
        results = [f"{name}_{end}" for name in self.metrics for end in ends]
        keys = [self.version, self.item, self.cluster, *self.traits, *results]
        return [name for name in dict.fromkeys(keys) if name is not None and name in existing]


def make_plan(
    schema: Schema,
    *,
    version: str,
    baseline: Any,
    candidate: Any,
    item: str | None,
    cluster: str | None,
    by: By,
    metrics: Sequence[str] | None,
    max_flips: int,
    count_versions: Callable[[], pl.DataFrame],
) -> Plan:
    """Check the settings against a schema; `count_versions` is asked for the versions if none are named."""
    for role, name in (("version", version), ("item", item), ("cluster", cluster)):
        if name is not None:
            columns.require(schema, name, role)
    if by == "auto":
        msg = 'by="auto" needs all rows in one place; name the columns to slice by'
        raise ValueError(msg)
    if max_flips < 0:
        msg = f"max_flips must be at least 0, got {max_flips!r}"
        raise ValueError(msg)
    if candidate is None:
        before, after, _ = choose_versions(count_versions(), schema, version, baseline, None)
    else:
        several = isinstance(candidate, list | tuple | set | frozenset)
        before = columns.version_text(schema, version, baseline)
        after = [
            columns.version_text(schema, version, one) for one in (candidate if several else [candidate])
        ]
    return Plan(
        version=version,
        baseline=before,
        candidates=tuple(after),
        item=item,
        cluster=cluster,
        by=tuple(slice_sets(schema, by)),
        metrics=tuple(columns.find_metrics(schema, metrics)),
        max_flips=max_flips,
    )
