"""Levenshtein: RapidFuzz is the oracle."""

import os
import random
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ComputeError
from rapidfuzz.distance import Levenshtein

import polars_evals as pe

# How many random pairs a metric is compared on: `make fuzz-edit` has more time.
PAIRS_COMPARED = int(os.environ.get("EVALS_PAIRS", "5000"))

ALPHABETS = [
    "ab",
    "abcdefghijklmnop qrstuvwxyz",
    "ABab1 ,\n",
    "aäßéИжΣσς中文字🙂𝔘\u0301",
    "\u0130i\u0307K\u212a",
]


def measure(pairs: list[tuple[str, str]], **options: Any) -> list[int]:
    frame = pl.DataFrame(pairs, schema=["output", "expected"], orient="row")
    return frame.select(pe.levenshtein_distance("output", "expected", **options)).to_series().to_list()


def similarities(pairs: list[tuple[str, str]], **options: Any) -> list[float]:
    frame = pl.DataFrame(pairs, schema=["output", "expected"], orient="row")
    return (
        frame.select(pe.levenshtein("output", "expected", **options)).unnest("levenshtein")["score"].to_list()
    )


def random_pairs(rng: random.Random, count: int, longest: int) -> list[tuple[str, str]]:
    """Texts alike and unlike, of one alphabet or mixed, with shared ends."""
    pairs = []
    for _ in range(count):
        alphabet = rng.choice(ALPHABETS)
        left = "".join(rng.choices(alphabet, k=int(longest * rng.random() ** 3)))
        if rng.random() < 0.5:
            right = "".join(
                rng.choices(rng.choice([alphabet, *ALPHABETS]), k=int(longest * rng.random() ** 3))
            )
        else:
            letters = list(left)
            for _ in range(rng.randint(0, 1 + len(letters) // 20)):
                at = rng.randint(0, len(letters))
                letters[at : at + rng.randint(0, 2)] = rng.choices(alphabet, k=rng.randint(0, 2))
            right = "".join(letters)
        pairs.append((left, right))
    return pairs


@pytest.mark.parametrize(
    ("output", "expected", "options", "score", "label"),
    [
        ("The quick brown fox", "The quick brown fox", {}, 1.0, "pass"),
        ("The quick brown dog", "The quick brown fox", {}, 0.89, "pass"),
        ("Something entirely different", "The quick brown fox", {}, 0.18, "fail"),
        ("Hello World", "Hello World", {"threshold": 0.9, "case_sensitive": True}, 1.0, "pass"),
        ("Hello World!", "Hello World", {"threshold": 0.9, "case_sensitive": True}, 0.92, "pass"),
        ("hello world", "Hello World", {"threshold": 0.9, "case_sensitive": True}, 0.82, "fail"),
        ("", "", {}, 1.0, "pass"),
        ("", "a", {}, 0.0, "fail"),
        ("aaaaaaaaaabbbbbb", "aaaaaaaaaacccccc", {}, 0.63, "fail"),
        ("a" * 39 + "b", "a" * 40, {}, 0.98, "pass"),
        ("a" * 39 + "b", "a" * 40, {"decimals": 1}, 1.0, "pass"),
        ("a" * 39 + "b", "a" * 40, {"decimals": None}, 0.975, "pass"),
        ("aXXX", "aYYYY", {"max_chars": 1}, 1.0, "pass"),
        ("\u0130x", "i\u0307y", {"max_chars": 2}, 1.0, "pass"),
        ("ÉCOLE", "école", {}, 1.0, "pass"),
    ],
)
def test_worked_examples(
    output: str, expected: str, options: dict[str, Any], score: float, label: str
) -> None:
    scored = pl.select(pe.levenshtein(pl.lit(output), pl.lit(expected), **options)).unnest("levenshtein")
    assert scored.row(0) == (score, label)


@pytest.mark.parametrize(("output", "label"), [("customer service", "pass"), ("billing department", "fail")])
def test_lenient_threshold(output: str, label: str) -> None:
    scored = pl.select(pe.levenshtein(pl.lit(output), pl.lit("customer support"), threshold=0.5))
    assert scored.unnest("levenshtein")["label"].item() == label


@pytest.mark.parametrize(("longest", "count"), [(40, 60_000), (300, 35_000), (4000, PAIRS_COMPARED)])
def test_random_pairs_are_rapidfuzz_to_the_last_bit(longest: int, count: int) -> None:
    pairs = random_pairs(random.Random(longest), count, longest)
    assert measure(pairs) == [Levenshtein.distance(*pair) for pair in pairs]
    folded = pl.Series([text for pair in pairs for text in pair]).str.to_lowercase().to_list()
    oracle = [
        Levenshtein.normalized_similarity(left, right)
        for left, right in zip(folded[::2], folded[1::2], strict=True)
    ]
    assert similarities(pairs, decimals=None, max_chars=None) == oracle


@pytest.mark.parametrize(
    "weights",
    [(1, 1, 2), (1, 2, 3), (3, 1, 1), (0, 1, 1), (2, 2, 2), (5, 5, 11), (0, 0, 0), (1, 1, 0), (7, 2, 4)],
)
def test_weights_and_cutoffs(weights: tuple[int, int, int]) -> None:
    rng = random.Random(sum(weights))
    pairs = random_pairs(rng, 1_000, 150)
    oracle = [Levenshtein.distance(*pair, weights=weights) for pair in pairs]
    assert measure(pairs, weights=weights) == oracle
    for cutoff in (0, 1, 7, 50):
        expected = [Levenshtein.distance(*pair, weights=weights, score_cutoff=cutoff) for pair in pairs]
        assert measure(pairs, weights=weights, score_cutoff=cutoff) == expected


@settings(max_examples=200)
@given(st.text(max_size=80), st.text(max_size=80), st.integers(1, 90))
def test_cut_after_folding(left: str, right: str, max_chars: int) -> None:
    a, b = (text[:max_chars] for text in pl.Series([left, right]).str.to_lowercase())
    assert similarities([(left, right)], decimals=None, max_chars=max_chars) == [
        Levenshtein.normalized_similarity(a, b)
    ]


@settings(max_examples=300)
@given(st.text(alphabet="abcd", max_size=60), st.text(alphabet="abcd", max_size=60), st.integers(0, 20))
def test_rounding_is_exact_and_half_up(left: str, right: str, decimals: int) -> None:
    longer = max(len(left), len(right))
    exact = 1 - Fraction(Levenshtein.distance(left, right), longer) if longer else Fraction(1)
    quantum = Decimal(1).scaleb(-decimals)
    ratio = Decimal(exact.numerator) / Decimal(exact.denominator)
    wanted = float(ratio.quantize(quantum, ROUND_HALF_UP))
    assert similarities([(left, right)], decimals=decimals) == [pytest.approx(wanted, abs=2e-16)]


@given(st.text(max_size=60), st.text(max_size=60))
def test_symmetric(left: str, right: str) -> None:
    there, back = similarities([(left, right), (right, left)], decimals=None)
    assert there == back


def test_details() -> None:
    scored = pl.select(pe.levenshtein(pl.lit("kitten"), pl.lit(["x", "sitting"]), details=True)).unnest(
        "levenshtein"
    )
    assert scored.select("score", "distance", "output_chars", "expected_chars").row(0) == (0.57, 3, 6, 7)


def test_six_turns_of_four_fifths_pass_four_fifths() -> None:
    turns = pl.select(
        pe.levenshtein(pl.lit(["abcde"] * 6), pl.lit(["abcdX"] * 6), threshold=0.8, decimals=None)
    )
    assert turns.unnest("levenshtein").row(0) == (0.8, "pass")


def test_turns_are_averaged_before_rounding() -> None:
    turns = pl.select(pe.levenshtein(pl.lit(["abc", "abc"]), pl.lit(["abX", "abc"]), details=True))
    scored = turns.unnest("levenshtein")
    assert scored["turn_scores"].item().to_list() == [1 - 1 / 3, 1.0]
    assert scored["score"].item() == 0.83


@pytest.mark.parametrize(
    ("output", "expected", "distance"),
    [
        (["the", "quick", "fox"], ["the", "slow", "fox"], 1),
        ([], ["a", "b"], 2),
        ([], [], 0),
        (["a", None], ["a", None], 0),
        (["a", None], ["a", "b"], 1),
        ([1, 2, 3], [1, 3], 1),
        ([1, 2], [1.0, 2.5], 1),
        ([True, False], [True, True], 1),
        ([Decimal(10000000000000000000000001)], [Decimal(10000000000000000000000002)], 1),
        ([Decimal("1.50"), Decimal(2)], [Decimal("1.5"), Decimal(2)], 0),
        ([Decimal("2.0")], [2], 0),
        ([Decimal("-3.25")], [-3.25], 0),
        ([0.0], [-0.0], 0),
    ],
)
def test_distance_of_lists(output: list[Any], expected: list[Any], distance: int) -> None:
    frame = pl.DataFrame({"output": [output, output], "expected": [expected, None]})
    assert frame.select(pe.levenshtein_distance("output", "expected")).to_series().to_list() == [
        distance,
        None,
    ]


def test_distance_of_token_lists_is_rapidfuzz() -> None:
    rng = random.Random(5)
    words = [str(n) for n in range(30)]
    rows = [
        ([*rng.choices(words, k=rng.randint(0, 90))], [*rng.choices(words, k=rng.randint(0, 90))])
        for _ in range(500)
    ]
    frame = pl.DataFrame(
        rows, schema={"output": pl.List(pl.String), "expected": pl.List(pl.String)}, orient="row"
    )
    for weights in [(1, 1, 1), (1, 2, 2)]:
        oracle = [Levenshtein.distance(*row, weights=weights) for row in rows]
        for part in (frame, pl.concat([frame[:7], frame[7:]], rechunk=False)):
            assert (
                part.select(pe.levenshtein_distance("output", "expected", weights=weights))
                .to_series()
                .to_list()
                == oracle
            )


def test_distance_to_the_nearest_reference() -> None:
    frame = pl.DataFrame(
        {"output": ["abc", "abc", None, "abc"], "expected": [["xyz", "abd"], [None], ["a"], []]}
    )
    distances = frame.select(pe.levenshtein_distance("output", "expected")).to_series()
    assert distances.to_list() == [1, None, None, None]
    assert distances.dtype == pl.Int64


def test_processor() -> None:
    frame = pl.DataFrame({"output": ["ABC"], "expected": ["abd"]})
    expr = pe.levenshtein_distance("output", "expected", processor=lambda text: text.str.to_lowercase())
    assert frame.select(expr).item() == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"weights": (1, 1)}, "weights"),
        ({"weights": (1, -1, 1)}, "weights"),
        ({"weights": (1, 1, 0.5)}, "weights"),
        ({"weights": (1, 1, 2**40)}, "weights"),
        ({"score_cutoff": -1}, "score_cutoff"),
        ({"score_cutoff": 2**63}, "score_cutoff"),
        ({"processor": "lower"}, "processor"),
        ({"processor": lambda text: 3}, "processor"),
    ],
)
def test_bad_options_of_the_distance(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=f"levenshtein_distance: `{named}`"):
        pe.levenshtein_distance("output", "expected", **options)


