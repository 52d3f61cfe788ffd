"""
A comparison of a table in parts: sum up each where it is, merge the sums, compare.

This is all that a cluster needs of `polars_evals.drift`.
"""

from polars_evals.drift.parts.aggregates import Aggregates, aggregate, merge, resolve
from polars_evals.drift.reading import count_versions
from polars_evals.drift.spec import ResolvedSpec, SpecOptions

__all__ = [
    "Aggregates",
    "ResolvedSpec",
    "SpecOptions",
    "aggregate",
    "count_versions",
    "merge",
    "resolve",
]
