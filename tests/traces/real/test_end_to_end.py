"""From a platform's own export to the page, with the pass rates that were logged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe
from tests.traces.real.scenario import MODELS, QUESTIONS, held

HERE = Path(__file__).parent
# One export a platform: the one that most users have.
PLATFORMS = {
    "mlflow/2.22.5": "assistant.jsonl",
    "mlflow/3.17.2": "assistant.jsonl",
    "inspect/0.3.285": "eval",
    "promptfoo/0.123.1": "results.jsonl",
    "otel/1.34.1": "openllmetry_otlp.jsonl",
    "otel/1.45.2": "openinference_otlp.jsonl",
    "phoenix/20.26.1": "spans.parquet",
    "langfuse/3.15.0": "observations.jsonl",
    "langfuse/5.0.4": "blob",
    "langsmith/0.14.17": "bulk",
    "lm_eval/0.4.13": "out",
    "braintrust/0.46.0": "experiments",
    "openai/3.49.0": "batch",
    "anthropic/2.8.0": "batch",
    "litellm/1.90.0": "standard_logging.jsonl",
    "pydantic_ai/2.60.0": "spans.jsonl.gz",
    "helm/0.5.16": "runs",
    "conversations/1.0": "messages.jsonl",
}
EXPECTED = {question.text: question.expected for question in QUESTIONS.values()}


def rate(answers: list[dict[str, Any]], version: str) -> float:
    """The share of right answers to the questions that have one; a call that failed is no right answer."""
    told: list[bool] = [
        answer["output"] == EXPECTED[answer["input"]]
        for answer in answers
        if answer["version"] == version and EXPECTED[answer["input"]] is not None
    ]
    return sum(told) / len(told)


def failures(answers: list[dict[str, Any]], version: str) -> int:
    """How many questions that have a right answer got none, since the call failed."""
    return len(
        {
            answer["input"]
            for answer in answers
            if answer["version"] == version
            and answer["output"] is None
            and EXPECTED[answer["input"]] is not None
        }
    )


@pytest.mark.parametrize(("place", "name"), PLATFORMS.items(), ids=PLATFORMS)
def test_an_export_becomes_a_comparison(place: str, name: str, tmp_path: Path) -> None:
    folder = HERE / place
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    export = next(export for export in truth["exports"] if export["name"] == name)
    answers = held(export, truth["answers"])
    traces = pe.scan_traces([folder / file for file in export["files"]]).collect()
    assert traces.height == export["rows"]

    if all(answer["expected"] is None for answer in answers):
        # The platform knows no right answers: they come from a data set, by the items of the questions.
        dataset = (
            traces.select("item_id", pl.col("input").replace_strict(EXPECTED, default=None).alias("expected"))
            .unique("item_id")
            .drop_nulls()
        )
        traces = pe.with_expected(traces, dataset)
    traces = traces.filter(pl.col("expected").is_not_null())

    version = {answer["model"]: answer["version"] for answer in answers}
    traces = traces.with_columns(version=pl.col("model").replace_strict(version))
    scored = pe.Suite([pe.Metric("exact_match", name="right")]).score(traces)
    logged = {each: rate(answers, each) for each in MODELS}
    rates = dict(scored.group_by("version").agg(pl.col("right_score").mean()).iter_rows())
    assert rates == pytest.approx(logged)

    comparison = pe.compare(scored, baseline="v1", candidate="v2", version="version", item="item_id")
    row = comparison.summary.filter(pl.col("metric") == "right").row(0, named=True)
    assert row["paired"]
    # A call that failed has no score, and stands in a row of its own.
    failed = {each: failures(answers, each) for each in MODELS}
    assert (row["n_candidate_only"], row["n_baseline_only"]) == (failed["v1"], failed["v2"])
    if sum(failed.values()):
        answered = comparison.summary.filter(pl.col("metric") == "answered").row(0, named=True)
        assert answered["baseline_mean"] - answered["candidate_mean"] == pytest.approx(
            (failed["v2"] - failed["v1"]) / answered["n"]
        )
    page = comparison.to_html(tmp_path / "page.html")
    assert "right" in Path(page).read_text(encoding="utf-8")
