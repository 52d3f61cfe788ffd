"""Not worse than: yes, no, or not known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_evals as pe


def answer(differences: np.ndarray, margin: float | None, **options: object) -> str | None:
    n = len(differences)
    base = np.full(n, 0.5)
    frame = pl.DataFrame(
        {
            "item": list(range(n)) * 2,
            "v": ["a"] * n + ["b"] * n,
            "m_score": np.concatenate([base, base + differences]),
        }
    )
    comparison = pe.compare(frame, version="v", baseline="a", item="item", margin=margin, **options)  # type: ignore[arg-type]
    found: str | None = comparison.summary.filter(pl.col("metric") == "m")["not_worse"].item()
    return found


def test_it_says_yes_no_or_unknown() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.05, 2_000).clip(-0.4, 0.4)
    assert answer(noise, 0.02) == "yes"
    assert answer(noise - 0.05, 0.02) == "no"
    assert answer(noise[:20], 0.02) == "unknown"
    assert answer(noise, None) is None


def test_it_errs_seldom() -> None:
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(200):
        wrong += answer(rng.normal(-0.02, 0.1, 60).clip(-0.5, 0.5), 0.02) == "yes"
    # The true loss is the margin: "yes" is wrong, at most at half of alpha.
    assert wrong <= 200 * 0.025 + 3 * (200 * 0.025) ** 0.5


@pytest.mark.parametrize("margin", [0, -0.1])
def test_a_margin_is_above_0(margin: float) -> None:
    with pytest.raises(ValueError, match="margin must be above 0"):
        answer(np.zeros(3), margin)
