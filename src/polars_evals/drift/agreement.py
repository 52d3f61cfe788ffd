"""How well raters agree: people with people, and a judge with people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drawing import drawing
from polars_evals.drift import columns
from polars_evals.drift.inference.intervals import wilson
from polars_evals.drift.result import Result
from polars_evals.wording import counted, did_you_mean, have, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.report import AgreementPlots

FEWEST_ITEMS = 2
LEVELS = ("nominal", "ordinal", "interval")
SUMMARY: dict[str, Any] = {
    "statistic": pl.String, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n": pl.Int64,
}  # fmt: skip
PAIRS: dict[str, Any] = {"a": pl.String, "b": pl.String} | SUMMARY
PASS_RATE: dict[str, Any] = {"judge": pl.String, "estimate": pl.String, "pass_rate": pl.Float64} | {
    name: SUMMARY[name] for name in ("ci_low", "ci_high", "n")
}


def agreement(
    frame: Frame, *, raters: Sequence[str], level: str = "nominal", alpha: float = 0.05
) -> Agreement:
    """
    Measure how well raters agree, and what that says about a judge.

    Parameters
    ----------
    frame
        A DataFrame or LazyFrame with a row for each item.
    raters
        The columns that hold the ratings, a null where a rater gave none. Where a judge is compared with
        people, the people's column comes first.
    level
        ``"nominal"`` (labels), ``"ordinal"`` (an order: numbers, or an Enum in its order) or ``"interval"``
        (numbers whose distances count).
    alpha
        Level of the intervals.

    Returns
    -------
    Agreement
        With frames `summary` (``agreement``, ``cohen_kappa`` for two raters, ``fleiss_kappa``,
        ``krippendorff_alpha``), `pairs` (the same for each two raters) and `pass_rate`.

    Notes
    -----
    Kappas count items that all raters rated, Krippendorff's alpha every item with two ratings. Kappas are of
    labels; with an ordinal or interval level, Cohen's is weighted by squared distance. Intervals are
    Student's, with the jackknife's standard error; where there are two values, of the ratings and half an
    item more in each combination of two ratings, so that they hold where one value is rare.

    Where the ratings are verdicts (booleans, 0 and 1, ``"fail"`` and ``"pass"``), `pass_rate` estimates the
    share that the first rater would pass of all items: from the items that it rated, from the judge alone,
    and from both (``prediction_powered``: Angelopoulos, Duchi and Zrnic 2023), which is as honest as the
    first and narrower.

    Examples
    --------
    >>> frame = pl.DataFrame(
    ...     {
    ...         "human": [True, True, False, True, False, False, True, True, False, True],
    ...         "judge": [True, True, False, True, True, False, True, True, False, True],
    ...     }
    ... )
    >>> agreement = pe.agreement(frame, raters=["human", "judge"])
    >>> agreement.summary.select("statistic", pl.col("value").round(3))
    shape: (4, 2)
    ┌────────────────────┬───────┐
    │ statistic          ┆ value │
    │ ---                ┆ ---   │
    │ str                ┆ f64   │
    ╞════════════════════╪═══════╡
    │ agreement          ┆ 0.9   │
    │ cohen_kappa        ┆ 0.783 │
    │ fleiss_kappa       ┆ 0.78  │
    │ krippendorff_alpha ┆ 0.791 │
    └────────────────────┴───────┘
    """
    columns.require_level(alpha)
    if level not in LEVELS:
        raise ValueError(
            f"level must be one of {', '.join(LEVELS)}, got {shown(level)}{did_you_mean(level, LEVELS)}"
        )
    if isinstance(raters, str) or len(raters) < 2 or len(set(raters)) < len(raters):
        raise ValueError(f"raters must name at least two different columns, got {shown(raters)}")
    lazy = columns.lazy(frame)
    schema = lazy.collect_schema()
    for name in raters:
        columns.require(schema, name, "raters")
    ratings = lazy.select(raters).collect(engine="streaming")
    codes, values = _coded(ratings, level)
    rated = [codes[name].count() for name in raters]
    notes = [
        f"{name} rated {count:,} of {counted(codes.height, 'item')}"
        for name, count in zip(raters, rated, strict=True)
        if count < codes.height
    ]
    notes += _selection_notes(ratings, raters, alpha)
    both = Ratings.of(codes, values, level)
    if both.items < FEWEST_ITEMS:
        raise ValueError(
            f"{have(both.items, 'item')} ratings of two raters or more; at least {FEWEST_ITEMS} are needed"
        )
    pairs = []
    for a, b in combinations(raters, 2):
        two = Ratings.of(codes.select(a, b), values, level)
        if two.items >= FEWEST_ITEMS:
            pairs += [{"a": a, "b": b, **row} for row in _estimates(two, alpha)]
    return Agreement(
        summary=pl.DataFrame(_estimates(both, alpha), schema=SUMMARY),
        pairs=pl.DataFrame(pairs, schema=PAIRS),
        pass_rate=_pass_rates(ratings, raters, alpha),
        notes=tuple(notes),
        settings={"raters": list(raters), "level": level, "alpha": alpha},
    )


@dataclass(frozen=True)
class Ratings:
    """
    Combinations of ratings, and how many items have each.

    `patterns` has a row for each combination and a column for each rater: the place of the rating among all
    values, or −1 for none.
    """

    patterns: Floats
    counts: Floats
    values: Floats
    level: str

    @classmethod
    def of(cls, codes: pl.DataFrame, values: Floats, level: str) -> Ratings:
        """Count the combinations of items with at least two ratings."""
        raters = codes.columns
        kept = codes.fill_null(-1).filter(pl.sum_horizontal(pl.col(raters) >= 0) >= 2)
        seen = kept.group_by(raters, maintain_order=True).len("times")
        return cls(
            seen.select(raters).to_numpy().astype(np.int64),
            seen["times"].cast(pl.Float64).to_numpy(),
            values,
            level,
        )

    @property
    def raters(self) -> int:
        """How many raters there are."""
        return int(self.patterns.shape[1])

    @property
    def items(self) -> int:
        """How many items have two ratings or more."""
        return int(self.counts.sum())

    @property
    def complete(self) -> int:
        """How many items all raters rated."""
        return int(self.counts[self._whole].sum())

    @property
    def _whole(self) -> Floats:
        return np.asarray((self.patterns >= 0).all(axis=1))

    def without(self, pattern: int) -> Ratings:
        """Return the ratings without one item of a combination."""
        counts = self.counts.copy()
        counts[pattern] -= 1
        return replace(self, counts=counts)

    def tallies(self, *, whole: bool) -> tuple[Floats, Floats]:
        """Return how many raters gave each value, a row for each combination, and the items of each."""
        chosen = self._whole if whole else np.ones(len(self.patterns), dtype=np.bool_)
        patterns = self.patterns[chosen]
        tallies = np.stack([(patterns == place).sum(axis=1) for place in range(len(self.values))], axis=1)
        return tallies.astype(np.float64), self.counts[chosen]


def agreement_of(ratings: Ratings) -> float | None:
    """Return the share of pairs of ratings that are equal."""
    tallies, items = ratings.tallies(whole=True)
    if not items.sum():
        return None
    m = ratings.raters
    equal = (tallies * (tallies - 1)).sum(axis=1) / (m * (m - 1))
    return float((equal * items).sum() / items.sum())


def fleiss(ratings: Ratings) -> float | None:
    """Return Fleiss' kappa of items that all raters rated; None where only one value occurs."""
    tallies, items = ratings.tallies(whole=True)
    observed = agreement_of(ratings)
    if observed is None:
        return None
    shares = (tallies * items[:, None]).sum(axis=0) / (items.sum() * ratings.raters)
    chance = float((shares**2).sum())
    return None if chance >= 1 else (observed - chance) / (1 - chance)


