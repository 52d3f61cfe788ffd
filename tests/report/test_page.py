"""The page: everything in it, nothing around it, and never too much of it."""

from __future__ import annotations

import html
import json
import random
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_evals as pe
from polars_evals.report import evidence
from tests.report.test_markup import Parsed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def elements(text: str, name: str) -> list[dict[str, str | None]]:
    return [attributes for tag, attributes in Parsed(text).elements if tag == name]


def test_the_verdict_comes_first(report: Path) -> None:
    text = report.read_text("utf-8")
    body = text[text.index("<body>") :]
    order = [
        "regressed</span>", "assistant-2.0 against assistant-1.0",
        "medicine got worse: exact_match 31 points lower", "arithmetic got better",
        "the rest cannot be told from noise", "720 items", 'id="metrics"', 'id="items"', 'id="distributions"',
        'id="timeline"', 'id="notes"',
    ]  # fmt: skip
    places = [body.index(part) for part in order]
    assert places == sorted(places)


def test_claims_lead_to_their_items(report: Path) -> None:
    text = report.read_text("utf-8")
    claims = [link["href"] for link in elements(text[text.index("<header>") : text.index("<nav")], "a")]
    assert claims == ["#items?slice=topic%3Dmedicine", "#items?slice=topic%3Darithmetic&order=best", "#items"]


def test_where_the_scores_come_from_is_said(comparison: pe.Comparison) -> None:
    text = comparison.to_html(source="traces <of> March")
    assert "from traces &lt;of&gt; March" in text


