"""From what a user names (a file, a folder, a pattern, a URL, or a list) to files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polars_evals.storage.paths import Paths
from polars_evals.storage.paths import expand as expand_paths
from polars_evals.traces.content import ENDINGS, kind_of


def expand(paths: Paths, storage_options: dict[str, Any] | None = None) -> list[str]:
    """List the trace files that a path, a folder, a pattern, a URL, or a list of these stands for."""
    return expand_paths(paths, ENDINGS, storage_options)


# What tells files apart and is no name of a model: dates, times and ids, and the numbers of parts.
_STAMP = re.compile(
    r"\d{4}-?\d{2}-?\d{2}(?:[T_ -]?\d{2}[-:_.]?\d{2}(?:[-:_.]?\d{2}(?:\.\d+)?)?)?Z?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_PART = re.compile(
    r"(?:part|chunk|shard|batch|split|page|file|data|outputs?|results?|samples?|traces?|spans?|export|logs?|day)?"
    r"[\W_]*\d*(?:[\W_]*of[\W_]*\d+)?",
    re.IGNORECASE,
)


def file_models(files: Sequence[str]) -> dict[str, str]:
    """Name the models of files that name none, by the folder or by the name that tells the files apart.

    Dates, times, ids and numbers of parts are no names.

    Examples
    --------
    >>> file_models(["runs/llama-7b/out.json", "runs/llama-13b/out.json"])
    {'runs/llama-7b/out.json': 'llama-7b', 'runs/llama-13b/out.json': 'llama-13b'}
    >>> file_models(["gpt-4_2026-01-02.jsonl", "o1_2026-01-03.jsonl"])
    {'gpt-4_2026-01-02.jsonl': 'gpt-4', 'o1_2026-01-03.jsonl': 'o1'}
    >>> file_models(["2026-01-02.jsonl", "2026-01-03.jsonl"])
    {}
    """
    parts = {file: re.split(r"[/\\]", os.path.abspath(file) if "://" not in file else file) for file in files}
    stems = {file: _STAMP.sub("", _stem(path[-1])).strip(" _-.") for file, path in parts.items()}
    if len(files) > 1 and len(set(stems.values())) == len(files):
        # Each file has a name of its own, unless folders of several files tell the models.
        folders = {tuple(path[:-1]) for path in parts.values()}
        if len(folders) in (1, len(files)):
            return {} if all(_PART.fullmatch(stem) for stem in stems.values()) else stems
    for level in range(2, max(map(len, parts.values()), default=0) + 1):
        names = {file: path[-level] if len(path) >= level else "" for file, path in parts.items()}
        bare = {_STAMP.sub("", name).strip(" _-.") for name in names.values()}
        if len(bare) > 1 and not all(_PART.fullmatch(name) for name in bare):
            return names
    return {}


def _stem(name: str) -> str:
    return re.sub(r"(\.[A-Za-z]\w{1,7}){1,2}$", "", name)


def named_files(paths: Paths) -> set[str]:
    """List the files that a user named one by one."""
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    return {os.path.expanduser(os.fspath(path)) for path in listed}


def is_parquet(file: str) -> bool:
    """Tell Parquet from other files, by the ending or else by the content."""
    return kind_of(file) == "parquet"
