"""Pictures of a page, as plain SVG whose colours come from the style sheet: intervals, series, curves."""

from __future__ import annotations

from datetime import date, datetime
from math import floor, log10
from typing import TYPE_CHECKING, Any

from polars_evals.report.markup import Html, tag
from polars_evals.report.numbers import MONTHS, day, score, signed
from polars_evals.wording import line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 220, 20
# Where a style sheet is taken away, as GitHub does, pictures have the colour of the text.
INK, PALE = "currentColor", "#88888855"
_POINTS = {
    "regressed": "M{x},{b} l-5,-8 h10 z",
    "improved": "M{x},{t} l-5,8 h10 z",
    "inconclusive": "M{x},{t} l5,5 l-5,5 l-5,-5 z",
    "no_change": "M{x},{m} m-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0",
}


class Axis:
    """A zoomed axis that several intervals share."""

    def __init__(self, values: Sequence[float | None], *, zero: bool = True, width: int = WIDTH) -> None:
        known = [one for one in values if one is not None and abs(one) < float("inf")]
        low, high = min(known, default=0.0), max(known, default=1.0)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        room = (high - low or 0.1) * 0.06
        self.low, self.high, self.width = low - room, high + room, width

    def x(self, value: float) -> float:
        """Return the place of a value, within the picture."""
        part = (value - self.low) / (self.high - self.low)
        return round(min(1.0, max(0.0, part)) * self.width, 1)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round numbers on the axis."""
        return _ticks(self.low, self.high, most)


def _ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return at most so many round numbers between two.

    Examples
    --------
    >>> ticks(-0.37, 0.42)
    [-0.2, 0.0, 0.2, 0.4]
    """
    span = high - low
    if not span > 0:
        return [low]
    rough = span / most
    unit = 10 ** floor(log10(rough))
    step = next(unit * one for one in (1, 2, 5, 10) if unit * one >= rough)
    first = floor(low / step) + 1
    return [round(step * at, 12) for at in range(first, floor(high / step) + 1)]


def _picture(*content: Html | None, width: int, height: int, label: str, class_: str = "bar") -> Html:
    """Return an SVG with a name for those who cannot see it."""
    return tag(
        "svg", content, viewBox=f"0 0 {width} {height}", width=width, height=height, role="img",
        aria_label=line(label[:2_000], 300), fill=INK, font_size=11, class_=class_,
    )  # fmt: skip


def interval(
    axis: Axis,
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    verdict: str,
    band: float = 0.0,
    label: str,
    zero: float | None = 0.0,
    shrunk: float | None = None,
) -> Html | None:
    """Return a value with its interval; the grey band holds the changes that do not matter."""
    if value is None:
        return None
    middle, x = HEIGHT / 2, axis.x(value)
    ends = (value if low is None else low, value if high is None else high)
    drawn = [
        tag(
            "rect",
            x=axis.x(-band),
            y=0,
            width=round(axis.x(band) - axis.x(-band), 1),
            height=HEIGHT,
            fill=PALE,
            class_="band",
        )
        if band and zero is not None
        else None,
        None
        if zero is None
        else tag("line", x1=axis.x(zero), x2=axis.x(zero), y1=0, y2=HEIGHT, stroke=INK, class_="zero"),
        tag("line", x1=axis.x(ends[0]), x2=axis.x(ends[1]), y1=middle, y2=middle, stroke=INK, class_="reach"),
        None
        if shrunk is None
        else tag(
            "line", x1=axis.x(shrunk), x2=axis.x(shrunk), y1=3, y2=HEIGHT - 3, stroke=INK, class_="shrunk"
        ),
        tag(
            "path",
            d=_POINTS.get(verdict, _POINTS["no_change"]).format(x=x, t=middle - 5, b=middle + 5, m=middle),
            class_="point",
        ),
    ]
    return _picture(*drawn, width=axis.width, height=HEIGHT, label=label, class_=f"bar {verdict}")


