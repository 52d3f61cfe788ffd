"""Measures: numbers with a direction and a unit, compared beside the scores."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import polars_evals as pe
from polars_evals.drift import ComparisonSpec
from polars_evals.drift.inference.quantiles import Arms, mean_ratio
from polars_evals.suite.measure import Measure, measures_of

SLOWER = {"lower_is_better": True}


def traces(n: int = 200, *, slower: float = 1.0, seed: int = 0, **columns: Any) -> pl.DataFrame:
    """Return two versions that score alike; v2 takes `slower` times as long."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n)
    return pl.concat(
        pl.DataFrame(
            {
                "item_id": range(n),
                "model": model,
                "m_score": np.full(n, 0.5),
                "latency_ms": factor * np.exp(6 + 0.5 * hard + 0.1 * rng.normal(size=n)),
                "cost": np.exp(-5 + 0.1 * rng.normal(size=n)),
                **{name: values[model] for name, values in columns.items()},
            }
        )
        for model, factor in (("v1", 1.0), ("v2", slower))
    )


def compare(frame: pl.DataFrame, **options: Any) -> pe.Comparison:
    return pe.compare(frame, **{"version": "model", "baseline": "v1", "item": "item_id"} | options)


def row_of(comparison: pe.Comparison, metric: str) -> dict[str, Any]:
    return comparison.summary.row(by_predicate=pl.col("metric") == metric, named=True)


@pytest.mark.parametrize("item", ["item_id", None])
@pytest.mark.parametrize(("slower", "verdict"), [(1.5, "regressed"), (0.6, "improved")])
def test_more_latency_is_worse(slower: float, verdict: str, item: str | None) -> None:
    comparison = compare(traces(slower=slower), measures=["latency_ms"], item=item)
    row = row_of(comparison, "latency_ms")
    assert row["verdict"] == row["score_verdict"] == verdict
    assert row["difference"] * (slower - 1) > 0
    assert re.search(r"mean latency_ms (rose|fell) by \d+ ms", row["reason"])


def test_more_of_a_good_thing_is_better() -> None:
    frame = traces(slower=1.5).rename({"latency_ms": "stars"})
    assert (
        row_of(compare(frame, measures={"stars": {"lower_is_better": False}}), "stars")["verdict"]
        == "improved"
    )


def test_an_unchanged_measure_is_no_change_within_its_own_effect() -> None:
    comparison = compare(traces(2000), measures={"latency_ms": {}, "cost": {"min_effect": 1e-9}})
    row = row_of(comparison, "latency_ms")
    assert row["verdict"] == "no_change"
    assert row["min_effect"] == pytest.approx(0.05 * row["baseline_mean"])
    assert row_of(comparison, "cost")["verdict"] == "inconclusive"
    assert row_of(comparison, "cost")["min_effect"] == 1e-9


