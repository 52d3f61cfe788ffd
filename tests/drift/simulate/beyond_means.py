"""Laws of aggregates, judges that people correct, adjusted mixes and shrunken slices, through `compare`."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import polars_evals as pe
from polars_evals.drift.aggregates import influence

from . import ALPHA, Floats, Rng, group

AGGREGATES, add = group("Statistics of all items")
TRUTH, add_truth = group("A judge that people correct")
MIX, add_mix = group("Traffic with another mix")
SLICES, add_slices = group("Shrunken slices")

# Shares of classes, and how often each version is right about each of them.
CASES: dict[str, tuple[list[float], list[float], list[float]]] = {
    "two classes": ([0.5, 0.5], [0.8, 0.7], [0.8, 0.7]),
    "five classes": ([0.3, 0.25, 0.2, 0.15, 0.1], [0.8] * 5, [0.7] * 5),
    "four uneven classes": ([0.6, 0.25, 0.1, 0.05], [0.9, 0.8, 0.6, 0.5], [0.9, 0.8, 0.6, 0.5]),
}


def answers(rng: Rng, n: int, case: str) -> tuple[Any, Any, Any]:
    """Draw expected labels and those of two versions that often err on the same items."""
    prior, before, after = CASES[case]
    expected, shared = rng.choice(len(prior), n, p=prior), rng.random(n)

    def given(right: list[float]) -> Any:
        luck = np.where(rng.random(n) < 0.7, shared, rng.random(n))
        other = (expected + rng.integers(1, len(prior), n)) % len(prior)
        return np.where(luck < np.array(right)[expected], expected, other)

    return expected, given(before), given(after)


def two_versions(n: int, **columns: tuple[Any, Any]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {"item": np.arange(n), "model": model} | {name: both[at] for name, both in columns.items()}
        )
        for at, model in enumerate(("a", "b"))
    )


def value(kind: str, expected: Any, output: Any) -> float:
    counts = pl.DataFrame({"expected": expected.astype(str), "output": output.astype(str)}).to_struct("c")
    return influence(kind, counts, np.ones(len(counts)), positive="0").value


def aggregate(rng: Rng, sets: int, *, kind: str, case: str, n: int) -> float:
    """How often the interval of a difference holds it."""
    expected, before, after = answers(rng, 300_000, case)
    true = value(kind, expected, after) - value(kind, expected, before)
    inside = told = 0
    for _ in range(sets):
        expected, before, after = (one.astype(str) for one in answers(rng, n, case))
        frame = two_versions(n, expected=(expected, expected), output=(before, after))
        row = pe.compare(frame, version="model", baseline="a", item="item", aggregates=kind).summary
        if row["ci_low"].item() is not None:
            told += 1
            inside += row["ci_low"].item() <= true <= row["ci_high"].item()
    return inside / told


for _case in CASES:
    for _kind, _n in (("macro_f1", 50), ("mcc", 50), ("weighted_f1", 100), ("cohen_kappa", 100)):
        add(
            f"{_case}, {_kind}, n = {_n}: interval holds it", aggregate, low=0.93, high=0.975, kind=_kind,
            case=_case, n=_n,
        )  # fmt: skip


def judged(rng: Rng, n: int, labels: int, *, sampled: bool) -> pl.DataFrame:
    """Draw answers of which 75% and 69% are good, and a judge that passes 10% and 40% of the bad ones."""
    good = rng.random(n) < 0.75
    kept = good & (rng.random(n) < 0.69 / 0.75)
    new = np.where(rng.random(n) < 0.7, kept, rng.random(n) < 0.69)
    said = [
        np.where(one, rng.random(n) < 0.95, rng.random(n) < bad) for one, bad in ((good, 0.1), (new, 0.4))
    ]
    frame = two_versions(n, truth=(good, new), judge_score=(said[0] * 1.0, said[1] * 1.0))
    if sampled:
        chosen = pe.sample_items(frame, labels, item="item", seed=int(rng.integers(2**31)))
        chosen = chosen.unique("item").select("item", "weight")
    else:
        chosen = pl.DataFrame({"item": rng.choice(n, labels, replace=False), "weight": 1.0})
    return frame.join(chosen, on="item", how="left").with_columns(
        people=pl.when(pl.col("weight").is_not_null()).then("truth")
    )


def corrected(rng: Rng, sets: int, *, labels: int, sampled: bool, of: str) -> float:
    """How often the interval holds the truth, the verdict is `improved`, or both are narrower than people."""
    found = 0
    for _ in range(sets):
        frame = judged(rng, 1_000, labels, sampled=sampled)
        row = pe.compare(
            frame, version="model", baseline="a", item="item", truth="people"
        ).summary.to_dicts()[0]
        width = row["ci_high"] - row["ci_low"]
        found += {
            "holds": row["ci_low"] <= -0.06 <= row["ci_high"],
            "improved": row["verdict"] == "improved",
            "judge": row["judge_verdict"] == "improved",
            "narrower": width < row["people_ci_high"] - row["people_ci_low"],
        }[of]
    return found / sets


for _labels in (100, 200):
    for _sampled in (False, True):
        _how = "drawn by sample_items" if _sampled else "drawn at random"
        add_truth(f"{_labels} labels, {_how}: interval holds people's difference", corrected, low=0.93,
                  labels=_labels, sampled=_sampled, of="holds")  # fmt: skip
    add_truth(f"{_labels} labels, a judge that favours the worse version: `improved`", corrected, high=ALPHA,
              was="71%", labels=_labels, sampled=False, of="improved")  # fmt: skip
    add_truth(f"{_labels} labels: narrower than people alone", corrected, low=0.9, labels=_labels,
              sampled=False, of="narrower")  # fmt: skip


def mixed(rng: Rng, sets: int, *, n: int, adjust: bool) -> float:
    """How often topics that did not change are `regressed` because there are other shares of them."""
    level, alarms = np.array([0.9, 0.8, 0.7, 0.5]), 0
    for _ in range(sets):
        parts = []
        for model, mix in (("a", [0.25] * 4), ("b", [0.15, 0.2, 0.25, 0.4])):
            topic = rng.choice(4, n, p=mix)
            score = (rng.random(n) < level[topic]) * 1.0
            parts.append(pl.DataFrame({"model": model, "topic": topic, "m_score": score}))
        found = pe.compare(
            pl.concat(parts), version="model", baseline="a", adjust="topic" if adjust else None
        )
        alarms += found.verdict == "regressed"
    return alarms / sets


for _n in (100, 1_000):
    add_mix(f"four topics, {_n:,} rows a version: regressed", mixed, high=ALPHA, was="88%", n=_n, adjust=True)


def slices(rng: Rng, sets: int, *, of: str, count: int = 50, size: int = 20) -> float:
    """How often shrunken slices are off by at most half of the raw ones, or how often intervals hold."""
    found = 0.0
    for _ in range(sets):
        true = 0.02 * rng.standard_normal(count)
        d = true[:, None] + 0.3 * rng.standard_normal((count, size))
        before: Floats = np.full(count * size, 0.5)
        frame = two_versions(count * size, m_score=(before, before + d.ravel()))
        topic = (pl.col("item") // size).alias("topic")
        rows = pe.compare(frame, version="model", baseline="a", item="item", by=topic).slices
        rows = rows.sort(pl.col("value").cast(pl.Int64))
        raw, shrunk, low, high = (
            rows[name].to_numpy() for name in ("difference", "shrunk", "shrunk_low", "shrunk_high")
        )
        if of == "error":
            found += np.sqrt(((shrunk - true) ** 2).mean()) <= 0.5 * np.sqrt(((raw - true) ** 2).mean())
        else:
            found += float(((low <= true) & (true <= high)).mean())
    return found / sets


add_slices("50 slices of 20 items: error at most half of the raw", slices, low=0.95, of="error")
add_slices("50 slices of 20 items: intervals hold", slices, low=0.9, of="holds")

LAWS = [*AGGREGATES, *TRUTH, *MIX, *SLICES]