def scale(axis: Axis, *, form: Any = signed) -> Html:
    """Return the numbers under intervals, and which way is better."""
    marks = [
        tag("text", "0" if value == 0 else form(value), x=axis.x(value), y=11, text_anchor="middle")
        for value in axis.ticks()
        if 20 < axis.x(value) < axis.width - 20
    ]
    return _picture(*marks, width=axis.width, height=14, label="scale of the intervals", class_="bar scale")


def series(
    windows: Sequence[dict[str, Any]],
    change: dict[str, Any],
    *,
    value: str = "mean",
    unit: str = "",
    label: str,
    width: int = 640,
    height: int = 160,
) -> Html:
    """Return a series over time: windows with intervals, the reference level, and where a change began."""
    known = [one for one in windows if one.get(value) is not None]
    left, bottom = 52, 20
    levels = [change.get("reference_mean"), change.get("current_mean")]
    # Intervals of single windows are wide: they are cut at the edge of what the means need.
    up = Axis([*(one[value] for one in known), *levels], zero=False, width=height - bottom - 14)
    times = [_stamp(one["window"]) for one in windows]
    first, last = min(times, default=0.0), max(times, default=1.0)
    inner = width - left - 12

    def x(moment: Any) -> float:
        return round(left + (_stamp(moment) - first) / (last - first or 1) * inner, 1)

    def y(number: float) -> float:
        return round(height - bottom - up.x(number), 1)

    verdict = change["verdict"]
    drawn: list[Html | None] = [
        _join_line([(left, y(one)), (width - 12, y(one))], "grid") for one in up.ticks(3)
    ]
    drawn += [
        tag("text", _level(one, unit), x=left - 6, y=y(one) + 4, text_anchor="end") for one in up.ticks(3)
    ]
    drawn += [
        tag(
            "line",
            x1=x(one["window"]),
            x2=x(one["window"]),
            y1=y(one["ci_low"]),
            y2=y(one["ci_high"]),
            stroke=INK,
            class_="error",
        )
        for one in known
        if value == "mean" and one.get("ci_low") is not None and len(known) <= 120
    ]
    if levels[0] is not None:
        drawn.append(_join_line([(left, y(levels[0])), (width - 12, y(levels[0]))], "level"))
    drawn.append(_join_line([(x(one["window"]), y(one[value])) for one in known], "line"))
    if len(known) <= 120:
        drawn += [tag("circle", cx=x(one["window"]), cy=y(one[value]), r=2.5, class_="dot") for one in known]
    if change.get("began") is not None and times:
        at = x(change["began"])
        side = "end" if at > width / 2 else "start"
        moved = signed(change["difference"], 2) if not unit else ""
        drawn += [
            tag("line", x1=at, x2=at, y1=10, y2=height - bottom, stroke=INK, class_=f"mark {verdict}"),
            tag(
                "text", f"{moved} since {day(change['began'])}".strip(), x=at + (-5 if side == "end" else 5),
                y=10, text_anchor=side, class_=f"mark {verdict}",
            ),
        ]  # fmt: skip
    every = max(1, len(windows) // 6)
    ends = [one["window"] for one in windows[::every]]
    drawn += [
        tag("text", _short_day(one, ends), x=x(one), y=height - 5, text_anchor="middle")
        for one in ends
        if left - 1 <= x(one) <= width - 24
    ]
    return _picture(*drawn, width=width, height=height, label=label, class_="chart")


def _stamp(moment: Any) -> float:
    if isinstance(moment, datetime):
        return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
    return float((moment - date(1970, 1, 1)).days * 86_400)


def _short_day(moment: Any, others: Sequence[Any]) -> str:
    if isinstance(moment, datetime) and len({(one.year, one.month, one.day) for one in others}) == 1:
        return f"{moment:%H:%M}"
    if len({one.year for one in others}) > 1 and len(others) > 2 and moment.day == 1:
        return f"{MONTHS[moment.month - 1]} {moment.year}"
    return f"{moment.day} {MONTHS[moment.month - 1]}"


def _level(value: float, unit: str) -> str:
    return f"{value:,.4g}{f' {unit}' if unit else ''}".replace("-", "−")


def _join_line(points: Sequence[tuple[float, float]], class_: str) -> Html | None:
    """Return a line through points."""
    if len(points) < 2:
        return None
    return tag(
        "polyline", points=" ".join(f"{x},{y}" for x, y in points), fill="none",
        stroke=PALE if class_ == "grid" else INK, stroke_dasharray="4 3" if class_ == "level" else None,
        class_=class_,
    )  # fmt: skip


def curves(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    *,
    label: str,
    mark: float | None = None,
    span: tuple[float, float] | None = None,
    name: str = "",
    width: int = 520,
    height: int = 200,
) -> Html:
    """Return lines over one axis, each with its name: a calibration's curve, passes by the number of runs."""
    left, bottom = 44, 32
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    across = Axis(xs, zero=False, width=width - left - 90)
    up = Axis([*ys, 1.0 if max(ys, default=1.0) <= 1 else None], width=height - bottom - 10)

    def at(x: float, y: float) -> tuple[float, float]:
        return round(left + across.x(x), 1), round(height - bottom - up.x(y), 1)

    drawn: list[Html | None] = []
    if span is not None:
        a, b = left + across.x(span[0]), left + across.x(span[1])
        drawn.append(
            tag(
                "rect",
                x=a,
                y=4,
                width=max(1, round(b - a, 1)),
                height=height - bottom - 4,
                fill=PALE,
                class_="band",
            )
        )
    for one in up.ticks(4):
        drawn.append(_join_line([(left, at(0, one)[1]), (width - 90, at(0, one)[1])], "grid"))
        drawn.append(
            tag("text", f"{one:g}".replace("-", "−"), x=left - 6, y=at(0, one)[1] + 4, text_anchor="end")
        )
    drawn += [
        tag("text", f"{one:g}", x=left + across.x(one), y=height - bottom + 14, text_anchor="middle")
        for one in across.ticks(5)
    ]
    drawn.append(tag("text", name, x=left, y=height - 3))
    if mark is not None:
        drawn.append(
            tag(
                "line",
                x1=left + across.x(mark),
                x2=left + across.x(mark),
                y1=4,
                y2=height - bottom,
                stroke=INK,
                class_="mark regressed",
            )
        )
    ends: list[float] = []
    for order, (own, points) in enumerate(lines.items()):
        placed = [at(x, y) for x, y in points]
        drawn.append(_join_line(placed, f"line line{order}"))
        if placed:
            # Names of lines that end together stand below each other.
            place = placed[-1][1] + 4
            while any(abs(place - other) < 13 for other in ends):
                place += 13
            ends.append(place)
            drawn.append(tag("text", own, x=placed[-1][0] + 6, y=round(place, 1), class_=f"name line{order}"))
    return _picture(*drawn, width=width, height=height, label=label, class_="chart")


def histogram(
    bins: Sequence[tuple[float, float, float, float]], names: tuple[str, str], *, label: str
) -> Html:
    """Return how two versions' scores are spread: `(low, high, share before, share after)` of each bin."""
    width, height, bottom = 300, 110, 18
    most = max((share for one in bins for share in one[2:]), default=1.0) or 1.0
    low, high = bins[0][0], bins[-1][1]

    def x(value: float) -> float:
        return round((value - low) / (high - low or 1) * (width - 20) + 10, 1)

    def y(share: float) -> float:
        return round((height - bottom) * (1 - share / most) + 2, 1)

    steps = [(x(edge), y(one[3])) for one in bins for edge in one[:2]]
    drawn: list[Html | None] = [
        tag(
            "rect",
            x=x(one[0]),
            y=y(one[2]),
            width=round(x(one[1]) - x(one[0]), 1),
            height=round(height - bottom + 2 - y(one[2]), 1),
            fill=PALE,
            class_="before",
        )
        for one in bins
        if one[2]
    ]
    drawn.append(_join_line(steps, "after"))
    drawn += [
        tag(
            "text", score(value) if high <= 1 else f"{value:,.3g}", x=x(value), y=height - 3, text_anchor=side
        )
        for value, side in ((low, "start"), (high, "end"))
    ]
    return _picture(
        *drawn,
        width=width,
        height=height,
        label=f"{label}: {names[0]} as bars, {names[1]} as a line",
        class_="chart",
    )
