"""Multiple choice: the choice that an answer settles on, compared with the right one."""

from collections.abc import Sequence

import polars as pl

from polars_evals import _native
from polars_evals.columns import side_by_side
from polars_evals.lift import Fields, IntoText, Missing, lift
from polars_evals.options import check_common
from polars_evals.wording import shown

CHOICES = "ABCD"
MOST_CHOICES = 100

FIELDS: Fields = {"output_choice": pl.String, "expected_choice": pl.String}


def choice(
    output: IntoText,
    expected: IntoText,
    *,
    choices: str | Sequence[str] = CHOICES,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where output settles on the expected choice, else 0.0.

    Parameters
    ----------
    output
        The answer to score, such as "The answer is (B)."
    expected
        The right choice, or a text that settles on it. Lists of several references: any of them will do.
    choices
        The choices: a text of single letters, or a list of words.
    threshold
        The least score that passes. It matters for conversations, whose score is the share of turns that
        match.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `output_choice` and `expected_choice`, and what concerns conversations.

    Notes
    -----
    The choice is what `extract_choice` finds. An answer without one scores 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The answer is (B).", "**C**", "I cannot say."]})
    >>> df.with_columns(pe.choice("output", pl.lit("B"))).unnest("choice")
    shape: (3, 3)
    ┌────────────────────┬───────┬───────┐
    │ output             ┆ score ┆ label │
    │ ---                ┆ ---   ┆ ---   │
    │ str                ┆ f64   ┆ enum  │
    ╞════════════════════╪═══════╪═══════╡
    │ The answer is (B). ┆ 1.0   ┆ pass  │
    │ **C**              ┆ 0.0   ┆ fail  │
    │ I cannot say.      ┆ 0.0   ┆ fail  │
    └────────────────────┴───────┴───────┘
    """
    check_common("choice", threshold=threshold, missing=missing, details=details)
    words = check_choices("choice", choices)

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        rows = side_by_side(left, right)
        chosen = {f"{side}_choice": find_choices(rows[side], words) for side in ("output", "expected")}
        match = (
            pl.col("output_choice").eq_missing(pl.col("expected_choice"))
            & pl.col("expected_choice").is_not_null()
        )
        present = pl.col("output").is_not_null() & pl.col("expected").is_not_null()
        return rows.with_columns(**chosen).select(
            pl.when(present).then(match.cast(pl.Float64)).alias("score"), *chosen
        )

    return lift(
        "choice",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields=FIELDS,
    )


def find_choices(texts: pl.Series, words: list[str]) -> pl.Series:
    """Find the choice of each text; null where there is none."""
    chosen, found = _native.clean(
        texts, step="choice", words=words, case_sensitive=False, threads=pl.thread_pool_size()
    )
    has_choice = pl.DataFrame(found)["found"].cast(pl.Boolean)
    return pl.select(pl.when(pl.lit(has_choice)).then(pl.lit(pl.Series(chosen)))).to_series()


def check_choices(name: str, choices: object) -> list[str]:
    """Accept a text of letters, or a list of words."""
    words = list(choices) if isinstance(choices, str | Sequence) else []
    if not words or not all(isinstance(word, str) and word.isalnum() for word in words):
        raise ValueError(f"{name}: `choices` must be letters or a list of words, got {shown(choices)}")
    if len(words) > MOST_CHOICES:
        raise ValueError(f"{name}: `choices` may be {MOST_CHOICES}, got {len(words)}")
    if len({word.lower() for word in words}) < len(words):
        raise ValueError(f"{name}: `choices` has a choice twice, {shown(choices)}")
    return words
