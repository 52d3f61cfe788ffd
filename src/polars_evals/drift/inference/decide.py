"""The verdict on a row, and why in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_evals.drift.answers import WORDS
from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.inference.testing import FEWEST_CLUSTERS
from polars_evals.drift.written import Written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_evals.drift.spec import ResolvedSpec

# From so many items or clusters on, a reason says which change they find.
FEWEST_TOLD = 30

# Worst first.
VERDICTS = ["regressed", "inconclusive", "improved", "no_change"]
NOT_WORSE = ["no", "unknown", "yes"]


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts; of none, that nothing can be concluded."""
    return min(verdicts, key=VERDICTS.index, default="inconclusive")


class Judgement(NamedTuple):
    """What is said of a mean score or of a pass rate."""

    verdict: str
    reason: str
    # The verdict that may be asked for every day.
    sequential: str


def judge(rows: pl.DataFrame, spec: ResolvedSpec, *, only_runs: int = 0) -> pl.DataFrame:
    """
    Add verdicts and the ``reason`` to rows of estimates.

    Parameters
    ----------
    rows
        What `correct` made.
    spec
        What is compared.
    only_runs
        How many rows of the baseline have no other run to be scored against.
    """
    tests = rows["q_value"].count() + rows["pass_q_value"].count()
    found: dict[str, list[str | None]] = {
        name: []
        for name in ("score_verdict", "pass_verdict", "not_worse", "verdict", "sequential_verdict", "reason")
    }
    for row in rows.iter_rows(named=True):
        score = _judge(row, "", spec, tests)
        if row["n"] == 0 and only_runs:
            score = score._replace(reason=f"{score.reason}; {_second_run(spec)}")
        judged = [score]
        if row["pass_rate_difference"] is not None:
            judged.append(_judge(row, "pass_", spec, tests))
        verdict = worst(one.verdict for one in judged)
        found["score_verdict"].append(score.verdict)
        found["pass_verdict"].append(judged[1].verdict if len(judged) > 1 else None)
        found["not_worse"].append(_not_worse(row, _margin(row, spec)))
        found["verdict"].append(verdict)
        found["sequential_verdict"].append(worst(one.sequential for one in judged))
        reasons = [one.reason for one in judged if one.verdict == verdict]
        found["reason"].append("; ".join(reasons) + _needed(row, verdict, spec))
    types: dict[str, Any] = {"reason": pl.String, "not_worse": pl.Enum(NOT_WORSE)}
    return rows.with_columns(
        pl.Series(name, values, dtype=types.get(name, pl.Enum(VERDICTS))) for name, values in found.items()
    )


def _margin(row: dict[str, Any], spec: ResolvedSpec) -> float | None:
    """Return how much worse a row may be: a measure has its own margin, in its own unit."""
    measure = spec.measure(row["metric"])
    return spec.margin if measure is None or measure.share else measure.margin


def _not_worse(row: dict[str, Any], margin: float | None) -> str | None:
    """Say whether a mean is worse by less than a margin, allowing for rare changes that none shows."""
    if margin is None:
        return None
    few = row["fewest"] is not None and row["fewest"] < FEWEST_CLUSTERS
    if row["se"] is None or few:
        return "unknown"
    if row["sign"] < 0:
        safe, most = -row["safe_high"], -row["ci_low"]
    else:
        safe, most = row["safe_low"], row["ci_high"]
    if safe > -margin:
        return "yes"
    return "no" if most < -margin else "unknown"


def _second_run(spec: ResolvedSpec) -> str:
    return (
        f"the baseline {spec.baseline} has one run an item, so nothing says how much it differs from itself: "
        "run it once more on the same items and score again"
    )


def _judge(row: dict[str, Any], prefix: str, spec: ResolvedSpec, tests: int) -> Judgement:
    alpha, min_effect = spec.alpha, row["min_effect"]
    what, written = _what(row, prefix, spec), _written(row, prefix, spec)
    if row[f"{prefix}se"] is None:
        return _unknown(_why_no_test(row, "score" if written.measure is None else "value"))
    if row["fewest"] is not None and row["fewest"] < FEWEST_CLUSTERS:
        few = f"{row['fewest']:,} clusters are too few to judge by; at least {FEWEST_CLUSTERS} are needed"
        return _unknown(few)
    low, high = row[f"{prefix}ci_low"], row[f"{prefix}ci_high"]
    change, q = row["pass_rate_difference" if prefix else "difference"], row[f"{prefix}q_value"]
    interval = _interval(written, low, high, alpha)
    excludes_zero = low > 0 or high < 0
    large = abs(change) >= min_effect - NEGLIGIBLE
    permutation = row[f"{prefix}p_permutation"]
    confirmed = permutation is None or permutation <= alpha
    outweighs = row[f"{prefix}outweighs"] == 1
    if excludes_zero and large and q is not None and q <= alpha and confirmed and outweighs:
        verdict = "regressed" if change * row["sign"] < 0 else "improved"
        moved = "fell" if change < 0 else "rose"
        reason = f"the {what} {moved} by {written.size(change)} ({interval}; corrected q = {q:.2g})"
        lasting = row[f"{prefix}q_sequential"] is not None and row[f"{prefix}q_sequential"] <= alpha
        return Judgement(verdict, reason, verdict if lasting else "inconclusive")
    if row[f"{prefix}safe_low"] >= -min_effect and row[f"{prefix}safe_high"] <= min_effect:
        reason = f"any change of the {what} is smaller than {written.effect(min_effect)} ({interval})"
        return Judgement("no_change", reason, "no_change")
    why = _why_open(row, prefix, spec, tests)
    return _unknown(f"{what}: {why}")


