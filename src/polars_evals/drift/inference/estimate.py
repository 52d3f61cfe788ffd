"""
Estimates of a candidate: differences, their standard errors and tests by signs, by slice.

What is judged is a component: the mean of a number that each item has in both versions, such as its score or
whether it passes. Whatever can be written so, pseudo-values of a statistic too, is estimated and tested here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_evals.drift.inference import NEGLIGIBLE
from polars_evals.drift.inference.clusters import FEWEST, Spread, one_mean, two_means
from polars_evals.drift.inference.permutation import cluster_interval, cluster_p, flip_signs, moved
from polars_evals.drift.inference.quantiles import Arms, mean_ratio, quantile_of, statistic_name
from polars_evals.drift.inference.shape import ks, psi, psi_chance

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats
    from polars_evals.drift.pair import Observations, Slicing
    from polars_evals.drift.spec import Quantity, ResolvedSpec

    Codes = npt.NDArray[np.int64]
    Columns = dict[str, Any]

MEAN, PASS_RATE = MEANS = "mean", "pass_rate"
IDENTITY: dict[str, Any] = {
    "candidate": pl.String,
    "metric": pl.String,
    "slice": pl.String,
    "by": pl.List(pl.String),
    "value": pl.List(pl.String),
}
PEOPLE = (
    "labels_baseline", "labels_candidate", "judge_off_baseline", "judge_off_candidate", "people_difference",
    "people_ci_low", "people_ci_high",
)  # fmt: skip
# What is known of a row, whatever is judged of it.
FACTS: dict[str, Any] = {
    **dict.fromkeys(("n", "n_baseline_only", "n_candidate_only", "clusters", "fewest"), pl.Int64),
    "paired": pl.Boolean,
    "correlation": pl.Float64,
    **dict.fromkeys(
        ("newly_failing", "newly_passing", "baseline_labels", "candidate_labels", "repeated"), pl.Int64
    ),
    **dict.fromkeys(("lowest", "highest", "range", "ks", "psi", "psi_chance"), pl.Float64),
    "undefined": pl.String,
    # What labels say where they correct a judge.
    **dict.fromkeys(PEOPLE, pl.Float64),
}
# What is estimated of a component; the last ones of quantiles alone, which bring their own intervals.
ESTIMATES: dict[str, Any] = {
    "component": pl.String,
    "quantile": pl.Float64,
    "n": pl.Int64,
    **dict.fromkeys(
        ("baseline_value", "candidate_value", "difference", "se", "df", "effective", "skew"), pl.Float64
    ),
    "units": pl.Float64,
    "p_permutation": pl.Float64,
    "p_wild": pl.Float64,
    "moved": pl.Int64,
    # Whether it is the same numbers as the component before it, and no test of its own.
    "same": pl.Boolean,
    **dict.fromkeys(("ratio", "ratio_low", "ratio_high"), pl.Float64),
    **dict.fromkeys(
        ("ci_low", "ci_high", "p_value", "sequential_low", "sequential_high", "p_sequential", "bound_low",
         "bound_high", "sequential_bound_low", "sequential_bound_high"),
        pl.Float64,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Component:
    """
    Numbers of which the means are compared: paired, one an item in each version; else one a row.

    Attributes
    ----------
    name, before, after
        What it is, and the numbers of both versions.
    same
        Whether it is the same numbers as the component before it.
    values
        By slice the values of both versions, where they are known without the numbers.
    facts
        Further facts by slice, such as why there is no difference (`undefined`).
    possible
        The least and the greatest mean, seen or not, where the numbers of items may be beyond.
    notes
        Sentences about limits of the result.
    """

    name: str
    before: Floats
    after: Floats
    same: bool = False
    values: tuple[Floats, Floats] | None = None
    facts: Mapping[str, Sequence[Any] | Floats] = field(default_factory=dict)
    possible: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


def components_of(pairs: Observations, quantity: Quantity) -> list[Component]:
    """Return what is judged of scores as they are: the mean, and the pass rate where there are labels."""
    found = [Component(MEAN, pairs.values(quantity.name, "b"), pairs.values(quantity.name, "c"))]
    if pairs.labelled(quantity.name):
        rates = [pairs.values(quantity.name, end) for end in ("bp", "cp")]
        scores = [found[0].before, found[0].after]
        if pairs.paired:
            unknown = np.isnan(scores[1] - scores[0])
            rates, scores = ([np.where(unknown, np.nan, one) for one in both] for both in (rates, scores))
        # The first items tell most of the time.
        same = all(
            _equal(rate[:some], score[:some])
            for some in (1_000, None)
            for rate, score in zip(rates, scores, strict=True)
        )
        found.append(Component(PASS_RATE, rates[0], rates[1], same=same))
    return found


def _equal(one: Floats, other: Floats) -> bool:
    """Say whether all numbers are the same, what is unknown too."""
    return bool(((one == other) | (np.isnan(one) & np.isnan(other))).all())


class Estimates:
    """What is estimated, column by column, until it is tested; a frame for each row would take longer."""

    def __init__(
        self,
        spec: ResolvedSpec,
        components: Callable[[Observations, Quantity, Slicing, ResolvedSpec], list[Component]] | None = None,
    ) -> None:
        self.spec, self._components = spec, components
        self.notes: list[str] = []
        self._facts: dict[str, list[Any]] = {name: [] for name in (*IDENTITY, *FACTS)}
        self._rows: dict[str, list[Any]] = {name: [] for name in ("row", *IDENTITY, *ESTIMATES)}

    def add(
        self, pairs: Observations, name: str, slicing: Slicing, only: Sequence[str | None] | None = None
    ) -> None:
        """Estimate a row for each slice, or for the one that has some values, and its components."""
        quantity, start = self.spec.quantity(name), len(self._facts["metric"])
        if self._components is None:
            components = components_of(pairs, quantity)
        else:
            components = self._components(pairs, quantity, slicing, self.spec)
        self.notes += components[0].notes
        found = [_estimate(pairs, one, slicing, self.spec) for one in components]
        facts = _facts(pairs, quantity, components, slicing) | found[0][1] | dict(components[0].facts)
        rows = [columns for columns, _ in found]
        if quantity.kind == "measure":
            rows += _statistics(pairs, quantity, slicing, rows[0], self.spec.alpha)
        identity = slicing.identity(pairs.candidate, name)
        places = range(len(slicing)) if only is None else [slicing.values.index(tuple(only))]
        _extend(self._facts, identity | facts, places)
        for columns in rows:
            known = [at for at in places if columns["n"][at] or columns["component"][at] in MEANS]
            _extend(self._rows, identity | {"row": start + np.arange(len(slicing))} | columns, known)
            if only is not None:
                self._rows["row"][-len(known) or len(self._rows["row"]) :] = [start] * len(known)

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
    def of(cls, values: Floats, codes: Codes | None, count: int) -> Moments:
        """Sum up the values of each slice."""
        n, mean, apart = _deviations(values, codes, count)
        squares = apart * apart
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = np.where(n > 1, _total(squares, codes, count) / (n - 1), np.nan)
        return cls(n, mean, variance, _total(squares * apart, codes, count))


def _deviations(values: Floats, codes: Codes | None, count: int) -> tuple[Floats, Floats, Floats]:
    """Return number and mean of each slice, and how far values are from the mean of theirs."""
    n = _total(None, codes, count, len(values))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _total(values, codes, count) / n
    return n, mean, values - (mean[0] if codes is None else mean[codes])


def _total(values: Floats | None, codes: Codes | None, count: int, size: int = 0) -> Floats:
    """Add up values by slice; without values, count."""
    if codes is None:
        return np.array([size if values is None else values.sum()], dtype=np.float64)
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64)


def split(values: npt.NDArray[Any], codes: Codes | None, count: int) -> list[npt.NDArray[Any]]:
    """Return the values of each slice, in their order."""
    if codes is None:
        return [values]
    # Numbers of two bytes are sorted by counting.
    order = np.argsort(codes.astype(np.uint16) if count < 2**16 else codes, kind="stable")
    return np.split(values[order], np.cumsum(np.bincount(codes, minlength=count))[:-1])


def _known(values: Floats, *others: Any) -> tuple[Any, ...]:
    there = ~np.isnan(values)
    if there.all():
        return (values, *others)
    return (values[there], *(None if one is None else one[there] for one in others))


def _estimate(
    pairs: Observations, component: Component, slicing: Slicing, spec: ResolvedSpec
) -> tuple[Columns, Columns]:
    """Return the estimates of a component by slice, and how many clusters are behind them."""
    estimated = _paired if pairs.paired else _unpaired
    found, clusters = estimated(pairs, component, slicing, spec)
    if component.values is not None:
        found["baseline_value"], found["candidate_value"] = component.values
    for name in ("difference", "se"):
        found[name] = np.where(np.abs(found[name]) < NEGLIGIBLE, 0.0, found[name])
    count = len(slicing)
    return (
        {"component": [component.name] * count, "same": [component.same] * count, **found},
        {name: clusters.get(name, [None] * count) for name in ("clusters", "fewest")},
    )


def _paired(
    pairs: Observations, component: Component, slicing: Slicing, spec: ResolvedSpec
) -> tuple[Any, Any]:
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
    counts: dict[str, Any] = {}
    if groups is not None:
        sums = [_by_cluster(*part) for part in zip(units, split(groups, codes, count), strict=True)]
        units = [sum_ for sum_, _ in sums]
        spreads = [one_mean(size, sum_) for sum_, size in sums]
        found |= _spread(spreads)
        found["p_wild"] = [cluster_p(*one, seed=spec.seed) for one in sums]
        found["ci_low"], found["ci_high"] = np.array(
            [
                _signed_interval(*one, spread, p, spec)
                for one, spread, p in zip(sums, spreads, found["p_wild"], strict=True)
            ]
        ).T
        many = np.array([len(one) for one in units])
        found["units"] = np.sqrt(many * found["effective"])
        counts = {"clusters": many, "fewest": many}
    found["p_permutation"] = [flip_signs(one, seed=spec.seed) for one in units]
    found["moved"] = [moved(one) for one in units]
    return found, counts


def _signed_interval(
    total: Floats, size: Floats, spread: Spread, p: float | None, spec: ResolvedSpec
) -> tuple[float, float]:
    """Return the interval of the tests by signs where they find a change that the t interval does not."""
    from scipy.special import stdtrit

    half = -float(stdtrit(spread.df, spec.alpha / 2)) * float(np.sqrt(spread.variance))
    if p is None or p > spec.alpha or len(total) < FEWEST or abs(float(total.sum() / size.sum())) > half:
        return np.nan, np.nan
    return cluster_interval(total, size, spec.alpha, seed=spec.seed)


def _by_cluster(values: Floats, groups: Codes) -> tuple[Floats, Floats]:
    _, places = np.unique(groups, return_inverse=True)
    totals, sizes = np.bincount(places, weights=values), np.bincount(places)
    return totals.astype(np.float64), sizes.astype(np.float64)


def _spread(spreads: Sequence[Spread]) -> dict[str, Any]:
    variance, df, effective, skew = np.array(spreads, dtype=np.float64).reshape(-1, 4).T
    return {"se": np.sqrt(variance), "df": df, "effective": effective, "units": effective, "skew": skew}


def _unpaired(
    pairs: Observations, component: Component, slicing: Slicing, spec: ResolvedSpec
) -> tuple[Any, Any]:
    del spec
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
        return found, {}
    parts = [split(one, codes, count) for values, codes, groups in sides for one in (values, groups)]
    spreads, clusters, fewest = [], [], []
    for before, groups_b, after, groups_c in zip(*parts, strict=True):
        _, places = np.unique(np.concatenate([groups_b, groups_c]), return_inverse=True)
        most = int(places.max(initial=-1)) + 1
        arms = places[: len(groups_b)], places[len(groups_b) :]
        sizes = [np.bincount(arm, minlength=most).astype(np.float64) for arm in arms]
        totals = [
            np.bincount(arm, weights=values, minlength=most).astype(np.float64)
            for arm, values in zip(arms, (before, after), strict=True)
        ]
        present = [int((size > 0).sum()) for size in sizes]
        spreads.append(two_means((sizes[0], sizes[1]), (totals[0], totals[1])))
        clusters.append(sum(present))
        fewest.append(min(present))
    return found | _spread(spreads), {"clusters": clusters, "fewest": fewest}


def _facts(
    pairs: Observations, quantity: Quantity, components: Sequence[Component], slicing: Slicing
) -> Columns:
    """Count items, labels and flips, and measure how far apart the distributions are."""
    count, codes = len(slicing), slicing.codes
    before, after = components[0].before, components[0].after
    there = ~np.isnan(before), ~np.isnan(after)
    both = there[0] & there[1]

    def counted(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        if codes is None:
            return np.array([mask.sum()])
        return np.bincount(codes[mask], minlength=count)

    nothing = [None] * count
    found: dict[str, Any] = dict.fromkeys(("correlation", "newly_failing", "newly_passing"), nothing)
    rates = [components[1].before, components[1].after] if len(components) > 1 else []
    if pairs.paired:
        found |= {
            "n": counted(both),
            "n_baseline_only": counted(there[0] & ~there[1]),
            "n_candidate_only": counted(there[1] & ~there[0]),
            "correlation": _correlation(
                before[both], after[both], None if codes is None else codes[both], count
            ),
            "repeated": counted(pairs.repeated),
        }
        labels = counted(~np.isnan(rates[1] - rates[0])) if rates else np.zeros(count, dtype=np.int64)
        found["baseline_labels"] = found["candidate_labels"] = labels
        if rates:
            with np.errstate(invalid="ignore"):
                # With repeats the majority counts, and half of them is none.
                failing = (rates[0] > 0.5) & (rates[1] < 0.5)
                passing = (rates[0] < 0.5) & (rates[1] > 0.5)
            for key, mask in (("newly_failing", failing), ("newly_passing", passing)):
                found[key] = [int(k) if n else None for k, n in zip(counted(mask), labels, strict=True)]
    else:
        n_b, n_c = counted(there[0]), counted(there[1])
        found |= {"n": n_b + n_c, "n_baseline_only": n_b, "n_candidate_only": n_c, "repeated": [0] * count}
        for key, rate in zip(
            ("baseline_labels", "candidate_labels"), rates or [before * np.nan] * 2, strict=True
        ):
            found[key] = counted(~np.isnan(rate))
    possible = components[0].possible
    low, high = np.full(count, min((np.inf, *possible))), np.full(count, max((-np.inf, *possible)))
    for values, known in zip((before, after), there, strict=True):
        if codes is None:
            low, high = (
                np.fmin(low, values.min(where=known, initial=np.inf)),
                np.fmax(high, values.max(where=known, initial=-np.inf)),
            )
        else:
            np.minimum.at(low, codes[known], values[known])
            np.maximum.at(high, codes[known], values[known])
    found["range"] = [max(possible) - min(possible) if possible else None] * count
    found["lowest"], found["highest"] = (np.where(np.isfinite(one), one, np.nan) for one in (low, high))
    # An aggregate has no values that are spread.
    samples = [] if quantity.kind == "aggregate" else pairs.samples(quantity.name, slicing)
    found |= {
        "ks": [ks(*one) for one in samples] or nothing,
        "psi": [psi(*one) for one in samples] or nothing,
        "psi_chance": [psi_chance(*one) for one in samples] or nothing,
        "paired": [pairs.paired] * count,
    }
    return found


def _correlation(before: Floats, after: Floats, codes: Codes | None, count: int) -> Floats:
    (n, _, b), (_, _, c) = (_deviations(one, codes, count) for one in (before, after))
    with np.errstate(invalid="ignore", divide="ignore"):
        products = [_total(one, codes, count) / (n - 1) for one in (b * b, c * c, b * c)]
        spread = np.sqrt(products[0] * products[1])
        found = products[2] / spread
        return np.where((spread > NEGLIGIBLE**2) & (n > 1), np.clip(found, -1, 1), np.nan)


def _statistics(
    pairs: Observations, quantity: Quantity, slicing: Slicing, means: Columns, alpha: float
) -> list[Columns]:
    """Add the ratio to the means of a measure, and return its quantiles by slice."""
    before, after = (pairs.values(quantity.name, end) for end in ("b", "c"))
    count = len(slicing)
    if pairs.paired:
        known = ~np.isnan(after - before)
        places = [known, known]
    else:
        places = [~np.isnan(before), ~np.isnan(after)]

    def by_slice(values: Any, there: Any) -> list[Any]:
        if values is None:
            return [None] * count
        return split(values[there], None if slicing.codes is None else slicing.codes[there], count)

    sides = [by_slice(values, there) for values, there in zip((before, after), places, strict=True)]
    groups = [by_slice(pairs.clusters, there) for there in places]
    arms = [
        Arms(b, c, pairs.paired, None if gb is None else (gb, gc))
        for b, c, gb, gc in zip(*sides, *groups, strict=True)
    ]
    full = [len(one.before) > 0 and len(one.after) > 0 for one in arms]
    n = [
        (len(one.before) if pairs.paired else len(one.before) + len(one.after)) if ok else 0
        for one, ok in zip(arms, full, strict=True)
    ]
    ratios = [mean_ratio(one, alpha) if ok else {} for one, ok in zip(arms, full, strict=True)]
    means |= {key: [one.get(key) for one in ratios] for key in ("ratio", "ratio_low", "ratio_high")}
    found: list[Columns] = []
    for q in quantity.quantiles:
        rows = [
            quantile_of(one, quantity.bounds, q, alpha) if ok else {}
            for one, ok in zip(arms, full, strict=True)
        ]
        columns: Columns = {
            "component": [statistic_name(q)] * count, "quantile": [q] * count, "n": n,
            "same": [False] * count,
        }  # fmt: skip
        names = dict.fromkeys(key for row in rows for key in row)
        found.append(columns | {key: [row.get(key) for row in rows] for key in names})
    return found
