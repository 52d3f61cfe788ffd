"""Words and n-grams in common: ROUGE, Jaccard, recall, SQuAD's F1, BLEU, GLEU, chrF, word errors."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args

import polars as pl

from polars_evals.expressions.native import as_expr, call, metric
from polars_evals.expressions.options import (
    Amount,
    Fraction,
    IntoText,
    Missing,
    NgramOrder,
    Positive,
    Range,
    check_options,
    check_pattern,
)
from polars_evals.wording import did_you_mean, shown

__all__ = ["bleu", "chrf", "gleu", "jaccard", "recall", "response", "rouge", "token_f1", "wer"]

Variant = Literal[
    "rouge1", "rouge2", "rouge3", "rouge4", "rouge5", "rouge6", "rouge7", "rouge8", "rouge9",
    "rougeL", "rougeLsum",
]  # fmt: skip
VARIANTS: tuple[str, ...] = get_args(Variant)

TOKENIZERS = ("auto", "rouge", "whitespace", "unicode", "characters")
# sacrebleu's other tokenizers, which read models or dictionaries of other packages.
FOREIGN_TOKENIZERS = ("zh", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "spBLEU-1K")
# Smoothing methods of BLEU, and the value that stands for None.
SMOOTHING = {"exp": 0.0, "floor": 0.1, "add-k": 1.0, "none": 0.0}

# Words that Polars found reach the kernels as one text, joined with a separator that no word contains.
SEPARATOR = "\x1f"
ESCAPES = {"\x1e": "\x1e0", SEPARATOR: "\x1e1", "\n": "\x1e2"}


def rouge(
    output: IntoText,
    expected: IntoText,
    *,
    variant: Variant = "rouge1",
    measure: Literal["f1", "precision", "recall"] = "f1",
    stemmer: bool = True,
    tokenizer: str = "auto",
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score the n-grams, or the longest common subsequence of words, that output and expected share.

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
        How to split the lowercased text into words. `"auto"` is `"rouge"` if no letter or digit of a pair is
        outside ASCII. Otherwise it finds words of any script, and each letter of a script without spaces
        (Chinese, Japanese, Thai) with its marks is a word. `"rouge"` finds runs of `a-z` and `0-9`, as
        rouge-score does; `"unicode"` words of any script, as the regular expression `\w+`; `"whitespace"`
        splits at white space; `"characters"` takes every character but white space. Anything else is a
        regular expression that finds words.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `precision`, `recall`, `f1`, `output_tokens`, `expected_tokens`, `overlap` (shared n-grams, or
        words of the subsequence), and the fields for conversations.

    Notes
    -----
    Scores are those of the package rouge-score 0.1.2, to the last bit, with the tokenizer `"rouge"`, and
    with `"auto"` for texts without letters or digits outside ASCII. rouge-score reads only English letters
    and digits: Russian or Chinese texts score 0.0, even if they are equal. The other tokenizers read all
    scripts, and score 1.0 for equal texts without any word. All tokenizers stem only words of more than
    three characters that consist of `a-z` and `0-9`.

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
    arguments = locals()
    return _word_metric(rouge, arguments, fold_case=True, by_line=variant == "rougeLsum").alias(variant)


def jaccard(
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: str = "auto",
    case_sensitive: bool = False,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score the shared distinct words, as a share of all distinct words of both texts.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Of several references the best counts.
    tokenizer
        How to split the text into words. `"auto"` is `"whitespace"`, but if a text of the pair has letters
        of a script without spaces (Chinese, Japanese, Thai), each such letter with its marks is a word, and
        the other words are those of `"unicode"`. `"whitespace"` splits at white space, so that punctuation
        stays with its word; `"unicode"` finds words of any script, as the regular expression `\w+`;
        `"rouge"` runs of `a-z` and `0-9` in the lowercased text; `"characters"` takes every character but
        white space. Anything else is a regular expression that finds words.
    case_sensitive
        Whether to distinguish case.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append the numbers of distinct words, `output_words`, `expected_words`, `overlap` and `union`, and
        the fields for conversations.

    Notes
    -----
    Two texts without any word score 1.0.

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
    return _word_metric(jaccard, locals(), fold_case=not case_sensitive)


def recall(
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: str = "auto",
    case_sensitive: bool = False,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score the share of the distinct words of expected that output has too.

    Parameters
    ----------
    output, expected
        The text to score, and the text whose words it should have. Of several references the best counts.
    tokenizer, case_sensitive, threshold, missing
        As in `jaccard`.
    details
        Append the numbers of distinct words, `output_words`, `expected_words` and `overlap`, and the fields
        for conversations.

    Notes
    -----
    Additional words of the output do not lower the score. Two texts without any word score 1.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["red blue green yellow", "red", None]})
    >>> df.select(pe.recall("output", pl.lit("red blue"))).unnest("recall")["score"].to_list()
    [1.0, 0.5, 0.0]
    """
    return _word_metric(recall, locals(), fold_case=not case_sensitive)


