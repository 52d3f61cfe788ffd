"""A ranking in parts is that of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.cluster.engine import rank_on
from tests.cluster.local import LocalEngine


def scored(n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    hard = rng.normal(size=n)
    return pl.concat(
        pl.DataFrame(
            {
                "item_id": [f"item-{i}" for i in range(n)],
                "model": model,
                "a_score": 0.5 + 0.1 * hard + 0.05 * rng.normal(size=n) + better,
                "b_score": rng.random(n),
                "a_signature": "made so",
            }
        )
        for model, better in (("v1", 0.0), ("v2", 0.02), ("v3", -0.05))
    )


def tables(frame: pl.DataFrame) -> list[pa.Table]:
    return [frame[:150].to_arrow(), frame[150:].to_arrow()]


def rank(frame: pl.DataFrame, **options: Any) -> Any:
    ranked: Any = {"version": "model", "item": "item_id", **options}
    return rank_on(LocalEngine(), tables(frame), ranked, parts=7)


@pytest.mark.parametrize("baseline", [None, "v1"])
def test_parts_rank_as_rows_do(baseline: str | None) -> None:
    frame = scored().with_columns(
        a_score=pl.when((pl.col("item_id") == "item-3") & (pl.col("model") == "v2"))
        .then(None)
        .otherwise("a_score")
    )
    whole = pe.rank(frame, version="model", item="item_id", baseline=baseline)
    found = rank(frame, baseline=baseline)
    assert_frame_equal(found.summary, whole.summary)
    assert_frame_equal(found.pairs, whole.pairs)
    assert found.notes == whole.notes
    assert found.settings == whole.settings


def test_what_parts_cannot_rank_is_refused_by_name() -> None:
    frame = scored()
    with pytest.raises(ValueError, match="cluster: clusters that lie in several parts cannot be ranked"):
        rank(frame, cluster="topic")
    with pytest.raises(ValueError, match="baseline 'v9' is not in column 'model'"):
        rank(frame, baseline="v9")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match='did you mean "item_id"'):
        rank(frame, item="item_i")
    mixed = frame.with_columns(
        a_signature=pl.when(pl.col("model") == "v1").then(pl.lit("x")).otherwise("a_signature")
    )
    with pytest.raises(ValueError, match="'a_signature' differs between the rows"):
        rank(mixed)
