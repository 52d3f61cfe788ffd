"""A few data sets of every law that `make simulate` runs over thousands."""

from __future__ import annotations

import numpy as np
import pytest

from .simulate import Law, calibrating, comparing, over_time

LAWS = [*comparing.LAWS, *over_time.LAWS, *calibrating.LAWS]
SETS = 40


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.group}: {law.name}")
def test_law(law: Law) -> None:
    share = law.share(np.random.default_rng(1), SETS)
    assert law.holds(share, SETS), f"{share:.3f}, limit {law.limit}"
