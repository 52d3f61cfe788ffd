"""What every docstring and documentation example may use: the names `pl` and `pe`, and a folder of its own."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe


@pytest.fixture(autouse=True)
def _example_names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(pl=pl, pe=pe)


@pytest.fixture(autouse=True)
def _example_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Let examples write files: in a temporary folder, which has the project's data."""
    if isinstance(request.node, pytest.DoctestItem):
        (tmp_path / "data").symlink_to(pytestconfig.rootpath / "data")
        monkeypatch.chdir(tmp_path)
