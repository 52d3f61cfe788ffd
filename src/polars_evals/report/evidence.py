"""The evidence of a page and of a notebook cell: tables whose intervals are drawn, series, curves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift import Agreement, Calibration, Comparison, Ranking, Runs, SamplePlan, Timeline
from polars_evals.drift.timeline import deciding
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.numbers import middle_cut, score, short_names, signed
from polars_evals.report.pack import ranked, reveal
from polars_evals.report.svg import Axis, curves, histogram, interval, scale, series
from polars_evals.report.tables import MOVED, ORDER, SIGNS, Row, Table, by_importance, outcome_name, tables_of
from polars_evals.suite.measure import measures_of
from polars_evals.wording import counted, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.result import Result
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


def comparison_evidence(comparison: Comparison, found: Story, *, most: int = MOST_MOVED) -> list[Html | None]:
    """Return what moved and what did not, with intervals; of several versions a leaderboard."""
    rows = list(found.rows)
    several = len(comparison.spec.candidates) > 1
    scored = [row for row in rows if row.is_score or (row.measure is not None and row.measure.share)]
    measured = [row for row in rows if row.measure is not None and not row.measure.share]
    parts: list[Html | None] = []
    if several:
        parts.append(_leaderboard(comparison, rows))
        hidden = [row for row in rows if row.slice is not None and row.moved]
        parts.append(
            _forest(hidden[: 4 * most], "Slices that moved", several=True, most=most) if hidden else None
        )
    else:
        parts.append(_forest(scored, "Scores", most=most))
        parts.append(_forest(measured, "Latency, cost and other measures", most=most) if measured else None)
    return [*parts, _spreads(comparison, rows), _confusion(comparison)]


def _forest(rows: Sequence[Row], title: str, *, several: bool = False, most: int = MOST_MOVED) -> Html | None:
    """Return rows with their intervals: those that moved first, by size; the others folded."""
    if not rows:
        return None
    ordered = by_importance(rows)
    moved, rest = [row for row in ordered if row.moved], [row for row in ordered if not row.moved]
    relative = all(row.measure is not None and not row.measure.share for row in rows)
    axis = Axis([end for row in rows for end in _drawn(row, relative=relative) if row.judged], width=200)
    table = partial(_rows, axis=axis, several=several, relative=relative)
    if not moved:
        # Nothing moved: what is known of all items stands open.
        moved = [row for row in rest if row.slice is None]
        rest = [row for row in rest if row.slice is not None]
    more = len(moved) - most
    return join(
        table(moved[:most], title),
        tag("p", f"{counted(more, 'more row')}: comparison.explain()", class_="quiet") if more > 0 else None,
        _folded(rest, table) if rest else None,
    )


def _folded(rows: Sequence[Row], table: Any) -> Html:
    unclear = sum(row.verdict == "inconclusive" for row in rows)
    told = [f"{n:,} {word}" for n, word in ((unclear, "unclear"), (len(rows) - unclear, "unchanged")) if n]
    known = [
        row.mde for row in rows if row.mde is not None and row.is_score and row.verdict == "inconclusive"
    ]
    least = f", smallest detectable change {min(known):.2g}" if known else ""
    more = len(rows) - MOST_FOLDED
    return tag(
        "details",
        tag("summary", f"{', '.join(told)}{least}"),
        table(rows[:MOST_FOLDED], "Rows that did not clearly move"),
        tag("p", f"{counted(more, 'more row')}: comparison.explain()", class_="quiet") if more > 0 else None,
        class_="unclear",
    )


def _drawn(row: Row, *, relative: bool) -> tuple[float | None, float | None, float | None]:
    """Return value and interval as they are drawn: better to the right, measures as parts of the baseline."""
    factor = (-1.0 if row.lower_is_better else 1.0) / (abs(row.before or 0.0) or 1.0 if relative else 1.0)
    ends = [None if one is None else one * factor for one in (row.low, row.high)]
    value = None if row.difference is None else row.difference * factor
    return (value, ends[1], ends[0]) if factor < 0 else (value, ends[0], ends[1])


def _rows(rows: Sequence[Row], title: str, *, axis: Axis, several: bool, relative: bool) -> Html:
    by = {row.by for row in rows if row.by is not None}
    flips = any(row.newly_failing is not None for row in rows)
    place_head = next(iter(by)) if len(by) == 1 else "slice"
    heads = [
        "", *(["version"] if several else []), "metric", *([place_head] if by else []), "before → after",
        "change", "interval", *(["newly failing", "newly passing"] if flips else []), "items",
    ]  # fmt: skip
    body = []
    for row in rows:
        value, low, high = _drawn(row, relative=relative)
        change = row.change(row.difference)
        if relative and row.before and row.difference is not None:
            change = _signed_percent(row.difference / abs(row.before))
        bar = interval(
            axis, value, low, high, verdict=row.verdict,
            band=row.min_effect / (abs(row.before or 0.0) or 1.0) if relative else row.min_effect,
            label=f"{row.name}, {row.slice or 'all items'}: {change}, {row.interval or 'no interval'}",
            shrunk=None if relative or row.shrunk is None else _gain(row, row.shrunk),
        )  # fmt: skip
        name = outcome_name(row.metric) if row.measure is not None and row.measure.share else row.name
        place = (
            "all items"
            if row.slice is None
            else row.value
            if len(by) == 1 and row.value is not None
            else row.slice
        )
        cells = [
            tag("td", _verdict(row.verdict)),
            *([tag("td", middle_cut(row.candidate, 32), title=_full(row.candidate))] if several else []),
            tag("th", middle_cut(reveal(name), 32), scope="row", title=_full(row.name)),
            *([tag("td", middle_cut(reveal(place), 32), title=_full(place))] if by else []),
            tag("td", row.levels, class_="number"),
            tag("td", tag("b", change), class_=f"number {row.verdict}"),
            tag("td", bar, title=_why(row), class_="drawn"),
            *(
                [
                    tag("td", "–" if one is None else f"{one:,}", class_="number")
                    for one in (row.newly_failing, row.newly_passing)
                ]
                if flips
                else []
            ),
            tag("td", f"{row.n:,}", class_="number"),
        ]
        body.append(tag("tr", cells))
    form = _signed_percent if relative else partial(signed, digits=2)
    foot = tag(
        "tr",
        [tag("td") for _ in range(heads.index("interval"))],
        tag("td", scale(axis, form=form), tag("small", "← worse · better →"), class_="drawn"),
        [tag("td") for _ in heads[heads.index("interval") + 1 :]],
    )
    numeric = {"before → after", "change", "newly failing", "newly passing", "items"}
    return tag(
        "div",
        tag(
            "table",
            tag("caption", title),
            tag(
                "thead",
                tag(
                    "tr",
                    (
                        tag("th", reveal(head), scope="col", class_="number" if head in numeric else None)
                        for head in heads
                    ),
                ),
            ),
            tag("tbody", body),
            tag("tfoot", foot),
            class_="forest",
        ),
        class_="scroll",
    )


def _gain(row: Row, value: float) -> float:
    return -value if row.lower_is_better else value


def _full(name: str) -> str:
    """Return a name for a tooltip, which shows what a cell cuts."""
    return line(reveal(name[:1_000]), 300)


def _why(row: Row) -> str:
    q = "" if row.q_value is None else f" (corrected q = {row.q_value:.2g})"
    shrunk = "" if row.shrunk is None else f" Shrunk towards all items: {row.change(row.shrunk)}."
    return line(f"{row.interval or 'no interval'}{q}. {row.reason}.{shrunk}", 600)


def _signed_percent(value: float | None) -> str:
    """Write a relative change.

    Examples
    --------
    >>> signed_percent(0.124), signed_percent(-0.004)
    ('+12%', '−0.4%')
    """
    if value is None:
        return "–"
    size = abs(value)
    text = f"{size:.0%}" if size >= 0.0995 else f"{size:.1%}"
    return text if text == "0.0%" else f"{'−' if value < 0 else '+'}{text}"


def _verdict(name: str) -> Html:
    """Return a verdict as a sign and a word, so that no one needs the colour."""
    sign = tag("span", SIGNS.get(name, ""), aria_hidden="true")
    return tag("span", sign, " ", name.replace("_", " "), class_=f"verdict {name}")


def _leaderboard(comparison: Comparison, rows: Sequence[Row]) -> Html:
    """Return versions × metrics: means with the difference from the baseline drawn on one axis a metric."""
    spec = comparison.spec
    names = list(dict.fromkeys(row.metric for row in rows if row.slice is None))
    whole = {(row.candidate, row.metric): row.of_mean for row in rows if row.slice is None}
    axes = {}
    for name in names:
        ends = [
            end for (_, metric), row in whole.items() if metric == name for end in _drawn(row, relative=False)
        ]
        axes[name] = Axis(ends, width=110)
    shown, body = ranked(comparison), []
    short = short_names(shown, 40)
    before = {
        name: next((row.before for (_, metric), row in whole.items() if metric == name), None)
        for name in names
    }
    for place, version in enumerate(shown):
        cells = []
        for name in names:
            row = whole.get((version, name))
            if place == 0:
                known = next(one for (_, metric), one in whole.items() if metric == name)
                cells.append(
                    tag("td", known.level(before[name]) if known.part == "mean" else "–", class_="number")
                )
            elif row is None:
                cells.append(tag("td", "–", class_="number"))
            else:
                value, low, high = _drawn(row, relative=False)
                bar = interval(
                    axes[name], value, low, high, verdict=row.verdict, band=row.min_effect,
                    label=f"{version}, {row.name}: {row.change(row.difference)}, {row.interval}",
                )  # fmt: skip
                level = row.level(row.after)
                cells.append(
                    tag(
                        "td",
                        tag("span", level, " ", tag("span", SIGNS[row.verdict], class_=row.verdict)),
                        bar,
                        class_="number drawn",
                        title=f"{row.name}: {_why(row)}",
                    )
                )
        word = (
            tag("td", "baseline", class_="quiet")
            if place == 0
            else tag("td", _verdict(comparison.verdicts[version]))
        )
        body.append(
            tag(
                "tr",
                tag("th", reveal(short[version]), scope="row", title=_full(version)),
                word,
                cells,
            )
        )
    lower = {name: "" if not spec.sign(name) < 0 else " (less is better)" for name in names}
    return tag(
        "div",
        tag(
            "table",
            tag(
                "caption",
                "Versions, best mean first; bars are differences from the baseline, better to the right",
            ),
            tag(
                "thead",
                tag(
                    "tr",
                    tag("th", "version", scope="col"),
                    tag("th", "verdict", scope="col"),
                    (
                        tag("th", reveal(f"{outcome_name(name)}{lower[name]}"), scope="col", class_="number")
                        for name in names
                    ),
                ),
            ),
            tag("tbody", body),
            class_="forest board",
        ),
        class_="scroll",
    )


def _spreads(comparison: Comparison, rows: Sequence[Row]) -> Html | None:
    """Return how the scores of what moved are spread, for two versions."""
    if len(comparison.spec.candidates) > 1 or comparison.distributions.is_empty():
        return None
    names = list(
        dict.fromkeys(
            row.metric for row in by_importance(rows) if row.is_score and row.moved and not row.binary
        )
    )
    spec = comparison.spec
    drawn = []
    for name in names[:MOST_SPREADS]:
        mine = comparison.distributions.filter(pl.col("metric") == name)
        before = mine.filter(pl.col("version") == spec.baseline).sort("bin_low")
        after = mine.filter(pl.col("version") != spec.baseline).sort("bin_low")
        bins = list(zip(before["bin_low"], before["bin_high"], before["share"], after["share"], strict=False))
        if bins:
            chart = histogram(bins, (spec.baseline, spec.candidates[0]), label=f"Scores of {name}")
            drawn.append(tag("figure", chart, tag("figcaption", middle_cut(reveal(name), 40))))
    if not drawn:
        return None
    told = (
        f"Spread of scores: bars {middle_cut(spec.baseline, 30)}, line {middle_cut(spec.candidates[0], 30)}"
    )
    return tag("details", tag("summary", told), tag("div", drawn, class_="figures"))


def _confusion(comparison: Comparison) -> Html | None:
    """Return expected against given classes of each version, where an aggregate counted them."""
    frame = getattr(comparison, "confusion", None)
    if not isinstance(frame, pl.DataFrame) or frame.is_empty():
        return None
    parts = []
    classes = (
        frame.group_by("expected").agg(pl.col("n").sum()).sort("n", descending=True)["expected"].to_list()
    )
    shown = [one for one in classes if one is not None][:MOST_CLASSES]
    others = [
        one for one in frame["output"].unique().sort().to_list() if one is not None and one not in shown
    ]
    columns = [*shown, *others[: max(0, MOST_CLASSES - len(shown))]]
    for name in frame["version"].unique(maintain_order=True):
        mine = frame.filter(pl.col("version") == name)
        counts = {(row["expected"], row["output"]): row["n"] for row in mine.iter_rows(named=True)}
        body = []
        for expected in shown:
            total = sum(n for (truth, _), n in counts.items() if truth == expected) or 1
            cells = []
            for given in columns:
                n = counts.get((expected, given), 0)
                step = 0 if n == 0 else (1 if n / total < 0.25 else 2)
                cells.append(
                    tag(
                        "td", f"{n:,}" if n else "·", class_=f"number t{step if given == expected else -step}"
                    )
                )
            body.append(tag("tr", tag("th", middle_cut(reveal(str(expected)), 24), scope="row"), cells))
        heads = [
            tag("th", middle_cut(reveal(str(one)), 16), scope="col", class_="number", title=_full(str(one)))
            for one in columns
        ]
        table = tag(
            "table",
            tag("caption", f"{middle_cut(reveal(name), 40)}: expected (rows) and given (columns)"),
            tag("thead", tag("tr", tag("th", "", scope="col"), heads)),
            tag("tbody", body),
            class_="confusion",
        )
        parts.append(tag("div", table, class_="scroll"))
    return tag(
        "details", tag("summary", "Classes that are confused"), tag("div", parts[:4], class_="figures")
    )


def timeline_evidence(timeline: Timeline, *, most: int = MOST_SERIES) -> list[Html | None]:
    """Return the series that moved, or the first ones, each drawn, and all of them in a table."""
    measures = measures_of(timeline.settings["measures"])
    rows = sorted(
        map(deciding, timeline.summary.iter_rows(named=True)),
        key=lambda row: (row["verdict"] not in MOVED, ORDER.index(row["verdict"])),
    )
    moved = [row for row in rows if row["verdict"] in MOVED] or rows[:1]
    drawn = []
    keys = [name for name in ("metric", "version", "slice") if name in timeline.summary.columns]
    for row in moved[:most]:
        wanted = [
            pl.col(name).eq_missing(pl.lit(row[name], dtype=pl.String))
            for name in keys
            if name in timeline.windows.columns
        ]
        windows = timeline.windows.filter(*wanted).tail(400).to_dicts()
        measure = measures.get(row["metric"])
        name = " · ".join(str(row[key]) for key in keys if row[key] is not None)
        chart = series(
            windows,
            row,
            value=row.get("part") or "mean",
            unit="" if measure is None else measure.unit or "",
            label=f"{name} over time: {row['verdict']}",
        )
        drawn.append(
            tag(
                "figure",
                tag("figcaption", _verdict(row["verdict"]), " ", middle_cut(reveal(name), 80)),
                chart,
            )
        )
    more = len(moved) - most
    return [
        tag("h2", "Over time"),
        tag(
            "p",
            f"Windows of {timeline.settings['every']}. The dashed line is the reference level.",
            class_="quiet",
        ),
        tag("div", drawn, class_="figures wide"),
        tag("p", f"{counted(more, 'more series')} moved: see the table.", class_="quiet")
        if more > 0
        else None,
        tag("details", tag("summary", "All series"), [table_of(one) for one in tables_of(timeline)]),
    ]


def result_evidence(result: Result) -> list[Html | None]:
    """Return the picture and the tables of any other result."""
    return [_picture(result), *(table_of(table) for table in tables_of(result))]


def _picture(result: Result) -> Html | None:
    makers: dict[type[Any], Any] = {
        Ranking: _ranking, Calibration: _calibration, Runs: _passes, SamplePlan: _plan, Agreement: _agreement,
    }  # fmt: skip
    drawn: Html | None = makers[type(result)](result)
    return drawn


def _calibration(result: Calibration) -> Html:
    best = result.summary.row(0, named=True)
    curve = result.curve.filter(pl.col("metric") == best["metric"])
    objective = result.settings["objective"]
    lines = {
        name: [(x, y) for x, y in zip(curve["threshold"], curve[name], strict=True) if y is not None]
        for name in dict.fromkeys((objective, "precision", "recall"))
    }
    told = "agreement with people by threshold; the band is the interval of the best threshold"
    drawn = curves(
        lines, label=f"{objective}, precision and recall by threshold", mark=best["threshold"],
        span=(best["threshold_ci_low"], best["threshold_ci_high"]), name="threshold",
    )  # fmt: skip
    return tag("figure", tag("figcaption", f"{middle_cut(reveal(best['metric']), 40)}: {told}"), drawn)


def _passes(result: Runs) -> Html | None:
    drawn = []
    for (version, metric), rows in result.summary.group_by("version", "metric", maintain_order=True):
        if rows.height > 1:
            k = rows["k"].cast(pl.Float64)
            lines = {
                "any of k": list(zip(k, rows["pass_at_k"], strict=True)),
                "all of k": list(zip(k, rows["pass_all_k"], strict=True)),
            }
            name = f"{metric} · {version}"
            chart = curves(lines, label=f"passes of {name} by k", name="k", width=340, height=150)
            drawn.append(tag("figure", tag("figcaption", middle_cut(reveal(name), 60)), chart))
    return tag("div", drawn[:6], class_="figures") if drawn else None


def _plan(result: SamplePlan) -> Html | None:
    rows = result.summary.drop_nulls("items").sort("min_effect")
    if rows.height < 2:
        return None
    lines = {"items": list(zip(rows["min_effect"], rows["items"].cast(pl.Float64), strict=True))}
    chart = curves(lines, label="items needed", name="difference")
    return tag("figure", tag("figcaption", "Items by the difference to be detected"), chart)


def _agreement(result: Agreement) -> Html:
    rows = result.summary.drop_nulls("value").iter_rows(named=True)
    values = [
        (row["statistic"].replace("_", " "), row["value"], row["ci_low"], row["ci_high"]) for row in rows
    ]
    return _intervals(values, "Coefficients with their intervals")


def _ranking(result: Ranking) -> Html:
    parts = [
        _intervals(
            [
                (row["version"], row["mean"], row["ci_low"], row["ci_high"])
                for row in rows.iter_rows(named=True)
            ],
            f"{reveal(str(metric))}: means with simultaneous intervals",
        )
        for (metric,), rows in result.summary.group_by("metric", maintain_order=True)
    ]
    return tag("div", parts, class_="figures")


def _intervals(rows: Sequence[tuple[str, float, float | None, float | None]], title: str) -> Html:
    axis = Axis([one for row in rows for one in row[1:]], zero=False)
    body = [
        tag(
            "tr",
            tag("th", middle_cut(reveal(name), 40), scope="row", title=_full(name)),
            tag("td", score(value), class_="number"),
            tag(
                "td",
                interval(
                    axis, value, low, high, verdict="no_change", label=f"{name}: {value:.3f}", zero=None
                ),
                class_="drawn",
            ),
        )
        for name, value, low, high in rows
    ]
    foot = tag("tr", tag("td"), tag("td"), tag("td", scale(axis, form=score), class_="drawn"))
    heads = (tag("th", head, scope="col") for head in ("", "value", "interval"))
    return tag(
        "div",
        tag(
            "table",
            tag("caption", title),
            tag("thead", tag("tr", heads)),
            tag("tbody", body),
            tag("tfoot", foot),
            class_="forest",
        ),
        class_="scroll",
    )


def table_of(table: Table, *, most: int = 100) -> Html:
    """Return a table as HTML."""
    body = []
    for row in table.rows[:most]:
        cells = [
            tag(
                "th" if at == 0 else "td",
                reveal(line(value, 200)),
                class_="number" if numeric else None,
                scope="row" if at == 0 else None,
            )
            for at, (value, numeric) in enumerate(zip(row, table.numeric, strict=True))
        ]
        body.append(tag("tr", cells))
    heads = (
        tag("th", reveal(head), scope="col", class_="number" if numeric else None)
        for head, numeric in zip(table.heads, table.numeric, strict=True)
    )
    more = len(table.rows) - most + table.left_out
    return tag(
        "div",
        tag("table", tag("caption", table.title), tag("thead", tag("tr", heads)), tag("tbody", body)),
        tag("p", f"{counted(more, 'more row')}.", class_="quiet") if more > 0 else None,
        class_="scroll",
    )
