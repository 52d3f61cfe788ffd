"""Every paired difference, and a verdict for each candidate."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import polars_evals as pe

OUTPUTS = Path(__file__).parents[2].parent / "shared/data/outputs.parquet"


@pytest.fixture(scope="module")
def scored() -> pl.DataFrame:
    rows = []
    for version, lost in (("v1", 0.0), ("v2", 0.4), ("v3", -0.1)):
        for item in range(60):
            score = min(1.0, max(0.0, 0.5 + 0.005 * item - (lost if item % 2 else 0.0)))
            rows.append(
                {
                    "case_id": item, "model": version, "topic": "odd" if item % 2 else "even",
                    "input": f"q{item}", "expected": f"e{item}", "output": f"{version} says {item}",
                    "m_score": score, "m_label": "pass" if score >= 0.5 else "fail",
                }
            )  # fmt: skip
    return pl.DataFrame(rows)


def compared(scored: pl.DataFrame | pl.LazyFrame, **options: object) -> pe.Comparison:
    given: dict[str, object] = {"version": "model", "baseline": "v1", "item": "case_id"} | options
    return pe.compare(scored, **given)  # type: ignore[arg-type]


def test_every_item_is_there_worst_first_with_its_texts(scored: pl.DataFrame) -> None:
    items = compared(scored, by="topic").items.collect()
    assert items.height == 2 * 60
    for _, rows in items.group_by("candidate", "metric", maintain_order=True):
        assert rows["difference"].is_sorted()
    assert items["candidate"].unique(maintain_order=True).to_list() == ["v2", "v3"]
    row = items.row(by_predicate=(pl.col("item") == 7) & (pl.col("candidate") == "v2"), named=True)
    texts = [row[name] for name in ("input", "expected", "baseline_output", "candidate_output", "output_v3")]
    assert texts == ["q7", "e7", "v1 says 7", "v2 says 7", "v3 says 7"]
    assert row["difference"] == pytest.approx(-0.4)
    assert (row["topic"], row["flip"]) == ("odd", "newly_failing")


def test_items_agree_with_summary_and_flips(scored: pl.DataFrame) -> None:
    comparison = compared(scored, by="topic")
    items = comparison.items.collect()
    means = items.group_by("candidate").agg(pl.col("difference").mean()).sort("candidate")
    wanted = comparison.summary.filter(pl.col("metric") == "m").sort("candidate")
    assert means["difference"].to_list() == pytest.approx(wanted["difference"].to_list(), abs=1e-12)
    flipped = items.drop_nulls("flip")
    assert flipped.height == comparison.flips.height
    assert set(flipped["item"]) == set(comparison.flips["item"])


def test_items_are_lazy_and_take_one_expression_to_filter(scored: pl.DataFrame, tmp_path: Path) -> None:
    scored.write_parquet(tmp_path / "scored.parquet")
    items = compared(pl.scan_parquet(tmp_path / "scored.parquet"), by="topic").items
    assert isinstance(items, pl.LazyFrame)
    odd = items.filter(pl.col("topic") == "odd", pl.col("candidate") == "v2").collect()
    assert odd.height == 30


def test_repeats_are_averaged_and_a_split_has_no_label() -> None:
    frame = pl.DataFrame(
        {
            "case_id": [1, 1, 1, 1],
            "model": ["v1", "v1", "v2", "v2"],
            "m_score": [1.0, 0.0, 1.0, 1.0],
            "m_label": ["pass", "fail", "pass", "pass"],
        }
    )
    row = compared(frame).items.collect().row(0, named=True)
    assert (row["baseline_score"], row["candidate_score"]) == (0.5, 1.0)
    assert (row["baseline_label"], row["candidate_label"], row["flip"]) == (None, "pass", None)


def test_without_an_item_column_there_are_none(scored: pl.DataFrame) -> None:
    items = pe.compare(scored, version="model", baseline="v1", candidate="v2", by="topic").items.collect()
    assert items.is_empty()
    assert "topic" in items.columns


def test_each_candidate_has_its_verdict_and_none_sums_them_up(scored: pl.DataFrame) -> None:
    comparison = compared(scored.drop("m_label"))
    assert comparison.verdicts == {"v2": "regressed", "v3": "improved"}
    with pytest.raises(ValueError, match="each has its own verdict"):
        _ = comparison.verdict
    assert comparison.headline == (
        "2 versions against v1: 1 worse, 1 better: v2 is worse on m; v3 is better on m."
    )
    assert re.search(r"v3 +improved +\+0", repr(comparison))
    assert '"verdicts"' in comparison.to_json()
    assert "v2 is worse" in comparison.to_markdown()
    assert compared(scored.drop("m_label"), candidate="v3").verdict == "improved"


def test_all_frames_can_be_written_as_csv(scored: pl.DataFrame, tmp_path: Path) -> None:
    comparison = compared(scored, by=["topic"])
    for name, frame in comparison.frames().items():
        frame.write_csv(tmp_path / f"{name}.csv")
    comparison.items.sink_csv(tmp_path / "items.csv")
    assert pl.read_csv(tmp_path / "items.csv").height == 120
    dated = scored.with_columns(ts=pl.datetime(2026, 1, 1) + pl.duration(days=pl.col("case_id")))
    for name, frame in pe.timeline(dated, time="ts", by="topic").frames().items():
        frame.write_csv(tmp_path / f"{name}.csv")


@pytest.mark.skipif(not OUTPUTS.exists(), reason="needs the shared outputs of ten real models")
def test_ten_real_models() -> None:
    frame = pe.Suite([pe.Metric("rouge"), pe.Metric("levenshtein")]).score(pl.read_parquet(OUTPUTS))
    comparison = pe.compare(frame, version="model", baseline="vicuna-7b", item="input", by="dataset")
    assert comparison.items.select(pl.len()).collect().item() == 9 * 2 * 805
    summary = comparison.summary.filter(pl.col("candidate") == "Qwen2-72B-Instruct")
    assert summary["verdict"].to_list() == ["improved", "improved"]
