"""The query that scores a frame: each piece of work that metrics have in common is done once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import polars as pl
from polars.exceptions import DuplicateError

from polars_evals.lift import label
from polars_evals.suite.metric import Metric
from polars_evals.suite.signature import serialized, settings

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

# Metrics that begin with Polars' own lowercasing of whole columns. The others lowercase pair by pair in their
# kernels, where the text is in the cache anyway: a lowercased column would cost them more than it saves.
LOWERCASED_FIRST = {"contains", "ends_with", "exact_match", "starts_with"}


class Plan:
    """What to compute for some metrics over a frame, in steps that build on each other."""

    def __init__(self, metrics: Sequence[Metric], schema: pl.Schema, signatures: Mapping[str, str]) -> None:
        self.existing = schema.names()
        self.lowercased = shared_lowercasing(metrics, schema)
        self.computed: dict[object, pl.Expr] = {}
        self.results: list[pl.Expr] = []
        for metric in metrics:
            work = work_of(metric)
            if work not in self.computed:
                self.computed[work] = self.expr(metric).alias(f"__evals_{len(self.computed)}")
            struct = pl.col(self.computed[work].meta.output_name())
            self.results += read_results(metric, struct)
        self.results += [pl.lit(text).alias(f"{name}_signature") for name, text in signatures.items()]
        self.check_names()

    def check_names(self) -> None:
        """Refuse to overwrite a column."""
        steps = [*self.lowercased.values(), *self.computed.values(), *self.results]
        taken = [name for name in (step.meta.output_name() for step in steps) if name in self.existing]
        if taken:
            raise DuplicateError(
                f"the frame already has {quoted(taken)}; drop or rename the columns, "
                "or give the metrics other names"
            )

    def score(self, frame: FrameT) -> FrameT:
        """Run the steps."""
        prepared = frame.with_columns(self.lowercased.values()) if self.lowercased else frame
        # A `select` above the metrics, not an `unnest`: Polars pushes projections and predicates through it.
        return prepared.with_columns(self.computed.values()).select(*self.existing, *self.results)

    def expr(self, metric: Metric) -> pl.Expr:
        """Make a metric's expression, over lowercased columns where there are."""
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


def lowercases(metric: Metric) -> bool:
    """Whether a metric begins with lowercasing its columns."""
    return metric.type in LOWERCASED_FIRST and not metric.settings["case_sensitive"]


def work_of(metric: Metric) -> object:
    """Return what metrics have in common that differ in threshold alone. Details depend on the threshold."""
    options = [(key, text) for key, text in settings(metric) if metric.details or key != "threshold"]
    # The settings do not tell columns apart.
    exprs = [(key, serialized(value)) for key, value in metric.settings.items() if isinstance(value, pl.Expr)]
    return metric.type, metric.details, *metric.sides.values(), *options, *exprs


def read_results(metric: Metric, struct: pl.Expr) -> list[pl.Expr]:
    """Take the columns of a metric from its struct."""
    results = {field: struct.struct.field(field) for field in result_fields(metric)}
    results["label"] = label(results["score"], metric.threshold)
    return [result.alias(f"{metric.name}_{field}") for field, result in results.items()]


def result_fields(metric: Metric) -> list[str]:
    """Name the fields of a metric's result."""
    columns = dict.fromkeys(metric.columns, pl.String)
    dtype = pl.LazyFrame(schema=columns).select(metric.expr().alias("result")).collect_schema()["result"]
    assert isinstance(dtype, pl.Struct)
    return [field.name for field in dtype.fields]


def quoted(names: Iterable[str]) -> str:
    """List names in quotes."""
    return ", ".join(f'"{name}"' for name in names)
