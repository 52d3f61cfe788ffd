"""All metrics: functions from an output and an expected column to an expression."""

from polars_evals.metrics.edit import (
    cer,
    damerau_levenshtein,
    hamming,
    indel,
    jaro_winkler,
    levenshtein,
    levenshtein_distance,
    osa,
)
from polars_evals.metrics.retrieval import ndcg, precision_at_k, recall_at_k, reciprocal_rank
from polars_evals.metrics.structured import json_fields, json_match, json_schema
from polars_evals.metrics.texts import (
    choice,
    contains,
    ends_with,
    exact_match,
    length_between,
    numeric_match,
    regex_match,
    similarity,
    starts_with,
)
from polars_evals.metrics.tool_calls import tool_calls, tool_calls_valid
from polars_evals.metrics.vectors import cosine, semantic
from polars_evals.metrics.words import bleu, chrf, gleu, jaccard, recall, response, rouge, token_f1, wer

__all__ = [
    "bleu",
    "cer",
    "choice",
    "chrf",
    "contains",
    "cosine",
    "damerau_levenshtein",
    "ends_with",
    "exact_match",
    "gleu",
    "hamming",
    "indel",
    "jaccard",
    "jaro_winkler",
    "json_fields",
    "json_match",
    "json_schema",
    "length_between",
    "levenshtein",
    "levenshtein_distance",
    "ndcg",
    "numeric_match",
    "osa",
    "precision_at_k",
    "recall",
    "recall_at_k",
    "reciprocal_rank",
    "regex_match",
    "response",
    "rouge",
    "semantic",
    "similarity",
    "starts_with",
    "token_f1",
    "tool_calls",
    "tool_calls_valid",
    "wer",
]
