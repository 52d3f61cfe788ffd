"""Results as a Markdown table and a chart: times of this run, and how many times longer each peer takes."""

import json
import math
import os
import platform
import re
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl

import polars_evals as pe
from benchmarks.harness import OURS, Row

COLOURS = ["#0072B2", "#E69F00"]


@dataclass(frozen=True)
class Reach:
    """A ratio of `contender` to `other`, or seconds, that is to be at most `limit`, or at least."""

    part: str
    case: str  # a pattern of cases
    contender: str
    other: str | None
    limit: float | None
    at_least: bool = False


CPDIST, POLARS_DS = "RapidFuzz cpdist, all workers", "polars-ds, parallel"
PIVOT, PACKING = "pivot and scipy's ttest_rel", "all texts packed by zlib, one thread"
ANSWERS = r"language.*|.*\.parquet"
SLOWER_CALLS = "recall_at_k|precision_at_k|ndcg|reciprocal_rank|regex_match|extract_regex"
REACHES = [
    Reach("four metrics scored", "", OURS, None, None),
    Reach("compare ten models", "", OURS, None, 0.35),
    Reach("compare ten models", "", OURS, PIVOT, None),
    Reach("compare by slices", "", OURS, PIVOT, 1.5),
    Reach("page of ten models", "", OURS, PACKING, 2.5),
    Reach("command on ten models", "", f"{OURS} compare", None, 1.2),
    Reach("command on ten models", "", f"{OURS}, --html less without", PACKING, 3),
    Reach("seven word metrics", "", f"{OURS}, one suite", f"{OURS}, one by one", 0.4),
    Reach("score and label", "", f"{OURS}, separately", f"{OURS}, the struct", 1.2),
    Reach("ten rows", SLOWER_CALLS, OURS, "str.to_lowercase", 10),
    Reach("ten rows", f"(?!{SLOWER_CALLS}).*", OURS, "str.to_lowercase", 5),
    Reach("traces", ".*flat records.*", OURS, "pl.scan_ndjson", 3),
    Reach("levenshtein", ANSWERS, CPDIST, OURS, 6.5, at_least=True),
    Reach("levenshtein", "20 characters", POLARS_DS, OURS, 5.5, at_least=True),
    Reach("levenshtein, 20 characters", "", POLARS_DS, OURS, 5.5, at_least=True),
    *(
        Reach(part, case, peer, OURS, limit, at_least=True)
        for part, case in (("levenshtein", "100 characters"), ("levenshtein, 100 characters", ""))
        for peer, limit in ((CPDIST, 12), (POLARS_DS, 11))
    ),
    Reach("chunks", "", f"{OURS}, 15 chunks", f"{OURS}, one chunk", 1.3),
]


def reached(rows: list[Row]) -> list[str]:
    """Make a table of what is to be reached, one line for each case that ran."""
    found = {(row.part, row.case, row.contender): row for row in rows}
    lines = ["## Reach", "", "| work | case | processor time | clock | reach |", "|---|---|--:|--:|--:|"]
    for reach in REACHES:
        for case in dict.fromkeys(row.case for row in rows if row.part == reach.part):
            ours = found.get((reach.part, case, reach.contender))
            other = found.get((reach.part, case, reach.other or reach.contender))
            if not ours or not other or not re.fullmatch(reach.case or ".*", case):
                continue
            costs = [(row.processor or row.seconds, row.seconds) for row in (ours, other)]
            if reach.other is None:
                ratios, unit = costs[0], " s"
            else:
                scale = other.rows / ours.rows
                ratios, unit = tuple(a / b * scale for a, b in zip(*costs, strict=True)), ""
            sign = "≥" if reach.at_least else "≤"
            aim = "" if reach.limit is None else f"{sign} {reach.limit:g}{unit}"
            is_met = reach.limit is None or (ratios[0] >= reach.limit) == reach.at_least
            against = "" if reach.other is None else f" / {reach.other}"
            shown = f"{ratios[0]:.2f}{unit}{'' if is_met else ' (missed)'} | {ratios[1]:.2f}{unit}"
            lines.append(f"| {reach.part}: {reach.contender}{against} | {case} | {shown} | {aim} |")
    return [*lines, ""] if len(lines) > 4 else []


