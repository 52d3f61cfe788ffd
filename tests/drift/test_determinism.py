"""The same rows give the same answers, whatever order they come in a group and however often one asks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import polars_evals as pe

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES = 20


def tied() -> pl.DataFrame:
    """Rows with ties: versions in pairs alike, items with several runs, topics of the same size."""
    rng = np.random.default_rng(0)
    item, run = np.repeat(np.arange(120), 8), np.tile(np.arange(8), 120)
    score = np.where((item + run // 4) % 3 > 0, 1.0, rng.choice([0.0, 0.5], 960))
    return pl.DataFrame(
        {
            "item_id": item,
            "model": [f"v{one}" for one in run % 4],
            "topic": [f"t{one}" for one in item % 4],
            "session": item // 3,
            "ts": [datetime(2025, 1, 1) + timedelta(days=int(one)) for one in item // 3],
            "a_score": score,
            "b_score": np.round(rng.random(960), 1),
            "ann": score > 0.2,
            "bob": score > 0.7,
            "error": ["timeout" if one < 0.05 else None for one in rng.random(960)],
        }
    ).with_columns(
        pl.when(pl.col(f"{one}_score") >= 0.5)
        .then(pl.lit("pass"))
        .otherwise(pl.lit("fail"))
        .alias(f"{one}_label")
        for one in "ab"
    )


def every_form(frame: pl.LazyFrame) -> str:
    """Compare, with repeats and several candidates that lost alike, and write all that can be written."""
    found = pe.compare(frame, version="model", baseline="v0", item="item_id", by="auto", cluster="session")
    forms = (str(found), found.explain(), found.to_markdown(), found.to_json(), found.to_junit())
    return "".join((*forms, found.to_html(), found.items.collect().write_json(), found.flips.write_json()))


ASK: dict[str, Callable[[pl.LazyFrame], str]] = {
    "compare": every_form,
    "timeline": lambda frame: pe.timeline(
        frame, time="ts", version="model", by=["topic"], cluster="session", reference=5
    ).to_json(),
    "adjusted timeline": lambda frame: pe.timeline(frame, time="ts", adjust="topic", reference=5).to_json(),
    "rank": lambda frame: pe.rank(frame, version="model", item="item_id", cluster="session").to_json(),
    "runs": lambda frame: pe.runs(frame, version="model", item="item_id", cluster="session").to_json(),
    "plan": lambda frame: pe.plan(
        frame, version="model", item="item_id", baseline="v0", cluster="session"
    ).to_json(),
    "agreement": lambda frame: pe.agreement(frame, raters=["ann", "bob"]).to_json(),
    "calibrate": lambda frame: pe.calibrate(frame, metrics=["a", "b"], truth="ann").to_json(),
}


@pytest.mark.parametrize("question", ASK)
def test_the_same_rows_give_the_same_answer(question: str) -> None:
    pieces = pl.concat(tied().iter_slices(97), rechunk=False)
    assert len({ASK[question](pieces.lazy()) for _ in range(TIMES)}) == 1
