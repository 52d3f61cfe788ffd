"""Tell which platform wrote a set of files, and say why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from polars_evals.traces.sources import GENERIC, SOURCES, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.traces.files import FileGroup


class UnknownFormatError(pl.exceptions.SchemaError):
    """The columns are of no platform."""


class AmbiguousFormatError(pl.exceptions.SchemaError):
    """The columns are of several platforms: only the user can say which."""


@dataclass(frozen=True)
class Detection:
    """What was seen in a set of files, and the format that was chosen.

    Attributes
    ----------
    format
        The word for `format=` in [`scan_traces`][polars_evals.scan_traces].
    reason
        Why it was chosen.
    files
        The files that are read.
    left_out
        The files that are not, each with the reason.
    """

    format: str
    reason: str
    files: tuple[str, ...]
    left_out: Mapping[str, str]

    def __str__(self) -> str:
        """Say it in a sentence or two."""
        said = f"{self.format}: {self.reason}, in {_count(len(self.files), 'file')}"
        for reason in dict.fromkeys(self.left_out.values()):
            files = [file for file, why in self.left_out.items() if why == reason]
            said += f"; left out {_count(len(files), 'file')} ({reason}): {_some(files)}"
        return said


def source_named(name: str) -> Source | None:
    """Find a source by its word; None for "auto"."""
    if name == "auto":
        return None
    if name in SOURCES:
        return SOURCES[name]
    near = get_close_matches(name, ["auto", *SOURCES], n=1)
    did_you_mean = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"unknown format {name!r}{did_you_mean} (known: auto, {', '.join(SOURCES)})")


def choose_files(files: Sequence[str], source: Source | None) -> tuple[list[str], dict[str, str]]:
    """Pick the files that hold traces from an export of several tables; the others come with a reason."""
    left_out: dict[str, str] = {}
    for candidate in (source,) if source else SOURCES.values():
        inside = [
            file for file in files if candidate.folder and candidate.folder.search(Path(file).as_posix())
        ]
        if not inside:
            continue
        left_out = {file: f"another table of the {candidate.title}" for file in files if file not in inside}
        unfinished = {file: "no manifest yet" for file in inside if _is_unfinished(file)}
        files = [file for file in inside if file not in unfinished]
        left_out |= unfinished
        if not files:
            raise FileNotFoundError(f"no finished file: {_some(list(unfinished))} has no manifest yet")
    return list(files), left_out


def _is_unfinished(file: str) -> bool:
    """Say whether a table file lacks the manifest that commits it, in an export that writes manifests."""
    table = Path(file).parent
    manifests = table.parent / "manifests"
    stem = Path(file).name.split(".parquet")[0].split(".jsonl")[0]
    return "://" not in file and manifests.is_dir() and not os.path.exists(manifests / f"{stem}.json")


def detect_source(groups: Sequence[FileGroup]) -> tuple[Source, str]:
    """Choose the one source whose marks the files show; more than one, or none, is an error."""
    names = set().union(*(group.names for group in groups))
    fitting = {
        source.name: min((sorted(marks) for marks in source.marks if marks <= names), key=len)
        for source in SOURCES.values()
        if source is not GENERIC and any(marks <= names for marks in source.marks)
    }
    files = [file for group in groups for file in group.files]
    if len(fitting) > 1:
        seen = "; ".join(f"{name} (columns {', '.join(marks)})" for name, marks in fitting.items())
        raise AmbiguousFormatError(
            f"{_some(files)} could be {seen}: name one with format=, or pass only the files of one"
        )
    if fitting:
        [(name, marks)] = fitting.items()
        return SOURCES[name], f"columns {', '.join(marks)} ({SOURCES[name].title})"
    if "output" in names:
        return GENERIC, "a column output, and no platform's columns"
    seen = f"the columns {_some(sorted(names), 12)}" if names else "no rows and no columns"
    raise UnknownFormatError(
        f"no known trace format has {seen} of {_some(files)}: name the platform with format= "
        f'({", ".join(SOURCES)}), or your own columns with format="generic" and '
        'columns={"output": ..., "input": ...}'
    )


def _some(names: Sequence[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
