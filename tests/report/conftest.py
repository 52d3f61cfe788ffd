"""A comparison and a timeline of the example traces, and their page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_evals as pe

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def scored(pytestconfig: pytest.Config) -> pl.DataFrame:
    traces = pl.read_parquet(pytestconfig.rootpath / "data" / "traces.parquet")
    return pe.Suite([pe.Metric("levenshtein"), pe.Metric("exact_match")]).score(traces)


@pytest.fixture(scope="session")
def comparison(scored: pl.DataFrame) -> pe.Comparison:
    return pe.compare(
        scored,
        version="model",
        baseline="assistant-1.0",
        candidate="assistant-2.0",
        item="item_id",
        cluster="session_id",
        by="topic",
    )


@pytest.fixture(scope="session")
def timeline(scored: pl.DataFrame) -> pe.Timeline:
    return pe.timeline(scored, time="ts", every="1d", by="topic", metrics=["levenshtein"])


@pytest.fixture(scope="session")
def calibration(scored: pl.DataFrame) -> pe.Calibration:
    return pe.calibrate(scored, metrics="levenshtein", truth="human_ok")


@pytest.fixture(scope="session")
def report(
    comparison: pe.Comparison, timeline: pe.Timeline, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert comparison.to_html(path, timeline=timeline) == str(path)
    return path


HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "<svg onload=window.hacked=1>",
    "</style></title></script><script>window.hacked = 1</script>",
    "{{ 7 * 7 }} ${7 * 7} <%= 7 %> {% raw %}",
    "javascript:window.hacked=1",
    "\u202eright to left\u202c \u2066isolate",
    "nul \x00 and \x1b[31mred\x1b[0m",
    "broken \ufffd \ufffe \uffff",
    "&lt;already&gt; &amp; &#x3C;b&#x3E;",
    "datum['x'] + alert(1)",
    "same " * 100 + "a",
    "same " * 100 + "b",
]


@pytest.fixture(scope="session")
def hostile() -> pe.Comparison:
    """Return a comparison in which every name and every text means harm."""
    frame = pl.concat(
        pl.DataFrame(
            {
                "case_id": HOSTILE,
                "model": model,
                "topic": HOSTILE,
                "input": HOSTILE,
                "expected": HOSTILE,
                "output": HOSTILE if score == 1.0 else HOSTILE[::-1],
                "m<script>|_score": score,
                "m<script>|_label": "pass" if score == 1.0 else "fail",
            }
        )
        for model, score in (("</title><script>window.hacked=1</script>", 1.0), ("v2\x00\"onload='x'", 0.0))
    )
    baseline = "</title><script>window.hacked=1</script>"
    return pe.compare(frame, version="model", baseline=baseline, item="case_id", by=["topic"])
