"""Charts show the numbers that were computed, and nothing that a text asks for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_evals as pe

if TYPE_CHECKING:
    from collections.abc import Callable


def rows_of(chart: Any, column: str) -> list[Any]:
    """Return the values of a column in whichever of the chart's data sets has it."""
    datasets = chart.to_dict()["datasets"].values()
    return next([row[column] for row in rows] for rows in datasets if rows and column in rows[0])


def test_differences_and_intervals(comparison: pe.Comparison) -> None:
    chart = comparison.plot.differences()
    for column in ("difference", "ci_low", "ci_high"):
        assert sorted(rows_of(chart, column)) == sorted(comparison.summary[column].to_list())
    assert set(rows_of(chart, "label")) == {"levenshtein", "exact_match"}
    assert chart.to_dict()["background"] == "transparent"


def test_differences_name_the_candidate_where_there_are_several(scored: pl.DataFrame) -> None:
    both = pe.compare(
        scored, version="model", baseline="assistant-1.0", item="item_id", metrics=["levenshtein"]
    )
    names = {"assistant-1.1 · levenshtein", "assistant-2.0 · levenshtein"}
    assert set(rows_of(both.plot.differences(), "label")) == names


def test_evidence_has_all_items_first_then_the_greatest_loss(comparison: pe.Comparison) -> None:
    labels = rows_of(comparison.plot.evidence(), "label")
    assert len(labels) == 14
    assert set(labels[:2]) == {"levenshtein", "exact_match"}
    assert labels[2] == "topic=medicine · exact_match"


def test_differences_item_by_item(comparison: pe.Comparison) -> None:
    drawn = comparison.plot.paired("levenshtein")
    found = comparison.items.filter(pl.col("metric") == "levenshtein").collect()["difference"]
    counts = dict(zip(rows_of(drawn, "kind"), rows_of(drawn, "count"), strict=True))
    assert counts["the same"] == (found == 0).sum()
    assert sum(rows_of(drawn, "count")) == len(found) == 720


def test_pass_rates_have_intervals(comparison: pe.Comparison) -> None:
    names = rows_of(comparison.plot.pass_rates("exact_match"), "label")
    assert names == ["assistant-1.0: 46.2% pass", "assistant-2.0: 45.8% pass"]


def test_the_threshold_is_the_roundest_that_labels_allow(comparison: pe.Comparison) -> None:
    assert rows_of(comparison.plot.distributions("levenshtein"), "threshold") == [0.7]


def test_slices_are_drawn_greatest_loss_first(comparison: pe.Comparison) -> None:
    chart = comparison.plot.slices("exact_match")
    differences = rows_of(chart, "difference")
    assert differences == sorted(differences)
    assert len(differences) == 6
    assert rows_of(chart, "label")[0] == "topic=medicine"


def test_distributions_are_shares_of_each_version(comparison: pe.Comparison) -> None:
    frame = comparison.distributions
    assert frame.group_by("metric", "version").agg(pl.col("count").sum())["count"].to_list() == [720] * 4
    mine = frame.filter(metric="levenshtein", version="assistant-1.0").sort("bin_low")
    data = comparison.plot.distributions("levenshtein").to_dict()["datasets"].values()
    assert mine["share"].to_list() in [[row.get("share") for row in rows] for rows in data]


def test_a_score_counts_in_the_bin_that_begins_with_it() -> None:
    scores = [0.0, 0.05, 0.15, 0.3, 0.6, 0.95, 1.0]
    frame = pl.DataFrame({"id": [*range(7)] * 2, "v": ["a"] * 7 + ["b"] * 7, "m_score": scores * 2})
    bins = pe.compare(frame, version="v", baseline="a", item="id").distributions.filter(version="b")
    filled = bins.filter(pl.col("count") > 0)
    assert filled["bin_low"].to_list() == pytest.approx([0.0, 0.05, 0.15, 0.3, 0.6, 0.95])
    assert filled["count"].to_list() == [1, 1, 1, 1, 1, 2]


def test_bins_reach_as_far_as_the_scores() -> None:
    frame = pl.DataFrame({"id": [1, 2] * 2, "v": ["a", "a", "b", "b"], "m_score": [-1.0, 0.5, 3.0, 0.5]})
    bins = pe.compare(frame, version="v", baseline="a", item="id").distributions
    assert (bins["bin_low"].min(), bins["bin_high"].max()) == (-1.0, 3.0)
    assert bins["count"].sum() == 4


def test_timeline_shows_windows_and_where_the_change_began(timeline: pe.Timeline) -> None:
    chart = timeline.plot.scores(slice="topic=medicine")
    windows = timeline.windows.filter(slice="topic=medicine")
    assert rows_of(chart, "value") == windows["mean"].to_list()
    assert rows_of(chart, "name") == ["reference"]
    assert rows_of(chart, "since") == ["since 3 Apr 2026"]
    assert rows_of(timeline.plot.pass_rates(), "value") == (
        timeline.windows.filter(pl.col("slice").is_null())["pass_rate"].to_list()
    )


def test_calibration_shows_the_curve(calibration: pe.Calibration) -> None:
    chart = calibration.plot.curve()
    assert rows_of(chart, "best") == [calibration.threshold]


