"""
The numbers that a row is judged by, where they are not scores as they are.

An aggregate, a judge corrected by labels, and a mean that is weighed to another mix have one thing in common:
each item has a number, so that the mean of these numbers is the estimate, and their spread is its spread.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_evals.drift.aggregates import Influence, influence
from polars_evals.drift.columns import LABELS, trait
from polars_evals.drift.inference import floats
from polars_evals.drift.inference.corrections import (
    FEWEST_LABELS,
    FEWEST_ROWS,
    adjust_sides,
    correct_judge,
    mix_differs,
    shares,
)
from polars_evals.wording import counted, have, listed, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Schema
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.pair import Observations, Slicing
    from polars_evals.drift.spec import ResolvedSpec

    Mask = npt.NDArray[np.bool_]

MEAN, PASS_RATE = MEANS = "mean", "pass_rate"
PEOPLE_COLUMNS = (
    "labels_baseline", "labels_candidate", "judge_off_baseline", "judge_off_candidate", "people_difference",
    "people_ci_low", "people_ci_high",
)  # fmt: skip
STRATUM = "stratum"
UNSURE = "unsure"
NOT_A_SAMPLE = (
    "are not a random sample: the judge scores them differently from all rows; draw the rows to label with "
    "pe.sample_items, and keep its weight"
)
CONFUSION = {"version": pl.String, "expected": pl.String, "output": pl.String, "n": pl.Int64}


@dataclass(frozen=True)
class Component:
    """Numbers of which the means are compared: paired, one an item in each version; else one a row."""

    name: str
    before: Floats
    after: Floats
    # Whether it is the same numbers as the component before it.
    same: bool = False
    # By slice the values of both versions, where they are known without the numbers.
    values: tuple[Floats, Floats] | None = None
    # Further facts by slice, such as why there is no difference (`undefined`).
    facts: Mapping[str, Sequence[Any] | Floats] = field(default_factory=dict)
    # The least and the greatest mean, seen or not, where the numbers of items may be beyond.
    possible: tuple[float, ...] = ()
    # Sentences about limits of the result.
    notes: tuple[str, ...] = ()


def _of_scores(pairs: Observations, name: str) -> list[Component]:
    """Return what is judged of scores as they are: the mean, and the pass rate where there are labels."""
    found = [Component(MEAN, pairs.values(name, "b"), pairs.values(name, "c"))]
    if pairs.labelled(name):
        rates = [pairs.values(name, end) for end in ("bp", "cp")]
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


def components(pairs: Observations, name: str, slicing: Slicing, spec: ResolvedSpec) -> list[Component]:
    """Return what is judged of a row, in each slice."""
    if spec.kind(name) == "aggregate":
        return [_aggregate_component(pairs, name, slicing)]
    if name in spec.truths:
        return [_corrected(pairs, name, slicing, spec)]
    found = _of_scores(pairs, name)
    if not spec.adjust:
        return found
    if name in spec.metrics:
        found = [replace(one, possible=_bounds(one.before, one.after)) for one in found]
    return [_adjusted(pairs, one, slicing) for one in found]


def labels_of(schema: Schema, column: str) -> pl.Expr:
    """Return people's labels as numbers: truth values, `pass` and `fail`, or numbers."""
    dtype, label = schema[column], pl.col(column)
    if dtype == pl.Boolean or dtype.is_numeric() or dtype == pl.Null:
        return label.cast(pl.Float64)
    if dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical):
        return label.cast(pl.String).replace_strict({"fail": 0.0, "pass": 1.0}, default=None)
    raise pl.exceptions.InvalidOperationError(
        f"truth: column {column!r} is {dtype}; labels are Booleans, 'pass' and 'fail', or numbers"
    )


