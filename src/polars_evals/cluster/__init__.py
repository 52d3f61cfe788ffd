"""The same suite on Ray and on Spark, and comparisons of what they scored."""

from polars_evals.cluster.compare import compare, rank
from polars_evals.cluster.engines import score_parquet, score_ray, score_spark

__all__ = ["compare", "rank", "score_parquet", "score_ray", "score_spark"]


def __dir__() -> list[str]:
    return sorted(__all__)
