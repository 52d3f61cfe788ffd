"""Results as text for a terminal: the sentence, a table that fits, the worst items; colours where wanted."""

from __future__ import annotations

import os
import re
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO
from unicodedata import combining, east_asian_width

from polars_evals.drift import Comparison
from polars_evals.report.numbers import middle_cut, score, short_names
from polars_evals.report.sentences import sentence, story, worst_items
from polars_evals.report.tables import Row, Table, by_importance, compared, tables_of
from polars_evals.wording import apart, cell, counted, line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.result import Result

# Columns where the terminal is unknown, and the most that a result takes of a wider one.
WIDTH, WIDEST = 100, 120
# Lines of `str` and of `repr`.
LINES, FEW_LINES = 25, 12
NARROWEST = 12
# Characters of a text that still say something.
SHORTEST = 16
GAP = "  "
# What is left out where there is no room, first to last.
SPARED = ("items", "rows", "before → after", "before → now", "q", "best")

_COLOURS = {
    "regressed": "38;5;166;1", "FAILED": "38;5;166;1", "improved": "38;5;32;1", "passed": "38;5;32;1",
    "inconclusive": "2", "no change": "2",
}  # fmt: skip
_WORDS = re.compile(rf"\b({'|'.join(map(re.escape, _COLOURS))})\b")


def width_of(stream: TextIO | None = None) -> int:
    """Return how many columns a text may take."""
    known = get_terminal_size((WIDTH, 24)).columns
    return max(40, min(known, WIDEST if stream is not None and stream.isatty() else WIDTH))


def wants_colour(stream: TextIO) -> bool:
    """Say whether to write colours: on a terminal, unless `NO_COLOR` is set; always with `FORCE_COLOR`."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Colour the words that judge, and the first line."""
    first, newline, rest = text.partition("\n")
    painted = _WORDS.sub(lambda found: f"\x1b[{_COLOURS[found[0]]}m{found[0]}\x1b[0m", rest)
    return f"\x1b[1m{first}\x1b[0m{newline}{painted}"


def text(
    result: Result,
    *,
    width: int | None = None,
    more: str = ".explain()",
    everything: bool = False,
    lines: int = LINES,
    paths: Mapping[str, Any] | None = None,
) -> str:
    """
    Return a result in at most 25 lines, or everything.

    Parameters
    ----------
    result
        The result.
    width
        Columns; None for those of the terminal.
    more
        What shows the rows that are left out.
    everything
        Show all rows.
    lines
        The most lines, where not everything is shown.
    paths
        Files that were written, to name last.
    """
    width = width or width_of()
    last = [f"{kind}: {path}" for kind, path in (paths or {}).items()]
    head = _paragraph(sentence(result), width)
    if isinstance(result, Comparison):
        if not everything:
            head = head if len(head) <= 6 else [*head[:5], f"{head[5][: width - 1]}…"]
        body = _comparison(result, width, more, everything, lines - len(head) - len(last))
    else:
        body = _tables(tables_of(result), width, more, None if everything else lines - len(head) - len(last))
        body += _notes(result, width, everything, lines - len(head) - len(body) - len(last))
    return "\n".join([*head, *body, *last])


def short(result: Result) -> str:
    """Return a result in at most 12 lines."""
    width = width_of()
    head = _paragraph(sentence(result), width)[:5]
    room = FEW_LINES - len(head) - 1
    if isinstance(result, Comparison):
        rows = by_importance(story(result).rows)
        moved = [row for row in rows if row.moved] or rows
        shown = _versions(result, rows) if len(result.spec.candidates) > 1 else compared(moved)
    else:
        shown = next(iter(tables_of(result)), Table("", (), [], ()))
    return "\n".join([*head, *_fitted(shown, width, room, "print(…), .explain()")])