def token_f1(
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: Literal["auto", "whitespace", "unicode", "characters"] = "auto",
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the shared words as SQuAD does: without case, punctuation and articles.

    Parameters
    ----------
    output, expected
        The answer to score, and the right answer. Of several right answers the best counts.
    tokenizer
        How to split the text into words, after case, punctuation and articles are removed. `"auto"` is
        `"whitespace"`, as SQuAD has it, but if a text of the pair has letters of a script without spaces
        (Chinese, Japanese, Thai), each such letter with its marks is a word. The others are those of
        `jaccard`.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `precision`, `recall`, `output_tokens`, `expected_tokens`, `overlap`, and the fields for
        conversations.

    Notes
    -----
    The score is the harmonic mean of precision and recall over the words. A repeated word counts as often as
    both texts have it. Two answers without words score 1.0. Scores equal SQuAD's unless a text has letters
    of a script without spaces.

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
    return metric(token_f1, locals())


def wer(
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: str = "auto",
    case_sensitive: bool = False,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score 1 − the word error rate, and at least 0.

    Parameters
    ----------
    output, expected
        The text to score, such as a transcript, and what was said. Of several references the best counts.
    tokenizer
        How to split the text into words. `"auto"` is `"unicode"`, but if a text of the pair has letters of a
        script without spaces (Chinese, Japanese, Thai), each such letter with its marks is a word.
        `"unicode"` finds words of any script, as the regular expression `\w+`; `"whitespace"` splits at
        white space, as jiwer does at spaces: to jiwer, words with a single newline or tab between them are
        one word; `"rouge"` and `"characters"` are those of `rouge`. Anything else is a regular expression
        that finds words.
    case_sensitive
        Whether to distinguish case.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `substitutions`, `insertions`, `deletions` and `length` (the words of expected), and the
        fields for conversations.

    Notes
    -----
    The word error rate is the smallest number of words to replace, insert or delete, divided by the number
    of words of expected. Two texts without words score 1.0 if they are equal, else 0.0. If only one text has
    no words, the score is 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["the cat sat", "The cat sat on a mat!", None]})
    >>> score = pe.wer("output", pl.lit("the cat sat on the mat")).struct.field("score")
    >>> df.select(score)["score"].round(2).to_list()
    [0.5, 0.83, 0.0]
    """
    return _word_metric(wer, locals(), fold_case=not case_sensitive)


def response(
    output: IntoText,
    expected: IntoText,
    *,
    match_type: Literal["auto", "exact", "semantic", "rouge", "recall"] = "auto",
    tokenizer: Literal["auto", "rouge", "whitespace", "unicode", "characters"] = "auto",
    threshold: Fraction = 0.8,
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
        The expected response, or one for each turn. For single responses, with a list of references the best
        score counts.
    match_type
        `"rouge"` is the F1 of ROUGE-1 with stemming, `"semantic"` the Jaccard index of the word sets,
        `"recall"` the share of expected words, `"exact"` equality; `"auto"` is `"rouge"`.
    tokenizer
        How to split the text into words. `"auto"` works like judge-llm if no letter or digit of a pair is
        outside ASCII: runs of `a-z` and `0-9` for ROUGE, words between white space for the others. In other
        texts, ROUGE finds words of any script, and each character of a script without spaces is a word. The
        other choices are those of `rouge`.
    threshold
        The lowest score that passes.
    case_sensitive
        Whether to distinguish case.
    normalize_whitespace
        Whether to ignore list markers at the start of lines (`1.`, `2)`, `-`, `*`, `•`) and differences in
        white space. Otherwise only white space at the ends is ignored.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `precision`, `recall` and `f1`, or the numbers of distinct words (`output_words`,
        `expected_words`, `overlap`, `union`), by `match_type`, and the fields for conversations.

    Notes
    -----
    Two empty responses score 1.0. If only one is empty, the score is 0.0. A conversation's score is the
    average over its turns, rounded to 12 decimals, so that six turns of 0.8 pass a threshold of 0.8;
    conversations of different length score 0.0.

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
    return metric(response, locals())


def gleu(
    output: IntoText,
    expected: IntoText,
    *,
    min_len: Positive = 1,
    max_len: NgramOrder = 4,
    case_sensitive: bool = True,
    threshold: Fraction = 0.5,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the shared n-grams, as a share of the n-grams of the text with more n-grams.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Of several references the best counts.
    min_len, max_len
        The shortest and the longest n-grams, in words between white space.
    case_sensitive
        Whether to distinguish case.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `overlap`, `output_ngrams` and `expected_ngrams`, and the fields for conversations.

    Notes
    -----
    The numbers are those of NLTK's `sentence_gleu`: the smaller of precision and recall over all n-grams.
    Two texts without words score 1.0. If only one text has no words, the score is 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["the cat sat on the mat", "a dog ran", None]})
    >>> df.select(pe.gleu("output", pl.lit("the cat is on the mat"))).unnest("gleu")["score"].to_list()
    [0.5, 0.0, 0.0]
    """
    if isinstance(min_len, int) and isinstance(max_len, int) and max_len < min_len:
        raise ValueError(f"gleu: `max_len` must be a whole number from {min_len} to 100, got {max_len}")
    return metric(gleu, locals())