def cohen(ratings: Ratings) -> float | None:
    """Return Cohen's kappa of two raters, weighted by squared distance where the values have an order."""
    whole = ratings.patterns.min(axis=1) >= 0
    patterns, items = ratings.patterns[whole], ratings.counts[whole]
    if not items.sum():
        return None
    size = len(ratings.values)
    table = np.zeros((size, size))
    np.add.at(table, (patterns[:, 0], patterns[:, 1]), items)
    table /= table.sum()
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    distance: Floats = 1 - np.eye(size)
    if ratings.level != "nominal":
        at = ratings.values if ratings.level == "interval" else np.arange(size, dtype=np.float64)
        distance = (at[:, None] - at[None, :]) ** 2
    expected = float((distance * chance).sum())
    return None if expected == 0 else 1 - float((distance * table).sum()) / expected


def krippendorff(ratings: Ratings) -> float | None:
    """Return Krippendorff's alpha; None where only one value occurs."""
    tallies, items = ratings.tallies(whole=False)
    rated = tallies.sum(axis=1)
    # Each item counts its pairs of ratings, divided among its ratings.
    weights = items / (rated - 1)
    coincidence = (tallies * weights[:, None]).T @ tallies - np.diag((tallies * weights[:, None]).sum(axis=0))
    totals = coincidence.sum(axis=0)
    n = totals.sum()
    if n <= 1:
        return None
    distance = _distance(ratings, totals)
    expected = float((distance * np.outer(totals, totals)).sum()) / (n - 1)
    return None if expected == 0 else 1 - float((distance * coincidence).sum()) / expected


