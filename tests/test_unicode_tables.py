"""The tables of Unicode in the native core were read off one Polars, and are those of the installed one."""

from __future__ import annotations

import runpy
from pathlib import Path

import polars as pl

from polars_evals._polars import SIGMA_SEES_ASCII

TOOLS = Path(__file__).parents[1] / "src" / "native" / "tools"


def made_and_stored(tool: str) -> tuple[str, str]:
    made = runpy.run_path(str(TOOLS / f"{tool}.py"))
    return made["table"](), made["TABLE"].read_text("utf-8")


def test_the_kinds_of_characters_are_those_of_the_installed_polars() -> None:
    made, stored = made_and_stored("make_characters")
    assert made == stored


def test_lowercase_is_that_of_the_installed_polars() -> None:
    made, stored = made_and_stored("make_lowercase")
    if not SIGMA_SEES_ASCII:
        # What surrounds a sigma is read off a letter of ASCII beside it, which this Polars does not see.
        made, stored = (text.partition("inline constexpr Range case_ignorable")[0] for text in (made, stored))
    assert made == stored


def test_kernels_know_what_the_installed_polars_sees_beside_a_sigma() -> None:
    """`tests/metrics/test_edit.py` compares the two over all of Unicode."""
    lower = pl.Series(["a\u03a3", "\u03b1\u03a3b"]).str.to_lowercase().to_list()
    seen = [lower[0].endswith("\u03c2"), "\u03c3" in lower[1]]
    assert seen == [SIGMA_SEES_ASCII] * 2
