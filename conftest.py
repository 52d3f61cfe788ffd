"""What every example in docstrings and pages may use: the names `pl` and `pe`, and a folder of its own."""

from typing import Any

import polars as pl
import pytest
from hypothesis import settings

import polars_evals as pe

# A busy machine is no failure: examples have no deadline.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _example_names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(pl=pl, pe=pe)


@pytest.fixture(autouse=True)
def _example_folder(request: pytest.FixtureRequest) -> None:
    """Let examples write files: in a temporary folder, which has the project's data."""
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        (folder / "data").symlink_to(request.config.rootpath / "data")
        request.getfixturevalue("monkeypatch").chdir(folder)
