"""The response evaluator: texts made comparable, then a word metric."""

from typing import Literal

import polars as pl

from polars_evals.lift import Fields, IntoText, Missing, lift
from polars_evals.metrics.overlap import WORD_FIELDS
from polars_evals.metrics.tokenizers import TOKENIZERS
from polars_evals.metrics.words import WordKernel
from polars_evals.options import check_choice, check_common, check_flags

ROUGE_FIELDS: Fields = {"precision": pl.Float64, "recall": pl.Float64, "f1": pl.Float64}
FIELDS: dict[str, Fields] = {
    "auto": ROUGE_FIELDS,
    "exact": {},
    "semantic": {**WORD_FIELDS, "union": pl.Int64},
    "rouge": ROUGE_FIELDS,
    "recall": WORD_FIELDS,
}


def response(
    output: IntoText,
    expected: IntoText,
    *,
    match_type: Literal["auto", "exact", "semantic", "rouge", "recall"] = "auto",
    tokenizer: Literal["auto", "rouge", "whitespace", "unicode", "characters"] = "auto",
    threshold: float = 0.8,
    case_sensitive: bool = False,
    normalize_whitespace: bool = True,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score a response as judge-llm's Response Evaluator does: list markers and white space do not count.

    Parameters
    ----------
    output
        The response to score, or the list of responses of a conversation.
    expected
        The response it should be, or one for each turn. For single responses, lists of several references:
        the best score counts.
    match_type
        `"rouge"` is the F1 of ROUGE-1 with stemming, `"semantic"` the Jaccard index of the word sets,
        `"recall"` the share of expected words, `"exact"` equality; `"auto"` is `"rouge"`.
    tokenizer
        What words are. `"auto"` is what judge-llm does where neither text has a letter or digit outside
        ASCII: runs of `a-z` and `0-9` for ROUGE, words between white space for the others. In other texts
        ROUGE finds words of any script, and each character of a script without spaces is a word. The other
        choices are those of `rouge`.
    threshold
        The least score that passes.
    case_sensitive
        Whether case counts.
    normalize_whitespace
        Whether to drop list markers at the start of lines (`1.`, `2)`, `-`, `*`, `•`) and the differences of
        white space. Without it, only white space at the ends is dropped.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `precision`, `recall` and `f1`, or the numbers of different words (`output_words`,
        `expected_words`, `overlap`, `union`), by `match_type`, and what concerns turns.

    Notes
    -----
    Responses that are empty on both sides score 1.0, on one side 0.0. A conversation's score is the average
    over its turns, rounded to 12 decimals, so that six turns of 0.8 pass a threshold of 0.8; conversations of
    different length score 0.0.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {
    ...         "output": ["1. Mercury\n2. Venus", "Mercury and Mars", None],
    ...         "expected": ["- mercury\n- venus"] * 3,
    ...     }
    ... )
    >>> df.select(pe.response("output", "expected", details=True)).unnest("response").select(
    ...     "score", "label", "precision", "recall"
    ... )
    shape: (3, 4)
    ┌───────┬───────┬───────────┬────────┐
    │ score ┆ label ┆ precision ┆ recall │
    │ ---   ┆ ---   ┆ ---       ┆ ---    │
    │ f64   ┆ enum  ┆ f64       ┆ f64    │
    ╞═══════╪═══════╪═══════════╪════════╡
    │ 1.0   ┆ pass  ┆ 1.0       ┆ 1.0    │
    │ 0.4   ┆ fail  ┆ 0.333333  ┆ 0.5    │
    │ 0.0   ┆ fail  ┆ null      ┆ null   │
    └───────┴───────┴───────────┴────────┘
    """
    check_common("response", threshold=threshold, missing=missing, details=details)
    check_choice("response", "match_type", match_type, FIELDS)
    check_choice("response", "tokenizer", tokenizer, TOKENIZERS)
    check_flags("response", case_sensitive=case_sensitive, normalize_whitespace=normalize_whitespace)

    # judge-llm's word sets are those of `str.split`, in every script.
    splits = tokenizer == "auto" and match_type in ("semantic", "recall")
    options = {
        "match_type": "rouge" if match_type == "auto" else match_type,
        "tokenizer": "whitespace" if splits else tokenizer,
        "fold_case": not case_sensitive,
        "normalize_whitespace": normalize_whitespace,
        "details": details,
    }
    return lift(
        "response",
        output,
        expected,
        WordKernel.of("response", **options),
        threshold=threshold,
        missing=missing,
        details=details,
        fields=FIELDS[match_type],
    )
