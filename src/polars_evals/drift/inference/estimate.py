"""
Estimates of a candidate: differences, their standard errors and tests by signs, by slice.

What is judged is a component: the mean of a number that each item has in both versions, such as its score or
whether it passes. Whatever can be written so, pseudo-values of a statistic too, is estimated and tested here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtrit

from polars_evals.drift.components import MEAN, MEANS, PASS_RATE, PEOPLE_COLUMNS, components
from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.inference.clusters import FEWEST, Spread, by_cluster, one_mean, two_means
from polars_evals.drift.inference.permutation import cluster_interval, cluster_p, flip_signs, moved
from polars_evals.drift.inference.quantiles import Arms, mean_ratio, quantile_of, statistic_name
from polars_evals.drift.inference.shape import ks, psi
from polars_evals.suite.measure import EFFECT_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from polars_evals.drift.components import Component
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.pair import Observations, Slicing
    from polars_evals.drift.spec import ResolvedSpec

    Codes = npt.NDArray[np.int64]
    Columns = dict[str, Any]

IDENTITY: dict[str, Any] = {
    "candidate": pl.String,
    "metric": pl.String,
    "slice": pl.String,
    "by": pl.List(pl.String),
    "value": pl.List(pl.String),
}
# What is known of a row, whatever is judged of it.
FACTS: dict[str, Any] = {
    **dict.fromkeys(("n", "n_baseline_only", "n_candidate_only", "clusters", "fewest"), pl.Int64),
    "paired": pl.Boolean,
    "correlation": pl.Float64,
    **dict.fromkeys(
        ("newly_failing", "newly_passing", "baseline_labels", "candidate_labels", "repeated"), pl.Int64
    ),
    **dict.fromkeys(("ks", "psi", "psi_chance"), pl.Float64),
    "undefined": pl.String,
    # What labels say where they correct a judge.
    **dict.fromkeys(PEOPLE_COLUMNS, pl.Float64),
}
# What is estimated of a component, and what it is judged by.
ESTIMATES: dict[str, Any] = {
    "component": pl.String,
    "quantile": pl.Float64,
    "n": pl.Int64,
    "moved": pl.Int64,
    # Whether it is the same numbers as the component before it, and no test of its own.
    "same": pl.Boolean,
    **dict.fromkeys(
        (
            "baseline_value", "candidate_value", "difference", "se", "df", "effective", "skew", "units",
            "p_permutation", "p_wild", "min_effect", "margin", "sign", "least", "greatest", "most",
            "ratio", "ratio_low", "ratio_high",
            # Quantiles bring their own intervals.
            "ci_low", "ci_high", "p_value", "sequential_low", "sequential_high", "p_sequential", "bound_low",
            "bound_high", "sequential_bound_low", "sequential_bound_high",
        ),
        pl.Float64,
    ),
}  # fmt: skip


class Estimates:
    """What is estimated, column by column, until it is tested; a frame for each row would take longer."""

    def __init__(self, spec: ResolvedSpec) -> None:
        self.spec = spec
        self.notes: list[str] = []
        self._facts: dict[str, list[Any]] = {name: [] for name in (*IDENTITY, *FACTS)}
        self._rows: dict[str, list[Any]] = {name: [] for name in ("row", *IDENTITY, *ESTIMATES)}

    def add(
        self, pairs: Observations, name: str, slicing: Slicing, only: Sequence[str | None] | None = None
    ) -> None:
        """Estimate a row for each slice, or for the one that has some values, and its components."""
        parts = components(pairs, name, slicing, self.spec)
        self.notes += parts[0].notes
        rows = [_estimate(pairs, one, slicing, self.spec) for one in parts]
        facts = _facts(pairs, name, parts, slicing, self.spec) | dict(parts[0].facts)
        facts |= {key: rows[0].get(key) for key in ("clusters", "fewest")}
        if self.spec.kind(name) == "measure":
            rows += _statistics(pairs, parts[0], slicing, rows[0], self.spec, name=name)
        extremes = _extremes(parts[0], slicing)
        for one in rows:
            one.update(_rules(self.spec, name, one, extremes, parts[0].possible))
        identity = slicing.identity(pairs.candidate, name)
        places = list(range(len(slicing))) if only is None else [slicing.values.index(tuple(only))]
        start = len(self._facts["metric"])
        row = np.full(len(slicing), -1)
        row[places] = start + np.arange(len(places))
        _extend(self._facts, identity | facts, places)
        for one in rows:
            known = [at for at in places if one["n"][at] or one["component"] in MEANS]
            named = {"component": [one["component"]] * len(slicing)}
            _extend(self._rows, identity | {"row": row} | one | named, known)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the components, and what is known of each row."""
        clean = pl.col(pl.Float64).fill_nan(None)
        rows = pl.DataFrame(self._rows, schema={"row": pl.Int64, **IDENTITY, **ESTIMATES})
        facts = pl.DataFrame(self._facts, schema={**IDENTITY, **FACTS})
        ordered = rows.sort("row", maintain_order=True)
        return ordered.with_columns(clean), facts.with_columns(clean)


