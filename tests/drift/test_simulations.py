"""A few data sets of every law that `make simulate` runs over thousands."""

from __future__ import annotations

import numpy as np
import pytest

from .simulate import Law
from .simulate.laws import LAWS


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.group}: {law.name}")
def test_law(law: Law) -> None:
    sets = law.sets // 25
    share = law.share(np.random.default_rng(1), sets)
    assert law.holds(share, sets), f"{share:.3f}, limit {law.limit}"
