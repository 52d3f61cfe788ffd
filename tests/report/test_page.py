"""The page: everything in it, nothing around it, every item listed, and never too much of it."""

from __future__ import annotations

import json
import random
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_evals as pe
from tests.report.test_markup import Parsed

if TYPE_CHECKING:
    from collections.abc import Sequence

OUTPUTS = Path(__file__).parents[2] / ".." / "shared" / "data" / "outputs.parquet"


def elements(text: str, name: str) -> list[dict[str, str | None]]:
    return [attributes for tag, attributes in Parsed(text).elements if tag == name]


def packed(text: str, name: str) -> str:
    (found,) = re.findall(rf'<template id="pe-{name}">(.*?)</template>', text, re.DOTALL)
    return str(found)


def head_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(b64decode(packed(text, "head"))))
    return found


def texts_of(text: str) -> list[dict[str, Any]]:
    blocks = [one for one in packed(text, "texts").split(" ") if one not in ("", "-")]
    return [
        json.loads(line)
        for block in blocks
        for line in zlib.decompress(b64decode(block)).decode().splitlines()
    ]


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


def compared(rows: pl.DataFrame, **options: Any) -> pe.Comparison:
    return pe.compare(rows, version="v", baseline="a", item="id", **options)


def test_what_changed_comes_first_with_an_example(report: Path) -> None:
    text = report.read_text("utf-8")
    body = text[text.index("<body>") :]
    order = [
        "assistant-2.0 against assistant-1.0", "Medicine is worse: 43 of 120 items newly fail, 6 newly pass",
        "For example: ", "Arithmetic is better", "720 items", "no errors", 'id="evidence"', 'id="timeline"',
        'id="items"', 'id="notes"',
    ]  # fmt: skip
    places = [body.index(part) for part in order]
    assert places == sorted(places)
    assert body.index("<h1") < body.index("Medicine is worse")
    assert len(elements(text, "title")) == 1
    assert "<title>assistant-2.0 against assistant-1.0</title>" in text


def test_claims_lead_to_their_items(report: Path) -> None:
    text = report.read_text("utf-8")
    claims = [link["href"] for link in elements(text[text.index("<header>") : text.index("<main")], "a")]
    assert claims == [
        "#items?chip=worse&slice=topic%3Dmedicine",
        "#items?chip=better&metric=levenshtein&slice=topic%3Darithmetic",
    ]


def test_where_the_scores_come_from_is_said(comparison: pe.Comparison) -> None:
    assert "from traces &lt;of&gt; March" in comparison.to_html(source="traces <of> March")


def test_the_gates_are_said(comparison: pe.Comparison) -> None:
    failed = {"gate": "fail_on = <regressed>", "status": "failed", "lines": ["exact_match: 45% → 14%"]}
    passed = {"gate": "min_pass_rate", "status": "passed", "lines": ["fine"]}
    text = comparison.to_html(gates=[failed, passed])
    header = text[text.index("<header>") : text.index("<main")]
    assert "1 gate failed" in header
    assert "FAILED fail_on = &lt;regressed&gt;" in header
    assert "exact_match: 45% → 14%" in header
    header = comparison.to_html(gates=[passed])
    assert "Gates: 1 passed" in header
    assert "failed" not in header[header.index("<header>") : header.index("<h1")]


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
    assert not [one for _, one in Parsed(text).elements if "style" in one]


def test_tables_have_captions_and_heads_and_pictures_have_names(report: Path) -> None:
    text = report.read_text("utf-8")
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        assert table.count("<caption>") == 1
        assert '<th scope="col"' in table
        assert '<th scope="row"' in table
    pictures = elements(text, "svg")
    assert len(pictures) > 5
    assert all(picture["role"] == "img" and len(str(picture["aria-label"])) > 15 for picture in pictures)


def test_hostile_texts_are_text(hostile: pe.Comparison) -> None:
    text = hostile.to_html()
    parsed = Parsed(text)
    names = [name for name, _ in parsed.elements]
    assert names.count("script") == names.count("title") == names.count("style") == 1
    assert names.count("template") == 4
    assert "img" not in names
    for _, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert "<script>window.hacked = 1</script>" in parsed.text
    assert "⟨U+202E⟩right to left" in parsed.text
    for name in ("head", "scores", "previews", "texts"):
        assert all(character.isalnum() or character in "+/= -" for character in packed(text, name))
    assert len(texts_of(text)) == 13
    text.encode("utf-8")


