"""BLEU and chrF, the metrics of machine translation, by the native kernels."""

from typing import Literal

import polars as pl

from polars_evals.lift import IntoText, Missing, lift
from polars_evals.metrics.words import WordKernel
from polars_evals.options import check_amount, check_choice, check_common, check_flags, check_whole

TOKENIZERS = ("13a", "char", "intl", "none")
# sacrebleu's other tokenizers, which read models or dictionaries of other packages.
FOREIGN_TOKENIZERS = ("zh", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "spBLEU-1K")
# Smoothing methods, and the value that stands for None.
SMOOTHING = {"exp": 0.0, "floor": 0.1, "add-k": 1.0, "none": 0.0}
LARGEST_ORDER = 100


def bleu(
    output: IntoText,
    expected: IntoText,
    *,
    tokenize: Literal["13a", "char", "intl", "none"] = "13a",
    lowercase: bool = False,
    smooth_method: Literal["exp", "floor", "add-k", "none"] = "exp",
    smooth_value: float | None = None,
    max_ngram_order: int = 4,
    effective_order: bool = True,
    threshold: float = 0.5,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the word n-grams of output that expected has, with a penalty for short outputs: sentence BLEU.

    Parameters
    ----------
    output
        The translation to score.
    expected
        The reference. Lists of several references: the best score counts, one reference at a time.
    tokenize
        `"13a"` splits as the WMT campaigns did, `"intl"` at punctuation and symbols of any script, `"char"`
        takes every character, `"none"` splits at white space.
    lowercase
        Whether to ignore case.
    smooth_method
        What n-grams of an order without any match count: `"exp"`, `"floor"`, `"add-k"` or `"none"`.
    smooth_value
        The value of `"floor"` (0.1 where None) and `"add-k"` (1 where None).
    max_ngram_order
        The longest n-grams.
    effective_order
        Whether to leave out the orders for which output is too short.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `brevity_penalty`, `output_tokens` and `expected_tokens`, and what concerns turns.

    Notes
    -----
    Options, defaults and numbers are those of sacrebleu 2.6's `sentence_bleu`, divided by 100. BLEU was made
    for whole corpora: single sentences that say the same in other words score low.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The cat sat on the mat.", "A cat was sitting on the mat.", None]})
    >>> df.with_columns(pe.bleu("output", pl.lit("The cat sat on the mat."))).unnest("bleu")
    shape: (3, 3)
    ┌───────────────────────────────┬──────────┬───────┐
    │ output                        ┆ score    ┆ label │
    │ ---                           ┆ ---      ┆ ---   │
    │ str                           ┆ f64      ┆ enum  │
    ╞═══════════════════════════════╪══════════╪═══════╡
    │ The cat sat on the mat.       ┆ 1.0      ┆ pass  │
    │ A cat was sitting on the mat. ┆ 0.365555 ┆ fail  │
    │ null                          ┆ 0.0      ┆ fail  │
    └───────────────────────────────┴──────────┴───────┘
    """
    check_common("bleu", threshold=threshold, missing=missing, details=details)
    if tokenize in FOREIGN_TOKENIZERS:
        raise ValueError(
            f"bleu: the tokenizer {tokenize!r} needs models or dictionaries of other packages; tokenize the "
            'text yourself, join the tokens with spaces and use tokenize="none", or use "char" or "intl"'
        )
    check_choice("bleu", "tokenize", tokenize, TOKENIZERS)
    check_choice("bleu", "smooth_method", smooth_method, SMOOTHING)
    check_flags("bleu", lowercase=lowercase, effective_order=effective_order)
    check_whole("bleu", "max_ngram_order", max_ngram_order, least=1, most=LARGEST_ORDER)
    value = SMOOTHING[smooth_method] if smooth_value is None else smooth_value
    check_amount("bleu", "smooth_value", value)

    options = {
        "tokenize": tokenize,
        "lowercase": lowercase,
        "smooth_method": smooth_method,
        "smooth_value": float(value),
        "max_ngram_order": max_ngram_order,
        "effective_order": effective_order,
        "details": details,
    }
    return lift(
        "bleu",
        output,
        expected,
        WordKernel.of("bleu", **options),
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"brevity_penalty": pl.Float64, "output_tokens": pl.Int64, "expected_tokens": pl.Int64},
    )


def chrf(
    output: IntoText,
    expected: IntoText,
    *,
    char_order: int = 6,
    word_order: int = 0,
    beta: float = 2,
    lowercase: bool = False,
    whitespace: bool = False,
    eps_smoothing: bool = False,
    threshold: float = 0.5,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the character n-grams that output and expected share: sentence chrF, and chrF++ with words.

    Parameters
    ----------
    output
        The translation to score.
    expected
        The reference. Lists of several references: the best score counts.
    char_order
        The longest character n-grams.
    word_order
        The longest word n-grams, which count as well; 2 makes it chrF++.
    beta
        How much more recall counts than precision.
    lowercase
        Whether to ignore case.
    whitespace
        Whether white space is part of the n-grams.
    eps_smoothing
        Whether orders without n-grams count as nearly zero, as in chrF++.py and NLTK, and are not left out.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `precision` and `recall`, averages over the orders, and what concerns turns.

    Notes
    -----
    Options, defaults and numbers are those of sacrebleu 2.6's `sentence_chrf`, divided by 100. It needs no
    tokenizer, so it suits languages of rich inflection and those without spaces.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The cat sat on the mat.", "A cat was sitting on the mat.", None]})
    >>> df.with_columns(pe.chrf("output", pl.lit("The cat sat on the mat."))).unnest("chrf")
    shape: (3, 3)
    ┌───────────────────────────────┬──────────┬───────┐
    │ output                        ┆ score    ┆ label │
    │ ---                           ┆ ---      ┆ ---   │
    │ str                           ┆ f64      ┆ enum  │
    ╞═══════════════════════════════╪══════════╪═══════╡
    │ The cat sat on the mat.       ┆ 1.0      ┆ pass  │
    │ A cat was sitting on the mat. ┆ 0.468338 ┆ fail  │
    │ null                          ┆ 0.0      ┆ fail  │
    └───────────────────────────────┴──────────┴───────┘
    """
    check_common("chrf", threshold=threshold, missing=missing, details=details)
    check_whole("chrf", "char_order", char_order, least=1, most=LARGEST_ORDER)
    check_whole("chrf", "word_order", word_order, least=0, most=LARGEST_ORDER)
    check_amount("chrf", "beta", beta, least=1e-6, most=1e6)
    check_flags("chrf", lowercase=lowercase, whitespace=whitespace, eps_smoothing=eps_smoothing)

    options = {
        "char_order": char_order,
        "word_order": word_order,
        "beta": float(beta),
        "lowercase": lowercase,
        "whitespace": whitespace,
        "eps_smoothing": eps_smoothing,
        "details": details,
    }
    return lift(
        "chrf",
        output,
        expected,
        WordKernel.of("chrf", **options),
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"precision": pl.Float64, "recall": pl.Float64},
    )
