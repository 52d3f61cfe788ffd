"""The functions behind the verdicts, against matrices, enumeration, statsmodels and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from polars_evals.drift.inference import clusters as robust
from polars_evals.drift.inference import intervals as bounded
from polars_evals.drift.inference import sequential

Floats = npt.NDArray[np.float64]


def grouped(values: Floats, clusters: npt.NDArray[Any]) -> tuple[Floats, ...]:
    """Sizes of clusters and their totals."""
    _, codes = np.unique(clusters, return_inverse=True)
    return np.bincount(codes).astype(np.float64), np.bincount(codes, values).astype(np.float64)


def cr2(design: Floats, y: Floats, clusters: npt.NDArray[Any], contrast: Floats, within: Floats) -> Any:
    """CR2 and Bell and McCaffrey's degrees, as matrices; `within` is the working covariance of the rows."""
    inverse = np.linalg.inv(design.T @ design)
    maker = np.eye(len(y)) - design @ inverse @ design.T
    residual, variance, parts = maker @ y, 0.0, []
    for one in np.unique(clusters):
        inside = clusters == one
        values, vectors = np.linalg.eigh(maker[np.ix_(inside, inside)])
        row = contrast @ inverse @ design[inside].T @ (vectors / np.sqrt(values)) @ vectors.T
        variance += float(row @ residual[inside]) ** 2
        whole = np.zeros(len(y))
        whole[inside] = row
        parts.append(maker @ whole)
    moments = np.array(parts) @ within @ np.array(parts).T
    return variance, np.trace(moments), np.trace(moments) ** 2 / np.trace(moments @ moments)


def test_clusters_of_any_size_against_matrices() -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(8), [1, 2, 3, 5, 8, 1, 2, 20])
    y = rng.normal(size=len(clusters))
    ones = np.ones((len(y), 1))
    alike = (clusters[:, None] == clusters).astype(float)
    models = []
    for within in (np.eye(len(y)), alike):
        variance, expected, df = cr2(ones, y, clusters, np.ones(1), within)
        models.append((variance * within.sum() / len(y) ** 2 / expected, df))
    widest = max(models, key=lambda model: stats.t.isf(0.025, model[1]) * np.sqrt(model[0]))
    found = robust.one_mean(*grouped(y, clusters))
    assert found[:2] == pytest.approx(widest, rel=1e-9)
    totals = np.bincount(clusters, y - y.mean())
    assert found.skew == pytest.approx((totals**3).sum() / (totals**2).sum() ** 1.5, rel=1e-9)


def test_equal_clusters_are_a_t_test_of_their_means() -> None:
    y, clusters = np.random.default_rng(1).normal(size=60), np.repeat(np.arange(12), 5)
    found = robust.one_mean(*grouped(y, clusters))
    means = y.reshape(12, 5).mean(axis=1)
    assert np.sqrt(found.variance) == pytest.approx(stats.sem(means), rel=1e-12)
    assert (found.df, found.effective) == pytest.approx((11, 12))


def test_clusters_that_both_versions_share_against_matrices() -> None:
    rng = np.random.default_rng(2)
    arm, clusters, y = np.repeat([0, 1], [30, 25]), rng.integers(0, 9, 55), rng.normal(size=55)
    design = np.stack([1.0 - arm, arm], axis=1)
    variance, _, df = cr2(design, y, clusters, np.array([-1.0, 1.0]), np.eye(55))
    size = [np.bincount(clusters[arm == one], minlength=9).astype(float) for one in (0, 1)]
    total = [np.bincount(clusters[arm == one], y[arm == one], minlength=9).astype(float) for one in (0, 1)]
    found = robust.two_means((size[0], size[1]), (total[0], total[1]))
    assert found[:2] == pytest.approx((variance, df), rel=1e-9)


def test_tango_is_where_the_score_test_rejects() -> None:
    low, high = bounded.tango(np.array([12.0, 0.0]), np.array([2.0, 0.0]), np.array([44.0, 30.0]), 0.05)
    score = stats.norm.isf(0.025) ** 2
    assert (low[1], high[1]) == pytest.approx((-score / (30 + score), score / (30 + score)), abs=1e-9)
    for delta in (low[0], high[0]):
        assert abs(z_of(12, 2, 44, delta)) == pytest.approx(stats.norm.isf(0.025), abs=1e-6)


def z_of(failing: int, passing: int, n: int, delta: float) -> float:
    """The score statistic, with the share of newly failing items found by maximising the likelihood."""
    from scipy.optimize import minimize_scalar

    def loss(q: float) -> float:
        shares = np.array([q, q + delta, 1 - 2 * q - delta])
        return -float(np.array([failing, passing, n - failing - passing]) @ np.log(shares))

    low, high = max(0.0, -delta), (1 - delta) / 2
    best = minimize_scalar(loss, bounds=(low + 1e-9, high - 1e-9), method="bounded", options={"xatol": 1e-12})
    return float((passing - failing - n * delta) / np.sqrt(n * (2 * best.x + delta - delta**2)))