def test_every_item_is_listed_with_all_scores_and_texts(comparison: pe.Comparison) -> None:
    text = comparison.to_html()
    head, texts = head_of(text), texts_of(text)
    assert head["versions"] == ["assistant-1.0", "assistant-2.0"]
    assert [metric["name"] for metric in head["metrics"]] == ["levenshtein", "exact_match"]
    assert len(head["names"]) == len(texts) == 720
    scores = zlib.decompress(b64decode(packed(text, "scores")))
    first = int.from_bytes(scores[:2], "little") / 65534
    found = comparison.items.filter(
        pl.col("item") == head["names"][0], pl.col("metric") == "levenshtein"
    ).collect()
    assert first == pytest.approx(found["baseline_score"][0], abs=1e-5)
    assert (texts[0]["i"], texts[0]["x"]) == (found["input"][0], found["expected"][0])
    assert (texts[0]["a0"], texts[0]["a1"]) == (found["baseline_output"][0], found["candidate_output"][0])
    # The first fifty stand there without scripts, worst first.
    rows = text[text.index('<tbody id="rows">') :].split("</tbody>")[0]
    assert rows.count("<tr>") == 50
    worst = comparison.items.filter(pl.col("metric") == "exact_match").collect()["difference"][:50]
    assert rows.count("−1.00 ▼") == (worst == -1).sum() == 50


def test_failed_items_are_on_the_page() -> None:
    rows = frame([1.0, 1.0, 0.0] * 20, [1.0, 0.0, 0.0] * 20, output=pl.lit("x")).with_columns(
        error=pl.when((pl.col("v") == "b") & (pl.col("id") % 4 == 0)).then(
            pl.lit("RateLimitError: slow down")
        )
    )
    text = compared(rows).to_html()
    head = head_of(text)
    assert len(head["names"]) == 60
    assert head["facts"][0] == "error"
    assert sum("RateLimit" in str(one.get("e1")) for one in texts_of(text)) == 15
    assert "errors 0% → 25%" in text


@pytest.mark.parametrize(("items", "shown"), [("all", 300), ("none", 0), (70, 70), (0, 0), ("auto", 300)])
def test_texts_are_in_the_page_as_asked(items: Any, shown: int) -> None:
    rows = frame([0.9] * 300, [0.1] * 300, output=pl.Series([f"answer {i}" for i in range(600)]))
    text = compared(rows).to_html(items=items)
    assert len(texts_of(text)) == shown
    assert len(head_of(text)["names"]) == 300


@pytest.mark.parametrize("items", ["some", -1, True, None])
def test_other_items_are_refused(items: Any, comparison: pe.Comparison) -> None:
    with pytest.raises(ValueError, match="items must be"):
        comparison.to_html(items=items)


def test_the_page_stays_within_six_megabytes_whatever_the_texts() -> None:
    noise = random.Random(0)
    long = ["".join(noise.choices("abcdefghijklmnop", k=40_000)) for _ in range(400)]
    rows = frame([0.9] * 200, [0.1] * 200, output=pl.Series(long))
    text = compared(rows).to_html()
    held = len(texts_of(text))
    assert len(text.encode()) < 6_000_000
    assert 20 < held < 200
    assert f"{held} have their full texts in this file" in text
    assert packed(text, "previews")
    assert len(head_of(text)["names"]) == 200


@pytest.mark.parametrize(
    ("before", "after"),
    [([], []), ([0.5], [0.5]), ([None], [0.5]), ([None, None], [None, None]), ([1.0, 1.0], [0.0, 0.0])],
    ids=["no rows", "one item", "no baseline score", "no score", "no variance"],
)
def test_little_or_no_data_still_makes_a_page(before: list[float | None], after: list[float | None]) -> None:
    rows = frame(before, after)
    if rows.is_empty():
        rows = frame([0.5], [0.5]).with_columns(m_score=pl.lit(None, dtype=pl.Float64), m_label=pl.lit(None))
    comparison = compared(rows)
    assert "b against a" in comparison.to_html()
    assert "polars-evals" in comparison._repr_html_()


def test_without_items_there_are_none_to_show() -> None:
    text = pe.compare(frame([0.1, 0.9], [0.9, 0.2]), version="v", baseline="a").to_html()
    assert "There are no pairs" in text
    assert 'id="pe-head"' not in text


