"""Error rates: jiwer is the oracle, for the rates and for the counts."""

import jiwer
import pytest

import polars_evals as pe
from tests.texts import details_of, random_pairs, real_pairs

PAIRS = [
    (output, expected)
    for output, expected in random_pairs(61, 300) + real_pairs(30)
    if output.split() and expected.split()
]


def spaced(text: str) -> str:
    return " ".join(text.split())


def test_word_error_rate_of_jiwer() -> None:
    pairs = [(spaced(output), spaced(expected)) for output, expected in PAIRS]
    expr = pe.wer("output", "expected", tokenizer="whitespace", case_sensitive=True, details=True)
    scored = details_of(expr, pairs)
    for row, (output, expected) in zip(scored.iter_rows(named=True), pairs, strict=True):
        want = jiwer.process_words(expected, output)
        assert row["score"] == pytest.approx(max(0, 1 - want.wer), abs=1e-12)
        counts = (row["substitutions"], row["insertions"], row["deletions"])
        assert counts == (want.substitutions, want.insertions, want.deletions)
        assert row["length"] == len(expected.split())


def test_newlines_separate_words_here_and_not_in_jiwer() -> None:
    pairs = [("a\nb c", "a b c")]
    assert details_of(pe.wer("output", "expected", tokenizer="whitespace"), pairs)["score"].item() == 1.0
    assert jiwer.process_words("a b c", "a\nb c").wer > 0


def test_character_error_rate_of_jiwer() -> None:
    pairs = [(spaced(output), spaced(expected)) for output, expected in PAIRS[:200]]
    scored = details_of(pe.cer("output", "expected", case_sensitive=True, details=True), pairs)
    for row, (output, expected) in zip(scored.iter_rows(named=True), pairs, strict=True):
        want = jiwer.process_characters(expected, output)
        assert row["score"] == pytest.approx(max(0, 1 - want.cer), abs=1e-12)
        counts = (row["substitutions"], row["insertions"], row["deletions"])
        assert counts == (want.substitutions, want.insertions, want.deletions)


def test_defaults() -> None:
    pairs = [
        ("Hello, World!", "hello world"),
        ("", ""),
        ("a", ""),
        ("", "a"),
        ("...", "?!"),
        ("🙂", "🙂 "),
        ("a b c d", "x"),
    ]
    assert details_of(pe.wer("output", "expected"), pairs)["score"].to_list() == [1, 1, 0, 0, 0, 1, 0]
    unicode = pe.wer("output", "expected", tokenizer="unicode")
    assert details_of(unicode, pairs)["score"].to_list() == [1, 1, 0, 0, 1, 1, 0]
    assert details_of(pe.cer("output", "expected"), [(" Ab ", "aB")])["score"].item() == 1.0
    auto = details_of(
        pe.wer("output", "expected", tokenizer="auto"), [("你好世界", "你好世人"), ("a-b", "a b")]
    )
    assert auto["score"].to_list() == [0.75, 1.0]