def _distance(ratings: Ratings, totals: Floats) -> Floats:
    size = len(ratings.values)
    if ratings.level == "nominal":
        return 1 - np.eye(size)
    if ratings.level == "interval":
        return np.asarray((ratings.values[:, None] - ratings.values[None, :]) ** 2)
    # Ordinal: how many ratings lie between two values, each of the two counted half.
    upto = np.cumsum(totals) - totals / 2
    return np.asarray((upto[:, None] - upto[None, :]) ** 2)


def _coded(ratings: pl.DataFrame, level: str) -> tuple[pl.DataFrame, Floats]:
    """Return the ratings as places in the list of all values, and the number each value stands for."""
    kinds = {dtype for dtype in ratings.dtypes if dtype != pl.Null}
    numbers = all(dtype.is_numeric() or dtype == pl.Boolean for dtype in kinds)
    ordered = len(kinds) == 1 and isinstance(next(iter(kinds)), pl.Enum)
    if level == "interval" and not numbers:
        listed = ", ".join(f"{name} is {dtype}" for name, dtype in ratings.schema.items())
        raise pl.exceptions.InvalidOperationError(f'level="interval" needs numbers, but {listed}')
    if level == "ordinal" and not (numbers or ordered):
        listed = ", ".join(f"{name} is {dtype}" for name, dtype in ratings.schema.items())
        raise pl.exceptions.InvalidOperationError(
            f'level="ordinal" needs numbers or one Enum whose categories are in order, but {listed}'
        )
    if numbers:
        plain = ratings.select(pl.all().cast(pl.Float64).fill_nan(None))
    elif ordered:
        plain = ratings.select(pl.all().to_physical().cast(pl.Float64))
    elif any(dtype.is_nested() for dtype in kinds):
        raise pl.exceptions.InvalidOperationError("ratings must be labels or numbers, not lists or structs")
    else:
        plain = ratings.select(pl.all().cast(pl.String))
    known = pl.concat([plain[name].alias("value") for name in plain.columns]).drop_nulls().unique().sort()
    place = pl.DataFrame({"value": known}).with_row_index("place")
    coded = plain.select(
        pl.col(name).replace_strict(place["value"], place["place"], default=None, return_dtype=pl.Int64)
        for name in plain.columns
    )
    numbered = known.to_numpy() if known.dtype == pl.Float64 else np.arange(known.len(), dtype=np.float64)
    return coded, numbered


def _estimates(ratings: Ratings, alpha: float) -> list[dict[str, Any]]:
    found: dict[str, Callable[[Ratings], float | None]] = {"agreement": agreement_of}
    if ratings.raters == 2:
        found["cohen_kappa"] = cohen
    found |= {"fleiss_kappa": fleiss, "krippendorff_alpha": krippendorff}
    rows = []
    for name, statistic in found.items():
        value = statistic(ratings)
        low, high = None, None
        if value is not None and name != "agreement" and len(ratings.values) == 2:
            low, high = _smoothed(ratings, statistic, value, alpha)
        elif value is not None:
            low, high = _jackknife(ratings, statistic, value, alpha)
        n = ratings.items if name == "krippendorff_alpha" else ratings.complete
        rows.append({"statistic": name, "value": value, "ci_low": low, "ci_high": high, "n": n})
    return rows


