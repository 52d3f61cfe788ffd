"""Every paired difference of every metric, worst first, with slices and texts: read when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals._polars import format_text
from polars_evals.drift.columns import LABELS, as_text, item_key, values_of
from polars_evals.drift.result import from_report
from polars_evals.drift.unanswered import HAS_ANSWER, scores_of_answers
from polars_evals.expressions.python import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_evals.drift.pair import Observations
    from polars_evals.drift.spec import ResolvedSpec

# Texts that an item has once, and the one that each version has.
SHARED, OWN = ("input", "expected"), "output"
SIDES = ["baseline", "candidate", "both"]
FLIPS = ["newly_failing", "newly_passing"]
TEXTS = ["input", "expected", "baseline_output", "candidate_output"]
SCORES = ["baseline_score", "candidate_score", "difference", "baseline_label", "candidate_label"]
UNMATCHED: dict[str, Any] = {
    "candidate": pl.String,
    "metric": pl.String,
    "item": pl.String,
    "missing": pl.Enum(SIDES),
    "reason": pl.String,
}


class Items(pl.LazyFrame):
    """Paired items, lazy as any frame; in a notebook the first of them are shown with their answers."""

    def _repr_html_(self) -> str:
        try:
            return from_report("polars_evals.report.page.items_cell")(self)
        except (ImportError, pl.exceptions.PolarsError):
            # Without the report extra, or where a query has left other columns.
            return super()._repr_html_()


def items_of(table: pl.LazyFrame, spec: ResolvedSpec) -> pl.LazyFrame:
    """Return a row for each candidate, metric and item that both versions have a score for."""
    schema = table.collect_schema()
    if spec.item is None or not spec.names:
        return pl.LazyFrame(schema=_schema(spec))
    slices, names = _slice_columns(spec.traits), list(spec.names)
    scored = scores_of_answers(schema, spec.metrics, spec.unanswered)
    rows = table.select(
        as_text(schema, spec.version).alias("version"),
        item_key(schema, spec.item).alias("item"),
        *(as_text(schema, name).alias(f"by:{name}") for name in slices),
        *(text_of(schema, name).alias(f"text:{name}") for name in (*SHARED, OWN)),
        *(one for one in scored if one.meta.output_name() != HAS_ANSWER),
        *values_of(spec.measures),
    ).filter(pl.col("item").is_not_null())
    # Repeats are averaged in the order of their scores: a streaming engine adds up in any order, also after
    # `sort`, and the last digits would differ from call to call. Their texts are those of the first.
    averaged = [f"{name}:score" for name in names]
    answers = (
        rows.group_by("version", "item", maintain_order=True)
        .agg(
            pl.col(averaged),
            *(pl.col(f"{name}:pass").mean() for name in names),
            pl.col(f"text:{OWN}").first(),
        )
        .with_columns(pl.col(averaged).list.sort().list.mean())
    )
    shared = rows.group_by("item", maintain_order=True).agg(
        *(pl.col(f"by:{name}").drop_nulls().first().alias(name) for name in slices),
        *(pl.col(f"text:{name}").drop_nulls().first().alias(name) for name in SHARED),
        *(
            pl.col(f"text:{OWN}").filter(pl.col("version") == version).first().alias(f"output_{version}")
            for version in spec.versions
        ),
    )
    before = answers.filter(pl.col("version") == spec.baseline).drop("version")
    after = answers.filter(pl.col("version") != spec.baseline)
    pairs = after.join(before, on="item", suffix=":before").join(shared, on="item", how="left")
    metrics = pl.concat(_one_metric(pairs, name, spec, slices) for name in names)
    places = {name: place for place, name in enumerate(spec.candidates)}
    found = metrics.sort(
        pl.col("candidate").replace_strict(places, return_dtype=pl.Int64),
        pl.col("metric").cast(pl.Enum(names)),
        spec.gain(),
        "item",
        maintain_order=True,
    )
    return Items._from_pyldf(found._ldf)


def _one_metric(pairs: pl.LazyFrame, name: str, spec: ResolvedSpec, slices: Sequence[str]) -> pl.LazyFrame:
    score, passed = pl.col(f"{name}:score"), pl.col(f"{name}:pass")
    score_before, passed_before = pl.col(f"{name}:score:before"), pl.col(f"{name}:pass:before")
    label, label_before = (_label(one) for one in (passed, passed_before))
    flip = (
        pl.when(label_before == "pass", label == "fail")
        .then(pl.lit(FLIPS[0]))
        .when(label_before == "fail", label == "pass")
        .then(pl.lit(FLIPS[1]))
    )
    return pairs.filter(score.is_not_null() & score_before.is_not_null()).select(
        pl.col("version").alias("candidate"),
        pl.lit(name).alias("metric"),
        "item",
        *slices,
        score_before.alias("baseline_score"),
        score.alias("candidate_score"),
        (score - score_before).alias("difference"),
        label_before.alias("baseline_label"),
        label.alias("candidate_label"),
        flip.cast(pl.Enum(FLIPS)).alias("flip"),
        *SHARED,
        pl.col(f"text:{OWN}:before").alias("baseline_output"),
        pl.col(f"text:{OWN}").alias("candidate_output"),
        *(f"output_{version}" for version in spec.versions),
    )


def _label(passed: pl.Expr) -> pl.Expr:
    """Return what most repeats say; nothing where they are split."""
    return (
        pl.when(passed > 0.5)
        .then(pl.lit("pass"))
        .when(passed < 0.5)
        .then(pl.lit("fail"))
        .cast(pl.Enum(LABELS))
    )


def text_of(schema: Any, name: str) -> pl.Expr:
    """Return a text that the frame may have; what is not text reads as JSON."""
    if name not in schema:
        return pl.lit(None, dtype=pl.String)
    dtype = schema[name]
    if dtype == pl.List(pl.String):
        return pl.col(name).list.join("\n")
    if isinstance(dtype, pl.Struct):
        return json_text(pl.col(name))
    return pl.col(name).cast(pl.String, strict=False)


def _schema(spec: ResolvedSpec) -> dict[str, Any]:
    label = pl.Enum(LABELS)
    return {
        "candidate": pl.String, "metric": pl.String, "item": pl.String,
        **dict.fromkeys(_slice_columns(spec.traits), pl.String),
        "baseline_score": pl.Float64, "candidate_score": pl.Float64, "difference": pl.Float64,
        "baseline_label": label, "candidate_label": label, "flip": pl.Enum(FLIPS),
        **dict.fromkeys((*SHARED, "baseline_output", "candidate_output"), pl.String),
        **dict.fromkeys((f"output_{version}" for version in spec.versions), pl.String),
    }  # fmt: skip


def flips_of(items: pl.LazyFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """Return the items whose label changed, the greatest loss first."""
    order = ["candidate", "metric", "flip", "item", *_slice_columns(spec.traits), *TEXTS, *SCORES]
    changed = items.filter(pl.col("flip").is_not_null()).select(order)
    return changed.sort("difference", "item", "candidate", "metric").collect()


def _slice_columns(by: Iterable[str]) -> list[str]:
    """Return the columns of slices that items show; a name that items have anyway keeps its meaning."""
    return [name for name in by if name not in {"candidate", "metric", "flip", "item", *TEXTS, *SCORES}]


def without_pair(observations: Observations, *, metrics: Sequence[str]) -> pl.DataFrame:
    """Return what could not be paired: items without a row in a version, rows without score or item."""
    scores = [f"{name}:{end}" for name in metrics for end in ("b", "c")]
    if not observations.paired or not (
        sum(observations.frame.select("in_b", "in_c", *scores).null_count().row(0))
        or observations.rows["item"].null_count()
    ):
        return pl.DataFrame(schema=UNMATCHED)

    def entries(
        rows: pl.LazyFrame, metric: str | None, b: pl.Expr, c: pl.Expr, reason: pl.Expr
    ) -> pl.LazyFrame:
        """Return the rows that lack something in the baseline (`b`) or the candidate (`c`)."""
        both, one = pl.when(b & c).then(pl.lit("both")), pl.lit("baseline")
        return rows.filter(b.fill_null(value=False) | c.fill_null(value=False)).select(
            candidate=pl.lit(observations.candidate, dtype=pl.String),
            metric=pl.lit(metric, dtype=pl.String),
            item=pl.col("item").cast(pl.String),
            missing=both.when(b).then(one).otherwise(pl.lit("candidate")).cast(pl.Enum(SIDES)),
            reason=reason,
        )

    frame, no_row = observations.frame.lazy(), [pl.col(name).is_null() for name in ("in_b", "in_c")]
    parts = [entries(frame, None, no_row[0], no_row[1], pl.lit("no row"))]
    for m in metrics:
        b, c = pl.col(f"{m}:b").is_null() & pl.col("in_b"), pl.col(f"{m}:c").is_null() & pl.col("in_c")
        parts.append(entries(frame, m, b, c, pl.lit("no score")))
    unknown = observations.rows.lazy().filter(pl.col("item").is_null())
    several = pl.when(pl.col("rows") == 1).then(pl.lit("1 row without an item"))
    parts.append(
        entries(
            unknown.group_by("side", "item", maintain_order=True).agg(pl.len().alias("rows")),
            None,
            pl.col("side"),
            ~pl.col("side"),
            several.otherwise(format_text("{} rows without an item", "rows")),
        )
    )
    return pl.concat(parts).sort("metric", "missing", "item", nulls_last=False).collect()