@pytest.mark.parametrize(
    "options",
    [{"max_chars": 0}, {"max_chars": 1.5}, {"max_chars": 2**64}, {"decimals": -1}, {"decimals": True}],
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"levenshtein: `{next(iter(options))}` must be a whole number"):
        pe.levenshtein("output", "expected", **options)


@pytest.mark.parametrize(
    ("output", "expected"),
    [([["a"]], [[1]]), ([["a"]], ["a"]), ([1], [1]), ([[["a"]]], [[["a"]]]), ([b"a"], ["a"])],
)
def test_distance_of_other_dtypes(output: list[Any], expected: list[Any]) -> None:
    with pytest.raises(ComputeError, match="levenshtein_distance: "):
        pl.DataFrame({"output": output, "expected": expected}).select(
            pe.levenshtein_distance("output", "expected")
        )


def test_lowercase_is_that_of_polars_for_all_of_unicode() -> None:
    """Letter by letter, and in the contexts that matter to sigma."""
    letters = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    contexts = [
        *letters,
        *(f"{c}\u03a3" for c in letters),
        *(f"\u03b1{c}\u03a3" for c in letters),
        *(f"\u03b1\u03a3{c}" for c in letters),
        *(f"\u03b1\u03a3{c}\u03b2" for c in letters),
    ]
    frame = pl.DataFrame({"output": contexts}).with_columns(expected=pl.col("output").str.to_lowercase())
    wrong = frame.filter(pe.levenshtein("output", "expected", decimals=None).struct.field("score") != 1.0)
    assert wrong.is_empty()
    changed = frame.filter(pl.col("output") != pl.col("expected"))
    same = changed.filter(
        pe.levenshtein("output", "expected", case_sensitive=True).struct.field("score") == 1.0
    )
    assert same.is_empty()
