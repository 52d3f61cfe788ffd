"""Words in common: ROUGE, Jaccard, recall and SQuAD's F1, by the native kernels."""

from typing import Literal

import polars as pl

from polars_evals.lift import Fields, IntoText, Missing, lift
from polars_evals.metrics.tokenizers import check_tokenizer, native_name, tokenized
from polars_evals.metrics.words import WordKernel
from polars_evals.options import check_choice, check_common, check_flags

VARIANTS = (*(f"rouge{order}" for order in range(1, 10)), "rougeL", "rougeLsum")
MEASURES = ("f1", "precision", "recall")

TOKEN_FIELDS: Fields = {"output_tokens": pl.Int64, "expected_tokens": pl.Int64, "overlap": pl.Int64}
WORD_FIELDS: Fields = {"output_words": pl.Int64, "expected_words": pl.Int64, "overlap": pl.Int64}


def rouge(
    output: IntoText,
    expected: IntoText,
    *,
    variant: str = "rouge1",
    measure: Literal["f1", "precision", "recall"] = "f1",
    stemmer: bool = True,
    tokenizer: str = "auto",
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score how many words, n-grams or words in order the output shares with expected.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should be. Lists of several references: the one with the best F1 counts.
    variant
        `"rouge1"` to `"rouge9"` count shared n-grams, `"rougeL"` the longest common subsequence of words,
        `"rougeLsum"` the same line by line. The result is named after it.
    measure
        `"recall"` is the share of expected that output covers, `"precision"` the share of output that is in
        expected, `"f1"` their harmonic mean.
    stemmer
        Whether inflected English words count as equal: *running* and *runs* (Porter's stemmer).
    tokenizer
        What words are, in the lowercased text. `"auto"` is `"rouge"` where neither text of a pair has a
        letter or digit outside ASCII, and else finds words of any script, with each character of a script
        without spaces (Chinese, Japanese, Thai) a word of its own. `"rouge"` finds runs of `a-z` and `0-9`,
        as rouge-score does;
        `"unicode"` words of any script, as the regular expression `\w+`; `"whitespace"` splits at white
        space; `"characters"` takes every character but white space, for Chinese, Japanese or Thai. Anything
        else is a regular expression that finds words.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `precision`, `recall`, `f1`, `output_tokens`, `expected_tokens`, `overlap` (shared n-grams, or
        words of the subsequence), and what concerns turns.

    Notes
    -----
    Scores are those of the package rouge-score 0.1.2, to the last bit, with the tokenizer `"rouge"`, and with
    `"auto"` for texts without letters or digits outside ASCII. rouge-score sees nothing but English letters
    and digits: Russian or Chinese texts score 0.0, even if they are equal. The other tokenizers do not have
    that gap, and score 1.0 for equal texts without any word. Whatever the tokenizer, only words of more than
    three characters, all of them `a-z` or `0-9`, are stemmed.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {
    ...         "output": ["Paris is the capital of France", "It's Lyon", None],
    ...         "expected": "The capital of France is Paris",
    ...     }
    ... )
    >>> df.select(pe.rouge("output", "expected"), pe.rouge("output", "expected", variant="rougeL")).unnest(
    ...     "rouge1", "rougeL", separator="_"
    ... )
    shape: (3, 4)
    ┌──────────────┬──────────────┬──────────────┬──────────────┐
    │ rouge1_score ┆ rouge1_label ┆ rougeL_score ┆ rougeL_label │
    │ ---          ┆ ---          ┆ ---          ┆ ---          │
    │ f64          ┆ enum         ┆ f64          ┆ enum         │
    ╞══════════════╪══════════════╪══════════════╪══════════════╡
    │ 1.0          ┆ pass         ┆ 0.666667     ┆ fail         │
    │ 0.0          ┆ fail         ┆ 0.0          ┆ fail         │
    │ 0.0          ┆ fail         ┆ 0.0          ┆ fail         │
    └──────────────┴──────────────┴──────────────┴──────────────┘
    """
    check_common("rouge", threshold=threshold, missing=missing, details=details)
    check_choice("rouge", "variant", variant, VARIANTS)
    check_choice("rouge", "measure", measure, MEASURES)
    check_flags("rouge", stemmer=stemmer)
    check_tokenizer("rouge", tokenizer)

    options = {
        "variant": variant,
        "measure": measure,
        "tokenizer": native_name(tokenizer),
        "stemmer": stemmer,
        # References are ranked by F1, whatever the measure.
        "details": details or measure != "f1",
    }
    return lift(
        "rouge",
        output,
        expected,
        tokenized(
            WordKernel.of("rouge", **options), tokenizer, fold_case=True, by_line=variant == "rougeLsum"
        ),
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"precision": pl.Float64, "recall": pl.Float64, "f1": pl.Float64, **TOKEN_FIELDS},
        rank_by="score" if measure == "f1" else "f1",
        name=variant,
    )


def jaccard(
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: str = "whitespace",
    case_sensitive: bool = False,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score the words in common among all words of both texts, each counted once.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should be. Lists of several references: the best score counts.
    tokenizer
        What words are: `"whitespace"` splits at white space, so that punctuation stays with its word;
        `"unicode"` finds words of any script, as the regular expression `\w+`; `"rouge"` runs of `a-z` and
        `0-9` in the lowercased text; `"characters"` takes every character but white space; `"auto"` chooses
        for each pair as `rouge` does. Anything else is a regular expression that finds words.
    case_sensitive
        Whether case counts.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append the numbers of different words, `output_words`, `expected_words`, `overlap` and `union`, and
        what concerns turns.

    Notes
    -----
    Two texts without any word score 1.0 (with the tokenizer `"auto"` only if they are equal).

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["blue green yellow", "Green red blue", None]})
    >>> df.with_columns(pe.jaccard("output", pl.lit("red blue green"))).unnest("jaccard")
    shape: (3, 3)
    ┌───────────────────┬───────┬───────┐
    │ output            ┆ score ┆ label │
    │ ---               ┆ ---   ┆ ---   │
    │ str               ┆ f64   ┆ enum  │
    ╞═══════════════════╪═══════╪═══════╡
    │ blue green yellow ┆ 0.5   ┆ fail  │
    │ Green red blue    ┆ 1.0   ┆ pass  │
    │ null              ┆ 0.0   ┆ fail  │
    └───────────────────┴───────┴───────┘
    """
    return word_sets(
        "jaccard",
        output,
        expected,
        tokenizer=tokenizer,
        case_sensitive=case_sensitive,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={**WORD_FIELDS, "union": pl.Int64},
    )


def recall(
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: str = "whitespace",
    case_sensitive: bool = False,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score the share of the words of expected that output has, each counted once.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text whose words it should have. Lists of several references: the best score counts.
    tokenizer
        What words are: `"whitespace"` splits at white space, so that punctuation stays with its word;
        `"unicode"` finds words of any script, as the regular expression `\w+`; `"rouge"` runs of `a-z` and
        `0-9` in the lowercased text; `"characters"` takes every character but white space; `"auto"` chooses
        for each pair as `rouge` does. Anything else is a regular expression that finds words.
    case_sensitive
        Whether case counts.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append the numbers of different words, `output_words`, `expected_words` and `overlap`, and what
        concerns turns.

    Notes
    -----
    What output says beyond expected costs nothing. Two texts without any word score 1.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["red blue green yellow", "red", None]})
    >>> df.with_columns(pe.recall("output", pl.lit("red blue"))).unnest("recall")
    shape: (3, 3)
    ┌───────────────────────┬───────┬───────┐
    │ output                ┆ score ┆ label │
    │ ---                   ┆ ---   ┆ ---   │
    │ str                   ┆ f64   ┆ enum  │
    ╞═══════════════════════╪═══════╪═══════╡
    │ red blue green yellow ┆ 1.0   ┆ pass  │
    │ red                   ┆ 0.5   ┆ fail  │
    │ null                  ┆ 0.0   ┆ fail  │
    └───────────────────────┴───────┴───────┘
    """
    return word_sets(
        "recall",
        output,
        expected,
        tokenizer=tokenizer,
        case_sensitive=case_sensitive,
        threshold=threshold,
        missing=missing,
        details=details,
        fields=WORD_FIELDS,
    )


def word_sets(
    metric: str,
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: str,
    case_sensitive: bool,
    threshold: float,
    missing: Missing,
    details: bool,
    fields: Fields,
) -> pl.Expr:
    """Make the expression of a metric on word sets."""
    check_common(metric, threshold=threshold, missing=missing, details=details)
    check_flags(metric, case_sensitive=case_sensitive)
    check_tokenizer(metric, tokenizer)

    options = {"tokenizer": native_name(tokenizer), "fold_case": not case_sensitive, "details": details}
    return lift(
        metric,
        output,
        expected,
        tokenized(WordKernel.of(metric, **options), tokenizer, fold_case=not case_sensitive),
        threshold=threshold,
        missing=missing,
        details=details,
        fields=fields,
    )


def token_f1(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the words in common as SQuAD does: without case, punctuation and articles.

    Parameters
    ----------
    output
        The answer to score.
    expected
        The right answer. Lists of several right answers: the best score counts.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `precision`, `recall`, `output_tokens`, `expected_tokens`, `overlap`, and what concerns turns.

    Notes
    -----
    The score is the harmonic mean of precision and recall over the words, repeated ones counted as often as
    both have them. Two answers of which nothing is left score 1.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The Eiffel Tower!", "Eiffel's tower, in Paris", None]})
    >>> df.with_columns(pe.token_f1("output", pl.lit("eiffel tower"))).unnest("token_f1")
    shape: (3, 3)
    ┌──────────────────────────┬──────────┬───────┐
    │ output                   ┆ score    ┆ label │
    │ ---                      ┆ ---      ┆ ---   │
    │ str                      ┆ f64      ┆ enum  │
    ╞══════════════════════════╪══════════╪═══════╡
    │ The Eiffel Tower!        ┆ 1.0      ┆ pass  │
    │ Eiffel's tower, in Paris ┆ 0.333333 ┆ fail  │
    │ null                     ┆ 0.0      ┆ fail  │
    └──────────────────────────┴──────────┴───────┘
    """
    check_common("token_f1", threshold=threshold, missing=missing, details=details)
    return lift(
        "token_f1",
        output,
        expected,
        WordKernel.of("token_f1", details=details),
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"precision": pl.Float64, "recall": pl.Float64, **TOKEN_FIELDS},
    )
