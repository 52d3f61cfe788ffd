"""The verdict on a row, and why in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.inference import NEGLIGIBLE

if TYPE_CHECKING:
    from collections.abc import Iterable

# Worst first.
VERDICTS = ["regressed", "inconclusive", "improved", "no_change"]


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts; of none, that nothing can be concluded."""
    return min(verdicts, key=VERDICTS.index, default="inconclusive")


def judge(rows: pl.DataFrame, *, alpha: float, min_effect: float) -> pl.DataFrame:
    """Add ``verdict`` and ``reason`` to rows of estimates."""
    tests = rows["p_value"].count()
    judged = [_judge(row, alpha, min_effect, tests) for row in rows.iter_rows(named=True)]
    return rows.with_columns(
        pl.Series("verdict", [verdict for verdict, _ in judged], dtype=pl.Enum(VERDICTS)),
        pl.Series("reason", [reason for _, reason in judged], dtype=pl.String),
    )


def _judge(row: dict[str, Any], alpha: float, min_effect: float, tests: int) -> tuple[str, str]:
    if row["se"] is None:
        return "inconclusive", _why_no_test(row)
    change, low, high, q = row["difference"], row["ci_low"], row["ci_high"], row["q_value"]
    interval = f"{100 * (1 - alpha):g}% interval {low:+.4f} to {high:+.4f}"
    if change == 0 and row["se"] == 0:
        return "no_change", f"all differences are 0 (n = {row['n']:,})"
    excludes_zero = low > 0 or high < 0
    large = abs(change) >= min_effect - NEGLIGIBLE
    if excludes_zero and large and q <= alpha:
        verdict = "regressed" if change < 0 else "improved"
        moved = "fell" if change < 0 else "rose"
        reason = f"the mean score {moved} by {abs(change):.4f} ({interval}, q = {q:.2g})"
        permutation = row["p_permutation"]
        if permutation is not None and permutation > alpha:
            reason += f"; the permutation test does not confirm it (p = {permutation:.2g})"
        return verdict, reason
    if low >= -min_effect and high <= min_effect:
        return "no_change", f"any change is smaller than {min_effect:g} ({interval})"
    if not excludes_zero:
        reason = f"no change and a change of {min_effect:g} are both possible ({interval})"
    elif not large:
        reason = f"a change is likely, but it may be smaller than {min_effect:g} ({interval})"
    else:
        reason = f"a change is likely, but not after correction for {tests:,} tests ({interval}, q = {q:.2g})"
    if row["n_needed"] is not None and row["n_needed"] > row["n"]:
        unit = "items" if row["paired"] else "rows"
        reason += f"; to see {min_effect:g} takes about {row['n_needed']:,} {unit}"
    return "inconclusive", reason


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
    return f"all {row['n']:,} items are in one cluster; at least 2 clusters are needed"
