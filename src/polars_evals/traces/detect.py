"""Detect which platform wrote each file, and say why."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import polars as pl

from polars_evals._polars import TIME_CASTS
from polars_evals.storage.paths import Paths
from polars_evals.traces.content import Kind, TraceFile, expand, kind_of, named_files, refuse_large_parquet
from polars_evals.traces.platforms import GENERIC, PLATFORMS, Platform
from polars_evals.traces.propose import propose, propose_columns
from polars_evals.traces.read import sample, scan_table
from polars_evals.traces.source import TIME
from polars_evals.wording import counted, did_you_mean, listed

_HIVE = re.compile(r"([^/=]+)=[^/]*/")
# Kinds of files that folders of traces hold for other reasons too.
_OFTEN_OTHER: tuple[Kind, ...] = ("json", "csv", "yaml")
# Why such a file is left out beside traces.
UNKNOWN = "no known trace format"


class UnknownFormatError(pl.exceptions.SchemaError):
    """The columns match no platform."""


class AmbiguousFormatError(pl.exceptions.SchemaError):
    """The columns match several platforms."""


@dataclass(frozen=True)
class Detection:
    """What was seen in a set of files, and the format that was chosen.

    Attributes
    ----------
    format
        The word for `format=` in [`scan_traces`][polars_evals.scan_traces]; several, joined by `+`, where the
        files are of several formats.
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
        said = f"{self.format}: {self.reason}, in {counted(len(self.files), 'file')}"
        for reason in dict.fromkeys(self.left_out.values()):
            files = [file for file, why in self.left_out.items() if why == reason]
            said += f"; left out {counted(len(files), 'file')} ({reason}): {listed(files, 3)}"
        return said


class Recognized(NamedTuple):
    """A file, the platform that it is from, and why it is taken for that."""

    file: TraceFile
    platform: Platform
    reason: str


def platform_named(name: str) -> Platform | None:
    """Find a platform by its word; None for "auto"."""
    if name == "auto":
        return None
    if name in PLATFORMS:
        return PLATFORMS[name]
    hint = did_you_mean(name, ["auto", *PLATFORMS])
    raise ValueError(f"unknown format {name!r}{hint} (known: auto, {', '.join(PLATFORMS)})")


def choose_files(files: Sequence[str], platform: Platform | None) -> tuple[list[str], dict[str, str]]:
    """Pick the files that hold traces from an export of several tables; the others come with a reason."""
    left_out: dict[str, str] = {}
    # A pattern may begin with the slash of a folder.
    named = {file: "/" + Path(file).as_posix() for file in files}
    for candidate in (platform,) if platform else PLATFORMS.values():
        inside = _matching(named, candidate.folder)
        if inside:
            others = _tables_beside(named, inside, candidate.folder)
            left_out |= dict.fromkeys(others, f"another table of the {candidate.title}")
            unfinished = {file: "no manifest yet" for file in inside if _is_unfinished(file)}
            left_out |= unfinished
            named = {file: name for file, name in named.items() if file not in left_out}
            if not named:
                raise FileNotFoundError(f"no finished file: {listed(unfinished, 3)} has no manifest yet")
        beside = _matching(named, candidate.leave_out)
        if beside and len(beside) < len(named):
            left_out |= dict.fromkeys(beside, f"no traces: another file of the {candidate.title}")
            named = {file: name for file, name in named.items() if file not in beside}
    return list(named), left_out


def _matching(named: Mapping[str, str], pattern: str) -> dict[str, str]:
    return {file: name for file, name in named.items() if pattern and re.search(pattern, name)}


def _tables_beside(named: Mapping[str, str], inside: Mapping[str, str], pattern: str) -> list[str]:
    """List the files in folders beside those that a pattern finds: the other tables of the same export."""
    exports = {PurePosixPath(re.split(pattern, name, maxsplit=1)[0] or "/") for name in inside.values()}
    return [
        file
        for file, name in named.items()
        if file not in inside and not exports.isdisjoint(PurePosixPath(name).parent.parents)
    ]


def _is_unfinished(file: str) -> bool:
    """Say whether a table file lacks the manifest that commits it, in an export that writes manifests."""
    table = Path(file).parent
    manifests = table.parent / "manifests"
    stem = Path(file).name.split(".parquet")[0].split(".jsonl")[0]
    return "://" not in file and manifests.is_dir() and not os.path.exists(manifests / f"{stem}.json")