def test_means_and_quantiles_are_those_of_numpy() -> None:
    frame = traces(slower=1.3)
    asked = {"latency_ms": {"quantiles": [0.5, 0.95]}}
    found = compare(frame, measures=asked).measures
    assert found["statistic"].to_list() == ["mean", "median", "p95"]
    sides = [frame.filter(pl.col("model") == one)["latency_ms"].to_numpy() for one in ("v1", "v2")]
    for side, name in zip(sides, ("baseline_value", "candidate_value"), strict=True):
        expected = [side.mean(), *np.quantile(side, [0.5, 0.95])]
        assert found[name].to_list() == pytest.approx(expected)
    assert found["ratio"].to_list() == pytest.approx(found["candidate_value"] / found["baseline_value"])
    assert ((found["ci_low"] < found["difference"]) & (found["difference"] < found["ci_high"])).all()
    assert ((found["ratio_low"] < found["ratio"]) & (found["ratio"] < found["ratio_high"])).all()
    assert found["unit"].unique().to_list() == ["ms"]
    # The interval of the mean is scipy's paired t interval.
    low, high = stats.ttest_rel(sides[1], sides[0]).confidence_interval()
    assert found.select("ci_low", "ci_high").row(0) == pytest.approx((low, high))


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("clusters", [None, 20])
def test_the_ratio_is_that_of_a_log_linear_model(clusters: int | None, *, paired: bool) -> None:
    """A generalized estimating equation with log link has the same ratio and the same robust error."""
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    n = 120
    group = np.arange(n) if clusters is None else np.arange(n) % clusters
    both = np.exp(0.4 * rng.normal(size=n) + 0.3 * rng.normal(size=n)[group])
    before, after = both * rng.gamma(4, 1, n), both * rng.gamma(5, 1, n)
    codes = None if clusters is None else (group, group)
    found = mean_ratio(Arms(before, after, paired, codes), alpha=0.05)
    design = np.column_stack([np.ones(2 * n), np.repeat([0.0, 1.0], n)])
    together = np.concatenate([group, group if paired else group + n])
    order = np.argsort(together, kind="stable")
    model = sm.GEE(
        np.concatenate([before, after])[order],
        design[order],
        groups=together[order],
        family=sm.families.Poisson(),
    )
    fit = model.fit()
    assert found["ratio"] == pytest.approx(np.exp(fit.params[1]))
    # It divides by the number of units where the unbiased variance divides by one less.
    units = n if clusters is None else clusters
    half = np.log(found["ratio_high"] / found["ratio"])
    df = units - 1 if paired else None
    if df is not None:
        expected = fit.bse[1] * np.sqrt(units / (units - 1)) * stats.t.isf(0.025, df)
        assert half == pytest.approx(expected, rel=1e-6)
    else:
        assert half == pytest.approx(fit.bse[1] * 1.98, rel=0.06)


def test_a_tail_that_grew_is_a_regression_though_the_mean_is_not() -> None:
    rng = np.random.default_rng(0)
    before = rng.uniform(90, 110, 2000)
    after = before.copy()
    after[:160], after[160:] = after[:160] * 1.4, after[160:] * 0.965
    frame = pl.concat(
        pl.DataFrame({"item_id": range(2000), "model": m, "m_score": 0.5, "latency_ms": x})
        for m, x in (("v1", before), ("v2", after))
    )
    row = row_of(compare(frame, measures="latency_ms"), "latency_ms")
    assert row["score_verdict"] == "no_change"
    assert row["verdict"] == "regressed"
    assert "the p95 of latency_ms rose by" in row["reason"]
    text = compare(frame, measures="latency_ms").to_markdown().replace("\\", "")
    assert re.search(r"v2 against v1: p95 of latency_ms \d+(\.\d)?% slower \(\d+ ms → \d+ ms\)", text)
    size = r"\+\d+\.\d ms"
    assert re.search(
        rf"regressed \| latency_ms \(p95\) \| {size} \| {size} to {size} \| \d+ ms → \d+ ms \|", text
    )
    assert (
        row_of(compare(frame, measures={"latency_ms": {"quantiles": []}}), "latency_ms")["verdict"]
        == "no_change"
    )


def test_what_traces_have_is_known_by_name_and_found() -> None:
    frame = traces().with_columns(input_tokens=pl.lit(None, dtype=pl.Int64), output_tokens=pl.lit(12))
    comparison = compare(frame, measures="auto")
    assert list(comparison.spec.measures) == ["latency_ms", "cost", "output_tokens"]
    assert comparison.settings["measures"]["cost"] == {
        "lower_is_better": True, "unit": "$", "bounds": [0.0, None],
    }  # fmt: skip
    assert not compare(frame.select("item_id", "model", "m_score"), measures="auto").spec.measures


