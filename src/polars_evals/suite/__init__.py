"""Suites: named lists of metrics that score a whole frame, from Python, TOML, YAML or JSON."""

from polars_evals.suite.aggregate import Aggregate
from polars_evals.suite.measure import Measure
from polars_evals.suite.metric import Metric
from polars_evals.suite.signature import signatures
from polars_evals.suite.suite import Suite

__all__ = ["Aggregate", "Measure", "Metric", "Suite", "signatures"]
