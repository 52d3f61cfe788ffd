"""The changes planted in the example traces are found, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe

MEDICINE, ARITHMETIC = ("topic=medicine", "regressed"), ("topic=arithmetic", "improved")
RELEASE = datetime(2026, 3, 30, tzinfo=UTC)


@pytest.fixture(name="scored", scope="module")
def _scored() -> pl.DataFrame:
    traces = pl.read_parquet(Path(__file__).parents[2] / "data" / "traces.parquet")
    return traces.with_columns(
        pe.levenshtein("output", "expected"), pe.exact_match("output", "expected")
    ).unnest("levenshtein", "exact_match", separator="_")


@pytest.mark.parametrize("cluster", [None, "session_id"])
@pytest.mark.parametrize("by", [["topic"], "auto"])
def test_the_planted_topics_and_no_others_moved(scored: pl.DataFrame, by: Any, cluster: str | None) -> None:
    comparison = pe.compare(
        scored, version="model", baseline="assistant-1.0", item="item_id", by=by, cluster=cluster
    )
    assert "regressed" in comparison.verdicts.values()
    moved = pl.concat([comparison.summary, comparison.slices], how="diagonal").filter(
        pl.col("verdict").is_in(["regressed", "improved"])
    )
    found = set(moved.select("candidate", "metric", "slice", "verdict").rows())
    assert found == {
        ("assistant-2.0", metric, *change)
        for metric in ("levenshtein", "exact_match")
        for change in (MEDICINE, ARITHMETIC)
    }


def test_nothing_moved_from_1_0_to_1_1(scored: pl.DataFrame) -> None:
    comparison = pe.compare(
        scored,
        version="model",
        baseline="assistant-1.0",
        candidate="assistant-1.1",
        item="item_id",
        by="auto",
    )
    assert comparison.slices.is_empty()
    assert comparison.summary["q_value"].min() > 0.05  # type: ignore[operator]


def test_the_timeline_dates_the_release(scored: pl.DataFrame) -> None:
    line = pe.timeline(
        scored,
        time="ts",
        by=["topic"],
        reference=(RELEASE - timedelta(days=28), RELEASE),
        metrics=["levenshtein"],
    )
    moved = line.summary.filter(pl.col("verdict").is_in(["regressed", "improved"]))
    assert set(moved.select("slice", "verdict").rows()) == {MEDICINE, ARITHMETIC}
    assert moved["began"].to_list() == [RELEASE, RELEASE]
    assert line.windows.filter(pl.col("slice").is_null())["n"].sum() == scored.height


def test_the_human_verdicts_calibrate_a_threshold(scored: pl.DataFrame) -> None:
    calibration = pe.calibrate(scored, metrics="levenshtein", truth="human_ok")
    best = calibration.summary.row(0, named=True)
    assert best["n"] == 300
    assert best["kappa_ci_low"] > 0.2
    assert calibration.notes == ("1,860 rows have no human_ok and were left out",)
