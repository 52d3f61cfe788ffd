"""The same suite on Ray and on Spark, and comparisons of tables that no machine holds."""

from polars_evals.cluster.aggregates import Aggregates, aggregate
from polars_evals.cluster.merging import merge

__all__ = ["Aggregates", "aggregate", "merge"]
