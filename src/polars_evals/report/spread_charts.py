"""How scores are spread: shares of scores, differences item by item, and passes against fails."""

from __future__ import annotations

from math import floor, log10
from typing import Any

import altair as alt
import polars as pl

from polars_evals.palette import BAND, BLUE, INK, QUIET, SKY, VERMILION
from polars_evals.report.charts import ABOVE, HEIGHT, LABEL, name_above, shortened
from polars_evals.report.theme import themed
from polars_evals.wording import line

LOW = HEIGHT - 40
SPREAD_BINS = 40


def distribution(
    rows: pl.DataFrame,
    *,
    baseline: str,
    width: int,
    threshold: float | None = None,
    title: str | None = None,
) -> Any:
    """
    Draw the share of scores in each bin: the baseline as bars, the candidate as a line around its own.

    Parameters
    ----------
    rows
        With ``version``, ``bin_low``, ``bin_high`` and ``share``, of one metric and candidate.
    baseline
        The version to draw as bars.
    width
        Pixels, with the labels.
    threshold
        The score from which an answer passes, if it is known.
    title
        What stands above the chart.
    """
    before = rows.filter(pl.col("version") == baseline)
    after = rows.filter(pl.col("version") != baseline)
    versions = [line(frame["version"][0], LABEL) for frame in (before, after)]
    if versions[0] == versions[1]:
        versions = [
            f"{name} ({side})" for name, side in zip(versions, ("baseline", "candidate"), strict=True)
        ]
    x = alt.X(
        "bin_low:Q",
        bin="binned",
        title="score",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(grid=False, tickCount=5, format="~f"),
    )
    y = alt.Y(
        "share:Q",
        title="share of answers",
        axis=alt.Axis(format="~%", tickCount=4, domain=False, ticks=False),
    )
    scale = alt.Scale(domain=versions, range=[SKY, VERMILION])
    # Names that would not stand side by side stand below each other.
    legend = alt.Legend(
        title=None,
        symbolType="square",
        symbolStrokeWidth=2,
        symbolFillColor="transparent",
        columns=2 if sum(map(len, versions)) * 8 < width - 100 else 1,
    )
    colour = alt.Color("of:N", scale=scale, legend=legend)
    bars = (
        alt.Chart(before.select("bin_low", "bin_high", "share", of=pl.lit(versions[0])))
        .mark_bar(binSpacing=0, opacity=1)
        .encode(x=x, x2="bin_high:Q", y=y, color=colour)
    )
    # A step needs the right edge of the last bin too.
    steps = pl.concat(
        [after.select("bin_low", "share"), after.tail(1).select(bin_low="bin_high", share="share")]
    ).with_columns(of=pl.lit(versions[1]))
    outline = (
        alt.Chart(steps).mark_line(interpolate="step-after", strokeWidth=2).encode(x=x, y=y, color=colour)
    )
    layers = [bars, outline]
    if threshold is not None:
        cut = pl.DataFrame({"threshold": [threshold], "name": [f"passes from {threshold:g}"]})
        layers.append(
            alt.Chart(cut)
            .mark_rule(color=INK, strokeDash=[4, 3])
            .encode(x=alt.X("threshold:Q", title="score"))
        )
        layers.append(name_above(cut, alt.X("threshold:Q", title="score"), left=threshold > 0.5))
    return themed(
        alt.layer(*layers),
        width=width,
        height=LOW,
        title=shortened(title),
        offset=ABOVE if threshold is not None else 8,
    )


