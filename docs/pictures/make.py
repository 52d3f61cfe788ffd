"""
Make the pictures of the README and the site, from the example traces.

``digest.txt`` remembers the words, numbers and styles of the pages that were photographed; where they have
changed, `make docs` takes the pictures anew.
"""

from __future__ import annotations

import re
import shutil
import sys
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import polars_evals as pe

FOLDER = Path(__file__).parent
TRACES = FOLDER.parent.parent / "data" / "traces.parquet"
MEDICINE = "items?chip=failing&slice=topic%3Dmedicine"
SHARPNESS = 1.2
# name: page, address in it, element at the top, width and height, whether the first item is opened
PICTURES: dict[str, tuple[str, str, str, int, int, bool]] = {
    "page": ("two", "", "header", 1100, 640, False),
    "leaderboard": ("three", "", ".board", 800, 220, False),
    "items": ("two", MEDICINE, "#toolbar", 1200, 480, True),
    "timeline": ("two", "", "#timeline .chart", 800, 180, False),
}


def pages() -> dict[str, str]:
    """Return the pages to photograph."""
    scored = pe.Suite([pe.Metric("exact_match"), pe.Metric("levenshtein")]).score(pl.read_parquet(TRACES))
    what: dict[str, Any] = {"version": "model", "baseline": "assistant-1.0", "item": "item_id", "by": "topic"}
    timeline = pe.timeline(scored, time="ts", every="1d", by="topic", metrics=["levenshtein"])
    two = pe.compare(scored, candidate="assistant-2.0", cluster="session_id", **what)
    three = pe.compare(scored, **what)
    return {
        "two": two.to_html(timeline=timeline, source="data/traces.parquet"),
        "three": three.to_html(source="data/traces.parquet"),
    }


def digest(found: dict[str, str]) -> str:
    """Return what tells pages apart: not their date, their version, or how a library writes its pictures."""
    told = "".join(found[name] for name in sorted(found))
    for gone in (r"<svg.*?</svg>", r"<template.*?</template>", r"\d+ \w+ 20\d\d ·", r"polars-evals [\d.]+"):
        told = re.sub(gone, "", told, flags=re.DOTALL)
    return sha256(f"{PICTURES}{told}".encode()).hexdigest()


def shoot(found: dict[str, str], browser: str) -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for name, (of, address, top, width, height, unfold) in PICTURES.items():
            path = Path(folder, f"{of}.html")
            path.write_text(found[of], "utf-8")
            page = opened.new_page(viewport={"width": width, "height": 900})
            page.goto(f"{path.as_uri()}#{address}")
            page.wait_for_selector("[data-ready]", state="attached")
            if unfold:
                page.locator("#rows tr[data-item]").first.click()
                page.wait_for_selector("#panel .body")
                page.mouse.move(0, 0)
            box = page.locator(top).first.bounding_box()
            y = box["y"] + page.evaluate("scrollY") - 8
            clip = {"x": 0, "y": y, "width": width, "height": height, "scale": SHARPNESS}
            taken = page.context.new_cdp_session(page).send(
                "Page.captureScreenshot",
                {"format": "webp", "quality": 40, "clip": clip, "captureBeyondViewport": True},
            )
            (FOLDER / f"{name}.webp").write_bytes(b64decode(taken["data"]))
            page.close()
        opened.close()


def main() -> None:
    """Take the pictures anew where the pages have changed and there is a browser."""
    remembered = FOLDER / "digest.txt"
    found = pages()
    now = digest(found)
    if remembered.exists() and remembered.read_text("utf-8").strip() == now:
        return
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.stderr.write("docs/pictures are older than the page, and there is no chromium: make browser\n")
        return
    shoot(found, browser)
    remembered.write_text(f"{now}\n", "utf-8")
    sys.stdout.write("docs/pictures are new: commit them.\n")


if __name__ == "__main__":
    main()