def test_nothing_known_is_left_out_and_counted() -> None:
    frame = traces().with_columns(
        latency_ms=pl.when(pl.col("item_id") < 5, pl.col("model") == "v2").then(None).otherwise("latency_ms")
    )
    comparison = compare(frame, measures="latency_ms")
    row = row_of(comparison, "latency_ms")
    assert (row["n"], row["n_baseline_only"]) == (195, 5)
    assert comparison.notes == ("5 rows have no latency_ms and are not in its numbers",)
    assert comparison.summary["metric"].to_list() == ["m", "latency_ms"]


def test_bounds_count_for_what_is_unseen() -> None:
    """Thirty equal ratings rule out less where ratings may reach further."""
    frame = traces(30).with_columns(stars=pl.lit(4.0))
    for top, verdict in ((5, "inconclusive"), (4.2, "no_change")):
        asked = {"stars": {"lower_is_better": False, "bounds": [4, top], "min_effect": 0.05, "quantiles": []}}
        assert row_of(compare(frame, measures=asked), "stars")["verdict"] == verdict


@pytest.mark.parametrize(("margin", "said"), [(200, "yes"), (10, "no"), (None, None)])
def test_a_margin_is_in_the_unit_of_the_measure(margin: float | None, said: str | None) -> None:
    comparison = compare(traces(400, slower=1.2), measures={"latency_ms": {"margin": margin}}, margin=0.02)
    assert row_of(comparison, "latency_ms")["not_worse"] == said
    assert row_of(comparison, "m")["not_worse"] is not None


def test_items_are_worst_first_in_the_direction_that_is_worse() -> None:
    comparison = compare(traces(slower=1.5), measures={"latency_ms": {}, "cost": {"lower_is_better": False}})
    found = comparison.items.collect()
    slowest = found.filter(pl.col("metric") == "latency_ms")["difference"]
    assert slowest.is_sorted(descending=True)
    assert found.filter(pl.col("metric") == "cost")["difference"].is_sorted()
    assert found["metric"].unique(maintain_order=True).to_list() == ["m", "latency_ms", "cost"]


def test_slices_and_candidates_have_their_own_rows() -> None:
    frame = traces(300, slower=1.5).with_columns(topic=pl.col("item_id") % 2)
    third = frame.filter(pl.col("model") == "v1").with_columns(model=pl.lit("v3"))
    comparison = compare(pl.concat([frame, third]), measures=["latency_ms"], by="topic")
    assert comparison.measures.height == 2 * 3 * 3
    slices = comparison.measures.filter(pl.col("slice").is_not_null())
    assert slices["slice"].unique().sort().to_list() == ["topic=0", "topic=1"]
    assert comparison.verdicts["v2"] == "regressed"
    assert "v2 is worse on latency_ms" in comparison.to_markdown().replace("\\", "")


def test_sentences_have_unit_and_direction() -> None:
    comparison = compare(traces(slower=1.5), measures="latency_ms")
    text = comparison.to_markdown().replace("\\", "")
    assert re.search(r"latency_ms 5\d(\.\d)?% slower \(\d+ ms → \d+ ms\)", text)
    assert "answers got worse" not in text
    assert re.search(r"latency_ms \| \+\d+ ms \| \+\d+ ms to \+\d+ ms \| \d+ ms → \d+ ms \|", text)
    assert "mean latency_ms rose by" in comparison.to_junit()
    for frame in comparison.frames().values():
        frame.write_csv()