def look(name: str, storage_options: dict[str, Any] | None, copy: str | None = None) -> TraceFile:
    """Find out what a file is, and its columns or keys."""
    path = copy or name
    if any("\udc80" <= character <= "\udcff" for character in name):
        shown = os.fsencode(name).decode(errors="backslashreplace")
        raise pl.exceptions.ComputeError(f"the name of {shown!r} is not valid Unicode; rename the file")
    try:
        file = TraceFile(name, kind_of(path), path, storage_options, tuple(_HIVE.findall(name)))
        if file.kind == "parquet":
            refuse_large_parquet(path)
        if file.kind not in ("parquet", "csv"):
            return _with_keys(file, sample(file))
        columns = scan_table(file).collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        said = str(error).replace(path, name)
        raise type(error)(said if name in said else f"cannot read {name!r}: {said}") from None
    # Times of other units are converted by the scan itself.
    schema = {
        column: TIME if isinstance(dtype, pl.Datetime) and dtype.time_unit in TIME_CASTS else dtype
        for column, dtype in columns.items()
    }
    structs = {column: dtype for column, dtype in schema.items() if isinstance(dtype, pl.Struct)}
    nested = {f"{column}.{inner.name}" for column, dtype in structs.items() for inner in dtype.fields}
    return replace(file, schema=schema, nested=frozenset(nested))


def _with_keys(file: TraceFile, records: Sequence[Any]) -> TraceFile:
    """Add the keys of records, those one level below, and those that say the same in all records."""
    values, nested = dict[str, list[Any]](), set[str]()
    objects = [record for record in records if isinstance(record, dict)]
    for key, value in (item for record in objects for item in record.items()):
        values.setdefault(key, []).append(value)
        if isinstance(value, dict):
            nested.update(f"{key}.{name}" for name in value)
        elif isinstance(value, list):
            entries = [entry for entry in value[:8] if isinstance(entry, dict)]
            nested.update(f"{key}[].{name}" for entry in entries for name in entry)
    constant = {key for key, held in values.items() if held.count(held[0]) == len(objects) > 1}
    return replace(
        file,
        schema=dict.fromkeys(values, pl.String()),
        nested=frozenset(nested),
        is_empty=not records,
        constant=frozenset(constant),
    )


def _recognize(file: TraceFile) -> Recognized:
    """Choose the one platform whose marks a file shows; more than one, or none, is an error."""
    others = [platform for platform in PLATFORMS.values() if platform is not GENERIC]
    fitting = _fitting([platform for platform in others if not platform.common], file)
    are_tables = not fitting
    fitting = fitting or _fitting([platform for platform in others if platform.common], file)
    own = _fitting([GENERIC], file)
    # Of a table with our names, which may have some other column too, the marks that say more count.
    if own and fitting and are_tables and len(own[GENERIC.name]) >= max(map(len, fitting.values())):
        fitting = {}
    if len(fitting) > 1:
        shown = "; ".join(f"{name} (columns {', '.join(sorted(marks))})" for name, marks in fitting.items())
        raise AmbiguousFormatError(
            f"{file.name} could be {shown}: name one with format=, or pass only the files of one"
        )
    for name, marks in fitting.items():
        reason = f"columns {', '.join(sorted(marks))} ({PLATFORMS[name].title})"
        return Recognized(file, PLATFORMS[name], reason)
    if own:
        return Recognized(file, GENERIC, "a column output, and no platform's columns")
    names = sorted(file.schema)
    columns = f"the columns {listed(names, 12)}" if names else "no JSON object in the records"
    raise UnknownFormatError(
        f"no known trace format has {columns} of {file.name}; {_proposal(file)}"
        f"or name the platform with format= ({', '.join(PLATFORMS)})"
    )


def _proposal(file: TraceFile) -> str:
    """Propose the columns of a table that nobody knows, as options of the library and of the command."""
    if file.kind in ("parquet", "csv"):
        proposed = propose_columns(scan_table(file))
    else:
        proposed = propose([record for record in sample(file) if isinstance(record, dict)])
    if "output" not in proposed:
        return 'name the column of the answers with columns={"output": ...}, '
    # What has its canonical name needs no option.
    given = {name: path for name, path in proposed.items() if name != path}
    mapped = ", ".join(f'"{name}": "{path}"' for name, path in given.items())
    options = " ".join(f"--column {shlex.quote(f'{name}={path}')}" for name, path in given.items())
    return f"read it with columns={{{mapped}}} (command line: {options}) if these are right, "


