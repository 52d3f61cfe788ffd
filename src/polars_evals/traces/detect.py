"""Detect which platform wrote each file, and say why."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from polars_evals._polars import TIME_CASTS
from polars_evals.storage.paths import Paths
from polars_evals.traces.content import Kind, expand, kind_of, named_files, refuse_large_parquet
from polars_evals.traces.platforms import GENERIC, PLATFORMS, Platform
from polars_evals.traces.propose import as_options, propose, propose_columns
from polars_evals.traces.read import sample, scan_table
from polars_evals.traces.source import TIME
from polars_evals.wording import counted, did_you_mean, listed

_HIVE = re.compile(r"([^/=]+)=([^/]*)/")
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


@dataclass(frozen=True)
class Seen:
    """A file, and what its first records or its columns are called."""

    file: str
    kind: Kind
    hive: tuple[str, ...]
    schema: Mapping[str, pl.DataType] = field(default_factory=dict)
    nested: frozenset[str] = frozenset()
    is_empty: bool = False
    # Where its bytes are, if it is read from a copy.
    copy: str | None = None
    # Keys that say the same in all of the first records.
    constant: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        """Where its bytes are."""
        return self.copy or self.file

    @property
    def names(self) -> set[str]:
        """The columns, and `column.key` for the keys one level below, as far as they are known."""
        return {*self.schema, *self.hive, *self.nested}

    def has(self, column: str | pl.Expr) -> bool:
        """Whether a column, a path into one, or the columns of an expression are there."""
        if isinstance(column, pl.Expr):
            used = set(column.meta.root_names())
            return bool(used) and used <= self.names
        return any(
            column.startswith(name) and column[len(name) :][:1] in ("", ".", "[") for name in self.names
        )


@dataclass(frozen=True)
class Told:
    """A file and the platform that it is from."""

    seen: Seen
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
            others = _tables_beside(named, inside, str(candidate.folder))
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


def _matching(named: Mapping[str, str], pattern: str | None) -> dict[str, str]:
    if pattern is None:
        return {}
    return {file: name for file, name in named.items() if re.search(pattern, name)}


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


def look(file: str, storage_options: dict[str, Any] | None, copy: str | None = None) -> Seen:
    """Find out what a file is, and its columns or keys."""
    path = copy or file
    if any("\udc80" <= character <= "\udcff" for character in file):
        shown = os.fsencode(file).decode(errors="backslashreplace")
        raise pl.exceptions.ComputeError(f"the name of {shown!r} is not valid Unicode; rename the file")
    try:
        kind = kind_of(path)
        hive = tuple(name for name, _ in _HIVE.findall(file))
        if kind == "parquet":
            refuse_large_parquet(path)
        if kind in ("parquet", "csv"):
            columns = scan_table(path, kind, storage_options).collect_schema()
            # Times of other units are converted by the scan itself.
            schema = {
                name: TIME if isinstance(dtype, pl.Datetime) and dtype.time_unit in TIME_CASTS else dtype
                for name, dtype in columns.items()
            }
            structs = {name: dtype for name, dtype in schema.items() if isinstance(dtype, pl.Struct)}
            nested = {f"{name}.{inner.name}" for name, dtype in structs.items() for inner in dtype.fields}
            return Seen(file, kind, hive, schema, frozenset(nested), copy=copy)
        records = sample(path, kind, PLATFORMS.values(), storage_options)
        keys, nested, constant = _keys(records)
    except (pl.exceptions.PolarsError, OSError) as error:
        said = str(error).replace(path, file)
        raise type(error)(said if file in said else f"cannot read {file!r}: {said}") from None
    return Seen(
        file, kind, hive, dict.fromkeys(keys, pl.String()), frozenset(nested), not records, copy, constant
    )


def _keys(records: Iterable[str | None]) -> tuple[list[str], set[str], frozenset[str]]:
    """Gather the keys of records, those one level below, and those that say the same in all records."""
    held: dict[str, list[Any]] = {}
    nested: set[str] = set()
    objects = [value for text in records if isinstance(value := _parsed(text), dict)]
    for value in objects:
        for key, inner in value.items():
            held.setdefault(key, []).append(inner)
            if isinstance(inner, dict):
                nested.update(f"{key}.{name}" for name in inner)
            elif isinstance(inner, list):
                entries = [entry for entry in inner[:8] if isinstance(entry, dict)]
                nested.update(f"{key}[].{name}" for entry in entries for name in entry)
    constant = {key for key, values in held.items() if values.count(values[0]) == len(objects) > 1}
    return list(held), nested, frozenset(constant)


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None  # Invalid records are kept and counted by the scan itself.


def _tell(seen: Seen) -> tuple[Platform, str]:
    """Choose the one platform whose marks a file shows; more than one, or none, is an error."""
    others = [platform for platform in PLATFORMS.values() if platform is not GENERIC]
    fitting = _fitting([platform for platform in others if not platform.common], seen)
    are_tables = not fitting
    fitting = fitting or _fitting([platform for platform in others if platform.common], seen)
    own = _fitting([GENERIC], seen)
    # A table with our names, which may have some other column too, is told by the marks that say more.
    if own and fitting and are_tables and len(own[GENERIC.name]) >= max(map(len, fitting.values())):
        fitting = {}
    if len(fitting) > 1:
        shown = "; ".join(f"{name} (columns {', '.join(sorted(marks))})" for name, marks in fitting.items())
        raise AmbiguousFormatError(
            f"{seen.file} could be {shown}: name one with format=, or pass only the files of one"
        )
    if fitting:
        [(name, marks)] = fitting.items()
        return PLATFORMS[name], f"columns {', '.join(sorted(marks))} ({PLATFORMS[name].title})"
    if own:
        return GENERIC, "a column output, and no platform's columns"
    raise UnknownFormatError(_unknown(seen))


def _unknown(seen: Seen) -> str:
    """Say that a file is of no known format, and propose how to read it."""
    names = sorted(seen.schema)
    held = f"the columns {listed(names, 12)}" if names else "no JSON object in the records"
    return (
        f"no known trace format has {held} of {seen.file}; {_proposal(seen)}"
        f"or name the platform with format= ({', '.join(PLATFORMS)})"
    )


def _proposal(seen: Seen) -> str:
    """Propose the columns of a table that nobody knows, as options of the library and of the command."""
    if seen.kind in ("parquet", "csv"):
        proposed = propose_columns(scan_table(seen.path, seen.kind, None))
    else:
        texts = sample(seen.path, seen.kind, PLATFORMS.values(), None)
        proposed = propose([record for text in texts if isinstance(record := _parsed(text), dict)])
    if "output" not in proposed:
        return 'name the column of the answers with columns={"output": ...}, '
    options = as_options(proposed)
    mapped = ", ".join(f'"{name}": "{path}"' for name, path in proposed.items() if name != path)
    return f"read it with columns={{{mapped}}} (command line: {options}) if these are right, "


def _fitting(platforms: Iterable[Platform], seen: Seen) -> dict[str, frozenset[str]]:
    """Find the platforms whose marks a file shows; one whose marks say less than another's is none."""
    names, shown = seen.names, dict[str, frozenset[str]]()
    for platform in platforms:
        fits = [marks for marks in platform.marks if marks <= names]
        if platform.shows is not None and (found := platform.shows(names, seen.file)):
            fits.append(frozenset(found))
        if fits:
            shown[platform.name] = max(fits, key=len)
    return {
        name: marks for name, marks in shown.items() if not any(marks < others for others in shown.values())
    }


