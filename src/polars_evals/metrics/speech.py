"""Error rates of transcripts: over words and over characters."""

from collections import Counter

import polars as pl

from polars_evals import _native
from polars_evals.columns import side_by_side
from polars_evals.lift import Fields, IntoText, Kernel, Missing, as_expr, lift
from polars_evals.metrics.quantities import WORD
from polars_evals.metrics.tokenizers import TOKENIZERS, check_tokenizer
from polars_evals.options import check_common, check_flags

FIELDS: Fields = {
    "substitutions": pl.Int64,
    "insertions": pl.Int64,
    "deletions": pl.Int64,
    "length": pl.Int64,
}

# The tokenizers as regular expressions over lowercased text.
UNSPACED = (
    r"[\p{Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Bopomofo}\p{Yi}\p{Tangut}\p{Nushu}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Javanese}\p{Balinese}&&\w]"
)
ROUGE, ANY_SCRIPT = "[a-z0-9]+", rf"{UNSPACED}|[\w--{UNSPACED}]+"
PATTERNS = {"rouge": ROUGE, "whitespace": WORD, "unicode": r"\w+", "characters": r"[^\s\x1c-\x1f]"}
WIDE = r"[\p{L}\p{Nd}&&[^\x00-\x7f]]"


def wer(
    output: IntoText,
    expected: IntoText,
    *,
    tokenizer: str = "unicode",
    case_sensitive: bool = False,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score the words that are right: 1 − word error rate, and at least 0.

    Parameters
    ----------
    output
        The text to score, as a recogniser heard it.
    expected
        What was said. Lists of several references: the best score counts.
    tokenizer
        What words are: `"unicode"` finds words of any script, as the regular expression `\w+`; `"whitespace"`
        splits at white space, as jiwer does; `"rouge"`, `"characters"` and `"auto"` are those of `rouge`.
        Anything else is a regular expression that finds words.
    case_sensitive
        Whether case counts.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `substitutions`, `insertions`, `deletions` and `length` (the words of expected), and what
        concerns turns. `pooled` sums them up over a corpus.

    Notes
    -----
    The word error rate is the fewest words to replace, insert or delete, divided by the words of expected.
    Two texts without words score 1.0, one such text 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["the cat sat", "The cat sat on a mat!", None]})
    >>> df.with_columns(pe.wer("output", pl.lit("the cat sat on the mat"))).unnest("wer")
    shape: (3, 3)
    ┌───────────────────────┬──────────┬───────┐
    │ output                ┆ score    ┆ label │
    │ ---                   ┆ ---      ┆ ---   │
    │ str                   ┆ f64      ┆ enum  │
    ╞═══════════════════════╪══════════╪═══════╡
    │ the cat sat           ┆ 0.5      ┆ fail  │
    │ The cat sat on a mat! ┆ 0.833333 ┆ pass  │
    │ null                  ┆ 0.0      ┆ fail  │
    └───────────────────────┴──────────┴───────┘
    """
    check_common("wer", threshold=threshold, missing=missing, details=details)
    check_tokenizer("wer", tokenizer)
    check_flags("wer", case_sensitive=case_sensitive)

    def words(text: pl.Expr, *, wide: pl.Expr) -> pl.Expr:
        folded = text if case_sensitive else text.str.to_lowercase()
        if tokenizer != "auto":
            return folded.str.extract_all(PATTERNS.get(tokenizer, tokenizer))
        return pl.when(wide).then(folded.str.extract_all(ANY_SCRIPT)).otherwise(folded.str.extract_all(ROUGE))

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        sides = [pl.col("output"), pl.col("expected")]
        wide = pl.any_horizontal(side.str.contains(WIDE) for side in sides)
        found = side_by_side(left, right).select(words(side, wide=wide) for side in sides)
        distance = _native.levenshtein_lists(
            found["output"],
            found["expected"],
            weights=(1, 1, 1),
            score_cutoff=None,
            threads=pl.thread_pool_size(),
        )
        errors = pl.DataFrame(distance)["distance"].cast(pl.Int64)
        return rated(found, errors, found["expected"].list.len(), details=details)

    return error_rate("wer", output, expected, kernel, threshold=threshold, missing=missing, details=details)


def cer(
    output: IntoText,
    expected: IntoText,
    *,
    case_sensitive: bool = False,
    threshold: float = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the characters that are right: 1 − character error rate, and at least 0.

    Parameters
    ----------
    output
        The text to score, as a recogniser heard or read it.
    expected
        What was said or written. Lists of several references: the best score counts.
    case_sensitive
        Whether case counts.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `substitutions`, `insertions`, `deletions` and `length` (the characters of expected), and what
        concerns turns. `pooled` sums them up over a corpus.

    Notes
    -----
    The character error rate is the fewest characters to replace, insert or delete, divided by the characters
    of expected. White space at the ends does not count. Two empty texts score 1.0, one empty text 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["kitten", "Sitting ", None]})
    >>> df.with_columns(pe.cer("output", pl.lit("sitting"))).unnest("cer")
    shape: (3, 3)
    ┌──────────┬──────────┬───────┐
    │ output   ┆ score    ┆ label │
    │ ---      ┆ ---      ┆ ---   │
    │ str      ┆ f64      ┆ enum  │
    ╞══════════╪══════════╪═══════╡
    │ kitten   ┆ 0.571429 ┆ fail  │
    │ Sitting  ┆ 1.0      ┆ pass  │
    │ null     ┆ 0.0      ┆ fail  │
    └──────────┴──────────┴───────┘
    """
    check_common("cer", threshold=threshold, missing=missing, details=details)
    check_flags("cer", case_sensitive=case_sensitive)

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        found = side_by_side(left, right).select(
            (side if case_sensitive else side.str.to_lowercase()).str.strip_chars()
            for side in (pl.col("output"), pl.col("expected"))
        )
        distance = _native.levenshtein_distance(
            found["output"],
            found["expected"],
            weights=(1, 1, 1),
            score_cutoff=None,
            threads=pl.thread_pool_size(),
        )
        errors = pl.DataFrame(distance)["distance"].cast(pl.Int64)
        return rated(found, errors, found["expected"].str.len_chars(), details=details)

    return error_rate("cer", output, expected, kernel, threshold=threshold, missing=missing, details=details)


