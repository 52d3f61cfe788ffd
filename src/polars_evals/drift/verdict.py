"""The verdict on a row, and why in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_evals.drift.columns import ANSWERED
from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.testing import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_evals.drift.spec import ComparisonSpec

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


def judge(rows: pl.DataFrame, spec: ComparisonSpec, *, only_runs: int = 0) -> pl.DataFrame:
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
        found["not_worse"].append(_not_worse(row, spec.margin))
        found["verdict"].append(verdict)
        found["sequential_verdict"].append(worst(one.sequential for one in judged))
        reasons = [one.reason for one in judged if one.verdict == verdict]
        found["reason"].append("; ".join(reasons) + _needed(row, verdict, spec.min_effect))
    types: dict[str, Any] = {"reason": pl.String, "not_worse": pl.Enum(NOT_WORSE)}
    return rows.with_columns(
        pl.Series(name, values, dtype=types.get(name, pl.Enum(VERDICTS))) for name, values in found.items()
    )


def _not_worse(row: dict[str, Any], margin: float | None) -> str | None:
    """Say whether a mean score is worse by less than a margin, allowing for rare changes that none shows."""
    if margin is None:
        return None
    few = row["fewest"] is not None and row["fewest"] < FEWEST_CLUSTERS
    if row["se"] is None or few:
        return "unknown"
    if row["safe_low"] > -margin:
        return "yes"
    return "no" if row["ci_high"] < -margin else "unknown"


def _second_run(spec: ComparisonSpec) -> str:
    return (
        f"the baseline {spec.baseline} has one run an item, so nothing says how much it differs from itself: "
        "run it once more on the same items and score again"
    )


def _judge(row: dict[str, Any], prefix: str, spec: ComparisonSpec, tests: int) -> Judgement:
    alpha, min_effect = spec.alpha, spec.min_effect
    if row[f"{prefix}se"] is None:
        return _unknown(_why_no_test(row))
    if row["fewest"] is not None and row["fewest"] < FEWEST_CLUSTERS:
        few = f"{row['fewest']:,} clusters are too few to judge by; at least {FEWEST_CLUSTERS} are needed"
        return _unknown(few)
    low, high = row[f"{prefix}ci_low"], row[f"{prefix}ci_high"]
    change, q = row["pass_rate_difference" if prefix else "difference"], row[f"{prefix}q_value"]
    what = _what(row, prefix)
    interval = f"{100 * (1 - alpha):g}% interval {low:+.4f} to {high:+.4f}, not corrected"
    excludes_zero = low > 0 or high < 0
    large = abs(change) >= min_effect - NEGLIGIBLE
    permutation = row[f"{prefix}p_permutation"]
    confirmed = permutation is None or permutation <= alpha
    outweighs = row[f"{prefix}outweighs"] == 1
    if excludes_zero and large and q is not None and q <= alpha and confirmed and outweighs:
        verdict, moved = ("regressed", "fell") if change < 0 else ("improved", "rose")
        reason = f"the {what} {moved} by {abs(change):.4f} ({interval}; corrected q = {q:.2g})"
        lasting = row[f"{prefix}q_sequential"] is not None and row[f"{prefix}q_sequential"] <= alpha
        return Judgement(verdict, reason, verdict if lasting else "inconclusive")
    if row[f"{prefix}safe_low"] >= -min_effect and row[f"{prefix}safe_high"] <= min_effect:
        reason = f"any change of the {what} is smaller than {min_effect:g} ({interval})"
        return Judgement("no_change", reason, "no_change")
    why = _why_open(row, prefix, spec, tests)
    return _unknown(f"{what}: {why}")


def _what(row: dict[str, Any], prefix: str) -> str:
    if prefix:
        return "pass rate"
    return "share of items with an answer" if row["metric"] == ANSWERED else "mean score"


def _why_open(row: dict[str, Any], prefix: str, spec: ComparisonSpec, tests: int) -> str:
    """Return why a row is neither a change nor none."""
    low, high, q = (row[f"{prefix}{name}"] for name in ("ci_low", "ci_high", "q_value"))
    change, effect = row["pass_rate_difference" if prefix else "difference"], spec.min_effect
    interval = f"{100 * (1 - spec.alpha):g}% interval {low:+.4f} to {high:+.4f}, not corrected"
    told = "" if q is None else f"; corrected q = {q:.2g}"
    reasons = {
        f"all {row['n']:,} differences are 0, but {_unseen(row, prefix, effect)}": (
            change == 0 and row[f"{prefix}se"] == 0
        ),
        f"no change was seen, but {_unseen(row, prefix, effect)}": -effect <= low <= 0 <= high <= effect,
        f"no change and a change of {effect:g} are both possible ({interval})": low <= 0 <= high,
        f"a change is likely, but it may be smaller than {effect:g} ({interval})": (
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


def _unseen(row: dict[str, Any], prefix: str, min_effect: float) -> str:
    low, high = row[f"{prefix}safe_low"], row[f"{prefix}safe_high"]
    if abs(low) == float("inf"):
        return "without bounds of the values that says little"
    return (
        f"rare changes may be unseen: {low:+.4f} to {high:+.4f} is possible, {min_effect:g} is not ruled out"
    )


def _needed(row: dict[str, Any], verdict: str, min_effect: float) -> str:
    """Return what this number of items buys, and how many would settle it."""
    if verdict != "inconclusive" or row["n_needed"] is None or row["n_needed"] <= row["n"]:
        return ""
    unit = "items" if row["paired"] else "rows"
    # Fewer items find less than the t test says: they must also outweigh what may be unseen.
    told = row["mde"] is not None and row["effective"] >= FEWEST_TOLD
    found = f"this n finds a change of {row['mde']:.3g} four times in five, and " if told else ""
    return (
        f"; {found}about {row['n_needed']:,} {unit} would show four times in five that nothing changed by "
        f"{min_effect:g}, if nothing did"
    )


def _why_no_test(row: dict[str, Any]) -> str:
    if not row["paired"]:
        n = f"{row['n_baseline_only']:,} baseline and {row['n_candidate_only']:,} candidate rows"
        if row["clusters"] is not None and min(row["n_baseline_only"], row["n_candidate_only"]) > 1:
            return f"{n} have a score, but a version with one cluster has no spread to judge by"
        return f"{n} have a score; each version needs at least 2"
    if row["n"] == 0:
        alone = (
            f"{row['n_baseline_only']:,} in the baseline alone, {row['n_candidate_only']:,} in the candidate"
        )
        return f"no item has a score in both versions ({alone})"
    if row["n"] == 1:
        return "one item has a score in both versions; at least 2 are needed"
    return f"all {row['n']:,} items are in one cluster; at least {FEWEST_CLUSTERS} clusters are needed"
