"""What tests of the command share, and a browser to open pages in."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.support import DATA, invoke

QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scored") / "scored.parquet"
    invoke("score", DATA, "--metric", "exact_match", "--metric", "levenshtein", "--output", path)
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return a headless Chromium; without one, skip, or fail where POLARS_EVALS_REQUIRE_BROWSER is set."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        message = "no chromium to open the page in: `make browser` installs Debian's"
        if os.environ.get("POLARS_EVALS_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield launched
        launched.close()
