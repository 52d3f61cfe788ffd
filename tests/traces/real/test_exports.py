"""Every real export is there, is small, and has a truth of the common shape."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.traces.real import make
from tests.traces.real.scenario import QUESTIONS, held, pass_rates

HERE = Path(__file__).parent
TRUTHS = sorted(HERE.glob("*/*/truth.json"))
COLUMNS = {
    *("model", "version", "input", "output", "expected", "error", "finish_reason", "latency_ms"),
    *("input_tokens", "output_tokens", "cost", "tool_calls", "contexts", "scores", "session_id"),
}


def read(path: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return truth


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: f"{path.parts[-3]}-{path.parts[-2]}")
def test_a_truth_describes_its_files(path: Path) -> None:
    truth = read(path)
    assert (truth["tool"], truth["version"]) == path.parts[-3:-1]
    assert truth["made_by"]
    assert truth["exports"]
    for answer in truth["answers"]:
        assert answer["question"] in QUESTIONS
        assert answer["input"] == QUESTIONS[answer["question"]].text
        assert (answer["error"] is None) or (answer["output"] is None)
    listed = set()
    for export in truth["exports"]:
        rows = held(export, truth["answers"])
        assert export["rows"] == len(rows) > 0
        assert export["pass_rates"] == pass_rates(rows)
        assert export["item"] in ("id", "question")
        assert set(export["fields"]) <= COLUMNS
        assert "output" in export["fields"]
        for name in export["files"]:
            found = path.parent / name
            inside = [found] if found.is_file() else [file for file in found.rglob("*") if file.is_file()]
            assert inside, name
            listed |= set(inside)
    there = {file for file in path.parent.rglob("*") if file.is_file()} - {path}
    assert there == listed
    for file in there:
        assert 0 < file.stat().st_size < 150_000, file


def test_the_exports_are_those_that_are_made() -> None:
    made = {(tool, version) for tool, versions in make.tools().items() for version in versions}
    assert {path.parts[-3:-1] for path in TRUTHS} == made


def test_the_exports_are_small() -> None:
    assert (
        sum(file.stat().st_size for path in TRUTHS for file in path.parent.rglob("*.*") if file.is_file())
        < 3_500_000
    )
