"""Texts compared as they are: equality, substrings, patterns, lengths, numbers, choices, n-grams."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from polars_evals.expressions.native import as_expr, call, metric
from polars_evals.expressions.options import (
    Amount,
    Fraction,
    IntoText,
    Missing,
    Natural,
    Positive,
    check_choices,
    check_options,
    check_pattern,
)

__all__ = [
    "choice",
    "contains",
    "ends_with",
    "exact_match",
    "length_between",
    "numeric_match",
    "regex_match",
    "similarity",
    "starts_with",
]

CHOICES = "ABCD"


def exact_match(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    trim: bool = True,
    normalize_whitespace: bool = False,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score 1.0 where output and expected are equal, else 0.0.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should be. Of several references any may match.
    case_sensitive
        Whether to distinguish case.
    trim
        Drop white space at both ends before comparing.
    normalize_whitespace
        Make each run of white space one space before comparing.
    threshold
        The lowest score that passes. A conversation scores the average of its turns.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append the numbers behind the score.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Positive", "positive!", None], "expected": "positive"})
    >>> df.with_columns(pe.exact_match("output", "expected")).unnest("exact_match")
    shape: (3, 4)
    ┌───────────┬──────────┬───────┬───────┐
    │ output    ┆ expected ┆ score ┆ label │
    │ ---       ┆ ---      ┆ ---   ┆ ---   │
    │ str       ┆ str      ┆ f64   ┆ enum  │
    ╞═══════════╪══════════╪═══════╪═══════╡
    │ Positive  ┆ positive ┆ 1.0   ┆ pass  │
    │ positive! ┆ positive ┆ 0.0   ┆ fail  │
    │ null      ┆ positive ┆ 0.0   ┆ fail  │
    └───────────┴──────────┴───────┴───────┘
    """
    return metric(exact_match, locals())


def contains(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    mode: Literal["any", "all"] = "any",
    negate: bool = False,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output contains the expected text, else 0.0.

    Parameters
    ----------
    output
        The text to search in.
    expected
        The text to find, without surrounding white space; or a list of texts.
    case_sensitive
        Whether to distinguish case.
    mode
        With a list of expected texts, whether `"any"` or `"all"` of them must be found.
    negate
        Score 1.0 if the text is *not* found.
    threshold, missing, details
        As in `exact_match`.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The answer is Paris.", "Lyon, I think"]})
    >>> df.with_columns(pe.contains("output", pl.lit("paris"))).unnest("contains")
    shape: (2, 3)
    ┌──────────────────────┬───────┬───────┐
    │ output               ┆ score ┆ label │
    │ ---                  ┆ ---   ┆ ---   │
    │ str                  ┆ f64   ┆ enum  │
    ╞══════════════════════╪═══════╪═══════╡
    │ The answer is Paris. ┆ 1.0   ┆ pass  │
    │ Lyon, I think        ┆ 0.0   ┆ fail  │
    └──────────────────────┴───────┴───────┘
    """
    return metric(contains, locals())


def starts_with(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    trim: bool = True,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output starts with the expected text, else 0.0.

    Parameters
    ----------
    output, expected
        The text to score, and its start. Of several references any may match.
    case_sensitive, trim, threshold, missing, details
        As in `exact_match`.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Yes, it is prime.", "It is prime."]})
    >>> df.select(pe.starts_with("output", pl.lit("yes"))).unnest("starts_with")["score"].to_list()
    [1.0, 0.0]
    """
    return metric(starts_with, locals())


def ends_with(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    trim: bool = True,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output ends with the expected text, else 0.0.

    Parameters
    ----------
    output, expected
        The text to score, and its end. Of several references any may match.
    case_sensitive, trim, threshold, missing, details
        As in `exact_match`.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["So the sum is 42", "42 is the sum"]})
    >>> df.select(pe.ends_with("output", pl.lit("42"))).unnest("ends_with")["score"].to_list()
    [1.0, 0.0]
    """
    return metric(ends_with, locals())


def regex_match(
    output: IntoText,
    pattern: IntoText,
    *,
    case_sensitive: bool = False,
    negate: bool = False,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score 1.0 if the pattern is found anywhere in the output, else 0.0.

    Parameters
    ----------
    output
        The text to search in.
    pattern
        A regular expression. A plain string is the pattern itself; an expression gives one for each row.
    case_sensitive
        Whether to distinguish case.
    negate
        Score 1.0 if the pattern is *not* found.
    threshold
        The lowest score that passes. A conversation scores the average of its turns.
    missing
        How to score a missing output or pattern: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append the numbers behind the score.

    Notes
    -----
    All patterns run in linear time, so look-around and back-references are not available. Anchor with `^`
    and `$` to match the whole text.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Order A-1234 has shipped", "No order found"]})
    >>> df.select(pe.regex_match("output", r"[a-z]-\d{4}")).unnest("regex_match")["score"].to_list()
    [1.0, 0.0]
    """
    arguments = locals()
    flag = "" if case_sensitive else "(?i)"
    check_options(regex_match, arguments)
    output = as_expr("regex_match", "output", output)
    options = {option: arguments[option] for option in ("threshold", "missing", "details", "negate")}
    named = {"metric": "regex_match", "expected": "pattern"}
    if isinstance(pattern, str):
        check_pattern("regex_match", pattern, flag)
        # Whatever the column is: one that is no text is refused by the function that takes it as it is.
        found = output.cast(pl.String, strict=False).str.contains(flag + pattern)
        patterns = pl.lit(pattern)
    else:
        patterns = as_expr("regex_match", "pattern", pattern)
        pairs = call("paired", [output, patterns], {**named, "alone": False})
        text, one = (pl.element().struct.field(side) for side in ("output", "expected"))
        found = pairs.list.eval(text.str.contains(flag + one, strict=False))
    return call("given", [output, patterns, found], {**named, **options}).alias("regex_match")


