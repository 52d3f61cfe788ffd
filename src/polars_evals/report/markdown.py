"""Results as Markdown, for a pull request or a chat message: the sentence, a table, the worst items."""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from polars_evals.report.numbers import middle_cut, score, short_names
from polars_evals.report.sentences import sentence, story, worst_items
from polars_evals.report.tables import SIGNS, Row, Table, by_importance, is_comparison, place_of, tables_of
from polars_evals.wording import counted, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift import Comparison
    from polars_evals.drift.result import Result

# Rows that stand open, rows in all, and characters of a text.
OPEN, MOST, TEXT = 12, 100, 120
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~&])")


def inert(value: str) -> str:
    """Return text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", value)


def markdown(result: Result, page: str | None = None) -> str:
    """Return Markdown in which every value is inert; `page` says where the report is."""
    lines = [f"**{inert(sentence(result))}**", ""]
    if page is not None:
        lines += [f"Charts and all items: {inert(line(page, 400))}", ""]
    if is_comparison(result):
        lines += [*_folded(result), "", *_worst(result)]
    else:
        for table in tables_of(result):
            lines += [f"### {table.title}", "", *_table(table), ""]
    lines += [f"- {inert(line(note))}" for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"


def _table(table: Table, shown: int = 50) -> list[str]:
    rule = ["---:" if head in table.numeric else "---" for head in table.columns]
    lines = [f"| {' | '.join(map(inert, table.columns))} |", f"| {' | '.join(rule)} |"]
    lines += [f"| {' | '.join(inert(line(value, 200)) for value in row)} |" for row in table.rows[:shown]]
    more = len(table.rows) - shown
    return [*lines, *(["", f"… and {more:,} more"] if more > 0 else [])]


def _folded(comparison: Comparison) -> list[str]:
    rows = by_importance(story(comparison).rows)
    lines = _rows(comparison, rows[:OPEN])
    if rest := rows[OPEN:MOST]:
        named = counted(len(rows) - OPEN, "more row")
        named += "" if len(rows) <= MOST else f", {MOST - OPEN} of them here"
        lines += ["", f"<details><summary>{named}</summary>", "", *_rows(comparison, rest), "", "</details>"]
    return lines


def _rows(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    names = short_names([comparison.spec.baseline, *comparison.spec.candidates], 40)
    several = len(comparison.spec.candidates) > 1
    sliced = any(row.slice is not None for row in rows)
    table = Table.of(
        rows,
        columns={
            "": lambda row: f"{SIGNS[row.verdict]} {row.verdict.replace('_', ' ')}",
            "version": (lambda row: names[row.candidate]) if several else None,
            "metric": lambda row: middle_cut(row.name, 40),
            "slice": (lambda row: middle_cut(place_of(row, "slice"), 40)) if sliced else None,
            "difference": lambda row: row.change(row.difference),
            "interval": lambda row: row.interval or "–",
            "before → after": attrgetter("levels"),
            "newly failing": attrgetter("newly_failing"),
            "newly passing": attrgetter("newly_passing"),
            "n": attrgetter("n"),
        },
    )
    return _table(replace(table, numeric={"newly failing", "newly passing", "n"}), len(rows))


def _worst(comparison: Comparison) -> list[str]:
    items = worst_items(comparison)
    names = short_names([comparison.spec.baseline, *comparison.spec.candidates], 40)
    lines = ["Worst items:", ""] if items else []
    for one in items:
        who = f"{names[one['candidate']]}, " if len(comparison.spec.candidates) > 1 else ""
        numbers = f"{score(one['baseline_score'])} → {score(one['candidate_score'])}"
        name = inert(f"{who}{middle_cut(one['metric'], 40)}")
        lines.append(f"- {inert(middle_cut(line(str(one['item']), 200)))} ({name} {numbers})")
        texts = (("expected", "expected"), ("before", "baseline_output"), ("after", "candidate_output"))
        lines += [
            f"  - {name}: {inert(line('–' if one[key] is None else one[key], TEXT))}"
            for name, key in texts
            if one[key] is not None or name == "after"
        ]
    return [*lines, ""] if lines else []
