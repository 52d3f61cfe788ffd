"""A few data sets of every law that `make simulate` runs over thousands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from .simulate import Law
from .simulate import __main__ as whole
from .simulate.laws import LAWS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.group}: {law.name}")
def test_law(law: Law) -> None:
    sets = law.sets // 25
    share = law.share(np.random.default_rng(1), sets)
    assert law.holds(share, sets), f"{share:.3f}, limit {law.limit}"


def test_a_run_goes_on_where_one_of_the_same_code_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number} {law.group}: {law.name} (3)" for number, law in enumerate(LAWS)]
    kept = {"code": whole.code(), "seconds": {}, "shares": dict.fromkeys(names[1:], 0.125)}
    (tmp_path / "build.json").write_text(json.dumps(kept))
    monkeypatch.setattr(whole, "FINISHED", tmp_path / "build.json")
    monkeypatch.setattr(whole, "PAGE", tmp_path / "page.md")
    for name in whole.ONE_CORE:
        monkeypatch.setenv(name, "1")
    with pytest.raises(SystemExit):
        whole.main(3)
    now = json.loads((tmp_path / "build.json").read_text())
    assert set(now["shares"]) == set(names)
    assert now["code"] == kept["code"]
    assert now["seconds"].keys() == {LAWS[0].name}
    page = (tmp_path / "page.md").read_text()
    assert page.count("| 12.5%") == len(LAWS) - 1
    assert "This run ended" not in page
