"""From what a user names (a file, a folder, a pattern, a URL, or a list) to files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from polars_evals.storage.paths import Paths
from polars_evals.storage.paths import expand as expand_paths
from polars_evals.traces.content import ENDINGS, kind_of


def expand(paths: Paths, storage_options: dict[str, Any] | None = None) -> list[str]:
    """List the trace files that a path, a folder, a pattern, a URL, or a list of these stands for."""
    return expand_paths(paths, ENDINGS, storage_options)


def named_files(paths: Paths) -> set[str]:
    """List the files that a user named one by one."""
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    return {os.path.expanduser(os.fspath(path)) for path in listed}


def is_parquet(file: str) -> bool:
    """Tell Parquet from other files, by the ending or else by the content."""
    return kind_of(file) == "parquet"
