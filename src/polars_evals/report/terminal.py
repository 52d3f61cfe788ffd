"""Results as text for a terminal: the sentence, a table that fits, the worst items; colours where wanted."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from math import inf
from shutil import get_terminal_size
from textwrap import TextWrapper, wrap
from typing import TYPE_CHECKING, Any, TextIO
from unicodedata import combining, east_asian_width

from polars_evals.report.numbers import middle_cut, number_of, short_names
from polars_evals.report.sentences import sentence, story, worst_items
from polars_evals.report.tables import (
    ORDER,
    Row,
    Table,
    by_importance,
    compared,
    count_verdicts,
    digits_of,
    is_comparison,
    tables_of,
)
from polars_evals.wording import LEAD, apart, counted, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from polars_evals.drift import Comparison
    from polars_evals.drift.result import Result

# Columns where the terminal is unknown, and the most that a result takes of a wider one.
WIDTH, WIDEST, UNFOLDED = 100, 120, 10_000
# Lines of `str` and of `repr`.
LINES, FEW_LINES = 25, 12
# Columns of a text: where other columns can go, and where none is left to go.
NAMES, NARROWEST = 24, 12
# Characters of a text that still say something.
SHORTEST = 16
GAP = "  "
# What is left out where there is no room, first to last.
SPARED = (
    "items", "rows", "before → after", "before → now", "q", "best", "better on", "worse on", "part",
    "interval ", "files", "updated",
)  # fmt: skip

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
    """Return a result in so many lines, or everything; `more` says what shows the rows that are left out.

    Files that were written are named last.
    """
    width = width or width_of()
    last = [f"{kind}: {path}" for kind, path in (paths or {}).items()]
    head = _paragraph(sentence(result), width)
    if is_comparison(result):
        if not everything:
            head = [*head[:5], f"{head[5][: width - 1]}…"] if len(head) > 6 else head
        body = _comparison(result, width, more, everything, lines - len(head) - len(last))
    else:
        room = inf if everything else lines - len(head) - len(last)
        body = _tables(tables_of(result), width, more, room)
        body += _notes(result, width, everything, lines - len(head) - len(body) - len(last))
    return "\n".join([*head, *body, *last])


def short(result: Result) -> str:
    """Return a result in at most 12 lines."""
    width = width_of()
    head = _paragraph(sentence(result), width)[:5]
    room = FEW_LINES - len(head) - 1
    if is_comparison(result):
        rows = by_importance(story(result).rows)
        moved = [row for row in rows if row.moved] or rows
        shown = _versions(result, rows) if len(result.spec.candidates) > 1 else compared(moved)
    else:
        shown = next(iter(tables_of(result)), Table.of([]))
    return "\n".join([*head, *_fitted(shown, width, room, "print(…), .explain()")])


def explain(result: Result) -> str:
    """Return every row of a result with its reason, and every note."""
    lines = [sentence(result), ""]
    if is_comparison(result):
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
            lines += [table.title, *_aligned(table, dict.fromkeys(table.columns, 10_000)), ""]
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
            "", *_fitted(compared(rows, versions=several), width), *worst,
            *_notes(result, width, everything, 0),
        ]  # fmt: skip
    if several:
        lines = _fitted(_versions(result, rows), width, left, more)
    else:
        shown = moved or whole
        others = count_verdicts(row for row in rows if row not in shown)
        lines = _fitted(compared(shown), width, left - 1, more, others)
    lines = ["", *lines, *worst]
    return lines + _notes(result, width, everything, room - len(lines))


def _versions(result: Comparison, rows: Sequence[Row]) -> Table:
    """Return a row for each version: its verdict, and the change that says most about it."""
    short = short_names([result.spec.baseline, *result.spec.candidates], 32)
    found: dict[str, tuple[Row, list[Row]]] = {}
    for name, verdict in result.verdicts.items():
        mine = [row for row in rows if row.candidate == name]
        said = [row for row in mine if row.verdict == verdict] or mine
        over_all = [row for row in said if row.slice is None]
        lead = max(over_all or said, key=lambda row: (row.is_score, row.weight))
        found[name] = lead, [row for row in mine if row.slice is None]
    digits = digits_of(lead for lead, _ in found.values())
    versions = [
        {
            "version": short[name],
            "verdict": result.verdicts[name].replace("_", " "),
            "difference": lead.change(lead.difference, digits),
            "low": lead.change(lead.low, digits),
            "high": lead.change(lead.high, digits),
            "of": lead.name if lead.slice is None else f"{lead.name} [{lead.slice}]",
            "worse on": f"{sum(row.verdict == 'regressed' for row in whole)} of {len(whole)}",
            "better on": f"{sum(row.verdict == 'improved' for row in whole)} of {len(whole)}",
        }
        for name, (lead, whole) in found.items()
    ]
    return Table.of(versions)


def _tables(tables: Sequence[Table], width: int, more: str, room: float) -> list[str]:
    lines: list[str] = []
    for table in tables:
        if room - len(lines) < 5:
            break
        lines += ["", table.title] if len(tables) > 1 else [""]
        lines += _fitted(table, width, room - len(lines), more)
    return lines


def _fitted(
    table: Table, width: int, room: float = inf, more: str = "", others: Sequence[str] = ()
) -> list[str]:
    """Return a table in so many lines and columns; what is left out is said, with other things."""
    height = len(table.rows)
    if not height:
        return []
    shown = height if height + 1 <= room else max(1, int(room) - 2)
    columns = {head: texts[:shown] for head, texts in table.columns.items()}
    spared = [head for head in SPARED if head in columns]
    while True:
        fitted = replace(table, columns=columns)
        # A column goes before names are cut to what says little.
        widths = _widths(fitted, width, NAMES if spared else NARROWEST)
        if _sum(widths) <= width or not spared:
            break
        del columns[spared.pop(0)]
    left_out = [*([counted(height - shown, "more row")] if shown < height else []), *others]
    return [*_aligned(fitted, widths), *([f"{', '.join(left_out)}: {more}"] if left_out else [])]


def _widths(table: Table, width: int, least: int) -> dict[str, int]:
    """Return the columns' widths: numbers keep theirs, the widest texts are cut until all fit."""
    widths = {head: max(map(_columns, [head, *map(_whole, texts)])) for head, texts in table.columns.items()}
    cut = [head for head in widths if head not in table.numeric and head != "verdict"]
    while cut and _sum(widths) > width:
        widest = max(cut, key=lambda head: widths[head])
        if widths[widest] <= least:
            break
        widths[widest] -= 1
    return widths


