"""Texts compared: nothing lost, nothing invented, and differences as people read them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_evals.report.diff import diff

TEXTS = st.text(alphabet=st.sampled_from("ab c\né́👍🏽‍日"), max_size=40)


def shown(text: str, other: str) -> str:
    marks = {"same": "{}", "added": "[+{}]", "missing": "[-{}]"}
    return "".join(marks[piece.kind].format(piece.text) for piece in diff(text, other))


@given(TEXTS, TEXTS)
def test_the_pieces_make_up_both_texts(text: str, other: str) -> None:
    pieces = diff(text, other)
    assert "".join(piece.text for piece in pieces if piece.kind != "missing") == text
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == other
    assert all(piece.text for piece in pieces)
    kinds = [piece.kind for piece in pieces]
    assert all(a != b for a, b in pairwise(kinds))


@given(TEXTS)
def test_equal_texts_have_no_difference(text: str) -> None:
    assert [piece.kind for piece in diff(text, text)] == ["same"] * bool(text)


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("Paris, France", "Paris, Texas", "Paris, [-Texas][+France]"),
        ("86,245", "86245", "86[+,]245"),
        ("take 400 mg daily", "take 200 mg daily", "take [-2][+4]00 mg daily"),
        ("butterfly", "mariposa", "[-mariposa][+butterfly]"),
        ("", "gone", "[-gone]"),
        ("new", "", "[+new]"),
    ],
)
def test_differences_read_as_words_and_characters(text: str, other: str, expected: str) -> None:
    assert shown(text, other) == expected


def test_a_character_is_not_torn_from_its_marks() -> None:
    assert shown("cafe\u0301", "cafe") == "caf[-e][+e\u0301]"
    assert shown("👍🏽", "👍") == "[-👍][+👍🏽]"
    assert shown("👩‍💻", "👩‍🎨") == "[-👩‍🎨][+👩‍💻]"