def error_rate(
    metric: str,
    output: IntoText,
    expected: IntoText,
    kernel: Kernel,
    *,
    threshold: float,
    missing: Missing,
    details: bool,
) -> pl.Expr:
    """Make the expression of an error rate."""
    return lift(
        metric, output, expected, kernel, threshold=threshold, missing=missing, details=details, fields=FIELDS
    )


def rated(found: pl.DataFrame, errors: pl.Series, length: pl.Series, *, details: bool) -> pl.DataFrame:
    """Score by errors and length; with details, count the kinds of errors."""
    length = length.cast(pl.Int64)
    share = pl.col("errors") / pl.col("length")
    nothing = pl.when(pl.col("errors") == 0).then(1.0).otherwise(0.0)
    score = pl.when(pl.col("length") == 0).then(nothing).otherwise(pl.max_horizontal(1 - share, 0.0))
    rows = pl.DataFrame({"errors": errors, "length": length})
    scored = rows.select(
        pl.when(pl.col("errors").is_not_null() & pl.col("length").is_not_null()).then(score).alias("score"),
        "length",
    )
    if not details:
        return scored
    counts = [count_edits(*pair) for pair in zip(found["output"], found["expected"], strict=True)]
    kinds = {"substitutions": "replace", "insertions": "insert", "deletions": "delete"}
    return scored.with_columns(
        pl.Series(name, [None if count is None else count[kind] for count in counts], dtype=pl.Int64)
        for name, kind in kinds.items()
    )


def count_edits(output: str | pl.Series | None, expected: str | pl.Series | None) -> Counter[str] | None:
    """Count the edits that turn expected into output, by kind."""
    from rapidfuzz.distance import Levenshtein

    if output is None or expected is None:
        return None
    sides = (side if isinstance(side, str) else side.to_list() for side in (expected, output))
    return Counter(edit.tag for edit in Levenshtein.editops(*sides))


def pooled(details_column: IntoText, *, by: IntoText | list[str] | None = None) -> pl.Expr:
    """Pool the error rates of many texts: 1 − all errors / all words (or characters).

    An average of rates counts a short text as much as a long one; this does not.

    Parameters
    ----------
    details_column
        The result of `wer` or `cer` with `details=True`.
    by
        The columns of groups: each row gets the rate of its group. Without, the expression is an aggregation,
        for `select` and `group_by(...).agg`.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["yes", "the cat sat on"], "expected": ["no", "the cat sat on"]})
    >>> df.select(pe.wer("output", "expected", details=True)).select(
    ...     average=pl.col("wer").struct.field("score").mean(), pooled=pe.pooled("wer")
    ... )
    shape: (1, 2)
    ┌─────────┬────────┐
    │ average ┆ pooled │
    │ ---     ┆ ---    │
    │ f64     ┆ f64    │
    ╞═════════╪════════╡
    │ 0.5     ┆ 0.8    │
    └─────────┴────────┘
    """
    column = as_expr("pooled", "details_column", details_column)
    kinds = [column.struct.field(kind).sum() for kind in ("substitutions", "insertions", "deletions")]
    rate = 1 - pl.sum_horizontal(kinds) / column.struct.field("length").sum()
    return rate if by is None else rate.over(by)


assert set(TOKENIZERS) == {*PATTERNS, "auto"}
