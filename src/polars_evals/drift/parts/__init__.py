"""
A comparison, or a ranking, of a table in parts: sum up each where it is, merge the sums, judge.

This is all that a cluster needs of `polars_evals.drift`.
"""

from polars_evals.drift.parts.aggregates import Aggregates, aggregate, merge, resolve
from polars_evals.drift.parts.ranking import (
    RankOptions,
    RankSpec,
    RankSums,
    merge_ranks,
    rank_part,
    rank_spec,
)
from polars_evals.drift.rank import Ranking
from polars_evals.drift.reading import count_versions
from polars_evals.drift.spec import ResolvedSpec, SpecOptions

__all__ = [
    "Aggregates",
    "RankOptions",
    "RankSpec",
    "RankSums",
    "Ranking",
    "ResolvedSpec",
    "SpecOptions",
    "aggregate",
    "count_versions",
    "merge",
    "merge_ranks",
    "rank_part",
    "rank_spec",
    "resolve",
]
