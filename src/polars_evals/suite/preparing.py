"""What comes before metrics: cleaned columns and literals, each made once for all metrics that read it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl

from polars_evals.clean import cleaned, read_steps
from polars_evals.suite.metric import Metric

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


@dataclass
class Prepared:
    """Metrics over plain columns, and how those columns are made."""

    metrics: list[Metric] = field(default_factory=list)
    made: dict[object, pl.Expr] = field(default_factory=dict)
    texts: dict[str, pl.Expr] = field(default_factory=dict)
    # What a made column is called in the frame, and where the notes of a metric's cleaning are.
    sources: dict[str, str] = field(default_factory=dict)
    notes: dict[str, pl.Expr] = field(default_factory=dict)
    literals: set[str] = field(default_factory=set)

    def run(self, frame: FrameT) -> FrameT:
        """Add the columns."""
        if self.made:
            frame = frame.with_columns(self.made.values())
        return frame.with_columns(self.texts.values()) if self.texts else frame


def prepare(metrics: Sequence[Metric], schema: pl.Schema) -> Prepared:
    """Replace cleaned sides and literals by columns of their own."""
    prepared = Prepared()
    for metric in metrics:
        if metric.literal is None and not any(metric.steps(side) for side in metric.sides):
            prepared.metrics.append(metric)
            continue
        columns = {side: add_side(prepared, metric, side, schema) for side in metric.side_exprs}
        prepared.metrics.append(metric.over(columns))
    return prepared


def add_side(prepared: Prepared, metric: Metric, side: str, schema: pl.Schema) -> str:
    """Make the column of one side, if it needs one, and return its name."""
    steps = metric.steps(side)
    source = metric.sides.get(side)
    if source is not None and not steps:
        return source
    base = metric.literal if source is None else pl.col(source)
    assert base is not None
    shown = source if source is not None else side
    key = (source if source is not None else base.meta.serialize(), json.dumps(steps, default=str))
    if key not in prepared.made:
        name = f"__evals_made_{len(prepared.made)}"
        if not steps:
            prepared.made[key] = base.alias(name)
        elif source is not None and isinstance(schema[source], pl.List | pl.Array):
            clean = cleaned(pl.element(), read_steps("clean", steps)).struct.field("text")
            prepared.made[key] = base.list.eval(clean).alias(name)
        else:
            prepared.made[key] = cleaned(base, read_steps("clean", steps)).alias(f"{name}_struct")
            prepared.texts[name] = pl.col(f"{name}_struct").struct.field("text").alias(name)
        prepared.sources[name] = shown
        if source is None:
            prepared.literals.add(name)
    made = prepared.made[key].meta.output_name()
    if made.endswith("_struct"):
        if side == "output" and metric.details:
            prepared.notes[str(metric.name)] = pl.col(made).struct.field("cleaning")
        return made.removesuffix("_struct")
    return made
