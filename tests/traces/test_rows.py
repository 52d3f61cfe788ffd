"""Fields: names and paths into columns of any type, and times in any spelling."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_evals.traces.content import TraceFile
from polars_evals.traces.platforms import GENERIC
from polars_evals.traces.platforms.base import Candidate
from polars_evals.traces.source import TIME, Field, Stream, Table, as_time

if TYPE_CHECKING:
    from pathlib import Path

NESTED = pl.DataFrame(
    {
        "text": ['{"a": {"b": [1, "two"]}, "c.d": "x", "held": "{\\"n\\": [3]}"}', "not json", None],
        "struct": [{"a": {"b": 1.5}, "s": "t"}, None, {"a": None, "s": None}],
        "list": [[{"m.c": "first"}, {"m.c": "last"}], [], None],
        # Polars has a type of maps from 2.0 on; before, one is a list of entries, never null in old ones.
        "map": pl.from_arrow(pa.array([[("k", "v")], [], None], pa.map_(pa.string(), pa.string()))),
        "dotted.name": ["dot", None, "dot"],
        "number": [1, None, 2],
    }
)


def read(name: str) -> list[Any] | None:
    field = Table(GENERIC, [], dict(NESTED.schema)).field([Candidate(name, "text")])
    if field is None:
        return None
    return NESTED.select(field.expr.cast(pl.String).alias("value")).get_column("value").to_list()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("text.a.b[0]", ["1", None, None]),
        ("text.a.b[-1:]", ["two", None, None]),
        ("text['c.d']", ["x", None, None]),
        ("text.held", ['{"n": [3]}', None, None]),
        ("text.held.n[0]", ["3", None, None]),
        ("text.held.n[-1]", ["3", None, None]),
        ("struct", ['{"a":{"b":1.5},"s":"t"}', None, '{"a":null,"s":null}']),
        ("struct.a.b", ["1.5", None, None]),
        ("struct.a", ['{"b":1.5}', None, None]),
        ("list", ['[{"m.c":"first"},{"m.c":"last"}]', "[]", None]),
        ("list[-1:]['m.c']", ["last", None, None]),
        ("map['k']", ["v", None, None]),
        ("map.k", ["v", None, None]),
        ("map", ['[{"key":"k","value":"v"}]', "[]", None if NESTED["map"].null_count() else "[]"]),
        ("dotted.name", ["dot", None, "dot"]),
        ("number", ["1", None, "2"]),
        ("struct.missing", [None, None, None]),
        ("missing", None),
        ("missing.path", None),
    ],
)
def test_text(name: str, values: list[Any] | None) -> None:
    assert read(name) == values


def test_lines_are_read_like_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"a": {"b": 1}, "x.y": "dot", "s": "null", "n": null, '
        '"\\u00e9": "\\u00e9", "q\\"u\\\\o": "odd", "d": 1, "d": 2}\n'
        '{"a"\n[]\n'
    )
    names = {"a.b": "1", "x.y": "dot", "x.z": None, "s": "null", "n": None, "never.seen": None, "é": "é"}
    # A key may hold quotes and backslashes, and come twice: then the last counts.
    for name, first in (names | {'q"u\\o': "odd", "d": "2"}).items():
        stream = Stream(GENERIC, [TraceFile(str(file), "lines", str(file))], {"a": pl.String()})
        field = stream.source_field(name)
        assert field is not None
        found = stream.scan().select(field.expr.alias("v")).collect().get_column("v").to_list()
        assert found == [first, None, None], name


def times(values: list[Any], dtype: pl.DataType | None = None) -> list[datetime | None]:
    series = pl.Series("t", values, dtype=dtype)
    expr = as_time(Field(pl.col("t"), series.dtype))
    assert expr is not None
    result = series.to_frame().select(expr.alias("t")).get_column("t")
    assert result.dtype == TIME
    return result.to_list()


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01T12:00:00", NOON),
        ("2026-03-01 12:00:00.000000", NOON),
        ("2026-03-01 12:00:00 UTC", NOON),
        ("2026-03-01 12:00:00 +0000 UTC", NOON),
        ("2026-03-01T12:00", NOON),
        ("2026-03-01 12:00Z", NOON),
        ("2026-03-01T13:00:00+01:00", NOON),
        ("2026-03-01T06:30:00.5-0530", NOON + timedelta(milliseconds=500)),
        ("2026-03-01T12:00:00.123456789Z", NOON + timedelta(microseconds=123456)),
        (" 2026-03-01 ", NOON - timedelta(hours=12)),
        ("1772366400", NOON),
        ("1772366400.25", NOON + timedelta(milliseconds=250)),
        ("1772366400000", NOON),
        ("1772366400000000", NOON),
        ("1772366400000000000", NOON),
        ("yesterday", None),
        ("2026-13-01", None),
        ("", None),
        ("12", None),
    ],
)
def test_texts_as_times(text: str, time: datetime | None) -> None:
    assert times([text, None]) == [time, None]


def test_every_row_is_read_by_itself() -> None:
    mixed = ["2026-03-01", "2026-03-01T12:00:00.5+00:00", "1772366400", None, "?"]
    assert times(mixed) == [NOON - timedelta(hours=12), NOON + timedelta(milliseconds=500), NOON, None, None]


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_numbers_as_times(unit: int) -> None:
    assert times([1_772_366_400 * unit, None]) == [NOON, None]
    assert times([float(1_772_366_400 * unit)]) == [NOON]


def test_dates_and_nothing() -> None:
    assert times([date(2026, 3, 1), None]) == [NOON - timedelta(hours=12), None]
    assert times([None, None], pl.Null()) == [None, None]
    assert as_time(Field(pl.col("t"), pl.Boolean())) is None


@given(
    st.datetimes(min_value=datetime(1974, 1, 1), max_value=datetime(2100, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_iso_round_trip(local: datetime, minutes: int) -> None:
    time = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert times([time.isoformat(), str(time)]) == [time, time]
    microseconds = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert times([microseconds, microseconds * 1000]) == [time, time]