def _jackknife(
    ratings: Ratings, statistic: Callable[[Ratings], float | None], value: float, alpha: float
) -> tuple[float | None, float | None]:
    """Return an interval from the values without one item each; alike items are left out once for all."""
    from scipy.stats import t

    n = ratings.items
    left, weights = [], []
    for pattern, count in enumerate(ratings.counts):
        without = statistic(ratings.without(pattern))
        if without is None:
            return None, None
        left.append(without)
        weights.append(count)
    values, times = np.array(left), np.array(weights, dtype=np.float64)
    centre = float((values * times).sum() / n)
    error = np.sqrt((n - 1) / n * float((times * (values - centre) ** 2).sum()))
    if error == 0:
        # All items alike say nothing about how others might differ: as if one more had disagreed.
        error = (1 - min(value, 1.0) if value < 1 else 1.0) / n
    half = float(t.isf(alpha / 2, n - 1)) * error
    return max(value - half, -1.0), min(value + half, 1.0)


def _smoothed(
    ratings: Ratings, statistic: Callable[[Ratings], float | None], value: float, alpha: float
) -> tuple[float, float]:
    """
    Return an interval for ratings of two values, one of which may be rare.

    Notes
    -----
    The few items of a rare value decide a kappa, and the jackknife knows only those that were seen. Half an
    item more in each combination of two ratings stands for the others, as Agresti and Caffo do for
    proportions. The standard error is the infinitesimal jackknife's, which allows for parts of items.
    """
    from scipy.stats import t

    more = [[first, *[other] * (ratings.raters - 1)] for first in (0, 1) for other in (0, 1)]
    smooth = replace(
        ratings,
        patterns=np.concatenate([ratings.patterns, np.array(more)]),
        counts=np.concatenate([ratings.counts, np.full(4, 0.5)]),
    )
    n, step = float(smooth.counts.sum()), 1e-4
    # All four combinations are there, so no coefficient is undefined.
    centre = statistic(smooth) or 0.0
    variance = 0.0
    for pattern, count in enumerate(smooth.counts):
        counts = smooth.counts.copy()
        counts[pattern] += step
        moved = statistic(replace(smooth, counts=counts)) or 0.0
        variance += count * ((moved - centre) / step) ** 2
    half = float(t.isf(alpha / 2, n - 1)) * float(np.sqrt(variance))
    return max(min(centre - half, value), -1.0), min(max(centre + half, value), 1.0)


def _selection_notes(ratings: pl.DataFrame, raters: Sequence[str], alpha: float) -> list[str]:
    """Say where a judge scores the items that the first rater rated unlike the others."""
    from scipy.stats import norm

    rated, notes = ratings[raters[0]].is_not_null().to_numpy(), []
    for name in raters[1:]:
        if (judge := _numbers(ratings[name])) is None:
            continue
        known = np.isfinite(judge)
        labelled, others = judge[rated & known], judge[~rated & known]
        if min(labelled.size, others.size) < FEWEST_ITEMS:
            continue
        # The score test: its variance is that of all items, so a constant group is no trouble.
        spread = judge[known].var() * (1 / labelled.size + 1 / others.size)
        apart = abs(labelled.mean() - others.mean())
        p = 2 * float(norm.sf(apart / np.sqrt(spread))) if spread > 0 else 1.0
        if p <= alpha:
            notes.append(
                f"{name} rates the items that {raters[0]} rated unlike the others ({labelled.mean():.3f} "
                f"against {others.mean():.3f} on average): they are no random sample, so neither the "
                "agreement nor the pass rate may hold for all items"
            )
    return notes


def _numbers(ratings: pl.Series) -> Floats | None:
    if ratings.dtype.is_numeric():
        return ratings.cast(pl.Float64).to_numpy()
    return _verdicts(ratings)


def _pass_rates(ratings: pl.DataFrame, raters: Sequence[str], alpha: float) -> pl.DataFrame:
    """Estimate the first rater's pass rate over all items, with the help of each other rater."""
    verdicts = [_verdicts(ratings[name]) for name in raters]
    people = verdicts[0]
    rows: list[dict[str, Any]] = []
    if people is None:
        return pl.DataFrame(rows, schema=PASS_RATE)
    for name, judge in zip(raters[1:], verdicts[1:], strict=True):
        if judge is None:
            continue
        both = np.isfinite(people) & np.isfinite(judge)
        alone = ~np.isfinite(people) & np.isfinite(judge)
        if both.sum() < FEWEST_ITEMS:
            continue
        labelled, guessed, unlabelled = people[both], judge[both], judge[alone]
        weight = _weight(labelled, guessed, unlabelled)
        rows += [
            {"judge": name, "estimate": "people", **_mean(labelled, alpha)},
            {"judge": name, "estimate": "judge", **_mean(judge[np.isfinite(judge)], alpha)},
        ]
        if unlabelled.size >= FEWEST_ITEMS:
            rest = _mean(weight * unlabelled, alpha, clip=False)
            corrected = labelled - weight * guessed
            value = float(corrected.mean()) + rest["pass_rate"]
            variance = (
                corrected.var(ddof=1) / corrected.size + (weight * unlabelled).var(ddof=1) / unlabelled.size
            )
            rows.append(
                {"judge": name, "estimate": "prediction_powered"}
                | _interval(value, float(np.sqrt(variance)), int(both.sum()), alpha)
                | {"n": int(both.sum() + alone.sum())}
            )
    return pl.DataFrame(rows, schema=PASS_RATE)