def test_a_search_for_slices_sees_measures() -> None:
    frame = traces(600).with_columns(topic=pl.col("item_id") % 4)
    slow = (pl.col("topic") == 1) & (pl.col("model") == "v2")
    frame = frame.with_columns(
        latency_ms=pl.when(slow).then(2 * pl.col("latency_ms")).otherwise("latency_ms")
    )
    comparison = compare(frame, measures="latency_ms", by="auto")
    assert comparison.slices.filter(pl.col("verdict") == "regressed")["slice"].to_list() == ["topic=1"]


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"latency_ms": {"min_efect": 5}}, "unknown option 'min_efect'; did you mean \"min_effect\"?"),
        (["latenci_ms"], "not of 'latenci_ms'; did you mean \"latency_ms\"?"),
        ({"retries": {}}, "lower_is_better"),
        ({"retries": {"lower_is_better": "yes"}}, "lower_is_better must be true or false"),
        ({"cost": {"quantiles": [95]}}, "quantiles must be a list of numbers between 0 and 1"),
        ({"cost": {"bounds": [1, 0]}}, "bounds must be the least and the greatest"),
        ({"cost": {"min_effect": -1}}, "min_effect must be a number, at least 0"),
        (["cost", "cost"], "must name each column once"),
    ],
)
def test_bad_measures_are_refused_by_name(measures: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ComparisonSpec(version="model", baseline="v1", measures=measures)


def test_columns_that_are_no_measures() -> None:
    frame = traces().with_columns(took=pl.duration(seconds=1), m=pl.lit(1.0))
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match='did you mean "latency_ms"'):
        compare(frame, measures={"latency": SLOWER})
    with pytest.raises(pl.exceptions.InvalidOperationError, match="total_milliseconds"):
        compare(frame, measures={"took": SLOWER})
    with pytest.raises(ValueError, match="also the name of a metric"):
        compare(frame, measures={"m": SLOWER})
    with pytest.raises(ValueError, match=r"'latency_ms' has 400 NaN"):
        compare(frame.with_columns(latency_ms=float("nan")), measures="latency_ms")


def test_measures_are_written_in_several_ways() -> None:
    same = [
        measures_of("cost"), measures_of(["cost"]), measures_of({"cost": {}}), measures_of(Measure("cost")),
        measures_of({"cost": {"lower_is_better": True, "unit": "$", "bounds": (0, None)}}),
    ]  # fmt: skip
    assert all(one == same[0] and hash(one) == hash(same[0]) for one in same)
    assert pe.Measure("cost").amount(-0.0123, signed=True) == "-$0.0123"
    assert pe.Measure("latency_ms").amount(1234.5) == "1,234 ms"


@pytest.mark.parametrize(("factor", "verdict"), [(1.3, "regressed"), (0.7, "improved"), (1.0, "no_change")])
def test_a_timeline_follows_measures_in_their_direction(factor: float, verdict: str) -> None:
    rng = np.random.default_rng(0)
    hours = np.arange(24 * 40)
    took = rng.lognormal(6, 0.2, len(hours)) * np.where(hours < 24 * 25, 1.0, factor)
    frame = pl.DataFrame(
        {"ts": pl.datetime_range(pl.datetime(2025, 1, 1), pl.datetime(2025, 2, 9, 23), "1h", eager=True),
         "m_score": rng.normal(0.5, 0.01, len(hours)), "latency_ms": took}
    )  # fmt: skip
    line = pe.timeline(frame, time="ts", reference=14, measures="latency_ms")
    row = line.summary.row(by_predicate=pl.col("metric") == "latency_ms", named=True)
    assert row["verdict"] == verdict
    assert row["reference_mean"] == pytest.approx(took[: 24 * 14].mean())
    windows = line.windows.filter(pl.col("metric") == "latency_ms")
    assert windows["mean"][0] == pytest.approx(took[:24].mean())
    assert windows["center"][0] == pytest.approx(row["reference_mean"])
    if factor != 1:
        assert row["difference"] == pytest.approx(row["current_mean"] - row["reference_mean"])
        assert str(row["began"])[:10] == "2025-01-26"
        assert re.search(r"the mean latency_ms is \d+ ms (higher|lower) than", row["reason"])
    # Another unit, the same verdict and the same evidence.
    seconds = pe.timeline(
        frame.with_columns(s=pl.col("latency_ms") / 1000), time="ts", reference=14, measures={"s": SLOWER}
    ).summary.row(by_predicate=pl.col("metric") == "s", named=True)
    assert seconds["verdict"] == verdict
    assert seconds["p_always_valid"] == pytest.approx(row["p_always_valid"])
