"""Sample sizes: against statsmodels, and by simulation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.power import TTestPower

import polars_evals as pe


@pytest.mark.parametrize("effect", [0.005, 0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.95), (0.1, 0.5)])
def test_it_is_the_paired_t_tests_sample_size(effect: float, alpha: float, power: float) -> None:
    wanted = TTestPower().solve_power(effect / 0.3, power=power, alpha=alpha)
    planned = pe.plan(spread=0.3, min_effect=effect, alpha=alpha, power=power).items
    assert abs(planned - np.ceil(wanted)) <= 1


def test_clusters_multiply_and_runs_divide() -> None:
    alone = pe.plan(spread=0.3, min_effect=0.02).items
    clustered = pe.plan(spread=0.3, min_effect=0.02, cluster_size=5, icc=0.2).items
    assert clustered == pytest.approx(1.8 * alone, rel=0.01)
    repeated = pe.plan(spread=0.3, min_effect=0.02, runs=4, run_share=0.5)
    assert repeated.items == pytest.approx((0.5 + 0.5 / 4) * alone, rel=0.01)
    assert repeated.runs == 4
    assert repeated.summary["answers"][0] == 8 * repeated.items


def pilot(rng: np.random.Generator, n: int, runs: int) -> pl.DataFrame:
    """Return two versions with a spread of 0.2 between items and 0.1 from run to run."""
    items = np.repeat(np.arange(n), runs)
    own = rng.normal(0, 0.2, n)[items]
    return pl.concat(
        pl.DataFrame({"item": items, "v": name, "m_score": base + side * own + rng.normal(0, 0.1, n * runs)})
        for name, side, base in (("a", 0, 0.5), ("b", 1, 0.5))
    )


def test_a_pilot_tells_the_spread_and_what_runs_bring() -> None:
    plan = pe.plan(pilot(np.random.default_rng(0), 2_000, 3), version="v", item="item", min_effect=0.02)
    spread = plan.settings["spreads"]["m"]
    assert spread["total"] == pytest.approx(np.sqrt(0.04 + 0.02), rel=0.05)
    assert spread["run_share"] == pytest.approx(0.02 / 0.06, rel=0.1)
    assert set(plan.summary["runs"]) == {1, 2, 4, 8}


def test_the_planned_items_have_the_promised_power() -> None:
    rng = np.random.default_rng(7)
    n = pe.plan(spread=0.25, min_effect=0.1).items
    differences = rng.normal(0.1, 0.25, (4_000, n))
    t = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / np.sqrt(n))
    from scipy.stats import t as student

    found = (2 * student.sf(np.abs(t), n - 1) <= 0.05).mean()
    assert 0.78 < found < 0.83


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "plan needs spread="),
        ({"spread": -1}, "spread must be a number above 0"),
        ({"spread": 0.3, "min_effect": 0}, "min_effect must be above 0"),
        ({"spread": 0.3, "cluster_size": 4}, "belong together"),
        ({"spread": 0.3, "runs": 3}, "run_share="),
        ({"spread": 0.3, "power": 0.01}, "power must be above alpha"),
        ({"spread": 0.3, "cluster_size": 4, "icc": 2}, "icc must lie between 0 and 1"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pe.plan(**arguments)  # type: ignore[arg-type]


def test_a_pilot_needs_its_columns_and_two_versions() -> None:
    frame = pilot(np.random.default_rng(0), 5, 1)
    with pytest.raises(ValueError, match="needs version= and item="):
        pe.plan(frame)
    with pytest.raises(ValueError, match="has two versions or more"):
        pe.plan(frame.filter(pl.col("v") == "a"), version="v", item="item")
    with pytest.raises(ValueError, match="give the pilot or the numbers"):
        pe.plan(frame, version="v", item="item", spread=0.3)


def test_a_pilot_of_three_versions_needs_a_baseline() -> None:
    frame = pilot(np.random.default_rng(0), 300, 1)
    wide = frame.filter(pl.col("v") == "b").with_columns(
        v=pl.lit("c"), m_score=0.5 + 3 * (pl.col("m_score") - 0.5)
    )
    three = pl.concat([frame, wide])
    with pytest.raises(ValueError, match="a pilot of 3 versions needs baseline="):
        pe.plan(three, version="v", item="item")
    plan = pe.plan(pilot=three, version="v", item="item", baseline="a")
    assert (
        plan.items == pe.plan(three.filter(pl.col("v") != "b"), version="v", item="item", baseline="a").items
    )
    assert plan.notes == ("m: planned for c, whose differences from a vary most",)
    with pytest.raises(ValueError, match="baseline 'd' is not in column 'v'"):
        pe.plan(three, version="v", item="item", baseline="d")


def test_it_shows_itself() -> None:
    plan = pe.plan(spread=0.3)
    assert "1,768 items" in str(plan).replace("\n", " ")
    assert "<svg" in plan.to_html()
    assert '"summary"' in plan.to_json()
