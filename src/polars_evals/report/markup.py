"""Build HTML and SVG in which every text is escaped, because nothing else can be built."""

from __future__ import annotations

from datetime import date, datetime
from html import escape
from math import floor, log10
from typing import TYPE_CHECKING, Any, TypeAlias

from polars_evals.report.numbers import MONTHS, day, score, signed
from polars_evals.wording import clean, line, reveal

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from polars_evals.report.tables import Row

    Child: TypeAlias = "str | int | float | Html | Iterable[Child] | None"
    Point: TypeAlias = tuple[float, float]

_VOID = frozenset({"br", "hr", "input", "link", "meta"})
# Pixels of a drawn interval.
WIDTH, HEIGHT = 220, 20
# Where a style sheet is taken away, as GitHub does, pictures have the colour of the text.
INK, PALE = "currentColor", "#88888855"
_POINTS = {
    "regressed": "M{x},{b} l-5,-8 h10 z",
    "improved": "M{x},{t} l-5,8 h10 z",
    "inconclusive": "M{x},{t} l5,5 l-5,5 l-5,-5 z",
    "no_change": "M{x},{m} m-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0",
}


class Html(str):
    """Markup that `tag` made, and that goes into a page as it is."""

    __slots__ = ()


def join(*children: Child) -> Html:
    """Return the children one after the other, texts escaped."""
    return Html("".join(map(_html, children)))


