"""The site, built and opened from disk: silent, searchable, and its code ready to paste."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    config = (ROOT / "zensical.toml").read_text("utf-8")
    (folder / "zensical.toml").write_text(config.replace('"src"', f'"{ROOT / "src"}"'), "utf-8")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.fixture
def page(browser: Any, site: Path) -> Iterator[Any]:
    """Return the quick start, and fail after the test if it complained or asked the network for anything."""
    said: list[str] = []
    asked: list[str] = []
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "quick-start.html").as_uri())
    yield page
    context.close()
    assert said == []
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "x"\n')
    (tmp_path / "docs" / "index.md").write_text("# Start\n\n[there](#start)\n")
    assert build(tmp_path).returncode == 0
    (tmp_path / "docs" / "index.md").write_text("# Start\n\n[nowhere](#end)\n")
    assert build(tmp_path).returncode != 0


def test_search_works_from_disk(page: Any) -> None:
    page.wait_for_timeout(500)
    page.keyboard.press("Control+k")
    page.wait_for_timeout(200)
    page.keyboard.type("levenshtein threshold")
    page.get_by_role("status").get_by_text(re.compile(r"^\d+ results$")).wait_for()
    hit = page.locator("a[href*='reference/metrics-texts.html']", has_text="levenshtein").first
    hit.wait_for()
    hit.click()
    page.wait_for_url("**/reference/metrics-texts.html*")


def test_code_is_copied_without_prompts_and_answers(page: Any) -> None:
    def copied(at: int) -> str:
        page.locator("button[data-clipboard-target]").nth(at).click()
        return str(page.evaluate("navigator.clipboard.readText()"))

    page.locator("button[data-clipboard-target]").first.wait_for()
    session = copied(0)
    assert session.startswith("import polars as pl\nimport polars_evals as pe\n")
    assert '\n    traces.filter(model=version).write_parquet(f"{name}.parquet")' in session
    assert ">>>" not in session
    compile(session, "session", "exec")
    command = copied(1)
    assert command.startswith("polars-evals diff v1.parquet v2.parquet ")
    assert "against" not in command
    answered = copied(3)
    assert answered.startswith("suite = pe.Suite(")
    assert "shape" not in answered
    compile(answered, "session", "exec")