def require_texts(table: pl.LazyFrame, schema: Schema, column: str) -> None:
    """Raise if a column of labels that are texts has any other than `pass`, `fail` and `unsure`."""
    if schema[column] == pl.String or isinstance(schema[column], pl.Enum | pl.Categorical):
        text = pl.col(column).cast(pl.String)
        others = table.filter(~text.is_in([*LABELS, UNSURE])).select(text.first()).collect(engine="streaming")
        if others.height and others.item() is not None:
            raise ValueError(
                f"truth: {column!r} holds {others.item()!r}; labels are 'pass', 'fail', Booleans or numbers"
            )


def require_labels(rows: pl.DataFrame, spec: ResolvedSpec) -> None:
    """Raise unless labels are in the range of the scores, and there are some."""
    for name, column in spec.truths.items():
        label, score = rows[f"{name}:truth"].drop_nulls().drop_nans(), rows[f"{name}:score"]
        if label.is_empty():
            raise ValueError(f"truth: no row of the compared versions has a label in {column!r}")
        low, high = (floats(pl.Series([one]))[0] for one in (score.min(), score.max()))
        low, high = np.fmin(low, 0.0), np.fmax(high, 1.0)
        outside = label.filter((label < low) | (label > high))
        if not outside.is_empty():
            raise ValueError(
                f"truth: {counted(outside.len(), 'label')} of {column!r} "
                f"{verb(outside.len(), 'lies', 'lie')} outside the range of {name}_score, {low:g} to "
                f"{high:g} (such as {outside[0]:g}); bring labels and scores to one scale"
            )


def describe_strata(rows: pl.DataFrame, spec: ResolvedSpec) -> list[str]:
    """Say what an adjustment leaves out, or where one would help; raise if it cannot be made."""
    if spec.paired:
        return []
    if not spec.adjust:
        return [
            f"the mix of {name} differs between {spec.baseline} and {candidate} ({moved}); adjust={name!r} "
            "compares them with the same mix"
            for name in spec.traits
            for candidate in spec.candidates
            if (moved := _mix(rows, trait(name), spec.baseline, candidate)) is not None
        ]
    named = ", ".join(spec.adjust)
    strata = rows[STRATUM].drop_nulls()
    if strata.is_empty():
        raise ValueError(f"adjust: {named} is null in every row")
    if strata.n_unique() > max(2, rows.height / 2):
        raise ValueError(
            f"adjust: {named} has {strata.n_unique():,} values in {rows.height:,} rows, so there is nothing "
            "to average within a value; take a column with few values"
        )
    notes = []
    if missing := rows.height - strata.len():
        notes.append(f"{have(missing, 'row')} no {named} and {verb(missing, 'is', 'are')} not in the numbers")
    counts = rows.drop_nulls(STRATUM).group_by("version", STRATUM).len()

    def strata_of(*versions: str, fewest: int = 0) -> set[str]:
        return set(counts.filter(pl.col("version").is_in(versions), pl.col("len") >= fewest)[STRATUM])

    before = strata_of(spec.baseline, fewest=FEWEST_ROWS)
    for candidate in spec.candidates:
        after = strata_of(candidate, fewest=FEWEST_ROWS)
        if lacking := sorted(strata_of(spec.baseline, candidate) - (before & after)):
            notes.append(
                f"{named}: {listed(lacking)} {verb(len(lacking), 'has', 'have')} fewer than {FEWEST_ROWS} "
                f"rows in {spec.baseline} or {candidate} and {verb(len(lacking), 'is', 'are')} left out"
            )
        if not before & after:
            raise ValueError(f"adjust: {spec.baseline} and {candidate} have no value of {named} in common")
    if spec.aggregates:
        notes.append("aggregates are not adjusted")
    if any(one.quantiles != () for one in spec.measures.values()):
        notes.append("quantiles are not adjusted, and left out")
    return notes


