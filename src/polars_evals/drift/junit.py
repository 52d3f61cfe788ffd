"""A comparison as a JUnit report, for continuous integration."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import polars as pl

from polars_evals.drift.text import clean

if TYPE_CHECKING:
    from polars_evals.drift.comparison import Comparison

NAME = 200
_OUTCOME = {"regressed": "failure", "inconclusive": "skipped"}


def junit(comparison: Comparison) -> str:
    """Return a suite for each candidate and a case for each metric and slice."""
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal")
    root = ET.Element("testsuites", {"name": "polars-evals", **_counts(rows)})
    for candidate in comparison.settings["candidates"]:
        own = rows.filter(pl.col("candidate") == candidate)
        title = f"{candidate} against {comparison.settings['baseline']}"
        suite = ET.SubElement(root, "testsuite", {"name": clean(title, NAME), **_counts(own)})
        for row in own.iter_rows(named=True):
            name = row["metric"] if row["slice"] is None else f"{row['metric']} [{row['slice']}]"
            case = ET.SubElement(
                suite, "testcase", classname=clean(candidate, NAME), name=clean(name, NAME), time="0"
            )
            if outcome := _OUTCOME.get(row["verdict"]):
                problem = ET.SubElement(case, outcome, message=clean(row["reason"]))
                if outcome == "failure":
                    problem.set("type", "regressed")
            ET.SubElement(case, "system-out").text = clean(f"{row['verdict']}: {row['reason']}")
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _counts(rows: pl.DataFrame) -> dict[str, str]:
    found = {outcome: str((rows["verdict"] == verdict).sum()) for verdict, outcome in _OUTCOME.items()}
    return {
        "tests": str(rows.height),
        "failures": found["failure"],
        "errors": "0",
        "skipped": found["skipped"],
    }
