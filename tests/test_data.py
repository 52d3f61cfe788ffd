"""The example traces are what data/README.md says they are."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, stdev

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rapidfuzz.distance import Levenshtein

DATA = Path(__file__).parents[1] / "data"
MODELS = ["assistant-1.0", "assistant-1.1", "assistant-2.0"]
UNMOVED = ["billing", "code", "geography", "translation"]


@pytest.fixture(scope="module")
def traces() -> pl.DataFrame:
    return pl.read_parquet(DATA / "traces.parquet")


def similarity(output: str | None, expected: str | None) -> float:
    if output is None or expected is None:
        return 0.0
    return round(Levenshtein.normalized_similarity(output.lower(), expected.lower()), 2)


def same(output: str | None, expected: str | None) -> float:
    return float(
        output is not None and expected is not None and output.strip().lower() == expected.strip().lower()
    )


@pytest.fixture(scope="module")
def scored(traces: pl.DataFrame) -> pl.DataFrame:
    pairs = list(zip(traces["output"], traces["expected"], strict=True))
    return traces.with_columns(
        pl.Series("levenshtein", [similarity(*pair) for pair in pairs]),
        pl.Series("exact_match", [same(*pair) for pair in pairs]),
    )


def paired_t(scored: pl.DataFrame, metric: str, baseline: str, candidate: str) -> float:
    wide = scored.pivot("model", index="item_id", values=metric)
    differences = (wide[candidate] - wide[baseline]).to_list()
    return float(fmean(differences) / (stdev(differences) / len(differences) ** 0.5))


def test_script_reproduces_the_committed_file(traces: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "traces.parquet"
    subprocess.run([sys.executable, DATA / "generate.py", path], check=True)
    assert_frame_equal(pl.read_parquet(path), traces)


def test_file_is_small() -> None:
    assert (DATA / "traces.parquet").stat().st_size < 3_000_000


def test_schema(traces: pl.DataFrame) -> None:
    text = [
        "item_id",
        "trace_id",
        "session_id",
        "model",
        "version",
        "topic",
        "language",
        "input",
        "output",
        "expected",
    ]
    types = dict.fromkeys(text, pl.String()) | {"ts": pl.Datetime("us", "UTC"), "human_ok": pl.Boolean()}
    assert dict(traces.schema) == types


def test_three_versions_answer_the_same_items(traces: pl.DataFrame) -> None:
    assert traces["trace_id"].is_unique().all()
    by_model = traces.group_by("model").agg(pl.col("item_id").sort(), pl.col("version").n_unique())
    assert by_model["model"].sort().to_list() == MODELS
    assert by_model["version"].to_list() == [1, 1, 1]
    assert by_model["item_id"].n_unique() == 1
    assert len(by_model["item_id"][0]) == by_model["item_id"][0].n_unique() == 720

    constant = pl.struct("session_id", "topic", "language", "input", "expected").n_unique()
    assert traces.group_by("item_id").agg(n=constant)["n"].to_list() == [1] * 720
    assert traces.group_by("topic").agg(pl.col("item_id").n_unique())["item_id"].to_list() == [120] * 6
    assert traces["language"].n_unique() == 7


def test_sessions_are_short_conversations_on_one_topic(traces: pl.DataFrame) -> None:
    sessions = traces.group_by("session_id").agg(
        pl.col("item_id", "topic", "language").n_unique(),
    )
    assert set(sessions["item_id"]) == {1, 2, 3, 4, 5}
    assert set(sessions["topic"]) == set(sessions["language"]) == {1}
    runs = traces.group_by("session_id", "model").agg(span=pl.col("ts").max() - pl.col("ts").min())
    assert runs["span"].max() < timedelta(minutes=10)  # type: ignore[operator]


def test_releases_overlap_within_six_weeks(traces: pl.DataFrame) -> None:
    assert traces["ts"].is_sorted()
    served = traces.group_by("model").agg(first=pl.col("ts").min(), last=pl.col("ts").max()).sort("model")
    first, last = served["first"].to_list(), served["last"].to_list()
    assert first[0] >= datetime(2026, 3, 2, tzinfo=UTC)
    assert last[2] < datetime(2026, 4, 13, tzinfo=UTC)
    assert traces["ts"].dt.truncate("1w").n_unique() == 6
    assert first[0] < first[1] < last[0] < first[2] < last[1] < last[2]


def test_missing_values(traces: pl.DataFrame) -> None:
    missing = traces.null_count().row(0, named=True)
    assert {name: count for name, count in missing.items() if count} == {
        "output": 13,
        "expected": 90,
        "human_ok": 1860,
    }


def test_texts_run_from_one_character_to_thousands(traces: pl.DataFrame) -> None:
    lengths = traces["output"].drop_nulls().str.len_chars().sort()
    assert (lengths[0], lengths[-1]) == (1, 5289)
    assert (lengths > 2000).sum() > 50


@pytest.mark.parametrize(
    "pattern",
    ["\N{SMILING FACE WITH SMILING EYES}", r"\p{Mn}", r"^\{\"invoice\"", r"(?m)^[-*] ", "```", r"\p{Arabic}"],
)
def test_outputs_hold_the_oddities_of_real_traffic(traces: pl.DataFrame, pattern: str) -> None:
    assert traces["output"].str.contains(pattern).sum() >= 5


@pytest.mark.parametrize("metric", ["levenshtein", "exact_match"])
@pytest.mark.parametrize("baseline", MODELS[:2])
@pytest.mark.parametrize(("topic", "direction"), [("medicine", -1), ("arithmetic", 1)])
def test_planted_topics_move(
    scored: pl.DataFrame, metric: str, baseline: str, topic: str, direction: int
) -> None:
    assert direction * paired_t(scored.filter(topic=topic), metric, baseline, "assistant-2.0") > 4.5


@pytest.mark.parametrize("metric", ["levenshtein", "exact_match"])
@pytest.mark.parametrize(
    ("candidate", "topics"),
    [("assistant-1.1", [*UNMOVED, "arithmetic", "medicine"]), ("assistant-2.0", UNMOVED)],
)
def test_other_topics_do_not_move(
    scored: pl.DataFrame, metric: str, candidate: str, topics: list[str]
) -> None:
    for topic in topics:
        assert abs(paired_t(scored.filter(topic=topic), metric, "assistant-1.0", candidate)) < 1.8, topic
    assert abs(paired_t(scored, metric, "assistant-1.0", candidate)) < 1.0


def test_weekly_means_show_when_the_change_came(scored: pl.DataFrame) -> None:
    weeks = (
        scored.filter(pl.col("topic").is_in(["medicine", "arithmetic"]))
        .group_by("topic", pl.col("ts").dt.truncate("1w").alias("week"))
        .agg(pl.col("levenshtein").mean())
        .sort("week")
    )
    medicine = weeks.filter(topic="medicine")["levenshtein"].to_list()
    arithmetic = weeks.filter(topic="arithmetic")["levenshtein"].to_list()
    assert min(medicine[:4]) - max(medicine[4:]) > 0.1
    assert min(arithmetic[4:]) - max(arithmetic[:4]) > 0.1


def test_human_verdicts_follow_the_score(scored: pl.DataFrame) -> None:
    labelled = scored.drop_nulls("human_ok")
    assert labelled.height == 300
    assert labelled.select("output", "expected").null_count().row(0) == (0, 0)
    agreement = labelled.select((pl.col("human_ok") == (pl.col("levenshtein") >= 0.5)).mean()).item()
    always_yes = labelled["human_ok"].mean()
    assert 0.95 > agreement > always_yes + 0.03  # type: ignore[operator]