def test_links_lead_to_sections(report: Path) -> None:
    text = report.read_text("utf-8")
    ids = [attributes["id"] for _, attributes in Parsed(text).elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for link in elements(text, "a"):
        assert str(link["href"]).removeprefix("#").partition("?")[0] in ids


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
    assert len(tables) >= 4
    for table in tables:
        assert table.count("<caption>") == 1
        assert '<th scope="col"' in table
        assert '<th scope="row"' in table


def test_every_chart_has_a_text(report: Path) -> None:
    pictures = elements(report.read_text("utf-8"), "svg")
    assert len(pictures) > 5
    assert all(picture["role"] == "img" and len(str(picture["aria-label"])) > 30 for picture in pictures)


def test_hostile_texts_are_text(hostile: pe.Comparison) -> None:
    text = hostile.to_html()
    parsed = Parsed(text)
    names = [name for name, _ in parsed.elements]
    assert (
        names.count("script") == names.count("title") == names.count("style") == names.count("template") == 1
    )
    assert "img" not in names
    for _, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert "<script>window.hacked = 1</script>" in parsed.text
    assert all(character.isalnum() or character in "+/=" for character in packed(text))
    lines = unpacked(text)[1:]
    assert len(lines) == 13
    assert "⟨U+202E⟩right to left" in str(lines)
    text.encode("utf-8")


def packed(text: str) -> str:
    (found,) = re.findall(r'<template id="items-data">(.*?)</template>', text, re.DOTALL)
    return str(found)


def unpacked(text: str) -> list[Any]:
    return [json.loads(line) for line in zlib.decompress(b64decode(packed(text))).decode().split("\n")]


def test_all_items_are_in_the_page_where_they_fit(comparison: pe.Comparison) -> None:
    text = comparison.to_html()
    about, *lines = unpacked(text)
    assert about["versions"] == ["assistant-1.0", "assistant-2.0"]
    assert [metric["name"] for metric in about["metrics"]] == ["levenshtein", "exact_match"]
    assert len(lines) == 720
    assert "All 720 paired items are here" in text
    found = comparison.items.filter(
        pl.col("item") == lines[0][0], pl.col("metric") == "levenshtein"
    ).collect()
    assert lines[0][2][0] == [found["baseline_score"][0], found["candidate_score"][0]]
    assert lines[0][4:] == [
        found["input"][0], found["expected"][0], [found["baseline_output"][0], found["candidate_output"][0]],
    ]  # fmt: skip


def test_the_page_stays_small_whatever_the_data() -> None:
    n, metrics, groups, long = 120, 14, 20, "lorem ipsum dolor sit amet " * 400
    rng = random.Random(0)
    sides = []
    for side, version in enumerate("ab"):
        passed = [[(i + k + side) % 2 for i in range(n)] for k in range(metrics)]
        texts = {
            "input": long,
            "expected": long,
            "group": [f"{i % groups:03} {long[:500]}" for i in range(n)],
        }
        output = ["".join(rng.choices("abcdefghijklmnop", k=20_000)) for _ in range(n)]
        sides.append(
            pl.DataFrame(
                {"id": range(n), "v": version, "output": output, **texts}
                | {f"m{k}_score": [float(one) for one in passed[k]] for k in range(metrics)}
                | {f"m{k}_label": [["fail", "pass"][one] for one in passed[k]] for k in range(metrics)}
            )
        )
    text = pe.compare(pl.concat(sides), version="v", baseline="a", item="id", by="group").to_html()
    assert len(text.encode()) < 2_000_000
    assert len(packed(text)) <= evidence.BUDGET
    lines = unpacked(text)[1:]
    assert 20 < len(lines) < n
    assert f"{len(lines)} of {n} paired items are here, as many as fit" in text
    assert all(len(answer) < 6_000 for line in lines for answer in line[6])
    assert "more are in the numbers only" in text


def test_items_left_out_are_not_those_that_got_worse() -> None:
    """Of 60 losses and 20 gains, a page with room for a few shows both as they occur."""
    n, noise = 200, random.Random(1)
    before = [0.9] * 60 + [0.1] * 20 + [0.5] * 120
    after = (
        [noise.uniform(0, 0.4) for _ in range(60)] + [noise.uniform(0.6, 1) for _ in range(20)] + [0.5] * 120
    )
    texts = ["".join(noise.choices("abcdefghijklmnop", k=4_000)) for _ in range(2 * n)]
    comparison = pe.compare(
        frame(before, after, output=pl.Series(texts)), version="v", baseline="a", item="id"
    )
    found = evidence.evidence(comparison, budget=200_000)
    assert found is not None
    lines = zlib.decompress(b64decode(found.packed)).decode().split("\n")[1:]
    places = [int(json.loads(line)[0]) for line in lines]
    losses, gains = sum(one < 60 for one in places), sum(60 <= one < 80 for one in places)
    assert found.total == n
    assert found.shown == len(lines) == losses + gains
    assert losses == pytest.approx(3 * gains, abs=3)


def frame(before: Sequence[float | None], after: Sequence[float | None], **columns: Any) -> pl.DataFrame:
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


def test_without_items_there_are_none_to_show() -> None:
    text = pe.compare(frame([0.1, 0.9], [0.9, 0.2]), version="v", baseline="a").to_html()
    assert "unpaired" in text
    assert 'id="items-data"' not in text
    assert 'href="#items' not in text


def test_references_turns_and_missing_texts() -> None:
    references = pl.Series([["one", "two words", None], ["three"]] * 2)
    output = pl.Series(["one", "three", None, "3"])
    rows = frame([1.0, 1.0], [0.0, 0.0], expected=references, output=output)
    lines = unpacked(pe.compare(rows, version="v", baseline="a", item="id").to_html())[1:]
    (first,) = (line for line in lines if line[0] == "0")
    assert first[5].startswith("one\ntwo words")
    assert first[6] == ["one", None]


def test_items_know_the_slices_that_a_search_found(scored: pl.DataFrame) -> None:
    comparison = pe.compare(
        scored,
        version="model",
        baseline="assistant-1.0",
        candidate="assistant-2.0",
        item="item_id",
        by="auto",
    )
    about = unpacked(comparison.to_html())[0]
    known = {value for one in about["sets"] for value in one["values"]}
    named = {row[2] for row in about["rows"] if row[2] is not None}
    assert named
    assert named <= known


def test_several_versions_have_a_leaderboard(scored: pl.DataFrame) -> None:
    both = pe.compare(scored, version="model", baseline="assistant-1.0", item="item_id", by="topic")
    text = both.to_html()
    board = text[text.index('id="leaderboard"') : text.index('id="metrics"')]
    assert board.count("<tr>") == 4
    assert board.count('class="interval"') == 6
    assert "★" in board
    assert [link["href"] for link in elements(board, "a")] == ["#candidate-2", "#candidate-1"]
    assert text.count('<details id="candidate-') == text.count('class="candidate"') // 2 == 2
    header = text[text.index("<header>") : text.index("<nav")]
    assert "2 versions against assistant-1.0" in header
    assert "assistant-2.0 got worse in medicine" in header


def test_a_timeline_begins_with_what_moved_and_leads_to_its_chart(timeline: pe.Timeline) -> None:
    text = timeline.to_html()
    header = text[text.index("<header>") : text.index("<nav")]
    assert "topic=medicine got worse: levenshtein" in header
    # What got worse in medicine, and what got better in arithmetic.
    assert [link["href"] for link in elements(header, "a")] == ["#series-0", "#series-1"]
    assert 'id="series-0"' in text


def test_versions_that_are_worse_over_all_are_not_said_to_be_so_in_slices_too() -> None:
    changes = {"old": (0.0, 0.0), "bad": (-0.3, -0.3), "mixed": (-0.2, 0.2)}
    frame = pl.concat(
        pl.DataFrame(
            {
                "id": range(400), "v": version, "part": ["x", "y"] * 200,
                "m_score": [0.5 + 0.001 * (at % 7) + moved[at % 2] for at in range(400)],
            }
        )
        for version, moved in changes.items()
    )  # fmt: skip
    text = pe.compare(frame, version="v", baseline="old", item="id", by="part").to_html()
    header = text[text.index("<header>") : text.index("<nav")]
    assert "bad is worse on m</a>" in header
    assert "mixed got worse in x</a>" in header
    assert "bad got worse" not in header
    assert header.index("bad is worse") < header.index("mixed got worse in x")


def test_every_result_shows_itself_in_a_notebook(
    comparison: pe.Comparison, timeline: pe.Timeline, calibration: pe.Calibration, scored: pl.DataFrame
) -> None:
    several = pe.compare(scored, version="model", baseline="assistant-1.0", item="item_id", by="topic")
    ranking = pe.rank(scored, version="model", item="item_id")
    shown = {
        "medicine got worse: exact_match 31 points lower": comparison,
        "assistant-2.0 got worse in medicine": several,
        "topic=medicine got worse": timeline,
        "best threshold": calibration,
        "leads with": ranking,
    }
    for words, result in shown.items():
        text = result._repr_html_()
        assert words in text
        assert "<script" not in text
        assert "href=" not in text
        assert text.count("<svg") == (0 if result is several else 2 if result is ranking else 1)
        assert len(text) < 40_000
    text = comparison._repr_html_()
    assert "Worst items of topic=medicine" in text
    assert text.count("<details><summary><b>medicine-") == 5
    assert 'class="leaderboard"' in several._repr_html_()


def test_items_show_answers_in_a_notebook_and_stay_a_lazy_frame(comparison: pe.Comparison) -> None:
    items = comparison.items.filter(topic="medicine", flip="newly_failing")
    assert isinstance(items, pl.LazyFrame)
    text = items._repr_html_()
    first = items.head(1).collect().row(0, named=True)
    assert text.count("<details>") == 5
    assert f"{items.collect().height - 5:,} rows more" in text
    assert first["item"] in text
    assert html.escape(first["candidate_output"][:200]) in text
    assert "There are no such items" in items.filter(topic="none")._repr_html_()
    # Another query than of items shows what Polars shows.
    assert "polars-evals" not in items.group_by("topic").len()._repr_html_()


def test_a_notebook_shows_hostile_texts_as_text(hostile: pe.Comparison) -> None:
    for text in (hostile._repr_html_(), hostile.items._repr_html_()):
        assert not elements(text, "script")
        assert not elements(text, "img")
        assert not [one for _, one in Parsed(text).elements if any(name.startswith("on") for name in one)]
