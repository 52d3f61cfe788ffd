"""Items that must not begin to fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import polars as pl
from pydantic import BeforeValidator, Field

from polars_evals.drift import ComparisonSpec, compare_spec
from polars_evals.drift.columns import as_text
from polars_evals.jobs.rules.base import Evidence, Findings, Gate, where
from polars_evals.suite.declared import listed as as_tuple
from polars_evals.wording import counted, listed


def _text(item: object) -> object:
    return str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item


Items = Annotated[
    tuple[Annotated[str, BeforeValidator(_text)], ...], BeforeValidator(as_tuple), Field(min_length=1)
]


class MustNotFlip(Gate):
    """The listed items must not pass in the baseline and fail in a candidate."""

    items: Items = Field(alias="must_not_flip", description="a list of items")

    rule: ClassVar[str] = "must_not_flip"
    needs_compare: ClassVar[bool] = True
    needs_item: ClassVar[bool] = True
    takes_by: ClassVar[bool] = False

    @property
    def demand(self) -> str:
        """How many items."""
        return f"must_not_flip = {counted(len(self.items), 'item')}"

    def judge(self, seen: Evidence) -> Findings:
        """Compare the listed items alone, however many others there are."""
        spec = seen.compared().spec
        assert spec.item is not None
        item = as_text(seen.schema, spec.item)
        few = seen.scored.filter(item.is_in(list(self.items)))
        rows = few.collect(engine="streaming")
        present = set(rows.get_column(spec.version).cast(pl.String))
        candidates = [one for one in spec.candidate if one in present]
        absent = [one for one in spec.candidate if one not in present]
        if spec.baseline not in present or not candidates:
            lacking = spec.baseline if spec.baseline not in present else listed(absent)
            return Findings(0, reason=f"{lacking} has none of the items {listed(self.items)}")
        watched = ComparisonSpec(
            version=spec.version,
            baseline=spec.baseline,
            candidate=candidates,
            item=spec.item,
            metrics=self.metrics(seen),
            max_flips=None,
        )
        compared = compare_spec(rows, watched)
        flips = compared.flips.filter(pl.col("flip") == "newly_failing")
        lone = [
            f"{where(metric, None, {'version': one})}: has none of the items that must not flip"
            for one in absent
            for metric in self.metrics(seen)
        ]
        items = {
            version: set(rows.filter(as_text(seen.schema, spec.version) == version).select(item).to_series())
            for version in (spec.baseline, *candidates)
        }
        lone += [
            f"{one} has no rows of {listed(sorted(unseen))}, which must not flip"
            for one in candidates
            if (unseen := items[spec.baseline] - items[one])
        ]
        return Findings(int(compared.summary["n"].sum()), [*lone, *self.flipped(flips)], "item")

    def flipped(self, flips: pl.DataFrame) -> Iterator[str]:
        """Say which items flipped."""
        for (candidate, metric), rows in flips.group_by("candidate", "metric", maintain_order=True):
            items = rows.get_column("item").cast(pl.String).sort().to_list()
            means = rows.select(pl.col("baseline_score", "candidate_score").mean()).row(0)
            yield (
                f"{where(str(metric), None, {'version': candidate})}: {len(items):,} of {len(self.items):,} "
                f"items that must not flip now fail (mean score {means[0]:.2f} to {means[1]:.2f}); "
                f"look at {listed(items)}"
            )


def unknown_items(seen: Evidence) -> list[str]:
    """Find the items of `must_not_flip` that no row has: they cannot be watched."""
    wanted = {item for gate in seen.gates if isinstance(gate, MustNotFlip) for item in gate.items}
    if seen.comparison is None or seen.comparison.spec.item is None or not wanted:
        return []
    item = as_text(seen.schema, seen.comparison.spec.item)
    found = seen.scored.select(item.alias("item")).filter(pl.col("item").is_in(list(wanted))).unique()
    return sorted(wanted - set(found.collect(engine="streaming").get_column("item")))