def _what(row: dict[str, Any], prefix: str, spec: ResolvedSpec) -> str:
    if prefix:
        return "pass rate"
    measure = spec.measure(row["metric"])
    if measure is None:
        return "mean score"
    return WORDS[measure.name] if measure.share else f"mean {measure.name}"


def _written(row: dict[str, Any], prefix: str, spec: ResolvedSpec) -> Written:
    return Written(None) if prefix else Written.of(row["metric"], spec)


def _interval(written: Written, low: float, high: float, alpha: float) -> str:
    return f"{100 * (1 - alpha):g}% interval {written.span(low, high)}, not corrected"


def _why_open(row: dict[str, Any], prefix: str, spec: ResolvedSpec, tests: int) -> str:
    """Return why a row is neither a change nor none."""
    low, high, q = (row[f"{prefix}{name}"] for name in ("ci_low", "ci_high", "q_value"))
    change, effect = row["pass_rate_difference" if prefix else "difference"], row["min_effect"]
    written = _written(row, prefix, spec)
    interval = _interval(written, low, high, spec.alpha)
    told = "" if q is None else f"; corrected q = {q:.2g}"
    reasons = {
        f"all {row['n']:,} differences are 0, but {_unseen(row, prefix, written)}": (
            change == 0 and row[f"{prefix}se"] == 0
        ),
        f"no change was seen, but {_unseen(row, prefix, written)}": -effect <= low <= 0 <= high <= effect,
        f"no change and a change of {written.effect(row['min_effect'])} are both possible ({interval})": low
        <= 0
        <= high,
        f"a change is likely, but it may be smaller than {written.effect(row['min_effect'])} ({interval})": (
            abs(change) < effect - NEGLIGIBLE
        ),
        "too few items differ to tell a change from chance; left out of the correction": (
            row[f"{prefix}too_small"]
        ),
        f"a change is likely, but rare opposite ones could be unseen ({interval})": (
            row[f"{prefix}outweighs"] != 1
        ),
        f"a change is likely, but not after correction for {tests:,} tests ({interval}{told})": (
            q is None or q > spec.alpha
        ),
    }
    likely = "a change is likely, but the permutation test does not confirm it"
    return next((reason for reason, holds in reasons.items() if holds), likely)


def _unknown(reason: str) -> Judgement:
    return Judgement("inconclusive", reason, "inconclusive")


def _unseen(row: dict[str, Any], prefix: str, written: Written) -> str:
    low, high = row[f"{prefix}safe_low"], row[f"{prefix}safe_high"]
    if abs(low) == float("inf"):
        return "without bounds of the values that says little"
    return (
        f"rare changes may be unseen: {written.signed(low)} to {written.signed(high)} is possible, "
        f"{written.effect(row['min_effect'])} is not ruled out"
    )


def _needed(row: dict[str, Any], verdict: str, spec: ResolvedSpec) -> str:
    """Return what this number of items buys, and how many would settle it."""
    if verdict != "inconclusive" or row["n_needed"] is None or row["n_needed"] <= row["n"]:
        return ""
    unit = "items" if row["paired"] else "rows"
    # Fewer items find less than the t test says: they must also outweigh what may be unseen.
    told = row["mde"] is not None and row["effective"] >= FEWEST_TOLD
    written = _written(row, "", spec)
    size = "" if not told else f"{row['mde']:.3g}" if written.measure is None else written.size(row["mde"])
    found = f"this n finds a change of {size} four times in five, and " if told else ""
    return (
        f"; {found}about {row['n_needed']:,} {unit} would show four times in five that nothing changed by "
        f"{written.effect(row['min_effect'])}, if nothing did"
    )


def _why_no_test(row: dict[str, Any], what: str) -> str:
    if not row["paired"]:
        n = f"{row['n_baseline_only']:,} baseline and {row['n_candidate_only']:,} candidate rows"
        if row["clusters"] is not None and min(row["n_baseline_only"], row["n_candidate_only"]) > 1:
            return f"{n} have a {what}, but a version with one cluster has no spread to judge by"
        return f"{n} have a {what}; each version needs at least 2"
    if row["n"] == 0:
        alone = (
            f"{row['n_baseline_only']:,} in the baseline alone, {row['n_candidate_only']:,} in the candidate"
        )
        return f"no item has a {what} in both versions ({alone})"
    if row["n"] == 1:
        return f"one item has a {what} in both versions; at least 2 are needed"
    return f"all {row['n']:,} items are in one cluster; at least {FEWEST_CLUSTERS} clusters are needed"
