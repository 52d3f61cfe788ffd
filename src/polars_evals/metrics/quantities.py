"""Numbers in answers, and the length of answers."""

from typing import Literal

import polars as pl

from polars_evals import _native
from polars_evals.columns import side_by_side
from polars_evals.lift import IntoText, Missing, lift
from polars_evals.options import check_amount, check_choice, check_common, check_whole

DIGITS = r"[0-9]+(?:,[0-9]+)*(?:\.[0-9]+)?"
SIGN = r"[-+\u2212][$€£¥]?"
# A sign counts where no letter or digit stands right before it: "10-20" ends in 20, "x = -20" in -20. A point
# begins a number where no other stands before it: "so...5" ends in 5. What stands before is the first
# character of the match, for which each text gets a space in front.
UNITS = r"(?:[eE][-+]?[0-9]+|\s?%)?"
NUMBER = rf"(?:[^\w.](?:{SIGN})?\.[0-9]+|[^\w]{SIGN}{DIGITS}|{DIGITS}){UNITS}"

# As Python's str.split.
WORD = r"[^\s\x1c-\x1f]+"


def numeric_match(
    output: IntoText,
    expected: IntoText,
    *,
    abs_tol: float = 0.0,
    rel_tol: float = 0.0,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the last number in the output is the last number in the expected text, else 0.0.

    Parameters
    ----------
    output
        The text whose last number is scored.
    expected
        The text with the right number. Lists of several references: any of them will do.
    abs_tol
        How far apart the two may be.
    rel_tol
        How far apart the two may be, as a share of the larger. Either tolerance will do, as in
        `math.isclose`.
    threshold
        The least score that passes. It matters for conversations, whose score is the share of turns that
        match.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `output_number` and `expected_number`, and what concerns conversations.

    Notes
    -----
    Understood are signs, thousands separators (`1,234,567.89`), exponents (`6.02e23`), a currency
    sign before the number and a percent sign behind it: 12.5% is 0.125. The comma is never a decimal comma:
    "1,5" is a list that ends in 5. A text without a number scores 0.0.

    Numbers are compared as floats, and whole numbers exactly, however long, where there is no tolerance.

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
    check_common("numeric_match", threshold=threshold, missing=missing, details=details)
    check_amount("numeric_match", "abs_tol", abs_tol)
    check_amount("numeric_match", "rel_tol", rel_tol)

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        rows = side_by_side(*(last_number(side, "number", "integer") for side in (left, right)))
        (number, integer), (other, other_integer) = (
            (pl.col(side).struct.field("number"), pl.col(side).struct.field("integer"))
            for side in ("output", "expected")
        )
        allowed = pl.max_horizontal(rel_tol * pl.max_horizontal(number.abs(), other.abs()), abs_tol)
        is_close = number.is_finite() & other.is_finite() & ((number - other).abs() <= allowed)
        is_same = integer == other_integer
        match = (
            is_same.fill_null(is_close) if abs_tol == rel_tol == 0 else is_same.fill_null(False) | is_close
        )
        is_missing = pl.col("output").is_null() | pl.col("expected").is_null()
        return rows.select(
            score=pl.when(~is_missing).then(match.fill_null(False).cast(pl.Float64)),
            output_number=pl.when(number.is_finite()).then(number),
            expected_number=pl.when(other.is_finite()).then(other),
        )

    return lift(
        "numeric_match",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"output_number": pl.Float64, "expected_number": pl.Float64},
    )


def last_number(texts: pl.Series, *fields: Literal["number", "integer", "written"]) -> pl.Series:
    """Find the last number in each text: a float, the text of a whole one, and as it is written."""
    found, body, digits = pl.col("found"), pl.col("body"), pl.col("digits")
    is_grouped = body.str.contains(r"^[0-9]{1,3}(?:,[0-9]{3})+(?:[.eE]|$)")
    is_list = body.str.contains(",", literal=True) & ~is_grouped
    is_negative = found.str.contains(r"(?s)^[^0-9][-\u2212]") & ~is_list
    is_percent = found.str.ends_with("%")
    after_comma, without_commas = body.str.replace(r"^.*,", ""), body.str.replace_all(",", "", literal=True)
    frame = (
        pl.DataFrame({"text": texts, "window": number_windows(texts)})
        .with_columns(found=pl.concat_str(pl.lit(" "), "window").str.extract_all(NUMBER).list.last())
        .with_columns(body=found.str.replace(r"(?s)^[^0-9]*?(\.?[0-9])", "$1").str.replace(r"\s?%$", ""))
        .with_columns(
            sign=pl.when(is_negative).then(pl.lit("-")).otherwise(pl.lit("")),
            # Not divided by 100: 12.3e-2 is the float nearest to 0.123.
            scale=pl.when(is_percent).then(pl.lit("e-2")).otherwise(pl.lit("")),
            digits=pl.when(is_list).then(after_comma).otherwise(without_commas),
        )
    )
    is_integer = digits.str.contains("^[0-9]+$") & ~is_percent
    integer = pl.concat_str("sign", digits.str.strip_chars_start("0")).replace("-", "")
    number = pl.concat_str("sign", "digits", "scale").cast(pl.Float64, strict=False)
    percent = pl.when(is_percent).then(pl.lit("%")).otherwise(pl.lit(""))
    written = pl.concat_str("sign", pl.when(is_list).then(after_comma).otherwise(body), percent)
    readings = {"number": number, "integer": pl.when(is_integer).then(integer), "written": written}
    wanted = pl.struct(readings[field].alias(field) for field in fields)
    return frame.select(pl.when(pl.col("text").is_not_null()).then(wanted)).to_series()


def number_windows(texts: pl.Series) -> pl.Series:
    """Cut each text down to what its last number is in; null where there is none."""
    windows, found = _native.clean(
        texts, step="number", words=[], case_sensitive=True, threads=pl.thread_pool_size()
    )
    has_number = pl.DataFrame(found)["found"].cast(pl.Boolean)
    return pl.select(pl.when(pl.lit(has_number)).then(pl.lit(pl.Series(windows)))).to_series()


def length_between(
    output: IntoText,
    minimum: int | None = None,
    maximum: int | None = None,
    *,
    unit: Literal["characters", "words"] = "characters",
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output is neither too short nor too long, else 0.0.

    Parameters
    ----------
    output
        The text to measure. Lists of turns: the score is the share of turns that fit.
    minimum, maximum
        The least and the greatest length, both included. One of them may be None.
    unit
        What to count: `"characters"` (code points), or `"words"` between white space.
    threshold
        The least score that passes. It matters for conversations, whose score is an average.
    missing
        What a missing output gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `length`, and what concerns conversations.

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
    check_common("length_between", threshold=threshold, missing=missing, details=details)
    check_choice("length_between", "unit", unit, ("characters", "words"))
    check_whole("length_between", "minimum", minimum, least=0, optional=True)
    check_whole("length_between", "maximum", maximum, least=0, optional=True)
    if minimum is None and maximum is None:
        raise ValueError("length_between: give a `minimum`, a `maximum` or both")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ValueError(f"length_between: `minimum` is {minimum}, above the `maximum` of {maximum}")

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        text = pl.lit(left).str
        length = (text.len_chars() if unit == "characters" else text.count_matches(WORD)).cast(pl.Int64)
        fits = (length >= (minimum or 0)) & (True if maximum is None else length <= maximum)
        return pl.select(score=fits.cast(pl.Float64), length=length)

    return lift(
        "length_between",
        output,
        output,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"length": pl.Int64},
        output_alone=True,
    )
