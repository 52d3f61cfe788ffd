"""The query that scores a frame: each piece of work that metrics have in common is done once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import polars as pl
from polars.exceptions import DuplicateError

from polars_evals.lift import announced, kernels_of, label
from polars_evals.metrics.words import Batches, WordKernel
from polars_evals.suite.metric import COLUMN_TYPE, Metric
from polars_evals.suite.custom import guarded
from polars_evals.suite.preparing import prepare
from polars_evals.suite.signature import serialized, settings

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

# Metrics that begin with Polars' own lowercasing of whole columns. The others lowercase pair by pair in their
# kernels, where the text is in the cache anyway: a lowercased column would cost them more than it saves.
LOWERCASED_FIRST = {"contains", "ends_with", "exact_match", "starts_with"}


class Scoring:
    """What to compute for some metrics over a frame, in steps that build on each other."""

    def __init__(self, metrics: Sequence[Metric], schema: pl.Schema, signatures: Mapping[str, str]) -> None:
        self.existing = schema.names()
        self.prepared = prepare(metrics, schema)
        metrics = self.prepared.metrics
        self.schema = schema = self.prepared.run(pl.LazyFrame(schema=schema)).collect_schema()
        self.lowercased = shared_lowercasing(metrics, schema)
        self.announced = shared_words(metrics, schema)
        self.computed: dict[object, pl.Expr] = {}
        self.results: list[pl.Expr] = []
        works = [work_of(metric) for metric in metrics]
        for metric, work in zip(metrics, works, strict=True):
            if work not in self.computed:
                self.computed[work] = self.expr(metric, work).alias(f"__evals_{len(self.computed)}")
        structs = self.steps(pl.LazyFrame(schema=schema)).collect_schema()
        for metric, work in zip(metrics, works, strict=True):
            name = self.computed[work].meta.output_name()
            self.results += read_results(metric, name, structs[name])
            if metric.name in self.prepared.notes:
                self.results.append(self.prepared.notes[metric.name].alias(f"{metric.name}_cleaning"))
        self.results += [pl.lit(text).alias(f"{name}_signature") for name, text in signatures.items()]
        self.check_names()

    def check_names(self) -> None:
        """Refuse to overwrite a column."""
        steps = [
            *self.prepared.made.values(),
            *self.prepared.texts.values(),
            *self.lowercased.values(),
            *self.announced.values(),
            *self.computed.values(),
            *self.results,
        ]
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
        if self.lowercased or self.announced:
            prepared = prepared.with_columns(*self.lowercased.values(), *self.announced.values())
        return prepared.with_columns(self.computed.values())

    def expr(self, metric: Metric, work: object) -> pl.Expr:
        """Make a metric's expression, over announced or lowercased columns where there are."""
        if metric.function is not None or metric.type == COLUMN_TYPE:
            return guarded(str(metric.name), metric.expr(), self.schema)
        announced = self.announced.get(work)
        if announced is not None:
            return metric.expr(output=pl.col(announced.meta.output_name()))
        columns = metric.sides.values()
        if not lowercases(metric) or not all(column in self.lowercased for column in columns):
            return metric.expr()
        output, expected = (pl.col(self.lowercased[column].meta.output_name()) for column in columns)
        return metric.expr(output=output, expected=expected, case_sensitive=True)


def shared_lowercasing(metrics: Iterable[Metric], schema: pl.Schema) -> dict[str, pl.Expr]:
    """Lowercase the text columns that more than one metric would lowercase."""
    works = {work_of(metric): metric for metric in metrics if lowercases(metric)}
    readers = Counter(column for metric in works.values() for column in set(metric.sides.values()))
    texts = [column for column, count in readers.items() if count > 1 and schema[column] == pl.String]
    return {
        column: pl.col(column).str.to_lowercase().alias(f"__evals_lower_{n}")
        for n, column in enumerate(texts)
    }


def shared_words(metrics: Iterable[Metric], schema: pl.Schema) -> dict[object, pl.Expr]:
    """Announce the word metrics that read the same two columns, so that one pass gives the scores of all.

    The column that a metric is announced with is the output itself. Where nobody uses the metric, Polars
    drops both, and so the others compute nothing for it.
    """
    readers: dict[tuple[str, str], dict[object, WordKernel]] = {}
    for metric in metrics:
        if metric.function is not None or metric.type == COLUMN_TYPE:
            continue
        sides = metric.sides
        kernels = kernels_of(metric.expr)
        kernel = kernels[0] if len(kernels) == 1 else None
        if isinstance(kernel, WordKernel) and all(schema[side] == pl.String for side in sides.values()):
            readers.setdefault((sides["output"], sides["expected"]), {})[work_of(metric)] = kernel
    batches = Batches()
    shared = [
        (work, announced(output, expected, partial(batches.announce, kernel)))
        for (output, expected), works in readers.items()
        if len(works) > 1
        for work, kernel in works.items()
    ]
    return {work: expr.alias(f"__evals_output_{n}") for n, (work, expr) in enumerate(shared)}


def lowercases(metric: Metric) -> bool:
    """Whether a metric begins with lowercasing its columns."""
    return metric.type in LOWERCASED_FIRST and not metric.settings["case_sensitive"]


def work_of(metric: Metric) -> object:
    """Return what metrics have in common that differ in threshold alone. Details depend on the threshold."""
    options = [(key, text) for key, text in settings(metric) if metric.details or key != "threshold"]
    # The settings do not tell columns apart.
    exprs = [(key, serialized(value)) for key, value in metric.settings.items() if isinstance(value, pl.Expr)]
    own = (metric.function, metric.threshold) if metric.function is not None else ()
    return metric.type, *own, metric.details, *metric.sides.values(), *options, *exprs


def read_results(metric: Metric, struct: str, dtype: pl.DataType) -> list[pl.Expr]:
    """Take the columns of a metric from its struct."""
    assert isinstance(dtype, pl.Struct)
    results = {field.name: pl.col(struct).struct.field(field.name) for field in dtype.fields}
    if metric.function is None:
        results["label"] = label(results["score"], metric.threshold)
    return [result.alias(f"{metric.name}_{field}") for field, result in results.items()]


def quoted(names: Iterable[str]) -> str:
    """List names in quotes."""
    return ", ".join(f'"{name}"' for name in names)
