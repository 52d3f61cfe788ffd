"""What it costs to begin."""

from __future__ import annotations

import subprocess
import sys


def test_statistics_are_imported_when_they_are_needed() -> None:
    """`scipy.stats` takes longer to import than most comparisons take to make."""
    code = "import sys, polars_evals.drift; print('scipy.stats' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
