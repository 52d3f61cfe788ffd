"""Charts of measures: how much each changed, and how its values are spread."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from polars_evals.palette import SKY, VERMILION
from polars_evals.report.charts import HEIGHT, LABEL, forest, shortened
from polars_evals.report.theme import themed
from polars_evals.wording import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.suite.measure import Measure

BINS = 30
# From this ratio of the 95th percentile to the median on, values are drawn on a logarithmic axis.
SKEWED = 2.5


def changes(rows: pl.DataFrame, labels: Sequence[str], groups: Sequence[str], *, width: int) -> Any:
    """
    Draw by which part of the baseline's value each statistic changed, with its interval.

    Parameters
    ----------
    rows
        With ``ratio``, ``ratio_low``, ``ratio_high``, ``min_effect``, ``baseline_value`` and ``verdict``.
    labels
        The statistic of each row.
    groups
        The measure of each row.
    width
        Pixels, with the labels.
    """
    parts = rows.select(
        "verdict",
        difference=pl.col("ratio") - 1,
        ci_low=pl.col("ratio_low") - 1,
        ci_high=pl.col("ratio_high") - 1,
    )
    matters = rows.select((pl.col("min_effect") / pl.col("baseline_value").abs()).min()).item()
    axis = ("change against the baseline",)
    return forest(
        parts, labels, groups=groups, min_effect=matters or 0.0, width=width, axis=axis, form="+.2~%"
    )


def spread(
    values: pl.DataFrame, measure: Measure, names: tuple[str, str], *, width: int, title: str | None = None
) -> Any:
    """
    Draw how the values of two versions are spread, with the median and the 95th percentile of each.

    Parameters
    ----------
    values
        With ``baseline`` and ``candidate``, a row an item.
    measure
        What the values are of.
    names
        The versions.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    both = pl.concat([values["baseline"], values["candidate"]]).drop_nulls()
    log = _skewed(both)
    shares = _shares(values, both, log=log)
    shown = [line(name, LABEL) for name in names]
    if shown[0] == shown[1]:
        shown = [f"{shown[0]} (baseline)", f"{shown[1]} (candidate)"]
    named = f"{measure.name} ({measure.unit})" if measure.unit else measure.name
    scale = alt.Scale(type="log" if log else "linear", nice=False, zero=False)
    x = alt.X(
        "low:Q",
        bin="binned",
        title=f"{line(named, LABEL)}{', logarithmic' if log else ''}",
        scale=scale,
        axis=alt.Axis(grid=False, tickCount=4 if width < 480 else 6, format="~s" if _wide(both) else "~g"),
    )
    y = alt.Y(
        "share:Q",
        title="share of items",
        axis=alt.Axis(format="~%", tickCount=4, domain=False, ticks=False),
    )
    colour = alt.Color(
        "of:N",
        scale=alt.Scale(domain=shown, range=[SKY, VERMILION]),
        legend=alt.Legend(title=None, symbolType="square", columns=1 if width < 480 else 2),
    )
    sides = dict(zip(("baseline", "candidate"), shown, strict=True))
    before, after = (
        shares.select("low", "high", share=side).with_columns(of=pl.lit(name)) for side, name in sides.items()
    )
    steps = pl.concat([after, after.tail(1).with_columns(low="high")])
    marks = pl.DataFrame(
        [
            {"low": values[side].quantile(at, "linear"), "of": name, "kind": kind}
            for side, name in sides.items()
            for at, kind in ((0.5, "median"), (0.95, "p95"))
        ]
    )
    layers = [
        alt.Chart(before).mark_bar(binSpacing=0, opacity=1).encode(x=x, x2="high:Q", y=y, color=colour),
        alt.Chart(steps).mark_line(interpolate="step-after", strokeWidth=2).encode(x=x, y=y, color=colour),
        *(
            alt.Chart(marks.filter(kind=kind))
            .mark_rule(strokeWidth=2, strokeDash=dash)
            .encode(x=alt.X("low:Q", scale=scale), color=colour)
            for kind, dash in (("median", [1, 0]), ("p95", [4, 3]))
        ),
    ]
    return themed(alt.layer(*layers), width=width, height=HEIGHT - 40, title=shortened(title))


def _skewed(values: pl.Series) -> bool:
    least, middle, high = values.min(), values.median(), values.quantile(0.95, "linear")
    return bool(least > 0 and high / middle > SKEWED)  # type: ignore[operator]


def _wide(values: pl.Series) -> bool:
    return bool(values.abs().max() >= 10_000)  # type: ignore[operator]


def _shares(values: pl.DataFrame, both: pl.Series, *, log: bool) -> pl.DataFrame:
    """Return the share of each version's values in bins of one width on the axis."""
    low, high = float(both.min()), float(both.max())  # type: ignore[arg-type]
    if log:
        low, high = log10(low), log10(high)
    step = (high - low) / BINS or 1.0
    edges = [low + at * step for at in range(BINS + 1)]
    shares = {}
    for side in ("baseline", "candidate"):
        known = values[side].drop_nulls()
        place = (((known.log(10) if log else known) - low) / step).floor().clip(0, BINS - 1).cast(pl.Int64)
        counts = dict(place.value_counts().iter_rows())
        shares[side] = [counts.get(at, 0) / max(1, known.len()) for at in range(BINS)]
    ends = [10**edge for edge in edges] if log else edges
    return pl.DataFrame({"low": ends[:-1], "high": ends[1:], **shares})