def _sum(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + len(GAP) * len(widths)


def _aligned(table: Table, widths: Mapping[str, int]) -> list[str]:
    columns = []
    for head, texts in table.columns.items():
        cut = [
            middle_cut(value, widths[head]) if _columns(value) > widths[head] else value
            for value in (head, *map(_whole, texts))
        ]
        widest = max(map(_columns, cut))
        pads = [" " * (widest - _columns(value)) for value in cut]
        pairs = zip(*((pads, cut) if head in table.numeric else (cut, pads)), strict=True)
        columns.append([first + last for first, last in pairs])
    return [GAP + GAP.join(row).rstrip() for row in zip(*columns, strict=True)]


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
    items = worst_items(result)
    shared = {one["metric"] for one in items}
    for one in items:
        who = f" ({names[one['candidate']]})" if several else ""
        numbers = f"{number_of(one['baseline_score'])} → {number_of(one['candidate_score'])}"
        metric = "" if len(shared) == 1 else f" {middle_cut(one['metric'], 24)}"
        name = f"{middle_cut(line(str(one['item']), 200), 30)}{who}{metric} {numbers}"
        word = "before" if one["expected"] is None else "expected"
        known = one["baseline_output"] if one["expected"] is None else one["expected"]
        room = max(8, (width - _columns(name) - 28) // 2)
        texts = apart({word: known, "got": one["candidate_output"]}, word, "got", min(LEAD, room // 2))
        if room < SHORTEST:
            texts, room = {"got": texts["got"]}, 2 * room
        said = [f'{word} "{line(value, room)}"' for word, value in texts.items() if value is not None]
        lines.append(_cut(f"{GAP}{name}{': ' if said else ''}{', '.join(said)}", width))
    by = f" by {middle_cut(shared.pop(), 40)}" if len(shared) == 1 else ""
    return [f"worst items{by}", *lines] if lines else []


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
    metrics = [
        {
            "metric": name,
            "mean score": about["mean"],
            "pass rate": "–" if about["mean"] is None else f"{about['pass_rate']:.1%}",
        }
        for name, about in result["metrics"].items()
    ]
    rows, files = counted(result["rows"], "row"), counted(result["files"], "file")
    summary = f"Scored {rows} from {files} with {counted(len(metrics), 'metric')}."
    lines = [summary, *_fitted(Table.of(metrics), width or width_of())]
    left_out = [f"left out {file}: {why}" for file, why in result.get("left_out", {}).items()]
    return "\n".join([*lines, *left_out, f"scores: {result['output']}"])


def fold_of(stream: TextIO) -> int:
    """Return where long lines are folded: on a terminal; elsewhere a line is a line, for `grep`."""
    return width_of(stream) if stream.isatty() else UNFOLDED


def run_lines(outcome: Any, width: int = WIDTH, fold: int = UNFOLDED) -> list[str]:
    """Show what a run of a job found: gates and verdict in a sentence, what moved, and the files last."""
    lines = [*_paragraph(_state(outcome), width), *_details(outcome, fold)]
    if outcome.comparison is not None:
        lines += _comparison(outcome.comparison, width, "the page", everything=False, room=10)
    paths = {"report" if kind == "html" else kind: path for kind, path in outcome.reports.items()}
    last = sorted(paths.items(), key=lambda one: one[0] == "report")
    return [*lines, *_hanging([outcome.headline], fold), *(f"{kind}: {path}" for kind, path in last)]


def status_lines(status: Any, width: int = WIDTH, fold: int = UNFOLDED) -> list[str]:
    """Show how a job stands: what its gates say now, its last runs, and the store last."""
    runs = [
        {
            "run": _minute(run.time),
            "result": f"{run.status} ({run.exit_code})",
            "added": run.added,
            "updated": run.updated,
            "files": run.files,
            **({"not read": len(run.failures)} if any(one.failures for one in status.runs) else {}),
            "verdicts": _verdicts(run.verdicts),
        }
        for run in status.runs
    ]
    lines = [*_paragraph(_state(status.now), width), *_details(status.now, fold), ""]
    lines += _fitted(Table.of(runs), width) or ["no run is on record"]
    said = [
        f"{run.status} ({run.exit_code}): {'; '.join(run.notes)}"
        for run in status.runs
        if run.notes and not run.verdicts and not run.failures and run.exit_code > 1
    ]
    last = status.runs[-1].failures if status.runs else {}
    said += [f"not read: {name}: {reason}" for name, reason in last.items()]
    size = f"{counted(status.now.rows, 'row')} of {counted(status.inputs, 'input')}"
    return [*lines, *_hanging(said, fold), f"store: {status.store} ({size})"]


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _verdicts(found: Mapping[str, str]) -> str:
    """Name the verdict of one version, and count those of several."""
    if len(found) < 2:
        return "".join(f"{name} {verdict}" for name, verdict in found.items()) or "–"
    kinds = Counter(found.values())
    return ", ".join(f"{kinds[kind]:,} {kind}" for kind in ORDER if kind in kinds)


def _state(outcome: Any) -> str:
    """Say how a job stands: its gates, its inputs, and what the comparison found."""
    states = Counter(one.status for one in outcome.gates)
    failed, total = states["failed"], states.total()
    sentences = [f"Nothing new since {_minute(outcome.same_as)}."] if outcome.same_as else []
    if failed:
        sentences.append("The gate failed." if total == 1 else f"{failed:,} of {total:,} gates failed.")
    elif states:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in states.items())
        sentences.append("All gates passed." if set(states) == {"passed"} else f"Gates: {counts}.")
    if outcome.failures:
        sentences.append(f"{counted(len(outcome.failures), 'input')} not taken.")
    if outcome.comparison is not None:
        sentences.append(sentence(outcome.comparison))
    return " ".join(sentences) or f"{outcome.status.capitalize()}: no gates, and nothing is compared."


def _details(outcome: Any, fold: int) -> list[str]:
    """Return what the gates say, what was not taken or written, and notes, each with its lines indented."""
    said = {outcome.headline, "" if outcome.comparison is None else outcome.comparison.headline}
    lines = [one for one in outcome.lines() if one not in said]
    if outcome.same_as:
        del lines[0]
    return _hanging(lines, fold)


def traces_text(check: Any, words: Callable[[str], str], width: int, fold: int) -> str:
    """Show what files of traces hold: rows in a sentence, a line for each file, and what needs care."""
    read = [one for one in check.files.to_dicts() if one["format"] is not None and one["records"] is not None]
    rows, outputs = (sum(one[name] for one in read) for name in ("rows", "outputs"))
    unread = check.files.height - len(read)
    having = "all with an output" if rows == outputs else f"{outputs:,} with an output"
    counts = [f"{counted(rows, 'row')} from {counted(len(read), 'file')}, {having}."] if read else []
    counts += [f"{counted(unread, 'file')} cannot be read."] if unread else []
    said = " ".join(counts)
    spans = ["spans"] if any(one["spans"] != one["records"] for one in read) else []
    shown = ("file", "format", "records", *spans, "rows", "outputs")
    table = Table.of(read, columns={name: name for name in shown})
    several = check.files.height > 1
    problems = [
        f"{f'{file}: ' if several else ''}{count:,} {reason}"
        for file, reason, count in check.reasons.iter_rows()
    ]
    errors = check.files.select("file", "error").drop_nulls("error")
    problems += [f"{file}: {error}" for file, error in errors.iter_rows()]
    problems += [f"{file}: left out, {reason}" for file, reason in check.left_out.items()]
    if check.pairing is not None and check.versions is not None:
        column, names = check.versions
        who = f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}"
        problems.append(f"{check.pairing:.0%} of the items are answered by more than one {column} ({who})")
    problems += [f"warning: {warning}" for warning in check.warnings]
    lines = [*_paragraph(said, width), *_fitted(table, width)]
    return "\n".join([*lines, *_hanging((words(line(text, 2_000)) for text in problems), fold)])


def _hanging(said: Iterable[str], fold: int) -> list[str]:
    """Return lines as paragraphs whose other lines are indented; paths are never broken."""
    wrapper = TextWrapper(fold, subsequent_indent=GAP, break_on_hyphens=False, break_long_words=False)
    return [folded for one in said for folded in wrapper.wrap(line(one, 2_000)) or [""]]
