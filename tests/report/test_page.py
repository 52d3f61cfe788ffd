"""The page: everything in it, nothing around it, and never too much of it."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_evals as pe
from polars_evals.report import flips
from tests.report.test_markup import Parsed

if TYPE_CHECKING:
    from pathlib import Path


def elements(text: str, name: str) -> list[dict[str, str | None]]:
    return [attributes for tag, attributes in Parsed(text).elements if tag == name]


def test_the_verdict_comes_first(report: Path) -> None:
    text = report.read_text("utf-8")
    body = text[text.index("<body>") :]
    order = [
        "regressed</span>", "assistant-2.0 against assistant-1.0", "Metrics: 2 inconclusive",
        "topic=medicine", 'id="metrics"', 'id="distributions"', 'id="slices"', 'id="timeline"',
        'id="changed"', 'id="notes"',
    ]  # fmt: skip
    places = [body.index(part) for part in order]
    assert places == sorted(places)


def test_links_lead_to_sections(report: Path) -> None:
    text = report.read_text("utf-8")
    ids = [attributes["id"] for _, attributes in Parsed(text).elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for link in elements(text, "a"):
        assert str(link["href"]).removeprefix("#") in ids


def test_nothing_comes_from_elsewhere(report: Path) -> None:
    text = report.read_text("utf-8")
    outside = re.findall(r"(?:https?:)?//[\w.]+", text.replace("http://www.w3.org/2000/svg", ""))
    assert not [found for found in outside if "." in found]
    policy = elements(text, "meta")[1]["content"]
    assert policy is not None
    for name in ("style", "script"):
        (own,) = re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
        assert f"{name}-src 'sha256-{b64encode(sha256(own.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_every_table_has_a_caption_and_heads(report: Path) -> None:
    text = report.read_text("utf-8")
    tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
    assert len(tables) > 5
    for table in tables:
        assert table.count("<caption>") == 1
        assert '<th scope="col"' in table
        assert '<th scope="row"' in table or 'class="item"' in table


def test_every_chart_has_a_text(report: Path) -> None:
    pictures = elements(report.read_text("utf-8"), "svg")
    assert len(pictures) > 5
    assert all(picture["role"] == "img" and len(str(picture["aria-label"])) > 30 for picture in pictures)


def test_hostile_texts_are_text(hostile: pe.Comparison) -> None:
    text = hostile.to_html()
    parsed = Parsed(text)
    names = [name for name, _ in parsed.elements]
    assert names.count("script") == names.count("title") == names.count("style") == 1
    assert "img" not in names
    for _, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert "<script>window.hacked = 1</script>" in parsed.text
    assert "{{ 7 * 7 }} ${7 * 7}" in parsed.text
    assert "⟨U+202E⟩right to left" in parsed.text
    text.encode("utf-8")


def test_the_page_stays_small_whatever_the_data() -> None:
    n, metrics, groups, long = 120, 14, 20, "lorem ipsum dolor sit amet " * 400
    sides = []
    for side, version in enumerate("ab"):
        passed = [[(i + k + side) % 2 for i in range(n)] for k in range(metrics)]
        texts = {
            "input": long,
            "expected": long,
            "group": [f"{i % groups:03} {long[:500]}" for i in range(n)],
        }
        output = [f"{version} {i} {long[::-1] if i % 2 else long}" for i in range(n)]
        sides.append(
            pl.DataFrame(
                {"id": range(n), "v": version, "output": output, **texts}
                | {f"m{k}_score": [float(one) for one in passed[k]] for k in range(metrics)}
                | {f"m{k}_label": [["fail", "pass"][one] for one in passed[k]] for k in range(metrics)}
            )
        )
    text = pe.compare(pl.concat(sides), version="v", baseline="a", item="id", by="group").to_html()
    assert len(text.encode()) < 3_000_000
    shown = text.count('class="item"')
    assert 20 < shown <= flips.MOST_FLIPS
    assert f"{n * metrics - shown:,} of {n * metrics:,} rows are left out here" in text
    assert f"{groups * metrics - 200:,} of {groups * metrics:,} rows are left out here" in text
    assert "2 more are in the numbers only" in text


def test_flips_are_counted_and_name_their_slice(comparison: pe.Comparison) -> None:
    text = comparison.to_html()
    total = comparison.summary.select(pl.sum_horizontal("newly_failing", "newly_passing").sum()).item()
    section = text[text.index('id="changed"') :]
    assert f"<p>{flips.MOST_FLIPS} of {total:,} flips, " in section[: section.index("<table")]
    assert section.count('data-name="slice">topic=') == flips.MOST_FLIPS
    few = pe.compare(frame([1.0, 1.0], [0.0, 1.0]), version="v", baseline="a", item="id").to_html()
    assert "<p>1 of 1 flips." in few
    assert 'data-name="slice"' not in few


def test_all_kinds_of_flips_are_among_those_shown(comparison: pe.Comparison) -> None:
    shown = flips._greatest(comparison.flips)
    assert shown.height == flips.MOST_FLIPS < comparison.flips.height
    kinds = shown.group_by("metric", "flip").len()
    assert kinds.height == 4
    assert kinds["len"].min() == kinds["len"].max() == flips.MOST_FLIPS // 4


def frame(before: list[float | None], after: list[float | None], **columns: Any) -> pl.DataFrame:
    n = len(before)
    scores = pl.DataFrame(
        {
            "id": [*range(n)] * 2,
            "v": ["a"] * n + ["b"] * n,
            "m_score": pl.Series([*before, *after], dtype=pl.Float64),
        }
    )
    labels = pl.when(pl.col("m_score") >= 0.5).then(pl.lit("pass")).when(pl.col("m_score").is_not_null())
    return scores.with_columns(labels.then(pl.lit("fail")).alias("m_label"), **columns)


@pytest.mark.parametrize(
    ("before", "after"),
    [([], []), ([0.5], [0.5]), ([None], [0.5]), ([None, None], [None, None]), ([1.0, 1.0], [0.0, 0.0])],
    ids=["no rows", "one item", "no baseline score", "no score", "no variance"],
)
def test_little_or_no_data_still_makes_a_page(before: list[float | None], after: list[float | None]) -> None:
    rows = frame(before, after)
    if rows.is_empty():
        rows = frame([0.5], [0.5]).with_columns(m_score=pl.lit(None, dtype=pl.Float64), m_label=pl.lit(None))
    text = pe.compare(rows, version="v", baseline="a", item="id").to_html()
    assert "b against a" in text


def test_without_items_there_are_no_flips() -> None:
    text = pe.compare(frame([0.1, 0.9], [0.9, 0.2]), version="v", baseline="a").to_html()
    assert "unpaired" in text
    assert 'id="flips"' not in text


def test_references_and_turns() -> None:
    references = pl.Series([["one", "two words", None], ["three"]] * 2)
    rows = frame(
        [1.0, 1.0], [0.0, 0.0], expected=references, output=pl.Series(["one", "three", "two word", "3"])
    )
    text = pe.compare(rows, version="v", baseline="a", item="id").to_html()
    assert "two word<del>s</del>" in text
    turns = pl.Series([["hi", "yes"], ["hi", "no"]] * 2)
    rows = frame([1.0, 1.0], [0.0, 0.0], expected=turns, output=turns.list.eval(pl.element() + "!"))
    text = pe.compare(rows, version="v", baseline="a", item="id").to_html()
    assert "hi<ins>!</ins>\nyes<ins>!</ins>" in text


def test_missing_texts_are_said_to_be_missing() -> None:
    rows = frame([1.0, 1.0], [0.0, 0.0], output=pl.Series(["one", "two", None, "too"]))
    text = pe.compare(rows, version="v", baseline="a", item="id").to_html()
    assert "<i>none</i>" in text
    assert "t<del>w</del><ins>o</ins>o" in text


def test_long_equal_passages_are_shortened() -> None:
    same = "x" * 1_000
    rows = frame([1.0, 1.0], [0.0, 0.0], output=pl.Series([same] * 2 + [same + "!"] * 2))
    text = pe.compare(rows, version="v", baseline="a", item="id").to_html()
    assert "840 equal characters" in text


def test_timeline_and_calibration_have_pages_too(timeline: pe.Timeline, calibration: pe.Calibration) -> None:
    text = timeline.to_html()
    assert "topic=medicine" in text
    assert "<svg" in text
    text = calibration.to_html()
    assert "At the best threshold" in text
    assert "<svg" in text


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "altair" else find(name, *a)
    )
    monkeypatch.delitem(sys.modules, "polars_evals.report")
    with pytest.raises(ImportError, match=r"need altair: pip install 'polars-evals\[report\]'"):
        importlib.import_module("polars_evals.report")
