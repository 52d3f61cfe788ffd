"""Chat shapes become the text of the answer; other text, JSON or not, stays as it is."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_evals.traces.platforms.base import Candidate
from polars_evals.traces.read import read_records, read_value
from tests.traces.helpers import digest


def reduced(*answers: Any, reading: str = "answer") -> list[str | None]:
    """Read answers that are texts, or values of JSON."""
    records = pl.Series([json.dumps({"a": answer}) for answer in answers], dtype=pl.String)
    return read_records(records, {"a": [Candidate("a", reading)]}).get_column("a").to_list()


def part(text: Any, key: str = "text") -> dict[str, Any]:
    return {"type": "text", key: text}


TOOL_CALL = {"type": "tool_call", "name": "f", "arguments": {"type": "text", "text": "no"}}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"role": "assistant", "content": "hi"}, "hi"),
        ({"role": "assistant", "content": ""}, ""),
        ({"role": "assistant", "content": None, "tool_calls": [1]}, None),
        ({"role": "assistant", "content": [part("a"), part("b")]}, "ab"),
        ({"role": "assistant", "content": [part('a "type":"text" b')]}, 'a "type":"text" b'),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "a"),
        ([{"role": "assistant", "parts": [part("a", "content")]}], "a"),
        ([{"role": "assistant", "parts": [part("a", "content"), TOOL_CALL, part("b", "content")]}], "ab"),
        ([{"role": "assistant", "parts": [TOOL_CALL]}], None),
        ([{"role": "assistant", "parts": []}], None),
        ({"choices": [{"message": {"role": "assistant", "content": "a"}}]}, "a"),
        ({"choices": [{"text": "a"}]}, "a"),
        ([{"index": 0, "message": {"role": "assistant", "content": "a"}}], "a"),
    ],
)
def test_chat(answer: Any, text: str | None) -> None:
    assert reduced(json.dumps(answer), answer) == [text, text]


@pytest.mark.parametrize(
    "answer",
    [
        *("plain", "", " ", "null", "{broken", "[1, 2]", "{}", "42", '"quoted"'),
        *('{"content": "no role, so it is the answer itself"}', '[{"type": "person"}]', '{"role": null}'),
    ],
)
def test_other_text_stays(answer: str) -> None:
    assert reduced(answer, None) == [answer, None]


@given(st.lists(st.text(), min_size=1, max_size=4), st.sampled_from(["text", "content"]))
def test_parts_are_joined_whatever_they_say(texts: list[str], key: str) -> None:
    message = {"role": "assistant", "content": [part(text, key) for text in texts]}
    assert reduced(message, json.dumps(message, ensure_ascii=False)) == ["".join(texts)] * 2


@given(st.lists(st.none() | st.text(), max_size=8))
def test_hash_is_the_documented_one(texts: list[str | None]) -> None:
    frame = pl.DataFrame({"a": texts}, schema={"a": pl.String})
    expected = [None if text is None else digest(text) for text in texts]
    assert frame.select(read_value(pl.col("a"), "hash")).to_series().to_list() == expected
    assert (
        frame.lazy().select(read_value(pl.col("a"), "hash")).collect(engine="streaming").to_series().to_list()
        == expected
    )


def test_hash_does_not_change() -> None:
    frame = pl.DataFrame({"a": ["Capital of France?"]})
    assert frame.select(read_value(pl.col("a"), "hash")).item() == "a8908d10095151838ea23d1880b20b74"
