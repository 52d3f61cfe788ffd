"""Laws of `rank`: intervals of all pairs hold at once, and the probability to be the best is right."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtri

import polars_evals as pe

from . import ALPHA, Floats, Places, Rng, group
from .comparing import LARGE, SPREAD, clusters

if TYPE_CHECKING:
    from collections.abc import Callable

RANKING, add = group("Ranking five versions")
VERSIONS = 5


def frame_of(values: Floats, cluster: Places | None = None) -> pl.DataFrame:
    """Make rows of items and versions."""
    n = len(values)
    item = np.arange(n)
    return pl.concat(
        pl.DataFrame({"item": item, "v": f"v{at}", "m_score": values[:, at]}).with_columns(
            **({} if cluster is None else {"cluster": pl.Series(cluster)})
        )
        for at in range(values.shape[1])
    )


def holds(
    rng: Rng, sets: int, *, draw: Callable[[Rng], Floats], true: Floats, cluster: Places | None = None
) -> float:
    """How often the intervals of all pairs hold the truth."""
    found = 0
    for _ in range(sets):
        values = draw(rng)
        options: dict[str, Any] = {} if cluster is None else {"cluster": "cluster"}
        pairs = pe.rank(frame_of(values, cluster), version="v", item="item", alpha=ALPHA, **options).pairs
        apart = [true[b] - true[a] for a, b in combinations(range(VERSIONS), 2)]
        inside = pairs.with_columns(true=pl.Series(apart)).select(
            pl.col("true").is_between("ci_low", "ci_high").all()
        )
        found += inside.item()
    return found / sets


def in_clusters(sizes: Places, within: float) -> Callable[[Rng], Floats]:
    doc = clusters(sizes)
    level = LEVELS[None, :]
    return lambda rng: (
        level
        + (rng.normal(0, 0.1, (len(sizes), VERSIONS))[doc] + rng.normal(0, within, (len(doc), VERSIONS)))
    )


LEVELS = 0.5 + 0.01 * np.arange(VERSIONS)
KINDS = {
    "clusters of 1 to 40 items": SPREAD,
    "one cluster with 80% of the items": LARGE,
    "6 clusters of 10 items": np.full(6, 10),
    "40 clusters of 5 items": np.full(40, 5),
}
for _name, _sizes in KINDS.items():
    for _within, _words in ((0.1, ""), (0.02, ", alike within")):
        add(
            f"{_name}{_words}: all pair intervals hold", holds, low=0.93,
            was="" if "of 10" in _name or "of 5" in _name else "14–75%",
            draw=in_clusters(_sizes, _within), true=LEVELS, cluster=clusters(_sizes),
        )  # fmt: skip


def passing(rates: Floats, n: int) -> Callable[[Rng], Floats]:
    return lambda rng: (rng.random((n, VERSIONS)) < rates).astype(float)


for _rates in ((0.98, 0.985, 0.99, 0.99, 0.995), (0.995, 0.995, 0.998, 0.998, 0.999), (0.7,) * 5):
    for _n in (50, 200):
        add(
            f"pass rates {_rates[0]:.1%} to {_rates[-1]:.1%}, n = {_n}: all pair intervals hold", holds,
            low=0.93, was="82–87%" if _rates[0] > 0.9 else "", draw=passing(np.array(_rates), _n),
            true=np.array(_rates),
        )  # fmt: skip
add(
    "scores near 1 (beta), n = 200: all pair intervals hold", holds, low=0.93,
    draw=lambda rng: rng.beta(9.7, 0.3, (200, VERSIONS)), true=np.full(VERSIONS, 0.97),
)  # fmt: skip


def off_by(rng: Rng, sets: int, *, step: float) -> float:
    """How far the leader's `p_best` is from the share of sets in which it truly is the best."""
    true, said, right = 0.7 + step * np.arange(VERSIONS), [], []
    for _ in range(sets):
        hard = rng.normal(0, 1, (200, 1)) * np.sqrt(0.5)
        values = (hard + np.sqrt(0.5) * rng.normal(0, 1, (200, VERSIONS)) < ndtri(true)).astype(float)
        top = pe.rank(frame_of(values), version="v", item="item").summary.sort("p_best").row(-1, named=True)
        said.append(top["p_best"])
        right.append(float(top["version"] == f"v{VERSIONS - 1}"))
    return abs(float(np.mean(said) - np.mean(right)))


for _step in (0.01, 0.0125, 0.02):
    add(
        f"versions {100 * _step:g} points apart, n = 200: the leader's `p_best` is off by", off_by, high=0.1,
        was="29%", step=_step,
    )  # fmt: skip


def off_in_thirds(rng: Rng, sets: int, *, versions: int, passes: bool) -> float:
    """
    How far `p_best` of the leader is from the truth where true means are random, in its worst third.

    The true means of a set are as far apart as a fifth to five standard errors of a mean. In the third of
    sets with the lowest `p_best` of the leader, the middle and the highest, it is the best as often as
    that says.
    """
    n, said, right = 200, [], []
    for _ in range(sets):
        apart = np.exp(rng.uniform(np.log(0.2), np.log(5.0))) * rng.normal(0, 1, versions)
        hard, noise = rng.normal(0, np.sqrt(0.5), (n, 1)), rng.normal(0, np.sqrt(0.5), (n, versions))
        if passes:
            true = np.clip(0.7 + 0.027 * apart, 0.01, 0.99)
            values = (hard + noise < ndtri(true)).astype(float)
        else:
            true = 0.5 + np.sqrt(0.5 / n) * apart
            values = true + hard + noise
        top = pe.rank(frame_of(values), version="v", item="item").summary.sort("p_best").row(-1, named=True)
        said.append(top["p_best"])
        right.append(float(top["version"] == f"v{int(true.argmax())}"))
    thirds = np.array_split(np.argsort(said), 3)
    return max(abs(float(np.mean(np.array(said)[third] - np.array(right)[third]))) for third in thirds)


for _versions, _passes in ((5, True), (3, False), (10, False)):
    add(
        f"{_versions} versions with random true {'pass rates' if _passes else 'means'}: the leader's "
        "`p_best` is off by, in its worst third", off_in_thirds, high=0.1, versions=_versions, passes=_passes,
    )  # fmt: skip

LAWS = RANKING
