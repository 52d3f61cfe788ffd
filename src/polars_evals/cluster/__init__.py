"""The same suite on Ray and on Spark, and comparisons of tables that no machine holds."""

from polars_evals.cluster.aggregates import Aggregates, aggregate
from polars_evals.cluster.files import score_files
from polars_evals.cluster.merging import merge
from polars_evals.cluster.ray import aggregate_ray, score_ray
from polars_evals.cluster.spark import aggregate_spark, score_spark

__all__ = [
    "Aggregates",
    "aggregate",
    "aggregate_ray",
    "aggregate_spark",
    "merge",
    "score_files",
    "score_ray",
    "score_spark",
]
