"""What a pull request is told: a sentence, a table that fits, the worst items, and where the page is."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import polars as pl
import pytest

import polars_evals as pe


@pytest.fixture(name="comparison", scope="module")
def _comparison() -> pe.Comparison:
    n = 80
    loss = [0.4 + (i % 5) / 50 if i % 2 else 0.0 for i in range(n)]
    frame = pl.DataFrame(
        {
            "id": [f"case {i}" for i in range(n)] * 2,
            "v": ["old"] * n + ["new"] * n,
            "topic": ["tax", "art"] * n,
            "output": [f"right {i}" for i in range(n)] + [f"wrong {i}" for i in range(n)],
            "m_score": [0.9 + (i % 3) / 100 for i in range(n)]
            + [0.9 + (i % 3) / 100 - loss[i] for i in range(n)],
        }
    )
    return pe.compare(frame, version="v", baseline="old", item="id", by="topic")


def test_the_sentence_comes_first_and_the_page_is_named(comparison: pe.Comparison) -> None:
    lines = comparison.to_markdown(page="https://example.org/report.html").splitlines()
    assert lines[0].startswith("**new against old: overall worse: 0.9")
    assert "art is worse: 0.9" in lines[0]
    assert lines[0].startswith(f"**{comparison.headline}")
    assert lines[2] == "Charts and all items: https://example.org/report.html"
    assert "Charts" not in comparison.to_markdown()


def test_rows_are_few_enough_for_a_comment(comparison: pe.Comparison) -> None:
    rows = [line for line in comparison.to_markdown().splitlines() if line.startswith("|")]
    assert rows[0] == (
        "|  | metric | slice | difference | interval | before → after | newly failing | newly passing | n |"
    )
    assert [row.split(" | ")[2] for row in rows[2:]] == ["all items", "topic=art", "topic=tax"]
    assert rows[2].startswith("| ▼ regressed | m | all items | −0.2")


def test_the_items_that_lost_most_are_named(comparison: pe.Comparison) -> None:
    text = comparison.to_markdown()
    worst = comparison.items.collect().sort("difference", "item")["item"].head(3)
    named = [line for line in text.splitlines() if line.startswith("- case")]
    assert [line.split(" (")[0] for line in named] == [f"- {item}" for item in worst]
    assert f"  - after: wrong {worst[0].removeprefix('case ')}" in text


def test_a_failure_tells_what_was_found(comparison: pe.Comparison) -> None:
    failures = list(ET.fromstring(comparison.to_junit()).iter("failure"))
    assert len(failures) == 3
    assert failures[0].text == comparison.headline
    assert all((one.text or "").startswith("overall worse: 0.9") for one in failures[1:])


def test_without_items_there_are_none_to_name() -> None:
    frame = pl.DataFrame({"v": ["a"] * 3 + ["b"] * 3, "m_score": [0.1, 0.5, 0.9, 0.2, 0.4, 0.8]})
    text = pe.compare(frame, version="v", baseline="a").to_markdown()
    assert text.startswith("**b against a: No clear change.")
    assert "Worst items" not in text
