"""A few data sets of every law that `make simulate` runs over thousands."""

from __future__ import annotations

import numpy as np
import pytest

from .simulate import (
    Law,
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
)

LAWS = [
    *comparing.LAWS,
    *deciding.LAWS,
    *measuring.LAWS,
    *over_time.LAWS,
    *ranking.LAWS,
    *planning.LAWS,
    *calibrating.LAWS,
    *agreeing.LAWS,
    *beyond_means.LAWS,
    *gates.LAWS,
]
SETS = 40


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.group}: {law.name}")
def test_law(law: Law) -> None:
    # A day of a gate is a comparison as a whole.
    sets = SETS // 5 if law in gates.LAWS else SETS
    share = law.share(np.random.default_rng(1), sets)
    assert law.holds(share, sets), f"{share:.3f}, limit {law.limit}"
