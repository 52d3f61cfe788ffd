"""Agreement of raters: against krippendorff and statsmodels, on a published table, and by simulation."""

from __future__ import annotations

from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa, to_table

import polars_evals as pe

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability": the example with missing values.
PUBLISHED = pl.DataFrame(
    {
        "a": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        "b": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        "c": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        "d": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    }
)


def value(result: pe.Agreement, statistic: str) -> Any:
    return result.summary.filter(pl.col("statistic") == statistic)["value"].item()


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_a_published_table(level: str, alpha: float) -> None:
    found = value(pe.agreement(PUBLISHED, raters=["a", "b", "c", "d"], level=level), "krippendorff_alpha")
    assert found == pytest.approx(alpha, abs=0.0006)


@given(st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 3))] * 3), min_size=3, max_size=25))
def test_alpha_equals_krippendorffs_package(rows: list[tuple[int | None, ...]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64, "c": pl.Int64}, orient="row")
    rated = frame.filter(pl.sum_horizontal(pl.all().is_not_null()) >= 2)
    seen = {x for row in rated.rows() for x in row if x is not None}
    if rated.height < 2 or len(seen) < 2:
        return
    data = np.array([[np.nan if x is None else x for x in row] for row in rated.rows()]).T
    for level in ("nominal", "ordinal", "interval"):
        wanted = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
        found = value(pe.agreement(frame, raters=["a", "b", "c"], level=level), "krippendorff_alpha")
        assert found == pytest.approx(wanted, abs=1e-12)


def test_kappas_equal_statsmodels() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 200)
    raters = {name: np.where(rng.random(200) < 0.7, truth, rng.integers(0, 4, 200)) for name in "abc"}
    frame = pl.DataFrame(raters)
    three = pe.agreement(frame, raters=["a", "b", "c"])
    table = aggregate_raters(np.stack(list(raters.values()), axis=1))[0]
    assert value(three, "fleiss_kappa") == pytest.approx(fleiss_kappa(table), abs=1e-12)
    two = np.stack([raters["a"], raters["b"]], axis=1)
    plain = cohens_kappa(to_table(two)[0])
    result = pe.agreement(frame, raters=["a", "b"])
    assert value(result, "cohen_kappa") == pytest.approx(plain.kappa, abs=1e-12)
    row = result.summary.row(by_predicate=pl.col("statistic") == "cohen_kappa", named=True)
    assert row["ci_low"] == pytest.approx(plain.kappa_low, abs=0.01)
    assert row["ci_high"] == pytest.approx(plain.kappa_upp, abs=0.01)
    weighted = cohens_kappa(to_table(two)[0], wt="quadratic")
    found = value(pe.agreement(frame, raters=["a", "b"], level="interval"), "cohen_kappa")
    assert found == pytest.approx(weighted.kappa, abs=1e-12)


def test_intervals_cover() -> None:
    rng, covered, times = np.random.default_rng(3), 0, 400
    big = np.random.default_rng(9)

    def ratings(source: np.random.Generator, n: int) -> pl.DataFrame:
        truth = source.random(n) < 0.6
        return pl.DataFrame({name: np.where(source.random(n) < 0.85, truth, ~truth) for name in "ab"})

    true = value(pe.agreement(ratings(big, 400_000), raters=["a", "b"]), "krippendorff_alpha")
    for _ in range(times):
        row = pe.agreement(ratings(rng, 60), raters=["a", "b"]).summary.row(3, named=True)
        covered += row["ci_low"] <= true <= row["ci_high"]
    assert 0.92 < covered / times < 0.985


def test_a_judge_and_a_few_people_estimate_the_pass_rate_together() -> None:
    rng, covered, widths, times = np.random.default_rng(5), 0, [], 300
    for _ in range(times):
        truth = rng.random(1_000) < 0.7
        judge = np.where(rng.random(1_000) < 0.9, truth, rng.random(1_000) < 0.9)
        human = pl.Series(truth).set(pl.Series(np.arange(1_000) >= 100), None)
        result = pe.agreement(pl.DataFrame({"human": human, "judge": judge}), raters=["human", "judge"])
        rows = {row["estimate"]: row for row in result.pass_rate.iter_rows(named=True)}
        powered, people = rows["prediction_powered"], rows["people"]
        covered += powered["ci_low"] <= 0.7 <= powered["ci_high"]
        widths.append((powered["ci_high"] - powered["ci_low"]) / (people["ci_high"] - people["ci_low"]))
    assert 0.92 < covered / times < 0.985
    assert np.mean(widths) < 0.7


def test_full_agreement_is_not_certain() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 5, "b": ["x", "y"] * 5})
    row = pe.agreement(frame, raters=["a", "b"]).summary.row(3, named=True)
    assert row["value"] == 1.0
    assert row["ci_low"] < 0.9


def test_one_and_the_same_rating_has_no_coefficient() -> None:
    result = pe.agreement(pl.DataFrame({"a": [1, 1, 1], "b": [1, 1, 1]}), raters=["a", "b"])
    assert value(result, "agreement") == 1.0
    assert value(result, "krippendorff_alpha") is None
    assert result.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"raters": ["a"]}, "at least two different columns"),
        ({"raters": "ab"}, "at least two different columns"),
        ({"raters": ["a", "z"]}, "there is no column 'z'"),
        ({"raters": ["a", "b"], "level": "ratio"}, "level must be one of"),
        ({"raters": ["a", "t"], "level": "interval"}, "needs numbers"),
        ({"raters": ["n", "b"]}, "at least 2 are needed"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [1, 2], "t": ["x", "y"], "n": [None, None]})
    with pytest.raises((ValueError, pl.exceptions.PolarsError), match=message):
        pe.agreement(frame, **arguments)


