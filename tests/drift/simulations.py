"""
False alarms, coverage and power over thousands of data sets.

Minutes long, so not part of the ordinary tests: `python -m pytest tests/drift/simulations.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_evals as pe
from polars_evals.drift import control

from .frames import label

SETS = 2_000
ALPHA = 0.05


def share(hits: pl.Series) -> float:
    return float(hits.to_numpy().mean())


def at_most(rate: float, sets: int = SETS) -> float:
    """Three binomial standard errors above a rate."""
    return float(rate + 3 * np.sqrt(rate * (1 - rate) / sets))


def pairs(
    rng: np.random.Generator, n: int, shift: float, *, binary: bool, doc: Any = None, apart: bool = False
) -> pl.DataFrame:
    """
    Two versions of n items that differ by `shift` alone, or of n items each where they are `apart`.

    Items of a document share a part of their deviation, in each version another.
    """
    base = rng.beta(5, 2, (2, n)) if apart else np.tile(rng.beta(5, 2, n), (2, 1))
    shared = np.zeros((2, n)) if doc is None else rng.normal(0, 0.1, (2, doc.max() + 1))[:, doc]
    a, b = base + shared + rng.normal(0, 0.1, (2, n)) + [[0.0], [shift]]
    if binary:
        a, b = (a > 0.6).astype(float), (b > 0.6).astype(float)
    frame = pl.DataFrame(
        {"item": np.tile(np.arange(n), 2), "model": ["a"] * n + ["b"] * n, "m_score": np.concatenate([a, b])}
    )
    if doc is not None:
        frame = frame.with_columns(doc=pl.Series(np.tile(doc, 2)))
    return frame.with_columns(label("m_score"))


def rows(
    sets: int, n: int, shift: float, *, binary: bool, documents: int = 0, **options: Any
) -> pl.DataFrame:
    """Summaries of many comparisons."""
    rng = np.random.default_rng(n)
    found = []
    for _ in range(sets):
        doc = rng.integers(0, documents, n) if documents else None
        chosen = {"item": "item", "cluster": "doc" if documents else None} | options
        frame = pairs(rng, n, shift, binary=binary, doc=doc, apart=chosen["item"] is None)
        found.append(pe.compare(frame, version="model", baseline="a", max_flips=0, **chosen).summary)
    return pl.concat(found)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("n", "documents", "options"), [(100, 0, {}), (200, 40, {}), (100, 0, {"item": None})]
)
def test_no_change_raises_few_alarms(n: int, documents: int, options: dict[str, Any], binary: bool) -> None:
    found = rows(SETS, n, 0.0, binary=binary, documents=documents, min_effect=0.0, **options)
    for verdict in ("regressed", "improved"):
        assert share(found["verdict"] == verdict) <= at_most(ALPHA / 2)
    covered = share((found["ci_low"] <= 0) & (found["ci_high"] >= 0))
    assert covered >= 1 - at_most(ALPHA)
    if found["p_permutation"].null_count() == 0:
        assert share(found["p_permutation"] <= ALPHA) <= at_most(ALPHA)
    if not documents:
        # The test of the flips does not know of clusters.
        assert share(found["p_mcnemar"] <= ALPHA) <= at_most(ALPHA)


def test_ignoring_documents_raises_many_alarms() -> None:
    """The reason for `cluster`: without it the same data alarm far too often."""
    found = rows(400, 200, 0.0, binary=False, documents=20, cluster=None, min_effect=0.0)
    assert share(found["verdict"] != "inconclusive") > 3 * ALPHA


def test_a_shift_of_the_mde_is_found_four_times_in_five() -> None:
    mde = rows(50, 200, 0.0, binary=False)["mde"].to_numpy().mean()
    found = rows(SETS, 200, -float(mde), binary=False, min_effect=0.0)
    assert abs(share(found["verdict"] == "regressed") - 0.8) < 0.04


def test_a_search_over_noise_lists_nothing() -> None:
    rng = np.random.default_rng(0)
    listed, sets = 0, 500
    for i in range(sets):
        frame = pairs(rng, 400, 0.0, binary=i % 2 == 0)
        noise = {f"c{k}": pl.Series(np.tile(rng.integers(0, 6, 400), 2)) for k in range(5)}
        comparison = pe.compare(
            frame.with_columns(**noise), version="model", baseline="a", item="item", by="auto", max_flips=0
        )
        listed += not comparison.slices.is_empty()
    assert listed / sets <= at_most(ALPHA, sets)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("rows_a_day", "reference"), [(5, 14), (50, 14), (20, 7)])
def test_daily_looks_raise_few_alarms(rows_a_day: int, reference: int, binary: bool) -> None:
    rng = np.random.default_rng(rows_a_day)
    days, alarms = 90, np.zeros(2)
    for _ in range(SETS):
        x = rng.beta(5, 2, (days, rows_a_day))
        if binary:
            x = (x > 0.45).astype(np.float64)
        windows = control.Windows(np.full(days, float(rows_a_day)), x.mean(axis=1), x.var(axis=1, ddof=1))
        known = control.reference_of(windows, np.arange(days) < reference)
        assert known is not None
        alarms += [p[-1] <= ALPHA for p in control.always_valid(windows, known, reference, 0.1)]
    assert (alarms / SETS <= at_most(ALPHA)).all()
