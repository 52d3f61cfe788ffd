"""The same suite on Ray and on Spark, and comparisons of tables that no machine holds."""

from polars_evals.cluster.files import score_files
from polars_evals.cluster.ray import aggregate_ray, rank_ray, score_ray
from polars_evals.cluster.spark import aggregate_spark, rank_spark, score_spark
from polars_evals.drift.parts import Aggregates, aggregate, merge

__all__ = [
    "Aggregates",
    "aggregate",
    "aggregate_ray",
    "aggregate_spark",
    "merge",
    "rank_ray",
    "rank_spark",
    "score_files",
    "score_ray",
    "score_spark",
]


def __dir__() -> list[str]:
    return sorted(__all__)
