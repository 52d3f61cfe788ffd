"""People's labels through the whole circle, in a real browser: choose, rate, export, read, use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
from playwright.sync_api import expect

import polars_evals as pe
from tests.report.test_browser import opened  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RATED = 30
# A text as the panel shows it.
SEEN = """text => {
  const one = document.createElement("div");
  one.className = "body";
  one.textContent = text;
  document.body.append(one);
  const seen = one.innerText;
  one.remove();
  return seen;
}"""


def rate_all(page: Any, truth: dict[tuple[str, str], str], answers: dict[str, list[tuple[str, str]]]) -> None:
    """Rate every answer by its text, as a person would: neither version nor score can be seen."""
    page.locator("#rater input").fill("ann")
    page.get_by_role("button", name="Begin").click()
    panel = page.locator("#panel")
    total = sum(map(len, answers.values()))
    for done in range(total):
        expect(panel.locator("header b")).to_have_text(f"{done} of {total} rated")
        shown = panel.inner_text()
        assert "assistant-" not in shown
        assert "levenshtein" not in shown
        answer = panel.locator("article .body").inner_text()
        known = [key for key in answers[answer] if key in truth]
        page.keyboard.press({"pass": "1", "fail": "2", "unsure": "3"}[truth[known[0]]])
        # Of equal answers, one after the other.
        answers[answer] = [*answers[answer][1:], answers[answer][0]]
    expect(panel).to_contain_text("All answers are rated.")


def test_labels_from_a_sample_to_a_corrected_comparison(
    opened: Callable[..., Any],  # noqa: F811
    scored: pl.DataFrame,
    tmp_path: Path,
) -> None:
    two = scored.filter(pl.col("model").is_in(["assistant-1.0", "assistant-2.0"]))
    two = two.filter(pl.col("output").is_not_null() & (pl.col("output").str.strip_chars() != ""))
    both = two.group_by("item_id").len().filter(pl.col("len") == 2)
    two = two.join(both, on="item_id", how="semi")
    options: dict[str, Any] = {
        "version": "model",
        "baseline": "assistant-1.0",
        "item": "item_id",
        "metrics": ["levenshtein"],
    }
    comparison = pe.compare(two, **options)
    sample = pe.sample_items(two, RATED, item="item_id")
    comparison.to_html(tmp_path / "label.html", label=sample)

    rows = sample.select("item_id", "model", "output", "exact_match_label").rows()
    truth = {(item, model): "pass" if label == "pass" else "fail" for item, model, _, label in rows}
    answers: dict[str, list[tuple[str, str]]] = {}
    page = opened(tmp_path / "label.html")
    for item, model, output, _ in rows:
        shown = page.evaluate(SEEN, output)
        answers.setdefault(shown, []).append((item, model))
    rate_all(page, truth, answers)
    with page.expect_download() as download:
        page.locator("[data-export=labels]").click()
    path = tmp_path / "labels.jsonl"
    download.value.save_as(path)

    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(lines) == 2 * RATED
    assert set(lines[0]) == {"item_id", "version", "label", "note", "rater", "ts", "report", "weight"}
    # A rater who comes back finds the ratings.
    labels = pe.read_labels(path)
    assert labels.height == 2 * RATED
    assert labels["rater"].unique().to_list() == ["ann"]
    weights = dict(sample.select(pl.col("item_id"), "weight").iter_rows())
    assert all(abs(row["weight"] - weights[row["item_id"]]) < 1e-9 for row in labels.iter_rows(named=True))
    own = {(row["item_id"], row["version"]): row["label"] for row in labels.iter_rows(named=True)}
    assert own == truth

    second = pl.concat([labels, labels.with_columns(rater=pl.lit("bob"))])
    assert pe.agreement(second, rater="rater", label="label").alpha == 1.0
    corrected = pe.compare(two, **options, truth=labels)
    assert corrected.summary["difference"].is_not_null().all()
    assert "judge_difference" in corrected.summary.columns
    assert corrected.to_html().startswith("<!DOCTYPE html>")


def test_any_page_can_be_rated_and_ratings_stay(opened: Callable[..., Any], report: Path) -> None:  # noqa: F811
    page = opened(report)
    page.locator("#slice").select_option("topic=code")
    page.get_by_text("export", exact=True).click()
    page.locator("[data-rate='1']").click()
    expect(page.locator("#panel")).to_contain_text("0 of 240 rated")
    page.locator("#rater input").fill("ann")
    page.get_by_role("button", name="Begin").click()
    page.keyboard.press("3")
    expect(page.locator("#panel")).to_contain_text("1 of 240 rated")
    # The browser writes what a page of a file keeps in another process, a moment later.
    for _ in range(20):
        page.reload()
        page.wait_for_selector("[data-ready]", state="attached")
        expect(page.locator("#panel")).to_contain_text("of 240 rated")
        if "1 of 240 rated" in page.locator("#panel").inner_text():
            break
    expect(page.locator("#panel")).to_contain_text("1 of 240 rated")
    with page.expect_download() as download:
        page.locator("[data-export=labels]").click()
    (line,) = download.value.path().read_text("utf-8").splitlines()
    found = json.loads(line)
    assert found["label"] == "unsure"
    assert "weight" not in found