def paired(
    rows: pl.DataFrame,
    *,
    min_effect: float,
    width: int,
    lower_is_better: bool = False,
    title: str | None = None,
) -> Any:
    """
    Draw how many items lost and gained how much.

    Parameters
    ----------
    rows
        With ``bin_low``, ``bin_high`` and ``count`` of differences, none of the bins around 0.
    min_effect
        Half the width of the grey band in which a difference does not matter.
    width
        Pixels, with the labels.
    lower_is_better
        Whether a negative difference is a gain.
    title
        What stands above the chart.
    """
    kinds = ["worse", "the same", "better"]
    sign = -1 if lower_is_better else 1
    middle = (pl.col("bin_low") + pl.col("bin_high")) / 2 * sign
    data = rows.select(
        "bin_low",
        "bin_high",
        "count",
        kind=pl.when(pl.col("bin_low") == pl.col("bin_high"))
        .then(pl.lit("the same"))
        .when(middle < 0)
        .then(pl.lit("worse"))
        .otherwise(pl.lit("better")),
    )
    # Equal scores are a bar as wide as the others, in their midst.
    width_of = rows.select((pl.col("bin_high") - pl.col("bin_low")).max()).item() or 0.05
    data = data.with_columns(
        pl.when(pl.col("kind") == "the same").then(-width_of / 2).otherwise("bin_low").alias("bin_low"),
        pl.when(pl.col("kind") == "the same").then(width_of / 2).otherwise("bin_high").alias("bin_high"),
    )
    x = alt.X(
        "bin_low:Q",
        bin="binned",
        title="candidate − baseline, item by item",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(
            grid=False, tickCount=5, format="+,.2~f", labelExpr="datum.value == 0 ? '0' : datum.label"
        ),
    )
    y = alt.Y(
        "count:Q",
        title="items",
        axis=alt.Axis(format=",d", tickCount=4, tickMinStep=1, domain=False, ticks=False),
    )
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[VERMILION, QUIET, BLUE]),
        legend=alt.Legend(title=None, symbolType="square"),
    )
    band = (
        alt.Chart(pl.DataFrame({"bin_low": [-min_effect], "high": [min_effect]}))
        .mark_rect(color=BAND)
        .encode(x=alt.X("bin_low:Q"), x2="high:Q")
    )
    bars = alt.Chart(data).mark_bar(binSpacing=1, opacity=1).encode(x=x, x2="bin_high:Q", y=y, color=colour)
    return themed(alt.layer(band, bars), width=width, height=LOW, title=shortened(title))


def passes(rows: pl.DataFrame, *, width: int, title: str | None = None) -> Any:
    """
    Draw the share of answers that pass as bars, one a version.

    Parameters
    ----------
    rows
        With ``version``, ``pass_rate``, ``ci_low`` and ``ci_high``, in order.
    width
        Pixels, with the labels.
    title
        What stands above the chart.
    """
    names = [line(name, LABEL) for name in rows["version"]]
    data = rows.with_columns(
        label=pl.Series([f"{at}\u001f{name}" for at, name in enumerate(names)], dtype=pl.String),
        name=pl.Series(
            [
                f"{name}: {rate:.1%} pass"
                for name, rate in zip(names, rows["pass_rate"].fill_null(0), strict=True)
            ],
            dtype=pl.String,
        ),
        low=pl.lit(0.0),
        high=pl.lit(1.0),
    )
    x = alt.X(
        "pass_rate:Q",
        title="share of answers that pass",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="~%", tickCount=5, grid=False),
    )
    y = alt.Y("label:N", sort=data["label"].to_list(), title=None, axis=None)
    base = alt.Chart(data)
    layers = alt.layer(
        base.mark_bar(size=16, color=BAND).encode(x=alt.X("high:Q"), x2="low:Q", y=y),
        base.mark_bar(size=16, color=SKY).encode(x=x, x2="low:Q", y=y),
        base.mark_rule(strokeWidth=2, color=INK).encode(x="ci_low:Q", x2="ci_high:Q", y=y),
        base.mark_text(
            align="left", baseline="middle", dy=-17, color=INK, fontSize=12, limit=width - 30
        ).encode(x=alt.value(0), y=y, text="name:N"),
    )
    return themed(layers, width=width, height=46 * rows.height, title=shortened(title))


def difference_bins(differences: pl.DataFrame) -> pl.DataFrame:
    """Return how many differences lie in each bin of one width; those that are 0 have a bin of their own."""
    moved = differences.filter(pl.col("difference") != 0)
    reach = float(moved["difference"].abs().max() or 0.0)  # type: ignore[arg-type]
    width = _round(2 * reach / SPREAD_BINS) if reach else 0.05
    place = (pl.col("difference") / width).floor()
    counts = (
        moved.group_by(place.alias("bin"))
        .agg(pl.len().alias("count"))
        .sort("bin")
        .select(bin_low=pl.col("bin") * width, bin_high=(pl.col("bin") + 1) * width, count="count")
    )
    same = differences.filter(pl.col("difference") == 0).height
    none = pl.DataFrame({"bin_low": [0.0], "bin_high": [0.0], "count": [same]}, schema=counts.schema)
    return pl.concat([counts, none])


def _round(width: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten."""
    power: float = 10.0 ** floor(log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * 0.999)