def test_references_and_missing_texts() -> None:
    references = pl.Series([["one", "two words", None], ["three"]] * 2)
    rows = frame([1.0, 1.0], [0.0, 0.0], expected=references, output=pl.Series(["one", "three", None, "3"]))
    first = next(one for one in texts_of(compared(rows).to_html()) if one["a0"] == "one")
    assert first["x"].startswith("one\ntwo words")
    assert first["a1"] is None


def test_items_know_the_slices_that_a_search_found(scored: pl.DataFrame) -> None:
    comparison = pe.compare(
        scored,
        version="model",
        baseline="assistant-1.0",
        candidate="assistant-2.0",
        item="item_id",
        by="auto",
    )
    head = head_of(comparison.to_html())
    known = {value for one in head["sets"] for value in one["values"]}
    named = set(comparison.slices["slice"].drop_nulls())
    assert named
    assert named <= known


def test_several_versions_have_a_leaderboard_in_order(scored: pl.DataFrame) -> None:
    both = pe.compare(scored, version="model", baseline="assistant-1.0", item="item_id", by="topic")
    text = both.to_html()
    board = text[text.index('class="forest board"') : text.index("</table>")]
    assert board.count("<tr>") == 4
    assert board.count("<svg") == 4
    assert board.index("baseline") < board.index("assistant-2.0")
    assert "2 versions against assistant-1.0" in text
    assert "assistant-2.0 is worse in medicine" in text
    assert head_of(text)["versions"][0] == "assistant-1.0"


def test_long_names_differ_where_they_are_cut() -> None:
    names = [
        f"organisation/department/assistant-model-2026-11-{day:02}-instruct-long-name" for day in range(1, 5)
    ]
    rows = pl.concat(
        pl.DataFrame({"id": range(40), "v": name, "m_score": [0.5 + place / 10] * 40})
        for place, name in enumerate(names)
    )
    comparison = pe.compare(rows, version="v", baseline=names[0], item="id")
    text = comparison.to_html()
    board = text[text.index('class="forest board"') : text.index("</table>")]
    shown = re.findall(r'<th scope="row" title="[^"]*">(.*?)</th>', board)
    assert len(set(shown)) == 4
    assert all(name in text for name in names)
    assert len({line.split()[0] for line in str(comparison).splitlines() if "improved" in line}) == 3
    assert head_of(text)["short"] == [
        "01-instruct-long-name",
        "04-instruct-long-name",
        "03-instruct-long-name",
        "02-instruct-long-name",
    ]


def test_the_picture_shows_what_decided() -> None:
    """The mean stays, the pass rate falls: the interval of the pass rate is drawn, and told."""
    n = 300
    before = [0.6 if i % 2 else 0.8 for i in range(n)]
    after = [0.95 if i % 2 else 0.45 for i in range(n)]
    comparison = compared(frame(before, after))
    row = comparison.summary.row(0, named=True)
    assert row["pass_verdict"] == "regressed"
    text = comparison.to_html()
    (drawn,) = re.findall(r'<svg[^>]*aria-label="m \(pass rate\), all items: ([^"]*)"', text)
    assert drawn.startswith("−0.50")
    assert "regressed  −0.50" in re.sub(r" +", "  ", str(comparison))


def test_what_fell_alike_everywhere_is_said_once() -> None:
    n = 300
    rows = frame(
        [0.9] * n,
        [0.2 + 0.01 * (i % 7) for i in range(n)],
        part=pl.Series([f"p{i % 3}" for i in range(n)] * 2),
    )
    claims = compared(rows, by="part").headline
    assert "overall worse" in claims.lower()
    assert "p0" not in claims


def test_equal_answers_are_said_to_be_equal() -> None:
    rows = frame([0.9, 0.1] * 50, [0.9, 0.1] * 50, output=pl.Series(["yes", "no"] * 100))
    comparison = compared(rows)
    assert comparison.headline == "b against a: All 100 answers are identical."
    text = comparison.to_html()
    assert "All 100 answers are identical." in text
    # Where nothing differs there is no interval.
    evidence = text[text.index('id="evidence"') : text.index('id="items"')]
    assert "<svg" not in evidence
    assert ">interval<" not in evidence


