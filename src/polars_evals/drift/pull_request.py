"""A comparison for a pull request: a sentence, a table that fits, the worst items, and where the page is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.claims import sentence
from polars_evals.drift.measures import with_telling
from polars_evals.drift.render import inert
from polars_evals.drift.written import Written
from polars_evals.wording import cell, change, counted, line

if TYPE_CHECKING:
    from polars_evals.drift.comparison import Comparison

SIGNS = {"regressed": "▼", "inconclusive": "◇", "improved": "▲", "no_change": "●"}
# Rows that stand open, rows in all, and items.
OPEN, MOST, WORST = 12, 100, 3
TEXT = 120


def markdown(comparison: Comparison, page: str | None = None) -> str:
    """Return Markdown in which every value is inert."""
    rows = with_telling(comparison).sort(
        "verdict",
        pl.col("slice").is_not_null(),
        comparison.spec.weight(),
        maintain_order=True,
        nulls_last=True,
    )
    first, rest = rows.head(OPEN), rows.slice(OPEN, MOST - OPEN)
    lines = [f"**{inert(sentence(comparison))}**", ""]
    if page is not None:
        lines += [f"Charts and all items: {inert(line(page, 400))}", ""]
    lines += _table(comparison, first)
    if rest.height:
        named = counted(rows.height - OPEN, "more row")
        named += "" if rows.height <= MOST else f", {MOST - OPEN} of them here"
        lines += ["", f"<details><summary>{named}</summary>", "", *_table(comparison, rest), "", "</details>"]
    lines += ["", *_worst(comparison)]
    lines += [f"- {inert(line(note))}" for note in comparison.notes]
    return "\n".join(lines).rstrip() + "\n"


def _table(comparison: Comparison, rows: pl.DataFrame) -> list[str]:
    several = len(comparison.spec.candidates) > 1
    sliced = rows["slice"].null_count() < rows.height
    heads = [
        "", *(["version"] if several else []), "metric", *(["slice"] if sliced else []),
        "mean" if comparison.spec.measures else "score", "difference", "pass rate", "n",
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * (len(heads) - 1)} ---: |"]
    for row in rows.iter_rows(named=True):
        written = Written.of(row["metric"], comparison.spec, 3)
        values = [
            f"{SIGNS[row['verdict']]} {row['verdict'].replace('_', ' ')}",
            *([line(row["candidate"], 40)] if several else []),
            line(row["metric"] if row["statistic"] is None else f"{row['metric']}, {row['statistic']}", 40),
            *(["all items" if row["slice"] is None else line(row["slice"], 40)] if sliced else []),
            written.levels(row["baseline_mean"], row["candidate_mean"]),
            written.difference(row),
            change(row["baseline_pass_rate"], row["candidate_pass_rate"], ".0%"),
            f"{row['n']:,}",
        ]
        lines.append(f"| {' | '.join(map(inert, values))} |")
    return lines


def worst_items(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the items whose scores lost most, each once, of what regressed if anything did."""
    if comparison.spec.item is None:
        return []
    found = comparison.items
    there = found.collect_schema()
    texts = [name for name in ("expected", "baseline_output", "candidate_output") if name in there]
    scores = ("baseline_score", "candidate_score", "difference")
    metrics = pl.col("metric").is_in(comparison.spec.metrics)
    kept = found.filter(metrics, pl.col("difference") < 0, _in_what_regressed(comparison, list(there)))
    worst = kept.with_columns(lost=pl.col("difference").mean().over("candidate", "item"))
    return (
        worst.sort("lost", "difference", "item")
        .unique("item", keep="first", maintain_order=True)
        .select("candidate", "metric", "item", *scores, *texts)
        .head(WORST)
        .collect()
        .to_dicts()
    )


def _in_what_regressed(comparison: Comparison, known: list[str]) -> pl.Expr:
    """Return where an item is one of those that regressed; everywhere if nothing did."""
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal")
    rows = rows.filter(pl.col("metric").is_in(comparison.spec.metrics), pl.col("verdict") == "regressed")
    places = []
    for row in rows.iter_rows(named=True):
        place = (pl.col("candidate") == row["candidate"]) & (pl.col("metric") == row["metric"])
        if row["slice"] is None:
            places.append(place)
        elif row["by"] in known:
            places.append(place & (pl.col(row["by"]).fill_null("null") == row["value"]))
    return pl.any_horizontal(places) if places else pl.lit(True)


def _worst(comparison: Comparison) -> list[str]:
    items = worst_items(comparison)
    if not items:
        return []
    lines = ["Lost most:", ""]
    for one in items:
        score = change(one["baseline_score"], one["candidate_score"], ".2f")
        who = f"{line(one['candidate'], 40)}, " if len(comparison.spec.candidates) > 1 else ""
        lines.append(
            f"- {inert(cell(one['item'], 60))} ({inert(who)}{inert(line(one['metric'], 40))} {score})"
        )
        texts = (
            ("expected", one["expected"]),
            ("was", one["baseline_output"]),
            ("is", one["candidate_output"]),
        )
        lines += [
            f"  - {name}: {inert(cell(text, TEXT))}"
            for name, text in texts
            if text is not None or name == "is"
        ]
    return [*lines, ""]
