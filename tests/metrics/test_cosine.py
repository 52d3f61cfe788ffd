"""Cosines of vectors and of n-gram counts: plain Python is the oracle."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ComputeError

import polars_evals as pe
from polars_evals.expressions.native import LABEL

Vector = Sequence[float | None] | None


def cosines(pairs: Sequence[tuple[Vector, Vector]], dtype: Any = pl.Float64, **options: Any) -> pl.DataFrame:
    lists = pl.List(dtype)
    frame = pl.DataFrame(pairs, schema={"o": lists, "e": lists}, orient="row")
    return frame.select(pe.cosine("o", "e", **options).alias("s")).unnest("s")


NUMBER = st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3)
VECTOR = st.lists(NUMBER, min_size=1, max_size=9)


@given(pairs=st.lists(st.tuples(VECTOR, VECTOR), max_size=6))
@settings(max_examples=100, deadline=None)
def test_cosine_is_the_formula(pairs: list[tuple[list[float], list[float]]]) -> None:
    for (a, b), score in zip(pairs, cosines(pairs)["score"], strict=True):
        norm = math.hypot(*a) * math.hypot(*b)
        if len(a) != len(b) or norm == 0:
            assert score == 0.0
        else:
            assert score == pytest.approx(max(0.0, math.fsum(map(float.__mul__, a, b)) / norm), abs=1e-14)


@given(vector=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40))
@settings(max_examples=200, deadline=None)
def test_equal_vectors_score_exactly_one_at_any_scale(vector: list[float]) -> None:
    expected = 1.0 if any(vector) else 0.0
    negative = [-x for x in vector]
    assert cosines([(vector, vector), (vector, negative)])["score"].to_list() == [expected, 0.0]


def test_worked_examples() -> None:
    nan, inf = float("nan"), float("inf")
    pairs: list[tuple[Vector, Vector, float | None, str | None]] = [
        ([3, 4], [6, 8], 1.0, None),
        ([4, 3], [3, 4], 0.96, None),
        ([1, 0], [0, 1], 0.0, None),
        ([1, 0], [-1, 0], 0.0, None),
        ([1e300, 1e300], [1e-300, 1e-300], 1.0, None),
        ([5e-324], [1e308], 1.0, None),
        ([1, 2], [1, 2, 3], 0.0, "length 2, expected 3"),
        ([0, 0], [1, 1], 0.0, "a vector of zeros"),
        ([0, 0], [0, 0], 0.0, "a vector of zeros"),
        ([], [], 0.0, "a vector of zeros"),
        ([], [1], 0.0, "length 0, expected 1"),
        (None, [1], None, "no output"),
        ([1], None, None, "no expected value"),
        ([1, None], [1, 1], None, "no output"),
        ([1, 1], [nan, 1], None, "no expected value"),
        ([inf, 1], [1, 1], None, "no output"),
        ([None], [None], None, "no expected value"),
    ]
    scored = cosines([(a, b) for a, b, *_ in pairs], missing="null", details=True)
    assert scored["score"].to_list() == pytest.approx([score for *_, score, _ in pairs], abs=1e-15)
    assert scored["reason"].to_list() == [reason for *_, reason in pairs]
    failed = cosines([(a, b) for a, b, *_ in pairs])
    assert failed["score"].to_list() == scored["score"].fill_null(0.0).to_list()
    assert failed["label"].null_count() == 0


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64, pl.Int8, pl.Int64, pl.UInt16])
def test_numbers_of_any_width_in_lists_and_arrays(dtype: Any) -> None:
    pairs: list[tuple[Vector, Vector]] = [([3, 4], [4, 3]), ([1, 2], None), ([100, 100], [100, 100])]
    assert cosines(pairs, dtype)["score"].to_list() == pytest.approx([0.96, 0.0, 1.0])
    arrays = pl.DataFrame(pairs, schema={"o": pl.Array(dtype, 2), "e": pl.List(dtype)}, orient="row")
    scored = arrays.select(pe.cosine("o", "e").struct.field("score")).to_series()
    assert scored.to_list() == pytest.approx([0.96, 0.0, 1.0])


def test_vectors_in_every_engine_with_literals_and_chunks() -> None:
    vectors = [[float(i % 7), 1.0, -float(i % 3)] if i % 11 else None for i in range(9_000)]
    frame = pl.DataFrame({"o": vectors, "e": vectors[::-1]})
    metric = pe.cosine("o", "e", details=True)
    eager = frame.select(metric)
    assert frame.lazy().select(metric).collect(engine="streaming").equals(eager)
    assert frame.lazy().select(metric).collect_schema() == eager.schema
    assert frame[4_000:4_100].select(metric).equals(eager[4_000:4_100])
    chunked = pl.concat([frame[:10], frame[10:]], rechunk=False)
    assert chunked.select(metric).equals(eager)
    literal = pl.lit(pl.Series([[1.0, 1.0, 0.0]]))
    beside = frame.with_columns(e=literal.first())
    assert frame.select(pe.cosine("o", literal)).equals(beside.select(pe.cosine("o", "e")))
    assert frame[:0].select(pe.cosine("o", literal)).schema == {
        "cosine": pl.Struct({"score": pl.Float64, "label": LABEL})
    }
    series = frame["o"].evals.cosine(frame["e"])  # type: ignore[attr-defined]
    assert series.equals(frame.select(pe.cosine("o", "e")).to_series())
    nothing = frame.with_columns(e=None).select(pe.cosine("o", "e", missing="null").struct.field("score"))
    assert nothing.to_series().null_count() == len(frame)


@pytest.mark.parametrize("values", [["x"], [1.0], [["x"]], [[[1.0]]], [[True]], [{"a": 1.0}]])
def test_other_dtypes_are_refused(values: list[Any]) -> None:
    frame = pl.DataFrame({"vector": [[1.0]], "other": values})
    for columns, argument in ((("vector", "other"), "expected"), (("other", "vector"), "output")):
        with pytest.raises(ComputeError, match=f"cosine: `{argument}` must be .*, got "):
            frame.select(pe.cosine(*columns))


# How texts become units, as Python does it; Polars lowercases.


def reference(output: str, expected: str, unit: str, n: int) -> float:
    counts = []
    for text in (output, expected):
        units: Sequence[str] = text.split() if unit == "words" else text
        order = min(n, len(units))
        ngrams = [tuple(units[i : i + order]) for i in range(len(units) - order + 1)] if units else []
        counts.append(Counter(ngrams))
    a, b = counts
    if not a or not b:
        return float(not a and not b)
    product = sum(a[ngram] * b[ngram] for ngram in a)
    return min(1.0, product / math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values())))


def similarities(pairs: Sequence[tuple[str | None, str | None]], **options: Any) -> list[float]:
    frame = pl.DataFrame(pairs, schema={"o": pl.String, "e": pl.String}, orient="row")
    return frame.select(pe.similarity("o", "e", **options).struct.field("score")).to_series().to_list()


WORDS = st.lists(st.sampled_from(["the", "a", "Cat", "é", "中文", "🙂", "x.y", "thea"]), max_size=12)
UNIT = st.sampled_from(["words", "characters"])
GAP = st.sampled_from([" ", "\n", "\x1c", "\u2003", " \t "])
TEXT = st.builds(lambda words, gap: gap.join(words), WORDS, GAP) | st.text(max_size=30)


@given(
    pairs=st.lists(st.tuples(TEXT, TEXT), max_size=6),
    unit=st.sampled_from(["words", "characters"]),
    n=st.integers(1, 5),
)
@settings(max_examples=200, deadline=None)
def test_similarity_is_the_reference(pairs: list[tuple[str, str]], unit: str, n: int) -> None:
    scores = similarities(pairs, unit=unit, n=n, case_sensitive=True, tokenizer="whitespace")
    assert scores == pytest.approx([reference(a, b, unit, n) for a, b in pairs], abs=1e-15)
    folded = similarities(pairs, unit=unit, n=n)
    lower = [tuple(pl.Series(pair).str.to_lowercase()) for pair in pairs]
    assert folded == similarities(lower, unit=unit, n=n, case_sensitive=True)


@given(text=TEXT, n=st.integers(1, 6), unit=UNIT)
@settings(max_examples=100, deadline=None)
def test_identical_text_scores_exactly_one(text: str, n: int, unit: str) -> None:
    assert similarities([(text, text), (text * 3, text * 3)], unit=unit, n=n) == [1.0, 1.0]


def test_reordered_words_score_one_and_shorter_texts_are_one_ngram() -> None:
    assert similarities([("a b c", "c a b")]) == [1.0]
    assert similarities([("a b c", "c a b")], n=2) == [0.5]
    pairs = [("ab", "ab"), ("ab", "cd"), ("ab", "abc"), ("", ""), ("", "a")]
    assert similarities(pairs, unit="characters", n=3) == [1.0, 0.0, 0.0, 1.0, 0.0]


def test_long_texts_and_large_orders() -> None:
    text = " ".join(f"word{i}" for i in range(50_000))
    other = text.replace("word4999", "x")
    scores = similarities([(text, text), (text, other), ("a" * 100_000, "a" * 99_999)], n=3)
    assert scores[0] == 1.0
    assert 0.99 < scores[1] < 1.0
    assert scores[2] == 0.0
    assert similarities([("a" * 100_000, "a" * 99_999)], unit="characters", n=100) == [1.0]


def test_case_counts_when_asked() -> None:
    pairs = [("ÉCOLE Ωmega", "école ωMEGA")]
    assert similarities(pairs) == [1.0]
    assert similarities(pairs, case_sensitive=True) == [0.0]


@pytest.mark.parametrize("options", [{"n": 0}, {"n": 1.5}, {"unit": "word"}, {"case_sensitive": None}])
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"similarity: `{next(iter(options))}`"):
        pe.similarity("o", "e", **options)


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_long_ngrams_take_no_more_time_than_short_ones(unit: Literal["words", "characters"]) -> None:
    """The time grows with the logarithm of n, and the memory with the text."""
    text = " ".join(str(number % 977) for number in range(100_000))
    frame = pl.DataFrame({"output": [text], "expected": [text[:-1]]})
    scores = [
        frame.select(pe.similarity("output", "expected", unit=unit, n=n)).unnest("similarity")["score"].item()
        for n in (1, 7, 1000, 50_000)
    ]
    assert all(score > 0.99 for score in scores)
