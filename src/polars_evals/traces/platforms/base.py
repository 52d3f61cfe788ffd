"""What a platform's file says of it: where it keeps what the canonical columns hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
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
    *("question", "parent_id", "end", "status", "status_message", "error_type", "record"),
    *("latency_s", "latency_ns", "scores"),
)


class BrokenRecordError(ValueError):
    """A record holds JSON within JSON that is broken."""


# Makes records of one that holds several, or whose values stand in odd places, from it and from what stands
# around it in its file, whose name is there as `file`.
Unpack: TypeAlias = Callable[[Record, Record], Iterable[Record]]


@dataclass(frozen=True)
class Platform:
    """How one platform writes its traces."""

    # The word for `format=`, and what the export is called.
    name: str
    title: str
    # For each field the places that may hold it, best first.
    places: Mapping[str, list[str]]
    # Sets of columns. A file that has all columns of one set is taken for this platform's.
    marks: tuple[frozenset[str], ...]
    # Those of a table of scores that may stand beside the traces; its places are `score.` and a name.
    score_marks: tuple[frozenset[str], ...] = ()
    # Columns; with some, only records of files that have one of them are unpacked.
    unpack_marks: frozenset[str] = frozenset()
    # Where the records stand in a document: the keys that lead to their list.
    lists: tuple[tuple[str, ...], ...] = ()
    # Columns of tables that must hold valid JSON; rows where they do not are kept and counted.
    json: tuple[str, ...] = ()
    # Patterns of files: those of an export of several tables that hold its traces, and those that are none.
    folder: str = ""
    leave_out: str = ""
    # Records are spans, of which several make a trace. Else every record is an answer; a missing one counts.
    spans: bool = False
    # The marks are words that others use too: they count where no other platform's marks fit.
    common: bool = False
    # Some records are requests, whose results stand in other files and have their names.
    requests: bool = False
    # A record may have several references, so that all must be looked at to tell the type of `expected`.
    several: bool = False
    unpack: Unpack | None = None
    # The numbers of words that are scores.
    grades: Mapping[str, float] = field(default_factory=dict)
    # Finds marks that are no fixed names: takes a file's columns and its name, gives those that tell it.
    shows: Callable[[Collection[str], str], Collection[str]] | None = None
    # What to do where the export holds no answers.
    hint: str = ""

    def unpacked_by(self, unpack: Unpack) -> Platform:
        """Return this platform with a function that unpacks its records."""
        return replace(self, unpack=unpack)


def layout(text: str, *, expand: Callable[[str], Iterable[str]] | None = None, **options: Any) -> Platform:
    """Declare a platform.

    The first line of the text has its name and title. Then come words: names with a colon, each followed by
    what it holds. Names are the attributes of `Platform` that are words (those that are true after `is`), and
    fields with the places that may hold them; without places, the field's own name. A place is `path` or
    `path|reading`: traces/path.hpp of the native code says what a path finds, reading.hpp what the readings
    are, `READINGS` which each field has. `expand` makes the places that a word beginning with `@` stands for.
    """
    head, _, declared = text.strip().partition("\n")
    name, _, title = head.partition(": ")
    words = dict[str, list[str]]()
    for word in declared.split():
        if word.endswith(":"):
            words[key := word[:-1]] = []
        else:
            words[key] += expand(word[1:]) if expand and word.startswith("@") else [word]
    for sets in ("marks", "score.marks"):
        columns = " ".join(words.pop(sets, ())).split(",")
        options[sets.replace(".", "_")] = tuple(frozenset(each.split()) for each in columns if each)
    options |= {pattern: "".join(words.pop(pattern, ())) for pattern in ("folder", "leave_out")}
    options |= dict.fromkeys(words.pop("is", ()), True)
    return Platform(
        name,
        title,
        unpack_marks=frozenset(words.pop("unpack_marks", ())),
        lists=tuple(tuple(path.split(".")) for path in words.pop("lists", ())),
        json=tuple(words.pop("json", ())),
        places={
            field: list(dict.fromkeys(found)) or [field.removeprefix("score.")]
            for field, found in words.items()
        },
        **options,
    )


class Candidate(NamedTuple):
    """A place that may hold a field, and how it is read there."""

    path: str
    reading: str


def candidates(platform: Platform, name: str) -> list[Candidate]:
    """List the places of a field, best first."""
    reading = READINGS.get(name, "word")
    written = [place.partition("|") for place in platform.places.get(name, ())]
    found = [Candidate(path, named or reading) for path, _, named in written]
    if name == "question" and not found:
        return [Candidate(place.path, "item") for place in candidates(platform, "input")]
    if name == "record" and not platform.spans and platform.name != "generic":
        return [Candidate("$", "hash")]
    if name in ("tool_calls", "finish_reason"):
        # What an answer says of itself.
        own = "calls" if name == "tool_calls" else "finish"
        found += [
            Candidate(place.path, own)
            for place in candidates(platform, "output")
            if place.reading in ("answer", "decoded", "parsed", "chat")
        ]
    return found


def held(record: Any, name: str) -> Record:
    """Return the object that a record holds under a name; an empty one where there is none."""
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, dict) else {}


def objects(record: Any, name: str) -> list[Record]:
    """Return the objects of the list that a record holds under a name."""
    value = record.get(name) if isinstance(record, dict) else None
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def calling(calls: list[Record]) -> Record | None:
    """Make the message of an assistant that calls tools; None without calls."""
    return {"role": "assistant", "content": None, "tool_calls": calls} if calls else None


def first(record: Mapping[str, Any], *names: str) -> Any:
    """Return the first value of some names that is there and not null."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def opened(value: Any, begins: str | tuple[str, ...] = ("{", "[")) -> Any:
    """Read JSON within JSON: a text that begins so. What cannot be read stays as it is."""
    try:
        return json.loads(value) if isinstance(value, str) and value.startswith(begins) else value
    except (ValueError, RecursionError):
        return value


def number(value: Any) -> float | None:
    """Take a number, or a yes or no, as a score."""
    return float(value) if isinstance(value, bool | int | float) else None


def as_number(value: Any) -> float | None:
    """Take a number that may be written as text, as tables of CSV hold it."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def read_scores(entries: Any, grades: Mapping[str, float] | None = None) -> Scores:
    """
    Read scores: `{name: value}`, or a list of `{name, value}`.

    A value is a number, a word, or an object that holds one of them, or both, under the names that platforms
    have for them. One that has several values is several scores.

    Examples
    --------
    >>> read_scores({"correct": True, "tone": {"score": 0.5, "label": "polite"}})
    {'correct': (1.0, None), 'tone': (0.5, 'polite')}
    >>> read_scores([{"key": "helpful", "score": 1}, {"name": "style", "result": {"label": "terse"}}])
    {'helpful': (1.0, None), 'style': (None, 'terse')}
    """
    if isinstance(entries, list):
        named = [
            (next((entry[key] for key in ("name", "key", "assessment_name") if entry.get(key)), None), entry)
            for entry in entries
            if isinstance(entry, dict)
        ]
    else:
        named = list(entries.items()) if isinstance(entries, dict) else []
    found = Scores()
    for name, about in named:
        if isinstance(about, dict) and isinstance(several := about.get("value"), dict):
            found |= {f"{name}_{inner}": _score(value) for inner, value in several.items()}
        elif name:
            value, label = _score(about)
            found[str(name)] = (grades or {}).get(label or "", value), label
    return {name: values for name, values in found.items() if values != (None, None)}


def _score(value: Any) -> tuple[float | None, str | None]:
    if not isinstance(value, dict):
        return number(value), value if isinstance(value, str) else None
    value = held(value, "result") or held(value, "feedback") or value
    numbers = (number(value.get(name)) for name in ("score", "value", "avg"))
    passed = {True: "pass", False: "fail"}.get(value.get("success"))
    words = [value.get(name) for name in ("label", "stringValue", "string_value", "value", "score")]
    words += [passed, next(iter(value.get("values") or ()), None)]
    return (
        next((one for one in numbers if one is not None), None),
        next((word for word in words if isinstance(word, str)), None),
    )


def read_object(path: Path) -> Record:
    """Read the JSON object of a file that stands beside the records; an empty one where there is none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def numbers_of(record: Record, *known: str) -> Record:
    """Take the numbers of a record that are in no known column, which are its scores."""
    return {
        name: value
        for name, value in record.items()
        if name not in known and number(value) is not None and not name.endswith("_threshold")
    }
