"""From what a user names (a file, a folder, a pattern, a URL, or a list) to scans of files that are alike."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_evals.traces.fields import FILE, LINE, TIME, Fields, instance, json_value

Paths: TypeAlias = str | Path | Sequence[str | Path]

_PARQUET = re.compile(r"\.(parquet|pq)$", re.IGNORECASE)
_LINES = re.compile(r"\.(jsonl|ndjson)(\.(gz|zst))?$", re.IGNORECASE)
# How other files can begin that hold JSON Lines all the same: an object, or what gzip or Zstandard packed.
_LINES_BEGIN = re.compile(rb"(\xef\xbb\xbf)?\s*(\{|$)|\x1f\x8b|\x28\xb5\x2f\xfd")
_READERS = {".csv": "read_csv", ".json": "read_json", ".xlsx": "read_excel", ".avro": "read_avro"} | (
    dict.fromkeys((".arrow", ".feather", ".ipc"), "read_ipc")
)
# How a file begins whose JSON is one array, or one object over several lines.
_ONE_VALUE = re.compile(r"\[\s*(\{.*|\].*)?|\{", re.DOTALL)
_HIVE = re.compile(r"([^/=]+)=([^/]*)/")

# What may stand around a line of JSON.
_BLANK = " \t\r\ufeff"

_copies: ContextVar[Mapping[str, str]] = ContextVar("copies", default=MappingProxyType({}))

# How many lines of each JSON Lines file are read for its keys.
SAMPLE_LINES = 100

# How many lines that one JSON reader refuses are tried with the other, which knows wider bounds.
SUSPECT_LINES = 1_000


@dataclass(frozen=True)
class FileGroup:
    """Files of one kind whose columns have types that agree, so that one scan reads them."""

    kind: Literal["parquet", "lines"]
    hive: tuple[str, ...]
    files: list[str] = field(default_factory=list)
    schema: dict[str, pl.DataType] = field(default_factory=dict)
    nested: set[str] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        """The columns, and `column.key` for the keys one level below, as far as they are known."""
        return {*self.schema, *self.hive, *self.nested}

    @property
    def fields(self) -> Fields:
        """The values that the files hold."""
        return Fields(self.schema, lines=self.kind == "lines", hive=self.hive)

    def scan(self, keys: Iterable[str] = (), storage_options: dict[str, Any] | None = None) -> pl.LazyFrame:
        """Scan the files; of JSON Lines, these keys become columns of text, and blank lines are left out."""
        if self.kind == "lines":
            lines = pl.scan_lines(
                self.files, name=LINE, glob=False, storage_options=storage_options, include_file_paths=FILE
            )
            line = pl.col(LINE)
            return self._with_folders(
                lines.with_columns(line.str.strip_chars(_BLANK))
                .filter(line != "")
                .with_columns(
                    **{key: json_value(line, f"['{key}']") for key in keys if key not in (LINE, FILE)}
                )
            )
        read = [readable_copy(file) for file in self.files]
        copied = read != self.files
        table = pl.scan_parquet(
            read,
            schema={name: dtype for name, dtype in self.schema.items() if name not in self.hive},
            glob=False,
            hive_partitioning=bool(self.hive) and not copied,
            hive_schema=None if copied else dict.fromkeys(self.hive, pl.String()) or None,
            missing_columns="insert",
            extra_columns="ignore",
            # Times are converted by the scan itself, so that a filter on them can skip row groups.
            cast_options=pl.ScanCastOptions(
                datetime_cast=["nanosecond-downcast", "millisecond-upcast", "convert-timezone"],
                missing_struct_fields="insert",
                extra_struct_fields="ignore",
            ),
            storage_options=storage_options,
            include_file_paths=FILE,
        )
        if not copied:
            return table
        names = pl.col(FILE).replace(dict(zip(read, self.files, strict=True)))
        return self._with_folders(table.with_columns(names))

    def _with_folders(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Add the values that folders named `key=value` hold."""
        return rows.with_columns(
            pl.col(FILE).str.extract(rf"(?:^|/){re.escape(key)}=([^/]*)/").alias(key) for key in self.hive
        )


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
    files = [file for file in found if _PARQUET.search(file) or _LINES.search(file)]
    if not files:
        others = f" (only {', '.join(found[:3])}{', …' if len(found) > 3 else ''})" if found else ""
        raise FileNotFoundError(f"{what} no .parquet, .jsonl or .ndjson file{others}")
    return files


def _hidden(file: Path, root: str) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(root).parts)


def _expand_remote(path: str, storage_options: dict[str, Any] | None) -> list[str]:
    """List a remote folder or pattern with Polars itself, which knows every store that a scan can read."""
    is_lines = ".jsonl" in path or ".ndjson" in path
    if not has_magic(path) and (_PARQUET.search(path) or _LINES.search(path)):
        return [path]
    if is_lines:
        scan = pl.scan_lines(path, storage_options=storage_options, include_file_paths=FILE)
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


def group_files(files: Sequence[str], storage_options: dict[str, Any] | None = None) -> list[FileGroup]:
    """Read what each file holds and put together the files that one scan can read.

    Columns may come and go between the files. Types that cannot be merged start another group.
    """
    groups: list[FileGroup] = []
    for file in files:
        kind: Literal["parquet", "lines"] = "parquet" if is_parquet(file) else "lines"
        hive = tuple(name for name, _ in _HIVE.findall(file))
        schema, nested = _read_schema(file, kind, storage_options)
        for group in groups:
            if (group.kind, group.hive) != (kind, hive):
                continue
            merged = _merge_schemas(group.schema, schema)
            if merged is not None:
                group.schema.update(merged)
                group.nested.update(nested)
                group.files.append(file)
                break
        else:
            groups.append(FileGroup(kind, hive, [file], schema, nested))
    return groups