def test_it_shows_itself() -> None:
    result = pe.agreement(PUBLISHED, raters=["a", "b", "c", "d"])
    assert "krippendorff_alpha" in repr(result)
    assert "<svg" in result.to_html()
    assert '"pairs"' in result.to_json()


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_scores_are_ratings_too(dtype: pl.DataType, level: str) -> None:
    frame = pl.DataFrame({"a": [0.5, 0.75, 0.25, 0.0], "b": [0.5, 0.5, 0.25, float("nan")]})
    result = pe.agreement(frame.cast(dtype), raters=["a", "b"], level=level)
    assert value(result, "agreement") == pytest.approx(2 / 3)
    assert result.pass_rate.is_empty()
    verdicts = pl.DataFrame({"a": [1.0, 0.0, 1.0, None], "b": [1.0, 0.0, 1.0, 1.0]}, schema=["a", "b"])
    assert pe.agreement(verdicts.cast(dtype), raters=["a", "b"]).pass_rate.height == 2


def test_items_that_were_picked_for_rating_are_noted() -> None:
    rng = np.random.default_rng(0)
    judge = rng.random(400)
    human = pl.Series(rng.random(400) < judge)
    worst, some = pl.Series(judge > np.quantile(judge, 0.25)), pl.Series(np.arange(400) >= 100)
    for picked, noted in ((worst, True), (some, False)):
        frame = pl.DataFrame({"human": human.set(picked, None), "judge": judge > 0.5, "score": judge})
        notes = pe.agreement(frame, raters=["human", "judge"]).notes
        assert any("not a random sample" in note for note in notes) == noted


def test_many_different_scores() -> None:
    rng = np.random.default_rng(4)
    human = rng.random(1_000)
    frame = pl.DataFrame({"human": human, "judge": np.clip(human + rng.normal(0, 0.1, 1_000), 0, 1)})
    result = pe.agreement(frame, raters=["human", "judge"], level="interval")
    first = frame.head(100)
    wanted = krippendorff.alpha(
        reliability_data=first.transpose().to_numpy(), level_of_measurement="interval"
    )
    some = pe.agreement(first, raters=["human", "judge"], level="interval")
    assert value(some, "krippendorff_alpha") == pytest.approx(wanted, abs=1e-9)
    row = result.summary.row(by_predicate=pl.col("statistic") == "krippendorff_alpha", named=True)
    assert 0.93 < row["ci_low"] < row["value"] < row["ci_high"] < 0.97
    # Only equal numbers agree where they are labels, which is hardly what was meant.
    [note] = pe.agreement(frame, raters=["human", "judge"]).notes
    assert "different values" in note
    assert 'level="interval"' in note


def test_the_interval_of_the_share_is_wilsons() -> None:
    from statsmodels.stats.proportion import proportion_confint

    frame = pl.DataFrame({"a": [True] * 60, "b": [True] * 59 + [False]})
    row = pe.agreement(frame, raters=["a", "b"]).summary.row(0, named=True)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        proportion_confint(59, 60, method="wilson"), abs=1e-9
    )


def test_ratings_in_rows() -> None:
    wide = pl.DataFrame(
        {
            "item_id": ["a", "b", "c", "d", "e"] * 2,
            "version": ["v1"] * 5 + ["v2"] * 5,
            "ann": ["pass", "fail", "pass", "pass", None, "fail", "pass", "fail", "pass", "pass"],
            "bob": ["pass", "pass", "pass", None, "fail", "fail", "pass", "fail", "pass", "fail"],
        }
    )
    long = wide.unpivot(
        ["ann", "bob"], index=["item_id", "version"], variable_name="rater", value_name="label"
    )
    long = long.with_columns(ts=pl.lit(2), label=pl.col("label").fill_null("unsure"))
    # An earlier rating of the same answer, later in the file, does not count.
    early = long.head(3).with_columns(label=pl.lit("fail"), ts=pl.lit(1))
    found = pe.agreement(pl.concat([long, early]), rater="rater", label="label")
    expected = pe.agreement(wide, raters=["ann", "bob"])
    assert found.summary.equals(expected.summary)
    assert found.pass_rate.equals(expected.pass_rate)
    assert found.settings["raters"] == ["ann", "bob"]
    order = pe.agreement(long, rater="rater", label="label", raters=["bob", "ann"])
    assert order.settings["raters"] == ["bob", "ann"]
    # Without a time the last row counts.
    last = pe.agreement(pl.concat([early, long]).drop("ts"), rater="rater", label="label")
    assert last.summary.equals(expected.summary)
    with pytest.raises(ValueError, match="belong together"):
        pe.agreement(long, rater="rater")
    with pytest.raises(ValueError, match="'bo' is not in column 'rater'"):
        pe.agreement(long, rater="rater", label="label", raters=["ann", "bo"])
    with pytest.raises(ValueError, match="at least two raters"):
        pe.agreement(long.filter(pl.col("rater") == "ann"), rater="rater", label="label")