def _extend(table: dict[str, list[Any]], columns: Columns, places: Sequence[int]) -> None:
    """Add some places of columns to a table, null where a column is not there."""
    for name, values in table.items():
        column = columns.get(name)
        if column is None:
            values.extend([None] * len(places))
        else:
            plain = column.tolist() if isinstance(column, np.ndarray) else column
            values.extend(plain[at] for at in places)


class Moments(NamedTuple):
    """Number, mean and variance of values by slice, and the sum of their cubed deviations."""

    n: Floats
    mean: Floats
    variance: Floats
    cubes: Floats

    @classmethod
    def of(cls, values: Floats, codes: Codes, count: int) -> Moments:
        """Sum up the values of each slice."""
        n, mean, apart = _deviations(values, codes, count)
        squares = apart * apart
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = np.where(n > 1, _total(squares, codes, count) / (n - 1), np.nan)
        return cls(n, mean, variance, _total(squares * apart, codes, count))


def _deviations(values: Floats, codes: Codes, count: int) -> tuple[Floats, Floats, Floats]:
    """Return number and mean of each slice, and how far values are from the mean of theirs."""
    n = np.bincount(codes, minlength=count).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _total(values, codes, count) / n
    return n, mean, values - (mean if count == 1 else mean[codes])


def _total(values: Floats, codes: Codes, count: int) -> Floats:
    """Add up values by slice; with one slice, in pairs, which loses fewer digits."""
    found = values.sum(keepdims=True) if count == 1 else np.bincount(codes, values, count)
    return found.astype(np.float64)


def split(values: npt.NDArray[Any], codes: Codes, count: int) -> list[npt.NDArray[Any]]:
    """Return the values of each slice, in their order."""
    if count == 1:
        return [values]
    # Numbers of two bytes are sorted by counting.
    order = np.argsort(codes.astype(np.uint16) if count < 2**16 else codes, kind="stable")
    return np.split(values[order], np.cumsum(np.bincount(codes, minlength=count))[:-1])


def _known(values: Floats, *others: Any) -> tuple[Any, ...]:
    there = ~np.isnan(values)
    if there.all():
        return (values, *others)
    return (values[there], *(None if one is None else one[there] for one in others))


def _estimate(pairs: Observations, component: Component, slicing: Slicing, spec: ResolvedSpec) -> Columns:
    """Return the estimates of a component by slice, and how many clusters are behind them."""
    found = (_paired if pairs.paired else _unpaired)(pairs, component, slicing, spec)
    if component.values is not None:
        found["baseline_value"], found["candidate_value"] = component.values
    for name in ("difference", "se"):
        found[name] = np.where(np.abs(found[name]) < NEGLIGIBLE, 0.0, found[name])
    return {"component": component.name, "same": [component.same] * len(slicing), **found}


