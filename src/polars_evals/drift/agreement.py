"""How well raters agree: people with people, and a judge with people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtrit

from polars_evals.drift import columns
from polars_evals.drift.inference import NEGLIGIBLE, floats, slopes
from polars_evals.drift.inference.intervals import share_interval
from polars_evals.drift.result import Plotted
from polars_evals.wording import counted, did_you_mean, have, listed, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.report.charts import AgreementPlots  # noqa: F401

    Statistic = Callable[..., float | None]

FEWEST_ITEMS = 2
# With more different numbers, "equal or not" is hardly what was meant.
MOST_LABELS = 20
# Combinations of ratings that the jackknife leaves out one by one; of more, some together.
MOST_LEFT_OUT = 500
UNSURE = "unsure"
LEVELS = ("nominal", "ordinal", "interval")
SUMMARY: dict[str, Any] = {
    "statistic": pl.String, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n": pl.Int64,
}  # fmt: skip
PAIRS: dict[str, Any] = {"a": pl.String, "b": pl.String} | SUMMARY
PASS_RATE: dict[str, Any] = {
    "judge": pl.String, "estimate": pl.String, "pass_rate": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "n": pl.Int64,
}  # fmt: skip


def agreement(
    frame: Frame,
    *,
    raters: Sequence[str] | None = None,
    level: str = "nominal",
    rater: str | None = None,
    label: str | None = None,
    item: str = "item_id",
    alpha: float = 0.05,
) -> Agreement:
    """
    Measure how well raters agree, and how well a judge agrees with people.

    Parameters
    ----------
    frame
        A DataFrame or LazyFrame with a row for each item and a column for each rater; or, with `rater` and
        `label`, a row for each rating, as `read_labels` gives them.
    raters
        The columns of ratings. A null is no rating. To compare a judge with people, put the people's column
        first. If each rating is a row: the names of the raters, or None for all of them.
    level
        `"nominal"` (labels), `"ordinal"` (an order: numbers, or an Enum in its order) or `"interval"`
        (numbers whose distances count).
    rater, label
        Columns of the rater's name and of the rating, if each rating is a row. The last rating of a rater
        counts: by the column `ts` where there is one, else by the order of the rows. `"unsure"` is no
        rating.
    item
        Column of the rated item, if each rating is a row. The answers of different versions (column
        `version`, where there is one) are different items.
    alpha
        Level of the intervals.

    Returns
    -------
    Agreement
        With frames `summary` (`agreement`, `cohen_kappa` for two raters, `fleiss_kappa`,
        `krippendorff_alpha`), `pairs` (the same for each two raters) and `pass_rate`.

    Notes
    -----
    Kappas count items that all raters rated, Krippendorff's alpha every item with two ratings. With an
    ordinal or interval level, Cohen's kappa is weighted by squared distance. The interval of the share of
    agreement is Wilson's. Those of the coefficients are Student's, with the jackknife's standard error. If
    the ratings have two values, half an item is added to each combination of two ratings, so that the
    intervals also hold if one value is rare.

    Where the ratings are verdicts (booleans, 0 and 1, `"fail"` and `"pass"`), `pass_rate` estimates the
    share that the first rater would pass of all items: from the items that it rated, from the judge alone,
    and from both (`prediction_powered`: Angelopoulos, Duchi and Zrnic 2023), which is unbiased like the
    first, and narrower.

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
    if rater is not None or label is not None:
        ratings = _spread_out(frame, rater=rater, label=label, item=item, raters=raters)
        raters = ratings.columns
    else:
        if raters is None or isinstance(raters, str) or len(raters) < 2 or len(set(raters)) < len(raters):
            raise ValueError(
                f"raters must name at least two different columns, got {shown(raters)}; where each rating is "
                "a row, give rater= and label="
            )
        lazy = columns.lazy(frame)
        schema = lazy.collect_schema()
        for name in raters:
            columns.require(schema, name, "raters")
        ratings = lazy.select(raters).collect(engine="streaming")
    codes, values = _coded(ratings, level)
    notes = [
        f"{one.name} rated {one.count():,} of {counted(codes.height, 'item')}"
        for one in codes
        if one.count() < codes.height
    ]
    notes += _selection_notes(ratings, raters, alpha)
    if level == "nominal" and len(values) > MOST_LABELS and all(one.is_numeric() for one in ratings.dtypes):
        notes.append(
            f"the ratings have {len(values):,} different values, and only equal ones agree; "
            'level="interval" uses the distance between them'
        )
    both = Ratings.of(codes, values, level)
    if both.counts.sum() < FEWEST_ITEMS:
        shared = have(int(both.counts.sum()), "item")
        raise ValueError(f"{shared} ratings of two raters or more; at least {FEWEST_ITEMS} are needed")
    pairs = []
    for a, b in combinations(raters, 2):
        two = Ratings.of(codes.select(a, b), values, level)
        if two.counts.sum() >= FEWEST_ITEMS:
            pairs += [{"a": a, "b": b, **row} for row in _estimates(two, alpha)]
    return Agreement(
        summary=pl.DataFrame(_estimates(both, alpha), schema=SUMMARY),
        pairs=pl.DataFrame(pairs, schema=PAIRS),
        pass_rate=_pass_rates(ratings, raters, alpha),
        notes=tuple(notes),
        settings={"raters": list(raters), "level": level, "alpha": alpha},
    )


