"""Numbers for people: signs, digits, units and dates, and names that fit."""

from __future__ import annotations

from datetime import date, datetime
from math import isfinite
from typing import TYPE_CHECKING

from polars_evals.wording import line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_evals.suite.measure import Measure

MINUS = "−"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Characters of a name, before its middle is cut.
NAME = 60


def signed(value: float | None, digits: int = 3) -> str:
    """Write a change with its sign.

    Examples
    --------
    >>> signed(-0.5, 2), signed(0.012), signed(0.0, 2), signed(None)
    ('−0.50', '+0.012', '0.00', '–')
    """
    if value is None or not isfinite(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else f"{MINUS if value < 0 else '+'}{text}"


def digits_for(low: float | None, high: float | None) -> int:
    """Return how many digits an interval deserves: its half-width shows two that count."""
    if low is None or high is None:
        return 3
    half = abs(high - low) / 2
    return 2 if half >= 0.02 or half == 0 else 3 if half >= 0.002 else 4


def score(value: float | None) -> str:
    """Write a score."""
    return "–" if value is None else f"{value:.3f}".replace("-", MINUS)


def number_of(value: float | None) -> str:
    """Write a score in the width of a cell."""
    if value is None:
        return "–"
    return (f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}").replace("-", MINUS)


def percent(value: float | None, digits: int = 0) -> str:
    """Write a share, with a digit more where it would read as 0% or 100% and is not.

    Examples
    --------
    >>> percent(0.45), percent(0.996), percent(0.004), percent(1.0)
    ('45%', '99.6%', '0.4%', '100%')
    >>> percent(0.0001), percent(0.9999, 1)
    ('<0.1%', '>99.9%')
    """
    if value is None:
        return "–"
    text = f"{value:.{digits}%}"
    if 0 < value < 1 and float(text[:-1]) in (0, 100):
        digits = max(digits, 1)
        least = 10.0**-digits
        text = f"<{least:.{digits}f}%" if value < least / 200 else f"{value:.{digits}%}"
        text = f">{100 - least:.{digits}f}%" if value > 1 - least / 200 else text
    return text.replace("-", MINUS)


def amount(measure: Measure, value: float, *, sign: bool = False) -> str:
    """Write a number of a measure with its unit."""
    return measure.amount(value, signed=sign).replace("-", MINUS, 1)


def day(moment: date) -> str:
    """Write a date, with its time where it has one; `strftime` has no day without a zero on Windows.

    Examples
    --------
    >>> day(date(2026, 3, 2)), day(datetime(2026, 3, 2, 6, 30)), day(datetime(2026, 3, 2))
    ('2 Mar 2026', '2 Mar 2026, 06:30', '2 Mar 2026')
    """
    text = f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"
    if isinstance(moment, datetime) and (moment.hour or moment.minute or moment.second):
        text += f", {moment:%H:%M}"
    return text


def middle_cut(text: str, limit: int = NAME) -> str:
    """Cut the middle of a name that is too long: names of versions often differ at their ends.

    Examples
    --------
    >>> middle_cut("mistral-7b-instruct-v0.2", 15)
    'mistral…ct-v0.2'
    """
    short = line(text, 10_000)
    if len(short) <= limit:
        return short
    head = limit // 2
    return f"{short[:head]}…{short[len(short) - (limit - head - 1) :]}"


def short_names(names: Sequence[str], limit: int = NAME) -> dict[str, str]:
    """Return names that differ in little room: long ones without what all begin with.

    Examples
    --------
    >>> short_names(["org/model-a", "org/model-b"])
    {'org/model-a': 'org/model-a', 'org/model-b': 'org/model-b'}
    >>> short_names(["org/model-a", "org/model-b"], limit=8)
    {'org/model-a': 'a', 'org/model-b': 'b'}
    """
    prefix = common_prefix(names) if max(map(len, names), default=0) > limit else ""
    return dict(zip(names, distinct([name.removeprefix(prefix) for name in names], limit), strict=True))


def distinct(labels: Iterable[str], limit: int = NAME) -> list[str]:
    """Return labels that fit and differ: of those that are alike, later ones get a number.

    Examples
    --------
    >>> distinct(["mistral-a", "mistral-a", "b"], 7)
    ['mis…l-a', 'mis…l-a (2)', 'b']
    """
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        short = middle_cut(label, limit)
        seen[short] = seen.get(short, 0) + 1
        names.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return names


def common_prefix(names: Sequence[str]) -> str:
    """Return what all names begin with, up to a separator; nothing where that leaves little of a name.

    Examples
    --------
    >>> common_prefix(["org/model-a", "org/model-b"])
    'org/model-'
    """
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    # A point stands inside numbers such as v0.2.
    cut = max(first.rfind(mark, 0, same) + 1 for mark in "/-_: ")
    return first[:cut] if cut >= 4 and all(len(name) > cut for name in names) else ""
