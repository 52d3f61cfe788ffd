"""The other edit metrics: RapidFuzz is the oracle, one row at a time."""

import random
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import distance

import polars_evals as pe
from tests.metrics.test_edit import PAIRS_COMPARED, random_pairs

DISTANCES = {
    "damerau_levenshtein": distance.DamerauLevenshtein,
    "osa": distance.OSA,
    "indel": distance.Indel,
    "hamming": distance.Hamming,
}
ORACLES = {**DISTANCES, "jaro_winkler": distance.JaroWinkler}
every_metric = pytest.mark.parametrize("name", ORACLES)
every_distance = pytest.mark.parametrize("name", DISTANCES)

TEXT = st.text(alphabet="abAB é中🙂\u0130Σ\n", max_size=12) | st.text(max_size=80)
PAIRS = st.lists(st.tuples(TEXT | st.none(), TEXT | st.none()), max_size=20)


def score(name: str, pairs: list[Any], **options: Any) -> pl.DataFrame:
    frame = pl.DataFrame(pairs, schema={"output": pl.String, "expected": pl.String}, orient="row")
    return frame.select(getattr(pe, name)("output", "expected", **options).alias("scored")).unnest("scored")


@every_metric
@given(pairs=PAIRS)
@settings(max_examples=60, deadline=None)
def test_unrounded_scores_are_rapidfuzz_to_the_last_bit(name: str, pairs: list[Any]) -> None:
    scores = score(name, pairs, decimals=None, max_chars=None, case_sensitive=True, missing="null")["score"]
    oracle = ORACLES[name].normalized_similarity
    assert scores.to_list() == [None if a is None or b is None else oracle(a, b) for a, b in pairs]


@every_metric
@pytest.mark.parametrize(("longest", "share"), [(40, 0.6), (300, 0.39), (3000, 0.01)])
def test_random_pairs_are_rapidfuzz_to_the_last_bit(name: str, longest: int, share: float) -> None:
    pairs = random_pairs(random.Random(longest), int(PAIRS_COMPARED * share), longest)
    scores = score(name, pairs, decimals=None, max_chars=None, case_sensitive=True)["score"]
    oracle = ORACLES[name].normalized_similarity
    assert scores.to_list() == [oracle(*pair) for pair in pairs]


@every_distance
@given(pairs=PAIRS, max_chars=st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_details_hold_the_distance_of_folded_and_cut_texts(
    name: str, pairs: list[Any], max_chars: int
) -> None:
    scored = score(name, pairs, max_chars=max_chars, details=True)
    for (a, b), row in zip(pairs, scored.iter_rows(named=True), strict=True):
        if a is None or b is None:
            assert (row["score"], row["distance"], row["output_chars"]) == (0.0, None, None)
            continue
        left, right = (pl.Series([text]).str.to_lowercase().item()[:max_chars] for text in (a, b))
        assert row["distance"] == DISTANCES[name].distance(left, right)
        assert (row["output_chars"], row["expected_chars"]) == (len(left), len(right))


@every_distance
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=10), decimals=st.integers(0, 15))
@settings(max_examples=60, deadline=None)
def test_rounding_is_half_up_from_the_integers(
    name: str, pairs: list[tuple[str, str]], decimals: int
) -> None:
    scores = score(name, pairs, decimals=decimals, max_chars=None, case_sensitive=True)["score"]
    for (a, b), rounded in zip(pairs, scores, strict=True):
        largest = len(a) + len(b) if name == "indel" else max(len(a), len(b))
        exact = 1 - Fraction(DISTANCES[name].distance(a, b), largest) if largest else Fraction(1)
        units = (2 * exact * 10**decimals + 1) // 2
        assert rounded == float(Fraction(units, 10**decimals))


