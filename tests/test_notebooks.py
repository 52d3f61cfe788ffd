"""The notebooks run from top to bottom, and show what they are stored with."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def runner() -> ModuleType:
    """Return `notebooks/run.py`, which is a script beside the notebooks and not a package."""
    spec = importlib.util.spec_from_file_location("notebooks_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def said(notebook: Any) -> list[list[str]]:
    """Return what each cell prints and shows; charts and styled tables count as such only."""
    cells = []
    for cell in notebook["cells"]:
        texts, previous = list[str](), None
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr", output
            data = output.get("data", {})
            plain = "".join(output.get("text", data.get("text/plain", "")))
            styled = "image/svg+xml" in data or "gt_table" in "".join(data.get("text/html", ""))
            # What a cell prints arrives in one piece or in several.
            if texts and output["output_type"] == "stream" == previous:
                texts[-1] += plain
            else:
                texts.append("picture" if styled else plain)
            previous = output["output_type"]
        cells.append(texts)
    return cells


def test_there_are_five() -> None:
    assert [path.stem[0] for path in NOTEBOOKS] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path) -> None:
    stored = json.loads(path.read_text("utf-8"))
    assert path.stat().st_size < 300_000
    shown = said(stored)
    assert any("picture" in texts for texts in shown)
    found = said(runner().run(path))
    # `make test-cluster` tests the engines; where one is missing, its cell says so.
    absent = [any("is not installed here" in text for text in texts) for texts in found]
    assert sum(absent) <= 2
    expected = [texts if not gone else new for texts, new, gone in zip(shown, found, absent, strict=True)]
    assert found == expected, "run `make notebooks` to store what they show now"