def _mix(rows: pl.DataFrame, column: str, baseline: str, candidate: str) -> str | None:
    """Name the value whose share differs most, if the mix of two versions differs clearly."""
    codes = rows[column].rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
    size = int(codes.max(initial=0)) + 1
    sides = [codes[(rows["version"] == one).to_numpy()] for one in (baseline, candidate)]
    if not mix_differs(sides[0], sides[1], size):
        return None
    share = [shares(one, size) for one in sides]
    most = int(np.abs(share[1] - share[0]).argmax())
    value = rows[column].gather(int(np.flatnonzero(codes == most)[0])).item()
    return f"{'null' if value is None else value}: {share[0][most]:.0%} → {share[1][most]:.0%}"


def _slices_of(slicing: Slicing) -> list[Mask]:
    """Return which items or rows are in each slice."""
    return [slicing.codes == one for one in range(len(slicing))]


def _aggregate_component(pairs: Observations, name: str, slicing: Slicing) -> Component:
    """Return the influence of each item on an aggregate."""
    rows = pairs.rows.with_columns(place=_places(pairs)).drop_nulls(["place", f"{name}:counts"])
    size, count = pairs.frame.height, len(slicing)
    sides = [_Counts.of(rows.filter(side), name, size) for side in (~pl.col("side"), pl.col("side"))]
    numbers, values = np.full((2, size), np.nan), np.full((2, count), np.nan)
    undefined: list[str | None] = [None] * count
    for at, inside in enumerate(_slices_of(slicing)):
        kept = inside & sides[0].there & sides[1].there if pairs.paired else inside
        found = [side.influence(kept) for side in sides]
        about = [one.counts for one in found]
        if pairs.paired and about[0] is not None and about[1] is not None:
            # An item counts for both versions if it counts for one.
            about = [about[0] | about[1]] * 2
        for end, (side, one, counting) in enumerate(zip(sides, found, about, strict=True)):
            mine, number = kept & side.there, one.pseudo
            if counting is not None:
                part = counting.sum() / max(mine.sum(), 1)
                number = np.where(counting, one.value + (number - one.value) * part, np.nan)
            numbers[end, mine], values[end, at] = number[mine], one.value
        versions = zip(("baseline", "candidate"), found, strict=True)
        if why := "; ".join(f"the {who} has no {name}: {one.reason}" for who, one in versions if one.reason):
            undefined[at] = why
            numbers[:, kept] = np.nan
    signed = any(side.kind in ("mcc", "cohen_kappa") for side in sides)
    return Component(
        MEAN, numbers[0], numbers[1], values=(values[0], values[1]), facts={"undefined": undefined},
        possible=(-1.0 if signed else 0.0, 1.0),
    )  # fmt: skip


def _places(pairs: Observations) -> pl.Series:
    """Return where each row stands in `frame`: its item, or itself."""
    if not pairs.paired:
        return pl.Series("place", np.arange(pairs.rows.height))
    items = pairs.frame.select("item").with_row_index("place")
    return pairs.rows.select("item").join(items, on="item", how="left", maintain_order="left")["place"]


class _Counts(NamedTuple):
    """What the rows of one version add to an aggregate, with the place of each row's item."""

    counts: pl.Series
    places: npt.NDArray[np.int64]
    repeats: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: pl.DataFrame, name: str, size: int) -> _Counts:
        """Take the counts of some rows of so many items."""
        places = rows["place"].cast(pl.Int64).to_numpy()
        return cls(rows[f"{name}:counts"], places, np.bincount(places, minlength=size))

    @property
    def there(self) -> Mask:
        """Which items have rows."""
        return self.repeats > 0

    @property
    def kind(self) -> str | None:
        """The type of the aggregate."""
        return self.counts[0]["type"] if len(self.counts) else None

    def influence(self, kept: Mask) -> Influence:
        """Return the value over the items that are kept, and what each of them adds to it."""
        inside, size = kept[self.places], len(self.repeats)
        places = self.places[inside]
        if self.kind is None or not len(places):
            return Influence(np.nan, np.full(size, np.nan), "no row has an expected value")
        weights = 1 / self.repeats[places]
        positive = self.counts[0].get("positive")
        one = influence(self.kind, self.counts.filter(pl.Series(inside)), weights, positive=positive)
        added = np.bincount(places, one.pseudo * weights, size).astype(np.float64)
        counting = None if one.counts is None else np.bincount(places, one.counts, size) > 0
        return replace(one, pseudo=added, counts=counting)


