"""Results as a Markdown table and a chart: times of this run, and how many times longer each peer takes."""

import json
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

import polars_evals as pe
from benchmarks.harness import OURS, Row

COLOURS = ["#0072B2", "#E69F00"]


def write(rows: list[Row], folder: Path) -> None:
    """Write results.json, results.md and chart.svg. Parts that did not run keep what they had."""
    results = folder / "results.json"
    old = [Row(**row) for row in json.loads(results.read_text())] if results.exists() else []
    ran = {row.part for row in rows}
    rows = [*(row for row in old if row.part not in ran), *rows]
    results.write_text(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False))
    folder.joinpath("results.md").write_text(markdown(rows))
    chart(rows).save(folder / "chart.svg")
    print(f"wrote {folder / 'results.md'} and {folder / 'chart.svg'}")


def markdown(rows: list[Row]) -> str:
    """Make a table for each part: a line for each case and contender."""
    lines = [
        "# Benchmarks",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}, Polars {pl.__version__}, polars-evals {pe.__version__}.",
        "",
        "Each contender's best of several rounds, all of a part in one run, "
        "from a Polars frame to a Polars column. "
        "Only ratios carry over to another machine.",
        "",
    ]
    for part in dict.fromkeys(row.part for row in rows):
        lines += [
            f"## {part}",
            "",
            "| case | contender | time a row | times as long as polars-evals |",
            "|---|---|--:|--:|",
        ]
        for row in rows:
            if row.part == part:
                lines.append(f"| {row.case} | {row.contender} | {row.per_row} | {ratio(row, rows)} |")
        lines.append("")
    return "\n".join(lines)


def ratio(row: Row, rows: list[Row]) -> str:
    """How many times as long as ours a contender takes for the same case."""
    ours = next(
        (r for r in rows if (r.part, r.case) == (row.part, row.case) and r.contender.startswith(OURS)), None
    )
    if ours is None:
        return ""
    return f"{(row.seconds / row.rows) / (ours.seconds / ours.rows):,.2f}"


def chart(rows: list[Row]) -> Any:
    """Draw the times a row, on a logarithmic axis, a panel for each case."""
    frame = pl.DataFrame(
        {
            "case": [f"{row.part}: {row.case}" for row in rows],
            "contender": [row.contender for row in rows],
            "microseconds": [row.seconds / row.rows * 1e6 for row in rows],
            "whose": ["polars-evals" if row.contender.startswith(OURS) else "peer" for row in rows],
        }
    )
    base = alt.Chart(frame).mark_point(filled=True, size=90)
    return base.encode(
        x=alt.X("microseconds:Q", scale=alt.Scale(type="log"), title="microseconds a row (logarithmic)"),
        y=alt.Y("contender:N", sort="x", title=None),
        color=alt.Color(
            "whose:N", title=None, scale=alt.Scale(domain=["polars-evals", "peer"], range=COLOURS)
        ),
        shape=alt.Shape("whose:N", title=None),
        facet=alt.Facet("case:N", columns=2, title=None, sort=list(dict.fromkeys(frame["case"]))),
    ).resolve_scale(x="independent", y="independent")
