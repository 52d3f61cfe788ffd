"""What tests of the command share."""

from pathlib import Path

import pytest

from tests.jobs.support import DATA, invoke


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scored") / "scored.parquet"
    invoke("score", DATA, "--metric", "exact_match", "--metric", "levenshtein", "--output", path)
    return path
