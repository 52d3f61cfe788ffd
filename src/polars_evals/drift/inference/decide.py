"""
Test what was estimated, correct for the number of tests, and decide: one rule for every component of a row.

A component is a mean, a pass rate, a quantile or a share of answers. Its verdict rests on its own numbers; a
row has the verdict that its components give it, and a comparison the one that its rows give it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import comb, stdtrit

from polars_evals.drift.components import MEAN, PASS_RATE
from polars_evals.drift.inference import column, floats
from polars_evals.drift.inference.clusters import FEWEST
from polars_evals.drift.inference.intervals import (
    constant_half,
    constant_p,
    detectable,
    mcnemar,
    needed,
    outweighs_unseen,
    score_interval,
    skewed_p,
    t_interval,
    tango,
    two_proportions,
)
from polars_evals.drift.inference.multiple import benjamini_hochberg, holm
from polars_evals.drift.inference.permutation import DRAWS
from polars_evals.drift.inference.sequential import sequential_interval, sequential_p
from polars_evals.drift.spec import Written
from polars_evals.drift.unanswered import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats
    from polars_evals.drift.spec import ResolvedSpec

    Mask = npt.NDArray[np.bool_]

# Worst first.
VERDICTS = ["regressed", "inconclusive", "improved", "no_change"]
REGRESSED, INCONCLUSIVE, IMPROVED, NO_CHANGE = VERDICTS
NOT_WORSE = ["no", "unknown", "yes"]
# From so many items or clusters on, a reason says which change they find.
FEWEST_FOR_POWER = 30


def combine(verdicts: Iterable[str]) -> str:
    """Return the verdict on a row of components, or on a comparison of rows."""
    found = set(verdicts)
    for verdict in (REGRESSED, IMPROVED):
        if verdict in found:
            return verdict
    return NO_CHANGE if found == {NO_CHANGE} else INCONCLUSIVE


class Means:
    """Components that are means, as arrays over rows."""

    def __init__(self, rows: pl.DataFrame) -> None:
        names = (
            "difference", "se", "df", "effective", "units", "skew", "p_permutation", "p_wild", "most",
            "baseline_value", "least", "greatest",
        )  # fmt: skip
        found = [floats(rows[name]) for name in names]
        self.difference, self.se, self.df, self.effective, self.units, self.skew = found[:6]
        self.permutation, self.wild, self.most, level, low, high = found[6:]
        # The largest change of a unit; and how far a score can fall and rise on average; NaN without bounds.
        self.reach, self.room = high - low, (level - low, high - level)
        # Where all units changed by the same amount.
        self.constant = self.se == 0
        # Student's t; 0 without spread, which is judged by itself.
        self.statistic = np.where(self.constant, 0.0, self.difference / self.se)

    def clipped(self, end: Floats) -> Floats:
        """Keep ends of intervals within what is possible."""
        return np.clip(end, -self.most, self.most)

    def intervals(self, alpha: float, *, sequential: bool = False) -> tuple[Floats, ...]:
        """
        Return an interval, and the one that also allows for rare changes that no unit shows.

        It is the t interval, or the one for all looks together, while units are added.
        """
        df = np.where(self.constant, np.maximum(self.effective - 1, 1), self.df)
        if sequential:
            nothing = np.zeros_like(df)
            _, quantile = sequential_interval(nothing, nothing + 1, df, self.effective, alpha=alpha)
        else:
            quantile = -stdtrit(df, alpha / 2)
        # Where nothing can be told yet the quantile is infinite.
        known = np.isfinite(quantile) & ~np.isnan(self.se)
        low, high = self.difference - quantile * self.se, self.difference + quantile * self.se
        reach = np.where(np.isnan(self.reach), np.where(self.constant, np.inf, 0.0), self.reach)
        safe = score_interval(self.difference, self.se, quantile, self.effective, reach)
        safe_low, safe_high = np.where(known, safe[0], -np.inf), np.where(known, safe[1], np.inf)
        low, high = self.without_spread(low, high, safe_low, safe_high, alpha)
        low, high, safe_low, safe_high = map(self.clipped, (low, high, safe_low, safe_high))
        both = np.isfinite(low) & np.isfinite(high) & (known | (self.constant & (self.difference != 0)))
        ends = zip((low, high, safe_low, safe_high), (both, both, known, known), strict=True)
        return tuple(np.where(there & np.isfinite(end), end, np.nan) for end, there in ends)

    def without_spread(
        self, low: Floats, high: Floats, safe_low: Floats, safe_high: Floats, alpha: float
    ) -> tuple[Floats, Floats]:
        """
        Replace intervals of equal changes by those that allow for what is unseen.

        The end towards 0 is where the test of equal changes ends, so that both agree, also for many looks:
        its p-value is the inverse of a martingale. Values without bounds have this interval on both sides.
        """
        half = constant_half(self.difference, self.effective, *self.room, alpha=alpha)
        changed, bounded = self.constant & (self.difference != 0), np.isfinite(self.reach)
        low, high = np.where(self.constant, safe_low, low), np.where(self.constant, safe_high, high)
        near_low, near_high = self.difference - half, self.difference + half
        rose, fell = changed & (self.difference > 0), changed & (self.difference < 0)
        low = np.where(rose & bounded, np.fmax(low, near_low), np.where(changed & ~bounded, near_low, low))
        high = np.where(
            fell & bounded, np.fmin(high, near_high), np.where(changed & ~bounded, near_high, high)
        )
        return low, high

    def p_value(self) -> Floats:
        """Return the p-value of the t test; without spread, of the same change in all units."""
        _, _, p = t_interval(self.difference, self.se, self.df, 0.5)
        return np.where(self.constant, constant_p(self.difference, self.effective, *self.room), p)

    def p_test(self) -> Floats:
        """
        Return the p-value that counts: the largest of the t test's, the skewed one's and the permutation's.

        Of tests by signs only what their draws can tell: below one in all of them it may be anything. Of few
        clusters they count alone: where sizes differ, degrees of freedom say too little.
        """
        p = np.maximum(
            self.p_value(), np.where(self.constant, 0.0, skewed_p(self.statistic, self.df, self.skew))
        )
        least = 1 / (1 + DRAWS)
        p = np.where(self.permutation > least, np.fmax(p, self.permutation), p)
        by_signs = np.isfinite(self.wild) & ~self.constant
        return np.where(by_signs, np.where(self.wild > least, self.wild, np.minimum(p, self.wild)), p)

    def p_sequential(self) -> Floats:
        """Return the p-value that may be asked again and again while items are added."""
        p = sequential_p(self.statistic, self.df, self.effective)
        return np.where(self.constant, constant_p(self.difference, self.effective, *self.room), p)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def test(rows: pl.DataFrame, facts: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """Add to components what they are judged by: intervals, p-values, effects, bounds, and worst cases."""
    about = facts[rows["row"]]
    one, wider = Means(rows), min(2 * spec.alpha, 0.999)
    own = rows["quantile"].is_not_null().to_numpy()
    small = np.where(own, np.isnan(floats(rows["p_value"])), _too_small(rows, about, one, spec.alpha))
    low, high, safe_low, safe_high = _intervals(rows, about, one, spec.alpha)
    _, _, bound_low, bound_high = _intervals(rows, about, one, wider)
    wide_low, wide_high, _, _ = one.intervals(spec.alpha, sequential=True)
    _, _, far_low, far_high = one.intervals(wider, sequential=True)
    outweighs = outweighs_unseen(one.difference, one.se, one.units, *one.room, alpha=spec.alpha)
    made = {
        "ci_low": low, "ci_high": high, "safe_low": safe_low, "safe_high": safe_high,
        "bound_low": bound_low, "bound_high": bound_high,
        "sequential_low": wide_low, "sequential_high": wide_high,
        "sequential_bound_low": far_low, "sequential_bound_high": far_high,
        "p_value": one.p_value(), "p_test": one.p_test(), "p_sequential": one.p_sequential(),
    }  # fmt: skip
    # Quantiles bring intervals and p-values of their own.
    brought = {"safe_low": "ci_low", "safe_high": "ci_high", "p_test": "p_value"}
    by_signs = np.isfinite(floats(rows["ci_low"])) & ~own
    made = {
        name: np.where(
            own | (by_signs & (name in ("ci_low", "ci_high"))),
            floats(rows[brought.get(name, name)]),
            values,
        )
        for name, values in made.items()
    }
    for name in made.keys() - {"p_value", "p_test", "p_sequential"}:
        made[name] = one.clipped(made[name])
    for name in ("p_value", "p_test", "p_sequential"):
        # A probability too small for a float is not 0.
        made[name] = np.maximum(made[name], np.finfo(np.float64).tiny)
    for name in ("p_test", "p_sequential"):
        made[name] = np.where(small, np.nan, made[name])
    sign, few = floats(rows["sign"]), floats(about["fewest"]) < FEWEST
    for prefix in ("", "sequential_"):
        ends = made[f"{prefix}bound_low"], -made[f"{prefix}bound_high"]
        made[f"{prefix}worst_case"] = np.where(few, np.nan, np.where(sign > 0, *ends))
        made[f"{prefix}best_case"] = np.where(few, np.nan, -np.where(sign > 0, *ends[::-1]))
    return rows.with_columns(
        *(column(name, np.where(np.isfinite(values), values, np.nan)) for name, values in made.items()),
        pl.Series("outweighs", own | outweighs),
        pl.Series("too_small", small),
    )


def _too_small(rows: pl.DataFrame, about: pl.DataFrame, one: Means, alpha: float) -> Mask:
    """Return where no result could be significant: so few units that differ, or so few rows."""
    n_b, n_c = floats(about["n_baseline_only"]), floats(about["n_candidate_only"])
    # The most extreme of all signs of the units that differ, or of all ways to tell two versions apart.
    smallest = np.where(
        about["paired"].to_numpy(), 2.0 ** (1 - floats(rows["moved"])), 2 / comb(n_b + n_c, n_b)
    )
    return (smallest > alpha) | (floats(about["fewest"]) < FEWEST) | np.isnan(one.se)


def _intervals(rows: pl.DataFrame, about: pl.DataFrame, one: Means, alpha: float) -> tuple[Floats, ...]:
    """Return the intervals at a level; of pass rates, Tango's for flips of independent items."""
    found = one.intervals(alpha)
    labels = floats(about["baseline_labels"])
    flips = (rows["component"] == PASS_RATE).to_numpy() & about["paired"].to_numpy() & (labels > 0)
    flips &= np.isnan(floats(about["clusters"])) & (floats(about["repeated"]) == 0)
    if flips.any():
        failing, passing = (floats(about[name])[flips] for name in ("newly_failing", "newly_passing"))
        low, high = tango(failing, passing, labels[flips], alpha)
        for interval, bound in zip(found, (low, high, low, high), strict=True):
            interval[flips] = bound
    return found


