"""Read the scores of all versions: what `rank`, `runs` and `plan` start from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.spec import counts_in
from polars_evals.wording import left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.suite.aggregate import Aggregate


@dataclass(frozen=True)
class Rows:
    """
    Rows with ``version``, ``item``, ``<metric>:score``, ``<metric>:pass``, and ``cluster`` if named.

    What rows add to an aggregate is ``<name>:counts``.
    """

    frame: pl.DataFrame
    metrics: list[str]
    versions: list[str]
    notes: list[str]
    aggregates: list[str] = field(default_factory=list)


def read_rows(
    scored: Frame,
    *,
    version: str,
    item: str,
    metrics: Sequence[str] | None,
    cluster: str | None = None,
    aggregates: Sequence[str | Aggregate] | None = (),
) -> Rows:
    """Read what is needed of a scored frame; rows without a version or an item are counted and left out."""
    frame = columns.lazy(scored)
    schema = frame.collect_schema()
    for role, name in (("version", version), ("item", item), ("cluster", cluster)):
        if name is not None:
            columns.require(schema, name, role)
    counts = counts_in(schema, aggregates)
    scored_by = any(name.endswith("_score") for name in schema)
    names = columns.find_metrics(schema, metrics) if scored_by or not counts else []
    if taken := [name for name in counts if name in names]:
        raise ValueError(f'aggregates: {taken[0]!r} is the name of a metric; give it one: name="…"')
    columns.check_signatures(frame, schema, names)
    key = pl.col(item)
    if isinstance(schema[item], pl.Enum | pl.Categorical):
        key = key.cast(pl.String)
    rows = columns.collect(
        frame.select(
            columns.as_text(schema, version).alias("version"),
            key.alias("item"),
            *([] if cluster is None else [columns.as_text(schema, cluster).alias("cluster")]),
            *columns.scores_and_labels(schema, names),
            *(expr.alias(f"{name}:counts") for name, expr in counts.items()),
        ),
        names,
    )
    missing = {"version": (version, "version"), "item": (item, "item")}
    notes = [
        left_out(count, f"{role} ({name})")
        for column, (name, role) in missing.items()
        if (count := rows[column].null_count())
    ]
    rows = rows.drop_nulls(["version", "item"])
    if rows.is_empty():
        raise ValueError(f"no row has both a version ({version}) and an item ({item})")
    return Rows(rows, names, rows["version"].unique().sort().to_list(), notes, list(counts))
