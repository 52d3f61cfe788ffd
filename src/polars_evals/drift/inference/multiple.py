"""Corrections for the number of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats


def benjamini_hochberg(p: Floats) -> Floats:
    """Return the q-values of the tests that were made; NaN is no test."""
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(-p[made], kind="stable")]
    steps = p[order] * len(order) / np.arange(len(order), 0, -1)
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.minimum.accumulate(steps), 1.0)
    return corrected


def holm(p: Floats) -> Floats:
    """Return p-values corrected by Holm's method; NaN is no test."""
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected
