"""Names that every docstring example may use."""

from typing import Any

import polars as pl
import pytest

import polars_evals as pe


@pytest.fixture(autouse=True)
def _example_names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(pl=pl, pe=pe)
