"""The figures of a page and of a notebook cell: tables whose intervals are drawn, series, curves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift import Agreement, Calibration, Comparison, Ranking, Runs, SamplePlan, Timeline
from polars_evals.report.markup import (
    Axis,
    Html,
    curves,
    histogram,
    interval,
    join,
    scale,
    series,
    table,
    tag,
)
from polars_evals.report.numbers import middle_cut, score, short_names, signed
from polars_evals.report.pack import ranked
from polars_evals.report.sentences import identical
from polars_evals.report.tables import (
    SIGNS,
    Row,
    Table,
    bins_of,
    by_importance,
    compared,
    count_verdicts,
    digits_of,
    is_series,
    outcome_name,
    place_of,
    places_of,
    series_of,
    tables_of,
)
from polars_evals.wording import counted, line, reveal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.result import Result
    from polars_evals.report.markup import Child
    from polars_evals.report.sentences import Story

# Rows that are open, rows that are folded, series, histograms, classes of a confusion matrix.
MOST_MOVED, MOST_FOLDED, MOST_SERIES, MOST_SPREADS, MOST_CLASSES = 24, 24, 8, 4, 12
METHODS: dict[type[Any], str] = {
    Comparison: "A row is worse or better if its interval excludes 0, the change may be as large as the "
    "smallest change that matters (the grey band), and the result survives the correction for all tests. "
    "It is unchanged if the interval lies within the band. Otherwise it is unclear. Intervals are those of "
    "one row each.",
    Timeline: "Each series is compared with its level in the reference period by tests that stay valid "
    "however often they are repeated.",
    Calibration: "Every score that occurs is tried as a threshold against the human verdicts. Agreement is "
    "cross-validated: it is counted on verdicts that did not choose the threshold.",
    Ranking: "Intervals are simultaneous within a metric. A rank is the range of places that a version "
    "may have.",
    SamplePlan: "This number of items detects a true difference of this size with the given power.",
    Runs: "pass@k: any of k runs passes. pass^k: all of k runs pass. Both are unbiased estimates.",
    Agreement: "Coefficients are corrected for agreement by chance; 1 is perfect, 0 is chance.",
}


def comparison_figures(comparison: Comparison, found: Story, *, most: int = MOST_MOVED) -> list[Html | None]:
    """Return what moved and what did not, with intervals; of several versions a leaderboard."""
    rows = list(found.rows)
    if all(row.difference == 0 for row in rows) and identical(comparison):
        # Where nothing differs there is no interval.
        return [table_of(compared(rows, "Scores", intervals=False))]
    if len(comparison.spec.candidates) > 1:
        hidden = [row for row in rows if row.slice is not None and row.moved]
        names = short_names([comparison.spec.baseline, *comparison.spec.candidates], 32)
        moved = _forest(hidden[: 4 * most], "Slices that moved", names=names, most=most)
        parts = [_leaderboard(comparison, rows), moved]
    else:
        kinds = {"Scores": False, "Latency, cost and other measures": True}
        parts = [
            _forest([row for row in rows if row.has_unit == unit], title, most=most)
            for title, unit in kinds.items()
        ]
    return [*parts, _spreads(comparison, rows), _confusion(comparison)]


def _forest(
    rows: Sequence[Row], title: str, *, names: dict[str, str] | None = None, most: int = MOST_MOVED
) -> Html | None:
    """Return rows with their intervals: those that moved first, by size; the others folded."""
    if not rows:
        return None
    ordered = by_importance(rows)
    moved, rest = [row for row in ordered if row.moved], [row for row in ordered if not row.moved]
    relative = all(row.has_unit for row in rows)
    ends = [row.drawn(relative=relative) for row in rows if row.judged] or [row.drawn() for row in rows]
    axis = Axis((one for end in ends for one in end), end=200)
    drawn = partial(_rows, axis=axis, names=names, relative=relative)
    if not moved:
        # Nothing moved: what is known of all items stands open.
        moved = [row for row in rest if row.slice is None]
        rest = [row for row in rest if row.slice is not None]
    folded = None
    if rest:
        unclear = [row for row in rest if row.is_score and row.verdict == "inconclusive"]
        known = [row.mde for row in unclear if row.mde is not None]
        least = f", smallest detectable change {min(known):.2g}" if known else ""
        folded = tag(
            "details",
            tag("summary", f"{', '.join(count_verdicts(rest))}{least}"),
            drawn(rest[:MOST_FOLDED], "Rows that did not clearly move"),
            _more(len(rest) - MOST_FOLDED, "row", ": comparison.explain()"),
            class_="unclear",
        )
    return join(drawn(moved[:most], title), _more(len(moved) - most, "row", ": comparison.explain()"), folded)


def _more(number: int, noun: str, then: str) -> Html | None:
    return tag("p", f"{counted(number, f'more {noun}')}{then}", class_="quiet") if number > 0 else None


def _rows(
    rows: Sequence[Row], title: str, *, axis: Axis, names: dict[str, str] | None, relative: bool
) -> Html:
    place_head = places_of(rows)
    flips = any(row.newly_failing is not None for row in rows)
    digits = digits_of(rows)
    heads, body = list[str](), []
    for row in rows:
        value, low, high = row.drawn(relative=relative)
        base = (abs(row.before or 0.0) or 1.0) if relative else 1.0
        change = row.change(row.difference, digits)
        if relative and row.before and row.difference is not None:
            change = _signed_percent(row.difference / abs(row.before))
        bar = interval(
            axis, value, low, high, verdict=row.verdict, band=row.min_effect / base,
            label=f"{row.name}, {row.slice or 'all items'}: {change}, {row.interval or 'no interval'}",
            shrunk=None if relative or row.shrunk is None else row.shrunk * row.sign,
        )  # fmt: skip
        share = row.measure is not None and row.measure.share
        cells = {
            "": tag("td", _verdict(row.verdict)),
            "version": _name(names[row.candidate], 40, "td", full=row.candidate) if names else None,
            "metric": _name(outcome_name(row.metric) if share else row.name, 32, full=row.name),
            place_head or "slice": _name(place_of(row, place_head), 32, "td") if place_head else None,
            "before → after": _number(row.levels),
            "change": tag("td", tag("b", change), class_=f"number {row.verdict}"),
            "interval": tag("td", bar, _words(row.interval), title=_why(row), class_="drawn"),
            "newly failing": _number(row.newly_failing) if flips else None,
            "newly passing": _number(row.newly_passing) if flips else None,
            "items": _number(row.n),
        }
        heads = [head for head, cell in cells.items() if cell is not None]
        body.append(tag("tr", cells.values()))
    form = _signed_percent if relative else partial(signed, digits=2)
    under = tag("td", scale(axis, form=form), tag("small", "← worse · better →"), class_="drawn")
    foot = [under if head == "interval" else tag("td") for head in heads]
    numeric = {"before → after", "change", "newly failing", "newly passing", "items"}
    return table(title, heads, body, numeric=numeric, foot=tag("tr", foot), class_="forest")


def _words(interval: str) -> Html | None:
    """Return an interval in words, which are read where pictures and styles are taken away."""
    return tag("span", interval, class_="said") if interval else None


def _number(said: str | int | None) -> Html:
    return tag("td", "–" if said is None else said if isinstance(said, str) else f"{said:,}", class_="number")


def _name(name: str, most: int, element: str = "th", *, full: str | None = None) -> Html:
    """Return a cell with a name that is cut in its middle, and shown whole by a tooltip."""
    scope = "row" if element == "th" else None
    return tag(element, middle_cut(reveal(name), most), scope=scope, title=_full(full or name))


def _full(name: str) -> str:
    return line(reveal(name[:1_000]), 300)


def _why(row: Row) -> str:
    q = "" if row.q_value is None else f" (corrected q = {row.q_value:.2g})"
    shrunk = "" if row.shrunk is None else f" Shrunk towards all items: {row.change(row.shrunk)}."
    return line(f"{row.interval or 'no interval'}{q}. {row.reason}.{shrunk}", 600)


def _signed_percent(value: float) -> str:
    """Write a relative change.

    Examples
    --------
    >>> _signed_percent(0.124), _signed_percent(-0.004)
    ('+12%', '−0.4%')
    """
    size = abs(value)
    text = f"{size:.0%}" if size >= 0.0995 else f"{size:.1%}"
    return text if text == "0.0%" else f"{'−' if value < 0 else '+'}{text}"


def _verdict(name: str) -> Html:
    """Return a verdict as a sign and a word, so that no one needs the colour."""
    sign = tag("span", SIGNS.get(name, ""), aria_hidden="true")
    return tag("span", sign, " ", name.replace("_", " "), class_=f"verdict {name}")


def _leaderboard(comparison: Comparison, rows: Sequence[Row]) -> Html:
    """Return versions × metrics: means with the difference from the baseline drawn on one axis a metric."""
    columns: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.slice is None:
            columns.setdefault(row.metric, {})[row.candidate] = row.of_mean
    axes = {
        name: Axis((end for row in own.values() for end in row.drawn()), end=110)
        for name, own in columns.items()
    }
    baseline, *others = ranked(comparison)
    short = short_names([baseline, *others], 40)
    first = [next(iter(own.values())) for own in columns.values()]
    levels = [_number(row.level(row.before) if row.part == "mean" else "–") for row in first]
    verdicts = comparison.verdicts
    body = [tag("tr", _board_name(baseline, short), tag("td", "baseline", class_="quiet"), levels)]
    for version in others:
        cells = [_board_cell(own.get(version), axes[name]) for name, own in columns.items()]
        word = tag("td", _verdict(verdicts[version]))
        body.append(tag("tr", _board_name(version, short), word, cells))
    lower = {name: " (less is better)" if comparison.spec.sign(name) < 0 else "" for name in columns}
    heads = [f"{outcome_name(name)}{lower[name]}" for name in columns]
    title = "Versions, best mean first; bars are differences from the baseline, better to the right"
    return table(title, ["version", "verdict", *heads], body, numeric=heads, class_="forest board")


def _board_name(version: str, short: dict[str, str]) -> Html:
    return tag("th", reveal(short[version]), scope="row", title=_full(version))


def _board_cell(row: Row | None, axis: Axis) -> Html:
    if row is None:
        return _number("–")
    bar = interval(
        axis, *row.drawn(), verdict=row.verdict, band=row.min_effect,
        label=f"{row.candidate}, {row.name}: {row.change(row.difference)}, {row.interval}",
    )  # fmt: skip
    level = tag("span", row.level(row.after), " ", tag("span", SIGNS[row.verdict], class_=row.verdict))
    words = _words(f" ({row.interval})") if row.interval else None
    return tag("td", level, bar, words, class_="number drawn", title=f"{row.name}: {_why(row)}")


def _spreads(comparison: Comparison, rows: Sequence[Row]) -> Html | None:
    """Return how the scores of what moved are spread, for two versions."""
    spec = comparison.spec
    if len(spec.candidates) > 1 or comparison.distributions.is_empty():
        return None
    moved = [row.metric for row in by_importance(rows) if row.is_score and row.moved and not row.binary]
    drawn = []
    for name in list(dict.fromkeys(moved))[:MOST_SPREADS]:
        if bins := bins_of(comparison, name, spec.candidates[0]).rows():
            chart = histogram(bins, (spec.baseline, spec.candidates[0]), label=f"Scores of {name}")
            drawn.append(_figure(middle_cut(reveal(name), 40), chart))
    if not drawn:
        return None
    before, after = (middle_cut(name, 30) for name in (spec.baseline, spec.candidates[0]))
    summary = tag("summary", f"Spread of scores: bars {before}, line {after}")
    return tag("details", summary, _figures(drawn))


def _figure(caption: Child, chart: Html) -> Html:
    return tag("figure", tag("figcaption", caption), chart)


def _figures(drawn: Child, class_: str = "figures") -> Html:
    return tag("div", drawn, class_=class_)


def _confusion(comparison: Comparison) -> Html | None:
    """Return expected against given classes of each version, where an aggregate counted them."""
    frame = comparison.confusion
    if frame.is_empty():
        return None
    classes = frame.group_by("expected").agg(pl.col("n").sum()).sort(-pl.col("n"), "expected")["expected"]
    shown = classes.drop_nulls().to_list()[:MOST_CLASSES]
    others = [one for one in frame["output"].drop_nulls().unique().sort().to_list() if one not in shown]
    columns = [*shown, *others][:MOST_CLASSES]
    heads = [
        tag("th", middle_cut(reveal(str(one)), 16), scope="col", class_="number", title=_full(str(one)))
        for one in columns
    ]
    parts = []
    for name in frame["version"].unique(maintain_order=True):
        mine = frame.filter(pl.col("version") == name)
        counts = {(row["expected"], row["output"]): row["n"] for row in mine.to_dicts()}
        body = []
        for expected in shown:
            total = sum(n for (truth, _), n in counts.items() if truth == expected) or 1
            cells = []
            for given in columns:
                n = counts.get((expected, given), 0)
                step = 0 if n == 0 else (1 if n / total < 0.25 else 2)
                tint = step if given == expected else -step
                cells.append(tag("td", f"{n:,}" if n else "·", class_=f"number t{tint}"))
            body.append(tag("tr", tag("th", middle_cut(reveal(str(expected)), 24), scope="row"), cells))
        title = f"{middle_cut(reveal(name), 40)}: expected (rows) and given (columns)"
        parts.append(table(title, ["", *heads], body, class_="confusion"))
    return tag("details", tag("summary", "Classes that are confused"), _figures(parts[:4]))


def timeline_figures(timeline: Timeline, *, most: int = MOST_SERIES) -> list[Html | None]:
    """Return the series that moved, or the first ones, each drawn, and all of them in a table."""
    rows = series_of(timeline)
    moved = [row for row in rows if row.moved] or rows[:1]
    drawn = []
    for row in moved[:most]:
        windows = timeline.windows.filter(is_series(row.metric, row.candidate or None, row.slice))
        name = " · ".join(filter(None, (row.metric, row.candidate, row.slice)))
        chart = series(windows.tail(400).to_dicts(), row, label=f"{name} over time: {row.verdict}")
        drawn.append(_figure([_verdict(row.verdict), " ", middle_cut(reveal(name), 80)], chart))
    every = f"Windows of {timeline.settings['every']}. The dashed line is the reference level."
    return [
        tag("h2", "Over time"),
        tag("p", every, class_="quiet"),
        _figures(drawn, "figures wide"),
        _more(len(moved) - most, "series", " moved: see the table."),
        tag("details", tag("summary", "All series"), [table_of(one) for one in tables_of(timeline)]),
    ]


def result_figures(result: Result) -> list[Html | None]:
    """Return the picture and the tables of any other result."""
    makers: dict[type[Any], Any] = {
        Ranking: _ranking, Calibration: _calibration, Runs: _passes, SamplePlan: _plan, Agreement: _agreement,
    }  # fmt: skip
    return [makers[type(result)](result), *map(table_of, tables_of(result))]


def _calibration(result: Calibration) -> Html:
    best = result.summary.row(0, named=True)
    curve = result.curve.filter(pl.col("metric") == best["metric"])
    objective = result.settings["objective"]
    lines = {
        name: curve.select("threshold", name).drop_nulls().rows()
        for name in dict.fromkeys((objective, "precision", "recall"))
    }
    caption = "agreement with people by threshold; the band is the interval of the best threshold"
    drawn = curves(
        lines, label=f"{objective}, precision and recall by threshold", mark=best["threshold"],
        span=(best["threshold_ci_low"], best["threshold_ci_high"]), name="threshold",
    )  # fmt: skip
    return _figure(f"{middle_cut(reveal(best['metric']), 40)}: {caption}", drawn)


def _passes(result: Runs) -> Html | None:
    drawn = []
    for (version, metric), rows in result.summary.group_by("version", "metric", maintain_order=True):
        if rows.height > 1:
            kinds = {"any of k": "pass_at_k", "all of k": "pass_all_k"}
            lines = {kind: rows.select(pl.col("k").cast(float), of).rows() for kind, of in kinds.items()}
            name = f"{metric} · {version}"
            chart = curves(lines, label=f"passes of {name} by k", name="k", width=340, height=150)
            drawn.append(_figure(middle_cut(reveal(name), 60), chart))
    return _figures(drawn[:6]) if drawn else None


def _plan(result: SamplePlan) -> Html | None:
    rows = result.summary.drop_nulls("items").sort("min_effect")
    if rows.height < 2:
        return None
    lines = {"items": rows.select("min_effect", pl.col("items").cast(float)).rows()}
    chart = curves(lines, label="items needed", name="difference")
    return _figure("Items by the difference to be detected", chart)


def _agreement(result: Agreement) -> Html:
    name = pl.col("statistic").str.replace_all("_", " ")
    values = result.summary.drop_nulls("value").select(name, "value", "ci_low", "ci_high")
    return _intervals(values, "Coefficients with their intervals")


def _ranking(result: Ranking) -> Html:
    numbers = result.summary.select("metric", "version", "mean", "ci_low", "ci_high")
    return _figures(
        _intervals(rows.drop("metric"), f"{reveal(str(metric))}: means with simultaneous intervals")
        for (metric,), rows in numbers.group_by("metric", maintain_order=True)
    )


def _intervals(rows: pl.DataFrame, title: str) -> Html:
    """Return names with a value and its interval."""
    axis = Axis((one for row in rows.rows() for one in row[1:]), zero=False)
    body = []
    for name, value, low, high in rows.iter_rows():
        label = f"{name}: {value:.3f}"
        drawn = interval(axis, value, low, high, verdict="no_change", zero=None, label=label)
        words = None if low is None else _words(f"{score(low)} to {score(high)}")
        body.append(
            tag("tr", _name(name, 40), _number(score(value)), tag("td", drawn, words, class_="drawn"))
        )
    foot = tag("tr", tag("td"), tag("td"), tag("td", scale(axis, form=score), class_="drawn"))
    return table(title, ("", "value", "interval"), body, foot=foot, class_="forest")


def table_of(shown: Table, *, most: int = 100) -> Html:
    """Return a table as HTML."""
    kinds = ["number" if head in shown.numeric else None for head in shown.columns]
    body = []
    for row in shown.rows[:most]:
        first, *rest = (reveal(line(value, 200)) for value in row)
        values = (tag("td", text, class_=kind) for text, kind in zip(rest, kinds[1:], strict=True))
        body.append(tag("tr", tag("th", first, class_=kinds[0], scope="row"), values))
    after = _more(len(shown.rows) - most, "row", ".")
    return table(shown.title, shown.columns, body, numeric=shown.numeric, after=after)
