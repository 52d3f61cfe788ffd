"""From what a user names (a file, a folder, a pattern, a URL, or a list) to files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polars_evals.storage.paths import Paths
from polars_evals.storage.paths import expand as expand_paths
from polars_evals.traces.content import ENDINGS, kind_of

_copies: ContextVar[Mapping[str, str]] = ContextVar("copies", default=MappingProxyType({}))


@contextmanager
def reading_copies(copies: Mapping[str, str]) -> Iterator[None]:
    """Let scans take the rows of files from copies that are easier to read; the files keep their names."""
    token = _copies.set(copies)
    try:
        yield
    finally:
        _copies.reset(token)


def readable_copy(file: str) -> str:
    """Return the copy that stands for a file, or the file."""
    return _copies.get().get(file, file)


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
