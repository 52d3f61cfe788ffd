"""Charts show the numbers that were computed, and nothing that a text asks for."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import polars_evals as pe
from polars_evals import palette
from polars_evals.report.drawn_rows import evidence_rows
from polars_evals.report.svg import svg

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACE = "{http://www.w3.org/2000/svg}"


def rows_of(chart: Any, column: str) -> list[Any]:
    """Return the values of a column in whichever of the chart's data sets has it."""
    datasets = chart.to_dict()["datasets"].values()
    return next([row[column] for row in rows] for rows in datasets if rows and column in rows[0])


def test_differences_and_intervals(comparison: pe.Comparison) -> None:
    chart = comparison.plot.differences()
    for column in ("difference", "ci_low", "ci_high"):
        assert rows_of(chart, column) == comparison.summary[column].to_list()
    assert rows_of(chart, "label") == ["levenshtein", "exact_match"]


def test_differences_name_the_candidate_where_there_are_several(scored: pl.DataFrame) -> None:
    both = pe.compare(
        scored, version="model", baseline="assistant-1.0", item="item_id", metrics=["levenshtein"]
    )
    names = ["assistant-1.1", "levenshtein", "assistant-2.0", "levenshtein"]
    assert [key.split("\x1f")[1] for key in rows_of(both.plot.differences(), "key")] == names
    # Where there is little room, a label stands above its row and names both.
    assert rows_of(both.plot.differences(width=340), "label") == [
        "assistant-1.1 · levenshtein",
        "assistant-2.0 · levenshtein",
    ]


def test_evidence_is_grouped_by_slice_greatest_loss_first(comparison: pe.Comparison) -> None:
    keys = [key.split("\x1f")[1:] for key in rows_of(comparison.plot.evidence(), "key")]
    assert [name for name, kind in keys if kind == "group"] == [
        "all items", "medicine", "code", "geography", "translation", "billing", "arithmetic",
    ]  # fmt: skip
    assert [name for name, kind in keys if kind == "row"] == ["levenshtein", "exact_match"] * 7


def test_differences_item_by_item(comparison: pe.Comparison) -> None:
    drawn = comparison.plot.paired("levenshtein")
    found = comparison.items.filter(pl.col("metric") == "levenshtein").collect()["difference"]
    counts = dict(zip(rows_of(drawn, "kind"), rows_of(drawn, "count"), strict=True))
    assert counts["the same"] == (found == 0).sum()
    assert sum(rows_of(drawn, "count")) == len(found) == 720


def test_pass_rates_are_bars(comparison: pe.Comparison) -> None:
    names = rows_of(comparison.plot.pass_rates("exact_match"), "name")
    assert names == ["assistant-1.0: 46.2% pass", "assistant-2.0: 45.8% pass"]


def test_the_threshold_is_the_roundest_that_labels_allow(comparison: pe.Comparison) -> None:
    assert rows_of(comparison.plot.distributions("levenshtein"), "threshold") == [0.7]


@pytest.mark.parametrize(
    ("every", "days", "expected"),
    [
        ("1h", 1, ["2 Mar", "04:00"]),
        ("6h", 9, ["2 Mar", "4 Mar"]),
        ("1d", 30, ["2 Mar", "6 Mar"]),
        ("1w", 100, ["2 Mar", "16 Mar"]),
        ("1mo", 700, ["Mar 2026", "Jun 2026"]),
    ],
)
def test_dates_are_as_fine_as_windows(every: str, days: int, expected: list[str]) -> None:
    hours = pl.datetime_range(
        datetime(2026, 3, 2), datetime(2026, 3, 2) + timedelta(days=days), "20m", eager=True
    )
    frame = pl.DataFrame({"ts": hours}).with_columns(m_score=0.31 + (pl.int_range(pl.len()) % 7) / 400)
    line = pe.timeline(frame, time="ts", every=every, metrics=["m"], reference=4)
    picture = svg(line.plot.scores(), label="x")
    texts = [element.text for element in ET.fromstring(picture).iter(f"{NAMESPACE}text")]
    dates = [
        text for text in texts if text and re.fullmatch(r"\d+ \w{3}( \d\d)?|\d\d:\d\d|\w{3} \d{4}", text)
    ]
    assert dates[0] == expected[0]
    assert expected[1] in dates
    assert 3 <= len(dates) <= 9
    # Values on the other axis differ as they are written.
    values = [text for text in texts if text and re.fullmatch(r"0\.\d+", text)]
    assert len(set(values)) == len(values) >= 2