def _spread_out(
    frame: Frame, *, rater: str | None, label: str | None, item: str, raters: Sequence[str] | None
) -> pl.DataFrame:
    """Return a column for each rater of a frame with a row for each rating."""
    if rater is None or label is None:
        raise ValueError(
            "rater= and label= belong together: the columns of the rater's name and of the rating"
        )
    lazy = columns.lazy(frame)
    schema = lazy.collect_schema()
    for role, name in (("rater", rater), ("label", label), ("item", item)):
        columns.require(schema, name, role)
    keys = [item, *(["version"] if "version" in schema and "version" not in (item, rater, label) else [])]
    rating = pl.col(label)
    if isinstance(schema[label], pl.String | pl.Enum | pl.Categorical):
        text = rating.cast(pl.String)
        rating = pl.when(text.str.to_lowercase() != UNSURE).then(text)
    rows = lazy.select(
        *keys, columns.as_text(schema, rater).alias("rater"), rating.alias("label"),
        *(["ts"] if "ts" in schema and "ts" not in (*keys, rater, label) else []),
    ).collect().drop_nulls([item, "rater"])  # fmt: skip
    if "ts" in rows.columns:
        rows = rows.sort("ts", nulls_last=False, maintain_order=True)
    rows = rows.unique([*keys, "rater"], keep="last", maintain_order=True)
    there = rows["rater"].unique().sort().to_list()
    wanted = there if raters is None else list(raters)
    for name in wanted:
        if name not in there:
            raise ValueError(f"raters: {name!r} is not in column {rater!r}{did_you_mean(name, there)}")
    if len(wanted) < 2:
        raise ValueError(
            f"column {rater!r} names {listed(there) or 'no rater'}; at least two raters are needed"
        )
    # A rater may be called like a column.
    rows = rows.with_columns(rater=columns.APART + pl.col("rater"))
    spread = rows.pivot("rater", index=keys, values="label")
    return spread.select(pl.col(f"{columns.APART}{name}").alias(name) for name in wanted)


@dataclass(frozen=True)
class Ratings:
    """
    Combinations of ratings, and how many items have each.

    `patterns` has a row for each combination and a column for each rater: the place of the rating among all
    values, or −1 for none.
    """

    patterns: npt.NDArray[np.int64]
    counts: Floats
    values: Floats
    level: str

    @classmethod
    def of(cls, codes: pl.DataFrame, values: Floats, level: str) -> Ratings:
        """Count the combinations of items with at least two ratings."""
        raters = codes.columns
        known = codes.fill_null(-1).filter(pl.sum_horizontal(pl.col(raters) >= 0) >= 2)
        seen = known.group_by(raters, maintain_order=True).len("times")
        patterns = seen.select(raters).to_numpy().astype(np.int64)
        return cls(patterns, seen["times"].cast(pl.Float64).to_numpy(), values, level)

    @cached_property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Which combinations have a rating of every rater."""
        return np.asarray((self.patterns >= 0).all(axis=1))

    @cached_property
    def equal(self) -> Floats:
        """The share of pairs of ratings that are equal, of combinations of all raters."""
        pairs = combinations(self.patterns.T, 2)
        return np.asarray(np.mean([a == b for a, b in pairs], axis=0, dtype=np.float64))

    @property
    def raters(self) -> int:
        """How many raters there are."""
        return int(self.patterns.shape[1])

    def totals(self, weights: Floats) -> Floats:
        """Return how often each value was given, each rating with the weight of its combination."""
        given = self.patterns >= 0
        repeated = np.broadcast_to(weights[:, None], self.patterns.shape)
        return np.bincount(self.patterns[given], repeated[given], len(self.values)).astype(np.float64)


def _beyond_chance(seen: float, expected: float) -> float | None:
    """Return a coefficient, given disagreement and that of chance; None where only one value occurs."""
    return None if expected <= NEGLIGIBLE else 1 - seen / expected


def _agreement_of(ratings: Ratings, counts: Floats) -> float | None:
    """Return the share of pairs of ratings that are equal."""
    items = np.where(ratings.whole, counts, 0.0)
    return float(ratings.equal @ items / items.sum()) if items.sum() else None


def _fleiss(ratings: Ratings, counts: Floats) -> float | None:
    """Return Fleiss' kappa of items that all raters rated."""
    observed = _agreement_of(ratings, counts)
    if observed is None:
        return None
    items = np.where(ratings.whole, counts, 0.0)
    shares = ratings.totals(items) / (items.sum() * ratings.raters)
    chance = float(shares @ shares)
    return None if chance >= 1 else (observed - chance) / (1 - chance)