def _fitting(platforms: Iterable[Platform], file: TraceFile) -> dict[str, frozenset[str]]:
    """Find the platforms whose marks a file shows; one whose marks say less than another's is none."""
    names, shown = file.names, dict[str, frozenset[str]]()
    for platform in platforms:
        fits = [marks for marks in platform.marks if marks <= names]
        if platform.shows is not None and (found := platform.shows(names, file.name)):
            fits.append(frozenset(found))
        if fits:
            shown[platform.name] = max(fits, key=len)
    return {
        name: marks for name, marks in shown.items() if not any(marks < others for others in shown.values())
    }


def score_table_of(file: TraceFile) -> Platform | None:
    """Find the platform that wrote a table of scores; None for another file."""
    for platform in PLATFORMS.values():
        if any(marks <= file.names for marks in platform.score_marks):
            return platform
    return None


@dataclass(frozen=True)
class SortedFiles:
    """Files by what they are: those of a platform, those that are no traces, those that cannot be read."""

    files: list[str] = field(default_factory=list)
    recognized: list[Recognized] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    # Those of `failed` that would be left out beside traces.
    strays: list[str] = field(default_factory=list)


def sort_files(
    path: Paths,
    format_name: str,
    storage_options: dict[str, Any] | None,
    *,
    output: str | pl.Expr | None = None,
    as_is: Collection[str] | None = None,
    explicit: Collection[str] | None = None,
    copies: Mapping[str, str] | None = None,
    apart: bool = False,
) -> SortedFiles:
    """Find the platform of each file of some paths; files that are no traces are left out with a reason.

    A file whose columns all are those of the others belongs to them: columns come and go. So does one of no
    platform that has the column `output`, which the user named. Any other is refused. With `apart`, each file
    is judged by itself. Where no file is of a platform, those with the columns `as_is` are taken as they are.
    Files in `explicit`, by default those that were named one by one, are refused where others are left out.
    """
    named = platform_named(format_name)
    # Files that are read from copies need not be there.
    paths = list(path) if copies and isinstance(path, Sequence) else expand(path, storage_options)
    files, beside = choose_files([str(file) for file in paths], named)
    explicit = named_files(path) if explicit is None else explicit
    found, seen = SortedFiles(files, left_out=beside), list[TraceFile]()
    unknown, empty = list[tuple[TraceFile, UnknownFormatError]](), list[str]()
    for name in files:
        try:
            seen.append(file := look(name, storage_options, (copies or {}).get(name)))
            if file.is_empty and named is None:
                empty.append(name)
            else:
                found.recognized.append(
                    _recognize(file) if named is None else Recognized(file, named, "as asked for")
                )
        except UnknownFormatError as error:
            unknown.append((file, error))
        except (pl.exceptions.PolarsError, OSError) as error:
            # Without what led to it, which would keep the file open.
            error.__traceback__ = error.__context__ = None
            found.failed[name] = error
    alone = not found.recognized
    mapped = [one for one in unknown if output is not None and (alone or one[0].has(output))]
    found.recognized.extend(Recognized(file, GENERIC, "the columns that were named") for file, _ in mapped)
    _place_unknown([one for one in unknown if one not in mapped], found, explicit, as_is, apart=apart)
    for name in empty:
        if found.recognized or as_is is not None or apart:
            found.left_out[name] = "empty"
        else:
            found.failed[name] = pl.exceptions.SchemaError(f"{name!r} is empty: it holds no records")
    order = {file.name: place for place, file in enumerate(seen)}
    found.recognized.sort(key=lambda one: order[one.file.name])
    return found


def _place_unknown(
    unknown: Sequence[tuple[TraceFile, UnknownFormatError]],
    found: SortedFiles,
    explicit: Collection[str],
    as_is: Collection[str] | None,
    *,
    apart: bool,
) -> None:
    """Decide on files that no platform's marks fit, by what the others are."""
    platforms = [one for one in found.recognized if one.platform is not GENERIC]
    for file, refusal in unknown:
        owner = score_table_of(file)
        alike = [one for one in found.recognized if file.schema.keys() <= {*one.file.schema, *one.file.hive}]
        if owner is not None and found.recognized:
            found.left_out[file.name] = f"scores of a {owner.title}"
        elif alike and not apart:
            found.recognized.append(alike[0]._replace(file=file))
        elif as_is is not None and not platforms and set(as_is) <= file.names:
            found.recognized.append(Recognized(file, GENERIC, "a table of an unknown platform"))
        elif file.kind not in _OFTEN_OTHER or file.name in explicit or not found.recognized:
            found.failed[file.name] = refusal
            if file.kind in _OFTEN_OTHER and file.name not in explicit:
                found.strays.append(file.name)
        else:
            found.left_out[file.name] = UNKNOWN