def _by_item(pairs: Observations, values: pl.Expr) -> tuple[Floats, Floats]:
    """Return the mean of rows for each item and version, NaN where there is none."""
    rows = pairs.rows.select("side", values.alias("value"), place=_places(pairs)).drop_nulls()
    found = []
    for side in (~pl.col("side"), pl.col("side")):
        mine = rows.filter(side)
        places = mine["place"].cast(pl.Int64).to_numpy()
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = np.bincount(places, floats(mine["value"]), pairs.frame.height)
            found.append(sums / np.bincount(places, minlength=pairs.frame.height))
    return found[0], found[1]


def _corrected(pairs: Observations, name: str, slicing: Slicing, spec: ResolvedSpec) -> Component:
    """Return the scores of a judge, corrected by labels in each slice."""
    scores = pairs.values(name, "b"), pairs.values(name, "c")
    if pairs.paired:
        missing = np.isnan(scores[0] + scores[1])
        scores = np.where(missing, np.nan, scores[0]), np.where(missing, np.nan, scores[1])
    label = pl.col(f"{name}:truth")
    truth = _by_item(pairs, label)
    # Of repeats of which some are labelled, the judge's scores of those.
    beside = _by_item(pairs, pl.when(label.is_not_null()).then(pl.col(f"{name}:score")))
    weight = _by_item(pairs, pl.when(label.is_not_null()).then(pl.col(f"{name}:weight")))
    numbers = np.full((2, len(scores[0])), np.nan)
    facts: dict[str, Any] = {key: np.full(len(slicing), np.nan) for key in PEOPLE_COLUMNS}
    undefined: list[str | None] = [None] * len(slicing)
    notes: tuple[str, ...] = ()
    for at, inside in enumerate(_slices_of(slicing)):
        sides = ((one[0][inside], one[1][inside]) for one in (scores, truth, weight, beside))
        part, truths, weights, besides = sides
        one = correct_judge(part, truths, weights, beside=besides, paired=pairs.paired, alpha=spec.alpha)
        for key, value in zip(PEOPLE_COLUMNS, (*one.labels, *one.off, *one.people), strict=True):
            facts[key][at] = value
        if one.enough:
            numbers[0][inside], numbers[1][inside] = one.baseline, one.candidate
            if not slicing.by:
                versions = (spec.baseline, pairs.candidate)
                notes = tuple(f"the labelled rows of {versions[side]} {NOT_A_SAMPLE}" for side in one.unlike)
        else:
            undefined[at] = (
                f"people labelled {one.labels[0]:,} rows of the baseline and {one.labels[1]:,} of the "
                f"candidate; at least {FEWEST_LABELS} of each are needed to correct {name}"
            )
    facts["undefined"] = undefined
    return Component(MEAN, numbers[0], numbers[1], facts=facts, possible=_bounds(*scores), notes=notes)


def _bounds(before: Floats, after: Floats) -> tuple[float, ...]:
    """Return the bounds of scores as long as all are inside."""
    scores = np.concatenate([before, after])
    return (0.0, 1.0) if not ((scores < 0) | (scores > 1)).any() else ()


def _adjusted(pairs: Observations, component: Component, slicing: Slicing) -> Component:
    """Return the numbers of a component, weighed to the baseline's mix in each slice."""
    codes = pairs.rows[STRATUM].rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    size = int(codes.max(initial=-1)) + 1
    before, after = component.before.copy(), component.after.copy()
    side = pairs.rows["side"].to_numpy()
    for inside in _slices_of(slicing):
        b = inside & ~side & ~np.isnan(component.before)
        c = inside & side & ~np.isnan(component.after)
        if size:
            before[b], after[c] = adjust_sides(
                component.before[b], codes[b], component.after[c], codes[c], size
            )
    return replace(component, before=before, after=after)


