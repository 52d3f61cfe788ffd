"""Laws of `plan`: at the planned number of items `compare` finds the change that was planned for."""

from __future__ import annotations

from typing import Any

import numpy as np

import polars_evals as pe

from . import Rng, group, judged, reports

PLANNING, add = group("Planned, then compared")


def planned(
    rng: Rng, sets: int, *, spread: float, effect: float, cluster_size: int = 1, icc: float = 0.0
) -> float:
    """Scores whose differences have a spread, in clusters or not: how often the loss is `regressed`."""
    options: dict[str, Any] = {} if cluster_size == 1 else {"cluster_size": cluster_size, "icc": icc}
    n = pe.plan(spread=spread, min_effect=effect, **options).items
    doc = np.arange(n) // cluster_size
    before = rng.uniform(0.4, 0.6, (sets, n))
    noise = np.sqrt(1 - icc) * rng.normal(0, 1, (sets, n))
    noise += np.sqrt(icc) * rng.normal(0, 1, (sets, int(doc[-1]) + 1))[:, doc]
    after = before + spread * noise - effect
    more: dict[str, Any] = {} if cluster_size == 1 else {"cluster": doc}
    return reports(judged(before, after, min_effect=effect, **more), "regressed")


def planned_rate(rng: Rng, sets: int, *, loss: float, back: float) -> float:
    """Pass and fail: some items fail that passed before, fewer the other way round."""
    effect = loss - back
    n = pe.plan(spread=float(np.sqrt(loss + back - effect**2)), min_effect=effect).items
    share = rng.random((sets, n))
    before, after = np.where(share < back, 0.0, 1.0), np.where(share > 1 - loss, 0.0, 1.0)
    return reports(judged(before, after, threshold=0.5, min_effect=effect), "regressed")


for _spread, _effect in ((0.3, 0.05), (0.1, 0.02), (0.2, 0.02)):
    add(
        f"scores, spread {_spread:g}: a loss of min_effect = {_effect:g} is `regressed`", planned, low=0.75,
        was="47–53%", spread=_spread, effect=_effect,
    )  # fmt: skip
add(
    "scores in clusters of 5 (icc 0.3): a loss of min_effect = 0.05 is `regressed`", planned, low=0.75,
    was="47–53%", spread=0.3, effect=0.05, cluster_size=5, icc=0.3,
)  # fmt: skip
for _loss, _back in ((0.08, 0.03), (0.06, 0.02)):
    add(
        f"pass and fail, {_loss:.0%} lost and {_back:.0%} won: `regressed`", planned_rate, low=0.75,
        was="47–53%", loss=_loss, back=_back,
    )  # fmt: skip

LAWS = PLANNING
