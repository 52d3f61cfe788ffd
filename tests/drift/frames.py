"""Scored frames to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

THRESHOLD = 0.7


def label(score: str) -> pl.Expr:
    passed = pl.when(pl.col(score) >= THRESHOLD).then(pl.lit("pass")).when(pl.col(score).is_not_null())
    return (
        passed.then(pl.lit("fail")).cast(pl.Enum(["fail", "pass"])).alias(score.replace("_score", "_label"))
    )


def versions(scores: Mapping[str, Sequence[float | None] | npt.NDArray[Any]], **traits: Any) -> pl.DataFrame:
    """One row an item and version; items are numbered, and a trait has one value an item."""
    frames = []
    for version, values in scores.items():
        frame = pl.DataFrame(
            {
                "case_id": pl.Series(range(len(values)), dtype=pl.Int64),
                "model": pl.Series([version] * len(values), dtype=pl.String),
                "m_score": pl.Series(values, dtype=pl.Float64),
            }
        )
        frames.append(frame.with_columns(**{k: pl.Series(k, v) for k, v in traits.items()}))
    return pl.concat(frames).with_columns(label("m_score"))


def drawn(
    n: int = 200, *, shift: float = 0.0, seed: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Correlated scores of two versions in [0, 1], rounded as the metrics round them."""
    rng = np.random.default_rng(seed)
    base = rng.beta(5, 2, n)
    noise = rng.normal(0, 0.1, (2, n))
    first, second = np.round(np.clip(base + noise + [[0], [shift]], 0, 1), 2)
    return first, second
