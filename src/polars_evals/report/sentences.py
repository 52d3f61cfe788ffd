"""What was found, as a person would say it: one sentence for every result, and claims for a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.report.numbers import amount, day, middle_cut, percent, short_names, signed
from polars_evals.report.tables import MOVED, ORDER, WORDS, Row, outcome_name, rows_of, series_of
from polars_evals.wording import counted, line, spoken, verb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_evals.drift import Agreement, Calibration, Comparison, Ranking, Runs, SamplePlan, Timeline
    from polars_evals.drift.result import Result

# Claims of a page, and things that are named one by one before the others are only counted.
MOST_CLAIMS = MOST_NAMED = 3
# A slice is named beside all items if it moved this much further.
FURTHER = 1.5
WORST = 3


@dataclass(frozen=True)
class Claim:
    """One thing that was found, as a clause without a full stop, and the versions that it is about."""

    text: str
    verdict: str
    candidates: tuple[str, ...] = ()
    # The row that it rests on most; None where it rests on many.
    row: Row | None = None


@dataclass(frozen=True)
class Story:
    """What a comparison found."""

    # Who is compared with whom.
    title: str
    # How many rows, or versions, have each verdict.
    counts: dict[str, int]
    # Worst first, at most three.
    claims: tuple[Claim, ...]
    # What is known of everything else, as sentences.
    rest: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def sentence(self) -> str:
        """Everything in one line."""
        said = "; ".join(claim.text for claim in self.claims)
        parts = [*([f"{said}."] if said else []), *self.rest]
        return " ".join([f"{self.title}:", *parts]) if parts else f"{self.title}."


def sentence(result: Result) -> str:
    """Return what any result found in a sentence."""
    makers: dict[str, Callable[[Any], str]] = {
        "Agreement": _agreement, "Calibration": _calibration, "Comparison": lambda one: story(one).sentence,
        "Ranking": _ranking, "Runs": _runs, "SamplePlan": _plan, "Timeline": _timeline,
    }  # fmt: skip
    return line(makers[type(result).__name__](result), 2_000)


def story(comparison: Comparison) -> Story:
    """Return what a comparison found."""
    rows = rows_of(comparison)
    spec = comparison.spec
    if len(spec.candidates) > 1:
        return _of_several(comparison, rows)
    candidate = spec.candidates[0]
    sure = comparison.verdicts[candidate] == "regressed"
    claims = _claims(rows, sure=sure)
    counts = {kind: sum(row.verdict == kind for row in rows) for kind in ORDER}
    more = len(claims) - MOST_CLAIMS
    rest = [] if more <= 0 else [f"{counted(more, 'more finding')}."]
    rest += _rest(comparison, rows)
    title = f"{middle_cut(candidate)} against {middle_cut(spec.baseline)}"
    return Story(title, counts, tuple(claims[:MOST_CLAIMS]), tuple(rest), tuple(rows))


def claims_about(comparison: Comparison, candidate: str) -> list[Claim]:
    """Return what was found about one candidate, worst first."""
    rows = [row for row in rows_of(comparison) if row.candidate == candidate]
    return _claims(rows, sure=comparison.verdicts[candidate] == "regressed")


def _claims(rows: Sequence[Row], *, sure: bool) -> list[Claim]:
    """Return a claim for all items and one for each slice that moved differently, worst first."""
    found: list[Claim] = []
    # Aggregates are scores too.
    metrics = list(dict.fromkeys(row.metric for row in rows if row.is_score))
    short = len({row.by for row in rows if row.by is not None}) == 1
    for verdict, way in MOVED.items():
        mine = [row for row in rows if row.verdict == verdict]
        over_all = {row.name: row for row in mine if row.slice is None}
        # A loss that does not survive the correction over all rows is not what the comparison concludes.
        is_ = f"may be {way}" if verdict == "regressed" and not sure else f"is {way}"
        scored = [row for row in over_all.values() if row.is_score]
        if scored:
            text = f"overall {way if sure or verdict == 'improved' else is_}{_what_moved(scored, metrics)}"
            found.append(Claim(text, verdict, (scored[0].candidate,), _lead(scored)))
        found += [
            Claim(_move(row), verdict, (row.candidate,), row) for row in _others(list(over_all.values()))
        ]
        slices: dict[str, list[Row]] = {}
        named = [row for row in mine if row.is_score] + _others(mine)
        for row in mine:
            if row.slice is not None and row in named and _says_more(row, over_all.get(row.name)):
                slices.setdefault(row.slice, []).append(row)
        for name, parts in sorted(slices.items(), key=lambda one: (-max(r.weight for r in one[1]), one[0])):
            scored = [row for row in parts if row.is_score]
            word = _slice_word(name, short=short)
            text = f"{word} {is_}{_what_moved(scored, metrics)}" if scored else f"{word}: {_move(parts[0])}"
            found.append(Claim(text, verdict, (parts[0].candidate,), _lead(scored or parts)))
    return found


def _others(rows: Sequence[Row]) -> list[Row]:
    """Return measures and shares of answers, each cause once: an error is also a missing answer."""
    kept = [row for row in rows if not row.is_score]
    if any(row.metric == "error" for row in kept):
        kept = [row for row in kept if row.metric != "answered"]
    return sorted(kept, key=lambda row: row.has_unit)


def _says_more(row: Row, over_all: Row | None) -> bool:
    """Say whether a slice is worth a claim beside that of all items: it moved clearly further."""
    if over_all is None or over_all.verdict != row.verdict:
        return True
    if row.low is None or row.high is None or over_all.difference is None:
        return False
    return row.weight > FURTHER * over_all.weight and not row.low <= over_all.difference <= row.high


def _lead(rows: Sequence[Row]) -> Row:
    """Return the row that says most to a person: one with labels that flipped, else the largest change."""
    return max([row for row in rows if _flips(row)] or rows, key=lambda row: row.weight)


def _flips(row: Row) -> str:
    """Return how many items flipped in the direction of the verdict, if that is what happened."""
    sides = [(row.newly_failing or 0, "fails", "fail"), (row.newly_passing or 0, "passes", "pass")]
    (first, *words), (second, *others) = sides if row.verdict == "regressed" else sides[::-1]
    if first <= second:
        return ""
    more = f", {second:,} newly {verb(second, *others)}" if second else ""
    return f"{first:,} of {counted(row.n, 'item')} newly {verb(first, *words)}{more}"


def _what_moved(rows: Sequence[Row], metrics: Sequence[str]) -> str:
    """Return which metrics moved, and what that means in items or in the score."""
    names = list(dict.fromkeys(row.metric for row in rows))
    row = _lead(rows)
    flips = _flips(row)
    change = flips or f"{row.levels} ({row.change(row.difference)})"
    where = f" on {_named(names, metrics)}" if 1 < len(metrics) != len(names) else ""
    if len(metrics) > 1 and (len(names) > 1 or not where):
        change += f" ({middle_cut(row.metric if flips else row.name)})"
    elif row.part == "pass rate" and not flips:
        change = f"pass rate {change}"
    return f"{where}: {change}"


def _named(names: Sequence[str], metrics: Sequence[str]) -> str:
    """Name metrics, or those that are not among them where these are fewer.

    Examples
    --------
    >>> _named(["a", "b", "c", "d"], ["a", "b", "c", "d", "e"])
    '4 of 5 metrics, not e'
    >>> _named(["a", "b"], ["a", "b"]), _named(["a"], ["a", "b"])
    ('both metrics', 'a')
    """
    missing = [one for one in metrics if one not in names]
    others = [one for one in names if one not in metrics]
    own = [one for one in names if one in metrics]
    if len(own) > 1 and not missing:
        shown = ["both metrics" if len(own) == 2 else f"all {len(own)} metrics"]
    elif len(own) > MOST_NAMED:
        but = f", not {spoken([middle_cut(one) for one in missing])}" if len(missing) <= MOST_NAMED else ""
        shown = [f"{len(own)} of {len(metrics)} metrics{but}"]
    else:
        shown = [middle_cut(one) for one in own]
    return spoken([*shown, *(middle_cut(outcome_name(one)) for one in others)])


def _first(things: Sequence[str], most: int, noun: str) -> list[str]:
    """Return the first of some things, and how many more there are."""
    more = len(things) - most
    return [*things[:most], *([counted(more, noun)] if more > 0 else [])]


def _slice_word(name: str, *, short: bool = True) -> str:
    """Return the name of a slice in a sentence: its value, where there is one column of slices."""
    word = name.partition("=")[2] if short and "=" in name and ", " not in name else name
    return middle_cut(word) or name


def _move(row: Row) -> str:
    """Return what a measure or a share of answers did: `latency_ms 12% slower (812 ms → 909 ms)`."""
    name = middle_cut(outcome_name(row.metric))
    if row.measure is None or row.difference is None or row.before is None:
        return f"{middle_cut(row.name)} {row.levels}"
    if row.binary:
        return f"{name} {row.levels}"
    if row.part != "mean":
        name = f"{row.part} of {name}"
    way = row.measure.way(row.difference)
    part = abs(row.difference) / row.before if row.before > 0 else 10.0
    size = f"{part:.0%}" if 0.095 <= part < 10 else f"{part:.1%}"
    return f"{name} {size if part < 10 else amount(row.measure, abs(row.difference))} {way} ({row.levels})"


def _rest(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    """Return what is known of the rows that did not move."""
    open_ = [row for row in rows if row.verdict == "inconclusive"]
    count = f"{len(open_):,} of {len(rows):,} rows {verb(len(open_), 'is', 'are')} unclear."
    unclear = [count] if open_ and len(rows) > 1 else []
    whole = [row for row in rows if row.is_score and row.slice is None]
    if not any(row.moved for row in rows):
        if not any(row.judged for row in rows):
            return [f"No verdict: {whole[0].reason}." if whole else "No verdict."]
        if all(row.difference == 0 for row in whole) and (same := identical(comparison)):
            return [f"All {counted(same, 'answer')} are identical."]
        if not open_:
            least = min((row.min_effect for row in whole), default=0.0)
            return [f"No change: every difference is smaller than {least:g}."]
        known = _worst_case([row for row in whole if row.verdict == "inconclusive"] or whole)
        return [f"No clear change. {known}", *unclear]
    left = [row for row in whole if row.verdict == "inconclusive"]
    if not left or any(row.moved for row in whole):
        return unclear
    known = _worst_case(left)
    return [f"Overall unclear: {known[:1].lower()}{known[1:]}", *unclear]


def _worst_case(rows: Sequence[Row]) -> str:
    """Say what is ruled out: how much worse the metrics may be.

    A row without a worst case says how large a difference is not ruled out.
    """
    known = [row for row in rows if row.worst_case is not None]
    if not known:
        ends = [abs(end) for row in rows for end in (row.low, row.high) if end is not None]
        return f"Differences under ±{max(ends):.2g} cannot be ruled out." if ends else ""
    least = min(row.worst_case for row in known if row.worst_case is not None)
    rates = [row.pass_worst_case for row in known if row.pass_worst_case is not None and not row.binary]
    rate = f" (pass rate {signed(min(rates))})" if rates else ""
    return f"Not worse than {signed(least)}{' on any metric' if len(known) > 1 else ''}{rate}."


def identical(comparison: Comparison) -> int:
    """Return how many items have the same answer in both versions, if all have; else 0."""
    if comparison.spec.item is None or not comparison.spec.metrics:
        return 0
    answers = comparison.items.filter(pl.col("metric") == comparison.spec.metrics[0])
    same = pl.col("baseline_output").eq_missing(pl.col("candidate_output"))
    given = pl.col("baseline_output").is_not_null()
    n, equal = answers.select(pl.len(), (same & given).sum()).collect().row(0)
    return int(n) if n and n == equal else 0


def _of_several(comparison: Comparison, rows: Sequence[Row]) -> Story:
    """Return a claim for each way in which candidates moved over all items, worst first."""
    spec = comparison.spec
    found = comparison.verdicts
    counts = {kind: sum(one == kind for one in found.values()) for kind in ORDER}
    short = short_names([spec.baseline, *spec.candidates], 40)
    groups: dict[tuple[tuple[str, ...], tuple[str, ...], bool], list[str]] = {}
    for candidate in spec.candidates:
        mine = [row for row in rows if row.candidate == candidate and row.slice is None]
        worse, better = (
            tuple(dict.fromkeys(row.metric for row in mine if row.verdict == kind)) for kind in MOVED
        )
        # A loss that the correction over all rows does not confirm is not what the verdict says.
        sure = not worse or found[candidate] == "regressed"
        groups.setdefault((worse, better, sure), []).append(candidate)

    def importance(group: tuple[Any, list[str]]) -> tuple[Any, ...]:
        (worse, better, sure), names = group
        return not worse, not sure, not better, -len(worse), -len(names), -len(better)

    claims = []
    for (worse, better, sure), names in sorted(groups.items(), key=importance):
        ways = [f"{w} on {_named(m, spec.metrics)}" for w, m in (("worse", worse), ("better", better)) if m]
        if not ways:
            continue
        who = [short[one] for one in names]
        if len(who) > MOST_NAMED:
            who = [*who[: MOST_NAMED - 1], f"{len(who) - MOST_NAMED + 1} more"]
        text = f"{spoken(who)} {verb(len(names), 'is', 'are') if sure else 'may be'} {spoken(ways)}"
        lead = [row for row in rows if row.candidate == names[0] and row.slice is None and row.moved]
        claims.append(Claim(text, "regressed" if worse else "improved", tuple(names), _lead(lead)))
    losses = [claim for claim in claims if claim.verdict == "regressed"]
    hidden = _losses_in_slices(rows, short)
    claims = [*losses[:2], *hidden[:1], *losses[2:], *hidden[1:], *claims[len(losses) :]]
    best = next((claim for claim in claims if claim.verdict == "improved"), None)
    kept = claims[:MOST_CLAIMS]
    if best is not None and best not in kept:
        kept = [*kept[: MOST_CLAIMS - 1], best]
    verdicts = ", ".join(f"{counts[kind]:,} {word}" for kind, word in WORDS.items() if counts[kind])
    title = f"{len(spec.candidates):,} versions against {middle_cut(spec.baseline)}: {verdicts}"
    return Story(title, counts, tuple(kept), (), tuple(rows))


def _losses_in_slices(rows: Sequence[Row], names_of: dict[str, str]) -> list[Claim]:
    """Return a claim for each candidate that lost in a slice by what it did not lose by over all items."""
    short = len({row.by for row in rows if row.by is not None}) == 1
    found = []
    for candidate, who in names_of.items():
        lost = [row for row in rows if row.candidate == candidate and row.verdict == "regressed"]
        known = {row.metric for row in lost if row.slice is None}
        hidden = sorted(
            (row for row in lost if row.slice is not None and row.metric not in known),
            key=lambda row: -row.weight,
        )
        names = list(dict.fromkeys(row.slice for row in hidden if row.slice is not None))
        if names:
            words = [_slice_word(name, short=short) for name in names]
            where = spoken(_first(words, MOST_NAMED, "more slice"))
            found.append(Claim(f"{who} is worse in {where}", "regressed", (candidate,), hidden[0]))
    if len(found) > MOST_NAMED:
        names = [claim.candidates[0] for claim in found]
        return [Claim(f"{len(names):,} versions are worse in some slice", "regressed", tuple(names))]
    return found


def worst_items(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the items whose scores lost most, each once, of what regressed if anything did."""
    if comparison.spec.item is None:
        return []
    there = comparison.items.collect_schema()
    lost = [row for row in rows_of(comparison) if row.verdict == "regressed" and row.is_score]
    lost.sort(key=lambda row: (row.slice is not None, -row.weight))
    places = [
        (pl.col("candidate") == row.candidate)
        & (pl.col("metric") == row.metric)
        & (pl.lit(True) if row.by is None else pl.col(row.by).fill_null("null") == row.value)
        for row in lost[:20]
        if row.by is None or row.by in there
    ]
    kept = comparison.items.filter(
        pl.col("metric").is_in(comparison.spec.metrics),
        pl.col("difference") < 0,
        pl.any_horizontal(places) if places else pl.lit(True),
    )
    order = ("difference", "item", "metric", "candidate")
    shown = ("baseline_score", "candidate_score", "input", "expected", "baseline_output", "candidate_output")
    found = kept.select(*order, *shown).sort(order).head(20 * WORST).collect()
    return found.unique("item", keep="first", maintain_order=True).head(WORST).to_dicts()


