"""Bring the rows of two versions together: one row an item, or one row a row when nothing pairs them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift.columns import APART, TRAIT, aggregated, trait
from polars_evals.drift.inference import floats
from polars_evals.drift.inference.estimate import split
from polars_evals.drift.unanswered import shares
from polars_evals.wording import have

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from polars_evals.drift.inference import Floats
    from polars_evals.drift.inference.estimate import Codes
    from polars_evals.drift.spec import ResolvedSpec

RIGHT = f"{APART}right"
HIGHEST = f"{APART}highest"


@dataclass(frozen=True)
class Observations:
    """
    What a candidate is judged on, for every metric m: `m:b`, `m:c` (scores), `m:bp`, `m:cp` (pass).

    Paired, a row is an item; a side that lacks it is null, and so is `in_b` or `in_c`; it has `many`
    rows where a version has more than one. Unpaired, a row is a row of one version, and the other side is
    null. `rows` holds every row unaveraged, with `side` (true: candidate) and the slices of its item.
    """

    frame: pl.DataFrame
    rows: pl.DataFrame
    candidate: str
    paired: bool
    clustered: bool

    @cached_property
    def clusters(self) -> Codes | None:
        """The cluster of each row of `frame`, as a number."""
        return self.frame["cluster"].to_numpy() if self.clustered else None

    @cached_property
    def repeated(self) -> npt.NDArray[np.bool_]:
        """Which items have several rows in a version."""
        return self.frame["many"].to_numpy() if self.paired else np.zeros(self.frame.height, dtype=np.bool_)

    def values(self, metric: str, end: str) -> Floats:
        """Return a column of `frame`, NaN for null."""
        return floats(self.frame[f"{metric}:{end}"])

    def labelled(self, metric: str) -> bool:
        """Say whether any row of both versions has a label."""
        return all(self.frame[f"{metric}:{end}"].null_count() < self.frame.height for end in ("bp", "cp"))

    def slicing(self, by: Sequence[str] = ()) -> Slicing:
        """Put items and rows into the slices of some columns."""
        values: list[tuple[str | None, ...]] = [()]
        codes, row_codes = (np.zeros(frame.height, dtype=np.int64) for frame in (self.frame, self.rows))
        if not by:
            return Slicing((), values, codes, row_codes)
        for name in by:
            column = trait(name)
            known = pl.concat(frame[column].unique() for frame in (self.frame, self.rows))
            known = known.unique().sort(nulls_last=True)
            of = [_codes(frame[column], known) for frame in (self.frame, self.rows)]
            values = [(*value, one) for value in values for one in known.to_list()]
            codes, row_codes = codes * len(known) + of[0], row_codes * len(known) + of[1]
        present = np.flatnonzero(np.bincount(codes, minlength=len(values)))
        place = np.full(len(values), -1)
        place[present] = np.arange(len(present))
        return Slicing(tuple(by), [values[one] for one in present], place[codes], place[row_codes])

    def samples(self, metric: str, slicing: Slicing) -> list[tuple[Floats, Floats]]:
        """Return by slice the sorted scores of both versions, all rows of them."""
        scores, side = floats(self.rows[f"{metric}:score"]), self.rows["side"].to_numpy()
        known, sides = ~np.isnan(scores) & (slicing.row_codes >= 0), []
        for inside in (known & ~side, known & side):
            parts = split(scores[inside], slicing.row_codes[inside], len(slicing))
            sides.append([np.sort(part) for part in parts])
        return list(zip(*sides, strict=True))


def _codes(column: pl.Series, known: pl.Series) -> Codes:
    """Return the place of each value among those that are known; null is the last."""
    values = pl.Enum(known.drop_nulls())
    places = column.cast(values).to_physical().cast(pl.Int64)
    return places.fill_null(len(known) - 1).to_numpy()


@dataclass(frozen=True)
class Slicing:
    """The slices of some columns; without columns, all items are one slice."""

    by: tuple[str, ...]
    # What each slice has in these columns, sorted, null last.
    values: list[tuple[str | None, ...]]
    # The slice of each item, and of each row of both versions; -1 where no item is like the row.
    codes: Codes
    row_codes: Codes

    def __len__(self) -> int:
        return len(self.values)

    def identity(self, candidate: str, metric: str) -> dict[str, list[Any]]:
        """Name the row of each slice."""
        count, by = len(self), list(self.by)
        return {
            "candidate": [candidate] * count,
            "metric": [metric] * count,
            "slice": [slice_name(by, value) if by else None for value in self.values],
            "by": [by or None] * count,
            "value": [list(value) or None for value in self.values],
        }


def slice_name(by: Sequence[str], value: Sequence[str | None]) -> str:
    """Return `topic=refunds, language=de`."""
    return ", ".join(f"{name}={'null' if v is None else v}" for name, v in zip(by, value, strict=True))


def pair(rows: pl.DataFrame, spec: ResolvedSpec, candidate: str) -> Observations:
    """Pair the rows of two versions on their item; without one, keep them apart. Clusters become numbers."""
    item, metrics = spec.item, names_in(rows, spec)
    rows = rows.filter(pl.col("version").is_in([spec.baseline, candidate])).with_columns(
        side=pl.col("version") == candidate
    )
    clustered = "cluster" in rows.columns
    if item is None:
        sides = (
            pl.when(pl.col("side") if end.startswith("c") else ~pl.col("side"))
            .then(pl.col(f"{m}:{kind}"))
            .alias(f"{m}:{end}")
            for m in metrics
            for kind, end in (("score", "b"), ("score", "c"), ("pass", "bp"), ("pass", "cp"))
        )
        frame = number_clusters(rows.select("side", *_traits(rows), *sides))
        return Observations(frame, rows, candidate, paired=False, clustered=clustered)
    known = rows.filter(pl.col("item").is_not_null())
    left = _one_row_an_item(known.filter(~pl.col("side")), metrics, "b").with_columns(in_b=True)
    right = _one_row_an_item(known.filter("side"), metrics, "c").with_columns(in_c=True)
    several = pl.any_horizontal(pl.col("many", f"many{RIGHT}").fill_null(value=False))
    frame = _join(left, right).with_columns(many=several).drop(f"many{RIGHT}")
    for name in _traits(rows):
        other = name + RIGHT
        _check_constant(frame, name, other, item)
        frame = frame.with_columns(pl.coalesce(name, other).alias(name)).drop(other)
    rows = _sliced_as_items(rows, frame)
    return Observations(number_clusters(frame), rows, candidate, paired=True, clustered=clustered)


def names_in(rows: pl.DataFrame, spec: ResolvedSpec) -> tuple[str, ...]:
    """Return the metrics, the measures, and the shares of answers, as far as the rows have them."""
    others = [name for name in shares(rows) if name not in spec.metrics]
    return (*spec.metrics, *spec.measures, *others)


def varying(rows: pl.DataFrame, traits: Sequence[str]) -> list[str]:
    """Return the traits that have more than one value within an item."""
    if not traits:
        return []
    spread = (
        rows.lazy()
        .filter(pl.col("item").is_not_null())
        .group_by("item")
        .agg((pl.col(t).min() != pl.col(t).max()).alias(t) for t in traits)
        .select(pl.col(t).any() for t in traits)
        .collect(engine="streaming")
    )
    return [t for t in traits if spread[t].item()]


def _traits(rows: pl.DataFrame) -> list[str]:
    return [c for c in rows.columns if c == "cluster" or c.startswith(TRAIT)]


def _one_row_an_item(rows: pl.DataFrame, metrics: Sequence[str], end: str) -> pl.DataFrame:
    traits = _traits(rows)
    named = [pl.col(f"{m}:score").alias(f"{m}:{end}") for m in metrics]
    named += [pl.col(f"{m}:pass").alias(f"{m}:{end}p") for m in metrics]
    # Distinct hashes prove distinct items, and cost far less than grouping the items themselves.
    if rows["item"].hash().n_unique() == rows.height:
        return rows.select("item", *traits, *named, many=pl.lit(value=False))
    averaged = (
        rows.lazy()
        .group_by("item", maintain_order=True)
        .agg(
            *(e.mean() for e in named),
            *(pl.col(one).min() for one in traits),
            *(pl.col(one).max().alias(one + HIGHEST) for one in traits),
            many=pl.len() > 1,
        )
    )
    frame = aggregated(averaged)
    for name in traits:
        _check_constant(frame, name, name + HIGHEST, "item")
    return frame.select("item", *traits, *(e.meta.output_name() for e in named), "many")


def _join(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    """Join two frames of distinct items, keeping what either lacks."""
    if left["item"].equals(right["item"]):
        taken = {name: name + RIGHT for name in right.columns if name in left.columns}
        frame = left.hstack(right.drop("item").rename(taken, strict=False))
    else:
        # Hashes join several times faster than text. Should two different items ever share one, it shows.
        for key in (pl.col("item").hash(), pl.col("item")):
            sides = [side.lazy().with_columns(key=key) for side in (left, right)]
            joined = sides[0].join(
                sides[1], on="key", how="full", coalesce=True, suffix=RIGHT, maintain_order="left_right"
            )
            frame = joined.drop("key").collect(engine="streaming")
            if not (frame["item"] != frame["item" + RIGHT]).any():
                break
        frame = frame.with_columns(item=pl.coalesce("item", "item" + RIGHT)).drop("item" + RIGHT)
    # An order that does not depend on that of the rows makes sums of floats agree to the last bit; to sort
    # many rows would take too long, and those in the same order still agree.
    return frame.sort("item") if frame.height <= 100_000 else frame


def _sliced_as_items(rows: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Put rows that lack the value of a slice into the slice of their item, which another row may tell."""
    lacking = [trait for trait in _traits(rows) if trait != "cluster" and rows[trait].null_count()]
    if not lacking:
        return rows
    known = items.select("item", pl.struct(lacking).alias("known"))
    filled = (pl.coalesce(trait, pl.col("known").struct.field(trait)).alias(trait) for trait in lacking)
    return rows.join(known, on="item", how="left", maintain_order="left").with_columns(filled).drop("known")


def _check_constant(frame: pl.DataFrame, trait: str, other: str, item: str) -> None:
    differs = frame.filter(pl.col(trait) != pl.col(other))
    if differs.is_empty():
        return
    name, example = trait.removeprefix(TRAIT), differs.row(0, named=True)
    role = "cluster" if trait == "cluster" else f"by={name!r}"
    raise ValueError(
        f"{role} must have one value per item, but {have(differs.height, 'item')} several "
        f"({item} {example['item']!r}: {example[trait]!r} and {example[other]!r}); "
        "take a column that describes the item, not the answer"
    )


def number_clusters(frame: pl.DataFrame) -> pl.DataFrame:
    """Give every row without a cluster a cluster of its own, and turn clusters into numbers."""
    if "cluster" not in frame.columns:
        return frame
    code = pl.col("cluster").rank("dense").cast(pl.Int64)
    return frame.with_columns(cluster=code.fill_null(-1 - pl.int_range(pl.len())))
