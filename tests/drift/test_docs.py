"""The documentation names every column of every frame."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

import polars_evals as pe

from .frames import drawn, versions

DOCS = Path(__file__).parents[2] / "docs" / "frames.md"


def documented(title: str) -> set[str]:
    """Names in the first column of the table that follows a sentence starting with the frame's name."""
    text = DOCS.read_text(encoding="utf-8")
    table = re.search(rf"^`{title}` (?:.|\n)*?\n\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table is not None, title
    rows = table[1].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def frames() -> dict[str, pl.DataFrame]:
    a, b = drawn(60)
    frame = versions({"a": a, "b": b}, topic=["x", "y"] * 30)
    days = [datetime(2025, 1, 1) + timedelta(days=i % 30) for i in range(120)]
    comparison = pe.compare(frame, version="model", baseline="a", item="case_id", by=["topic"])
    line = pe.timeline(frame.with_columns(ts=pl.Series(days)), time="ts", reference=5)
    of_line = {"timeline.summary" if name == "summary" else name: one for name, one in line.frames().items()}
    return {**comparison.frames(), **of_line}


@pytest.mark.parametrize(
    "name",
    ["flips", "components", "measures", "unmatched", "pass_rates", "windows", "timeline.summary", "segments"],
)
def test_every_column_is_documented(name: str) -> None:
    # Flips have the columns of the slices besides.
    assert documented(name) - {"by="} == set(frames()[name].columns) - {"topic"}


def test_summary_slices_and_calibration_are_documented() -> None:
    found = frames()
    assert documented("summary") == set(found["slices"].columns)
    of_slices = {"slice", "by", "value", "shrunk", "shrunk_low", "shrunk_high"}
    assert documented("summary") - of_slices == set(found["summary"].columns)
    scored = pl.DataFrame({"m_score": [i / 50 for i in range(50)], "ok": [i > 25 for i in range(50)]})
    calibration = pe.calibrate(scored, metrics="m", truth="ok")
    named = {c for c in calibration.curve.columns if "_ci_" not in c} | {
        "<measure>_ci_low",
        "<measure>_ci_high",
    }
    assert documented("curve") == named
    extra = set(calibration.summary.columns) - set(calibration.curve.columns)
    assert all(f"`{name}`" in DOCS.read_text(encoding="utf-8") for name in extra)