def cohen(ratings: Ratings, counts: Floats) -> float | None:
    """Return Cohen's kappa of two raters, weighted by squared distance where the values have an order."""
    patterns, items = ratings.patterns[ratings.whole], counts[ratings.whole]
    if not items.sum():
        return None
    share = items / items.sum()
    a, b = patterns.T
    if ratings.level == "nominal":
        size = len(ratings.values)
        expected = 1 - float(np.bincount(a, share, size) @ np.bincount(b, share, size))
        seen = float(share @ (a != b))
    else:
        # Squared distances of independent ratings need their means and squares only.
        ordinal = ratings.level == "ordinal"
        at = np.arange(len(ratings.values), dtype=np.float64) if ordinal else ratings.values
        at = at - at.mean()
        x, y = at[a], at[b]
        expected = float(share @ x**2 + share @ y**2 - 2 * (share @ x) * (share @ y))
        seen = float(share @ (x - y) ** 2)
    return _beyond_chance(seen, expected)


def _krippendorff(ratings: Ratings, counts: Floats) -> float | None:
    """Return Krippendorff's alpha."""
    totals = ratings.totals(counts)
    n = totals.sum()
    if n <= 1:
        return None
    if ratings.level == "nominal":
        expected = float(n**2 - totals @ totals) / (n - 1)
    else:
        # Ordinal: how many ratings lie between two values, each of the two counted half.
        ordinal = ratings.level == "ordinal"
        at = np.cumsum(totals) - totals / 2 if ordinal else ratings.values
        at = at - float(totals @ at) / n
        expected = 2 * n * float(totals @ at**2) / (n - 1)
    # Each item counts its pairs of ratings, divided among its ratings.
    seen = np.zeros(len(counts))
    for a, b in combinations(ratings.patterns.T, 2):
        apart = (a != b) * 1.0 if ratings.level == "nominal" else (at[a] - at[b]) ** 2
        seen += np.where((a >= 0) & (b >= 0), 2 * apart, 0.0)
    rated = (ratings.patterns >= 0).sum(axis=1)
    return _beyond_chance(float((counts / (rated - 1)) @ seen), expected)


def _coded(ratings: pl.DataFrame, level: str) -> tuple[pl.DataFrame, Floats]:
    """Return the ratings as places in the list of all values, and the number each value stands for."""
    kinds = list({dtype for dtype in ratings.dtypes if dtype != pl.Null})
    numbers = all(dtype.is_numeric() or dtype == pl.Boolean for dtype in kinds)
    ordered = len(kinds) == 1 and isinstance(kinds[0], pl.Enum)
    if level != "nominal" and not numbers and not (ordered and level == "ordinal"):
        types = ", ".join(f"{name} is {dtype}" for name, dtype in ratings.schema.items())
        order = " or one Enum whose categories are in order" if level == "ordinal" else ""
        raise pl.exceptions.InvalidOperationError(f'level="{level}" needs numbers{order}, but {types}')
    if numbers:
        plain = ratings.select(pl.all().cast(pl.Float64).fill_nan(None))
    elif ordered:
        plain = ratings.select(pl.all().to_physical().cast(pl.Float64))
    elif any(dtype.is_nested() for dtype in kinds):
        raise pl.exceptions.InvalidOperationError("ratings must be labels or numbers, not lists or structs")
    else:
        plain = ratings.select(pl.all().cast(pl.String))
    known = pl.concat([one.alias("value") for one in plain]).drop_nulls().unique().sort()
    place = pl.int_range(known.len(), eager=True)
    coded = plain.select(pl.all().replace_strict(known, place, default=None, return_dtype=pl.Int64))
    numbered = known if known.dtype == pl.Float64 else place.cast(pl.Float64)
    return coded, numbered.to_numpy()


