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
    assert len([url for url in asked if url.startswith("file:")]) == len(contexts)


def column(page: Any, table: str, index: int) -> list[str]:
    return [str(text) for text in page.locator(f"{table} tbody tr > :nth-child({index})").all_inner_texts()]


def until(page: Any, condition: str) -> None:
    """Wait for a condition; the page's policy forbids Playwright's own way, which evaluates a text."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {condition}")


def names(page: Any) -> list[str]:
    return [str(text) for text in page.locator("button.item").all_inner_texts()]


def found(page: Any) -> str:
    return str(page.locator("#found").inner_text())


def test_tables_sort_by_number_and_by_name(opened: Open, report: Path) -> None:
    page = opened(report)
    head = page.locator("#metrics thead th", has_text="difference")
    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    numbers = [float(text) for text in column(page, "#metrics", 6)]
    assert numbers == sorted(numbers)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    numbers = [float(text) for text in column(page, "#metrics", 6)]
    assert numbers == sorted(numbers, reverse=True)
    page.locator("#metrics thead th", has_text="slice").get_by_role("button").click()
    slices = column(page, "#metrics", 2)
    assert slices == sorted(slices)
    assert head.get_attribute("aria-sort") == "none"


def test_items_come_one_a_row_worst_first(opened: Open, report: Path, comparison: pe.Comparison) -> None:
    page = opened(report)
    assert found(page) == "720 of 720 items"
    change = comparison.items.collect().group_by("item").agg(pl.col("difference").mean())
    worst = change["difference"].min()
    first = change.filter(pl.col("difference") == worst)["item"].to_list()
    assert set(names(page)[: len(first)]) == set(first)
    page.get_by_label("order", exact=True).select_option("best")
    best = change.filter(pl.col("difference") == pl.col("difference").max())["item"].to_list()
    assert set(names(page)[: len(best)]) == set(best)
    page.locator("#more-items").click()
    assert len(names(page)) == 125


def test_filters_combine_and_count(opened: Open, report: Path, comparison: pe.Comparison) -> None:
    page = opened(report)
    items = comparison.items.collect()
    medicine = items.filter(topic="medicine", metric="exact_match")
    page.get_by_label("topic", exact=True).select_option("topic=medicine")
    assert found(page) == "120 of 720 items"
    page.get_by_label("metric", exact=True).select_option("exact_match")
    page.get_by_label("flip", exact=True).select_option("newly_failing")
    failing = medicine.filter(pl.col("flip").cast(pl.String) == "newly_failing")
    assert found(page) == f"{failing.height} of 720 items"
    page.get_by_label("verdict", exact=True).select_option("improved")
    assert found(page) == "0 of 720 items"
    page.get_by_label("flip", exact=True).select_option("")
    page.get_by_label("verdict", exact=True).select_option("regressed")
    assert found(page) == f"{medicine.filter(pl.col('difference') < 0).height} of 720 items"
    page.get_by_label("search").fill("MEDICINE-00")
    until(page, "location.hash.includes('q=MEDICINE-00')")
    assert names(page)
    assert all(name.startswith("medicine-00") for name in names(page))
    page.get_by_text("reset").click()
    assert found(page) == "720 of 720 items"


def test_a_link_restores_what_was_chosen(opened: Open, report: Path) -> None:
    page = opened(report)
    page.get_by_label("topic", exact=True).select_option("topic=medicine")
    page.get_by_label("metric", exact=True).select_option("exact_match")
    page.get_by_label("search").fill("take")
    until(page, "location.hash.includes('q=take')")
    page.locator("button.item").nth(1).click()
    page.locator("input[type=radio][value=expected]").check()
    address, text = page.evaluate("location.hash.slice(1)"), page.locator("#items-viewer").inner_text()
    again = opened(report, at=address)
    assert again.locator("#items-viewer").inner_text() == text
    assert again.locator(".detail").count() == 1
    assert again.locator("input[type=radio][value=expected]").is_checked()
    assert again.get_by_label("search").input_value() == "take"
    assert again.evaluate("document.getElementById('items').getBoundingClientRect().top") < 100


def test_claims_and_slices_show_their_items(opened: Open, report: Path) -> None:
    page = opened(report)
    page.locator(".sentence a").first.click()
    until(page, "document.getElementById('found').value === '120 of 720 items'")
    assert page.get_by_label("topic", exact=True).input_value() == "topic=medicine"
    page.locator("#metrics td a", has_text="topic=code").first.click()
    until(page, "document.getElementById('filter-set-0').value === 'topic=code'")
    assert found(page) == "120 of 720 items"


def small(tmp_path: Path, **columns: Any) -> Path:
    frame = pl.DataFrame(
        {
            "id": [1, 2] * 2,
            "v": ["a", "a", "b", "b"],
            "m_score": [1.0, 1.0, 0.5, 0.0],
            "m_label": ["pass", "pass", "fail", "fail"],
            **columns,
        }
    )
    path = tmp_path / "small.html"
    pe.compare(frame, version="v", baseline="a", item="id").to_html(path)
    return path


def test_the_diff_marks_words_that_differ(opened: Open, tmp_path: Path) -> None:
    page = opened(
        small(
            tmp_path,
            expected=["take 200 mg daily", "x"] * 2,
            output=["take 200 mg daily", "x", "take 2400 mg daily", "y"],
        )
    )
    page.locator("button.item", has_text="1").click()
    texts = page.locator(".detail .text")
    plain = ["take 200 mg daily", "take 200 mg daily", "take 2400 mg daily"]
    assert texts.all_inner_texts() == plain
    page.get_by_label("differences from expected").check()
    assert page.locator(".detail del").all_inner_texts() == ["200"]
    assert page.locator(".detail ins").all_inner_texts() == ["2400"]
    page.get_by_label("differences from the baseline").check()
    assert texts.all_inner_texts()[2] == "take 2002400 mg daily"
    page.get_by_label("plain text").check()
    assert texts.all_inner_texts() == plain


def test_pieces_of_a_diff_make_up_both_texts(opened: Open, report: Path) -> None:
    page = opened(report)
    pairs = [
        ["one two three", "one 2 three"], ["", "gone"], ["new", ""], ["我 爱 北京", "我爱上海"],
        ["same", "same"], ["a b c d e f", "f e d c b a"],
        ["line\none", "line\n\none"], ["🙂👍🏽 ok", "🙂 ok"],
    ]  # fmt: skip
    for text, other in pairs:
        pieces = page.evaluate("([text, other]) => texts.diff(text, other)", [text, other])
        assert "".join(piece for kind, piece in pieces if kind != "missing") == text
        assert "".join(piece for kind, piece in pieces if kind != "added") == other
    assert page.evaluate("texts.diff('Paris, France', 'Paris, Texas')") == [
        ["same", "Paris, "], ["missing", "Texas"], ["added", "France"],
    ]  # fmt: skip


def test_texts_keep_their_space_fold_and_turn(opened: Open, tmp_path: Path) -> None:
    long = "\n".join(f"line {n}" for n in range(60))
    page = opened(small(tmp_path, output=["**two**  spaces\n\tand a tab", "x", long, "שלום עולם"]))
    for button in (0, 1):
        page.locator("button.item").nth(button).click()
    assert page.locator(".text strong").inner_text() == "**two**"
    assert "**two**  spaces\n\tand a tab" in page.locator(".detail .text").all_inner_texts()
    assert (
        page.locator(".text", has_text="שלום").evaluate("text => getComputedStyle(text).direction") == "rtl"
    )
    folded = page.locator(".text.folded")
    before = folded.bounding_box()["height"]
    page.get_by_role("button", name="show all").click()
    assert page.locator(".text", has_text="line 59").bounding_box()["height"] > 2 * before


def test_all_by_keyboard(opened: Open, report: Path) -> None:
    page = opened(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    button = page.locator("button.item").nth(1)
    assert button.evaluate("button => button === document.activeElement")
    assert "3px" in button.evaluate("element => getComputedStyle(element).outline")
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.locator(f"#{button.get_attribute('aria-controls')}").is_visible()
    assert button.evaluate("button => button === document.activeElement")
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "false"
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.get_by_label("search").input_value() == "jk"


def test_a_screen_reader_hears_tables_and_pictures(opened: Open, report: Path) -> None:
    page = opened(report)
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("main").count() == page.get_by_role("navigation").count() == 1
    assert page.get_by_role("table", name="Scores, worst verdict first").count() == 1
    assert page.get_by_role("table", name="Items, worst first").count() == 1
    assert page.get_by_role("img", name="Differences in mean score of assistant-2.0 with 95%").count() == 1
    assert page.get_by_role("columnheader", name="difference").count() >= 2
    assert page.get_by_role("rowheader", name="exact_match").count() >= 1


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_the_page_fits_the_screen(opened: Open, report: Path, width: int) -> None:
    page = opened(report, viewport={"width": width, "height": 800})
    page.locator("button.item").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") < 9_000
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
    page.locator("button.item").first.click()
    page.get_by_label("differences from expected").check()
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
        ".block h3",
    ]
    for selector in selectors:
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    assert page.evaluate(CONTRAST, ".chart text") >= 4.5


def test_without_scripts_everything_can_be_read(opened: Open, report: Path) -> None:
    page = opened(report, java_script_enabled=False)
    assert page.locator("#controls").count() == 0
    assert page.locator("noscript .text").first.is_visible()
    assert page.locator("#metrics tbody tr").count() == 14
    assert page.locator("thead button").count() == 0


def test_paper_has_no_controls_and_is_light(opened: Open, report: Path) -> None:
    page = opened(report, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("#controls").is_hidden()
    assert page.locator("nav").is_hidden()
    assert page.get_by_text("Printed are 25 of 720 items").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000


def test_hostile_texts_do_nothing(opened: Open, hostile: pe.Comparison, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    hostile.to_html(path)
    page = opened(path)
    while page.locator("button.item[aria-expanded=false]").count():
        page.locator("button.item[aria-expanded=false]").first.click()
    for view in ("expected", "baseline"):
        page.locator(f"input[type=radio][value={view}]").first.check()
    page.get_by_label("search").fill("<script>")
    until(page, "location.hash.includes('q=')")
    assert len(names(page)) > 0
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert "<script>window.hacked = 1</script>" in page.locator("#items-table").inner_text()


def test_the_items_of_a_notebook_need_no_widgets(
    opened: Open, hostile: pe.Comparison, comparison: pe.Comparison, tmp_path: Path
) -> None:
    for name, result in (("hostile", hostile), ("real", comparison)):
        path = tmp_path / f"{name}.html"
        path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{result.show_items()._repr_html_()}")
        page = opened(path, java_script_enabled=True, ready=False)
        frame = page.frame_locator("iframe")
        frame.locator("button.item").first.click()
        assert frame.locator(".detail .text").first.is_visible()
        frame.get_by_label("flip", exact=True).select_option("newly_failing")
        assert frame.locator("#found").inner_text().endswith("items")
        assert page.evaluate("window.hacked") is None


def test_a_hostile_address_does_nothing(opened: Open, report: Path) -> None:
    page = opened(
        report, at="items?q=%3Cscript%3E&slice=x&version=%22%3E&metric=__proto__&open=a&show=b&view=c"
    )
    assert found(page).endswith("of 720 items")
    assert page.locator("script").count() == 1


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
    pe.compare(frame, version="v", baseline="version 0", item="id", by="topic").to_html(path)
    assert path.stat().st_size < 1_250_000
    page = opened(path)
    assert page.evaluate("document.documentElement.scrollHeight") < 10_000
    expect(page.locator(".leaderboard tbody tr")).to_have_count(10)
    page.locator(".leaderboard tbody tr").first.locator("td").first.click()
    page.wait_for_function("location.hash.length > 1")
    name = page.evaluate("location.hash.slice(1)")
    expect(page.locator(f"#{name}")).to_have_attribute("open", "")
    page.get_by_label("version", exact=True).select_option("version 3")
    page.get_by_label("topic", exact=True).select_option("topic=t2")
    expect(page.locator("#found")).to_have_text(re.compile(r"^[1-9]"))


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
