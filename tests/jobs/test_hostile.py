"""Text that tries to break what shows it: in cells, in names of files, versions, items and slices."""

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from tests.jobs.support import command, make_job

HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07\x1b[31mred",
    "nul\x00bell\x07back\x08",
    '=HYPERLINK("http://evil","click")',
    "| a | b |\n|---|---|\n`code` <script>alert(1)</script>",
    "]]></failure><injected/>",
    "\u202egnp.exe\u2066\u061c",
    "x" * 2_000_000,
    "${{ secrets.TOKEN }} ::error::boom",
    "\r\n::set-output name=a::b",
]
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile_job(tmp_path: Path) -> Path:
    job = make_job(
        tmp_path,
        more="""
[compare]
version = "model"
baseline = "v1"
item = "item_id"
by = ["topic"]
[[gate]]
by = "topic"
min_pass_rate = 0.99
[[gate]]
fail_on = ["regressed", "inconclusive"]
[report]
html = "report.html"
junit = "report.xml"
summary = "summary.json"
markdown = "report.md"
""",
    )
    rows = [
        {
            "trace_id": f"{model}{n}{text[:50]}",
            "item_id": f"{n}{text}",
            "model": model if model == "v1" else f"v2{HOSTILE[0]}{HOSTILE[3]}",
            "topic": text[:500],
            "output": text if model == "v1" else "changed",
            "expected": text,
        }
        for model in ("v1", "v2")
        for n, text in enumerate(HOSTILE)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "traces/\x1b[31m<b>|evil|.parquet")
    (tmp_path / "traces/bad\x1b[2J\n|.parquet").write_bytes(b"nothing")
    # Lone surrogates, as JSON can write them and no text can hold them.
    (tmp_path / "traces/surrogates.jsonl").write_text(
        "\n".join(
            json.dumps(
                {
                    "trace_id": f"s{n}",
                    "item_id": f"s{n}",
                    "model": "v1",
                    "topic": "s",
                    "output": "\ud800",
                    "expected": "a",
                }
            )
            for n in range(2)
        )
    )
    return job


def test_nothing_breaks_what_shows_it(hostile_job: Path) -> None:
    folder = hostile_job.parent
    ended = command("run", hostile_job)
    assert ended.returncode == 1, ended.stderr
    for told in (ended.stdout, ended.stderr):
        assert not CONTROL.search(told)
        assert len(told) < 100_000
    assert "Traceback" not in ended.stderr
    assert "not read: traces/bad" in ended.stdout

    root = ET.parse(folder / "report.xml").getroot()
    assert not list(root.iter("injected"))
    assert root.get("failures") == "2"

    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["rows"] >= 2 * len(HOSTILE)
    assert (folder / "summary.json").stat().st_size < 3_000_000

    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert not CONTROL.search(markdown)
    assert "<script>" not in markdown
    widths = [re.sub(r"\\\|", "", row).count("|") for row in markdown.splitlines() if row.startswith("|")]
    assert widths
    assert all(not row.startswith("::") for row in markdown.splitlines())
    assert len(markdown) < 200_000

    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert len(page) < 5_000_000


def test_machine_output_is_one_document(hostile_job: Path) -> None:
    ended = command("run", hostile_job, "--json")
    assert json.loads(ended.stdout)["verdict"] in ("regressed", "inconclusive")
    ended = command(
        "compare", hostile_job.parent / "scores", "--version", "model", "--baseline", "v1",
        "--item", "item_id", "--by", "topic",
    )  # fmt: skip
    assert not CONTROL.search(ended.stdout)
    assert "Traceback" not in ended.stderr


def test_a_terminal_of_another_encoding(hostile_job: Path) -> None:
    ended = command("run", hostile_job, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
