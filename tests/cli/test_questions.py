"""The commands rank, plan, runs and agreement: what they print, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_evals as pe
from tests.jobs.support import DATA, command, invoke

if TYPE_CHECKING:
    from pathlib import Path


def test_rank_is_the_librarys(scored: Path, tmp_path: Path) -> None:
    page, columns = tmp_path / "rank.html", ("--version", "model", "--item", "item_id")
    code, told, _ = invoke("rank", scored, *columns, "--html", page, "--json")
    assert code == 0
    wanted = pe.rank(pl.scan_parquet(scored), version="model", item="item_id")
    assert json.loads(told)["summary"]["rows"] == json.loads(wanted.to_json())["summary"]["rows"]
    assert "leaderboard" in invoke("rank", scored, *columns)[1]
    assert "<svg" in page.read_text("utf-8")


def test_plan_takes_numbers_or_a_pilot(scored: Path, tmp_path: Path) -> None:
    told = json.loads(invoke("plan", "--spread", "0.3", "--min-effect", "0.02", "--json")[1])
    assert told["summary"]["rows"][0]["items"] == 1768
    pilot = tmp_path / "pilot.parquet"
    pl.read_parquet(scored).filter(pl.col("model") != "assistant-1.1").write_parquet(pilot)
    columns = ("--version", "model", "--item", "item_id", "--metric", "levenshtein")
    assert "items" in invoke("plan", pilot, *columns)[1]
    ended = command("plan", "--spread", "-1")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "spread must be a number above 0" in ended.stderr


def test_runs_counts_flaky_items(scored: Path) -> None:
    code, told, _ = invoke("runs", scored, "--version", "model", "--item", "item_id", "--k", "1", "--json")
    assert code == 0
    assert {row["k"] for row in json.loads(told)["summary"]["rows"]} == {1}


def test_agreement_of_people_and_a_metric(tmp_path: Path) -> None:
    frame = pe.Suite([pe.Metric("levenshtein")]).score(pl.read_parquet(DATA))
    labels = tmp_path / "labels.parquet"
    frame.with_columns(judge=pl.col("levenshtein_label") == "pass").write_parquet(labels)
    told = json.loads(invoke("agreement", labels, "--rater", "human_ok", "--rater", "judge", "--json")[1])
    values = {row["statistic"]: row["value"] for row in told["summary"]["rows"]}
    assert 0.3 < values["cohen_kappa"] < 1
    assert [row["estimate"] for row in told["pass_rate"]["rows"]] == ["people", "judge", "prediction_powered"]


@pytest.mark.parametrize("name", ["rank", "plan", "runs", "agreement"])
def test_help_has_an_example(name: str) -> None:
    assert f"polars-evals {name}" in invoke(name, "--help")[1]