def is_parquet(file: str) -> bool:
    """Tell Parquet from JSON Lines, by the ending or else by the content; other kinds are refused."""
    if _PARQUET.search(file):
        return True
    if _LINES.search(file) or "://" in file:
        return False
    with open(file, "rb") as stream:
        begin = stream.read(1024)
    ending = Path(file).suffix.lower()
    holds_parquet = begin.startswith(b"PAR1")
    if ending and not holds_parquet and not _LINES_BEGIN.match(begin):
        reader = _READERS.get(ending)
        convert = f" (convert with pl.{reader}(...).write_parquet(...))" if reader else ""
        raise pl.exceptions.ComputeError(f"{file}: {ending} is not read; Parquet or JSON Lines are{convert}")
    return holds_parquet


def _read_schema(
    file: str, kind: Literal["parquet", "lines"], storage_options: dict[str, Any] | None
) -> tuple[dict[str, pl.DataType], set[str]]:
    """Find the columns of a file, and the keys that are visible one level below them."""
    try:
        if kind == "lines":
            head = pl.scan_lines(file, n_rows=SAMPLE_LINES, glob=False, storage_options=storage_options)
            lines = [line.strip(_BLANK) for line in head.collect().get_column("line")]
            _refuse_one_value(file, next(filter(None, lines), ""))
            return _sampled_keys(lines)
        scan = pl.scan_parquet(file, glob=False, hive_partitioning=False, storage_options=storage_options)
        schema = {name: _unified(dtype) for name, dtype in scan.collect_schema().items()}
    except (pl.exceptions.PolarsError, OSError) as error:
        raise type(error)(f"cannot read {file!r}: {error}") from error
    structs = {name: dtype for name, dtype in schema.items() if isinstance(dtype, pl.Struct)}
    return schema, {f"{name}.{inner.name}" for name, dtype in structs.items() for inner in dtype.fields}


def _refuse_one_value(file: str, first_line: str) -> None:
    """Refuse JSON that is not in lines, of which every line would be taken for a broken row."""
    if _ONE_VALUE.fullmatch(first_line):
        what = "an array" if first_line.startswith("[") else "an object over several lines"
        raise pl.exceptions.ComputeError(
            f"it is JSON, but {what}; JSON Lines have an object on each line (convert with "
            "pl.read_json(...).write_parquet(...))"
        )


def _sampled_keys(lines: Sequence[str]) -> tuple[dict[str, pl.DataType], set[str]]:
    keys: dict[str, pl.DataType] = {}
    nested: set[str] = set()
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue  # Invalid lines are kept and counted by the scan itself.
        if isinstance(value, dict):
            keys.update(dict.fromkeys(value, pl.String()))
            nested.update(
                f"{key}.{inner}" for key, held in value.items() if isinstance(held, dict) for inner in held
            )
    return keys, nested


def is_blank(file: str) -> bool:
    """Say whether a file of JSON Lines has no line with anything in it."""
    return _numbered_lines(file).head(1).collect(engine="streaming").is_empty()


def broken_line(file: str) -> tuple[int, str] | None:
    """Find the first line that cannot be read as a JSON object: its number, and what is wrong with it."""
    line = pl.col(LINE)
    suspects = _numbered_lines(file).filter(
        ~line.str.starts_with("{") | line.str.json_path_match("$").is_null()
    )
    for number, text in suspects.head(SUSPECT_LINES).collect(engine="streaming").iter_rows():
        try:
            pl.read_ndjson(text.encode())
        except pl.exceptions.PolarsError:
            return number, _reason(text)
    return None


def _numbered_lines(file: str) -> pl.LazyFrame:
    lines = pl.scan_lines(file, name=LINE, glob=False, row_index_name="number", row_index_offset=1)
    return lines.with_columns(pl.col(LINE).str.strip_chars(" \t\r")).filter(pl.col(LINE) != "")


def _reason(line: str) -> str:
    """Say what is wrong with a line that cannot be read."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return f"{error.msg} (column {error.colno:,})"
    except (ValueError, RecursionError):
        return "it is nested too deeply, or holds a number that is too long"
    return "NaN and Infinity are not JSON" if isinstance(value, dict) else "it is another JSON value"


def _unified(dtype: pl.DataType) -> pl.DataType:
    return TIME if isinstance(dtype, pl.Datetime) else dtype


def _merge_schemas(
    left: dict[str, pl.DataType], right: dict[str, pl.DataType]
) -> dict[str, pl.DataType] | None:
    merged = dict(left)
    for name, dtype in right.items():
        both = _merge(left.get(name, dtype), dtype)
        if both is None:
            return None
        merged[name] = both
    return merged


def _merge(left: pl.DataType, right: pl.DataType) -> pl.DataType | None:
    """Find the type that both can be read as: a column without values takes any, structs take all fields."""
    if left == right or isinstance(right, pl.Null):
        return left
    if isinstance(left, pl.Null):
        return right
    if isinstance(left, pl.Struct) and isinstance(right, pl.Struct):
        fields = _merge_schemas(_members(left), _members(right))
        return None if fields is None else pl.Struct(fields)
    if isinstance(left, pl.List) and isinstance(right, pl.List):
        inner = _merge(instance(left.inner), instance(right.inner))
        return None if inner is None else pl.List(inner)
    return None


def _members(dtype: pl.Struct) -> dict[str, pl.DataType]:
    return {member.name: instance(member.dtype) for member in dtype.fields}
