"""Jaccard, recall and token F1: Python sets and SQuAD's script are the oracles."""

import re
import string
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings

import polars_evals as pe
from tests.texts import (
    details_of,
    frame_of,
    has_unspaced_letters,
    random_pairs,
    real_pairs,
    scores_of,
    some_pairs,
    words_of_any_script,
)

Find = Callable[[str], list[str]]


def lower(text: str) -> str:
    return pl.Series([text]).str.to_lowercase().item()  # type: ignore[no-any-return]


def extract(pattern: str) -> Find:
    return lambda text: pl.Series([text]).str.extract_all(pattern).item().to_list()


TOKENIZERS: dict[str, Find] = {
    "whitespace": str.split,
    "unicode": extract(r"\w+"),
    "characters": lambda text: [c for c in text if not c.isspace()],
    "rouge": lambda text: re.findall("[a-z0-9]+", text.lower()),
    r"[^\W_]+|\n": extract(r"[^\W_]+|\n"),
}


def sets_oracle(output: str, expected: str, find: Find) -> tuple[float, float, int, int, int, int]:
    left, right = set(find(output)), set(find(expected))
    both, either = left & right, left | right
    jaccard = len(both) / len(either) if either else 1.0
    recall = len(both) / len(right) if right else float(not left)
    return jaccard, recall, len(left), len(right), len(both), len(either)


@pytest.mark.parametrize("case_sensitive", [False, True])
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_word_sets(tokenizer: str, case_sensitive: bool) -> None:
    pairs = random_pairs(20, 400) + real_pairs(20)
    options: dict[str, Any] = {"tokenizer": tokenizer, "case_sensitive": case_sensitive, "details": True}
    jaccard = details_of(pe.jaccard("output", "expected", **options), pairs)
    recall = details_of(pe.recall("output", "expected", **options), pairs)
    found = jaccard.select(
        "score", recall["score"].alias("recall"), "output_words", "expected_words", "overlap", "union"
    )
    fold = (lambda text: text) if case_sensitive else lower
    want = [sets_oracle(fold(left), fold(right), TOKENIZERS[tokenizer]) for left, right in pairs]
    assert found.rows() == want
    counts = ["output_words", "expected_words", "overlap"]
    assert recall.select(counts).equals(jaccard.select(counts))
    assert "union" not in recall.columns


@settings(max_examples=100, deadline=None)
@given(pairs=some_pairs)
def test_word_sets_of_any_text(pairs: list[tuple[str, str]]) -> None:
    def split(left: str, right: str) -> Callable[[str], list[str]]:
        return words_of_any_script if has_unspaced_letters(left, right) else str.split

    for tokenizer in ("whitespace", "auto"):
        want = [
            sets_oracle(left.lower(), right.lower(), split(left, right) if tokenizer == "auto" else str.split)
            for left, right in pairs
        ]
        scores = scores_of(pe.jaccard("output", "expected", tokenizer=tokenizer), pairs)
        assert scores == [jaccard for jaccard, *_ in want]
        scores = scores_of(pe.recall("output", "expected", tokenizer=tokenizer), pairs)
        assert scores == [recall for _, recall, *_ in want]


@settings(max_examples=50, deadline=None)
@given(pairs=some_pairs)
def test_properties(pairs: list[tuple[str, str]]) -> None:
    swapped = [(expected, output) for output, expected in pairs]
    for metric in (pe.jaccard, pe.token_f1):
        assert scores_of(metric("output", "expected"), pairs) == scores_of(
            metric("output", "expected"), swapped
        )
    # Beside letters of a script without spaces, punctuation is no word.
    more = [
        (f"{output} {expected}", expected)
        for output, expected in pairs
        if expected.split() and not has_unspaced_letters(output, expected)
    ]
    assert scores_of(pe.recall("output", "expected"), more) == [1.0] * len(more)


def test_worked_examples() -> None:
    words = [("blue green yellow", "red blue green")]
    assert scores_of(pe.jaccard("output", "expected"), words) == [0.5]
    assert scores_of(pe.recall("output", "expected"), [("red blue green yellow", "red blue")]) == [1.0]
    nothing = [("", ""), (" \n", "\t"), ("", "a"), ("a", "")]
    for metric in (pe.jaccard, pe.recall):
        assert scores_of(metric("output", "expected"), nothing) == [1.0, 1.0, 0.0, 0.0]
    articles = [("the", "a. An!"), ("the", "cat"), ("cat", "the")]
    assert scores_of(pe.token_f1("output", "expected"), articles) == [1.0, 0.0, 0.0]


