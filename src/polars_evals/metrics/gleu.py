"""GLEU, the score of single sentences that behaves like BLEU over a corpus."""

from collections import Counter

import polars as pl

from polars_evals.lift import Fields, IntoText, Missing, lift, side_by_side
from polars_evals.options import check_common, check_flags, check_whole

FIELDS: Fields = {"overlap": pl.Int64, "output_ngrams": pl.Int64, "expected_ngrams": pl.Int64}


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

    def count(text: str) -> Counter[tuple[str, ...]]:
        words = text.split()
        return Counter(
            tuple(words[at : at + n]) for n in range(min_len, max_len + 1) for at in range(len(words) - n + 1)
        )

    def score(output: str | None, expected: str | None) -> tuple[float | None, int, int, int]:
        if output is None or expected is None:
            return None, 0, 0, 0
        given, wanted = count(output), count(expected)
        overlap, more = (given & wanted).total(), max(given.total(), wanted.total())
        alike = output.split() == expected.split()
        return overlap / more if more else float(alike), overlap, given.total(), wanted.total()

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        rows = side_by_side(left, right).select("output", "expected")
        if not case_sensitive:
            rows = rows.select(pl.all().str.to_lowercase())
        schema = {"score": pl.Float64(), **FIELDS}
        return pl.DataFrame([score(*row) for row in rows.iter_rows()], schema=schema, orient="row")

    return lift(
        "gleu",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields=FIELDS,
    )