def test_the_other_results_have_charts(scored: pl.DataFrame) -> None:
    ranking = pe.rank(scored, version="model", item="item_id")
    assert len(rows_of(ranking.plot.means(), "value")) == 3
    plan = pe.plan(spread=0.3, min_effect=0.02)
    assert plan.items in rows_of(plan.plot.items(), "items")
    runs = pe.runs(scored, version="model", item="item_id", k=[1])
    assert len(rows_of(runs.plot.pass_at_k(), "value")) == 2


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda c, t: c.plot.slices("exact_mach"), 'did you mean "exact_match"'),
        (lambda c, t: c.plot.distributions(candidate="x-3"), "candidate: there is no 'x-3'"),
        (lambda c, t: t.plot.scores(slice="topic=medicin"), 'did you mean "topic=medicine"'),
        (lambda c, t: c.plot.measures(), "no measures to draw"),
        (lambda c, t: c.plot.values(), "no measures to draw"),
    ],
)
def test_what_does_not_exist_is_named(
    draw: Callable[..., Any], message: str, comparison: pe.Comparison, timeline: pe.Timeline
) -> None:
    with pytest.raises(ValueError, match=message):
        draw(comparison, timeline)


def test_without_slices_there_is_nothing_to_draw() -> None:
    frame = pl.DataFrame({"id": [1, 2] * 2, "v": ["a", "a", "b", "b"], "m_score": [0.1, 0.5, 0.2, 0.5]})
    with pytest.raises(ValueError, match="compare with by="):
        pe.compare(frame, version="v", baseline="a", item="id").plot.slices()


def test_what_has_no_difference_is_not_drawn_at_zero() -> None:
    scores = pl.Series([None, None, 0.5, 0.2])
    frame = pl.DataFrame({"id": [1, 2] * 2, "v": ["a", "a", "b", "b"], "m_score": scores})
    chart = pe.compare(frame, version="v", baseline="a", item="id").plot.differences()
    assert rows_of(chart, "difference") == [None, 1.0]


def test_labels_that_look_alike_stay_apart(hostile: pe.Comparison) -> None:
    labels = rows_of(hostile.plot.slices(), "label")
    assert len(set(labels)) == len(labels) == hostile.slices.height
    assert max(map(len, labels)) < 80


def test_of_many_slices_those_that_moved_are_drawn() -> None:
    frame = pl.DataFrame(
        {
            "id": list(range(1200)) * 2,
            "v": ["a"] * 1200 + ["b"] * 1200,
            "part": [f"part {at % 60}" for at in range(1200)] * 2,
            "m_score": [1.0] * 1200 + [0.0 if at % 60 == 59 else 1.0 for at in range(1200)],
        }
    )
    comparison = pe.compare(frame, version="v", baseline="a", item="id", by="part")
    labels = rows_of(comparison.plot.slices(), "label")
    assert len(labels) == 40
    assert labels[0] == "part=part 59"


@pytest.fixture(scope="module")
def measured() -> pe.Comparison:
    n = 400
    frame = pl.concat(
        pl.DataFrame(
            {
                "id": range(n),
                "v": version,
                "part": ["x", "y"] * (n // 2),
                "m_score": [0.5 + 0.001 * (at % 7) for at in range(n)],
                "latency_ms": [slower * 2.0 ** (at % 9) for at in range(n)],
                "stars": [3.0 + (at % 3) for at in range(n)],
            }
        )
        for version, slower in (("old", 10.0), ("new", 15.0))
    )
    stars = {"lower_is_better": False}
    return pe.compare(
        frame, version="v", baseline="old", item="id", by="part", measures={"latency_ms": {}, "stars": stars}
    )


def test_measures_are_drawn_as_parts_of_the_baseline_and_not_among_scores(measured: pe.Comparison) -> None:
    assert not [label for label in rows_of(measured.plot.evidence(), "label") if "latency" in label]
    chart = measured.plot.measures()
    assert [round(one, 6) for one in rows_of(chart, "difference") if one is not None][:3] == [0.5] * 3
    labels = " ".join(rows_of(chart, "label"))
    assert "latency_ms (less is better)" in labels
    assert "stars (more is better)" in labels


def test_skewed_values_have_a_logarithmic_axis_with_their_unit(measured: pe.Comparison) -> None:
    chart = measured.plot.values("latency_ms")
    assert "latency_ms (ms), logarithmic" in chart.to_json()
    assert "logarithmic" not in measured.plot.values("stars").to_json()
    frame = measured.items.filter(metric="latency_ms").collect()
    rows = [row for part in chart.to_dict()["datasets"].values() for row in part]
    for side, version in (("baseline", "old"), ("candidate", "new")):
        for at, kind in ((0.5, "median"), (0.95, "p95")):
            found = [row["low"] for row in rows if row.get("kind") == kind and row["of"] == version]
            assert found == [pytest.approx(frame[f"{side}_score"].quantile(at, "linear"))]


def test_the_page_and_the_cell_show_measures_in_their_own_table(measured: pe.Comparison) -> None:
    for text in (measured.to_html(), measured._repr_html_()):
        table = text[text.index("Latency, cost and other measures") :].split("</table>")[0]
        assert "latency_ms" in table
        assert "+50%" in table
        assert text.index(">Scores</caption>") < text.index("Latency, cost")


def test_without_altair_the_error_says_what_to_install(
    comparison: pe.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "polars_evals.report.charts", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'polars-evals\[plot\]'"):
        _ = comparison.plot
    # A page needs no extra.
    assert comparison.to_html().startswith("<!DOCTYPE html>")
