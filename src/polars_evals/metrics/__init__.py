"""All metrics: functions from an output and an expected column to an expression."""

from polars_evals.metrics.cosine import cosine, similarity
from polars_evals.metrics.edit import levenshtein, levenshtein_distance
from polars_evals.metrics.edit_rapidfuzz import damerau_levenshtein, hamming, indel, jaro_winkler, osa
from polars_evals.metrics.exact import contains, ends_with, exact_match, regex_match, starts_with
from polars_evals.metrics.quantities import length_between, numeric_match
from polars_evals.metrics.structured import json_match, json_schema

__all__ = [
    "contains",
    "cosine",
    "damerau_levenshtein",
    "ends_with",
    "exact_match",
    "hamming",
    "indel",
    "jaro_winkler",
    "json_match",
    "json_schema",
    "length_between",
    "levenshtein",
    "levenshtein_distance",
    "numeric_match",
    "osa",
    "regex_match",
    "similarity",
    "starts_with",
]
