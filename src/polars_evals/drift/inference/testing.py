"""Test what was estimated, and correct for the number of tests."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_evals.drift.inference import column, floats
from polars_evals.drift.inference.intervals import (
    constant_p,
    mcnemar,
    outweighs_unseen,
    score_interval,
    skewed_p,
    t_interval,
    tango,
    two_proportions,
)
from polars_evals.drift.inference.multiple import benjamini_hochberg
from polars_evals.drift.inference.permutation import DRAWS
from polars_evals.drift.inference.power import detectable, needed
from polars_evals.drift.inference.sequential import sequential_interval, sequential_p
from polars_evals.suite.measure import PART

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.spec import ResolvedSpec

# Below so many clusters a version cannot be judged, however many items they hold.
FEWEST_CLUSTERS = 6


@dataclass(frozen=True)
class Estimand:
    """One of the two things that are judged, the mean score or the pass rate, as arrays over rows."""

    difference: Floats
    se: Floats
    df: Floats
    effective: Floats
    skew: Floats
    permutation: Floats
    moved: Floats
    level: Floats
    # The least and the greatest value, NaN without bounds, and whether others are impossible or only unseen.
    bounds: tuple[Floats, Floats]
    certain: Floats

    @classmethod
    def of(cls, rows: pl.DataFrame, prefix: str) -> Estimand:
        """Read the columns of an estimand; `level` is the baseline's mean."""
        level = floats(rows["baseline_pass_rate" if prefix else "baseline_mean"])
        if prefix:
            bounds, certain = (np.zeros(len(level)), np.ones(len(level))), np.ones(len(level))
        else:
            bounds, certain = (floats(rows["bound_low"]), floats(rows["bound_high"])), floats(rows["certain"])
        return cls(
            difference=floats(rows["pass_rate_difference" if prefix else "difference"]),
            se=floats(rows[f"{prefix}se"]),
            df=floats(rows[f"{prefix}df"]),
            effective=floats(rows[f"{prefix}effective"]),
            skew=floats(rows[f"{prefix}skew"]),
            permutation=floats(rows[f"{prefix}p_permutation"]),
            moved=floats(rows[f"{prefix}moved"]),
            level=level,
            bounds=bounds,
            certain=certain,
        )

    @property
    def reach(self) -> Floats:
        """The largest change of a unit; NaN without bounds."""
        return np.asarray(self.bounds[1] - self.bounds[0])

    @property
    def constant(self) -> Floats:
        """Where all units changed by the same amount."""
        return np.asarray(self.se == 0)

    @property
    def statistic(self) -> Floats:
        """Student's t; 0 without spread, which is judged by itself."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.constant, 0.0, self.difference / self.se)

    @property
    def room(self) -> tuple[Floats, Floats]:
        """How far a score can fall and rise on average; NaN without bounds."""
        low, high = self.bounds
        return np.asarray(self.level - low), np.asarray(high - self.level)

    def intervals(self, alpha: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the t interval, and the one that also allows for what is unseen."""
        from scipy.special import stdtrit

        low, high, _ = t_interval(self.difference, self.se, self.df, alpha)
        with np.errstate(invalid="ignore", divide="ignore"):
            quantile = -stdtrit(
                np.where(self.constant, np.maximum(self.effective - 1, 1), self.df), alpha / 2
            )
            reach = np.where(np.isnan(self.reach), np.where(self.constant, np.inf, 0.0), self.reach)
            safe_low, safe_high = score_interval(self.difference, self.se, quantile, self.effective, reach)
        found = (
            np.where(self.constant, safe_low, low),
            np.where(self.constant, safe_high, high),
            safe_low,
            safe_high,
        )
        most = np.where(self.certain == 1, self.reach, np.inf)
        low, high, safe_low, safe_high = (np.clip(bound, -most, most) for bound in found)
        return low, high, safe_low, safe_high

    def p_value(self) -> Floats:
        """Return the p-value of the t test; without spread, of the same change in all units."""
        _, _, p = t_interval(self.difference, self.se, self.df, 0.5)
        return np.where(self.constant, constant_p(self.difference, self.effective, *self.room), p)

    def p_test(self, too_small: Floats) -> Floats:
        """
        Return the p-value that counts: the largest of the t test's, the skewed one's and the permutation's.

        Of the permutation test only what its draws can tell: below one in all of them it may be anything.
        """
        p = np.maximum(
            self.p_value(), np.where(self.constant, 0.0, skewed_p(self.statistic, self.df, self.skew))
        )
        known = self.permutation > 1 / (1 + DRAWS)
        p = np.where(known, np.fmax(p, self.permutation), p)
        return np.where(too_small > 0, np.nan, p)

    def p_sequential(self, too_small: Floats) -> Floats:
        """Return the p-value that may be asked again and again while items are added."""
        p = sequential_p(self.statistic, self.df, self.effective)
        p = np.where(self.constant, constant_p(self.difference, self.effective, *self.room), p)
        return np.where(too_small > 0, np.nan, p)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def test(rows: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """Add intervals, p-values and power to estimates."""
    alpha = spec.alpha
    rows = with_rules(rows, spec)
    score, passed = Estimand.of(rows, ""), Estimand.of(rows, "pass_")
    small = [_too_small(rows, one, alpha) for one in (score, passed)]
    low, high, safe_low, safe_high = score.intervals(alpha)
    pass_low, pass_high, pass_safe_low, pass_safe_high = _pass_intervals(rows, passed, alpha)
    sequence = sequential_interval(score.difference, score.se, score.df, score.effective, alpha=alpha)
    rate_b, rate_c = floats(rows["baseline_pass_rate"]), floats(rows["candidate_pass_rate"])
    flips = mcnemar(floats(rows["newly_failing"]), floats(rows["newly_passing"]))
    unpaired = two_proportions(
        rate_b, floats(rows["baseline_labels"]), rate_c, floats(rows["candidate_labels"])
    )
    exact = np.where(rows["paired"].to_numpy(), flips, unpaired)
    unknown = np.isnan(rate_b + rate_c) | (floats(rows["repeated"]) > 0)
    return rows.with_columns(
        column("ci_low", low),
        column("ci_high", high),
        column("safe_low", safe_low),
        column("safe_high", safe_high),
        column("p_value", score.p_value()),
        column("p_test", score.p_test(small[0])),
        column("p_sequential", score.p_sequential(small[0])),
        column("sequential_low", np.where(np.isfinite(sequence[0]), sequence[0], np.nan)),
        column("sequential_high", np.where(np.isfinite(sequence[1]), sequence[1], np.nan)),
        column("outweighs", _outweighs(score, alpha)),
        column("pass_ci_low", pass_low),
        column("pass_ci_high", pass_high),
        column("pass_safe_low", pass_safe_low),
        column("pass_safe_high", pass_safe_high),
        column("pass_p_value", passed.p_value()),
        column("pass_p_test", passed.p_test(small[1])),
        column("pass_p_sequential", passed.p_sequential(small[1])),
        column("pass_outweighs", _outweighs(passed, alpha)),
        pl.Series("too_small", small[0] > 0),
        pl.Series("pass_too_small", small[1] > 0),
        column("p_mcnemar", np.where(unknown, np.nan, exact)),
        column("mde", np.where(score.se > 0, detectable(score.se, score.df, alpha), np.nan)),
        column("n_needed", _needed(rows, score, passed, spec)).cast(pl.Int64),
    )


def with_rules(rows: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """
    Add what a row is judged by: ``min_effect``, ``sign`` (-1: lower is better) and bounds.

    Notes
    -----
    A measure without bounds is taken to have those of the values that were seen, with 0 among them: what is
    unseen is rarely much larger. Its intervals may still reach beyond (``certain`` is 0).
    """
    found: dict[str, list[float | None]] = {
        name: [] for name in ("min_effect", "sign", "bound_low", "bound_high", "certain")
    }
    for row in rows.select("metric", "baseline_mean", "lowest", "highest").iter_rows(named=True):
        measure, low, high = spec.measure(row["metric"]), row["lowest"], row["highest"]
        if measure is None:
            inside = low is not None and low >= 0 and high <= 1
            values = (spec.min_effect, 1, *((0.0, 1.0) if inside else (None, None)), int(inside))
        elif measure.share:
            values = (spec.min_effect, measure.sign, 0.0, 1.0, 1)
        else:
            least, most = measure.limits
            seen = (min(0.0, low or 0.0), max(0.0, high or 0.0))
            bounds = (least if isfinite(least) else seen[0], most if isfinite(most) else seen[1])
            effect = measure.min_effect
            if effect is None and row["baseline_mean"] is not None:
                effect = PART * abs(row["baseline_mean"])
            values = (effect, measure.sign, *bounds, int(isfinite(most - least)))
        for name, value in zip(found, values, strict=True):
            found[name].append(value)
    return rows.with_columns(pl.Series(name, values, dtype=pl.Float64) for name, values in found.items())


def _too_small(rows: pl.DataFrame, one: Estimand, alpha: float) -> Floats:
    """Return 1 where no result could be significant: so few units that differ, or so few rows."""
    from scipy.special import comb

    paired = rows["paired"].to_numpy()
    clusters = floats(rows["fewest"])
    n_b, n_c = floats(rows["n_baseline_only"]), floats(rows["n_candidate_only"])
    with np.errstate(over="ignore", invalid="ignore"):
        # The most extreme of all signs of the units that differ, or of all ways to tell two versions apart.
        smallest = np.where(paired, 2.0 ** (1 - one.moved), 2 / comb(n_b + n_c, n_b))
    few = (smallest > alpha) | (clusters < FEWEST_CLUSTERS) | np.isnan(one.se)
    return np.where(few, 1.0, 0.0)


def _outweighs(one: Estimand, alpha: float) -> Floats:
    return outweighs_unseen(one.difference, one.se, one.effective, *one.room, alpha=alpha)


def _pass_intervals(
    rows: pl.DataFrame, passed: Estimand, alpha: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the intervals of the pass rate: Tango's for flips of independent items, else as for scores."""
    found = passed.intervals(alpha)
    labels = floats(rows["baseline_labels"])
    flips = rows["paired"].to_numpy() & np.isnan(floats(rows["clusters"])) & (labels > 0)
    flips &= floats(rows["repeated"]) == 0
    if not flips.any():
        return found
    failing, passing = floats(rows["newly_failing"])[flips], floats(rows["newly_passing"])[flips]
    low, high = tango(failing, passing, labels[flips], alpha)
    for interval, bound in zip(found, (low, high, low, high), strict=True):
        interval[flips] = bound
    return found


def _needed(rows: pl.DataFrame, score: Estimand, passed: Estimand, spec: ResolvedSpec) -> Floats:
    """Return how many items show four times in five that nothing changed, neither score nor pass rate."""
    n = floats(rows["n"])
    both = []
    for one in (score, passed):
        with np.errstate(invalid="ignore", divide="ignore"):
            # Clusters make items count for less, of the spread as of what may be unseen.
            spread, reach = one.se * np.sqrt(n), one.reach * n / one.effective
        df = np.where(one.constant, n - 1, one.df)
        effect = np.nan_to_num(floats(rows["min_effect"]))
        both.append(needed(spread, n, df, reach, alpha=spec.alpha, min_effect=effect))
    most = np.fmax(*both)
    # Where one of two can never be shown, the row cannot.
    judged = np.isfinite(passed.se)
    return np.where(np.isnan(both[0]) | (judged & np.isnan(both[1])), np.nan, most)


def correct(rows: pl.DataFrame, also_tried: Floats) -> pl.DataFrame:
    """Add q-values: the p-values corrected for all tests of `rows` and those that were `also_tried`."""
    return correct_all(rows, also_tried)[0]


def correct_all(rows: pl.DataFrame, also_tried: Floats) -> tuple[pl.DataFrame, Floats]:
    """Do as `correct`, and return the q-values of what was `also_tried` too."""
    count = len(rows)
    found = []
    others = also_tried
    for name in ("q_value", "q_sequential"):
        p = [
            floats(rows[f"{prefix}{'p_test' if name == 'q_value' else 'p_sequential'}"])
            for prefix in ("", "pass_")
        ]
        q = benjamini_hochberg(np.concatenate([*p, also_tried]))
        found += [column(name, q[:count]), column(f"pass_{name}", q[count : 2 * count])]
        if name == "q_value":
            others = q[2 * count :]
    return rows.with_columns(found), others