def bleu(
    output: IntoText,
    expected: IntoText,
    *,
    tokenize: Literal["13a", "char", "intl", "none"] = "13a",
    lowercase: bool = False,
    smooth_method: Literal["exp", "floor", "add-k", "none"] = "exp",
    smooth_value: Amount | None = None,
    max_ngram_order: NgramOrder = 4,
    effective_order: bool = True,
    threshold: Fraction = 0.5,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the share of word n-grams that expected has too, with a penalty for short outputs: sentence BLEU.

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
        How to count an order of n-grams without any match: `"exp"`, `"floor"`, `"add-k"` or `"none"`.
    smooth_value
        The value of `"floor"` (0.1 where None) and `"add-k"` (1 where None).
    max_ngram_order
        The longest n-grams.
    effective_order
        Whether to leave out orders of n-grams that are longer than the output.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `brevity_penalty`, `output_tokens`, `expected_tokens` and `overlap_1` to `overlap_4` (shared
        n-grams, by order), and the fields for conversations.

    Notes
    -----
    Options, defaults and numbers are those of sacrebleu 2.6's `sentence_bleu`, divided by 100. BLEU was made
    for whole corpora: a single sentence in other words scores low.

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
    arguments = locals()
    if tokenize in FOREIGN_TOKENIZERS:
        raise ValueError(
            f"bleu: the tokenizer {tokenize!r} needs models or dictionaries of other packages; tokenize the "
            'text yourself, join the tokens with spaces and use tokenize="none", or use "char" or "intl"'
        )
    return metric(bleu, arguments, **_native_options("bleu", arguments))


def chrf(
    output: IntoText,
    expected: IntoText,
    *,
    char_order: NgramOrder = 6,
    word_order: Annotated[int, Range(0, 100)] = 0,
    beta: Annotated[float, Range(1e-6, 1e6)] = 2,
    lowercase: bool = False,
    whitespace: bool = False,
    eps_smoothing: bool = False,
    threshold: Fraction = 0.5,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the character n-grams that output and expected share: sentence chrF, and chrF++ with words.

    Parameters
    ----------
    output, expected
        The translation to score, and the reference. Of several references the best counts.
    char_order
        The longest character n-grams.
    word_order
        The longest word n-grams, which count as well; 2 makes it chrF++.
    beta
        The weight of recall relative to precision.
    lowercase
        Whether to ignore case.
    whitespace
        Whether white space is part of the n-grams.
    eps_smoothing
        Whether orders without n-grams count as nearly zero, as in chrF++.py and NLTK. By default they are
        left out.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `precision` and `recall`, averages over the orders, `output_characters`, `expected_characters`
        and `overlap_1` to `overlap_6` (shared character n-grams, by order), and the fields for
        conversations.

    Notes
    -----
    Options, defaults and numbers are those of sacrebleu 2.6's `sentence_chrf`, divided by 100. It needs no
    tokenizer, so it suits languages with rich inflection or without spaces.

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
    return metric(chrf, locals())


def is_word_metric(function: Callable[..., Any]) -> bool:
    """Whether one pass over two columns can score a metric together with others: those of this module."""
    return function.__module__ == __name__


def _native_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options of a word metric that the native function reads in another form."""
    if name == "bleu" and options["smooth_value"] is None:
        return {"smooth_value": SMOOTHING.get(options["smooth_method"], 0.0)}
    return {}


def share_words(
    output: pl.Expr, expected: pl.Expr, metrics: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> pl.Expr:
    """Score two columns of texts with several word metrics in one pass: a struct of results, by name."""
    chosen = [
        {**options, **_native_options(kind, options), "metric": kind, "name": name}
        for name, (kind, options) in metrics.items()
    ]
    return call("words", [output, expected], {"metric": "words", "metrics": chosen})


def _word_metric(
    function: Callable[..., pl.Expr], arguments: Mapping[str, Any], *, fold_case: bool, by_line: bool = False
) -> pl.Expr:
    """Make the expression of a metric over words, which a regular expression may find first.

    Polars' regular expressions take linear time. With `by_line` they see one line at a time.
    """
    name, tokenizer = function.__name__, arguments["tokenizer"]
    check_options(function, arguments)
    _check_tokenizer(name, tokenizer)
    if tokenizer in TOKENIZERS:
        return metric(function, arguments)
    options = {"name": name, "argument": "output"}
    sides = [as_expr(name, side, arguments[side]) for side in ("output", "expected")]
    words = _find_words(pl.element(), tokenizer, fold_case=fold_case, by_line=by_line)
    found = [call("as_text_lists", [side], options).list.eval(words) for side in sides]
    return metric(function, arguments, more=found, words=True)


def _check_tokenizer(metric: str, tokenizer: object) -> None:
    if not isinstance(tokenizer, str) or re.fullmatch(r"[\w-]*", tokenizer):
        if tokenizer in TOKENIZERS:
            return
        listed = ", ".join(f'"{name}"' for name in TOKENIZERS)
        raise ValueError(
            f"{metric}: `tokenizer` must be one of {listed} or a regular expression that finds words, "
            f"got {shown(tokenizer)}{did_you_mean(tokenizer, TOKENIZERS)}"
        )
    check_pattern(metric, tokenizer)


def _find_words(text: pl.Expr, pattern: str, *, fold_case: bool, by_line: bool) -> pl.Expr:
    """Replace each text by its words, joined. One without words becomes a separator and the text itself."""
    text = text.str.to_lowercase() if fold_case else text
    if by_line:
        words = text.str.split("\n").list.eval(_join_words(pl.element(), pattern)).list.join("\n")
    else:
        words = _join_words(text, pattern)
    is_empty = words.str.strip_chars("\n") == ""
    return pl.when(is_empty).then(SEPARATOR + _escape(text)).otherwise(words)


def _join_words(text: pl.Expr, pattern: str) -> pl.Expr:
    """Find all words and join them; empty matches are none."""
    word = pl.element()
    return text.str.extract_all(pattern).list.eval(_escape(word).filter(word != "")).list.join(SEPARATOR)


def _escape(text: pl.Expr) -> pl.Expr:
    """Write the separator and the ends of lines in another way, so that different texts stay different."""
    for special, escaped in ESCAPES.items():
        text = text.str.replace_all(special, escaped, literal=True)
    return text