def _extremes(component: Component, slicing: Slicing) -> tuple[Floats, Floats]:
    """Return the least and the greatest number of each slice, with what is possible; NaN without any."""
    possible, count = component.possible, len(slicing)
    low, high = np.full(count, min((np.inf, *possible))), np.full(count, max((-np.inf, *possible)))
    for values in (component.before, component.after):
        if count == 1:
            low, high = (
                np.fmin(low, np.fmin.reduce(values, initial=np.inf)),
                np.fmax(high, np.fmax.reduce(values, initial=-np.inf)),
            )
        else:
            np.fmin.at(low, slicing.codes, values)
            np.fmax.at(high, slicing.codes, values)
    return np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)


def _rules(
    spec: ResolvedSpec, name: str, found: Columns, extremes: tuple[Floats, Floats], possible: Sequence[float]
) -> Columns:
    """
    Return what a component is judged by: `min_effect`, `margin`, `sign` (-1: lower is better) and bounds.

    A metric has the bounds of scores as long as all are inside. A measure without bounds has those of the
    values that were seen, with 0 among them: what is unseen is rarely much larger. Its intervals may still
    reach beyond. `most` is the largest difference that is possible: the numbers that items add to an
    aggregate or a corrected mean may leave its bounds.
    """
    quantity, (low, high) = spec.quantities[name], extremes
    least, greatest = map(np.asarray, quantity.limits)
    if found["component"] == PASS_RATE:
        least, greatest, most = np.zeros(1), np.ones(1), np.ones(1)
    elif spec.kind(name) == "metric":
        inside = (low >= -NEGLIGIBLE) & (high <= 1 + NEGLIGIBLE)
        least, greatest = np.where(inside, least, np.nan), np.where(inside, greatest, np.nan)
        most = np.where(inside, 1.0, np.inf)
    else:
        most = greatest - least
        least = np.where(np.isfinite(least), least, np.fmin(low, 0.0))
        greatest = np.where(np.isfinite(greatest), greatest, np.fmax(high, 0.0))
    if found["component"] == MEAN and possible:
        most = np.asarray(max(possible) - min(possible))
    part = EFFECT_SHARE * np.abs(np.array(found["baseline_value"], dtype=np.float64))
    made = {
        "min_effect": part if quantity.min_effect is None else quantity.min_effect,
        "margin": quantity.margin, "sign": quantity.sign, "least": least, "greatest": greatest, "most": most,
    }  # fmt: skip
    return {key: None if one is None else np.broadcast_to(one, low.shape) for key, one in made.items()}