def changes(timeline: Timeline) -> list[Claim]:
    """Return what moved over time and since when, worst first."""
    found = []
    for row in series_of(timeline):
        if not row.moved or row.difference is None:
            continue
        what = middle_cut(" · ".join(filter(None, (row.candidate, row.slice))) or "all answers")
        way, size = ("lower" if row.difference < 0 else "higher"), f"{abs(row.difference):.2g}"
        text = f"{what} {'are' if what == 'all answers' else 'is'} {MOVED[row.verdict]}"
        if row.measure is not None:
            # Slower answers are not worse answers.
            text, way, size = what, row.measure.way(row.difference), row.level(abs(row.difference))
        part = "" if row.part == "mean" else f" ({row.part})"
        began = "" if row.began is None else f" since {day(row.began)}"
        name = middle_cut(outcome_name(row.metric))
        found.append(Claim(f"{text}: {name}{part} {size} {way}{began}", row.verdict))
    return found


def period_of(timeline: Timeline) -> str:
    """Return how many series a timeline has, of which time."""
    # Windows of days and longer begin at midnight: the time of the first row says nothing.
    finer = timeline.settings["every"].rstrip("0123456789").endswith(("h", "m", "s"))
    first, last = (day(one if finer else date(one.year, one.month, one.day)) for one in timeline.period)
    return f"{timeline.summary.height:,} series from {first} to {last}, every {timeline.settings['every']}"