def _estimates(ratings: Ratings, alpha: float) -> list[dict[str, Any]]:
    found: dict[str, Statistic] = {"agreement": _agreement_of}
    found |= {"cohen_kappa": cohen} if ratings.raters == 2 else {}
    found |= {"fleiss_kappa": _fleiss, "krippendorff_alpha": _krippendorff}
    interval = _smoothed if len(ratings.values) == 2 else _jackknife
    items, rows = ratings.counts[ratings.whole], []
    for name, statistic in found.items():
        value, n = statistic(ratings, ratings.counts), int(items.sum())
        low, high = None, None
        if value is not None and name == "agreement":
            # Pairs of more than two raters vary less than yes and no do.
            variance = float(items @ (ratings.equal[ratings.whole] - value) ** 2) / n**2
            low, high = share_interval(value, variance, n, alpha)
        elif value is not None:
            low, high = interval(ratings, statistic, value, alpha)
        if name == "krippendorff_alpha":
            n = int(ratings.counts.sum())
        rows.append({"statistic": name, "value": value, "ci_low": low, "ci_high": high, "n": n})
    return rows


def _jackknife(
    ratings: Ratings, statistic: Statistic, value: float, alpha: float
) -> tuple[float | None, float | None]:
    """Return an interval from the values without some items each; alike items are left out once for all."""
    counts, groups = ratings.counts, np.arange(len(ratings.counts))
    weights, removed = counts, np.ones(len(counts))
    if len(counts) > MOST_LEFT_OUT:
        # Of many combinations, some are left out together: by their place, so that it is always the same.
        groups, weights, removed = groups % MOST_LEFT_OUT, np.ones(MOST_LEFT_OUT), counts
    left = [statistic(ratings, counts - np.where(groups == one, removed, 0.0)) for one in range(len(weights))]
    if None in left:
        return None, None
    values = np.array(left)
    count = weights.sum()
    centre = float(values @ weights / count)
    error = np.sqrt((count - 1) / count * float(weights @ (values - centre) ** 2))
    if error == 0:
        # All items alike say nothing about how others might differ: as if one more had disagreed.
        error = (1 - min(value, 1.0) if value < 1 else 1.0) / counts.sum()
    half = -float(stdtrit(count - 1, alpha / 2)) * error
    return max(value - half, -1.0), min(value + half, 1.0)


def _smoothed(ratings: Ratings, statistic: Statistic, value: float, alpha: float) -> tuple[float, float]:
    """
    Return an interval for ratings of two values, one of which may be rare.

    The few items of a rare value decide a kappa, and the jackknife knows only those that were seen. Half an
    item more in each combination of two ratings stands for the others, as Agresti and Caffo do for
    proportions. The standard error is the infinitesimal jackknife's, which allows for parts of items.
    """
    more = [[first, *[other] * (ratings.raters - 1)] for first in (0, 1) for other in (0, 1)]
    smooth = replace(
        ratings,
        patterns=np.concatenate([ratings.patterns, np.array(more)]),
        counts=np.concatenate([ratings.counts, np.full(4, 0.5)]),
    )
    counts = smooth.counts

    def coefficients(tables: Floats) -> Floats:
        # All four combinations are there, so no coefficient is undefined.
        return np.array([statistic(smooth, table) or 0.0 for table in tables])

    centre = float(coefficients(counts[None])[0])
    variance = counts @ (slopes(coefficients, counts, 1e-4)) ** 2
    half = -float(stdtrit(counts.sum() - 1, alpha / 2)) * float(np.sqrt(variance))
    return max(min(centre - half, value), -1.0), min(max(centre + half, value), 1.0)


