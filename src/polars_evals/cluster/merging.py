"""Merge aggregates: counts add up, means and variances are pooled, clusters that meet become one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_evals.cluster.aggregates import ROW, Aggregates, stack

if TYPE_CHECKING:
    from collections.abc import Iterable

# Which count weighs which mean, and the variance around it.
PAIRED: dict[str, dict[str, str | None]] = {
    "n": {"baseline_mean": "var_b", "candidate_mean": "var_c", "difference": "var_d"},
    "labels": {"baseline_pass_rate": None, "candidate_pass_rate": None},
}
UNPAIRED: dict[str, dict[str, str | None]] = {
    "n_baseline_only": {"baseline_mean": "var_b"},
    "n_candidate_only": {"candidate_mean": "var_c"},
    "baseline_labels": {"baseline_pass_rate": None},
    "candidate_labels": {"candidate_pass_rate": None},
}


def merge(parts: Iterable[Aggregates]) -> Aggregates:
    """
    Merge the aggregates of the parts of a table.

    Parameters
    ----------
    parts
        What `aggregate` made of each part, in any order, with the same settings. No two parts may hold rows
        of the same item.

    Notes
    -----
    Aggregates are merged as they arrive, so a generator of them needs no more memory than two.
    """
    merged: Aggregates | None = None
    for part in parts:
        if merged is None:
            merged = part
        elif part.plan != merged.plan:
            msg = f"the parts were not made with the same settings: {merged.plan} and {part.plan}"
            raise ValueError(msg)
        else:
            others = part.frames()
            both = {name: stack([frame, others[name]]) for name, frame in merged.frames().items()}
            merged = regroup(Aggregates(part.plan, **both))
    if merged is None:
        msg = "there are no aggregates to merge"
        raise ValueError(msg)
    return merged


def regroup(aggregates: Aggregates) -> Aggregates:
    """Bring together what several parts say about the same thing."""
    plan, both = aggregates.plan, aggregates.frames()
    keys = {
        "counts": ["kind", "name"],
        "sums": [*ROW, "side", "cluster"],
        "histogram": [*ROW, "kind", "step"],
    }
    merged = {name: _grouped(both[name], by, [pl.exclude(by).sum()]) for name, by in keys.items()}
    merged["signatures"] = both["signatures"].unique(maintain_order=True)
    merged["moments"] = _grouped(
        both["moments"], ROW, _pooled(PAIRED if plan.item else UNPAIRED, both["moments"])
    )
    merged["spreads"] = _grouped(both["spreads"], [*ROW, "side"], _spread())
    order = {"flips": ["change", "item"], "unmatched": ["missing", "item"]}
    for name, columns in order.items():
        frame = both[name]
        if frame.width:
            ordered = frame.sort(columns).group_by("candidate", "metric", maintain_order=True)
            frame = ordered.head(plan.max_flips).select(frame.columns)
        merged[name] = frame
    return Aggregates(plan, **merged)


def _grouped(frame: pl.DataFrame, by: list[str], aggregations: list[pl.Expr]) -> pl.DataFrame:
    if frame.is_empty():
        return frame
    return frame.group_by(by, maintain_order=True).agg(aggregations).select(frame.columns)


def _pooled(weights: dict[str, dict[str, str | None]], frame: pl.DataFrame) -> list[pl.Expr]:
    """Pool means and variances by the number of values behind them, and add up everything else."""
    pooled = []
    for weight, means in weights.items():
        n = pl.col(weight)
        for mean, variance in means.items():
            value = pl.col(mean).fill_null(0.0)
            centre = (n * value).sum() / n.sum()
            pooled.append(pl.when(n.sum() > 0).then(centre).alias(mean))
            if variance is not None:
                # Within the parts and between them: no difference of large numbers, so nothing is lost.
                within = (n - 1).clip(lower_bound=0) * pl.col(variance).fill_null(0.0)
                between = n * (value - centre).pow(2)
                spread = (within + between).sum() / (n.sum() - 1)
                pooled.append(pl.when(n.sum() > 1).then(spread).alias(variance))
    done = {expr.meta.output_name() for expr in pooled}
    return pooled + [pl.col(name).sum() for name in frame.columns if name not in {*ROW, *done}]


def _spread() -> list[pl.Expr]:
    """Centre the residuals of each part's clusters at the mean of all, and add them up."""
    rows, mean = pl.col("rows"), pl.col("mean")
    centre = (rows * mean).sum() / rows.sum()
    shift = centre - mean
    squares, sizes, size_squares = (
        pl.col(name) for name in ("residual_squares", "residual_sizes", "size_squares")
    )
    return [
        pl.col("groups").sum(),
        rows.sum(),
        centre.alias("mean"),
        (squares - 2 * shift * sizes + shift.pow(2) * size_squares).sum().alias("residual_squares"),
        (sizes - shift * size_squares).sum().alias("residual_sizes"),
        size_squares.sum(),
    ]
