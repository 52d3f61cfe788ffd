"""The tables of Unicode in the native core were read off Polars; those of the installed one are in use."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = Path(__file__).parents[1] / "src" / "native" / "unicode" / "make_tables.py"


def test_the_stored_tables_are_those_of_the_installed_polars() -> None:
    """That kernels use them, `tests/metrics/test_edit.py` shows over all of Unicode."""
    tables = runpy.run_path(str(TOOL))["tables"]()
    assert tables == {file: file.read_text("utf-8") for file in tables}