def scores_of(seen: Seen) -> Platform | None:
    """Tell whose table of scores a file is."""
    for platform in PLATFORMS.values():
        table = platform.score_table
        if table is not None and any(marks <= seen.names for marks in table.marks):
            return platform
    return None


@dataclass(frozen=True)
class Sorting:
    """What files are: those of a platform, those that are no traces, those that cannot be read, and why."""

    files: list[str] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
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
) -> Sorting:
    """Tell the platform of each file of some paths; files that are no traces are left out with a reason.

    A file whose columns all are those of the others belongs to them: columns come and go. So does one of no
    platform that has the column `output`, which the user named. Any other is refused. With `apart`, no file
    is told by others. Where no file is of a platform, those with the columns `as_is` are taken as they are.
    Files in `explicit`, by default those that were named one by one, are refused where others are left out.
    """
    named = platform_named(format_name)
    # Files that are read from copies need not be there.
    listed = list(path) if copies and isinstance(path, Sequence) else expand(path, storage_options)
    files, beside = choose_files([str(file) for file in listed], named)
    explicit = named_files(path) if explicit is None else explicit
    found, seen = Sorting(files, left_out=beside), list[Seen]()
    unknown = list[tuple[Seen, UnknownFormatError]]()
    empty = list[str]()
    for file in files:
        try:
            each = look(file, storage_options, (copies or {}).get(file))
        except (pl.exceptions.PolarsError, OSError) as error:
            # Without what led to it, which would keep the file open.
            error.__traceback__ = error.__context__ = None
            found.failed[file] = error
            continue
        seen.append(each)
        if each.is_empty and named is None:
            empty.append(file)
            continue
        try:
            platform, reason = (named, "as asked for") if named is not None else _tell(each)
            found.told.append(Told(each, platform, reason))
        except UnknownFormatError as error:
            unknown.append((each, error))
        except AmbiguousFormatError as error:
            found.failed[file] = error
    alone = not found.told
    mapped = [(each, error) for each, error in unknown if output is not None and (alone or each.has(output))]
    found.told.extend(Told(each, GENERIC, "the columns that were named") for each, _ in mapped)
    _tell_others([one for one in unknown if one not in mapped], found, explicit, as_is, apart=apart)
    for file in empty:
        if found.told or as_is is not None or apart:
            found.left_out[file] = "empty"
        else:
            found.failed[file] = pl.exceptions.SchemaError(f"{file!r} is empty: it holds no records")
    order = {each.file: place for place, each in enumerate(seen)}
    found.told.sort(key=lambda one: order[one.seen.file])
    return found


def _tell_others(
    unknown: Sequence[tuple[Seen, UnknownFormatError]],
    found: Sorting,
    explicit: Collection[str],
    as_is: Collection[str] | None,
    *,
    apart: bool,
) -> None:
    """Say what becomes of files that no platform's marks fit, by what the others are."""
    platforms = [one for one in found.told if one.platform is not GENERIC]
    for each, refusal in unknown:
        owner = scores_of(each)
        alike = [one for one in found.told if set(each.schema) <= set(one.seen.schema) | set(one.seen.hive)]
        if owner is not None and found.told:
            found.left_out[each.file] = f"scores of a {owner.title}"
        elif alike and not apart:
            found.told.append(Told(each, alike[0].platform, alike[0].reason))
        elif as_is is not None and not platforms and set(as_is) <= each.names:
            found.told.append(Told(each, GENERIC, "a table of an unknown platform"))
        elif each.kind not in _OFTEN_OTHER or each.file in explicit:
            found.failed[each.file] = refusal
        elif found.told:
            found.left_out[each.file] = UNKNOWN
        else:
            found.failed[each.file] = refusal
            found.strays.append(each.file)
