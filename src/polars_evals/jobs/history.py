"""What became of each run, kept in the store: a small file for each, which never changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from polars_evals.storage.objects import Folder

RUNS = "_evals/runs"
KEPT, SPARE = 1000, 100
SENT = ".sent"
STAMP = "%Y%m%dT%H%M%S%f"


@dataclass(frozen=True)
class Record:
    """One run: when, how it ended, what it took and what it set aside."""

    time: str
    status: str
    exit_code: int
    rows: int
    added: int
    updated: int
    files: int
    failures: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[Mapping[str, Any], ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # Whether people are to be told, and which status they were told of before.
    alert: bool = False
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON holds it."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "name"}

    @classmethod
    def of(cls, name: str, content: bytes) -> Record:
        """Read a record; what a later version adds to it is left out."""
        stored = json.loads(content)
        known = {one.name for one in fields(cls)}
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()
        }
        return cls(**{key: value for key, value in given.items() if key in known}, name=name)

    def states(self) -> dict[str, str]:
        """Return the status of each gate."""
        return {str(gate["gate"]): str(gate["status"]) for gate in self.gates}


def now() -> str:
    """Return the time, as records hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_history(folder: Folder, last: int = 10) -> list[Record]:
    """Read the last runs, oldest first."""
    names = [name for name in sorted(folder.files(RUNS)) if name.endswith(".json")]
    return [Record.of(name, folder.read(f"{RUNS}/{name}")) for name in names[max(0, len(names) - last) :]]


def append(folder: Folder, record: Record) -> str:
    """Add a run, and return its name; the oldest ones go when there are very many."""
    names = sorted(folder.files(RUNS))
    time = datetime.now(UTC)
    if names and (last := stamp_of(names[-1])) is not None:
        # Names are in the order of the runs, also where the clock was put back.
        time = max(time, last + timedelta(microseconds=1))
    name = f"{time.strftime(STAMP)}-{uuid4().hex[:8]}.json"
    # As ASCII, which also holds what is no text in the name of a file.
    folder.create(f"{RUNS}/{name}", json.dumps(record.to_dict()).encode())
    names.append(name)
    if len(names) > KEPT + SPARE:
        folder.remove(f"{RUNS}/{name}" for name in names[:-KEPT])
    return name


def stamp_of(name: str) -> datetime | None:
    """Return the time in the name of a record."""
    try:
        return datetime.strptime(name.partition("-")[0], STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def sent(folder: Folder, name: str) -> set[str]:
    """Return the ways in which people were told of a run."""
    start = f"{name}."
    return {
        file[len(start) : -len(SENT)]
        for file in folder.files(RUNS)
        if file.startswith(start) and file.endswith(SENT)
    }


def mark_sent(folder: Folder, name: str, way: str) -> None:
    """Note that people were told of a run, in a way."""
    folder.create(f"{RUNS}/{name}.{way}{SENT}", b"1")