def explain(result: Result) -> str:
    """Return every row of a result with its reason, and every note."""
    lines = [sentence(result), ""]
    if isinstance(result, Comparison):
        several = len(result.spec.candidates) > 1
        for row in by_importance(story(result).rows):
            who = f"{_whole(row.candidate)}, " if several else ""
            where = "" if row.slice is None else f" [{_whole(row.slice)}]"
            lines += [
                f"{who}{_whole(row.name)}{where}: {row.verdict.replace('_', ' ')}  "
                f"{row.change(row.difference)}  {row.change(row.low)}  {row.change(row.high)}  "
                f"({row.levels}, n = {row.n:,})",
                f"    {_whole(row.reason)}",
            ]
    else:
        for table in tables_of(result):
            lines += [table.title, *_aligned(table, [10_000] * len(table.heads)), ""]
        for name, frame in result.frames().items():
            if "reason" in frame.columns:
                keys = [key for key in ("metric", "version", "slice") if key in frame.columns]
                lines += [f"reasons of {name}"]
                lines += [
                    f"  {', '.join(_whole(str(row[key])) for key in keys if row[key] is not None)}: "
                    f"{_whole(row['reason'])}"
                    for row in frame.iter_rows(named=True)
                    if row["reason"]
                ]
    if result.notes:
        lines += ["", "notes", *(f"  {_whole(note)}" for note in result.notes)]
    return "\n".join(lines)


def _whole(value: str) -> str:
    return line(value, 10_000)


def _comparison(result: Comparison, width: int, more: str, everything: bool, room: int) -> list[str]:
    found = story(result)
    several = len(result.spec.candidates) > 1
    rows = by_importance(found.rows)
    moved = [row for row in rows if row.moved]
    whole = [row for row in rows if row.slice is None]
    worst = _worst(result, width) if room > 10 else []
    left = room - len(worst) - min(len(result.notes), 2) - 2
    if everything:
        return [
            "", *_fitted(compared(rows, versions=several), width, None, more), *worst,
            *_notes(result, width, everything, 0),
        ]  # fmt: skip
    if several:
        lines = _fitted(_versions(result, rows), width, left, more)
    else:
        shown = moved or whole
        lines = _fitted(compared(shown), width, left - 1, more)
        unclear = sum(row.verdict == "inconclusive" for row in rows if row not in shown)
        same = sum(row.verdict == "no_change" for row in rows if row not in shown)
        told = [f"{n:,} {word}" for n, word in ((unclear, "unclear"), (same, "unchanged")) if n]
        lines += [f"{', '.join(told)}: {more}"] if told else []
    lines = ["", *lines, *worst]
    return lines + _notes(result, width, everything, room - len(lines))


def _versions(result: Comparison, rows: Sequence[Row]) -> Table:
    """Return a row for each version: its verdict, and the change that says most about it."""
    table = []
    short = short_names([result.spec.baseline, *result.spec.candidates], 32)
    for name, verdict in result.verdicts.items():
        mine = [row for row in rows if row.candidate == name]
        whole = [row for row in mine if row.slice is None]
        said = [row for row in mine if row.verdict == verdict] or mine
        over_all = [row for row in said if row.slice is None]
        lead = max(over_all or said, key=lambda row: (row.is_score, row.weight))
        table.append(
            {
                "version": short[name],
                "verdict": verdict.replace("_", " "),
                "difference": lead.change(lead.difference),
                "low": lead.change(lead.low),
                "high": lead.change(lead.high),
                "of": lead.name if lead.slice is None else f"{lead.name} [{lead.slice}]",
                "worse on": f"{sum(row.verdict == 'regressed' for row in whole)} of {len(whole)}",
                "better on": f"{sum(row.verdict == 'improved' for row in whole)} of {len(whole)}",
            }
        )
    return Table.of("", table)


def _tables(tables: Sequence[Table], width: int, more: str, room: int | None) -> list[str]:
    lines: list[str] = []
    for table in tables:
        left = None if room is None else room - len(lines) - 1
        if left is not None and left < 4:
            break
        title = [table.title] if len(tables) > 1 else []
        lines += ["", *title, *_fitted(table, width, None if left is None else left - len(title), more)]
    return lines


def _fitted(table: Table, width: int, room: int | None, more: str) -> list[str]:
    """Return a table in so many lines and columns; what is left out is said."""
    if not table.rows:
        return []
    rows, left = table.rows, table.left_out
    if room is not None and len(rows) + 1 > room:
        keep = max(1, room - 2)
        rows, left = rows[:keep], left + len(rows) - keep
    kept = list(range(len(table.heads)))
    spared = [at for name in SPARED for at, head in enumerate(table.heads) if head == name]
    while True:
        shown = Table(
            table.title,
            tuple(table.heads[at] for at in kept),
            [tuple(row[at] for at in kept) for row in rows],
            tuple(table.numeric[at] for at in kept),
        )
        widths = _widths(shown, width)
        if sum(widths) + len(GAP) * len(widths) <= width or not spared:
            break
        kept.remove(spared.pop(0))
    lines = _aligned(shown, widths)
    return [*lines, *([f"{counted(left, 'more row')}: {more}"] if left else [])]