@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=10), decimals=st.integers(0, 11))
@settings(max_examples=60, deadline=None)
def test_jaro_winkler_rounds_from_twelve_decimals(pairs: list[tuple[str, str]], decimals: int) -> None:
    scores = score("jaro_winkler", pairs, decimals=decimals, max_chars=None, case_sensitive=True)["score"]
    for (a, b), rounded in zip(pairs, scores, strict=True):
        exact = Decimal(f"{distance.JaroWinkler.normalized_similarity(a, b):.12f}")
        assert rounded == float(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("name", "output", "expected", "rounded"),
    [
        ("damerau_levenshtein", "ca", "abc", 0.33),
        ("osa", "ca", "abc", 0.0),
        ("osa", "recieve", "receive", 0.86),
        ("indel", "aaaaaaaaaabbbbbb", "aaaaaaaaaacccccc", 0.63),
        ("hamming", "abcdefgh", "abcdefg", 0.88),
        ("hamming", "Xabc", "abcX", 0.0),
        ("jaro_winkler", "MARTHA", "marhta", 0.96),
    ],
)
def test_worked_examples(name: str, output: str, expected: str, rounded: float) -> None:
    assert score(name, [(output, expected)])["score"].item() == rounded


@every_metric
def test_empty_texts(name: str) -> None:
    assert score(name, [("", ""), ("", "a"), ("a", "")])["score"].to_list() == [1.0, 0.0, 0.0]


@every_metric
def test_many_rows_are_cut_into_slices(name: str) -> None:
    pairs = [("kitten", "sitting"), (None, "x"), ("", ""), ("Straße", "STRASSE")] * 10_000
    scored = score(name, pairs, missing="null")
    assert scored["score"].to_list() == score(name, pairs[:4], missing="null")["score"].to_list() * 10_000


@every_metric
def test_turns_average_unrounded_scores(name: str) -> None:
    turns = [("kitten", "sitting"), ("abc", "abd"), ("abcdefg", "abcdefx")]
    unrounded = score(name, turns, decimals=None)["score"]
    frame = pl.DataFrame({"output": [[a for a, _ in turns]], "expected": [[b for _, b in turns]]})
    scored = frame.select(getattr(pe, name)("output", "expected", details=True).alias("s")).unnest("s")
    assert scored["turn_scores"].item().to_list() == unrounded.to_list()
    assert abs(scored["score"].item() - unrounded.mean()) <= 0.005 + 1e-12


@pytest.mark.parametrize("name", ["levenshtein", *ORACLES])
def test_averages_do_not_depend_on_the_number_of_rows(name: str) -> None:
    conversation = {"output": [["0123456789"]], "expected": [["0123456xyz"]]}
    metric = getattr(pe, name)("output", "expected", decimals=1).struct.field("score")
    alone = pl.DataFrame(conversation).select(metric)["score"].item()
    assert alone == round(alone, 1)
    beside = pl.DataFrame({side: turns * 3 for side, turns in conversation.items()})
    assert beside.select(metric)["score"].to_list() == [alone] * 3


@every_metric
@pytest.mark.parametrize(
    "options", [{"max_chars": 0}, {"decimals": -1}, {"case_sensitive": 1}, {"decimals": 1.5}]
)
def test_bad_options_name_the_option(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{name}: `{next(iter(options))}`"):
        getattr(pe, name)("output", "expected", **options)


@pytest.mark.parametrize("name", ["levenshtein", *ORACLES])
@pytest.mark.parametrize("decimals", range(16))
def test_rounded_scores_are_the_nearest_float_to_their_decimals(name: str, decimals: int) -> None:
    """All shares of up to 150 characters: 119 of 141 is 0.843972, not 0.8439719999999999."""
    shares = [(same, size) for size in range(1, 150) for same in range(size + 1)]
    pairs = [("a" * size, "a" * same + "b" * (size - same)) for same, size in shares]
    scores = score(name, pairs, decimals=decimals)["score"].to_list()
    assert scores == [float(f"{rounded:.{decimals}f}") for rounded in scores]
    if name != "jaro_winkler":
        units = [(2 * same * 10**decimals + size) // (2 * size) for same, size in shares]
        assert scores == [whole / 10**decimals for whole in units]
