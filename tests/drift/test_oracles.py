"""Every number against scipy or statsmodels."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint, proportions_ztest
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

import polars_evals as pe
from polars_evals.drift.inference.clusters import one_mean
from polars_evals.drift.inference.multiple import holm
from polars_evals.drift.inference.permutation import flip_signs
from polars_evals.drift.inference.shape import ks, psi

from .frames import THRESHOLD, drawn, versions
from .test_laws import cr2, grouped

if TYPE_CHECKING:
    import polars as pl

EXACT = pytest.approx


def close(value: float) -> object:
    return EXACT(value, rel=1e-9, abs=1e-12)


@pytest.fixture(name="scores", params=[0, 1, 2])
def _scores(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    return drawn(150, shift=-0.03, seed=request.param)


def summary(frame: pl.DataFrame, **options: object) -> dict[str, object]:
    comparison = pe.compare(frame, version="model", baseline="a", **options)  # type: ignore[arg-type]
    return comparison.summary.row(0, named=True)


def test_paired_t(scores: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = scores
    row = summary(versions({"a": a, "b": b}), item="case_id")
    expected = stats.ttest_rel(b, a)
    interval = expected.confidence_interval(0.95)
    assert row["n"] == 150
    assert row["paired"] is True
    assert row["p_value"] == close(expected.pvalue)
    assert (row["ci_low"], row["ci_high"]) == (close(interval.low), close(interval.high))
    assert row["difference"] == close((b - a).mean())
    assert row["se"] == close(stats.sem(b - a))
    assert row["correlation"] == close(stats.pearsonr(a, b).statistic)
    assert (row["baseline_mean"], row["candidate_mean"]) == (close(a.mean()), close(b.mean()))


def test_clustered_t(scores: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = scores
    cluster = np.random.default_rng(5).integers(0, 23, len(a))
    row = summary(versions({"a": a, "b": b}, doc=cluster), item="case_id", cluster="doc")
    found = one_mean(*grouped(b - a, cluster))
    se = np.sqrt(found.variance)
    assert row["clusters"] == len(set(cluster.tolist()))
    assert row["se"] == close(se)
    assert row["p_value"] == close(2 * stats.t.sf(abs((b - a).mean()) / se, found.df))
    half = stats.t.isf(0.025, found.df) * se
    assert [row["ci_low"], row["ci_high"]] == [close((b - a).mean() + sign * half) for sign in (-1, 1)]


def test_clusters_of_one_size(scores: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = scores
    cluster = np.random.default_rng(5).permutation(np.repeat(np.arange(25), 6))
    row = summary(versions({"a": a, "b": b}, doc=cluster), item="case_id", cluster="doc")
    fit = sm.OLS(b - a, np.ones(len(a))).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)
    assert row["se"] == close(fit.bse[0])
    assert row["p_value"] == close(fit.pvalues[0])
    assert [row["ci_low"], row["ci_high"]] == [close(x) for x in fit.conf_int(0.05)[0]]


def test_unpaired_welch(scores: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = scores[0], scores[1][:90]
    row = summary(versions({"a": a, "b": b}))
    expected = stats.ttest_ind(b, a, equal_var=False)
    low, high = CompareMeans(DescrStatsW(b), DescrStatsW(a)).tconfint_diff(0.05, usevar="unequal")
    assert row["paired"] is False
    assert (row["n"], row["n_baseline_only"], row["n_candidate_only"]) == (240, 150, 90)
    assert row["p_value"] == close(expected.pvalue)
    assert (row["ci_low"], row["ci_high"]) == (close(low), close(high))
    assert (row["correlation"], row["newly_failing"], row["p_permutation"]) == (None, None, None)
    passed = [(x >= THRESHOLD).sum() for x in (a, b)]
    assert row["p_mcnemar"] == close(proportions_ztest(passed, [150, 90])[1])


def test_unpaired_clusters_count_for_both_versions(scores: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = scores
    cluster = np.random.default_rng(6).integers(0, 15, len(a))
    row = summary(versions({"a": a, "b": b}, doc=cluster), cluster="doc")
    arm = np.repeat([0, 1], len(a))
    design = np.stack([1.0 - arm, arm], axis=1)
    both, twice = np.concatenate([a, b]), np.concatenate([cluster, cluster])
    variance, _, df = cr2(design, both, twice, np.array([-1.0, 1.0]), np.eye(len(both)))
    assert row["clusters"] == 30
    assert row["se"] == close(np.sqrt(variance))
    assert row["p_value"] == close(2 * stats.t.sf(abs(row["difference"]) / row["se"], df))  # type: ignore[arg-type]
    # What clusters share moves both means, and hardly their difference.
    apart = [
        sm.OLS(x, np.ones(len(x))).fit(cov_type="cluster", cov_kwds={"groups": cluster}).bse[0] ** 2
        for x in (a, b)
    ]
    assert variance < sum(apart)


def test_flips_and_pass_rates(scores: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = scores
    comparison = pe.compare(versions({"a": a, "b": b}), version="model", baseline="a", item="case_id")
    row = comparison.summary.row(0, named=True)
    before, after = a >= THRESHOLD, b >= THRESHOLD
    table = [[(before == x)[after == y].sum() for y in (True, False)] for x in (True, False)]
    assert (row["newly_failing"], row["newly_passing"]) == (table[0][1], table[1][0])
    assert row["p_mcnemar"] == close(mcnemar(table, exact=True).pvalue)
    assert row["pass_rate_difference"] == close(after.mean() - before.mean())
    for rates, passed in zip(comparison.pass_rates.iter_rows(named=True), (before, after), strict=True):
        low, high = proportion_confint(passed.sum(), len(passed), alpha=0.05, method="wilson")
        assert (rates["pass_rate"], rates["ci_low"], rates["ci_high"]) == (
            close(passed.mean()),
            close(low),
            close(high),
        )


def test_shape_uses_all_rows(scores: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = scores[0], scores[1][:90]
    row = summary(versions({"a": a, "b": b}), item="case_id")
    assert row["n"] == 90
    assert row["ks"] == close(stats.ks_2samp(a, b).statistic)
    assert row["psi"] == close(psi(np.sort(a), np.sort(b))[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_ks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (np.sort(np.round(rng.random(rng.integers(1, 40)), 1)) for _ in range(2))
    assert ks(a, b) == close(stats.ks_2samp(a, b).statistic)


def test_psi_without_ties_is_the_classic_one() -> None:
    rng = np.random.default_rng(0)
    a, b = np.sort(rng.random(1000)), np.sort(rng.random(700) ** 1.3)
    edges = np.quantile(a, np.arange(1, 10) / 10, method="inverted_cdf")
    share_a, share_b = (np.bincount(np.searchsorted(edges, x), minlength=10) / len(x) for x in (a, b))
    assert psi(a, b)[0] == close(((share_b - share_a) * np.log(share_b / share_a)).sum())


@pytest.mark.parametrize(("baseline", "candidate"), [([1.0] * 50, [0.5] * 50), ([0.0] * 50, [0.5] * 50)])
def test_psi_sees_a_constant_move(baseline: list[float], candidate: list[float]) -> None:
    moved = psi(np.array(baseline), np.array(candidate))[0]
    assert moved is not None
    assert moved > 1
    assert psi(np.array(baseline), np.array(baseline))[0] == 0


def test_q_values_are_over_summary_and_over_slices_with_half_of_alpha_each() -> None:
    a, b = drawn(300, shift=-0.01, seed=3)
    c = np.clip(a + 0.02, 0, 1)
    topic = np.random.default_rng(1).choice(["x", "y", "z"], 300)
    frame = versions({"a": a, "b": b, "c": c}, topic=topic)
    comparison = pe.compare(frame, version="model", baseline="a", item="case_id", by=["topic"])
    for family, count in ((comparison.summary, 2), (comparison.slices, 6)):
        p, q = [], []
        for prefix in ("", "pass_"):
            for row in family.iter_rows(named=True):
                # What is too small to be found is left out.
                if row[f"{prefix}q_value"] is not None:
                    shuffled = row[f"{prefix}p_permutation"]
                    p.append(max(row[f"{prefix}p_value"], shuffled if shuffled > 1 / 2000 else 0))
                    q.append(row[f"{prefix}q_value"])
        assert 2 * count - 1 <= len(p) <= 2 * count
        # Skewness may make a p-value a little larger than that of the t test.
        expected = np.minimum(2 * multipletests(p, method="fdr_bh")[1], 1)
        assert all(found >= wanted - 1e-12 for found, wanted in zip(q, expected, strict=True))
        assert q == [pytest.approx(x, rel=0.3, abs=1e-6) for x in expected]


def test_holm_is_the_step_down_of_statsmodels() -> None:
    p = np.array([0.01, 0.04, np.nan, 0.03, 0.005, 0.5])
    expected = multipletests(p[~np.isnan(p)], method="holm")[1]
    found = holm(p)
    assert np.isnan(found[2])
    np.testing.assert_allclose(found[~np.isnan(p)], expected)
    assert np.isnan(holm(np.array([np.nan]))).all()


def test_power_columns() -> None:
    a, b = drawn(100, seed=4)
    row = summary(versions({"a": a, "b": b}), item="case_id", min_effect=0.02, alpha=0.1)
    effect = TTestPower().solve_power(nobs=100, alpha=0.1, power=0.8)
    assert row["mde"] == pytest.approx(effect * (b - a).std(ddof=1), rel=1e-4)
    # At this number an unchanged version is shown to be one four times in five, pass rate included.
    assert row["n_needed"] > 100 * (row["mde"] / 0.02) ** 2  # type: ignore[operator]


def test_sign_flip_equals_enumeration() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        d = np.round(rng.normal(0.1, 0.3, 10), 2)
        sums = np.array([np.dot(signs, d) for signs in product((-1, 1), repeat=10)])
        exact = (np.abs(sums) > abs(d.sum()) + 1e-9).mean()
        exact += (np.abs(np.abs(sums) - abs(d.sum())) <= 1e-9).mean() / 2
        assert flip_signs(d, seed=0) == pytest.approx(exact)
        # The same again among pairs that cancel out, which are too many to try them all.
        many = np.concatenate([d, [1e-11] * 10])
        drawn_p = flip_signs(many, seed=0)
        assert drawn_p is not None
        assert abs(drawn_p - exact) < 4 * np.sqrt(exact * (1 - exact) / 2000) + 0.001


def test_sign_flip_of_many_units_equals_scipy() -> None:
    d = np.random.default_rng(3).normal(0.02, 0.3, 1500)
    expected = stats.permutation_test(
        (d,), np.sum, permutation_type="samples", n_resamples=4000, rng=1
    ).pvalue
    p = flip_signs(d, seed=0)
    assert p is not None
    assert abs(p - expected) < 4 * np.sqrt(expected * (1 - expected) * (1 / 2000 + 1 / 4000))


def test_sign_flip_ignores_order_and_repeats_itself() -> None:
    d = np.round(np.random.default_rng(4).normal(0.05, 0.2, 120), 2)
    once = flip_signs(d, seed=7)
    assert once == flip_signs(d[::-1], seed=7)
    assert once == flip_signs(d, seed=7)
    assert flip_signs(np.zeros(5), seed=0) == 1.0
    assert flip_signs(np.array([0.3]), seed=0) is None
