"""GLEU, the score of single sentences that behaves like BLEU over a corpus, by the native kernels."""

import polars as pl

from polars_evals.lift import IntoText, Missing, lift
from polars_evals.metrics.words import WordKernel
from polars_evals.options import check_common, check_flags, check_whole


def gleu(
    output: IntoText,
    expected: IntoText,
    *,
    min_len: int = 1,
    max_len: int = 4,
    case_sensitive: bool = True,
    threshold: float = 0.5,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the n-grams in common, as a share of those of the text that has more of them.

    Parameters
    ----------
    output
        The text to score.
    expected
        The text it should be. Lists of several references: the best score counts.
    min_len, max_len
        The shortest and the longest n-grams, in words between white space.
    case_sensitive
        Whether case counts.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `overlap`, `output_ngrams` and `expected_ngrams`, and what concerns turns.

    Notes
    -----
    The numbers are those of NLTK's `sentence_gleu`: the smaller of precision and recall over all n-grams.
    Two texts without words score 1.0, one such text 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["the cat sat on the mat", "a dog ran", None]})
    >>> df.with_columns(pe.gleu("output", pl.lit("the cat is on the mat"))).unnest("gleu")
    shape: (3, 3)
    ┌────────────────────────┬───────┬───────┐
    │ output                 ┆ score ┆ label │
    │ ---                    ┆ ---   ┆ ---   │
    │ str                    ┆ f64   ┆ enum  │
    ╞════════════════════════╪═══════╪═══════╡
    │ the cat sat on the mat ┆ 0.5   ┆ pass  │
    │ a dog ran              ┆ 0.0   ┆ fail  │
    │ null                   ┆ 0.0   ┆ fail  │
    └────────────────────────┴───────┴───────┘
    """
    check_common("gleu", threshold=threshold, missing=missing, details=details)
    check_flags("gleu", case_sensitive=case_sensitive)
    check_whole("gleu", "min_len", min_len, least=1)
    check_whole("gleu", "max_len", max_len, least=min_len, most=100)

    options = {"min_len": min_len, "max_len": max_len, "fold_case": not case_sensitive, "details": details}
    return lift(
        "gleu",
        output,
        expected,
        WordKernel.of("gleu", **options),
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"overlap": pl.Int64, "output_ngrams": pl.Int64, "expected_ngrams": pl.Int64},
    )
