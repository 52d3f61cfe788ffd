"""The page in a real browser: silent, offline, and usable by mouse, keyboard, phone and paper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from playwright.sync_api import expect

import polars_evals as pe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Return what opens a page, and fails after the test if it complained or asked for anything."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_page(path: Path, at: str = "", *, ready: bool = True, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri() + (f"#{at}" if at else ""))
        if ready and options.get("java_script_enabled", True):
            page.wait_for_selector("[data-ready]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len({url for url in asked if url.startswith("file:")}) <= len(contexts)


def note(page: Any) -> Any:
    return page.locator("#items-note")


def rows(page: Any) -> Any:
    return page.locator("#rows tr[data-item]")


def test_every_item_is_listed_worst_first(opened: Open, report: Path) -> None:
    page = opened(report)
    expect(note(page)).to_contain_text("720 of 720 items")
    expect(rows(page).first).to_contain_text("−1.00 ▼")
    # Few rows are drawn, and the list is as long as all of them.
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    assert page.evaluate("document.querySelector('#rows').getBoundingClientRect().height") == 720 * 44
    page.evaluate("document.querySelector('#grid').scrollTop = 1e9")
    expect(rows(page).last).to_contain_text("+1.00 ▲")


def test_chips_filters_and_search_combine(opened: Open, report: Path, comparison: pe.Comparison) -> None:
    page = opened(report)
    flips = comparison.items.filter(metric="exact_match", flip="newly_failing").collect()
    chip = page.locator("[data-chip=failing]")
    expect(chip).to_contain_text(str(flips.height))
    chip.click()
    expect(note(page)).to_contain_text(f"{flips.height} of 720 items")
    page.locator("#slice").select_option("topic=medicine")
    medicine = flips.filter(topic="medicine")
    expect(note(page)).to_contain_text(f"{medicine.height} of 720 items")
    expect(chip).to_contain_text(str(medicine.height))
    word = medicine["candidate_output"][0].split()[-1]
    page.locator("#q").fill(word)
    some = medicine.filter(
        pl.any_horizontal(
            pl.col("input", "expected", "baseline_output", "candidate_output", "item")
            .str.to_lowercase()
            .str.contains(word.lower(), literal=True)
        )
    )
    expect(note(page)).to_contain_text(f"{some.height} of 720 items")
    page.locator("#q").fill("nothing has this word zzz")
    expect(note(page)).to_contain_text("No item matches.")
    page.get_by_role("button", name="Clear filters").click()
    expect(note(page)).to_contain_text("720 of 720 items")


def test_back_restores_and_a_link_opens_its_item(opened: Open, report: Path) -> None:
    page = opened(report)
    page.locator("[data-chip=worse]").click()
    page.locator("#slice").select_option("topic=medicine")
    rows(page).nth(1).click()
    panel = page.locator("#panel")
    expect(panel).to_be_visible()
    name = panel.locator(".name").inner_text().split(" ")[0]
    address = page.url
    page.go_back()
    expect(panel).to_be_hidden()
    expect(page.locator("#slice")).to_have_value("topic=medicine")
    page.go_back()
    expect(page.locator("#slice")).to_have_value("")
    expect(page.locator("[data-chip=worse]")).to_have_attribute("aria-pressed", "true")
    page.go_back()
    expect(note(page)).to_contain_text("720 of 720 items")
    other = opened(report, at=address.partition("#")[2])
    expect(other.locator("#panel .name")).to_contain_text(name)
    row = other.locator("#rows tr.open")
    expect(row).to_be_visible()
    expect(row).to_be_in_viewport()


def test_claims_filter_the_items(opened: Open, report: Path, comparison: pe.Comparison) -> None:
    page = opened(report)
    page.get_by_role("link", name="Medicine is worse").click()
    worse = comparison.items.filter(
        pl.col("difference") < 0, metric="exact_match", topic="medicine"
    ).collect()
    expect(note(page)).to_contain_text(f"{worse.height} of 720 items")
    expect(page.locator("#items")).to_be_in_viewport()


def test_heads_sort_both_ways(opened: Open, report: Path) -> None:
    page = opened(report)
    page.locator("#metric").select_option(label="levenshtein")
    page.locator("[data-sort=v1]").click()
    expect(rows(page).first).to_contain_text("→ 0.00")
    page.locator("[data-sort=v1]").click()
    expect(rows(page).first).to_contain_text("→ 1.00")
    page.locator("[data-sort=item]").click()
    expect(rows(page).first).to_contain_text("arithmetic-000")


def test_the_panel_shows_texts_and_their_differences(opened: Open, report: Path) -> None:
    page = opened(report)
    page.locator("#slice").select_option("topic=medicine")
    page.locator("[data-chip=failing]").click()
    rows(page).first.click()
    panel = page.locator("#panel")
    expect(panel.locator("ins").first).to_be_visible()
    expect(panel).to_contain_text("Expected")
    expect(panel).to_contain_text("assistant-1.0 · baseline")
    panel.locator("select[data-view=way]").select_option("source")
    expect(panel.locator("ins")).to_have_count(0)
    panel.locator("select[data-view=way]").select_option("differences")
    panel.locator("select[data-view=against]").select_option("expected")
    expect(panel.locator("del").first).to_be_visible()


def test_all_by_keyboard(opened: Open, report: Path) -> None:
    page = opened(report)
    page.keyboard.press("j")
    panel = page.locator("#panel")
    expect(panel).to_contain_text("1 of 720")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(panel).to_contain_text("3 of 720")
    page.keyboard.press("k")
    expect(panel).to_contain_text("2 of 720")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("ibuprofen")
    expect(note(page)).not_to_contain_text("720 of 720")
    expect(note(page)).to_contain_text("of 720 items")


def test_columns_can_be_chosen_and_rows_exported(opened: Open, report: Path) -> None:
    page = opened(report)
    page.locator("#slice").select_option("topic=code")
    page.get_by_text("columns", exact=True).click()
    page.locator("[data-column=expected]").uncheck()
    expect(page.locator("#grid thead")).not_to_contain_text("expected")
    page.locator("[data-column=set0]").check()
    expect(page.locator("#grid thead")).to_contain_text("topic")
    page.get_by_text("export", exact=True).click()
    with page.expect_download() as download:
        page.locator("[data-export=csv]").click()
    lines = pl.read_csv(download.value.path())
    assert lines.height == 120
    assert lines["item_id"].n_unique() == 120


@pytest.mark.parametrize("width", [390, 700, 1400])
def test_the_page_fits_the_screen(opened: Open, report: Path, width: int) -> None:
    page = opened(report, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    rows(page).first.scroll_into_view_if_needed()
    rows(page).first.click()
    box = page.locator("#panel").bounding_box()
    assert (box["width"] == width) == (width == 390)
    if width == 390:
        page.locator("#panel [data-go='1']").click()
        expect(page.locator("#panel")).to_contain_text("2 of 720")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_background(opened: Open, report: Path, scheme: str) -> None:
    page = opened(report, color_scheme=scheme)
    rows(page).first.click()
    expect(page.locator("#panel ins").first).to_be_visible()
    selectors = [
        "body", "caption", ".count.regressed", ".count.improved", ".count.inconclusive", "a", "#panel ins",
        "#panel del", "#panel h4", ".t-2", "td.t-2 small", ".example", ".forest svg text",
    ]  # fmt: skip
    for selector in selectors:
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector


def test_a_phone_shows_the_change_of_what_moved(opened: Open, report: Path) -> None:
    page = opened(report, viewport={"width": 390, "height": 844})
    for change in page.locator(".forest td.number b").all()[:4]:
        box = change.bounding_box()
        assert box["x"] + box["width"] <= 390


def test_the_switch_turns_the_page_dark_and_stays(opened: Open, report: Path) -> None:
    page = opened(report, color_scheme="light")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    assert page.evaluate("localStorage.getItem('polars-evals:theme')") == "dark"


def test_without_scripts_the_story_is_told(opened: Open, report: Path) -> None:
    page = opened(report, java_script_enabled=False)
    expect(page.get_by_text("Medicine is worse: 43 of 120 items newly fail, 6 newly pass")).to_be_visible()
    expect(page.locator(".forest").first).to_be_visible()
    assert page.locator("#rows tr").count() == 50
    expect(note(page)).to_contain_text("The first 50 of 720 items.")
    assert page.locator("#toolbar").is_hidden()


def test_paper_has_no_controls_and_is_light(opened: Open, report: Path) -> None:
    page = opened(report, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    # Room for rows that are not drawn would be empty sheets.
    hidden = "all => all.filter((one) => one.offsetHeight === 0).length"
    assert page.locator(".spacer").count() == page.locator(".spacer").evaluate_all(hidden)
    assert page.locator("#toolbar").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000


def test_right_to_left_text_is_right_aligned(opened: Open, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "id": [*range(60)] * 2, "v": ["a"] * 60 + ["b"] * 60, "input": "اكتب جملة عن القمر",
            "expected": "القمر جميل",
            "output": ["القمر جميل"] * 60 + ["القمر بعيد"] * 60, "m_score": [1.0] * 60 + [0.0] * 60,
        }
    )  # fmt: skip
    pe.compare(frame, version="v", baseline="a", item="id").to_html(tmp_path / "rtl.html")
    page = opened(tmp_path / "rtl.html")
    # Before stands left of after, whatever the script.
    before, after = (one.bounding_box() for one in page.locator(".example bdi").all()[-2:])
    assert before["x"] + before["width"] <= after["x"]
    rows(page).first.click()
    expect(page.locator("#panel .body").first).to_be_visible()
    starts = "one => getComputedStyle(one).direction"
    assert page.locator("#panel .body").first.evaluate(starts) == "rtl"
    assert page.locator("#rows td.words").first.evaluate(starts) == "rtl"


def test_hostile_texts_do_nothing(opened: Open, hostile: pe.Comparison, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    hostile.to_html(path)
    page = opened(path)
    for _ in range(13):
        page.keyboard.press("j")
        expect(page.locator("#panel .body").first).to_be_visible()
    for way in ("markdown", "json", "source", "code", "text"):
        page.locator("select[data-view=way]").select_option(way)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1


def test_a_hostile_address_does_nothing(opened: Open, report: Path) -> None:
    page = opened(report, at="items?q=%3Cscript%3E&slice=x&chip=%22%3E&metric=__proto__&item=a&show=b&why=c")
    expect(note(page)).to_contain_text("No item matches")
    assert page.locator("script").count() == 1


def test_the_items_of_a_notebook_need_no_widgets(
    opened: Open, hostile: pe.Comparison, comparison: pe.Comparison, tmp_path: Path
) -> None:
    for name, result in (("hostile", hostile), ("real", comparison)):
        path = tmp_path / f"{name}.html"
        path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{result.show_items()._repr_html_()}")
        page = opened(path, ready=False)
        frame = page.frame_locator("iframe")
        frame.locator("#rows tr[data-item]").first.click()
        expect(frame.locator("#panel .body").first).to_be_visible()
        frame.locator("[data-chip=failing]").click()
        expect(frame.locator("#items-note")).to_contain_text(re.compile(r"of (13|720) items"))
        assert page.evaluate("window.hacked") is None


def test_several_versions_are_a_heat_map_and_errors_are_hatched(opened: Open, tmp_path: Path) -> None:
    n = 60
    frame = pl.concat(
        pl.DataFrame(
            {
                "id": range(n), "v": version, "input": [f"question {i}" for i in range(n)],
                "output": [None if version == "c" and i % 5 == 0 else f"{version} {i}" for i in range(n)],
                "error": ["RateLimitError" if version == "c" and i % 5 == 0 else "" for i in range(n)],
                "m_score": [(i * k % 11) / 10 for i in range(n)],
            }
        )
        for k, version in enumerate("abcd", 3)
    )  # fmt: skip
    pe.compare(frame, version="v", baseline="a", item="id").to_html(tmp_path / "many.html")
    page = opened(tmp_path / "many.html")
    expect(page.locator("#grid thead")).to_contain_text("most disagreement first")
    page.locator("[data-chip=errors]").click()
    expect(note(page)).to_contain_text("12 of 60 items")
    assert page.locator("td.no-answer").first.inner_text() == "!"
    page.locator("#q").fill("RateLimit")
    expect(note(page)).to_contain_text("12 of 60 items")
    page.locator("#show").select_option("change")
    page.locator("[data-chip=worse]").click()
    expect(page.locator("td.score", has_text="−").first).to_be_visible()


def test_ten_versions_ten_metrics_ten_thousand_items(opened: Open, tmp_path: Path) -> None:
    n = 10_000
    frame = pl.concat(
        pl.DataFrame(
            {"id": range(n), "topic": [f"t{i % 6}" for i in range(n)], "v": f"version {v}"}
        ).with_columns(
            pl.format("question {} of many", "id").alias("input"),
            pl.format("answer {} of {}, which is rather short", "id", "v").alias("output"),
            *(
                ((pl.col("id") * (k + 3) % 97) / 100 + pl.lit(0.003 * v * (k % 3)).cast(pl.Float64)).alias(
                    f"m{k}_score"
                )
                for k in range(10)
            ),
        )
        for v in range(10)
    )
    path = tmp_path / "large.html"
    pe.compare(frame, version="v", baseline="version 0", item="id").to_html(path)
    assert path.stat().st_size < 6_000_000
    page = opened(path)
    expect(note(page)).to_contain_text("10,000 of 10,000 items")
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    page.locator("#q").fill("question 9999 of")
    expect(note(page)).to_contain_text("1 of 10,000 items")


# The ratio of WCAG 2 between the colour of an element's text and what lies behind it.
CONTRAST = """selector => {
  const element = document.querySelector(selector);
  const style = getComputedStyle(element);
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  let behind = element;
  let background = rgb(getComputedStyle(behind).backgroundColor);
  while (background.length > 3 && background[3] === 0) {
    behind = behind.parentElement;
    background = rgb(getComputedStyle(behind).backgroundColor);
  }
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ink = light(rgb(element instanceof SVGElement ? style.fill : style.color));
  const paper = light(background);
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}"""