def squad_words(text: str) -> list[str]:
    """What the evaluation script of SQuAD makes of an answer."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def squad_f1(output: str, expected: str) -> float:
    left, right = squad_words(output), squad_words(expected)
    if not left or not right:
        return float(left == right)
    shared = sum((Counter(left) & Counter(right)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(left), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def test_token_f1() -> None:
    pairs = random_pairs(30, 2000) + real_pairs(50)
    squad = [squad_f1(*pair) for pair in pairs]
    assert scores_of(pe.token_f1("output", "expected", tokenizer="whitespace"), pairs) == squad
    usual = scores_of(pe.token_f1("output", "expected"), pairs)
    spaced = [not has_unspaced_letters(*pair) for pair in pairs]
    assert sum(spaced) > 300
    for score, wanted, is_spaced in zip(usual, squad, spaced, strict=True):
        assert score == wanted or not is_spaced


def test_token_f1_of_scripts_without_spaces() -> None:
    pairs = [
        ("答えは東京です。", "東京"),
        ("the 東京 is (a) city", "東京 city"),
        ("กรุงเทพ", "กรุงเทพมหานคร"),
        ("ดี", "ด"),
    ]
    scored = details_of(pe.token_f1("output", "expected", details=True), pairs)
    assert scored["output_tokens"].to_list() == [7, 4, 6, 1]
    assert scored["overlap"].to_list() == [2, 3, 6, 0]
    characters = pe.token_f1("output", "expected", tokenizer="characters", details=True)
    assert details_of(characters, pairs)["output_tokens"].to_list() == [8, 8, 7, 2]


@settings(max_examples=100, deadline=None)
@given(pairs=some_pairs)
def test_token_f1_of_any_text(pairs: list[tuple[str, str]]) -> None:
    scores = scores_of(pe.token_f1("output", "expected", tokenizer="whitespace"), pairs)
    assert scores == [squad_f1(*pair) for pair in pairs]


def test_token_f1_details() -> None:
    scored = details_of(pe.token_f1("output", "expected", details=True), [("A cat, a cat!", "the cat sat")])
    fields = ["precision", "recall", "output_tokens", "expected_tokens", "overlap"]
    assert scored.select(fields).row(0) == (0.5, 0.5, 2, 2, 1)


def test_the_memory_of_words_is_bounded() -> None:
    """More words than are remembered: scores do not depend on what came before."""
    rows = 3000
    many = [(" ".join(f"w{row}x{i}" for i in range(12)), f"w{row}x0 w{row}x1") for row in range(rows)]
    assert scores_of(pe.recall("output", "expected"), many) == [1.0] * rows
    assert scores_of(pe.jaccard("output", "expected"), many) == [2 / 12] * rows
    assert scores_of(pe.rouge("output", "expected", measure="recall"), many) == [1.0] * rows


def test_words_of_every_length() -> None:
    words = ["é" * size + "x" for size in range(40)] + ["y" * size for size in range(1, 40)]
    pairs = [(left, right) for left in words for right in words]
    assert scores_of(pe.jaccard("output", "expected"), pairs) == [
        float(left == right) for left, right in pairs
    ]


def test_bad_options() -> None:
    for metric in (pe.jaccard, pe.recall):
        with pytest.raises(ValueError, match=f"{metric.__name__}: `tokenizer`.*or a regular expression"):
            metric("output", "expected", tokenizer="word")
        with pytest.raises(ValueError, match=f"{metric.__name__}: `case_sensitive`"):
            metric("output", "expected", case_sensitive=None)  # type: ignore[arg-type]
    assert frame_of([]).select(pe.jaccard("output", "expected", tokenizer=r"\w+")).is_empty()


def test_kinds_of_characters_are_those_of_polars() -> None:
    """Over all of Unicode, as the tokenizers see it: each code point is alone, and then part of a word."""
    codes = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    frame = pl.DataFrame({"output": [f"a{code}b" for code in codes], "expected": ["a b"] * len(codes)})
    is_word, is_space = (pl.col("output").str.contains(f"a{kind}b") for kind in (r"\w", r"[\s\x1c-\x1f]"))
    scored = frame.select(
        unicode=pe.jaccard("output", "expected", tokenizer="unicode", case_sensitive=True).struct[0] == 0,
        whitespace=pe.jaccard("output", "expected", case_sensitive=True).struct[0] == 1,
        is_word=is_word,
        is_space=is_space,
    )
    assert scored.filter(pl.col("unicode") != pl.col("is_word")).is_empty()
    assert scored.filter(pl.col("whitespace") != pl.col("is_space")).is_empty()
