"""Tell which platform wrote each file, and say why."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from polars_evals._polars import TIME_CASTS
from polars_evals.traces.content import Kind, kind_of
from polars_evals.traces.platforms import GENERIC, PLATFORMS, Platform
from polars_evals.traces.read import sample
from polars_evals.traces.source import TIME
from polars_evals.wording import counted, did_you_mean, listed

_HIVE = re.compile(r"([^/=]+)=([^/]*)/")
# Kinds of files that folders of traces hold for other reasons too.
_OFTEN_OTHER: tuple[Kind, ...] = ("json", "csv", "yaml")


class FormatError(pl.exceptions.SchemaError):
    """A file's format cannot be told."""

    def __init__(self, message: str, file: str = "") -> None:
        super().__init__(message)
        self.file = file


class UnknownFormatError(FormatError):
    """The columns are of no platform."""


class AmbiguousFormatError(FormatError):
    """The columns are of several platforms: only the user can say which."""


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

    @property
    def names(self) -> set[str]:
        """The columns, and `column.key` for the keys one level below, as far as they are known."""
        return {*self.schema, *self.hive, *self.nested}


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
            left_out |= dict.fromkeys(beside, f"no traces, but beside those of a {candidate.title}")
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


def look(file: str, storage_options: dict[str, Any] | None) -> Seen:
    """Find out what a file is, and its columns or keys."""
    try:
        kind = kind_of(file)
        hive = tuple(name for name, _ in _HIVE.findall(file))
        if kind == "parquet":
            scan = pl.scan_parquet(file, glob=False, hive_partitioning=False, storage_options=storage_options)
            schema = {name: _unified(dtype) for name, dtype in scan.collect_schema().items()}
            structs = {name: dtype for name, dtype in schema.items() if isinstance(dtype, pl.Struct)}
            nested = {f"{name}.{inner.name}" for name, dtype in structs.items() for inner in dtype.fields}
            return Seen(file, kind, hive, schema, frozenset(nested))
        if kind == "csv":
            separator = "\t" if ".tsv" in file.lower() else ","
            table = pl.scan_csv(
                file, glob=False, infer_schema=False, separator=separator, storage_options=storage_options
            )
            return Seen(file, kind, hive, dict(table.collect_schema()))
        keys, nested = _keys(sample(file, kind, PLATFORMS.values(), storage_options))
    except (pl.exceptions.PolarsError, OSError) as error:
        said = str(error)
        raise type(error)(said if file in said else f"cannot read {file!r}: {said}") from error
    return Seen(file, kind, hive, dict.fromkeys(keys, pl.String()), frozenset(nested))


def _unified(dtype: pl.DataType) -> pl.DataType:
    return TIME if isinstance(dtype, pl.Datetime) and dtype.time_unit in TIME_CASTS else dtype


def _keys(records: Iterable[str]) -> tuple[list[str], set[str]]:
    keys: dict[str, None] = {}
    nested: set[str] = set()
    for text in records:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue  # Invalid records are kept and counted by the scan itself.
        if isinstance(value, dict):
            keys.update(dict.fromkeys(value))
            nested.update(
                f"{key}.{inner}" for key, held in value.items() if isinstance(held, dict) for inner in held
            )
    return list(keys), nested


def tell(seen: Seen) -> tuple[Platform, str]:
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
            f"{seen.file} could be {shown}: name one with format=, or pass only the files of one",
            seen.file,
        )
    if fitting:
        [(name, marks)] = fitting.items()
        return PLATFORMS[name], f"columns {', '.join(sorted(marks))} ({PLATFORMS[name].title})"
    if own:
        return GENERIC, "a column output, and no platform's columns"
    names = sorted(seen.schema)
    held = f"the columns {listed(names, 12)}" if names else "no rows and no columns"
    raise UnknownFormatError(
        f"no known trace format has {held} of {seen.file}: name the platform with format= "
        f'({", ".join(PLATFORMS)}), or your own columns with format="generic" and '
        'columns={"output": ..., "input": ...}',
        seen.file,
    )


def _fitting(platforms: Iterable[Platform], seen: Seen) -> dict[str, frozenset[str]]:
    """Find the platforms whose marks a file shows; one whose marks say less than another's is none."""
    names = seen.names
    shown = {
        platform.name: max(fits, key=len)
        for platform in platforms
        if (fits := [marks for marks in platform.marks if marks <= names])
    }
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


def tell_all(
    files: Sequence[str],
    named: Platform | None,
    explicit: set[str],
    storage_options: dict[str, Any] | None,
) -> tuple[list[Told], dict[str, str]]:
    """Tell each file's platform; in a folder, files that are no traces are left out with a reason.

    A file whose columns all are those of the others belongs to them: columns come and go. Any other is
    refused by name.
    """
    seen = [look(file, storage_options) for file in files]
    if named is not None:
        return [Told(each, named, "as asked for") for each in seen], {}
    told, unknown, left_out = list[Told](), list[tuple[Seen, UnknownFormatError]](), dict[str, str]()
    for each in seen:
        try:
            told.append(Told(each, *tell(each)))
        except UnknownFormatError as error:
            unknown.append((each, error))
    for each, refusal in unknown:
        owner = scores_of(each)
        if owner is not None and told:
            left_out[each.file] = f"scores of a {owner.title}"
            continue
        alike = [other for other in told if set(each.schema) <= set(other.seen.schema) | set(other.seen.hive)]
        if alike:
            told.append(Told(each, alike[0].platform, alike[0].reason))
        elif told and each.kind in _OFTEN_OTHER and each.file not in explicit:
            left_out[each.file] = "no known trace format"
        else:
            raise refusal
    order = {each.file: place for place, each in enumerate(seen)}
    return sorted(told, key=lambda one: order[one.seen.file]), left_out