def test_slices_are_drawn_greatest_loss_first(comparison: pe.Comparison) -> None:
    chart = comparison.plot.slices("exact_match")
    differences = rows_of(chart, "difference")
    assert differences == sorted(differences)
    assert len(differences) == 6
    assert rows_of(chart, "label")[0] == "topic=medicine"


def test_distributions_are_shares_of_each_version(comparison: pe.Comparison) -> None:
    frame = comparison.distributions
    assert frame.group_by("metric", "version").agg(pl.col("count").sum())["count"].to_list() == [720] * 4
    assert frame.group_by("metric", "version").agg(pl.col("share").sum())["share"].to_list() == pytest.approx(
        [1] * 4
    )
    mine = frame.filter(metric="levenshtein", version="assistant-2.0")
    drawn = rows_of(comparison.plot.distributions("levenshtein"), "share")
    assert drawn in (
        mine["share"].to_list(),
        frame["share"].head(20).to_list(),
        [*mine["share"], mine["share"][-1]],
    )


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
    segments = timeline.segments.filter(slice="topic=medicine")
    assert rows_of(chart, "level") == segments["mean"].to_list()
    # The same difference as in the verdict.
    step = f"{timeline.summary.filter(slice='topic=medicine')['difference'].item():+.2f}".replace("-", "−")
    assert f"{step} since {segments['began'][1]:%-d %b %Y}" in svg(chart, label="x")
    assert rows_of(timeline.plot.pass_rates(), "value") == (
        timeline.windows.filter(pl.col("slice").is_null())["pass_rate"].to_list()
    )


def test_calibration_shows_the_curve(calibration: pe.Calibration) -> None:
    chart = calibration.plot.curve()
    assert rows_of(chart, "best") == [calibration.threshold]
    assert rows_of(chart, "low") in (
        calibration.curve["kappa_ci_low"].to_list(),
        calibration.summary["threshold_ci_low"].to_list(),
    )


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda c, t: c.plot.slices("exact_mach"), 'did you mean "exact_match"'),
        (
            lambda c, t: c.plot.distributions(candidate="assistant-3.0"),
            "candidate: there is no 'assistant-3.0'",
        ),
        (lambda c, t: t.plot.scores(slice="topic=medicin"), 'did you mean "topic=medicine"'),
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


def test_a_picture_has_shapes_and_text_only(hostile: pe.Comparison) -> None:
    for chart in (hostile.plot.differences(), hostile.plot.slices(), hostile.plot.distributions()):
        root = ET.fromstring(svg(chart, label='"<script>'))
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == '"<script>'
        names = {element.tag.removeprefix(NAMESPACE) for element in root.iter()}
        assert names <= {"svg", "g", "path", "line", "rect", "text", "tspan", "clipPath", "defs"}
        attributes = {name for element in root.iter() for name in element.attrib}
        assert not {name for name in attributes if name.startswith(("on", "{", "href", "style", "class"))}


def test_labels_that_look_alike_stay_apart(hostile: pe.Comparison) -> None:
    labels = rows_of(hostile.plot.slices(), "label")
    assert len(set(labels)) == len(labels) == hostile.slices.height
    assert max(map(len, labels)) < 80


def test_the_style_sheet_knows_every_colour() -> None:
    style = files("polars_evals.report").joinpath("assets", "chart.css").read_text("utf-8")
    filled = [
        palette.INK,
        palette.QUIET,
        palette.BAND,
        palette.PAPER,
        palette.BLUE,
        palette.SKY,
        palette.VERMILION,
    ]
    drawn = [palette.QUIET, palette.GRID, palette.BLUE, palette.VERMILION, palette.GREEN, palette.PURPLE]
    for colour in filled:
        assert f'.chart [fill="{colour}"]' in style
    for colour in drawn:
        assert f'.chart [stroke="{colour}"]' in style


