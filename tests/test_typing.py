"""Type checkers know `.evals`: right uses pass, wrong ones are named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import polars_evals as pe

RIGHT = """
import polars as pl
import polars_evals as pe

door: pl.Expr = pe.col("output").evals.levenshtein(pl.col("expected"), threshold=0.7)
any_expression: pl.Expr = pe.evals(pl.col("output").str.strip_chars()).rouge("expected", variant="rougeL")
series: pl.Series = pe.evals(pl.Series(["a"])).exact_match(pl.Series(["a"]))
cleaned: pl.Expr = pe.col("output").evals.unfence()
plain: pl.Expr = pe.bleu("output", "expected")
verdict: str = pe.compare(pl.DataFrame(), version="v", baseline="a").verdict
"""
WRONG = {
    'pe.col("output").evals.levenstein("expected")': "levenstein",
    'pe.evals(pl.col("output")).levenshtein("expected", threshhold=0.7)': "threshhold",
    'pe.evals(pl.Series(["a"])).blue(pl.Series(["b"]))': "blue",
    "pe.comprae(pl.DataFrame())": "comprae",
}
# What only the plugin makes known: Polars' own classes.
RIGHT_WITH_PLUGIN = """
straight: pl.Expr = pl.col("output").evals.levenshtein(pl.col("expected"), threshold=0.7)
after: pl.Expr = pl.col("output").str.strip_chars().evals.rouge("expected")
of_series: pl.Series = pl.Series(["a"]).evals.exact_match(pl.Series(["a"]))
"""
WRONG_WITH_PLUGIN = {
    'pl.col("output").evals.levenstein("expected")': "levenstein",
    'pl.Series(["a"]).evals.exact_match(pl.Series(["a"]), threshhold=1)': "threshhold",
    'pl.col("output").nonsense': "nonsense",
}


def check(folder: Path, command: list[str], right: str, wrong: dict[str, str]) -> None:
    """Run a checker on a file whose last lines are wrong, and expect a complaint about each, and no other."""
    lines = right.splitlines()
    (folder / "uses.py").write_text("\n".join([*lines, *wrong]) + "\n")
    ended = subprocess.run([*command, "uses.py"], cwd=folder, capture_output=True, text=True, check=False)
    complaints = [line for line in ended.stdout.splitlines() if "error:" in line]
    for place, (use, word) in enumerate(wrong.items(), len(lines) + 1):
        here = [line for line in complaints if f"uses.py:{place}:" in line]
        assert any(word in line for line in here), (use, ended.stdout, ended.stderr)
    first_wrong = len(lines) + 1
    early = [line for line in complaints if int(line.split("uses.py:")[1].split(":")[0]) < first_wrong]
    assert not early, "\n".join(early)


def test_mypy_with_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\nplugins = polars_evals.mypy\n")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache")]
    check(tmp_path, command, RIGHT + RIGHT_WITH_PLUGIN, WRONG | WRONG_WITH_PLUGIN)


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_the_door_needs_no_plugin(tmp_path: Path, checker: str) -> None:
    if checker == "mypy":
        (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache")]
    else:
        command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--level", "error"]
    check(tmp_path, command, RIGHT, WRONG)


def test_completion_shows_the_api_and_no_helpers() -> None:
    names = dir(pe)
    assert {"compare", "Suite", "levenshtein", "rank", "scan_traces", "col", "evals"} <= set(names)
    assert not {"import_module", "TYPE_CHECKING", "cast", "Any", "did_you_mean"} & set(names)
    for name in names:
        assert getattr(pe, name) is not None


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(AttributeError, match='did you mean "compare"'):
        pe.comprae  # type: ignore[attr-defined]  # noqa: B018
