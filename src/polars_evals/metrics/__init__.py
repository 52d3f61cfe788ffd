"""All metrics: functions from an output and an expected column to an expression."""

from polars_evals.metrics.cosine import cosine, similarity
from polars_evals.metrics.edit import levenshtein, levenshtein_distance
from polars_evals.metrics.edit_rapidfuzz import damerau_levenshtein, hamming, indel, jaro_winkler, osa
from polars_evals.metrics.exact import contains, ends_with, exact_match, regex_match, starts_with
from polars_evals.metrics.overlap import jaccard, recall, rouge, token_f1
from polars_evals.metrics.quantities import length_between, numeric_match
from polars_evals.metrics.response import response
from polars_evals.metrics.structured import json_match, json_schema
from polars_evals.metrics.translation import bleu, chrf

__all__ = [
    "bleu",
    "chrf",
    "contains",
    "cosine",
    "damerau_levenshtein",
    "ends_with",
    "exact_match",
    "hamming",
    "indel",
    "jaccard",
    "jaro_winkler",
    "json_match",
    "json_schema",
    "length_between",
    "levenshtein",
    "levenshtein_distance",
    "numeric_match",
    "osa",
    "recall",
    "regex_match",
    "response",
    "rouge",
    "similarity",
    "starts_with",
    "token_f1",
]
