"""Whatever the texts hold, every form of a result stays whole, inert and small."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

import polars_evals as pe
from polars_evals.report.terminal import text as shown_text
from polars_evals.wording import apart, clean, line, to_json

from .frames import drawn, versions

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a|b\n| c | d |\r\n---",
    "\x00\x01\x1b[31mred\x07\x7f\x85",
    "]]> <!-- -- > &amp; &#x0;",
    "`code` **bold** [link](javascript:alert(1)) ~~x~~",
    "\u202eevil\u2066\u061c\ufffe\uffff",
    "{{ template }} ${x} {% raw %}",
    "x" * 1_000_000,
    "\u0301" * 500,
    "",
]


@pytest.fixture(name="hostile", scope="module")
def _hostile() -> pe.Comparison:
    n = len(HOSTILE)
    frame = pl.concat(
        pl.DataFrame(
            {
                "case_id": HOSTILE,
                "model": [model] * n,
                "topic": HOSTILE,
                "input": HOSTILE,
                "expected": HOSTILE,
                "output": HOSTILE,
                "m<b>|_score": [score] * n,
                "m<b>|_label": ["pass" if score > 0.5 else "fail"] * n,
            }
        )
        for model, score in (("v1<i>|\n", 1.0), ("v2\x00</title>&", 0.0))
    )
    return pe.compare(frame, version="model", baseline="v1<i>|\n", item="case_id", by=["topic"])


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


TABLES = {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"}
CELLS = {"figcaption", "small", "tfoot", "style", "b", "span", "details", "summary", "figure"}
CHARTS = {"svg", "g", "path", "line", "text", "tspan", "rect", "circle", "clippath", "defs"}


def test_html_has_only_its_own_tags(hostile: pe.Comparison) -> None:
    text = hostile._repr_html_()
    tags = Tags()
    tags.feed(text)
    assert tags.seen <= TABLES | CELLS | CHARTS
    assert not {name for name in tags.attributes if name.startswith("on") or name in {"href", "src"}}
    assert len(text) < 100_000
    text.encode("utf-8")


def test_junit_is_xml(hostile: pe.Comparison) -> None:
    root = ET.fromstring(hostile.to_junit())
    assert root.attrib == {
        "name": "polars-evals",
        "tests": "13",
        "failures": "2",
        "errors": "0",
        "skipped": "11",
    }
    names = [case.attrib["name"] for case in root.iter("testcase")]
    assert any("<script>alert(1)</script>" in name for name in names)
    assert max(map(len, names)) < 300


def test_markdown_tables_keep_their_columns(hostile: pe.Comparison) -> None:
    markdown = hostile.to_markdown()
    assert len(markdown) < 100_000
    widths: dict[int, set[int]] = {}
    block = 0
    for row in markdown.splitlines():
        if not row.startswith("|"):
            block += 1
            continue
        widths.setdefault(block, set()).add(row.replace("\\\\", "").replace("\\|", "").count("|"))
    assert widths
    assert all(len(found) == 1 for found in widths.values())
    assert "<script>" not in markdown
    assert "[link](" not in markdown


def test_json_and_text(hostile: pe.Comparison) -> None:
    document = json.loads(hostile.to_json())
    assert document["verdict"] == "regressed"
    assert document["summary"]["rows"][0]["newly_failing"] == len(HOSTILE)
    assert document["flips"]["total"] == len(HOSTILE)
    for text in (repr(hostile), str(hostile), hostile.explain()):
        assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert len(repr(hostile)) < 2_000


def test_to_a_file(hostile: pe.Comparison, tmp_path: Path) -> None:
    for name in ("html", "json", "markdown", "junit"):
        write = getattr(hostile, f"to_{name}")
        assert write(tmp_path / name) == str(tmp_path / name)
        assert (tmp_path / name).read_bytes().decode("utf-8") == write()


def test_lone_surrogates_and_long_texts() -> None:
    assert clean("a\ud800b") == "a\ufffdb"
    assert clean("abcdef", 3) == "abc… (+3 characters)"
    assert line("a\n\t b", 10) == "a b"
    assert line("x" * 100, 5) == "xxxxx…"
    to_json({"a\ud800": ["\udfff", None, 1.5]}).encode("utf-8")


def test_items_are_named_as_they_are() -> None:
    scores = [1.0, 1.0, 0.5, 0.2]
    frame = pl.DataFrame({"id": [12345, 12346] * 2, "v": ["a", "a", "b", "b"], "m_score": scores})
    comparison = pe.compare(frame, version="v", baseline="a", item="id")
    assert "  12346 1.00 → 0.20" in str(comparison)
    assert "- 12346 (m" in comparison.to_markdown()


def test_a_column_of_slices_takes_no_other_columns_place() -> None:
    scores = [1.0, 1.0, 0.5, 0.2]
    frame = pl.DataFrame(
        {"id": [1, 2] * 2, "v": ["a", "a", "b", "b"], "items": ["x", "y"] * 2, "m_score": scores}
    )
    comparison = pe.compare(frame, version="v", baseline="a", item="id", by="items")
    head = shown_text(comparison, width=100, everything=True).splitlines()[2].split()
    assert head[:2] == ["metric", "slice"]
    assert head.count("items") == 1


def test_large_frames_are_bounded_and_say_so() -> None:
    a, b = drawn(3000, shift=-0.2)
    comparison = pe.compare(
        versions({"a": a, "b": b}, topic=np.arange(3000) % 100),
        version="model", baseline="a", item="case_id", by=["topic"],
    )  # fmt: skip
    assert len(repr(comparison).splitlines()) <= 12
    assert len(str(comparison).splitlines()) <= 25
    assert max(map(len, str(comparison).splitlines())) <= 100
    assert comparison.explain().count("[topic=") == 100
    document = json.loads(comparison.to_json())
    assert document["flips"]["total"] == comparison.flips.height > 1000
    assert len(document["flips"]["rows"]) == 1000


def test_printed_flips_begin_where_the_outputs_differ() -> None:
    start = "The capital of France, as everyone who has been to school will know, is "
    outputs = [start + "Paris.", start + "Lyon."]
    frame = versions({"a": [1.0], "b": [0.0]}).with_columns(
        output=pl.Series(outputs), expected=pl.lit("Paris")
    )
    comparison = pe.compare(frame.drop("expected"), version="model", baseline="a", item="case_id")
    assert 'before "…will know, is Paris.", got "…will know, is Lyon."' in shown_text(comparison, width=100)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("short a", "short b", ("short a", "short b")),
        ("x" * 90, "x" * 90, ("x" * 90, "x" * 90)),
        (None, "x" * 90, (None, "x" * 90)),
        (["x" * 90], ["x" * 91], (["x" * 90], ["x" * 91])),
        ("x" * 90, "x" * 90 + "y", ("…" + "x" * 15, "…" + "x" * 15 + "y")),
    ],
)
def test_texts_apart(before: Any, after: Any, shown: Any) -> None:
    result = apart({"expected": "other", "b": before, "c": after}, "b", "c")
    assert result == {"expected": "other", "b": shown[0], "c": shown[1]}
    both = {"expected": "x" * 80, "b": before, "c": after}
    assert (apart(both, "b", "c")["expected"] != "x" * 80) == (shown[0] != before)
