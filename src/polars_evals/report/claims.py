"""What a comparison found, as a person would say it: few claims, each with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.answers import OUTCOMES
from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.measures import with_telling
from polars_evals.suite.measure import measures_of
from polars_evals.wording import counted, line, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.comparison import Comparison
    from polars_evals.drift.spec import ResolvedSpec
    from polars_evals.drift.timeline import Timeline
    from polars_evals.suite.measure import Measure

MOVED = {"regressed": "worse", "improved": "better"}
# Slices and metrics that are named one by one, before the others are only counted.
MOST_NAMED = 3
NAME = 60


@dataclass(frozen=True)
class Claim:
    """
    One thing that was found.

    Attributes
    ----------
    text
        A clause without a full stop.
    verdict
        What was found, in a word.
    candidates
        The versions that it is about.
    slice, metrics
        What it rests on; None and nothing for all items and for several metrics.
    """

    text: str
    verdict: str
    candidates: tuple[str, ...] = ()
    slice: str | None = None
    metrics: tuple[str, ...] = ()


def claims(comparison: Comparison) -> list[Claim]:
    """Return what was found, worst first."""
    candidates = comparison.spec.candidates
    if len(candidates) > 1:
        return _of_several(comparison)
    return claims_about(comparison, candidates[0])


def sentence(comparison: Comparison) -> str:
    """Return all claims in one sentence that names the versions."""
    spec = comparison.spec
    said = "; ".join(claim.text for claim in claims(comparison))
    if len(spec.candidates) > 1:
        return f"Against {line(spec.baseline, NAME)}: {said}."
    return f"{line(spec.candidates[0], NAME)} against {line(spec.baseline, NAME)}: {said}."


def claims_about(comparison: Comparison, candidate: str) -> list[Claim]:
    """Return what was found about one candidate: over all items, then slice by slice, then the rest."""
    spec = comparison.spec
    rows = with_telling(comparison).filter(pl.col("candidate") == candidate)
    short = len(comparison.slices["by"].unique()) == 1
    found = [
        claim
        for verdict in MOVED
        for claim in [
            *_over_all(rows, verdict, candidate, spec),
            *_in_slices(rows, verdict, candidate, spec, short=short),
        ]
    ]
    return [*found, *_rest(rows, candidate, alone=not found)]


def _over_all(rows: pl.DataFrame, verdict: str, candidate: str, spec: ResolvedSpec) -> list[Claim]:
    mine = rows.filter(pl.col("slice").is_null(), pl.col("verdict") == verdict)
    said = []
    # Answers can get worse, or slower; the one is not the other.
    for way, part in (
        (f"answers got {MOVED[verdict]} over all: ", mine.filter(pl.col("metric").is_in(spec.metrics))),
        ("", mine.filter(~pl.col("metric").is_in(spec.metrics))),
    ):
        if part.height:
            said.append(
                Claim(f"{way}{_moves(part, spec)}", verdict, (candidate,), None, tuple(part["metric"]))
            )
    return said


def _in_slices(
    rows: pl.DataFrame, verdict: str, candidate: str, spec: ResolvedSpec, *, short: bool
) -> list[Claim]:
    mine = rows.filter(pl.col("slice").is_not_null(), pl.col("verdict") == verdict)
    order = (
        mine.group_by("slice")
        .agg(_largest().max().alias("size"))
        .sort("size", "slice", descending=[True, False])
    )
    names = order["slice"].to_list()
    said = []
    for name in names[:MOST_NAMED]:
        of = mine.filter(pl.col("slice") == name)
        scored = of["metric"].is_in(spec.metrics).any()
        word = slice_word(name, short=short)
        text = f"{word} got {MOVED[verdict]}: {_moves(of, spec)}" if scored else f"{word}: {_moves(of, spec)}"
        said.append(Claim(text, verdict, (candidate,), name, tuple(of["metric"])))
    more = len(names) - MOST_NAMED
    if more > 0:
        text = f"{more:,} more slice{'s' if more > 1 else ''} got {MOVED[verdict]}"
        said.append(Claim(text, verdict, (candidate,)))
    return said


def slice_word(name: str, *, short: bool = True) -> str:
    """Return the name of a slice in a sentence: its value, where there is one column of slices."""
    word = name.partition("=")[2] if short and "=" in name and ", " not in name else name
    return line(word, NAME) or name


def _rest(rows: pl.DataFrame, candidate: str, *, alone: bool) -> list[Claim]:
    rest = rows.filter(~pl.col("verdict").is_in(list(MOVED)))
    if rest.is_empty():
        return []
    open_ = rest.filter(pl.col("verdict") == "inconclusive").height
    verdict = "inconclusive" if open_ else "no_change"
    if not open_:
        text = "nothing changed" if alone else "the rest did not change"
    elif alone:
        text = "no change can be told from noise"
    else:
        text = "the rest cannot be told from noise"
    return [Claim(text, verdict, (candidate,))]


def _largest() -> pl.Expr:
    """Return how far rows moved, in parts of the smallest change that matters: units differ."""
    size = pl.col("difference").abs() / pl.col("min_effect")
    return pl.when(size.is_finite()).then(size).otherwise(pl.col("difference").abs())


def _moves(rows: pl.DataFrame, spec: ResolvedSpec) -> str:
    """Name each metric with how far it moved."""
    ordered = rows.sort(_largest(), descending=True, nulls_last=True)
    told = [move(row, spec) for row in ordered.head(MOST_NAMED).iter_rows(named=True)]
    more = rows.height - MOST_NAMED
    return spoken([*told, f"{more:,} more"] if more > 0 else told)


def move(row: dict[str, Any], spec: ResolvedSpec) -> str:
    """Return ``exact_match 31 points lower``, ``levenshtein 0.26 lower``, or ``latency_ms 12% slower``."""
    measure = spec.measures.get(row["metric"])
    if measure is not None:
        return measure_move(row, measure)
    name, difference, rate = line(row["metric"], NAME), row["difference"], row["pass_rate_difference"]
    by_rate = row.get("pass_verdict") == row["verdict"] != row.get("score_verdict", row["verdict"])
    if by_rate and rate is not None:
        return f"the pass rate of {name} {_points(rate)}"
    if difference is None:
        return name
    if pass_or_fail(row):
        return f"{name} {_points(difference)}"
    way = "lower" if difference < 0 else "higher"
    return f"{name} {quantity(abs(difference))} {way}"


def measure_move(row: dict[str, Any], measure: Measure) -> str:
    """Return ``latency_ms 12% slower (812 ms → 909 ms)``, or ``p95 of latency_ms 40% slower``."""
    name, before, difference = line(row["metric"], NAME), row["baseline_mean"], row["difference"]
    if row.get("statistic") is not None:
        name = f"{row['statistic']} of {name}"
    if difference is None or before is None:
        return name
    levels = f"({measure.amount(before)} → {measure.amount(row['candidate_mean'])})"
    if before > 0:
        part = abs(difference) / before
        if part < 10:
            return f"{name} {part:.1%} {measure.way(difference)} {levels}".replace(".0%", "%")
    return f"{name} {measure.amount(abs(difference))} {measure.way(difference)} {levels}"


def quantity(value: float) -> str:
    """Return a number with two or three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def _points(difference: float) -> str:
    points = abs(difference) * 100
    digits = f"{points:.0f}" if points >= 9.5 else f"{points:.2g}"
    return f"{digits} point{'' if digits == '1' else 's'} {'lower' if difference < 0 else 'higher'}"


