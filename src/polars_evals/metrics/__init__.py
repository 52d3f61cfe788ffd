"""All metrics: functions from an output and an expected column to an expression."""

from polars_evals.metrics.edit import levenshtein, levenshtein_distance
from polars_evals.metrics.exact import contains, ends_with, exact_match, regex_match, starts_with
from polars_evals.metrics.overlap import jaccard, recall, rouge, token_f1
from polars_evals.metrics.response import response
from polars_evals.metrics.translation import bleu, chrf

__all__ = [
    "bleu",
    "chrf",
    "contains",
    "ends_with",
    "exact_match",
    "jaccard",
    "levenshtein",
    "levenshtein_distance",
    "recall",
    "regex_match",
    "response",
    "rouge",
    "starts_with",
    "token_f1",
]
