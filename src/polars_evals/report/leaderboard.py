"""Versions against metrics: one row a version, best first, each score with its interval and verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_evals.drift.columns import as_text
from polars_evals.drift.rank import rank
from polars_evals.report.evidence import lower_is_better, unit
from polars_evals.report.links import candidate_id
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.page_tables import SIGNS, Cell, table
from polars_evals.wording import line

if TYPE_CHECKING:
    from polars_evals.drift import Comparison, Ranking
    from polars_evals.suite.measure import Measure

LEGEND = (
    "Best first, by the average rank over the metrics. ★ is the best score of a metric, ☆ one that cannot be "
    "told from it; ▲ ▼ are the verdicts against the baseline, ◇ cannot tell, ● no change. Intervals hold all "
    "at once."
)


def ranking(comparison: Comparison) -> Ranking | None:
    """Rank the versions that were compared; None where that cannot be done."""
    spec, frame = comparison.spec, comparison.table
    if frame is None or spec.item is None:
        return None
    scored = set(frame.collect_schema())
    metrics = [
        name
        for name in spec.metrics
        if f"{name}_score" in scored and not unit(comparison, name) and not lower_is_better(comparison, name)
    ]
    wanted = frame.filter(as_text(frame.collect_schema(), spec.version).is_in(spec.versions))
    try:
        return rank(
            wanted, version=spec.version, item=spec.item, metrics=metrics, cluster=spec.cluster,
            baseline=spec.baseline, unanswered=spec.unanswered, alpha=spec.alpha, seed=spec.seed,
        )  # fmt: skip
    except ValueError:
        # Too few items have a score in every version.
        return None


def leaderboard(comparison: Comparison, *, linked: bool = True) -> Html:
    """Return the matrix of versions and metrics."""
    spec = comparison.spec
    cells = _cells(comparison)
    metrics = comparison.summary["metric"].unique(maintain_order=True).to_list()
    order = sorted(spec.versions, key=lambda version: _average_rank(comparison, cells, metrics, version))
    rows = []
    for place, version in enumerate(order):
        name: Any = line(version, 60)
        if version == spec.baseline:
            name = join(name, " ", tag("span", "baseline", class_="tag"))
        elif linked:
            name = tag("a", name, href=f"#{candidate_id(spec.candidates, version)}")
        shown = [_shown(cells.get((version, metric)), spec.measure(metric)) for metric in metrics]
        rows.append([Cell(name if isinstance(name, Html) else join(name), place, wide=True), *shown])
    caption = f"Mean scores of {len(order):,} versions with {1 - spec.alpha:.0%} intervals"
    return join(
        table(caption, ["version", *(line(one, 40) for one in metrics)], rows, class_="leaderboard"),
        tag("p", LEGEND, class_="left-out"),
    )


def _cells(comparison: Comparison) -> dict[tuple[str, str], dict[str, Any]]:
    """Return mean, interval, rank and verdict of each version and metric."""
    spec = comparison.spec
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in comparison.summary.iter_rows(named=True):
        none = {"low": None, "high": None, "best": False, "may": False}
        before = {"mean": row["baseline_mean"], "verdict": None, **none}
        cells.setdefault((spec.baseline, row["metric"]), before)
        cells[row["candidate"], row["metric"]] = {
            "mean": row["candidate_mean"], "verdict": row["verdict"], **none,
        }  # fmt: skip
    ranked = ranking(comparison)
    if ranked is not None:
        for row in ranked.summary.iter_rows(named=True):
            cells[row["version"], row["metric"]] |= {
                "mean": row["mean"], "low": row["ci_low"], "high": row["ci_high"],
                "best": row["rank"] == 1, "may": row["rank_low"] == 1,
            }  # fmt: skip
    known = set() if ranked is None else set(ranked.summary["metric"])
    for metric in spec.names:
        if metric in known:
            continue
        means = {v: one["mean"] for (v, m), one in cells.items() if m == metric and one["mean"] is not None}
        if means:
            best = (min if lower_is_better(comparison, metric) else max)(means.values())
            for version, mean in means.items():
                cells[version, metric]["best"] = mean == best
    return cells


def _average_rank(
    comparison: Comparison, cells: dict[tuple[str, str], dict[str, Any]], metrics: list[str], version: str
) -> float:
    ranks = []
    for metric in metrics:
        own = cells.get((version, metric), {}).get("mean")
        means = [
            one["mean"] for (_, name), one in cells.items() if name == metric and one["mean"] is not None
        ]
        if own is not None:
            lower = lower_is_better(comparison, metric)
            ranks.append(sum(1 for mean in means if (mean < own if lower else mean > own)))
    return sum(ranks) / len(ranks) if ranks else float("inf")


def _shown(cell: dict[str, Any] | None, measure: Measure | None) -> Cell:
    if cell is None or cell["mean"] is None:
        return Cell("–")
    mean = f"{cell['mean']:.3f}" if measure is None or measure.share else measure.amount(cell["mean"])
    star, meaning = ("★", "best") if cell["best"] else ("☆", "may be the best") if cell["may"] else ("", "")
    verdict = (cell["verdict"] or "").replace("_", " ")
    parts = [
        tag("span", star, class_="star", title=meaning) if star else None,
        tag("span", mean, class_="best" if cell["best"] else None),
        " ",
        tag(
            "span", SIGNS[cell["verdict"]], class_=f"sign {cell['verdict']}", role="img", aria_label=verdict,
            title=verdict,
        )
        if verdict
        else None,
    ]  # fmt: skip
    if cell["low"] is not None:
        interval = f"{cell['low']:.3f} – {cell['high']:.3f}"
        parts.append(tag("span", interval, class_="interval"))
    return Cell(join(parts), cell["mean"])