def pass_or_fail(row: dict[str, Any]) -> bool:
    """Tell whether a metric has only the scores 0 and 1: its mean is then its pass rate."""
    if row["metric"] in OUTCOMES:
        return True
    pairs = (
        (row["baseline_mean"], row["baseline_pass_rate"]),
        (row["candidate_mean"], row["candidate_pass_rate"]),
    )
    return all(a is not None and b is not None and abs(a - b) < NEGLIGIBLE for a, b in pairs)


def _of_several(comparison: Comparison) -> list[Claim]:
    """Return a claim for each way in which candidates moved over all items, worst first."""
    metrics = comparison.spec.metrics
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for candidate in comparison.spec.candidates:
        mine = comparison.summary.filter(pl.col("candidate") == candidate)
        worse, better = (tuple(mine.filter(pl.col("verdict") == verdict)["metric"]) for verdict in MOVED)
        groups.setdefault((worse, better), []).append(candidate)
    said = []
    # Losses first, then gains, the most of them first; what cannot be told comes last.
    order = sorted(
        groups.items(), key=lambda one: (not one[0][0], not one[0][1], -len(one[0][0]), -len(one[0][1]))
    )
    for (worse, better), names in order:
        ways = [
            f"{way} on {_named(moved, metrics)}"
            for way, moved in (("worse", worse), ("better", better))
            if moved
        ]
        verdict = "regressed" if worse else "improved" if better else "inconclusive"
        are = "is" if len(names) == 1 else "are"
        how = f"{are} {spoken(ways)}" if ways else "cannot be told from it over all items"
        said.append(
            Claim(
                f"{spoken([line(one, NAME) for one in names])} {how}",
                verdict,
                tuple(names),
                None,
                worse or better,
            )
        )
    # What is worse over all items comes first, then losses that such a mean hides, and then the others.
    losses = [claim for claim in said if claim.verdict == "regressed"]
    return [*losses, *_losses_in_slices(comparison), *said[len(losses) :]]


