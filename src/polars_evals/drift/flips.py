"""The items behind the numbers: those that changed their label, and those that could not be paired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals._polars import format_text
from polars_evals.drift.columns import LABELS, trait

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_evals.drift.columns import Schema
    from polars_evals.drift.pair import Observations

SIDES = ["baseline", "candidate", "both"]
FLIPS = ["newly_failing", "newly_passing"]
TEXTS = ["input", "expected", "baseline_output", "candidate_output"]
SCORES = ["baseline_score", "candidate_score", "change", "baseline_label", "candidate_label"]
UNMATCHED: dict[str, Any] = {
    "candidate": pl.String,
    "metric": pl.String,
    "item": pl.String,
    "missing": pl.Enum(SIDES),
    "reason": pl.String,
}


def changed_labels(
    observations: Observations,
    *,
    metrics: Sequence[str],
    most: int | None,
    by: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the items whose label changed with their slices, most lost first, `most` for each metric."""
    if not observations.paired:
        return pl.DataFrame()
    frames = []
    for m in metrics:
        before, after = pl.col(f"{m}:bp") > 0.5, pl.col(f"{m}:cp") > 0.5
        label = [pl.when(side).then(pl.lit("pass")).otherwise(pl.lit("fail")) for side in (before, after)]
        found = (
            observations.frame.lazy()
            # With repeats the majority counts, and half of them is none.
            .filter(before != after, pl.col(f"{m}:bp") != 0.5, pl.col(f"{m}:cp") != 0.5)
            .select(
                pl.lit(observations.candidate).alias("candidate"),
                pl.lit(m).alias("metric"),
                pl.when(after)
                .then(pl.lit(FLIPS[1]))
                .otherwise(pl.lit(FLIPS[0]))
                .cast(pl.Enum(FLIPS))
                .alias("flip"),
                "item",
                *(pl.col(trait(name)).alias(name) for name in slice_columns(by)),
                pl.col(f"{m}:b").alias("baseline_score"),
                pl.col(f"{m}:c").alias("candidate_score"),
                (pl.col(f"{m}:c") - pl.col(f"{m}:b")).alias("change"),
                label[0].cast(pl.Enum(LABELS)).alias("baseline_label"),
                label[1].cast(pl.Enum(LABELS)).alias("candidate_label"),
            )
        )
        found = found.sort("change", "item")
        frames.append(found if most is None else found.head(most))
    return pl.concat(frames).collect()


def slice_columns(by: Iterable[str]) -> list[str]:
    """Return the columns of slices that flips show; a name that flips have anyway keeps its meaning."""
    return [name for name in by if name not in {"candidate", "metric", "flip", "item", *TEXTS, *SCORES}]