def _timeline(timeline: Timeline) -> str:
    found, about = changes(timeline), period_of(timeline)
    if found:
        return f"{'; '.join(_first([claim.text for claim in found], MOST_CLAIMS, 'more change'))}. {about}."
    unclear = timeline.summary.filter(pl.col("verdict") == "inconclusive").height
    known = f"No clear change: {unclear:,} of" if unclear else "No change in"
    return f"{known} {about}{', unclear' if unclear else ''}."


def _ranking(ranking: Ranking) -> str:
    leaders = []
    for (metric,), rows in ranking.summary.group_by("metric", maintain_order=True):
        first = rows.row(0, named=True)
        peers = rows.filter(pl.col("rank_low") == 1).height - 1
        doubt = "" if peers <= 0 else f", {counted(peers, 'other')} may be as good"
        leaders.append(
            f"{middle_cut(str(metric))}: {middle_cut(first['version'])} leads with {first['mean']:.3f}{doubt}"
        )
    return "; ".join(_first(leaders, 2 * MOST_NAMED, "more metric"))


def _calibration(calibration: Calibration) -> str:
    best = calibration.summary.row(0, named=True)
    if calibration.summary.height == 1:
        return f"{best['verdict']}: {best['metric']} ≥ {best['threshold']:g}; {best['reason']}"
    objective = calibration.settings["objective"]
    first = f"{best['metric']} agrees best (cross-validated {objective} {best[objective]:.2f})"
    if best["kappa_ci_low"] <= 0:
        return f"{calibration.verdict}: {first}, which may be chance"
    near = calibration.rivals
    if near:
        return f"{calibration.verdict}: {first}, but not clearly better than {', '.join(near)}"
    return f"{calibration.verdict}: {first}, clearly better than every other metric"