def _named(moved: Sequence[str], metrics: Sequence[str]) -> str:
    """Name what moved; all metrics are one word, measures are named beside them."""
    every = len(metrics) > 1 and set(metrics) <= set(moved)
    names = [line(one, NAME) for one in moved if not (every and one in metrics)]
    return spoken(["every metric", *names] if every else names)


def _losses_in_slices(comparison: Comparison) -> list[Claim]:
    """Return a claim for each candidate that lost in a slice by what it did not lose by over all items."""
    short = len(comparison.slices["by"].unique()) == 1
    said = []
    lost = [
        frame.filter(pl.col("verdict") == "regressed") for frame in (comparison.slices, comparison.summary)
    ]
    hidden = lost[0].join(lost[1], on=["candidate", "metric"], how="anti", maintain_order="left")
    for candidate in comparison.spec.candidates:
        mine = hidden.filter(pl.col("candidate") == candidate)
        names = mine.sort(comparison.spec.weight())["slice"].unique(maintain_order=True).to_list()
        if names:
            words = [slice_word(name, short=short) for name in names[:MOST_NAMED]]
            more = len(names) - MOST_NAMED
            where = spoken([*words, counted(more, "more slice")] if more > 0 else words)
            text = f"{line(candidate, NAME)} got worse in {where}"
            said.append(Claim(text, "regressed", (candidate,), names[0] if len(names) == 1 else None))
    if len(said) > MOST_NAMED:
        names = [claim.candidates[0] for claim in said]
        return [Claim(f"{len(names):,} versions got worse in some slice", "regressed", tuple(names))]
    return said


def changes(timeline: Timeline) -> list[Claim]:
    """Return what moved over time and since when, worst first."""
    measures = measures_of(timeline.settings["measures"])
    moved = timeline.summary.filter(pl.col("verdict").is_in(list(MOVED))).sort("verdict", "difference")
    said = []
    for row in moved.iter_rows(named=True):
        what = line(" · ".join(filter(None, (row["version"], row["slice"]))) or "all answers", NAME)
        measure = measures.get(row["metric"])
        way = "lower" if row["difference"] < 0 else "higher"
        size = quantity(abs(row["difference"]))
        if measure is not None:
            way, size = measure.way(row["difference"]), measure.amount(abs(row["difference"]))
        began = "" if row["began"] is None else f" since {row['began']:%Y-%m-%d}"
        text = f"{what} got {MOVED[row['verdict']]}: {line(row['metric'], NAME)} {size} {way}{began}"
        versions = () if row["version"] is None else (row["version"],)
        said.append(Claim(text, row["verdict"], versions, row["slice"], (row["metric"],)))
    return said
