"""Sums of parts: every column says how it merges, and a message is read as it was written or refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_evals.drift import estimate
from polars_evals.drift.merging import Grouped, Summed, add, mean, variance
from polars_evals.drift.parts import Aggregates, aggregate, merge
from polars_evals.drift.parts.message import MAGIC
from tests.drift.frames import versions


def part(offset: int = 0) -> Aggregates:
    frame = versions({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.4]}).with_columns(pl.col("case_id") + offset)
    return aggregate(frame, version="model", baseline="a", candidate="b", item="case_id")


def test_a_column_without_a_rule_is_refused() -> None:
    frame = pl.DataFrame({"key": [1, 1], "n": [1, 2], "median": [0.5, 0.7]})
    merged = Grouped(["key"], {"n": add})
    with pytest.raises(ValueError, match="no rule says how to merge the columns 'median'"):
        merged(frame)
    with pytest.raises(ValueError, match="'median'"):
        merged(frame.clear())
    assert merged(frame.drop("median"))["n"].to_list() == [3]


def test_a_sum_that_a_part_has_beyond_the_declared_ones_is_refused() -> None:
    one, other = part(), part(10)
    wider = replace(one, sums=one.sums | {"moments": one.sums["moments"].with_columns(median=0.5)})
    with pytest.raises(ValueError, match="no rule says how to merge the columns 'median'"):
        merge([wider, replace(other, sums=other.sums | {"moments": wider.sums["moments"]})])
    unknown = replace(other, sums=other.sums | {"medians": pl.DataFrame()})
    with pytest.raises(ValueError, match="no rule says how to merge the sums 'medians'"):
        merge([one, unknown])


def test_a_new_sum_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a statistic adds beside its rule arrives merged, on one machine or on many."""
    monkeypatch.setitem(estimate.PAIRED, "squares", Summed(pl.col("d").pow(2).sum(), add))
    whole = merge([part(), part(10)]).sums["moments"]["squares"][0]
    assert whole == pytest.approx(2 * 0.1**2)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=6), min_size=1, max_size=5))
def test_means_and_variances_are_those_of_all_values(parts: list[list[float]]) -> None:
    sums = pl.DataFrame(
        {
            "key": 1,
            "n": [len(values) for values in parts],
            "mean": [pl.Series(values).mean() for values in parts],
            "var": pl.Series([pl.Series(values).var() for values in parts], dtype=pl.Float64),
        }
    )
    rules = {"n": add, "mean": mean("n"), "var": variance("mean", "n")}
    merged = Grouped(["key"], rules)(sums)
    values = pl.Series([value for values in parts for value in values])
    assert merged["mean"].item() == pytest.approx(values.mean())
    assert merged["var"].item() == pytest.approx(values.var())


def test_a_message_is_read_as_it_was_written() -> None:
    one = part()
    found = Aggregates.from_bytes(one.to_bytes())
    assert found.spec == one.spec
    assert found.sums.keys() == one.sums.keys()
    for name, frame in one.sums.items():
        assert_frame_equal(found.sums[name], frame)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"", "no aggregates of polars-evals"),
        (b"garbage", "no aggregates of polars-evals"),
        (pickle.dumps({"a": 1}), "no aggregates of polars-evals"),
        (MAGIC, "no aggregates of polars-evals"),
        (MAGIC + b"1\nanything", "format 1, but this version of polars-evals reads format 3"),
        (MAGIC + b"3\n", "damaged or cut short"),
        (MAGIC + b"3\nanything else, long enough", "damaged or cut short"),
    ],
)
def test_garbage_is_refused(message: bytes, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Aggregates.from_bytes(message)


@given(st.data())
def test_a_damaged_message_is_refused(data: st.DataObject) -> None:
    message = bytearray(MESSAGE)
    place = data.draw(st.integers(0, len(message) - 1))
    message[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="aggregates"):
        Aggregates.from_bytes(bytes(message))
    with pytest.raises(ValueError, match="aggregates"):
        Aggregates.from_bytes(MESSAGE[:place])


MESSAGE = part().to_bytes()