def _widths(table: Table, width: int) -> list[int]:
    """Return the columns' widths: numbers keep theirs, the widest texts are cut until all fit."""
    widths = [max(map(_columns, one)) for one in zip(table.heads, *map(_clean, table.rows), strict=True)]
    texts = [at for at, numeric in enumerate(table.numeric) if not numeric and table.heads[at] != "verdict"]
    while texts and sum(widths) + len(GAP) * len(widths) > width:
        widest = max(texts, key=lambda at: widths[at])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _clean(row: Sequence[str]) -> list[str]:
    return [line(value, 10_000) for value in row]


def _aligned(table: Table, widths: Sequence[int]) -> list[str]:
    rows = [list(table.heads), *map(_clean, table.rows)]
    shown = [
        [
            middle_cut(value, width) if _columns(value) > width else value
            for value, width in zip(row, widths, strict=True)
        ]
        for row in rows
    ]
    fit = [max(map(_columns, one)) for one in zip(*shown, strict=True)]
    return [
        GAP
        + GAP.join(
            " " * (size - _columns(value)) + value if numeric else value + " " * (size - _columns(value))
            for value, size, numeric in zip(row, fit, table.numeric, strict=True)
        ).rstrip()
        for row in shown
    ]


def _columns(value: str) -> int:
    """Return how many columns a text takes: Chinese takes two a character, accents none."""
    if value.isascii():
        return len(value)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in value)


def _worst(result: Comparison, width: int) -> list[str]:
    """Return the three items that lost most, a line each."""
    lines = []
    several = len(result.spec.candidates) > 1
    names = short_names([result.spec.baseline, *result.spec.candidates], 24)
    for one in worst_items(result):
        who = f" ({names[one['candidate']]})" if several else ""
        numbers = f"{score(one['baseline_score'])} → {score(one['candidate_score'])}"
        name = f"{middle_cut(cell(one['item'], 200), 30)}{who} {middle_cut(one['metric'], 24)} {numbers}"
        texts = [("expected", one.get("expected")), ("before", one.get("baseline_output"))]
        known = next(((word, value) for word, value in texts if value is not None), ("before", None))
        pair = apart({"a": known[1], "b": one.get("candidate_output")}, "a", "b")
        room = max(8, (width - _columns(name) - 24) // 2)
        texts = [(known[0], pair["a"]), ("got", pair["b"])]
        if room < SHORTEST:
            texts, room = texts[1:], 2 * room
        said = [f'{word} "{line(str(value), room)}"' for word, value in texts if value is not None]
        lines.append(_cut(f"{GAP}{name}{': ' if said else ''}{', '.join(said)}", width))
    return ["worst items", *lines] if lines else []


def _cut(value: str, width: int) -> str:
    while _columns(value) > width:
        value = f"{value[: -max(2, (_columns(value) - width) // 2 + 1)]}…"
    return value


def _notes(result: Result, width: int, everything: bool, room: int) -> list[str]:
    notes = [line(note, 2_000) for note in result.notes]
    if everything:
        return [one for note in notes for one in _paragraph(f"note: {note}", width)]
    kept = notes if len(notes) <= room else notes[: max(0, room - 1)]
    more = len(notes) - len(kept)
    said = [_cut(f"note: {note}", width) for note in kept]
    return [*said, f"{counted(more, 'more note')}: .notes"][: max(0, room)] if more else said


def _paragraph(said: str, width: int) -> list[str]:
    return wrap(said, width, break_on_hyphens=False) or [""]


def score_lines(result: dict[str, Any], *, width: int | None = None) -> str:
    """Show what `score` did: each metric, then where the scores are."""
    told = [
        {"metric": name, "mean score": about["mean"], "pass rate": f"{about['pass_rate']:.1%}"}
        if about["mean"] is not None
        else {"metric": name, "mean score": None, "pass rate": "–"}
        for name, about in result["metrics"].items()
    ]
    rows, files = counted(result["rows"], "row"), counted(result["files"], "file")
    said = f"Scored {rows} from {files} with {counted(len(told), 'metric')}."
    lines = [said, *_fitted(Table.of("", told), width or width_of(), None, "")]
    left_out = [f"left out {file}: {why}" for file, why in result.get("left_out", {}).items()]
    return "\n".join([*lines, *left_out, f"scores: {result['output']}"])


__all__ = ["coloured", "explain", "score_lines", "short", "text", "wants_colour", "width_of"]
