"""Laws of whole calls: series over time, absent rows, ties and picked labels."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl

import polars_evals as pe

from . import ALPHA, Rng, group

SERIES, add = group("Over time: mean, pass rate and answers are series of their own")
START, DAYS, ROWS, CHANGED = datetime(2025, 1, 1), 60, 30, 30


def over_time(rng: Rng, sets: int, kind: str) -> float:
    """Return how often a timeline of 60 days is `regressed` or `improved`; `kind` changes from day 30 on."""
    day = np.repeat(np.arange(DAYS), ROWS)
    times, late, found = [START + timedelta(days=int(one)) for one in day], day >= CHANGED, 0
    for _ in range(sets):
        score = rng.uniform(0.65, 0.75, len(day))
        if kind == "pass rate":
            # Half of the scores fall below the threshold, and the others make up for it.
            score = np.where(late, score + rng.choice([-0.2, 0.2], len(day)), score)
        gone = rng.random(len(day)) < np.where(late & (kind == "answers"), 0.4, 0.05)
        passes = rng.random(len(day)) < 0.8
        score = np.where(passes, score, 0.3) if kind == "none" else score
        frame = pl.DataFrame({"ts": times, "m_score": np.where(gone, np.nan, score)}).with_columns(
            pl.col("m_score").fill_nan(None),
            m_label=pl.when(pl.col("m_score").fill_nan(None) >= 0.6)
            .then(pl.lit("pass"))
            .when(pl.col("m_score").is_not_nan())
            .then(pl.lit("fail")),
        )
        verdicts = pe.timeline(frame, time="ts", reference=14).summary.select("metric", "verdict").rows()
        moved = {metric for metric, verdict in verdicts if verdict in {"regressed", "improved"}}
        found += bool(moved) if kind == "none" else ("answered" if kind == "answers" else "m") in moved
    return found / sets


add("a pass rate from 100% to 50% at the same mean: `regressed`", over_time, low=0.95, kind="pass rate")
add("answers that go missing, from 5% to 40%: `answered` is `regressed`", over_time, low=0.95, kind="answers")
add("nothing changed, with labels and missing answers: `regressed` or `improved`", over_time, high=ALPHA,
    kind="none")  # fmt: skip

ABSENT, add = group("Items that a candidate has no row of")


def absent(rng: Rng, sets: int, *, hard: float) -> float:
    """Return how often a note says that the baseline scores otherwise on 40% of 300 items that are absent."""
    said = 0
    for _ in range(sets):
        gone = rng.random(300) < 0.4
        before = np.clip(rng.beta(5, 2, 300) - hard * gone, 0, 1)
        after = np.clip(before + rng.normal(0, 0.05, 300), 0, 1)
        item = np.arange(300)
        frame = pl.concat(
            [
                pl.DataFrame({"item": item, "model": "a", "m_score": before}),
                pl.DataFrame({"item": item[~gone], "model": "b", "m_score": after[~gone]}),
            ]
        )
        [note] = [
            one
            for one in pe.compare(frame, version="model", baseline="a", item="item").notes
            if "no row of b" in one
        ]
        said += float(note.rpartition("p = ")[2]) <= ALPHA
    return said / sets


add("40% absent, items 0.1 harder: the note says that they score otherwise", absent, low=0.95, hard=0.1)
add("40% absent at random: the note says that they score otherwise", absent, high=ALPHA, hard=0.0)

TIES, add = group("The same rows give the same result")


def differs(rng: Rng, sets: int) -> float:
    """Return how often `by="auto"` gives other slices or verdicts for rows in another order, with ties."""
    found = 0
    for _ in range(sets):
        kind = np.arange(240) % 2
        before = rng.uniform(0.3, 0.7, 240)
        after = before + np.where(kind == 0, -0.1, 0.1) + rng.normal(0, 0.05, 240)
        frame = pl.concat(
            pl.DataFrame(
                {"item": np.arange(240), "model": model, "kind": kind, "copy": 1 - kind, "m_score": score}
            ).with_columns(
                expected=pl.when(pl.col("item") % 3 > 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
            )
            for model, score in (("a", before), ("b", after))
        )
        mixed = frame[rng.permutation(frame.height)]
        seen = {
            (one.verdict, tuple(one.slices.select("slice", "verdict").rows()))
            for one in (
                pe.compare(rows, version="model", baseline="a", item="item", by="auto")
                for rows in (frame, mixed.lazy())
            )
        }
        found += len(seen) > 1
    return found / sets


add('complementary slices, `by="auto"`, rows in any order: another result', differs, high=0.0)

PICKED, add = group("Labels that were picked")


def picked(rng: Rng, sets: int, *, chosen: bool) -> float:
    """Return how often `agreement` notes that people rated other items, of scores, than a random sample."""
    noted = 0
    for _ in range(sets):
        judge = rng.random(400)
        human = pl.Series("human", rng.random(400) < judge)
        rated = judge < np.quantile(judge, 0.25) if chosen else rng.permutation(400) < 100
        frame = pl.DataFrame([human.set(pl.Series(~rated), None), pl.Series("judge", judge)])
        notes = pe.agreement(
            frame.with_columns(human=pl.col("human").cast(pl.Float64)), raters=["human", "judge"],
            level="interval",
        ).notes  # fmt: skip
        noted += any("not a random sample" in one for one in notes)
    return noted / sets


add("100 of 400 items, those that the judge failed: noted", picked, low=0.99, chosen=True)
add("100 of 400 items at random: noted", picked, high=ALPHA, chosen=False)

LAWS = [*SERIES, *ABSENT, *TIES, *PICKED]