def gather_flips(
    flips: list[pl.DataFrame],
    frame: pl.LazyFrame,
    schema: Schema,
    *,
    item: pl.Expr | None,
    version: pl.Expr,
    baseline: str,
    by: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the flips of all candidates, most lost first, with the texts that the frame has."""
    if item is None:
        empty: dict[str, Any] = {
            "candidate": pl.String, "metric": pl.String, "flip": pl.String, "item": pl.String,
            **dict.fromkeys(slice_columns(by), pl.String),
            "baseline_score": pl.Float64, "candidate_score": pl.Float64, "change": pl.Float64,
            "baseline_label": pl.Enum(LABELS), "candidate_label": pl.Enum(LABELS),
        }  # fmt: skip
        return with_texts(
            pl.DataFrame(schema=empty), frame, {}, item=version, version=version, baseline=baseline
        )
    ordered = pl.concat(flips).sort("change", "item", "candidate", "metric")
    return with_texts(ordered, frame, schema, item=item, version=version, baseline=baseline)


def with_texts(
    flips: pl.DataFrame,
    frame: pl.LazyFrame,
    schema: Schema,
    *,
    item: pl.Expr,
    version: pl.Expr,
    baseline: str,
) -> pl.DataFrame:
    """Join input, expected and both outputs to the flips; of repeats, the first row's."""
    present = [name for name in ("input", "expected", "output") if name in schema]
    order = [*(name for name in flips.columns if name not in SCORES), *TEXTS, *SCORES]
    if not present or flips.is_empty():
        types = {name: schema.get(name.split("_")[-1], pl.String()) for name in TEXTS}
        return flips.with_columns(pl.lit(None, dtype=types[name]).alias(name) for name in TEXTS).select(order)
    rows = (
        frame.select(item.alias("item"), version.alias("version"), *present)
        .join(flips.lazy().select("item").unique(), on="item", maintain_order="left")
        .collect(engine="streaming")
        .group_by("item", "version", maintain_order=True)
        .first()
    )
    for name in {"input", "expected", "output"} - set(present):
        rows = rows.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    before = rows.filter(pl.col("version") == baseline).drop("version")
    joined = flips.join(
        before.rename({"output": "baseline_output"}), on="item", how="left", maintain_order="left"
    ).join(
        rows.rename({"version": "candidate", "output": "candidate_output"}),
        on=["item", "candidate"],
        how="left",
        maintain_order="left",
        suffix=":c",
    )
    return joined.with_columns(
        pl.coalesce(name, f"{name}:c").alias(name) for name in ("input", "expected")
    ).select(order)


def without_pair(observations: Observations, *, metrics: Sequence[str]) -> pl.DataFrame:
    """Return what could not be paired: items without a row in a version, rows without score or item."""
    if not observations.paired:
        return pl.DataFrame(schema=UNMATCHED)
    frame, candidate = observations.frame.lazy(), observations.candidate
    no_row = pl.col("in_b").is_null() | pl.col("in_c").is_null()
    parts = [
        _entries(
            frame.filter(no_row),
            candidate,
            None,
            pl.when(pl.col("in_b").is_null()).then(pl.lit("baseline")).otherwise(pl.lit("candidate")),
            pl.lit("no row"),
        )
    ]
    for m in metrics:
        b, c = pl.col(f"{m}:b").is_null() & pl.col("in_b"), pl.col(f"{m}:c").is_null() & pl.col("in_c")
        missing = (
            pl.when(b & c)
            .then(pl.lit("both"))
            .when(b)
            .then(pl.lit("baseline"))
            .otherwise(pl.lit("candidate"))
        )
        found = frame.filter(b.fill_null(False) | c.fill_null(False))
        parts.append(_entries(found, candidate, m, missing, pl.lit("no score")))
    unknown = observations.rows.lazy().filter(pl.col("item").is_null())
    counted = unknown.group_by("side", "item").agg(pl.len().alias("rows"))
    parts.append(rows_without_item(counted, candidate))
    return pl.concat(parts).sort("metric", "missing", "item", nulls_last=False).collect()


def rows_without_item(counted: pl.LazyFrame, candidate: str) -> pl.LazyFrame:
    """Return the entries of ``rows`` that have no ``item``, by ``side`` (true: candidate)."""
    return _entries(
        counted,
        candidate,
        None,
        pl.when("side").then(pl.lit("baseline")).otherwise(pl.lit("candidate")),
        pl.when(pl.col("rows") == 1)
        .then(pl.lit("1 row without an item"))
        .otherwise(format_text("{} rows without an item", "rows")),
    )


def _entries(
    frame: pl.LazyFrame, candidate: str, metric: str | None, missing: pl.Expr, reason: pl.Expr
) -> pl.LazyFrame:
    return frame.select(
        pl.lit(candidate, dtype=pl.String).alias("candidate"),
        pl.lit(metric, dtype=pl.String).alias("metric"),
        pl.col("item").cast(pl.String),
        missing.cast(pl.Enum(SIDES)).alias("missing"),
        reason.alias("reason"),
    )