def _selection_notes(ratings: pl.DataFrame, raters: Sequence[str], alpha: float) -> list[str]:
    """Say where a judge scores the items that the first rater rated unlike the others."""
    rated, notes = ratings[raters[0]].is_not_null().to_numpy(), []
    for name in raters[1:]:
        series = ratings[name]
        judge = floats(series) if series.dtype.is_numeric() else _verdicts(series)
        known = np.isfinite(judge)
        labelled, others = judge[rated & known], judge[~rated & known]
        if min(labelled.size, others.size) < FEWEST_ITEMS:
            continue
        # The score test: its variance is that of all items, so a constant group is no trouble.
        spread = judge[known].var() * (1 / labelled.size + 1 / others.size)
        apart = abs(labelled.mean() - others.mean())
        p = 2 * float(ndtr(-apart / np.sqrt(spread))) if spread > 0 else 1.0
        if p <= alpha:
            notes.append(
                f"{name} rates the items that {raters[0]} rated differently from the others "
                f"({labelled.mean():.3f} against {others.mean():.3f} on average): the rated items are not a "
                "random sample, so the agreement and the pass rate may not hold for all items"
            )
    return notes


def _pass_rates(ratings: pl.DataFrame, raters: Sequence[str], alpha: float) -> pl.DataFrame:
    """Estimate the first rater's pass rate over all items, with the help of each other rater."""
    people, rows = _verdicts(ratings[raters[0]]), list[tuple[Any, ...]]()
    labelled_items = np.isfinite(people)
    for name in raters[1:]:
        judge = _verdicts(ratings[name])
        judged_items = np.isfinite(judge)
        both = labelled_items & judged_items
        if both.sum() < FEWEST_ITEMS:
            continue
        labelled, guessed, unlabelled = people[both], judge[both], judge[~labelled_items & judged_items]
        rows.append((name, "people", *_pass_rate([labelled], alpha), labelled.size))
        rows.append((name, "judge", *_pass_rate([judge[judged_items]], alpha), judged_items.sum()))
        if unlabelled.size >= FEWEST_ITEMS:
            weight = _weight(labelled, guessed, unlabelled)
            found = _pass_rate([labelled - weight * guessed, weight * unlabelled], alpha)
            rows.append((name, "prediction_powered", *found, judged_items.sum()))
    return pl.DataFrame(rows, schema=PASS_RATE, orient="row")


def _weight(labelled: Floats, guessed: Floats, unlabelled: Floats) -> float:
    """Return how much to trust the judge: what makes the estimate's variance least (PPI++)."""
    spread = np.concatenate([guessed, unlabelled]).var(ddof=1)
    if spread == 0:
        return 0.0
    shared = np.cov(labelled, guessed)[0, 1]
    return float(np.clip(shared / ((1 + labelled.size / unlabelled.size) * spread), 0, 1))


def _pass_rate(parts: list[Floats], alpha: float) -> tuple[float, float, float]:
    """Return the sum of the means of samples with its interval: Wilson's, or Student's of no share."""
    value = sum(float(part.mean()) for part in parts)
    variance = sum(float(part.var(ddof=1)) / part.size for part in parts)
    df = parts[0].size - 1
    if 0 <= value <= 1:
        return value, *share_interval(value, variance, df + 1, alpha, df)
    half = -float(stdtrit(df, alpha / 2)) * float(np.sqrt(variance))
    return value, value - half, value + half


def _verdicts(ratings: pl.Series) -> Floats:
    """Return verdicts as 1 and 0, NaN where there is none, and everywhere if these are no verdicts."""
    ratings = ratings.fill_nan(None) if ratings.dtype.is_float() else ratings
    found = columns.verdicts(ratings)
    if found is None or found.null_count() > ratings.null_count():
        return np.full(len(ratings), np.nan)
    return floats(found)


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Plotted["AgreementPlots"]):
    """
    How well raters agree: the result of `agreement`.

    Attributes
    ----------
    summary
        A row for each statistic over all raters, with its interval.
    pairs
        The same for each two raters.
    pass_rate
        The share of all items that the first rater would pass, estimated with each judge.
    plot
        Charts: `values`.
    notes
        Sentences about limits of the result.
    settings
        The options.
    """

    pairs: pl.DataFrame
    pass_rate: pl.DataFrame

    @property
    def _krippendorff(self) -> dict[str, Any]:
        return self.summary.row(by_predicate=pl.col("statistic") == "krippendorff_alpha", named=True)

    @property
    def alpha(self) -> float | None:
        """Krippendorff's alpha."""
        value: float | None = self._krippendorff["value"]
        return value

    @property
    def verdict(self) -> str:
        """Krippendorff's words for his alpha: reliable (from 0.8), tentative (from 0.667) or unreliable."""
        low = self._krippendorff["ci_low"]
        if low is None:
            return "inconclusive"
        return "reliable" if low >= 0.8 else "tentative" if low >= 0.667 else "unreliable"