def tag(element: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """Return an element: `class_` loses the underscore at the end, others become hyphens, as in `aria_label`.

    True gives an attribute without a value; None and False leave it out.
    """
    kept = {key.removesuffix("_").replace("_", "-"): value for key, value in attributes.items()}
    given = "".join(
        f" {key}" if value is True else f' {key}="{_escape(str(value))}"'
        for key, value in kept.items()
        if value is not None and value is not False
    )
    if element in _VOID:
        return Html(f"<{element}{given}>")
    return Html(f"<{element}{given}>{join(*children)}</{element}>")


def _escape(text: str) -> str:
    # A bare carriage return would be read back as a line feed.
    return escape(clean(text)).replace("\r", "&#13;")


def _html(child: Child) -> str:
    if child is None or isinstance(child, Html):
        return child or ""
    if isinstance(child, str | int | float):
        return _escape(str(child))
    return "".join(map(_html, child))


def table(
    caption: Child,
    heads: Iterable[str],
    rows: Iterable[Child],
    *,
    numeric: Container[str] = (),
    foot: Child = None,
    class_: str | None = None,
    after: Child = None,
) -> Html:
    """Return a table that scrolls where it is too wide; heads are texts or cells, rows are made."""
    cells = (
        one
        if isinstance(one, Html)
        else tag("th", reveal(one), scope="col", class_="number" if one in numeric else None)
        for one in heads
    )
    parts = [tag("caption", caption), tag("thead", tag("tr", cells)), tag("tbody", rows)]
    drawn = tag("table", parts, None if foot is None else tag("tfoot", foot), class_=class_)
    return tag("div", drawn, after, class_="scroll")


class Axis:
    """A zoomed axis from one pixel to another, which several intervals may share."""

    def __init__(
        self,
        values: Iterable[float | None],
        start: float = 0,
        end: float = WIDTH,
        *,
        zero: bool = True,
        room: float = 0.06,
    ) -> None:
        known = [one for one in values if one is not None and abs(one) < float("inf")]
        low, high = min(known, default=0.0), max(known, default=1.0)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        more = (high - low or 0.1) * room
        self.low, self.high, self.start, self.end = low - more, high + more, start, end

    def x(self, value: float) -> float:
        """Return the place of a value, within the picture."""
        part = (value - self.low) / (self.high - self.low or 1)
        return round(self.start + min(1.0, max(0.0, part)) * (self.end - self.start), 1)

    def ticks(self, most: int = 5) -> list[float]:
        """Return at most so many round numbers on the axis.

        Examples
        --------
        >>> Axis([-0.37, 0.42], room=0).ticks(4)
        [-0.2, 0.0, 0.2, 0.4]
        """
        rough = (self.high - self.low) / most
        unit = 10 ** floor(log10(rough))
        step = next(unit * one for one in (1, 2, 5, 10) if unit * one >= rough)
        first = floor(self.low / step) + 1
        return [round(step * at, 12) for at in range(first, floor(self.high / step) + 1)]


def _picture(*content: Child, width: float, height: int, label: str, class_: str = "chart") -> Html:
    """Return an SVG with a name for those who cannot see it."""
    # Where pictures are taken away their texts stay, and must stay apart.
    spaced = [one for part in content for one in (part, "\n")]
    return tag(
        "svg", spaced, viewBox=f"0 0 {width} {height}", width=width, height=height, role="img",
        aria_label=line(label[:2_000], 300), fill=INK, font_size=11, class_=class_,
    )  # fmt: skip


def _rule(x1: float, x2: float, y1: float, y2: float, class_: str) -> Html:
    return tag("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=INK, class_=class_)


def _box(x: float, y: float, width: float, height: float, class_: str) -> Html:
    return tag("rect", x=x, y=y, width=width, height=height, fill=PALE, class_=class_)


def _text(said: str, x: float, y: float, anchor: str | None = None, class_: str | None = None) -> Html:
    return tag("text", said, x=x, y=y, text_anchor=anchor, class_=class_)


def _path(points: Iterable[Point], class_: str) -> Html | None:
    """Return a line through points."""
    places = [f"{x},{y}" for x, y in points]
    if len(places) < 2:
        return None
    dashes = "4 3" if class_ == "level" else None
    ink = PALE if class_ == "grid" else INK
    return tag(
        "polyline", points=" ".join(places), fill="none", stroke=ink, stroke_dasharray=dashes, class_=class_
    )


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
    drawn: list[Html] = []
    if zero is not None:
        left, at = axis.x(-band), axis.x(zero)
        drawn += [_box(left, 0, round(axis.x(band) - left, 1), HEIGHT, "band")] if band else []
        drawn.append(_rule(at, at, 0, HEIGHT, "zero"))
    ends = [axis.x(value if one is None else one) for one in (low, high)]
    drawn.append(_rule(ends[0], ends[1], middle, middle, "reach"))
    if shrunk is not None:
        drawn.append(_rule(axis.x(shrunk), axis.x(shrunk), 3, HEIGHT - 3, "shrunk"))
    shape = _POINTS.get(verdict, _POINTS["no_change"])
    drawn.append(tag("path", d=shape.format(x=x, t=middle - 5, b=middle + 5, m=middle), class_="point"))
    return _picture(*drawn, width=axis.end, height=HEIGHT, label=label, class_=f"bar {verdict}")


def scale(axis: Axis, *, form: Any = signed) -> Html:
    """Return the numbers under intervals, and which way is better."""
    marks = [
        _text("0" if value == 0 else form(value), axis.x(value), 11, "middle")
        for value in (axis.ticks() if len(axis.ticks()) > 3 else axis.ticks(9))
        if value == 0 or 20 < axis.x(value) < axis.end - 20
    ]
    return _picture(*marks, width=axis.end, height=14, label="scale of the intervals", class_="bar scale")


def _grid(up: Axis, left: float, right: float, most: int, unit: str = "") -> list[Html | None]:
    """Return lines at round numbers, which stand left of them."""
    return [
        drawn
        for one in up.ticks(most)
        for drawn in (
            _path([(left, up.x(one)), (right, up.x(one))], "grid"),
            _text(f"{one:,.4g} {unit}".strip().replace("-", "−"), left - 6, up.x(one) + 4, "end"),
        )
    ]


def series(windows: Sequence[dict[str, Any]], row: Row, *, label: str) -> Html:
    """Return a series over time: windows with intervals, the reference level, and where a change began."""
    width, height, left, right, floor_ = 640, 160, 52, 628, 140
    value = row.part.replace(" ", "_")
    known = [one for one in windows if one.get(value) is not None]
    # Intervals of single windows are wide: they are cut at the edge of what the means need.
    up = Axis([*(one[value] for one in known), row.before, row.after], floor_, 14, zero=False)
    across = Axis([_stamp(one["window"]) for one in windows], left, right, zero=False, room=0)

    def x(moment: Any) -> float:
        return across.x(_stamp(moment))

    points = [(x(one["window"]), up.x(one[value])) for one in known]
    drawn = _grid(up, left, right, 3, "" if row.measure is None else row.measure.unit or "")
    few = len(known) <= 120
    if few and value == "mean":
        drawn += [
            _rule(x(one["window"]), x(one["window"]), up.x(one["ci_low"]), up.x(one["ci_high"]), "error")
            for one in known
            if one.get("ci_low") is not None
        ]
    if row.before is not None:
        drawn.append(_path([(left, up.x(row.before)), (right, up.x(row.before))], "level"))
    drawn.append(_path(points, "line"))
    drawn += [tag("circle", cx=a, cy=b, r=2.5, class_="dot") for a, b in points] if few else []
    if row.began is not None and windows:
        at, class_ = x(row.began), f"mark {row.verdict}"
        side, away = ("end", -5) if at > width / 2 else ("start", 5)
        said = f"{row.change(row.difference, 2)} since {day(row.began)}"
        drawn += [_rule(at, at, 10, floor_, class_), _text(said, at + away, 10, side, class_)]
    ends = [one["window"] for one in windows[:: max(1, len(windows) // 6)]]
    drawn += [
        _text(_short_day(one, ends), x(one), height - 5, "middle")
        for one in ends
        if left - 1 <= x(one) <= width - 24
    ]
    return _picture(*drawn, width=width, height=height, label=label)


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


def curves(
    lines: Mapping[str, Sequence[Point]],
    *,
    label: str,
    mark: float | None = None,
    span: Point | None = None,
    name: str = "",
    width: int = 520,
    height: int = 200,
) -> Html:
    """Return lines over one axis, each with its name: a calibration's curve, passes by the number of runs."""
    left, right, floor_ = 44, width - 90, height - 32
    points = [point for line in lines.values() for point in line]
    across = Axis((x for x, _ in points), left, right, zero=False)
    shares = [1.0] if max((y for _, y in points), default=1.0) <= 1 else []
    up = Axis([*(y for _, y in points), *shares], floor_, 10)
    drawn: list[Html | None] = []
    if span is not None:
        a, b = map(across.x, span)
        drawn.append(_box(a, 4, max(1, round(b - a, 1)), floor_ - 4, "band"))
    drawn += _grid(up, left, right, 4)
    drawn += [_text(f"{one:g}", across.x(one), floor_ + 14, "middle") for one in across.ticks(5)]
    drawn.append(_text(name, left, height - 3))
    if mark is not None:
        drawn.append(_rule(across.x(mark), across.x(mark), 4, floor_, "mark regressed"))
    ends: list[float] = []
    for order, (said, line_) in enumerate(lines.items()):
        placed = [(across.x(x), up.x(y)) for x, y in line_]
        drawn.append(_path(placed, f"line line{order}"))
        if placed:
            # Names of lines that end together stand below each other.
            place = placed[-1][1] + 4
            while any(abs(place - other) < 13 for other in ends):
                place += 13
            ends.append(place)
            drawn.append(_text(said, placed[-1][0] + 6, round(place, 1), class_=f"name line{order}"))
    return _picture(*drawn, width=width, height=height, label=label)


def histogram(
    bins: Sequence[tuple[float, float, float, float]], names: tuple[str, str], *, label: str
) -> Html:
    """Return how two versions' scores are spread: `(low, high, share before, share after)` of each bin."""
    width, height, floor_ = 300, 110, 94
    low, high = bins[0][0], bins[-1][1]
    across = Axis((low, high), 10, width - 10, zero=False, room=0)
    up = Axis((share for one in bins for share in one[2:]), floor_, 2, room=0)
    drawn: list[Html | None] = [
        _box(across.x(a), up.x(share), round(across.x(b) - across.x(a), 1), round(floor_ - up.x(share), 1),
             "before")
        for a, b, share, _ in bins
        if share
    ]  # fmt: skip
    drawn.append(_path([(across.x(edge), up.x(one[3])) for one in bins for edge in one[:2]], "after"))
    drawn += [
        _text(score(value) if high <= 1 else f"{value:,.3g}", across.x(value), height - 3, side)
        for value, side in ((low, "start"), (high, "end"))
    ]
    said = f"{label}: {names[0]} as bars, {names[1]} as a line"
    return _picture(*drawn, width=width, height=height, label=said)
