"""All laws, the cheap ones first."""

from __future__ import annotations

import time

import numpy as np

from . import (
    agreeing,
    beyond_means,
    calibrating,
    comparing,
    deciding,
    gates,
    measuring,
    over_time,
    planning,
    ranking,
    whole,
)

LAWS = [
    *comparing.LAWS,
    *deciding.LAWS,
    *measuring.LAWS,
    *planning.LAWS,
    *agreeing.LAWS,
    *calibrating.LAWS,
    *over_time.LAWS,
    *ranking.LAWS,
    *beyond_means.LAWS,
    *gates.LAWS,
    *measuring.TIED,
    *deciding.EQUAL,
    *gates.SLICED,
    *whole.LAWS,
    *deciding.RARE,
]


def simulate(number: int, sets: int) -> tuple[float, float]:
    """Return the share of a law, and the seconds of processor time that it took."""
    start = time.process_time()
    return LAWS[number].share(np.random.default_rng(number), sets), time.process_time() - start
