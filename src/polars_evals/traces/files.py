"""From what a user names (a file, a folder, a pattern, a URL, or a list) to files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from glob import glob, has_magic
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import polars as pl

from polars_evals._polars import scan_lines
from polars_evals.traces.content import ENDINGS, ending, kind_of
from polars_evals.traces.read import FILE
from polars_evals.wording import listed

Paths: TypeAlias = str | Path | Sequence[str | Path]

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
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    files = [file for path in listed for file in _expand_one(os.fspath(path), storage_options)]
    if not files:
        raise FileNotFoundError("no path to scan: the list of paths is empty")
    # A file that is named twice, however it is written, is read once.
    return list(
        {file if "://" in file else os.path.abspath(file): file for file in reversed(files)}.values()
    )[::-1]


def named_files(paths: Paths) -> set[str]:
    """List the files that a user named one by one."""
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    return {os.path.expanduser(os.fspath(path)) for path in listed}


def _expand_one(path: str, storage_options: dict[str, Any] | None) -> list[str]:
    if "://" in path:
        return _expand_remote(path, storage_options)
    local = os.path.expanduser(path)
    if os.path.isfile(local):
        return [local]
    if os.path.isdir(local):
        found = [
            str(file)
            for file in sorted(Path(local).rglob("*"))
            if file.is_file() and not _hidden(file, local)
        ]
        what = f"the folder {path!r} holds"
    elif has_magic(local):
        found = sorted(file for file in glob(local, recursive=True) if os.path.isfile(file))
        what = f"the pattern {path!r} matches"
    elif os.path.exists(local):
        raise FileNotFoundError(f"{path!r} is a pipe or a device; write what it gives to a file")
    else:
        raise FileNotFoundError(f"no such file or folder: {path!r}")
    files = [file for file in found if ending(file) in ENDINGS]
    if not files:
        others = f" (only {listed(found, 3)})" if found else ""
        raise FileNotFoundError(f"{what} no file of traces: {', '.join(ENDINGS)}{others}")
    return files


def _hidden(file: Path, root: str) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(root).parts)


def _expand_remote(path: str, storage_options: dict[str, Any] | None) -> list[str]:
    """List a remote folder or pattern with Polars itself, which knows every store that a scan can read."""
    is_lines = ".jsonl" in path or ".ndjson" in path
    if not has_magic(path) and ending(path) in ENDINGS:
        return [path]
    if is_lines:
        scan = scan_lines(path, storage_options=storage_options, include_file_paths=FILE)
    else:
        scan = pl.scan_parquet(
            path,
            missing_columns="insert",
            extra_columns="ignore",
            storage_options=storage_options,
            include_file_paths=FILE,
        )
    # Files without rows are not listed this way, and have none to give.
    return scan.select(pl.col(FILE).unique().sort()).collect().get_column(FILE).to_list() or [path]


def is_parquet(file: str) -> bool:
    """Tell Parquet from other files, by the ending or else by the content."""
    return kind_of(file) == "parquet"
