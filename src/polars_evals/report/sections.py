"""The parts of a page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.text import cell, change, line
from polars_evals.drift.verdict import VERDICTS
from polars_evals.report.figure import figure
from polars_evals.report.flips import flips
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.tables import Cell, number, table, verdict

if TYPE_CHECKING:
    from polars_evals.drift import Comparison
    from polars_evals.drift.result import Result

# Rows of a table, rows of a chart, charts of a kind, and sentences in the page.
MOST_ROWS, MOST_DRAWN, MOST_PANELS, MOST_SENTENCES = 200, 60, 12, 6

METHOD = (
    "A row regressed or improved when its interval excludes 0, the difference is at least min_effect, and "
    "the Benjamini–Hochberg q-value over all metrics and slices is at most alpha. It shows no change when "
    "the interval lies within min_effect of 0. Otherwise the data cannot tell. Intervals and pass rates are "
    "those of one row each, not corrected for their number. The overall verdict is the worst one."
)


@dataclass(frozen=True)
class Section:
    """A part of a page with its heading."""

    name: str
    title: str
    content: Html


def lede(comparison: Comparison) -> Html:
    """Return the result in a few sentences."""
    settings = comparison.settings
    summary, slices = comparison.summary, comparison.slices
    counts = [f"Metrics: {_counted(summary)}."]
    if slices.height:
        counts.append(f"Slices: {_counted(slices)}.")
    rows = pl.concat([summary.with_columns(slice=pl.lit(None, dtype=pl.String)), slices], how="diagonal")
    moved = [
        _moved(rows.filter(pl.col("verdict") == name).sort("q_value", nulls_last=True), name)
        for name in ("regressed", "improved")
    ]
    item = settings["item"]
    paired = "unpaired" if item is None else f"paired by {line(item, 60)}"
    clustered = "" if settings["cluster"] is None else f", clustered by {line(settings['cluster'], 60)}"
    return join(tag("p", f"{' '.join(counts)} Compared {paired}{clustered}."), moved)


def _counted(rows: pl.DataFrame) -> str:
    found = dict(rows["verdict"].cast(pl.String).value_counts().iter_rows())
    return ", ".join(f"{found[name]:,} {name.replace('_', ' ')}" for name in VERDICTS if name in found)


def _moved(rows: pl.DataFrame, name: str) -> Html:
    if rows.is_empty():
        return Html("")
    shown = rows.head(MOST_SENTENCES).iter_rows(named=True)
    items = (
        tag(
            "li",
            tag("b", line(" · ".join(filter(None, (row["metric"], row["slice"]))), 120)),
            f": {row['reason']}.",
        )
        for row in shown
    )
    more = rows.height - MOST_SENTENCES
    rest = tag("li", f"and {more:,} more below.") if more > 0 else None
    return join(tag("p", verdict(name), class_="moved"), tag("ul", items, rest))


def metrics(comparison: Comparison) -> Section:
    """Return the difference of every metric."""
    settings, summary = comparison.settings, comparison.summary
    level = f"{1 - settings['alpha']:.0%}"
    chart = None
    if summary.height <= MOST_DRAWN:
        chart = figure(
            comparison.plot.differences,
            label=f"Differences in mean score with {level} intervals; the table below has the numbers",
            caption=(
                f"Difference in mean score with its {level} interval. The grey band holds differences "
                f"smaller than {settings['min_effect']:g}."
            ),
        )
    numbers = _numbers(comparison, summary, "Scores of baseline and candidate by metric", sliced=False)
    several = len(settings["candidates"]) > 1
    reasons = (
        tag(
            "li",
            tag("b", line(f"{row['metric']} · {row['candidate']}" if several else row["metric"], 120)),
            f": {row['reason']}.",
        )
        for row in summary.head(MOST_ROWS).iter_rows(named=True)
    )
    return Section("metrics", "Metrics", join(chart, numbers, tag("ul", reasons)))


def distributions(comparison: Comparison) -> Section | None:
    """Return how the scores of both versions are spread."""
    shown = comparison.summary.head(MOST_PANELS).iter_rows(named=True)
    several = len(comparison.settings["candidates"]) > 1
    panels = [
        figure(
            partial(comparison.plot.distributions, row["metric"], candidate=row["candidate"]),
            label=_spread_label(row, comparison.settings["baseline"]),
            caption=_spread_caption(row, several),
            numbers=_bins(comparison, row),
            panel=comparison.summary.height > 1,
        )
        for row in shown
        if row["ks"] is not None
    ]
    if not panels:
        return None
    return Section(
        "distributions",
        "Score distributions",
        join(_grid(panels), more(comparison.summary.height, len(panels))),
    )


def _spread_label(row: dict[str, Any], baseline: str) -> str:
    versions = f"{line(baseline, 60)} and {line(row['candidate'], 60)}"
    return f"Distribution of {line(row['metric'], 60)} scores of {versions}: {_spread_caption(row, False)}"


def _spread_caption(row: dict[str, Any], several: bool) -> str:
    whose = f"{line(row['candidate'], 40)}: " if several else ""
    psi = "" if row["psi"] is None else f", population stability index {row['psi']:.2f}"
    return f"{whose}Kolmogorov–Smirnov distance {row['ks']:.2f}{psi}."


def _bins(comparison: Comparison, row: dict[str, Any]) -> Html:
    baseline = comparison.settings["baseline"]
    frame = comparison.distributions.filter(
        pl.col("metric") == row["metric"], pl.col("candidate") == row["candidate"]
    )
    before, after = (
        frame.filter((pl.col("version") == baseline) == side).iter_rows(named=True) for side in (True, False)
    )
    rows = [
        (f"{a['bin_low']:.2f} to {a['bin_high']:.2f}", number(a["share"], ".1%"), number(b["share"], ".1%"))
        for a, b in zip(before, after, strict=True)
    ]
    names = ["score", cell(baseline, 30), cell(row["candidate"], 30)]
    return table(f"Share of {line(row['metric'], 60)} scores", names, rows)


def slices(comparison: Comparison) -> Section | None:
    """Return the forest plots of all slices, and their numbers."""
    rows = comparison.slices
    if rows.is_empty():
        return None
    pairs = rows.select("candidate", "metric").unique(maintain_order=True)
    level = f"{1 - comparison.settings['alpha']:.0%}"
    several = len(comparison.settings["candidates"]) > 1
    panels = [
        figure(
            partial(comparison.plot.slices, metric, candidate=candidate),
            label=(
                f"Differences in mean {line(metric, 60)} of {line(candidate, 60)} by slice with {level} "
                "intervals; the table below has the numbers"
            ),
            caption=f"{line(candidate, 60)}, {level} intervals." if several else f"{level} intervals.",
            panel=pairs.height > 1,
        )
        for candidate, metric in pairs.head(MOST_PANELS).iter_rows()
    ]
    ordered = rows.sort("verdict", "difference", maintain_order=True, nulls_last=True)
    numbers = _numbers(comparison, ordered, "Scores by slice, worst verdict first", sliced=True)
    return Section("slices", "Slices", join(_grid(panels), more(pairs.height, len(panels)), numbers))


def _numbers(comparison: Comparison, rows: pl.DataFrame, caption: str, *, sliced: bool) -> Html:
    several = len(comparison.settings["candidates"]) > 1
    heads = [
        *(["slice"] if sliced else []), "metric", *(["candidate"] if several else []), "verdict", "n",
        "score", "difference", "interval", "q", "pass rate", "failing / passing",
    ]  # fmt: skip
    shown = []
    for row in rows.head(MOST_ROWS).iter_rows(named=True):
        interval = "–" if row["ci_low"] is None else f"{row['ci_low']:+.3f} to {row['ci_high']:+.3f}"
        flipped = (
            "–" if row["newly_failing"] is None else f"{row['newly_failing']:,} / {row['newly_passing']:,}"
        )
        shown.append(
            [
                *([row["slice"]] if sliced else []),
                row["metric"],
                *([row["candidate"]] if several else []),
                Cell(verdict(row["verdict"]), VERDICTS.index(row["verdict"]), wide=True),
                row["n"],
                Cell(change(row["baseline_mean"], row["candidate_mean"], ".3f"), row["candidate_mean"]),
                number(row["difference"], "+.3f"),
                Cell(interval, row["ci_low"]),
                number(row["q_value"], ".2g"),
                Cell(
                    change(row["baseline_pass_rate"], row["candidate_pass_rate"], ".1%"),
                    row["pass_rate_difference"],
                ),
                Cell(flipped, row["newly_failing"]),
            ]
        )
    return table(caption, heads, shown, total=rows.height)


def changed_items(comparison: Comparison) -> Section | None:
    """Return the flips with their texts."""
    if comparison.flips.is_empty():
        return None
    return Section("changed", "Items that changed", flips(comparison))


def unmatched(comparison: Comparison) -> Section | None:
    """Return what could not be paired."""
    frame = comparison.unmatched
    if frame.is_empty():
        return None
    heads = ["item", "candidate", "metric", "missing in", "why"]
    order = ("item", "candidate", "metric", "missing", "reason")
    rows = frame.head(MOST_ROWS // 2).select(order).iter_rows()
    content = table("Items that are not in the paired numbers", heads, rows, total=frame.height)
    return Section("unmatched", "Not paired", content)


def notes(result: Result, method: str) -> Section:
    """Return what was left out, how it was made, and how to read it."""
    said = tag("ul", (tag("li", line(note)) for note in result.notes[:50])) if result.notes else None
    settings = tag(
        "dl",
        ((tag("dt", name), tag("dd", _setting(value))) for name, value in result.settings.items()),
        class_="settings",
    )
    return Section("notes", "Notes and method", join(said, tag("p", method), settings))


def _setting(value: Any) -> str:
    if isinstance(value, list):
        parts = [_setting(one) for one in value[:20]]
        return ", ".join(parts) + (f" and {len(value) - 20:,} more" if len(value) > 20 else "")
    if isinstance(value, float):
        return f"{value:g}"
    return "–" if value is None else line(str(value), 200)


def _grid(panels: list[Html]) -> Html:
    return tag("div", panels, class_="panels" if len(panels) > 1 else None)


def more(total: int, shown: int) -> Html:
    """Say how many charts are not in the page."""
    if shown >= total:
        return Html("")
    return tag("p", f"{total - shown:,} more are in the numbers only.", class_="left-out")