def _plan(plan: SamplePlan) -> str:
    runs = "" if plan.runs == 1 else f", each answered {plan.runs} times by each version,"
    settings = plan.settings
    return (
        f"{plan.items:,} items{runs} detect a difference of {settings['min_effect']:g} "
        f"({percent(settings['power'])} power, alpha = {settings['alpha']:g})."
    )


def _runs(runs: Runs) -> str:
    if not runs.repeated:
        once = (runs.variance["rows"] <= runs.variance["n"]).all()
        why = "every item has one run" if once else "no item has several runs with a label"
        return f"inconclusive: {why}, so it is unknown which items pass only sometimes"
    items = runs.items["item"].n_unique()
    pass_ = verb(items, "passes in some runs and fails", "pass in some runs and fail")
    return f"{runs.verdict}: {counted(items, 'item')} {pass_} in others"


def _agreement(agreement: Agreement) -> str:
    row = agreement.summary.row(by_predicate=pl.col("statistic") == "krippendorff_alpha", named=True)
    who = spoken([middle_cut(one) for one in agreement.settings["raters"]])
    if row["value"] is None:
        return f"{agreement.verdict}: {who} gave the same rating to every item"
    interval = "" if row["ci_low"] is None else f", interval {row['ci_low']:.2f} to {row['ci_high']:.2f}"
    return f"{agreement.verdict}: {who} agree with alpha = {row['value']:.2f}{interval} (n = {row['n']:,})"
