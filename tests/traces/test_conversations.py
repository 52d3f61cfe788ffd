"""Sessions become one row each, with their turns in order."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.traces.rows import CANONICAL
from tests.traces.helpers import digest


def traces(**columns: list[object]) -> pl.DataFrame:
    size = len(next(iter(columns.values())))
    return pl.DataFrame(
        {name: columns.get(name, [None] * size) for name in CANONICAL}, schema=dict(CANONICAL)
    )


def at(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def test_turns_are_in_the_order_of_time() -> None:
    frame = traces(
        session_id=["s2", "s1", "s1", "s2", "s1"],
        ts=[at(5), at(3), at(1), at(4), None],
        output=["b2", "a2", "a1", "b1", "a3"],
        expected=["B2", None, "A1", "B1", "A3"],
        input=["q"] * 5,
        model=["m2", "late", "m1", "first", "x"],
    )
    talks = pe.conversations(frame)
    assert talks.columns == list(CANONICAL)
    assert talks.select("session_id", "ts", "model", "output", "expected").rows() == [
        ("s2", at(4), "first", ["b1", "b2"], ["B1", "B2"]),
        ("s1", at(1), "m1", ["a1", "a2", "a3"], ["A1", None, "A3"]),
    ]
    assert_frame_equal(pe.conversations(frame.lazy()).collect(), talks)
    assert_frame_equal(pe.conversations(frame.lazy()).collect(engine="streaming"), talks)


def test_spans_without_a_session_are_gathered_by_trace_or_stay_alone() -> None:
    frame = traces(
        trace_id=["t", "t", None, None, "s"], session_id=[None, None, None, None, "t"], output=list("abcde")
    )
    assert pe.conversations(frame).get_column("output").to_list() == [["a", "b"], ["c"], ["d"], ["e"]]


def test_contexts_of_all_turns_are_joined() -> None:
    contexts: list[object] = [["x"], [], ["y", "z"], None, [], []]
    sessions: list[object] = [*"ssss", *"tt"]
    frame = traces(session_id=sessions, output=list("abcdef"), contexts=contexts)
    assert pe.conversations(frame).get_column("contexts").to_list() == [["x", "y", "z"], []]


def test_item_pairs_the_same_questions() -> None:
    frame = traces(
        session_id=["old", "old", "new", "new", "one"],
        item_id=["x", "y", "x", "y", "z"],
        ts=[at(1), at(2), at(3), at(4), at(5)],
        output=list("abcde"),
    )
    items = pe.conversations(frame).get_column("item_id").to_list()
    assert items == [digest("x\ny"), digest("x\ny"), "z"]


def test_no_rows() -> None:
    empty = pe.conversations(traces(output=[]))
    assert empty.is_empty()
    assert empty.schema["output"] == pl.List(pl.String)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3)), max_size=12))
def test_nothing_is_lost_and_order_is_stable(spans: list[tuple[str | None, int]]) -> None:
    frame = traces(
        session_id=[session for session, _ in spans],
        ts=[at(second) for _, second in spans],
        output=[str(row) for row in range(len(spans))],
    )
    found = pe.conversations(frame).select("session_id", "output").rows()
    for session in ("a", "b"):
        turns = sorted((second, row) for row, (named, second) in enumerate(spans) if named == session)
        assert [talk for named, talk in found if named == session] == (
            [[str(row) for _, row in turns]] if turns else []
        )
    assert sorted(turn for _, talk in found for turn in talk) == sorted(str(row) for row in range(len(spans)))


def test_scores_turn_by_turn() -> None:
    frame = traces(session_id=["s", "s"], ts=[at(1), at(2)], output=["abcd", "ab"], expected=["abcd", "xy"])
    scored = pe.conversations(frame).select(pe.levenshtein("output", "expected")).unnest("levenshtein")
    assert scored.get_column("score").to_list() == [0.5]
