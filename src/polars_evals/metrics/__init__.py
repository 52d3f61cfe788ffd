"""All metrics: functions from an output and an expected column to an expression."""

from polars_evals.metrics.edit import levenshtein, levenshtein_distance
from polars_evals.metrics.exact import contains, ends_with, exact_match, regex_match, starts_with

__all__ = [
    "contains",
    "ends_with",
    "exact_match",
    "levenshtein",
    "levenshtein_distance",
    "regex_match",
    "starts_with",
]
