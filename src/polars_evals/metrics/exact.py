"""Equality, substrings and patterns: plain Polars expressions, lifted."""

from collections.abc import Callable
from typing import Literal

import polars as pl
from polars.exceptions import ComputeError, InvalidOperationError

from polars_evals.lift import IntoText, Kernel, Missing, lift
from polars_evals.options import check_choice, check_common, check_flags

Prepare = Callable[[pl.Expr], pl.Expr]


def exact_match(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    trim: bool = True,
    normalize_whitespace: bool = False,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score 1.0 where output and expected are equal, else 0.0.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should be. Lists of several references: any of them will do.
    case_sensitive
        Whether case counts.
    trim
        Drop white space at both ends before comparing.
    normalize_whitespace
        Make each run of white space one space before comparing.
    threshold
        The least score that passes. It matters for conversations, whose score is an average.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append what the score is made of.

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
    check_common("exact_match", threshold=threshold, missing=missing, details=details)
    check_flags(
        "exact_match", case_sensitive=case_sensitive, trim=trim, normalize_whitespace=normalize_whitespace
    )
    prepare = preparation(case_sensitive=case_sensitive, trim=trim, normalize_whitespace=normalize_whitespace)
    kernel = compare(lambda left, right: prepare(left) == prepare(right))
    return lift(
        "exact_match",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={},
    )


def contains(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    mode: Literal["any", "all"] = "any",
    negate: bool = False,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the expected text stands somewhere in the output, else 0.0.

    Parameters
    ----------
    output
        The text to search in.
    expected
        The text to find, without the white space around it; or a list of several.
    case_sensitive
        Whether case counts.
    mode
        With a list of expected texts, whether one of them must be there (`"any"`) or each (`"all"`).
    negate
        Score 1.0 where it is *not* found.
    threshold
        The least score that passes. It matters for conversations, whose score is an average.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append what the score is made of.

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
    check_common("contains", threshold=threshold, missing=missing, details=details)
    check_flags("contains", case_sensitive=case_sensitive, negate=negate)
    check_choice("contains", "mode", mode, ("any", "all"))
    prepare = preparation(case_sensitive=case_sensitive)
    kernel = compare(
        lambda left, right: prepare(left).str.contains(prepare(right.str.strip_chars()), literal=True),
        negate=negate,
    )
    return lift(
        "contains",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={},
        # "Not any" holds when the negated score of every value is 1.0, "not all" when that of one is.
        references="best" if (mode == "any") != negate else "worst",
    )


def starts_with(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    trim: bool = True,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output starts with the expected text, else 0.0.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should start with. Lists of several references: any of them will do.
    case_sensitive
        Whether case counts.
    trim
        Drop white space at both ends of both texts before comparing.
    threshold
        The least score that passes. It matters for conversations, whose score is an average.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append what the score is made of.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Yes, it is prime.", "It is prime."]})
    >>> df.select(pe.starts_with("output", pl.lit("yes"))).unnest("starts_with")
    shape: (2, 2)
    ┌───────┬───────┐
    │ score ┆ label │
    │ ---   ┆ ---   │
    │ f64   ┆ enum  │
    ╞═══════╪═══════╡
    │ 1.0   ┆ pass  │
    │ 0.0   ┆ fail  │
    └───────┴───────┘
    """
    check_common("starts_with", threshold=threshold, missing=missing, details=details)
    check_flags("starts_with", case_sensitive=case_sensitive, trim=trim)
    prepare = preparation(case_sensitive=case_sensitive, trim=trim)
    kernel = compare(lambda left, right: prepare(left).str.starts_with(prepare(right)))
    return lift(
        "starts_with",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={},
    )


def ends_with(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    trim: bool = True,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output ends with the expected text, else 0.0.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should end with. Lists of several references: any of them will do.
    case_sensitive
        Whether case counts.
    trim
        Drop white space at both ends of both texts before comparing.
    threshold
        The least score that passes. It matters for conversations, whose score is an average.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append what the score is made of.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["So the sum is 42", "42 is the sum"]})
    >>> df.select(pe.ends_with("output", pl.lit("42"))).unnest("ends_with")
    shape: (2, 2)
    ┌───────┬───────┐
    │ score ┆ label │
    │ ---   ┆ ---   │
    │ f64   ┆ enum  │
    ╞═══════╪═══════╡
    │ 1.0   ┆ pass  │
    │ 0.0   ┆ fail  │
    └───────┴───────┘
    """
    check_common("ends_with", threshold=threshold, missing=missing, details=details)
    check_flags("ends_with", case_sensitive=case_sensitive, trim=trim)
    prepare = preparation(case_sensitive=case_sensitive, trim=trim)
    kernel = compare(lambda left, right: prepare(left).str.ends_with(prepare(right)))
    return lift(
        "ends_with",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={},
    )


def regex_match(
    output: IntoText,
    pattern: IntoText,
    *,
    case_sensitive: bool = False,
    negate: bool = False,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score 1.0 where the pattern is found anywhere in the output, else 0.0.

    Parameters
    ----------
    output
        The text to search in.
    pattern
        A regular expression. A plain string is the pattern itself; an expression gives one for each row.
    case_sensitive
        Whether case counts.
    negate
        Score 1.0 where the pattern is *not* found.
    threshold
        The least score that passes. It matters for conversations, whose score is an average.
    missing
        What a missing output or pattern gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append what the score is made of.

    Notes
    -----
    Patterns run in time linear in the text, whatever they are, so look-around and back-references are not
    available. Anchor with `^` and `$` to match the whole text.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Order A-1234 has shipped", "No order found"]})
    >>> df.select(pe.regex_match("output", r"[a-z]-\d{4}")).unnest("regex_match")
    shape: (2, 2)
    ┌───────┬───────┐
    │ score ┆ label │
    │ ---   ┆ ---   │
    │ f64   ┆ enum  │
    ╞═══════╪═══════╡
    │ 1.0   ┆ pass  │
    │ 0.0   ┆ fail  │
    └───────┴───────┘
    """
    check_common("regex_match", threshold=threshold, missing=missing, details=details)
    check_flags("regex_match", case_sensitive=case_sensitive, negate=negate)
    if isinstance(pattern, str):
        check_pattern("regex_match", pattern)
        pattern = pl.lit(pattern, pl.String)
    flag = "" if case_sensitive else "(?i)"
    search = compare(lambda left, right: left.str.contains(flag + right), negate=negate)

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        try:
            return search(left, right)
        except ComputeError as error:
            raise InvalidOperationError(
                f"regex_match: a row of `pattern` is not a valid pattern: {error}"
            ) from error

    return lift(
        "regex_match",
        output,
        pattern,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={},
        references="worst" if negate else "best",
        expected_name="pattern",
    )


def check_pattern(metric: str, pattern: str) -> None:
    """Refuse a pattern that Polars cannot compile."""
    try:
        pl.Series([""]).str.contains(pattern)
    except ComputeError as error:
        raise ValueError(f"{metric}: {pattern!r} is not a valid pattern: {error}") from None


def preparation(*, case_sensitive: bool, trim: bool = False, normalize_whitespace: bool = False) -> Prepare:
    """Make what is done to both texts before they are compared."""

    def prepare(text: pl.Expr) -> pl.Expr:
        text = text.str.strip_chars() if trim else text
        text = text.str.replace_all(r"\s+", " ") if normalize_whitespace else text
        return text if case_sensitive else text.str.to_lowercase()

    return prepare


def compare(is_match: Callable[[pl.Expr, pl.Expr], pl.Expr], *, negate: bool = False) -> Kernel:
    """Make a kernel of a comparison that is true or false."""

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        match = is_match(pl.lit(left), pl.lit(right))
        return pl.select(score=(~match if negate else match).cast(pl.Float64))

    return kernel
