"""
Tests that may be looked at again and again: a scheduled job that asks every day, and a timeline.

A fixed-n p-value that is looked at daily while data grows will sooner or later fall below 5%. The ratio
here is a test martingale: if nothing changed, the chance that it *ever* exceeds 1/alpha is at most alpha.
It needs no memory of earlier looks, because it is a function of the data so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

# The change looked for first, in standard deviations of a unit, squared; others take somewhat longer.
SCALE = 0.04


def log_evidence(t: Floats, df: Floats, n: Floats, scale: Floats | float = SCALE) -> Floats:
    """
    Return the logarithm of the evidence for a change of n units: above log(1/alpha), there is one.

    The likelihood ratio of t under a normal mixture of changes, with the variance of a unit unknown: (1 +
    ng)^−½ ((1 + t²/ν) / (1 + t²/(ν(1 + ng))))^((ν+1)/2). For normal units it is a martingale whatever their
    variance is (right Haar prior), so that a variance learned from few units does no harm.
    """
    grown = 1 + n * np.asarray(scale)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.log1p(t**2 / df) - np.log1p(t**2 / (df * grown))
        return np.asarray(-0.5 * np.log(grown) + (df + 1) / 2 * ratio)


def sequential_p(t: Floats, df: Floats, n: Floats, scale: Floats | float = SCALE) -> Floats:
    """Return a p-value that may be looked at any number of times while the data grows."""
    with np.errstate(over="ignore"):
        return np.minimum(1.0, np.exp(-log_evidence(t, df, n, scale)))


def sequential_interval(
    difference: Floats, se: Floats, df: Floats, n: Floats, *, alpha: float, scale: Floats | float = SCALE
) -> tuple[Floats, Floats]:
    """Return an interval for all times at once; it is infinite where so few units can tell nothing yet."""
    grown = 1 + n * np.asarray(scale)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        bound = (np.sqrt(grown) / alpha) ** (2 / (df + 1))
        squared = np.where(bound < grown, (bound - 1) / (1 - bound / grown), np.inf)
        half = np.sqrt(squared * df) * se
    return difference - half, difference + half
