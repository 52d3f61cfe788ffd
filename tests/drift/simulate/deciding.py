"""Laws of decisions: verdicts of rows and comparisons, what is ruled out, and what slices and plans cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from . import ALPHA, Floats, Places, Rng, compared, group, reports
from .comparing import SPREAD, clusters

DECISIONS, add = group("Decisions: what a comparison says of a change, and of none")
SLICES = 8


def ordinal(rng: Rng, sets: int, n: int, shift: float = 0.0) -> tuple[Floats, Floats]:
    """Draw grades from 1 to 5 as a judge gives them, on [0, 1]; some items are easier than others."""
    ease = rng.normal(0.6, 0.8, (sets, n))
    before, after = (ease + move + rng.normal(0, 0.7, (sets, n)) for move in (0.0, shift))
    grades = [np.clip(np.round(2 + 1.2 * one), 0, 4) / 4 for one in (before, after)]
    return grades[0], grades[1]


def overlap(rng: Rng, sets: int, n: int, shift: float = 0.0) -> tuple[Floats, Floats]:
    """Draw scores as ROUGE gives them: skewed, with some zeros."""
    level = rng.beta(1.5, 3.0, (sets, n))
    before, after = (
        np.where(
            rng.random((sets, n)) < 0.05, 0.0, np.clip(level + move + rng.normal(0, 0.12, (sets, n)), 0, 1)
        )
        for move in (0.0, shift)
    )
    return before, after


def flips(rng: Rng, sets: int, n: int, shift: float = 0.0) -> tuple[Floats, Floats]:
    """Draw right and wrong answers."""
    ease = rng.normal(0, 1, (sets, n))
    before, after = (
        (ease + move + rng.normal(0, 1, (sets, n)) > -0.7).astype(np.float64) for move in (0.0, shift)
    )
    return before, after


KINDS = {"grades": (ordinal, 0.5), "overlap": (overlap, 0.3), "right or wrong": (flips, 0.5)}


def called(rng: Rng, sets: int, *, kind: str, n: int, shift: float, verdict: str, slices: int = 0) -> float:
    """Return how often a comparison has a verdict, of scores and labels, with slices or without."""
    draw, threshold = KINDS[kind]
    before, after = draw(rng, sets, n, shift)
    places = np.arange(n) % slices if slices else None
    return compared(before, after, threshold=threshold, slices=places).share(verdict)


def sliced_power(rng: Rng, sets: int, *, kind: str, n: int, shift: float) -> float:
    """Return the power for the overall change that is left where slices are asked for, of all there was."""
    draw, threshold = KINDS[kind]
    before, after = draw(rng, sets, n, shift)
    alone = compared(before, after, threshold=threshold)
    with_slices = compared(before, after, threshold=threshold, slices=np.arange(n) % SLICES)
    whole = [one.rows.filter(one.rows["slice"].is_null()) for one in (alone, with_slices)]
    found = [reports(rows, "regressed", "improved") for rows in whole]
    return found[1] / found[0]


def many_metrics(rng: Rng, sets: int, *, better: int) -> float:
    """Return how often a candidate that got nowhere worse is called `regressed`: 20 metrics, some better."""
    before, after = {}, {}
    for number in range(20):
        ease = rng.beta(4, 2, (sets, 100))
        shift = 0.15 if number < better else 0.0
        before[f"m{number}"], after[f"m{number}"] = (
            np.clip(ease + move + rng.normal(0, 0.15, (sets, 100)), 0, 1) for move in (0.0, shift)
        )
    return compared(before, after, min_effect=0.0).share("regressed")


def unseen(rng: Rng, sets: int, *, n: int) -> float:
    """Return how often 30% +0.015 and 1% −0.45, which is no change, is called one."""
    before = rng.uniform(0.5, 0.9, (sets, n))
    moved = rng.choice([0.015, -0.45, 0.0], p=[0.3, 0.01, 0.69], size=(sets, n))
    return compared(before, before + moved, min_effect=0.0).share("regressed", "improved")


def beyond_worst(rng: Rng, sets: int, *, kind: str, n: int, loss: float = 0.0) -> float:
    """Return how often the true loss of mean or pass rate is larger than the worst case."""
    share = rng.random((sets, n))
    true: tuple[float, float | None]
    if kind == "rare":
        before = rng.uniform(0.6, 0.9, (sets, n))
        after, true = np.where(share < loss, before - 0.6, before), (-0.6 * loss, None)
    elif kind == "flips":
        before = np.where(share < 0.1, 0.0, 1.0)
        after, true = np.where(share > 1 - loss, 0.0, before), (-loss, -loss)
    else:
        before = rng.beta(5, 2, (sets, n)) * 0.5 + 0.25
        after, true = before + rng.normal(-loss, 0.1, (sets, n)), (-loss, None)
    rows = compared(before, after, threshold=0.5 if kind == "flips" else None).rows
    missed = rows["worst_case"].to_numpy() > true[0] + 1e-12
    if true[1] is not None:
        missed |= rows["pass_worst_case"].to_numpy() > true[1] + 1e-12
    return float(missed.mean())


def planned(rng: Rng, sets: int, *, n: int, effect: float) -> float:
    """Return how often a true loss of `min_effect` is found where the t test finds it four times in five."""
    sd = effect * np.sqrt(n) / 2.802
    before = rng.uniform(0.4, 0.6, (sets, n))
    after = before + rng.normal(-effect, sd, (sets, n))
    return compared(before, np.clip(after, 0, 1), min_effect=effect).share("regressed")


def small_clusters(rng: Rng, sets: int, *, sizes: Places, loss: float, within: float = 0.1) -> float:
    """Return how often a loss is found with ten clusters of unequal size."""
    doc = clusters(sizes)
    before = rng.uniform(0.6, 0.8, (sets, len(doc)))
    moved = rng.normal(0, 0.1, (sets, len(sizes)))[:, doc] + rng.normal(0, within, (sets, len(doc))) - loss
    found = compared(before, np.clip(before + moved, 0, 1), cluster=doc, min_effect=0.0)
    return found.share("regressed", "improved")


def within_margin(rng: Rng, sets: int, *, n: int, kind: str, sizes: Places | None = None) -> float:
    """Return how often a loss of exactly the margin passes for less, as `not_worse_than` judges it."""
    margin, doc = 0.05, None if sizes is None else clusters(sizes)
    n = n if doc is None else len(doc)
    share = rng.random((sets, n))
    if kind == "rare":
        before = np.full((sets, n), 0.8)
        after = np.where(share < margin / 0.8, 0.0, before)
    elif kind == "flips":
        before = np.where(share < 0.05, 0.0, 1.0)
        after = np.where(share < 0.05, 1.0, np.where(share > 1 - 2 * margin, 0.0, 1.0))
    else:
        before = rng.uniform(0.4, 0.6, (sets, n))
        moved = rng.normal(0, 0.05, (sets, n))
        if sizes is not None:
            moved += rng.normal(0, 0.1, (sets, len(sizes)))[:, doc]
        after = before + moved - margin
    found = compared(before, after, threshold=0.5 if kind == "flips" else None, cluster=doc).components
    shown = (pl.col("sequential_worst_case") > -margin).fill_null(value=False)
    return float(found.group_by("set").agg(shown.all())["sequential_worst_case"].mean())  # type: ignore[arg-type]


TEN = np.array([1, 2, 3, 5, 8, 12, 18, 25, 32, 40])
for _kind, _shift in (("grades", 0.25), ("overlap", 0.05), ("right or wrong", 0.35)):
    add(
        f"{_kind}, n = 200, better: `improved`",
        called,
        low=0.5,
        kind=_kind,
        n=200,
        shift=_shift,
        verdict="improved",
    )
    add(f"{_kind}, n = 200, unchanged: `improved`", called, high=ALPHA, kind=_kind, n=200, shift=0.0,
        verdict="improved")  # fmt: skip
    add(f"{_kind}, n = 400, better, 8 slices: `improved`", called, low=0.5, kind=_kind, n=400, shift=_shift,
        verdict="improved", slices=SLICES)  # fmt: skip
    add(f"{_kind}, n = 400, unchanged, 8 slices: `regressed`", called, high=ALPHA, kind=_kind, n=400,
        shift=0.0, verdict="regressed", slices=SLICES)  # fmt: skip
    # A tenth may be lost, a fifth where the power is below 70%.
    add(f"{_kind}, n = 200: power for the overall change left with 8 slices", sliced_power,
        low=0.8 if _kind == "right or wrong" else 0.9, kind=_kind, n=200, shift=-_shift)  # fmt: skip
add("20 metrics, 10 better, none worse: `regressed`", many_metrics, high=ALPHA, better=10)
add("20 metrics, none changed: `regressed`", many_metrics, high=ALPHA, better=0)
for _n in (30, 100, 300, 1000):
    add(f"30% +0.015 and 1% −0.45, n = {_n}: a change", unseen, high=2 * ALPHA, n=_n)
for _n, _high in ((10, 2 * ALPHA), (30, ALPHA), (200, ALPHA)):
    add(f"2% of items lose 0.6, n = {_n}: more is lost than `worst_case`", beyond_worst, high=_high,
        kind="rare", n=_n, loss=0.02)  # fmt: skip
    add(f"5% of items fail, n = {_n}: more is lost than `worst_case`", beyond_worst, high=_high, kind="flips",
        n=_n, loss=0.05)  # fmt: skip
    add(f"scores, n = {_n}: more is lost than `worst_case`", beyond_worst, high=_high, kind="scores", n=_n)
for _n in (100, 500):
    add(
        f"a true loss of `min_effect` at the planned n = {_n}: `regressed`",
        planned,
        low=0.75,
        n=_n,
        effect=0.02,
    )
for _loss in (0.5, 0.2):
    add(
        f"ten clusters of 1 to 40 items, a loss of {_loss:g}: found",
        small_clusters,
        low=0.85,
        sizes=TEN,
        loss=_loss,
    )
add("ten clusters of 1 to 40 items, none: found", small_clusters, high=1.5 * ALPHA, sizes=TEN, loss=0.0)
add("ten clusters of 1 to 40 items, alike within, none: found", small_clusters, high=1.5 * ALPHA, sizes=TEN,
    loss=0.0, within=0.02)  # fmt: skip
add("clusters of 1 to 40 items, none: found", small_clusters, high=1.5 * ALPHA, sizes=SPREAD, loss=0.0)
for _n in (2, 10, 30, 200):
    for _kind in ("rare", "flips", "scores"):
        add(f"{_kind}, n = {_n}, a loss of the margin: `not_worse_than` passes", within_margin, high=ALPHA,
            kind=_kind, n=_n)  # fmt: skip
for _sizes in (TEN, SPREAD):
    add(f"{len(_sizes)} clusters of 1 to 40 items, a loss of the margin: `not_worse_than` passes",
        within_margin, high=ALPHA, kind="scores", n=0, sizes=_sizes)  # fmt: skip

# What the rules before these gave for the same draws.
BEFORE = {
    "grades, n = 200, better: `improved`": "43.3% (300 sets)",
    "grades, n = 200, unchanged: `improved`": "0.7% (300 sets)",
    "grades, n = 400, better, 8 slices: `improved`": "0.0% (300 sets)",
    "grades, n = 400, unchanged, 8 slices: `regressed`": "2.3% (300 sets)",
    "grades, n = 200: power for the overall change left with 8 slices": "75.0% (300 sets)",
    "overlap, n = 200, better: `improved`": "58.3% (300 sets)",
    "overlap, n = 200, unchanged: `improved`": "1.3% (300 sets)",
    "overlap, n = 400, better, 8 slices: `improved`": "0.0% (300 sets)",
    "overlap, n = 400, unchanged, 8 slices: `regressed`": "2.0% (300 sets)",
    "overlap, n = 200: power for the overall change left with 8 slices": "73.0% (300 sets)",
    "30% +0.015 and 1% −0.45, n = 30: a change": "0.0% (300 sets)",
    "30% +0.015 and 1% −0.45, n = 100: a change": "37.3% (300 sets)",
    "30% +0.015 and 1% −0.45, n = 300: a change": "4.3% (300 sets)",
    "30% +0.015 and 1% −0.45, n = 1000: a change": "1.0% (300 sets)",
    "a true loss of `min_effect` at the planned n = 100: `regressed`": "51.7% (300 sets)",
    "a true loss of `min_effect` at the planned n = 500: `regressed`": "47.0% (300 sets)",
    "ten clusters of 1 to 40 items, a loss of 0.5: found": "91.3% (300 sets)",
    "ten clusters of 1 to 40 items, a loss of 0.2: found": "72.0% (300 sets)",
    "ten clusters of 1 to 40 items, none: found": "0.3% (300 sets)",
    "ten clusters of 1 to 40 items, alike within, none: found": "0.3% (300 sets)",
}
LAWS = [replace(law, before=BEFORE.get(law.name, "")) for law in DECISIONS]
EQUAL, add = group("Decisions: all items changed by the same amount, and rare ones the other way are unseen")


def equal(rng: Rng, sets: int, *, n: int, rise: float, fall: float, of: str) -> float:
    """Return how often all items rose alike and the interval lacks the true mean change, which is 0."""
    level = 1.0 - rise
    fell = rng.random((sets, n)) < rise / (rise + fall)
    rows = compared(np.full((sets, n), level), np.where(fell, level - fall, level + rise)).components
    alike = rows.filter(pl.col("component") == "mean", pl.col("se") == 0, pl.col("difference") > 0)
    # Interval, p-value and verdict agree.
    p = "p_value" if of == "ci" else "p_sequential"
    tested = alike.drop_nulls([p, f"{of}_low"])
    assert ((tested[p] <= ALPHA) == (tested[f"{of}_low"] > 0)).all()
    assert (alike.filter(pl.col("verdict") == "improved")["ci_low"] > 0).all()
    return int((alike[f"{of}_low"] > 0).sum()) / sets


for _n in (10, 30, 100):
    for _of, _word in (("ci", ""), ("sequential", ", for many looks")):
        for _rise, _fall in ((0.02, 0.9), (0.2, 0.7)):
            add(f"+{_rise:g} or −{_fall:g}, n = {_n}: not in the interval{_word}", equal, high=ALPHA, n=_n,
                rise=_rise, fall=_fall, of=_of)  # fmt: skip
RARE, add = group("Decisions: rare opposite changes that are unseen, at every n")


def rare(rng: Rng, sets: int, *, n: int, share: float, fall: float) -> float:
    """Return how often small gains of a third, and as large rare losses in all, are called a change."""
    before = rng.uniform(0.5, 0.9, (sets, n))
    moved = rng.random((sets, n))
    gain = share * fall / (1 / 3)
    after = before + np.where(moved < share, -fall, np.where(moved > 2 / 3, gain, 0.0))
    return compared(before, after, min_effect=0.0).share("regressed", "improved")


for _n in (20, 60, 150, 500):
    for _share, _fall in ((0.02, 0.3), (0.005, 0.45)):
        add(f"{100 * _share:g}% −{_fall:g} and a third up as much in all, n = {_n}: a change", rare,
            high=2 * ALPHA, n=_n, share=_share, fall=_fall)  # fmt: skip