def _paired(pairs: Observations, component: Component, slicing: Slicing, spec: ResolvedSpec) -> Columns:
    d, before, after, codes, groups = _known(
        component.after - component.before, component.before, component.after, slicing.codes, pairs.clusters
    )
    count = len(slicing)
    n, mean, variance, cubes = Moments.of(d, codes, count)
    units = split(d, codes, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (n - 1) * variance
        found: dict[str, Any] = {
            "n": n.astype(np.int64),
            "baseline_value": _total(before, codes, count) / n,
            "candidate_value": _total(after, codes, count) / n,
            "difference": mean,
            "se": np.sqrt(variance / n),
            "df": n - 1,
            "effective": n,
            "units": n,
            "skew": np.where(squares > NEGLIGIBLE**2, cubes / squares**1.5, 0.0),
        }
    if groups is not None:
        sums = [by_cluster(*part) for part in zip(units, split(groups, codes, count), strict=True)]
        units = [total for total, _ in sums]
        spreads = [one_mean(size, total) for total, size in sums]
        found |= _spread(spreads)
        found["p_wild"] = [cluster_p(*one, seed=spec.seed) for one in sums]
        signed = [
            _signed_interval(*one, spread, p, spec)
            for one, spread, p in zip(sums, spreads, found["p_wild"], strict=True)
        ]
        found["ci_low"], found["ci_high"] = np.array(signed).T
        many = np.array([len(one) for one in units])
        found |= {"units": np.sqrt(many * found["effective"]), "clusters": many, "fewest": many}
    found["p_permutation"] = [flip_signs(one, seed=spec.seed) for one in units]
    found["moved"] = [moved(one) for one in units]
    return found


def _signed_interval(
    total: Floats, size: Floats, spread: Spread, p: float | None, spec: ResolvedSpec
) -> tuple[float, float]:
    """Return the interval of the tests by signs where they find a change that the t interval does not."""
    half = -float(stdtrit(spread.df, spec.alpha / 2)) * float(np.sqrt(spread.variance))
    if p is None or p > spec.alpha or len(total) < FEWEST or abs(float(total.sum() / size.sum())) > half:
        return np.nan, np.nan
    return cluster_interval(total, size, spec.alpha, seed=spec.seed)


def _spread(spreads: Sequence[Spread]) -> dict[str, Any]:
    variance, df, effective, skew = np.array(spreads, dtype=np.float64).reshape(-1, 4).T
    return {"se": np.sqrt(variance), "df": df, "effective": effective, "units": effective, "skew": skew}


def _unpaired(pairs: Observations, component: Component, slicing: Slicing, _: ResolvedSpec) -> Columns:
    count = len(slicing)
    sides = [_known(one, slicing.codes, pairs.clusters) for one in (component.before, component.after)]
    b, c = (Moments.of(values, codes, count) for values, codes, _ in sides)
    with np.errstate(invalid="ignore", divide="ignore"):
        v = b.variance / b.n, c.variance / c.n
        variance = v[0] + v[1]
        df = variance**2 / (v[0] ** 2 / (b.n - 1) + v[1] ** 2 / (c.n - 1))
        effective = 1 / (1 / b.n + 1 / c.n)
        skew = (c.cubes / c.n**3 - b.cubes / b.n**3) / variance**1.5
    found: dict[str, Any] = {
        "n": (b.n + c.n).astype(np.int64),
        "baseline_value": b.mean,
        "candidate_value": c.mean,
        "difference": c.mean - b.mean,
        "se": np.sqrt(variance),
        "df": np.where(variance > 0, df, np.nan),
        "effective": effective,
        "units": effective,
        # Only of scores: the skewness of a pass rate is known from its level.
        "skew": np.where((np.sqrt(variance) > NEGLIGIBLE) & (component.name == MEAN), skew, 0.0),
    }
    if pairs.clusters is None:
        return found
    parts = [split(one, codes, count) for values, codes, groups in sides for one in (values, groups)]
    spreads, present = [], []
    for before, groups_b, after, groups_c in zip(*parts, strict=True):
        names, places = np.unique(np.concatenate([groups_b, groups_c]), return_inverse=True)
        # The clusters of the baseline, then those of the candidate.
        places[len(groups_b) :] += len(names)
        sizes, totals = (
            list(np.bincount(places, values, 2 * len(names)).astype(np.float64).reshape(2, -1))
            for values in (np.ones(len(places)), np.concatenate([before, after]))
        )
        spreads.append(two_means(sizes, totals))
        present.append([(size > 0).sum() for size in sizes])
    each = np.array(present).reshape(-1, 2)
    return found | _spread(spreads) | {"clusters": each.sum(axis=1), "fewest": each.min(axis=1)}


def _facts(
    pairs: Observations, name: str, parts: Sequence[Component], slicing: Slicing, spec: ResolvedSpec
) -> Columns:
    """Count items, labels and flips, and measure how far apart the distributions are."""
    count, codes = len(slicing), slicing.codes
    before, after = parts[0].before, parts[0].after
    there = ~np.isnan(before), ~np.isnan(after)
    both = there[0] & there[1]

    def counted(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        return np.array([mask.sum()]) if count == 1 else np.bincount(codes[mask], minlength=count)

    n_b, n_c, n_both = (counted(one) for one in (there[0] & ~both, there[1] & ~both, both))
    found: Columns = {
        "paired": [pairs.paired] * count,
        "n": n_both if pairs.paired else n_b + n_c,
        "n_baseline_only": n_b,
        "n_candidate_only": n_c,
        "correlation": _correlation(before[both], after[both], codes[both], count),
        "repeated": counted(pairs.repeated),
        "baseline_labels": [0] * count,
        "candidate_labels": [0] * count,
    }
    # An aggregate has no values that are spread.
    if spec.kind(name) != "aggregate":
        samples = pairs.samples(name, slicing)
        found["ks"] = [ks(*one) for one in samples]
        found["psi"], found["psi_chance"] = zip(*(psi(*one) for one in samples), strict=True)
    if len(parts) == 1:
        return found
    rates = [parts[1].before, parts[1].after]
    both_labels = counted(~np.isnan(rates[1] - rates[0]))
    for key, rate in zip(("baseline_labels", "candidate_labels"), rates, strict=True):
        found[key] = both_labels if pairs.paired else counted(~np.isnan(rate))
    with np.errstate(invalid="ignore"):
        # With repeats the majority counts, and half of them is none.
        passed, failed = [one > 0.5 for one in rates], [one < 0.5 for one in rates]
    for key, mask in (("newly_failing", passed[0] & failed[1]), ("newly_passing", failed[0] & passed[1])):
        found[key] = [int(k) if n else None for k, n in zip(counted(mask), both_labels, strict=True)]
    return found


def _correlation(before: Floats, after: Floats, codes: Codes, count: int) -> Floats:
    (n, _, b), (_, _, c) = (_deviations(one, codes, count) for one in (before, after))
    with np.errstate(invalid="ignore", divide="ignore"):
        products = [_total(one, codes, count) / (n - 1) for one in (b * b, c * c, b * c)]
        spread = np.sqrt(products[0] * products[1])
        found = products[2] / spread
        return np.where((spread > NEGLIGIBLE**2) & (n > 1), np.clip(found, -1, 1), np.nan)


def _statistics(
    pairs: Observations, mean: Component, slicing: Slicing, means: Columns, spec: ResolvedSpec, *, name: str
) -> list[Columns]:
    """Add the ratio to the means of a measure, and return its quantiles by slice."""
    count, measure, sides = len(slicing), spec.quantities[name], []
    for values in (mean.before, mean.after):
        known = ~np.isnan(mean.after - mean.before if pairs.paired else values)
        codes = slicing.codes[known]
        groups = None if pairs.clusters is None else split(pairs.clusters[known], codes, count)
        sides.append((split(values[known], codes, count), groups))
    (before, groups_b), (after, groups_c) = sides
    arms = [
        Arms(
            before[at], after[at], pairs.paired,
            None if groups_b is None or groups_c is None else (groups_b[at], groups_c[at]),
        )
        for at in range(count)
    ]  # fmt: skip
    full = [len(one.before) > 0 and len(one.after) > 0 for one in arms]

    def by_slice(make: Callable[[Arms], dict[str, Any]]) -> Columns:
        made = [make(one) if there else {} for one, there in zip(arms, full, strict=True)]
        return {key: [one.get(key) for one in made] for key in dict.fromkeys(k for one in made for k in one)}

    means |= by_slice(partial(mean_ratio, alpha=spec.alpha))
    quantiles = []
    for q in measure.quantiles or ():
        made = by_slice(partial(quantile_of, bounds=measure.limits, p=q, alpha=spec.alpha))
        n = np.where(full, means["n"], 0)
        about = {"component": statistic_name(q), "quantile": [q] * count, "n": n, "same": [False] * count}
        quantiles.append({"baseline_value": [None] * count} | made | about)
    return quantiles
