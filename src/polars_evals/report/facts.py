"""What a page was made of: when, of what, with which suite, and how much."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

import polars as pl

from polars_evals.wording import counted, line

if TYPE_CHECKING:
    from polars_evals.drift import Comparison


def facts(comparison: Comparison, source: str | None) -> str:
    """Return the facts of a comparison in a line."""
    spec = comparison.spec
    n = max(comparison.summary["n"].to_list(), default=0)
    paired = "unpaired rows" if spec.item is None else f"paired by {line(spec.item, 60)}"
    suite = signature(comparison)
    told = [
        f"{datetime.now(UTC):%-d %B %Y}",
        counted(n, "item") if len(spec.candidates) == 1 else f"up to {counted(n, 'item')}",
        f"{paired}{'' if spec.cluster is None else f', clustered by {line(spec.cluster, 60)}'}",
        counted(len(spec.metrics), "metric"),
        None if source is None else f"from {line(source, 200)}",
        None if suite is None else f"suite {sha256(suite.encode()).hexdigest()[:10]}",
    ]
    return " · ".join(filter(None, told))


def signature(comparison: Comparison) -> str | None:
    """Return the signatures of the metrics, where the scores carry them."""
    if comparison.table is None:
        return None
    known = set(comparison.table.collect_schema())
    columns = [f"{name}_signature" for name in comparison.spec.metrics if f"{name}_signature" in known]
    if not columns:
        return None
    found = comparison.table.select(pl.col(columns).drop_nulls().first()).collect().row(0)
    return "\n".join(one for one in found if one is not None) or None
