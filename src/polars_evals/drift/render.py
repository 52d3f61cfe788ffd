"""Draw a result as plain text, as Markdown, and as a small HTML fragment."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from polars_evals.palette import INK, VERDICT_COLOURS
from polars_evals.wording import cell, line

if TYPE_CHECKING:
    from polars_evals.drift.result import Result, Table

_CAPTION = "font-weight:600;padding-top:0.75em;text-align:left"
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~&])")


def _numeric(table: Table) -> list[bool]:
    return [
        all(row[name] is None or type(row[name]) in (int, float) for row in table.rows)
        for name in table.rows[0]
    ]


def _cells(table: Table) -> list[list[str]]:
    return [[cell(value, table.limit) for value in row.values()] for row in table.rows]


def _more(table: Table) -> str | None:
    hidden = table.total - len(table.rows)
    return f"… and {hidden:,} more" if hidden else None


def text(result: Result) -> str:
    """Return aligned columns, numbers to the right."""
    lines = [line(result.headline)]
    for table in filter(lambda table: table.rows, result.tables()):
        rows, right = _cells(table), _numeric(table)
        names = list(table.rows[0])
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        lines += ["", table.title]
        for row in (names, *rows):
            padded = (
                value.rjust(width) if to_right else value.ljust(width)
                for value, width, to_right in zip(row, widths, right, strict=True)
            )
            lines.append("  " + "  ".join(padded).rstrip())
        if more := _more(table):
            lines.append(f"  {more}")
    if result.notes:
        lines += ["", "notes", *(f"  {line(note)}" for note in result.notes)]
    return "\n".join(lines)


def inert(value: str) -> str:
    """Return text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", value)


def markdown(result: Result) -> str:
    """Return Markdown in which every value is inert."""
    lines = [f"**{inert(line(result.headline))}**", ""]
    for table in filter(lambda table: table.rows, result.tables()):
        rule = ["---:" if right else "---" for right in _numeric(table)]
        lines += [
            f"### {table.title}",
            "",
            f"| {' | '.join(map(inert, table.rows[0]))} |",
            f"| {' | '.join(rule)} |",
        ]
        lines += [f"| {' | '.join(map(inert, row))} |" for row in _cells(table)]
        if more := _more(table):
            lines += ["", more]
        lines.append("")
    lines += [f"- {inert(line(note))}" for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"


def html(result: Result) -> str:
    """Return an HTML fragment without scripts or outside references, every value escaped."""
    colour = VERDICT_COLOURS.get(result.badge or "", INK)
    parts = [f'<div><p style="font-weight:600;color:{colour}">{escape(line(result.headline))}</p>']
    for table in filter(lambda table: table.rows, result.tables()):
        align = ["right" if right else "left" for right in _numeric(table)]
        caption = f'<caption style="{_CAPTION}">{table.title}</caption>'
        parts.append(f"<table>{caption}<thead><tr>")
        parts += [f'<th scope="col">{escape(name)}</th>' for name in table.rows[0]]
        parts.append("</tr></thead><tbody>")
        for row in _cells(table):
            values = (
                f'<td style="text-align:{side}">{escape(value)}</td>'
                for value, side in zip(row, align, strict=True)
            )
            parts.append(f"<tr>{''.join(values)}</tr>")
        parts.append("</tbody></table>")
        if more := _more(table):
            parts.append(f"<p>{more}</p>")
    if result.notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(line(note))}</li>' for note in result.notes)}</ul>")
    return "".join([*parts, "</div>"])
