"""Answers that failed or are missing, apart from those that are wrong: counted and judged by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.drift.columns import ANSWERED, ONLY_RUN, no_label, require_number, scores_and_labels
from polars_evals.suite.measure import Measure
from polars_evals.wording import counted, have, verb

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from polars_evals.drift.columns import Schema

# Null where a row has no answer, so that it is counted like everything that is missing.
HAS_ANSWER = "has_answer"
# The canonical column of references, and null where a row has none.
EXPECTED, HAS_EXPECTED = "expected", "has_expected"
# Where traces keep what became of a call.
OUTPUT, ERROR, FINISH = "output", "error", "finish_reason"
# What the makers of models call an answer that was cut off, or held back; in lower case.
CUT_OFF = ["length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit"]
HELD_BACK = [
    *("content_filter", "content_filtered", "safety", "refusal", "recitation", "blocklist", "spii"),
    *("prohibited_content", "image_safety", "guardrail_intervened"),
]
FAILED = ["error", "tool_error", "malformed_function_call"]


# The rows of a comparison that count answers.
WORDS = {
    ANSWERED: "share of items with an answer",
    "error": "share of items with an error",
    "truncated": "share of answers that were cut off",
    "filtered": "share of answers that were held back",
}
OUTCOMES = {
    name: Measure(name, lower_is_better=name != ANSWERED, bounds=(0, 1), quantiles=(), share=True)
    for name in WORDS
}


def require_measures(schema: Schema, measures: Collection[str], metrics: Collection[str]) -> None:
    """Raise unless the measures are columns of numbers, whose names no other row has."""
    for name in measures:
        require_number(schema, name, "measures")
        if name in metrics or name in OUTCOMES:
            what = "a metric" if name in metrics else "a built-in row about answers"
            raise ValueError(f"measures: {name!r} is also the name of {what}; rename the column")


def needed_for_answers(there: Collection[str], unanswered: str) -> list[str]:
    """Name the columns that tell what became of a call."""
    return [ERROR, FINISH, *([OUTPUT] if set_apart(there, unanswered) else [])]


def set_apart(there: Collection[str], unanswered: str) -> bool:
    """Say whether missing answers are set apart: if asked to, or if the table says what became of calls."""
    return unanswered == "apart" or (unanswered == "auto" and (ERROR in there or FINISH in there))


def outcomes(schema: Schema, metrics: Sequence[str]) -> list[pl.Expr]:
    """Return `error:score`, `truncated:score` and `filtered:score` where the table can tell."""
    found = {}
    failed, finish = error_of(schema), finish_of(schema)
    if failed is not None:
        found["error"] = failed.cast(pl.Float64)
    if finish is not None:
        found["truncated"] = finish.is_in(CUT_OFF).cast(pl.Float64)
        found["filtered"] = finish.is_in(HELD_BACK).cast(pl.Float64)
    kept = {name: share for name, share in found.items() if name not in metrics}
    return [e for name, share in kept.items() for e in (share.alias(f"{name}:score"), no_label(name))]


def can_tell(name: str, schema: Schema) -> bool:
    """Say whether a table has what a share of answers is made of."""
    if name == ANSWERED:
        return True
    return (error_of(schema) if name == "error" else finish_of(schema)) is not None


def finish_of(schema: Schema) -> pl.Expr | None:
    """Return why the model stopped, in lower case."""
    dtype = schema.get(FINISH)
    if dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical):
        return pl.col(FINISH).cast(pl.String).str.strip_chars().str.to_lowercase()
    return None


def error_of(schema: Schema) -> pl.Expr | None:
    """Return which calls failed."""
    said = []
    dtype = schema.get(ERROR)
    if dtype == pl.Boolean:
        said.append(pl.col(ERROR).fill_null(value=False))
    elif dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical):
        text = pl.col(ERROR).cast(pl.String).str.strip_chars()
        said.append((text.is_not_null() & (text != "")).fill_null(value=False))
    finish = finish_of(schema)
    if finish is not None:
        said.append(finish.is_in(FAILED).fill_null(value=False))
    return pl.any_horizontal(said) if said else None


def has_answer(schema: Schema, metrics: Sequence[str]) -> pl.Expr | None:
    """
    Return which rows have an answer that can be right or wrong; None if the table cannot tell.

    A row has none where the call failed, or where the output is missing and no metric found anything to
    score: a score above 0 was then made of another column.
    """
    failed = error_of(schema)
    missing = [] if failed is None else [failed]
    if OUTPUT in schema:
        nothing = pl.all_horizontal(
            pl.lit(value=True), *(pl.col(f"{name}_score").fill_null(0.0) <= 0 for name in metrics)
        )
        missing.append(pl.col(OUTPUT).is_null() & nothing)
    return ~pl.any_horizontal(missing) if missing else None


def scores_of_answers(schema: Schema, metrics: Sequence[str], unanswered: str) -> list[pl.Expr]:
    """Return scores and labels, without those of rows that have no answer, and which rows have one."""
    found = scores_and_labels(schema, metrics)
    flags = []
    known = has_answer(schema, metrics) if set_apart(schema, unanswered) else None
    if known is not None:
        found = [pl.when(known).then(one).alias(one.meta.output_name()) for one in found]
        flags.append(pl.when(known).then(pl.lit(value=True)).alias(HAS_ANSWER))
    if EXPECTED in schema:
        flags.append(pl.when(pl.col(EXPECTED).is_not_null()).then(pl.lit(value=True)).alias(HAS_EXPECTED))
    return [*found, *flags]


def with_shares(rows: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """
    Drop shares of what never happened, and add the share of rows with an answer: a score in every metric.

    A share of errors where there is none says nothing, and neither does one of answers where all are there.
    """
    never = [
        name
        for name in shares(rows)
        if name not in (ANSWERED, *metrics) and not (rows[f"{name}:score"] > 0).any()
    ]
    rows = rows.drop(f"{name}:{end}" for name in never for end in ("score", "pass"))
    if not metrics or ANSWERED in metrics:
        return rows
    share = pl.all_horizontal(pl.col(f"{name}:score").is_not_null() for name in metrics)
    counts = _can_be_missing(rows, share)
    if not rows.select((~share & counts).any()).item():
        return rows
    known = pl.when(counts).then(share.cast(pl.Float64))
    return rows.with_columns(known.alias(f"{ANSWERED}:score"), no_label(ANSWERED))


def _can_be_missing(rows: pl.DataFrame, has_scores: pl.Expr) -> pl.Expr:
    """Say which rows count: those that can be scored. One without a reference may have no score."""
    counts = pl.lit(value=True)
    if ONLY_RUN in rows.columns:
        counts &= pl.col(ONLY_RUN).is_not_null()
    if HAS_EXPECTED in rows.columns:
        counts &= pl.col(HAS_EXPECTED).is_not_null() | has_scores
    return counts


def describe_unlabelled(rows: pl.DataFrame) -> list[str]:
    """Say how many rows have no expected value. Where none has one, nothing is compared with it."""
    missing = rows[HAS_EXPECTED].null_count() if HAS_EXPECTED in rows.columns else 0
    if missing in (0, rows.height):
        return []
    return [
        f"{missing:,} of {counted(rows.height, 'row')} {verb(missing, 'has', 'have')} no expected value; "
        'metrics that need one score them 0.0, or leave them out with missing="unlabelled"'
    ]


def shares(rows: pl.DataFrame) -> list[str]:
    """Return the shares that a table has, in the order of rows."""
    return [name for name in OUTCOMES if f"{name}:score" in rows.columns]


def describe_unanswered(nulls: Mapping[str, int]) -> list[str]:
    """Say how many rows have no answer, and where they count."""
    if not (missing := nulls.get(HAS_ANSWER, 0)):
        return []
    return [
        f"{have(missing, 'row')} no answer (an error, or no output); "
        f"{verb(missing, 'it is', 'they are')} not in the scores, and {verb(missing, 'counts', 'count')} in "
        f"the row {ANSWERED!r}"
    ]