def length_between(
    output: IntoText,
    minimum: Natural | None = None,
    maximum: Natural | None = None,
    *,
    unit: Literal["characters", "words"] = "characters",
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output is neither too short nor too long, else 0.0.

    Parameters
    ----------
    output
        The text to measure. Lists of turns: the score is the share of turns that fit.
    minimum, maximum
        The smallest and the largest length, both included. One of them may be None.
    unit
        What to count: `"characters"` (code points), or `"words"` between white space.
    threshold
        The lowest score that passes. A conversation scores the average of its turns.
    missing
        How to score a missing output: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `length`, and the fields for conversations.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Yes.", "Yes, it is prime.", None]})
    >>> df.with_columns(pe.length_between("output", 2, 50, unit="words")).unnest("length_between")
    shape: (3, 3)
    ┌───────────────────┬───────┬───────┐
    │ output            ┆ score ┆ label │
    │ ---               ┆ ---   ┆ ---   │
    │ str               ┆ f64   ┆ enum  │
    ╞═══════════════════╪═══════╪═══════╡
    │ Yes.              ┆ 0.0   ┆ fail  │
    │ Yes, it is prime. ┆ 1.0   ┆ pass  │
    │ null              ┆ 0.0   ┆ fail  │
    └───────────────────┴───────┴───────┘
    """
    arguments = locals()
    if minimum is None and maximum is None:
        raise ValueError("length_between: give a `minimum`, a `maximum` or both")
    expr = metric(length_between, arguments, columns=["output"])
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ValueError(f"length_between: `minimum` is {minimum}, above the `maximum` of {maximum}")
    return expr


def numeric_match(
    output: IntoText,
    expected: IntoText,
    *,
    abs_tol: Amount = 0.0,
    rel_tol: Amount = 0.0,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 if the last numbers of output and expected are equal, else 0.0.

    Parameters
    ----------
    output
        The text whose last number is scored.
    expected
        The text with the right number. Of several references any may match.
    abs_tol
        The largest difference between equal numbers.
    rel_tol
        The largest difference as a share of the larger number. One tolerance is enough, as in `math.isclose`.
    threshold
        The lowest score that passes. A conversation scores the share of its turns that match.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `output_number` and `expected_number`, and the fields for conversations.

    Notes
    -----
    Numbers may have signs, thousands separators (`1,234,567.89`), exponents (`6.02e23`), a currency sign
    before them and a percent sign after them: 12.5% is 0.125. The comma is never a decimal comma: "1,5" is a
    list that ends in 5. A text without a number scores 0.0.

    Numbers are compared as floats. Without a tolerance, whole numbers of any length are compared exactly.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["12 * 100 makes $1,200.", "about 1.2e3", "3 or 4?", "no idea"]})
    >>> df.with_columns(pe.numeric_match("output", pl.lit("1200"))).unnest("numeric_match")
    shape: (4, 3)
    ┌────────────────────────┬───────┬───────┐
    │ output                 ┆ score ┆ label │
    │ ---                    ┆ ---   ┆ ---   │
    │ str                    ┆ f64   ┆ enum  │
    ╞════════════════════════╪═══════╪═══════╡
    │ 12 * 100 makes $1,200. ┆ 1.0   ┆ pass  │
    │ about 1.2e3            ┆ 1.0   ┆ pass  │
    │ 3 or 4?                ┆ 0.0   ┆ fail  │
    │ no idea                ┆ 0.0   ┆ fail  │
    └────────────────────────┴───────┴───────┘
    """
    return metric(numeric_match, locals())


def choice(
    output: IntoText,
    expected: IntoText,
    *,
    choices: str | Sequence[str] = CHOICES,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 if the final choice of the output is the expected one, else 0.0.

    Parameters
    ----------
    output
        The answer to score, such as "The answer is (B)."
    expected
        The right choice, or a text with that choice. Of several references any may match.
    choices
        The choices: a text of single letters, or a list of words.
    threshold, missing
        As in `numeric_match`.
    details
        Append `output_choice` and `expected_choice`, and the fields for conversations.

    Notes
    -----
    The choice is what `extract_choice` finds. An answer without one scores 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The answer is (B).", "**C**", "I cannot say."]})
    >>> df.select(pe.choice("output", pl.lit("B"))).unnest("choice")["score"].to_list()
    [1.0, 0.0, 0.0]
    """
    return metric(choice, locals(), choices=check_choices("choice", choices))


def similarity(
    output: IntoText,
    expected: IntoText,
    *,
    unit: Literal["words", "characters"] = "words",
    n: Positive = 1,
    tokenizer: Literal["auto", "rouge", "whitespace", "unicode", "characters"] = "auto",
    case_sensitive: bool = False,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the cosine between the n-gram counts of output and expected.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should resemble. Of several references the best counts.
    unit
        The unit of n-grams: `"words"`, or `"characters"` (code points, white space too).
    n
        The number of neighbouring units in an n-gram. A text with fewer units is one shorter n-gram.
    tokenizer
        How to split the text into words, if words are the unit. `"auto"` splits at white space, but if a
        text of the pair has letters of a script without spaces (Chinese, Japanese, Thai), each such letter
        with its marks is a word. The others are those of `jaccard`.
    case_sensitive
        Whether to distinguish case.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append the fields for conversations.

    Notes
    -----
    Texts with the same n-grams, each as often, score exactly 1.0, and texts that share none score 0.0. Two
    texts without any unit score 1.0. If only one text has none, the score is 0.0. The time grows with the
    length of the texts, and with the logarithm of n.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["the cat sat on the mat", "a dog ran", None]})
    >>> score = pe.similarity("output", pl.lit("the cat is on the mat")).struct.field("score")
    >>> df.select(score)["score"].to_list()
    [0.875, 0.0, 0.0]
    """
    return metric(similarity, locals())