def write(rows: list[Row], folder: Path) -> None:
    """Write results.json, results.md and chart.svg. Cases that did not run keep what they had."""
    results = folder / "results.json"
    old = [Row(**row) for row in json.loads(results.read_text())] if results.exists() else []
    run = ", ".join(filter(None, (f"{datetime.now(UTC):%Y-%m-%d}", os.environ.get("EVALS_NOTE"))))
    rows = [replace(row, run=run) for row in rows]
    ran = {(row.part, row.case) for row in rows}
    rows = [*(row for row in old if (row.part, row.case) not in ran), *rows]
    results.write_text(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False))
    folder.joinpath("results.md").write_text(markdown(rows))
    folder.joinpath("chart.svg").write_text(chart(rows))
    print(*reached(rows), sep="\n")
    print(f"wrote {folder / 'results.md'} and {folder / 'chart.svg'}")


def markdown(rows: list[Row]) -> str:
    """Make a table for each part: a line for each case and contender."""
    lines = [
        "# Benchmarks",
        "",
        f"{os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}, Polars {pl.__version__}, polars-evals {pe.__version__}.",
        "",
        "Each contender's best of several rounds, all of a part in one run, "
        "from a Polars frame to a Polars column. "
        "Only ratios carry over to another machine. Processor time is that of all threads: "
        "where others use the machine too, it is what counts.",
        "",
    ]
    lines += reached(rows)
    for part in dict.fromkeys(row.part for row in rows):
        lines += [
            f"## {part}",
            "",
            "| case | contender | time a row | times as long as ours | times its processor time | run |",
            "|---|---|--:|--:|--:|---|",
        ]
        for row in rows:
            if row.part == part:
                ratios = f"{ratio(row, rows, 'seconds')} | {ratio(row, rows, 'processor')}"
                lines.append(f"| {row.case} | {row.contender} | {row.per_row} | {ratios} | {row.run} |")
        lines.append("")
    return "\n".join(lines)


def ratio(row: Row, rows: list[Row], measure: str) -> str:
    """How many times what ours takes a contender takes for the same case."""
    found = (r for r in rows if (r.part, r.case) == (row.part, row.case) and r.contender.startswith(OURS))
    ours = next(found, None)
    if ours is None or not getattr(row, measure) or not getattr(ours, measure):
        return ""
    return f"{(getattr(row, measure) / row.rows) / (getattr(ours, measure) / ours.rows):,.2f}"


def chart(rows: list[Row]) -> str:
    """Draw the times a row as a small SVG: a panel for each case, a point for each contender, logarithmic."""
    line, indent, width = 16, 300, 420
    parts: list[str] = []
    y = 30
    for part, case in dict.fromkeys((row.part, row.case) for row in rows):
        found = sorted(
            (r for r in rows if (r.part, r.case) == (part, case)), key=lambda r: r.seconds / r.rows
        )
        times = [math.log10(row.seconds / row.rows) for row in found]
        low, high = times[0], max(times[-1], times[0] + 0.5)
        parts.append(f'<text x="8" y="{y}" class="c">{escape(f"{part}: {case}")}</text>')
        for row, time in zip(found, times, strict=True):
            y += line
            x = indent + 10 + round((time - low) / (high - low) * (width - 110))
            kind = "o" if row.contender.startswith(OURS) else "p"
            parts.append(
                f'<text x="{indent}" y="{y}" class="n">{escape(row.contender)}</text>'
                f'<circle cx="{x}" cy="{y - 4}" r="4" class="{kind}"/>'
                f'<text x="{x + 8}" y="{y}">{row.per_row}</text>'
            )
        y += 2 * line
    style = (
        "text{font:11px sans-serif;fill:#333}.c{font-weight:bold}.n{text-anchor:end}"
        f".o{{fill:{COLOURS[0]}}}.p{{fill:{COLOURS[1]}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {indent + width} {y}">'
        f"<style>{style}</style>"
        '<text x="8" y="12">time a row, logarithmic within each panel; blue is polars-evals</text>'
        f"{''.join(parts)}</svg>\n"
    )