def adjust_p_values(rows: pl.DataFrame, spec: ResolvedSpec, also_tried: Floats | None = None) -> pl.DataFrame:
    """
    Add corrected p-values: `q_value` (false discoveries) and `p_family` (any false one), by family.

    Rows over all items are one family, slices are another, with half of alpha each: what is asked about
    slices costs the overall rows little, however many slices there are. `also_tried` are the p-values of
    slices that a search tried and does not list. Components with the same numbers are one test.
    """
    sliced = rows["slice"].is_not_null().to_numpy()
    families = 2 if spec.slices or spec.automatic else 1
    place = rows["row"].to_numpy()
    mean = np.zeros(place.max(initial=0) + 1, dtype=np.int64)
    mean[place[(rows["component"] == MEAN).to_numpy()]] = np.flatnonzero(rows["component"] == MEAN)
    once = np.where(rows["same"].to_numpy(), mean[place], np.arange(rows.height))
    found = {}
    for name, of in (("q_value", "p_test"), ("p_family", "p_test"), ("q_sequential", "p_sequential")):
        p = floats(rows[of])
        p = np.where(once == np.arange(rows.height), p, np.nan)
        corrected = np.full(rows.height, np.nan)
        for family in (False, True):
            mine = sliced == family
            others = also_tried if family and of == "p_test" and also_tried is not None else np.array([])
            method = holm if name == "p_family" else benjamini_hochberg
            q = method(np.concatenate([p[mine], others]))
            corrected[mine] = np.minimum(families * q[: mine.sum()], 1.0)
        found[name] = corrected[once]
    return rows.with_columns(column(name, values) for name, values in found.items())


