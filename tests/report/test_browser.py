"""The page in a real browser: silent, offline, and usable by mouse, keyboard, phone and paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import polars_evals as pe

    Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Return what opens a page, and fails after the test if it complained or asked for anything."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_page(path: Path, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == len(contexts)


def column(page: Any, table: str, index: int) -> list[str]:
    return [
        str(text)
        for text in page.locator(f"{table} tbody tr:not(.detail) > :nth-child({index})").all_inner_texts()
    ]


def test_tables_sort_by_number_and_by_name(opened: Open, report: Path) -> None:
    page = opened(report)
    head = page.locator("#slices thead th", has_text="difference")
    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    numbers = [float(text) for text in column(page, "#slices", 6)]
    assert numbers == sorted(numbers)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    numbers = [float(text) for text in column(page, "#slices", 6)]
    assert numbers == sorted(numbers, reverse=True)
    page.locator("#slices thead th", has_text="slice").get_by_role("button").click()
    names = column(page, "#slices", 1)
    assert names == sorted(names)
    assert head.get_attribute("aria-sort") == "none"


def test_flips_sort_with_their_texts(opened: Open, report: Path) -> None:
    page = opened(report)
    before = page.locator("#flips tbody").first.inner_text()
    page.locator("#flips thead th", has_text="change").get_by_role("button").click()
    page.locator("#flips thead th", has_text="change").get_by_role("button").click()
    first = page.locator("#flips tbody").first
    assert first.inner_text() != before
    assert "newly passing" in first.inner_text()
    first.get_by_role("button").click()
    name = first.get_by_role("button").inner_text()
    assert first.locator(".detail").is_visible()
    assert first.get_by_role("button").get_attribute("aria-controls") == first.locator(
        ".detail"
    ).get_attribute("id")
    assert name


def test_search_and_filters(opened: Open, report: Path) -> None:
    page = opened(report)
    bodies = page.locator("#flips tbody:visible")
    assert bodies.count() == 200
    assert page.locator("#found").inner_text() == "200 of 200 shown"
    page.get_by_label("search").fill("ARITHMETIC-")
    assert 0 < bodies.count() < 200
    assert page.locator("#found").inner_text() == f"{bodies.count()} of 200 shown"
    assert all(
        text.startswith("arithmetic-")
        for text in page.locator("#flips tbody:visible .item").all_inner_texts()
    )
    found = bodies.count()
    page.get_by_label("flip", exact=True).select_option("newly passing")
    assert 0 < bodies.count() < found
    page.get_by_label("search").fill("")
    page.get_by_label("flip", exact=True).select_option("")
    page.get_by_label("metric", exact=True).select_option("exact_match")
    assert bodies.count() == 100
    page.get_by_label("search").fill("topic=arithmetic")
    assert 0 < bodies.count() < 100
    page.get_by_label("search").fill("no such text anywhere")
    assert bodies.count() == 0


def test_the_diff_marks_what_differs(opened: Open, tmp_path: Path) -> None:
    import polars as pl

    import polars_evals as pe

    frame = pl.DataFrame(
        {
            "id": [1, 2] * 2,
            "v": ["a", "a", "b", "b"],
            "expected": ["take 200 mg", "x"] * 2,
            "output": ["take 200 mg", "x", "take 400 mg", "y"],
            "m_score": [1.0, 1.0, 0.5, 0.0],
            "m_label": ["pass", "pass", "fail", "fail"],
        }
    )
    path = tmp_path / "diff.html"
    pe.compare(frame, version="v", baseline="a", item="id").to_html(path)
    page = opened(path)
    flip = page.locator("#flips tbody", has_text="take")
    assert not flip.locator(".detail").is_visible()
    flip.get_by_role("button").click()
    texts = flip.locator(".text")
    assert texts.all_inner_texts() == ["take 200 mg", "take 200 mg", "take 2400 mg", "take 2400 mg"]
    assert flip.locator("del").all_inner_texts() == ["2", "2"]
    assert flip.locator("ins").all_inner_texts() == ["4", "4"]


def test_all_by_keyboard(opened: Open, report: Path) -> None:
    page = opened(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    button = page.locator("#flips tbody button").first
    button.focus()
    assert "3px" in button.evaluate("element => getComputedStyle(element).outline")
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Space")
    assert button.get_attribute("aria-expanded") == "false"


def test_a_screen_reader_hears_tables_and_pictures(opened: Open, report: Path) -> None:
    page = opened(report)
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("main").count() == page.get_by_role("navigation").count() == 1
    assert page.get_by_role("table", name="Scores by slice, worst verdict first").count() == 1
    assert page.get_by_role("img", name="Differences in mean score with 95% intervals").count() == 1
    assert page.get_by_role("columnheader", name="difference").count() >= 2
    assert page.get_by_role("rowheader", name="topic=medicine").count() >= 1


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_the_page_fits_the_screen(opened: Open, report: Path, width: int) -> None:
    page = opened(report, viewport={"width": width, "height": 800})
    page.locator("#open-all").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#metrics .small").is_visible() == (width <= 768)
    assert page.locator("#metrics .large").is_visible() == (width > 768)


# 1166 is what two scrollbars leave of 1200; a headless browser has none of its own.
@pytest.mark.parametrize("width", [1166, 1200, 1280])
def test_tables_fit_a_wide_screen(opened: Open, report: Path, width: int) -> None:
    page = opened(report, viewport={"width": width, "height": 800})
    boxes = "[...document.querySelectorAll('.scroll')].filter((box) => box.offsetParent)"
    assert page.evaluate(f"{boxes}.length") > 2
    assert page.evaluate(f"{boxes}.filter((box) => box.scrollWidth > box.clientWidth).length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_background(opened: Open, report: Path, scheme: str) -> None:
    page = opened(report, color_scheme=scheme)
    page.locator("#open-all").click()
    selectors = [
        "body",
        "figcaption",
        "caption",
        ".regressed",
        ".improved",
        ".inconclusive",
        "a",
        "ins",
        "del",
        "h4",
    ]
    for selector in selectors:
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    assert page.evaluate(CONTRAST, ".chart text") >= 4.5


def test_without_scripts_everything_can_be_read(opened: Open, report: Path) -> None:
    page = opened(report, java_script_enabled=False)
    assert page.locator("#controls").is_hidden()
    assert page.locator("#flips .detail").first.is_visible()
    assert page.locator("thead button").count() == 0


def test_paper_has_no_controls_and_is_light(opened: Open, report: Path) -> None:
    page = opened(report, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("#controls").is_hidden()
    assert page.locator("nav").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000


def test_hostile_texts_do_nothing(opened: Open, hostile: pe.Comparison, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    hostile.to_html(path)
    page = opened(path)
    page.locator("#open-all").click()
    page.get_by_label("search").fill("<script>")
    assert page.locator("#flips tbody:visible").count() > 0
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert "<script>window.hacked = 1</script>" in page.locator("#flips").inner_text()


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