def test_changes_of_a_column_have_one_number_of_decimals() -> None:
    """Narrow and wide intervals stand in one table: the narrowest says how many digits all have."""
    rng = random.Random(5)
    n = 400
    noise = [rng.gauss(0, 0.002 if i % 2 else 0.2) for i in range(n)]
    part = pl.Series(["still" if i % 2 else "loud" for i in range(n)] * 2)
    rows = frame([0.9] * n, [0.6 + one for one in noise], part=part)
    comparison = compared(rows, by="part")
    forest = comparison.to_html().split('class="forest"')[1].split("</table>")[0]
    shown = re.findall(r"<b>([−+][0-9.]+)</b>", forest)
    assert len(shown) == 3
    assert len({len(one.partition(".")[2]) for one in shown}) == 1


def test_slices_of_a_timeline_stand_under_the_name_of_their_column(
    timeline: pe.Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = str(timeline).splitlines()
    (head,) = [line for line in lines if line.split()[:2] == ["metric", "topic"]]
    table = lines[lines.index(head) :]
    assert any(line.split()[1] == "medicine" for line in table)
    assert not any("topic=" in line for line in table)
    assert max(map(len, lines)) <= 80


def test_a_timeline_says_its_changes_once_in_their_colours(timeline: pe.Timeline) -> None:
    header = timeline.to_html().split("<header>")[1].split("</header>")[0]
    assert header.count("medicine is worse") == 1
    assert re.search(r'<li class="regressed"><h1[^>]*>', header)
    assert "7 series from 2 Mar 2026" in header


def test_several_versions_without_a_change_make_a_whole_sentence(scored: pl.DataFrame) -> None:
    found = pe.compare(scored, version="model", baseline="assistant-1.0", item="item_id")
    assert found.headline == "2 versions against assistant-1.0: 2 unclear."


def test_one_item_is_one_item() -> None:
    text = compared(frame([1.0], [0.0])).to_html()
    assert "1 item " in text
    assert "1 items" not in text


def test_texts_of_pictures_stay_apart_where_pictures_are_taken_away(timeline: pe.Timeline) -> None:
    """A notebook that is not trusted, and GitHub, drop the picture and keep its words."""
    bare = re.sub(r"<[^>]*>", "", timeline._repr_html_())
    assert "2 Mar9 Mar" not in bare
    assert "2 Mar\n9 Mar" in bare


def test_a_notebook_without_frames_says_where_the_items_are(comparison: pe.Comparison) -> None:
    shown = comparison.show_items()
    bare = re.sub(r"<style>.*?</style>|<iframe.*?</iframe>", "", shown._repr_html_(), flags=re.DOTALL)
    assert "to_html(path) writes them as a page" in bare


def test_a_version_with_many_errors_is_not_the_best() -> None:
    rng = random.Random(3)
    parts = []
    for name, share in (("a", 0.02), ("b", 0.3), ("c", 0.06)):
        failed = [rng.random() < share for _ in range(300)]
        parts.append(
            pl.DataFrame(
                {
                    "id": range(300), "v": name, "output": [None if one else "x" for one in failed],
                    "error": ["Timeout" if one else None for one in failed],
                    "m_score": [0.0 if one else 0.8 for one in failed],
                }
            )
        )  # fmt: skip
    comparison = compared(pl.concat(parts))
    assert comparison.verdicts["b"] == "regressed"
    text = comparison.to_html()
    board = text[text.index('class="forest board"') : text.index("</table>")]
    assert "errors (less is better)" in board
    assert re.search(r"b</th><td><span class=\"verdict regressed\">", board)


def test_a_measure_that_moved_over_time_makes_a_page() -> None:
    from datetime import datetime, timedelta

    rng = random.Random(0)
    rows = pl.DataFrame(
        {
            "ts": [datetime(2026, 1, 1) + timedelta(hours=at) for at in range(24 * 40)],
            "m_score": [0.5 + rng.gauss(0, 0.05) + (0.3 if at > 480 else 0) for at in range(24 * 40)],
            "latency_ms": [400 + 40 * rng.random() + (400 if at > 600 else 0) for at in range(24 * 40)],
        }
    )
    timeline = pe.timeline(rows, time="ts", measures=["latency_ms"])
    text = timeline.to_html()
    assert "latency_ms" in text
    # An improvement is not drawn in the colour of a loss.
    assert 'class="mark improved"' in text
    assert 'class="mark regressed"' in text
    assert "since 21 Jan 2026" in text
    assert "latency_ms" in timeline._repr_html_()
    assert timeline.plot.scores("latency_ms") is not None


def test_no_date_needs_a_format_that_windows_lacks() -> None:
    source = Path(pe.__file__).parent
    assert not [
        path.name for path in source.rglob("*.py") if re.search(r"%-[dmHIj]", path.read_text("utf-8"))
    ]


def test_every_other_result_has_a_page(
    timeline: pe.Timeline, calibration: pe.Calibration, scored: pl.DataFrame
) -> None:
    results: dict[str, Any] = {
        "topic=medicine is worse: levenshtein": timeline,
        "levenshtein ≥ 0.75": calibration,
        "leads with": pe.rank(scored, version="model", item="item_id"),
        "items detect a difference": pe.plan(spread=0.3, min_effect=0.02),
        "every item has one run": pe.runs(scored, version="model", item="item_id"),
    }
    for words, result in results.items():
        for text in (result.to_html(), result._repr_html_()):
            assert words in text
        assert "<script" not in result._repr_html_()
        assert "href=" not in result._repr_html_()


def test_pictures_are_seen_where_the_style_sheet_is_taken_away(comparison: pe.Comparison) -> None:
    for name, attributes in Parsed(comparison._repr_html_()).elements:
        if name in ("line", "polyline"):
            assert attributes.get("stroke")
        if name in ("rect", "polyline"):
            assert attributes.get("fill")


def test_a_cell_tells_the_story_without_scripts(comparison: pe.Comparison, scored: pl.DataFrame) -> None:
    text = comparison._repr_html_()
    assert text.index("medicine is worse: 43 of 120 items newly fail") < text.index("<table")
    assert text.count("<details><summary><b>medicine-") == 3
    assert "<script" not in text
    assert len(text) < 60_000
    several = pe.compare(scored, version="model", baseline="assistant-1.0", item="item_id", by="topic")
    text = several._repr_html_()
    assert 'class="forest board"' in text
    # The worst items of several versions name theirs.
    assert "· assistant-2.0 ·" in text


def test_items_show_answers_in_a_notebook_and_stay_a_lazy_frame(comparison: pe.Comparison) -> None:
    items = comparison.items.filter(topic="medicine", flip="newly_failing")
    assert isinstance(items, pl.LazyFrame)
    text = items._repr_html_()
    assert text.count("<details>") == 5
    assert f"{items.collect().height - 5:,} rows more" in text
    assert "There are no such items" in items.filter(topic="none")._repr_html_()
    # Another query than of items shows what Polars shows.
    assert "polars-evals" not in items.group_by("topic").len()._repr_html_()


def test_a_notebook_shows_hostile_texts_as_text(hostile: pe.Comparison) -> None:
    for text in (hostile._repr_html_(), hostile.items._repr_html_()):
        assert not elements(text, "script")
        assert not elements(text, "img")
        assert not [one for _, one in Parsed(text).elements if any(name.startswith("on") for name in one)]


def test_a_sample_to_rate_must_be_of_the_comparison(comparison: pe.Comparison) -> None:
    head = head_of(comparison.to_html(label=pl.DataFrame({"item_id": ["medicine-000"], "weight": [2.5]})))
    assert head["label"] == [[head["names"].index("medicine-000"), 2.5]]
    with pytest.raises(ValueError, match="not in the comparison"):
        comparison.to_html(label=pl.DataFrame({"item_id": ["nothing"]}))
    with pytest.raises(ValueError, match="no column 'item_id'"):
        comparison.to_html(label=pl.DataFrame({"id": [1]}))


@pytest.mark.skipif(not OUTPUTS.exists(), reason="needs the shared data")
def test_ten_models_with_every_text_fit_six_megabytes() -> None:
    outputs = pl.read_parquet(OUTPUTS).with_columns(
        item_id=pl.col("input").rank("dense").over("model").cast(pl.Int64)
    )
    suite = pe.Suite(
        [pe.Metric("chrf"), pe.Metric("token_f1"), pe.Metric("jaccard"), pe.Metric("exact_match")]
    )
    comparison = pe.compare(
        suite.score(outputs), version="model", baseline="Mistral-7B-Instruct-v0.2", item="item_id"
    )
    text = comparison.to_html()
    assert len(text.encode()) <= 6_000_000
    assert len(head_of(text)["names"]) == len(texts_of(text)) == outputs["item_id"].n_unique()
    assert len(Parsed(text).elements) < 2_000
