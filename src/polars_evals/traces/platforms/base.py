"""What a platform's file says of it: where it keeps what the canonical columns hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Record: TypeAlias = dict[str, Any]

# What a score is: its number, or its word, or both.
Scores: TypeAlias = dict[str, tuple[float | None, str | None]]

# Kinds of spans that are no answers: what scores one, and what runs an evaluation, whose examples are traces.
SCORER, EVALUATION = "scorer", "evaluation"

# How each field is read where a platform does not say so: readings of src/native/traces/reading.hpp.
READINGS: Mapping[str, str] = {
    "trace_id": "text",
    "span_id": "text",
    "ts": "text",
    "end": "text",
    "question": "item",
    "input": "asked",
    "output": "answer",
    "expected": "reference",
    "tool_calls": "calls",
    "contexts": "contexts",
    "scores": "json",
}

# What a record may say beside the canonical columns, from which they are made.
HELPERS = (
    *(
        "question",
        "parent_id",
        "end",
        "status",
        "status_message",
        "error_type",
        "record",
        "latency_s",
        "latency_ns",
        "scores",
    ),
)


class BrokenRecordError(ValueError):
    """A record holds JSON within JSON that is broken."""


@dataclass(frozen=True)
class ScoreTable:
    """Scores that a platform writes beside its traces, one a row.

    Parameters
    ----------
    marks
        The columns that tell such a table.
    columns
        Where it holds `trace_id`, `span_id`, `name`, `value` and `label`; a span's id comes before a trace's.
    """

    marks: tuple[frozenset[str], ...]
    columns: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Platform:
    """How one platform writes its traces.

    Parameters
    ----------
    name
        The word for `format=`.
    title
        What the export is called.
    marks
        Sets of columns. A file that has all columns of one set is taken for this platform's.
    shows
        Finds marks that are no fixed names: takes a file's columns and its name, gives those that tell it.
    columns
        For each field the places that may hold it, best first: `path`, or `path as reading`. A path is
        written `a.b[0].c`; src/native/traces/path.hpp says what it finds. The readings are those of
        src/native/traces/reading.hpp; each field has one that it takes by itself (`fields.READINGS`).
    spans
        Records are spans, of which several make a trace. Else every record is an answer, and a missing one
        counts.
    unpack
        Makes records of one that holds several, or of one whose values stand in odd places. It gets the
        record and what stands around it in its file.
    unpack_marks
        Columns that say that a file needs unpacking; without any, all do.
    lists
        Where the records stand in a document: the keys that lead to their list.
    json
        Columns of tables that must hold valid JSON; rows where they do not are kept and counted.
    scores
        Reads the field `scores`: the platform's own scores, by name.
    score_table
        A table of scores that may stand beside the traces.
    folder
        Where an export has several tables, a pattern of the files that hold its traces.
    leave_out
        A pattern of files that the platform writes beside its traces.
    common
        The marks are words that others use too: they count where no other platform's marks fit.
    requests
        Some records are requests, whose results stand in other files and have their names.
    several
        A record may have several references, so that all must be looked at to tell the type of `expected`.
    hint
        What to do where the export holds no answers.
    """

    name: str
    title: str
    marks: tuple[frozenset[str], ...]
    columns: Mapping[str, tuple[str, ...]]
    spans: bool = False
    unpack: Callable[[Record, Record], Iterable[Record]] | None = None
    unpack_marks: frozenset[str] = frozenset()
    lists: tuple[tuple[str, ...], ...] = ()
    json: tuple[str, ...] = ()
    scores: Callable[[Any], Scores] | None = None
    score_table: ScoreTable | None = None
    folder: str | None = None
    leave_out: str | None = None
    common: bool = False
    shows: Callable[[Collection[str], str], Collection[str]] | None = None
    requests: bool = False
    several: bool = False
    hint: str = ""


class Candidate(NamedTuple):
    """A place that may hold a field, and how it is read there."""

    path: str
    reading: str


def candidates(platform: Platform, name: str) -> list[Candidate]:
    """List the places of a field, best first."""
    reading = READINGS.get(name, "word")
    places = [_candidate(place, reading) for place in platform.columns.get(name, ())]
    if name == "question" and not places:
        return [Candidate(place.path, "item") for place in candidates(platform, "input")]
    if name == "record" and not platform.spans and platform.name != "generic":
        return [Candidate("$", "hash")]
    if name in ("tool_calls", "finish_reason"):
        # What an answer says of itself.
        own = "calls" if name == "tool_calls" else "finish"
        places += [
            Candidate(place.path, own)
            for place in candidates(platform, "output")
            if place.reading in ("answer", "decoded", "parsed", "chat")
        ]
    return places


def _candidate(written: str, reading: str) -> Candidate:
    path, _, named = written.partition(" as ")
    return Candidate(path, named or reading)


def marks(*sets: str) -> tuple[frozenset[str], ...]:
    """Write sets of columns as words."""
    return tuple(frozenset(names.split()) for names in sets)


def held(record: Any, name: str) -> Record:
    """Return the object that a record holds under a name; an empty one where there is none."""
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, dict) else {}


def listed(record: Any, name: str) -> list[Record]:
    """Return the objects of the list that a record holds under a name."""
    value = record.get(name) if isinstance(record, dict) else None
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """Take a number, or a yes or no, as a score."""
    return float(value) if isinstance(value, bool | int | float) else None


def score(value: Any, label: Any = None) -> tuple[float | None, str | None]:
    """Take a value as a score, or as a label if it is a word."""
    word = label if isinstance(label, str) else value if isinstance(value, str) else None
    return number(value), word


def scores_by_name(held: Any) -> Scores:
    """Read `{name: value}`, where a value may be a number, a word, or an object that holds one of them."""
    if not isinstance(held, dict):
        return {}
    found = {}
    for name, value in held.items():
        inner = value.get("score", value.get("value")) if isinstance(value, dict) else value
        label = value.get("label") if isinstance(value, dict) else None
        found[str(name)] = score(inner, label)
    return {name: values for name, values in found.items() if values != (None, None)}


def numbers_as_scores(*known: str) -> Callable[[Record, Record], Iterable[Record]]:
    """Take the numbers of a table that are in no known column as its scores."""

    def unpack(record: Record, around: Record) -> Iterable[Record]:
        names = record.keys() - {*known}
        yield record | {"scores": {name: record[name] for name in names if number(record[name]) is not None}}

    return unpack
