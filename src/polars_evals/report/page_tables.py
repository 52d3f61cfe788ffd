"""Tables that can be read aloud, sorted and printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polars_evals.report.markup import Html, join, tag
from polars_evals.wording import cell, line, verb

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SIGNS = {"regressed": "▼", "inconclusive": "◇", "improved": "▲", "no_change": "●", "calibrated": "✓"}
LIMIT = 80


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and the number it is sorted by."""

    shown: str | Html
    value: float | None = None
    wide: bool = False


def verdict(name: str) -> Html:
    """Return a verdict as a sign and a word, so that no one needs the colour."""
    sign = tag("span", SIGNS.get(name, ""), aria_hidden="true")
    return tag(
        "span", sign, " ", name.replace("_", " "), class_=f"verdict {name if name in SIGNS else ''}".strip()
    )


def number(value: float | None, form: str) -> Cell:
    """Return a number, or a dash where there is none."""
    return Cell("–" if value is None else format(value, form), value)


def as_cell(value: Any, limit: int = LIMIT) -> Cell:
    """Return any value as a short cell."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, Html):
        return Cell(value)
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(cell(value, limit), value if numeric else None)


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    total: int | None = None,
    limit: int = LIMIT,
    class_: str | None = None,
) -> Html:
    """
    Return a table whose first column names its rows.

    Parameters
    ----------
    caption
        What the table holds.
    columns
        Heads of the columns.
    rows
        Values; `Cell` where they are sorted by a number.
    total
        How many rows there are, where not all are shown.
    limit
        Characters after which a text is cut.
    class_
        What the style sheet knows the table by.
    """
    cells = [[as_cell(value, limit) for value in row] for row in rows]
    right = [
        any(row[at].value is not None for row in cells) and not any(row[at].wide for row in cells)
        for at in range(len(columns))
    ]
    head = tag(
        "tr",
        (
            tag("th", name, scope="col", class_="number" if right[at] else None)
            for at, name in enumerate(columns)
        ),
    )
    body = (tag("tr", (_cell(one, at, right[at]) for at, one in enumerate(row))) for row in cells)
    content = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", body),
        data_sortable=len(cells) > 1,
        class_=class_,
    )
    return join(
        tag("div", content, class_="scroll", role="region", aria_label=caption, tabindex=0),
        left_out(len(cells), len(cells) if total is None else total),
    )


def left_out(shown: int, total: int) -> Html:
    """Say how many rows are not in the page."""
    if shown >= total:
        return Html("")
    return tag(
        "p",
        f"{total - shown:,} of {total:,} rows {verb(total - shown, 'is', 'are')} left out here.",
        class_="left-out",
    )


def _tells(shown: str) -> bool:
    """Tell whether a text is the number that it is sorted by."""
    try:
        float(shown.replace(",", ""))
    except ValueError:
        return False
    return True


def _cell(one: Cell, at: int, right: bool) -> Html:
    classes = " ".join(name for name, wanted in (("number", right), ("wide", one.wide)) if wanted) or None
    shown = one.shown if isinstance(one.shown, Html) else line(one.shown)
    value = "" if right else None
    if one.value is not None:
        value = None if _tells(shown) else f"{one.value:.6g}"
    if at == 0:
        return tag("th", shown, scope="row", class_=classes, data_value=value)
    return tag("td", shown, class_=classes, data_value=value)


@dataclass(frozen=True)
class OldTable:
    """A table as the page takes it."""

    title: str
    rows: list[dict[str, Any]]
    total: int


def old_tables(result: Any) -> list[OldTable]:
    """Return the tables of a result."""
    from polars_evals.report.tables import tables_of

    return [
        OldTable(one.title, [dict(zip(one.heads, row, strict=True)) for row in one.rows[:50]], len(one.rows))
        for one in tables_of(result)
    ]
