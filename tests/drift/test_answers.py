"""Failed and missing answers are counted and judged apart from wrong ones."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import polars_evals as pe

N = 300


def traces(*, failed: int = 18, error: str | None = "timeout", finish: str | None = "stop") -> pl.DataFrame:
    """Return two versions that answer alike; v2 fails so many times."""
    frames = []
    for model, lost in (("v1", 0), ("v2", failed)):
        gone = pl.col("item_id") < lost
        frames.append(
            pl.DataFrame({"item_id": range(N)}).with_columns(
                model=pl.lit(model),
                output=pl.when(~gone).then(pl.lit("Paris")),
                expected=pl.when(pl.col("item_id") % 10 > 0).then(pl.lit("Paris")).otherwise(pl.lit("Rome")),
                error=pl.when(gone).then(pl.lit(error, dtype=pl.String)),
                finish_reason=pl.when(~gone).then(pl.lit(finish, dtype=pl.String)),
            )
        )
    return pe.Suite([pe.Metric("exact_match")]).score(pl.concat(frames))


def compare(frame: pl.DataFrame, **options: Any) -> pe.Comparison:
    return pe.compare(frame, version="model", baseline="v1", item="item_id", min_effect=0.02, **options)


def verdicts(comparison: pe.Comparison) -> dict[str, str]:
    return dict(comparison.summary.select("metric", "verdict").iter_rows())


def test_failed_calls_are_no_wrong_answers() -> None:
    comparison = compare(traces())
    assert verdicts(comparison) == {"exact_match": "no_change", "answered": "regressed", "error": "regressed"}
    row = comparison.summary.row(0, named=True)
    assert row["n"] == N - 18
    assert row["baseline_pass_rate"] == row["candidate_pass_rate"]
    assert comparison.notes == (
        "18 rows have no answer (an error, or no output); they are not in the scores, and count in the row "
        "'answered'",
    )
    assert comparison.items.collect().height == N - 18


def test_missing_outputs_count_where_traces_say_nothing_more() -> None:
    comparison = compare(traces(error=None))
    assert verdicts(comparison) == {"exact_match": "no_change", "answered": "regressed"}


def test_without_traces_the_metric_decides_unless_asked() -> None:
    plain = traces().drop("error", "finish_reason")
    assert verdicts(compare(plain)) == {"exact_match": "regressed"}
    assert verdicts(compare(plain, unanswered="apart")) == {
        "exact_match": "no_change",
        "answered": "regressed",
    }


def test_on_request_they_are_wrong() -> None:
    comparison = compare(traces(), unanswered="wrong")
    assert verdicts(comparison) == {"exact_match": "regressed", "error": "regressed"}
    assert comparison.summary["n"][0] == N


def test_answers_that_were_cut_off_are_judged() -> None:
    frame = traces(failed=0).with_columns(
        finish_reason=pl.when(pl.col("model") == "v2", pl.col("item_id") < 60)
        .then(pl.lit("MAX_TOKENS"))
        .otherwise("finish_reason")
    )
    comparison = compare(frame)
    assert verdicts(comparison) == {"exact_match": "no_change", "truncated": "regressed"}
    row = comparison.summary.row(1, named=True)
    assert (row["baseline_mean"], row["candidate_mean"]) == (0, 0.2)
    assert "the share of answers that were cut off rose by 0.2000" in row["reason"]
    text = comparison.to_markdown()
    assert "v2 against v1: truncated answers 0% → 20%." in text
    assert "regressed | truncated | +0.20 | +0.15 to +0.25 | 0% → 20% |" in text


def test_fewer_errors_are_better_and_held_back_answers_count() -> None:
    frame = traces()
    swapped = frame.with_columns(model=pl.col("model").replace({"v1": "v2", "v2": "v1"}))
    assert verdicts(compare(swapped)) == {
        "exact_match": "no_change",
        "answered": "improved",
        "error": "improved",
    }
    held = traces(failed=0).with_columns(
        finish_reason=pl.when(pl.col("model") == "v2")
        .then(pl.lit("content_filter"))
        .otherwise("finish_reason")
    )
    assert verdicts(compare(held))["filtered"] == "regressed"


def test_nothing_that_never_happened_is_a_row() -> None:
    assert verdicts(compare(traces(failed=0))) == {"exact_match": "no_change"}


def test_a_score_of_another_column_is_kept() -> None:
    """A judge may have scored what no output column holds."""
    frame = traces(failed=0).with_columns(output=pl.lit(None, dtype=pl.String), exact_match_score=pl.lit(0.7))
    assert compare(frame).summary["n"].to_list() == [N]


def test_unknown_ways_are_refused() -> None:
    with pytest.raises(ValueError, match="unanswered must be 'auto', 'apart' or 'wrong'"):
        compare(traces(), unanswered="lost")
