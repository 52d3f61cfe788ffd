"""All metrics: functions from an output and an expected column to an expression."""

from polars_evals.metrics.choice import choice
from polars_evals.metrics.cosine import cosine, similarity
from polars_evals.metrics.edit import levenshtein, levenshtein_distance
from polars_evals.metrics.edit_variants import damerau_levenshtein, hamming, indel, jaro_winkler, osa
from polars_evals.metrics.exact import contains, ends_with, exact_match, regex_match, starts_with
from polars_evals.metrics.gleu import gleu
from polars_evals.metrics.json_fields import json_fields
from polars_evals.metrics.overlap import jaccard, recall, rouge, token_f1
from polars_evals.metrics.quantities import length_between, numeric_match
from polars_evals.metrics.response import response
from polars_evals.metrics.retrieval import ndcg, precision_at_k, recall_at_k, reciprocal_rank
from polars_evals.metrics.semantic import semantic
from polars_evals.metrics.speech import cer, wer
from polars_evals.metrics.structured import json_match, json_schema
from polars_evals.metrics.tool_calls import tool_calls
from polars_evals.metrics.translation import bleu, chrf

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
    "wer",
]