def _weight(labelled: Floats, guessed: Floats, unlabelled: Floats) -> float:
    """Return how much to trust the judge: what makes the estimate's variance least (PPI++)."""
    if not unlabelled.size:
        return 0.0
    spread = np.concatenate([guessed, unlabelled]).var(ddof=1)
    if spread == 0:
        return 0.0
    shared = np.cov(labelled, guessed)[0, 1]
    return float(np.clip(shared / ((1 + labelled.size / unlabelled.size) * spread), 0, 1))


def _mean(values: Floats, alpha: float, *, clip: bool = True) -> dict[str, Any]:
    if values.size < FEWEST_ITEMS:
        return {"pass_rate": float(values.mean()), "ci_low": None, "ci_high": None, "n": values.size}
    error = float(np.sqrt(values.var(ddof=1) / values.size))
    return _interval(float(values.mean()), error, values.size, alpha, clip=clip) | {"n": values.size}


def _interval(value: float, error: float, n: int, alpha: float, *, clip: bool = True) -> dict[str, Any]:
    """Return Wilson's interval, with the number of items that the standard error is worth."""
    from scipy.stats import t

    if not clip or not 0 <= value <= 1:
        half = float(t.isf(alpha / 2, n - 1)) * error
        return {"pass_rate": value, "ci_low": value - half, "ci_high": value + half}
    worth = value * (1 - value) / error**2 if error > 0 else float(n)
    worth = max(worth, 1e-9)
    low, high = wilson(value * worth, worth, alpha, n - 1)
    return {"pass_rate": value, "ci_low": float(low), "ci_high": float(high)}


def _verdicts(ratings: pl.Series) -> Floats | None:
    """Return verdicts as 1 and 0, NaN where there is none; None if these are no verdicts."""
    if ratings.dtype == pl.Boolean:
        return ratings.cast(pl.Float64).to_numpy()
    if ratings.dtype.is_numeric():
        values = ratings.cast(pl.Float64).fill_nan(None)
        return values.to_numpy() if values.drop_nulls().is_in([0.0, 1.0]).all() else None
    if ratings.dtype == pl.String or isinstance(ratings.dtype, pl.Enum | pl.Categorical):
        words = ratings.cast(pl.String)
        if words.drop_nulls().is_in(columns.LABELS).all():
            return (words == "pass").cast(pl.Float64).to_numpy()
    return None


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    """
    How well raters agree, as `agreement` found it.

    Attributes
    ----------
    summary
        A row for each statistic over all raters, with its interval.
    pairs
        The same for each two raters.
    pass_rate
        What the first rater would pass of all items, with the help of each judge.
    notes
        What needs care, in words.
    settings
        What was compared.
    """

    summary: pl.DataFrame
    pairs: pl.DataFrame
    pass_rate: pl.DataFrame
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def alpha(self) -> float | None:
        """Krippendorff's alpha."""
        value: float | None = self.summary.filter(pl.col("statistic") == "krippendorff_alpha")["value"].item()
        return value

    @property
    def verdict(self) -> str:
        """Krippendorff's words for his alpha: reliable (from 0.8), tentative (from 0.667) or unreliable."""
        low = self.summary.filter(pl.col("statistic") == "krippendorff_alpha")["ci_low"].item()
        if low is None:
            return "inconclusive"
        return "reliable" if low >= 0.8 else "tentative" if low >= 0.667 else "unreliable"

    @property
    def plot(self) -> AgreementPlots:
        """Charts of an agreement: `values`."""
        plots: AgreementPlots = drawing().plots_of(self)
        return plots

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        return {"summary": self.summary, "pairs": self.pairs, "pass_rate": self.pass_rate}