def test_pictures_use_no_other_colour(
    comparison: pe.Comparison, timeline: pe.Timeline, calibration: pe.Calibration
) -> None:
    known = {value for name, value in vars(palette).items() if name.isupper() and isinstance(value, str)}
    charts = [
        comparison.plot.differences(),
        comparison.plot.slices(),
        comparison.plot.distributions(),
        timeline.plot.scores(slice="topic=medicine"),
        calibration.plot.curve(),
    ]
    for chart in charts:
        root = ET.fromstring(svg(chart, label="x"))
        used = {element.get(name) for element in root.iter() for name in ("fill", "stroke")}
        assert used - {None, "none", "transparent"} <= known


def test_of_many_slices_the_worst_are_drawn_whole() -> None:
    frame = pl.DataFrame(
        {
            "id": list(range(1200)) * 2,
            "v": ["a"] * 1200 + ["b"] * 1200,
            "part": [f"part {at % 60}" for at in range(1200)] * 2,
            "m_score": [1.0] * 1200 + [0.0 if at % 60 == 59 else 1.0 for at in range(1200)],
            "k_score": [0.5] * 2400,
        }
    )
    comparison = pe.compare(frame, version="v", baseline="a", item="id", by="part")
    rows = evidence_rows(comparison, "b")
    assert rows.height <= 40
    assert rows["slice"].to_list()[:4] == [None, None, "part=part 59", "part=part 59"]
    assert set(rows.group_by("slice").len()["len"]) == {2}
    assert "Of 60 slices, the worst 12 are drawn." in comparison.to_html()


def test_a_picture_says_once_what_all_its_parts_share(comparison: pe.Comparison) -> None:
    text = svg(comparison.plot.evidence(), label="x")
    assert text.count("font-family") == 1
    assert text.count('stroke="#d8dde3"') <= 2
    assert not re.search(r"\d\.\d{3}", text)


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
    assert set(evidence_rows(measured, "new")["metric"]) == {"m"}
    chart = measured.plot.measures()
    assert [round(one, 6) for one in rows_of(chart, "difference") if one is not None][:3] == [0.5] * 3
    text = svg(chart, label="x")
    assert "latency_ms (less is better)" in text
    assert "stars (more is better)" in text
    assert "+50%" in text


def test_skewed_values_have_a_logarithmic_axis_with_their_unit(measured: pe.Comparison) -> None:
    chart = measured.plot.values("latency_ms")
    assert "latency_ms (ms), logarithmic" in svg(chart, label="x")
    assert "logarithmic" not in svg(measured.plot.values("stars"), label="x")
    frame = measured.items.filter(metric="latency_ms").collect()
    rows = [row for part in chart.to_dict()["datasets"].values() for row in part]
    for side, version in (("baseline", "old"), ("candidate", "new")):
        for at, kind in ((0.5, "median"), (0.95, "p95")):
            found = [row["low"] for row in rows if row.get("kind") == kind and row["of"] == version]
            assert found == [pytest.approx(frame[f"{side}_score"].quantile(at, "linear"))]
        shares = {row["low"]: row["share"] for row in rows if "share" in row and row["of"] == version}
        # The step has the right edge of its last bin too.
        assert sum(list(shares.values())[:30]) == pytest.approx(1)


def test_the_page_has_a_part_for_measures(measured: pe.Comparison) -> None:
    text = measured.to_html()
    part = text[text.index('id="measures"') : text.index('id="items"')]
    assert part.count("<svg") == 4
    assert "Means of new in slices" in part
    scores = text[text.index('id="metrics"') : text.index('id="measures"')]
    assert "latency_ms" not in scores[: scores.index("why these verdicts")]


def test_a_notebook_shows_scores_and_measures(measured: pe.Comparison) -> None:
    text = measured._repr_html_()
    assert text.count("<svg") == 2
    assert "Changes of measures with their intervals" in text


def test_regions_of_a_page_have_names_of_their_own(scored: pl.DataFrame) -> None:
    several = pe.compare(scored, version="model", baseline="assistant-1.0", item="item_id", by="topic")
    names = re.findall(r'role="region" aria-label="(.*?)"', several.to_html())
    assert len(names) >= 5
    assert len(set(names)) == len(names)


def test_without_measures_there_is_nothing_to_draw_of_them(comparison: pe.Comparison) -> None:
    with pytest.raises(ValueError, match="no measures to draw"):
        comparison.plot.measures()
    assert 'id="measures"' not in comparison.to_html()
