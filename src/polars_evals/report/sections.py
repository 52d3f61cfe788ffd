"""The parts of a page about a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.drift.written import Written
from polars_evals.report import viewer
from polars_evals.report.claims import claims, claims_about, pass_or_fail
from polars_evals.report.drawn_rows import evidence_rows
from polars_evals.report.facts import facts
from polars_evals.report.figure import figure
from polars_evals.report.leaderboard import leaderboard
from polars_evals.report.links import candidate_id, claim_link, items_link
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.page_tables import Cell, number, table, verdict
from polars_evals.wording import cell, change, counted, line, listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_evals.drift import Comparison
    from polars_evals.drift.result import Result
    from polars_evals.report.claims import Claim

# Rows of a table, rows before the others are folded, and charts of a kind.
MOST_ROWS, UNFOLDED, MOST_PANELS, UNFOLDED_PANELS = 200, 24, 12, 6

METHOD = (
    "A row regressed or improved when its interval excludes 0, the difference is at least min_effect, and "
    "the Benjamini–Hochberg q-value over all metrics and slices is at most alpha. It shows no change when "
    "the interval lies within min_effect of 0. Otherwise the data cannot tell. Intervals and pass rates are "
    "those of one row each, not corrected for their number. The verdict on a version is its worst one."
)


@dataclass(frozen=True)
class Section:
    """A part of a page with its heading."""

    name: str
    title: str
    content: Html


def lede(comparison: Comparison, source: str | None = None) -> Html:
    """Return the result in a sentence whose claims lead to what they rest on, and what it was made of."""
    spec = comparison.spec
    said = sentence_of(claims(comparison), partial(claim_link, comparison))
    begin = f"Against {line(spec.baseline, 60)}: " if len(spec.candidates) > 1 else ""
    return join(
        tag("p", begin, said, ".", class_="sentence"),
        tag("p", facts(comparison, source), class_="facts"),
    )


def sentence_of(found: Iterable[Claim], shown: Any) -> Html:
    """Return claims one after the other, each with the sign of its verdict."""
    return join(
        ["; " if at else "", tag("span", shown(claim), class_=f"claim {claim.verdict}")]
        for at, claim in enumerate(found)
    )


def board(comparison: Comparison) -> Section | None:
    """Return the matrix of versions and metrics, where there are more than two versions."""
    if len(comparison.spec.candidates) < 2:
        return None
    return Section("leaderboard", "Versions", leaderboard(comparison))


def evidence(comparison: Comparison) -> Section:
    """Return what moved: of one candidate at once, of several one after the other, to unfold."""
    spec = comparison.spec
    if len(spec.candidates) == 1:
        return Section("metrics", "What moved", _candidate(comparison, spec.candidates[0]))
    found, linked = comparison.verdicts, partial(partial, _about_link, comparison)
    parts = (
        tag(
            "details",
            tag(
                "summary", verdict(found[name]), " ", tag("b", line(name, 80)), " ",
                tag("span", "; ".join(claim.text for claim in claims_about(comparison, name)), class_="said"),
                class_="candidate",
            ),
            tag("p", sentence_of(claims_about(comparison, name), linked(name)), "."),
            _candidate(comparison, name),
            id=candidate_id(spec.candidates, name),
            class_="candidate",
        )
        for name in sorted(spec.candidates, key=lambda name: VERDICTS.index(found[name]))[:MOST_ROWS]
    )  # fmt: skip
    return Section("metrics", "Each version against the baseline", join(parts))


def _about_link(comparison: Comparison, name: str, claim: Claim) -> Html:
    one = claim.metrics[0] if len(claim.metrics) == 1 else None
    best = claim.verdict == "improved"
    return items_link(comparison, claim.text, version=name, slice_=claim.slice, metric=one, best=best)


def _candidate(comparison: Comparison, candidate: str) -> Html:
    """Return the differences of a candidate as a chart and in numbers."""
    spec = comparison.spec
    level = f"{1 - spec.alpha:.0%}"
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal").filter(
        pl.col("candidate") == candidate
    )
    drawn = evidence_rows(comparison, candidate).drop_nulls("difference").height
    chart = None
    whose = f" of {line(candidate, 60)}" if len(spec.candidates) > 1 else ""
    slices = rows["slice"].n_unique()
    shown = evidence_rows(comparison, candidate)["slice"].n_unique()
    if drawn:
        chart = figure(
            partial(comparison.plot.evidence, candidate),
            label=(
                f"Differences in mean score of {line(candidate, 60)} with {level} intervals, over all items "
                "and by slice; the table below has the numbers"
            ),
            caption=(
                f"Difference in mean score with its {level} interval. The grey band holds differences "
                f"smaller than {spec.min_effect:g}."
                + (
                    ""
                    if shown == slices
                    else f" Of {slices - 1:,} slices, the worst {shown - 1:,} are drawn."
                )
            ),
            panel=len(spec.candidates) > MOST_PANELS,
        )
    ordered = rows.sort(
        "verdict", pl.col("slice").is_not_null(), "difference", maintain_order=True, nulls_last=True
    )
    scores = ordered.filter(~pl.col("metric").is_in(list(spec.measures)))
    return join(chart, numbers(comparison, scores, f"Scores{whose}, worst verdict first"), _why(ordered))


def _why(rows: pl.DataFrame) -> Html:
    reasons = (
        tag(
            "li",
            tag("b", line(" · ".join(filter(None, (row["metric"], row["slice"]))), 120)),
            f": {row['reason']}.",
        )
        for row in rows.head(MOST_ROWS).iter_rows(named=True)
    )
    return tag("details", tag("summary", "why these verdicts"), tag("ul", reasons))


def numbers(comparison: Comparison, rows: pl.DataFrame, caption: str, value: str = "score") -> Html:
    """Return the rows of a comparison as a table; beyond a screenful the others are folded."""
    sliced = rows["slice"].null_count() < rows.height
    labelled = rows["baseline_pass_rate"].null_count() < rows.height
    heads = [
        "metric", *(["slice"] if sliced else []), "verdict", "n", value, "difference", "interval", "q",
        *(["pass rate", "failing / passing"] if labelled else []),
    ]  # fmt: skip
    shown = [
        _numbers(comparison, row, sliced)[: len(heads)] for row in rows.head(MOST_ROWS).iter_rows(named=True)
    ]
    first = table(caption, heads, shown[:UNFOLDED], total=len(shown[:UNFOLDED]))
    rest = None
    if shown[UNFOLDED:]:
        others = table(f"{caption}, continued", heads, shown[UNFOLDED:], total=rows.height - UNFOLDED)
        rest = tag("details", tag("summary", f"the other {counted(rows.height - UNFOLDED, 'row')}"), others)
    return join(first, rest)


def _numbers(comparison: Comparison, row: dict[str, Any], sliced: bool) -> list[Any]:
    spec = comparison.spec
    version = row["candidate"] if len(spec.candidates) > 1 else None
    written = Written.of(row["metric"], spec, digits=3)
    interval = "–" if row["ci_low"] is None else written.span(row["ci_low"], row["ci_high"])
    moved = "–" if row["difference"] is None else written.signed(row["difference"])
    flipped = "–" if row["newly_failing"] is None else f"{row['newly_failing']:,} / {row['newly_passing']:,}"
    place = "all items" if row["slice"] is None else line(row["slice"], 80)
    linked = items_link(
        comparison,
        place,
        version=version,
        slice_=row["slice"],
        metric=row["metric"],
        best=row["verdict"] == "improved",
    )
    name = line(row["metric"], 80)
    return [
        Cell(join(name) if sliced else items_link(comparison, name, version=version, metric=row["metric"])),
        *([Cell(linked)] if sliced else []),
        Cell(verdict(row["verdict"]), VERDICTS.index(row["verdict"]), wide=True),
        row["n"],
        Cell(written.levels(row["baseline_mean"], row["candidate_mean"]), row["candidate_mean"]),
        Cell(moved, row["difference"]),
        Cell(interval, row["ci_low"]),
        number(row["q_value"], ".2g"),
        Cell(
            change(row["baseline_pass_rate"], row["candidate_pass_rate"], ".1%"), row["pass_rate_difference"]
        ),
        Cell(flipped, row["newly_failing"]),
    ]


def distributions(comparison: Comparison) -> Section | None:
    """Return how scores are spread and how items moved, for the rows that moved most."""
    spec = comparison.spec
    rows = comparison.summary.filter(pl.col("metric").is_in(spec.metrics), pl.col("ks").is_not_null())
    order = rows.sort("verdict", pl.col("difference").abs(), descending=[False, True], nulls_last=True)
    panels: list[Html] = []
    drawn = 0
    for row in order.iter_rows(named=True):
        if len(panels) >= MOST_PANELS:
            break
        panels += _panels(comparison, row)
        drawn += 1
    if not panels:
        return None
    rest = None
    if panels[UNFOLDED_PANELS:]:
        count = len(panels) - UNFOLDED_PANELS
        rest = tag("details", tag("summary", counted(count, "more chart")), grid(panels[UNFOLDED_PANELS:]))
    content = join(
        grid(panels[:UNFOLDED_PANELS]),
        rest,
        more(rows.height, drawn, "those with the worst verdicts are drawn"),
    )
    return Section("distributions", "How scores are spread", content)


def _panels(comparison: Comparison, row: dict[str, Any]) -> list[Html]:
    metric, candidate = row["metric"], row["candidate"]
    plot, baseline = comparison.plot, comparison.spec.baseline
    who = f"{line(candidate, 60)} and {line(baseline, 60)}"
    flips = (
        ""
        if row["newly_failing"] is None
        else f"{row['newly_failing']:,} newly failing, {row['newly_passing']:,} newly passing"
    )
    if pass_or_fail(row):
        return [
            figure(
                partial(plot.pass_rates, metric, candidate=candidate),
                label=f"Share of answers of {who} that pass {line(metric, 60)}: {flips}",
                caption=f"{flips}.",
                panel=True,
            )
        ]
    drawn = []
    if comparison.table is not None and comparison.spec.item is not None and row["n"]:
        drawn.append(
            figure(
                partial(plot.paired, metric, candidate=candidate),
                label=f"Differences of {line(metric, 60)} between {who}, item by item: {flips}",
                caption=f"{flips or 'Differences item by item'}.",
                panel=True,
            )
        )
    drawn.append(
        figure(
            partial(plot.distributions, metric, candidate=candidate),
            label=f"Distribution of {line(metric, 60)} scores of {who}: {_spread(row)}",
            caption=f"{_spread(row)}.",
            numbers=_bins(comparison, row),
            panel=True,
        )
    )
    return drawn


def _spread(row: dict[str, Any]) -> str:
    psi = "" if row["psi"] is None else f", population stability index {row['psi']:.2f}"
    return f"Kolmogorov–Smirnov distance {row['ks']:.2f}{psi}"


def _bins(comparison: Comparison, row: dict[str, Any]) -> Html:
    baseline = comparison.spec.baseline
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
    whose = f" of {line(row['candidate'], 60)}" if len(comparison.spec.candidates) > 1 else ""
    return table(f"Share of {line(row['metric'], 60)} scores{whose}", names, rows)


def items(comparison: Comparison) -> Section | None:
    """Return the items with their texts."""
    content = viewer.items(comparison)
    return None if content is None else Section("items", "Items", content)


def unmatched(comparison: Comparison) -> Section | None:
    """Return what could not be paired."""
    frame = comparison.unmatched
    if frame.is_empty():
        return None
    heads = ["item", "candidate", "metric", "missing in", "why"]
    order = ("item", "candidate", "metric", "missing", "reason")
    rows = frame.head(UNFOLDED).select(order).iter_rows()
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
    if isinstance(value, dict):
        return listed(list(value), 20) if value else "–"
    if isinstance(value, list):
        return listed([_setting(one) for one in value], 20)
    if isinstance(value, float):
        return f"{value:g}"
    return "–" if value is None else line(str(value), 200)


def grid(panels: list[Html]) -> Html:
    """Return charts side by side."""
    return tag("div", panels, class_="panels" if len(panels) > 1 else None)


def more(total: int, shown: int, which: str = "") -> Html:
    """Say how many charts are not in the page, and which are."""
    left = total - shown
    if left <= 0:
        return Html("")
    are = "is" if left == 1 else "are"
    return tag("p", f"{left:,} more {are} in the numbers only{which and f'; {which}'}.", class_="left-out")