def decide(rows: pl.DataFrame, facts: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """
    Add the verdict of each component, and the one for a job that asks every day.

    A change is found where it is significant after correction, the permutation test agrees, and it is more
    than rare opposite changes, unseen, would undo. It is `no_change` where all that is possible is smaller
    than `min_effect`, and that comes first: what is shown to be small is no change, however certain.
    """
    effect, q, tried = floats(rows["min_effect"]), floats(rows["q_value"]), floats(rows["p_permutation"])
    known = rows["se"].is_not_null() | rows["quantile"].is_not_null()
    few = floats(facts["fewest"][rows["row"]]) < FEWEST
    with np.errstate(invalid="ignore"):
        same = (floats(rows["safe_low"]) >= -effect) & (floats(rows["safe_high"]) <= effect) & (effect > 0)
        found = (q <= spec.alpha) & ~(tried > spec.alpha) & rows["outweighs"].to_numpy()
        gain = floats(rows["difference"]) * floats(rows["sign"])
        lasting = floats(rows["q_sequential"]) <= spec.alpha
    judged = known.to_numpy() & ~few
    moved = np.where(gain < 0, REGRESSED, IMPROVED)
    verdict = np.where(judged & same, NO_CHANGE, np.where(judged & found & (gain != 0), moved, INCONCLUSIVE))
    daily = np.where((verdict == NO_CHANGE) | lasting, verdict, INCONCLUSIVE)
    kinds = pl.Enum(VERDICTS)
    return rows.with_columns(
        pl.Series("verdict", verdict.astype(object), dtype=pl.String).cast(kinds),
        pl.Series("sequential_verdict", daily.astype(object), dtype=pl.String).cast(kinds),
    )


def verdict_of(components: pl.DataFrame, rows: Iterable[str], alpha: float) -> str:
    """Return the verdict on a candidate, of all its components and the verdicts over all items."""
    worse = (pl.col("verdict") == REGRESSED) & (pl.col("p_family") <= alpha)
    if components.select(worse.any()).item():
        return REGRESSED
    # What regressed and does not survive the correction is open.
    return combine(INCONCLUSIVE if verdict == REGRESSED else verdict for verdict in rows)


def family_wise(rows: pl.DataFrame, alpha: float, *, sequential: bool) -> pl.DataFrame:
    """Add `p_corrected`, Holm's over all components, and leave only the verdicts that survive it."""
    p = floats(rows["p_sequential" if sequential else "p_test"])
    # Numbers that are the same are one test, that of the mean.
    alone = ~rows["same"].to_numpy()
    kinds, mean = pl.Enum(VERDICTS), (pl.col("component") == MEAN) | ~pl.col("same")
    once = pl.when(mean).then("p_corrected").forward_fill().over("candidate", "metric", "slice")
    # Without a p-value there was no test.
    open_ = pl.col("verdict").is_in([REGRESSED, IMPROVED]) & ~(pl.col("p_corrected") <= alpha).fill_null(
        False
    )
    return (
        rows.with_columns(column("p_corrected", holm(np.where(alone, p, np.nan))))
        .with_columns(p_corrected=pl.when("same").then(once).otherwise("p_corrected"))
        .with_columns(verdict=pl.when(open_).then(pl.lit(INCONCLUSIVE, dtype=kinds)).otherwise("verdict"))
    )


def row_verdict(components: Sequence[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return the verdict that components give a row, and the one that decided."""
    verdict = combine(one["verdict"] for one in _without_open_quantiles(components))
    if verdict in (NO_CHANGE, INCONCLUSIVE):
        return verdict, components[0]
    return verdict, min(
        (one for one in components if one["verdict"] == verdict),
        key=lambda one: (one["q_value"], one["same"], one["quantile"] is not None),
    )


def _without_open_quantiles(components: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out quantiles that are open: few values say little of a high one."""
    return [one for one in components if one["quantile"] is None or one["verdict"] in (REGRESSED, IMPROVED)]


def summarize(
    rows: pl.DataFrame, facts: pl.DataFrame, spec: ResolvedSpec, *, only_runs: int = 0
) -> pl.DataFrame:
    """Make one row of the components of each row: its verdict, which component decided, and why."""
    mean = _placed(rows.filter(pl.col("component") == MEAN), facts)
    rate = _placed(rows.filter(pl.col("component") == PASS_RATE), facts)
    tests = int(rows["q_value"].count())
    parts = rows.rows_by_key("row", named=True, include_key=True)
    made = []
    needs = _needed(facts, mean, rate, spec)
    power = detectable(floats(mean["se"]), floats(mean["df"]), spec.alpha)
    power = np.where(floats(mean["se"]) > 0, power, np.nan)
    for place, about in enumerate(facts.iter_rows(named=True)):
        ones = parts[place]
        judged = _without_open_quantiles(ones)
        verdict, deciding = row_verdict(ones)
        sequential = combine(one["sequential_verdict"] for one in judged)
        reasons = [_reason(one, about, spec, tests) for one in judged if one["verdict"] == verdict]
        if about["n"] == 0 and only_runs:
            reasons.append(
                f"the baseline {spec.baseline} has one run per item, so its own variation is unknown: "
                "run it a second time on the same items and score again"
            )
        buys = (
            "" if verdict != INCONCLUSIVE else _what_n_finds(about, ones[0], needs[place], power[place], spec)
        )
        # Mean and pass rate may have the same reason.
        reason = "; ".join(dict.fromkeys(reasons)) + buys
        made.append((verdict, sequential, deciding["component"], _not_worse(ones), reason))
    kinds = pl.Enum(VERDICTS)
    types: dict[str, Any] = {
        "verdict": kinds, "sequential_verdict": kinds, "decided_by": pl.String,
        "not_worse": pl.Enum(NOT_WORSE), "reason": pl.String,
    }  # fmt: skip
    means = ["difference", "se", "ci_low", "ci_high", "p_value", "q_value", "p_permutation", "worst_case",
             "sequential_low", "sequential_high", "p_sequential", "min_effect"]  # fmt: skip
    rates = ["ci_low", "ci_high", "p_value", "q_value", "p_permutation", "worst_case"]
    return facts.with_columns(
        *(mean[name] for name in means),
        mean["baseline_value"].alias("baseline_mean"),
        mean["candidate_value"].alias("candidate_mean"),
        mean["verdict"].alias("score_verdict"),
        *(rate[name].alias(f"pass_{name}") for name in rates),
        rate["baseline_value"].alias("baseline_pass_rate"),
        rate["candidate_value"].alias("candidate_pass_rate"),
        rate["difference"].alias("pass_rate_difference"),
        rate["verdict"].alias("pass_verdict"),
        column("p_mcnemar", _mcnemar(facts, rate)),
        column("mde", power),
        column("n_needed", needs).cast(pl.Int64),
        *pl.DataFrame(made, schema=types, orient="row"),
    )


def _placed(rows: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return a component of every row, null where a row has none."""
    places = pl.DataFrame({"row": np.arange(facts.height)}, schema={"row": pl.Int64})
    return places.join(rows, on="row", how="left", maintain_order="left")


def _not_worse(components: Sequence[dict[str, Any]]) -> str | None:
    """Say whether mean and pass rate are worse by less than a margin, whatever may be unseen."""
    judged = [one for one in components if one["quantile"] is None]
    if judged[0]["margin"] is None:
        return None
    if any(one["worst_case"] is None for one in judged):
        return "unknown"
    if all(one["worst_case"] > -one["margin"] for one in judged):
        return "yes"
    return "no" if any(one["best_case"] < -one["margin"] for one in judged) else "unknown"


def _mcnemar(facts: pl.DataFrame, rate: pl.DataFrame) -> Floats:
    before, after = floats(rate["baseline_value"]), floats(rate["candidate_value"])
    flips = mcnemar(floats(facts["newly_failing"]), floats(facts["newly_passing"]))
    unpaired = two_proportions(
        before, floats(facts["baseline_labels"]), after, floats(facts["candidate_labels"])
    )
    exact = np.where(facts["paired"].to_numpy(), flips, unpaired)
    return np.where(np.isnan(before + after) | (floats(facts["repeated"]) > 0), np.nan, exact)


def _needed(facts: pl.DataFrame, mean: pl.DataFrame, rate: pl.DataFrame, spec: ResolvedSpec) -> Floats:
    """Return how many items show four times in five that nothing changed, neither score nor pass rate."""
    n = floats(facts["n"])
    both = []
    for one in (mean, rate):
        se, effective = floats(one["se"]), floats(one["effective"])
        with np.errstate(invalid="ignore", divide="ignore"):
            # Clusters make items count for less, of the spread as of what may be unseen.
            reach = (floats(one["greatest"]) - floats(one["least"])) * n / effective
            df = np.where(se == 0, n - 1, floats(one["df"]))
            effect = np.nan_to_num(floats(mean["min_effect"]))
            both.append(needed(se * np.sqrt(n), n, df, reach, alpha=spec.alpha, min_effect=effect))
    most = np.fmax(*both)
    # Where one of two can never be shown, the row cannot.
    judged = rate["se"].is_not_null().to_numpy()
    return np.where(np.isnan(both[0]) | (judged & np.isnan(both[1])), np.nan, most)


def _reason(one: dict[str, Any], about: dict[str, Any], spec: ResolvedSpec, tests: int) -> str:
    """Say why a component has its verdict."""
    what, written, verdict = _name_of(one, spec), _written(one, spec), one["verdict"]
    if one["se"] is None and one["quantile"] is None:
        return str(about["undefined"] or _why_no_test(about, "score" if written.measure is None else "value"))
    if about["fewest"] is not None and about["fewest"] < FEWEST:
        return f"{about['fewest']:,} clusters are too few for a verdict; at least {FEWEST} are needed"
    low, high, q, effect = one["ci_low"], one["ci_high"], one["q_value"], written.effect(one["min_effect"])
    interval = "no interval"
    if low is not None and high is not None:
        interval = f"{100 * (1 - spec.alpha):g}% interval {written.span(low, high)}, not corrected"
    corrected = "" if q is None else f"; corrected q = {q:.2g}"
    if verdict in (REGRESSED, IMPROVED):
        moved = "fell" if one["difference"] < 0 else "rose"
        return f"the {what} {moved} by {written.size(one['difference'])} ({interval}{corrected})"
    if verdict == NO_CHANGE:
        return f"any change of the {what} is smaller than {effect} ({interval})"
    unlikely = _why_unlikely(one, about["n"], written, interval)
    if unlikely or one["too_small"]:
        few = "too few items differ to separate a change from chance; left out of the correction"
        return f"{what}: {unlikely or few}"
    why = "the permutation test does not confirm it"
    if not one["outweighs"]:
        why = f"rare opposite ones could be unseen ({interval})"
    elif q is None or q > spec.alpha:
        why = f"not after correction for {tests:,} tests ({interval}{corrected})"
    return f"{what}: a change is likely, but {why}"


def _why_unlikely(one: dict[str, Any], n: int, written: Written, interval: str) -> str:
    """Say why there may be no change, if the interval holds 0 or there is none."""
    low, high, effect = one["ci_low"], one["ci_high"], one["min_effect"]
    if low is None or high is None:
        return "too few values to give an interval"
    if one["difference"] == 0 and one["se"] == 0:
        return f"all {n:,} differences are 0, but {_unseen(one, written)}"
    if -effect <= low <= 0 <= high <= effect:
        return f"no change was seen, but {_unseen(one, written)}"
    if low <= 0 <= high:
        return f"no change and a change of {written.effect(effect)} are both possible ({interval})"
    return ""


def _name_of(one: dict[str, Any], spec: ResolvedSpec) -> str:
    if one["component"] == PASS_RATE:
        return "pass rate"
    name = str(one["metric"])
    if one["quantile"] is not None:
        return f"{one['component']} of {name}"
    kinds = {"metric": "mean score", "aggregate": name, "measure": f"mean {name}"}
    return kinds.get(spec.kind(name)) or WORDS[name]


def _written(one: dict[str, Any], spec: ResolvedSpec) -> Written:
    return Written(None if one["component"] == PASS_RATE else spec.measures.get(one["metric"]))


def _unseen(one: dict[str, Any], written: Written) -> str:
    low, high = one["safe_low"], one["safe_high"]
    if low is None or high is None:
        return "the values have no bounds, so rare changes may be unseen"
    return (
        f"rare changes may be unseen: {written.signed(low)} to {written.signed(high)} is possible, "
        f"{written.effect(one['min_effect'])} is not ruled out"
    )


def _what_n_finds(
    about: dict[str, Any], one: dict[str, Any], needs: float, power: float, spec: ResolvedSpec
) -> str:
    """Return what this number of items buys, and how many would settle it."""
    if not needs > about["n"]:
        return ""
    unit, written, found = "items" if about["paired"] else "rows", _written(one, spec), ""
    # Fewer items find less than the t test says: they must also outweigh what may be unseen.
    if np.isfinite(power) and one["effective"] >= FEWEST_FOR_POWER:
        size = f"{power:.3g}" if written.measure is None else written.size(power)
        found = f"{about['n']:,} {unit} detect changes of {size} or more (80% power); "
    return f"; {found}ruling out {written.effect(one['min_effect'])} takes about {int(needs):,} {unit}"


def _why_no_test(about: dict[str, Any], what: str) -> str:
    n, before, after = about["n"], about["n_baseline_only"], about["n_candidate_only"]
    if not about["paired"]:
        have = f"{before:,} baseline and {after:,} candidate rows have a {what}"
        if about["clusters"] is not None and min(before, after) > 1:
            return f"{have}, but a version with one cluster has no variance between clusters"
        return f"{have}; each version needs at least 2"
    if n == 0:
        alone = f"{before:,} in the baseline alone, {after:,} in the candidate"
        return f"no item has a {what} in both versions ({alone})"
    if n == 1:
        return f"one item has a {what} in both versions; at least 2 are needed"
    return f"all {n:,} items are in one cluster; at least {FEWEST} clusters are needed"
