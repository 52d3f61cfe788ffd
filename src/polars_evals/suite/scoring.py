"""The query that scores a frame: each piece of work that metrics have in common is done once.

Cleaned columns and literals come first, each made once for all metrics that read it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl
from polars.exceptions import DuplicateError

from polars_evals.clean import cleaned, cleaned_text, read_steps
from polars_evals.expressions.native import label
from polars_evals.metrics.words import TOKENIZERS, is_word_metric, share_words
from polars_evals.suite.custom import guarded
from polars_evals.suite.metric import COLUMN_TYPE, Metric
from polars_evals.suite.signature import serialized, settings

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


class Scoring:
    """What to compute for some metrics over a frame, in steps that build on each other."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        schema: pl.Schema,
        signatures: Mapping[str, str],
        counts: Sequence[pl.Expr] = (),
    ) -> None:
        # A score that a metric takes as it is stands in its own place.
        taken = {m.output for m in metrics if m.type == COLUMN_TYPE and m.output == f"{m.name}_score"}
        self.existing = [name for name in schema.names() if name not in taken]
        self.prepared = prepare(metrics, schema)
        metrics = self.prepared.metrics
        self.schema = schema = self.prepared.run(pl.LazyFrame(schema=schema)).collect_schema()
        self.computed: dict[object, pl.Expr] = {}
        self.results: list[pl.Expr] = []
        works = [_work_of(metric) for metric in metrics]
        self.shared, parts = _shared_words(dict(zip(works, metrics, strict=True)), schema)
        for metric, work in zip(metrics, works, strict=True):
            if work not in self.computed:
                expr = parts[work] if work in parts else self.expr(metric)
                self.computed[work] = expr.alias(f"__evals_{len(self.computed)}")
        structs = self.steps(pl.LazyFrame(schema=schema)).collect_schema()
        for metric, work in zip(metrics, works, strict=True):
            name = self.computed[work].meta.output_name()
            self.results += _read_results(metric, name, structs[name])
            if metric.name in self.prepared.notes:
                self.results.append(self.prepared.notes[metric.name].alias(f"{metric.name}_cleaning"))
        self.results += counts
        self.results += [pl.lit(text).alias(f"{name}_signature") for name, text in signatures.items()]
        self.check_names()

    def check_names(self) -> None:
        """Refuse to overwrite a column."""
        prepared = *self.prepared.made.values(), *self.prepared.texts.values()
        steps = *prepared, *self.shared, *self.computed.values(), *self.results
        taken = [name for name in (step.meta.output_name() for step in steps) if name in self.existing]
        if taken:
            raise DuplicateError(
                f"the frame already has {quoted(taken)}; drop or rename the columns, "
                "or give the metrics other names"
            )

    def score(self, frame: FrameT) -> FrameT:
        """Run the steps."""
        # A `select` above the metrics, not an `unnest`: Polars pushes projections and predicates through it.
        return self.steps(self.prepared.run(frame)).select(*self.existing, *self.results)

    def steps(self, prepared: FrameT) -> FrameT:
        """Add the structs of all metrics to prepared columns."""
        if self.shared:
            prepared = prepared.with_columns(self.shared)
        return prepared.with_columns(self.computed.values())

    def expr(self, metric: Metric) -> pl.Expr:
        """Make a metric's expression. What fails in code of the user's names the metric as the user does."""
        if metric.function is not None or metric.type in (COLUMN_TYPE, "semantic"):
            return guarded(str(metric.name), metric.expr(), self.schema)
        return metric.expr()


def _shared_words(
    works: Mapping[object, Metric], schema: pl.Schema
) -> tuple[list[pl.Expr], dict[object, pl.Expr]]:
    """Score the word metrics that read the same two columns in one pass: each text is read once.

    Returns the passes, and where the struct of each metric is then.
    """
    readers: dict[tuple[str, str], dict[object, Metric]] = {}
    for work, metric in works.items():
        sides = metric.sides
        if (
            metric.function is None
            and is_word_metric(metric.kind.function)
            and metric.settings.get("tokenizer", "auto") in TOKENIZERS
            and all(schema[side] == pl.String for side in sides.values())
        ):
            readers.setdefault((sides["output"], sides["expected"]), {})[work] = metric
    passes, parts = list[pl.Expr](), dict[object, pl.Expr]()
    for (output, expected), sharing in readers.items():
        if len(sharing) < 2:
            continue
        name = f"__evals_words_{len(passes)}"
        numbered = {str(n): (metric.type, metric.settings) for n, metric in enumerate(sharing.values())}
        passes.append(share_words(pl.col(output), pl.col(expected), numbered).alias(name))
        parts |= {work: pl.col(name).struct.field(str(n)) for n, work in enumerate(sharing)}
    return passes, parts


def _work_of(metric: Metric) -> object:
    """Return what metrics have in common that differ in threshold alone. Details depend on the threshold."""
    options = [(key, text) for key, text in settings(metric) if metric.details or key != "threshold"]
    # The settings do not tell columns apart.
    exprs = [(key, serialized(value)) for key, value in metric.settings.items() if isinstance(value, pl.Expr)]
    function = (metric.function, metric.threshold) if metric.function is not None else ()
    return metric.type, *function, metric.details, *metric.sides.values(), *options, *exprs


def _read_results(metric: Metric, struct: str, dtype: pl.DataType) -> list[pl.Expr]:
    assert isinstance(dtype, pl.Struct)
    results = {field.name: pl.col(struct).struct.field(field.name) for field in dtype.fields}
    if metric.function is None:
        results["label"] = label(results["score"], metric.threshold)
    return [result.alias(f"{metric.name}_{field}") for field, result in results.items()]


def quoted(names: Iterable[str]) -> str:
    """List names in quotes."""
    return ", ".join(f'"{name}"' for name in names)


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
        columns = {side: _add_side(prepared, metric, side, schema) for side in metric.side_exprs}
        prepared.metrics.append(metric.over(columns))
    return prepared


def _add_side(prepared: Prepared, metric: Metric, side: str, schema: pl.Schema) -> str:
    steps = metric.steps(side)
    source = metric.sides.get(side)
    if source is not None and not steps:
        return source
    base = metric.literal if source is None else pl.col(source)
    assert base is not None
    key = source or base.meta.serialize(), json.dumps(steps, default=str)
    if key not in prepared.made:
        name = f"__evals_made_{len(prepared.made)}"
        if not steps:
            prepared.made[key] = base.alias(name)
        elif source is not None and isinstance(schema[source], pl.List | pl.Array):
            prepared.made[key] = base.list.eval(cleaned_text(pl.element(), steps)).alias(name)
        else:
            prepared.made[key] = cleaned(base, read_steps("clean", steps)).alias(f"{name}_struct")
            prepared.texts[name] = pl.col(f"{name}_struct").struct.field("text").alias(name)
        prepared.sources[name] = source or side
        if source is None:
            prepared.literals.add(name)
    made = prepared.made[key].meta.output_name()
    if made.endswith("_struct"):
        if side == "output" and metric.details:
            prepared.notes[str(metric.name)] = pl.col(made).struct.field("cleaning")
        return made.removesuffix("_struct")
    return made