@pytest.mark.parametrize("n", [20, 50, 100])
@pytest.mark.parametrize("loss", [0.05, 0.1, 0.2])
def test_a_loss_is_seldom_called_no_change(n: int, loss: float) -> None:
    """Both intervals, exactly, over every possible number of flips."""
    grid = np.array([(f, p) for f in range(n + 1) for p in range(n + 1 - f)], dtype=float)
    failing, passing = grid.T
    rate = (passing - failing) / n
    se = np.sqrt(((failing + passing) / n - rate**2) / (n - 1))
    many = np.full(len(grid), float(n))
    intervals = [
        bounded.tango(failing, passing, many, 0.05),
        bounded.score_interval(
            rate, se, np.full(len(grid), stats.t.isf(0.025, n - 1)), many, np.ones(len(grid))
        ),
    ]
    for back in (0.0, 0.02, 0.1):
        chance = stats.multinomial.pmf(
            np.c_[grid, n - grid.sum(axis=1)], n, [loss + back, back, 1 - loss - 2 * back]
        )
        for low, high in intervals:
            assert chance[(low >= -loss) & (high <= loss)].sum() <= 0.026


def test_what_is_constant_is_the_sign_test_or_less() -> None:
    n = np.array([2.0, 6.0, 30.0, 30.0, 30.0])
    change = np.array([-1.0, 1.0, 0.02, 0.02, 0.0])
    fall = np.array([1.0, 1.0, 0.6, np.nan, 0.6])
    p = bounded.constant_p(change, n, fall, fall)
    assert p == pytest.approx([0.5, 2**-5, 2 * (1 + 0.02 / 0.6) ** -30, 2**-29, 1.0])


@pytest.mark.parametrize("df", [4, 9, 29, 99, 20_000])
def test_the_detectable_change_against_statsmodels(df: int) -> None:
    expected = TTestPower().solve_power(nobs=df + 1, alpha=0.05, power=0.8) * np.sqrt(df + 1)
    found = bounded.detectable(np.ones(1), np.array([float(df)]), 0.05)
    assert found[0] == pytest.approx(expected, rel=1e-4)


def test_what_is_needed_shows_no_change_four_times_in_five() -> None:
    rng = np.random.default_rng(3)
    for spread, reach in ((0.05, 1.0), (0.2, np.nan)):
        args = np.array([spread]), np.array([50.0]), np.array([49.0]), np.array([reach])
        n = int(bounded.needed(*args, alpha=0.05, min_effect=0.02)[0])
        d = rng.normal(0, spread, (4_000, n))
        se = d.std(axis=1, ddof=1) / np.sqrt(n)
        many, quantile = np.full(4_000, float(n)), np.full(4_000, stats.t.isf(0.025, n - 1))
        low, high = bounded.score_interval(
            d.mean(axis=1), se, quantile, many, np.full(4_000, np.nan_to_num(reach))
        )
        assert 0.77 <= ((low >= -0.02) & (high <= 0.02)).mean() <= 0.83


def test_the_sequential_test_is_a_ratio_of_integrals() -> None:
    """Against the definition: t under a normal mixture of effects, over t without an effect."""
    from scipy.integrate import quad

    n, t = 12, 2.7
    for scale in (0.04, 1.0):
        sd = np.sqrt(n * scale)
        top, _ = quad(
            lambda e, sd=sd: stats.nct.pdf(t, n - 1, e) * stats.norm.pdf(e, scale=sd), -30, 30, limit=200
        )
        expected = np.log(top / stats.t.pdf(t, n - 1))
        found = sequential.log_evidence(np.array([t]), np.array([n - 1.0]), np.array([float(n)]), scale)
        assert found[0] == pytest.approx(expected, rel=1e-6)


def test_the_sequential_interval_is_where_the_sequential_test_rejects() -> None:
    se, df, n = np.full(3, 0.02), np.array([9.0, 99.0, 999.0]), np.array([10.0, 100.0, 1000.0])
    low, high = sequential.sequential_interval(np.zeros(3), se, df, n, alpha=0.05)
    assert np.isinf(low[0])
    assert sequential.sequential_p(high[1:] / se[1:], df[1:], n[1:]) == pytest.approx([0.05, 0.05])


def test_a_sequential_test_may_be_asked_every_day() -> None:
    rng = np.random.default_rng(4)
    d = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=(1_000, 60 * 20))
    n = np.arange(20, 1_201, 20)
    total, squares = d.cumsum(axis=1)[:, n - 1], (d**2).cumsum(axis=1)[:, n - 1]
    se = np.sqrt(np.maximum(squares - total**2 / n, 1e-12) / (n - 1) / n)
    p = sequential.sequential_p(total / n / se, (n - 1).astype(float), n.astype(float))
    assert (p.min(axis=1) <= 0.05).mean() <= 0.05
    fixed = 2 * stats.t.sf(np.abs(total / n / se), n - 1)
    assert (fixed.min(axis=1) <= 0.05).mean() > 0.15