def influence_of_items(
    rows: pl.DataFrame, name: str, versions: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, str]]:
    """
    Return each item's influence on an aggregate, a column `v:0`, `v:1`, … for each version.

    Only items that all versions have counts for are complete; the others are null. Where a version has no
    value, the second says why.
    """
    counted = rows.filter(pl.col(f"{name}:counts").is_not_null())
    keys = [
        pl.col("version").n_unique(),
        *([pl.col("cluster").drop_nulls().first()] if "cluster" in rows.columns else []),
    ]
    items = counted.group_by("item", maintain_order=True).agg(keys).with_row_index("place")
    complete = (items["version"] == len(versions)).to_numpy()
    placed = counted.drop("cluster", strict=False).join(
        items.select("item", "place"), on="item", how="left", maintain_order="left"
    )
    found, reasons = [], {}
    for at, version in enumerate(versions):
        mine = placed.filter(pl.col("version") == version)
        one = _Counts.of(mine, name, items.height).influence(complete)
        found.append(pl.Series(f"v:{at}", np.where(complete, one.pseudo, np.nan)).fill_nan(None))
        if one.reason:
            reasons[version] = one.reason
    return items.drop("place", "version").with_columns(found), reasons


def describe_classes(frame: pl.DataFrame) -> list[str]:
    """Say which labels differ in case or outer white space alone: they are different classes."""
    labels = pl.concat([frame["expected"], frame["output"]]).drop_nulls().unique().sort()
    alike = (
        labels.to_frame("label")
        .group_by(pl.col("label").str.strip_chars().str.to_lowercase().alias("plain"), maintain_order=True)
        .agg("label")
        .filter(pl.col("label").list.len() > 1)
    )
    if alike.is_empty():
        return []
    shown = " and ".join(map(repr, alike["label"][0].to_list()[:2]))
    return [f"labels are compared as they are: {shown} are different classes; clean the labels to merge them"]


def confusion(rows: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """Return how often each output was given for each expected label, in each version."""
    for name in spec.aggregate_names:
        counts = rows[f"{name}:counts"]
        if isinstance(counts.dtype, pl.Struct) and "output" in [field.name for field in counts.dtype.fields]:
            labels = rows.select("version").hstack(counts.struct.unnest()).drop_nulls("expected")
            return (
                labels.group_by("version", "expected", "output")
                .agg(n=pl.len().cast(pl.Int64))
                .sort("version", "expected", "output", nulls_last=True)
                .with_columns(pl.col("version").cast(pl.String))
            )
    return pl.DataFrame(schema=CONFUSION)


def describe_labels(judged: pl.DataFrame, spec: ResolvedSpec) -> list[str]:
    """Say how many labels correct a judge, and how far it is off."""
    rows = judged.filter(pl.col("slice").is_null(), pl.col("metric").is_in(list(spec.truths)))
    notes = []
    for row in rows.drop_nulls("labels_baseline").iter_rows(named=True):
        sides = (("baseline", spec.baseline), ("candidate", row["candidate"]))
        apart = [(row[f"judge_off_{side}"], version) for side, version in sides]
        off = ", ".join(
            f"{abs(one):.3f} {'above' if one > 0 else 'below'} people in {version}"
            for one, version in apart
            if one is not None
        )
        spans = []
        for who, prefix in (("judge alone", "judge_"), ("people alone", "people_"), ("both", "")):
            numbers = [row[f"{prefix}{name}"] for name in ("difference", "ci_low", "ci_high")]
            if None not in numbers:
                spans.append(f"{who} {'{:+.3f} ({:+.3f} to {:+.3f})'.format(*numbers).replace('-', '−')}")
        notes.append(
            f"{row['metric']} is corrected by people: {row['labels_baseline']:,.0f} labels of "
            f"{spec.baseline}, {row['labels_candidate']:,.0f} of {row['candidate']}; it is "
            f"{off}; difference by {', '.join(spans)}"
        )
    return notes
