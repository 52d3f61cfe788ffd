"""Files of one platform as one lazy scan: tables (Parquet, CSV), and streams of records."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import polars as pl
from polars.io.plugins import register_io_source

from polars_evals._polars import TIME_CASTS, is_map
from polars_evals.expressions.python import json_text
from polars_evals.traces.content import Kind, TraceFile, beginnings
from polars_evals.traces.platforms.base import Candidate, Platform
from polars_evals.traces.read import (
    BATCH_BYTES,
    BROKEN,
    FILE,
    KEPT,
    LINE,
    NUMBER,
    as_record,
    read_records,
    read_text,
    record_frames,
    refuse_deep,
    scan_table,
)

if TYPE_CHECKING:
    from polars.datatypes import DataTypeClass

TIME = pl.Datetime("us", "UTC")


class Field(NamedTuple):
    """An expression over a source file, and the type that it has there."""

    expr: pl.Expr
    dtype: pl.DataType


def instance(dtype: DataTypeClass | pl.DataType) -> pl.DataType:
    """Take a type written as a class, as Polars' nested types may hold it, as an instance."""
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def as_text(field: Field) -> pl.Expr:
    """Read a field as strings: nested values become JSON, a string stays as it is."""
    expr, dtype = field
    if isinstance(dtype, pl.String):
        return expr
    if isinstance(dtype, pl.Struct):
        # A null struct is encoded as the text "null"; the root path turns that into a null.
        return json_text(expr).str.json_path_match("$")
    if is_map(dtype):
        entries = pl.List(pl.Struct({"key": dtype.key, "value": dtype.value}))
        return as_text(Field(expr.cast(entries), entries))
    if isinstance(dtype, pl.List | pl.Array):
        return json_text(pl.struct(value=expr)).str.json_path_match("$.value")
    return expr.cast(pl.String)


@dataclass
class Group:
    """Files of one platform that one scan reads."""

    platform: Platform
    members: list[TraceFile]
    # The columns or keys of all of them.
    schema: dict[str, pl.DataType]

    @property
    def files(self) -> list[str]:
        """The names of the files."""
        return [member.name for member in self.members]

    @property
    def hive(self) -> tuple[str, ...]:
        """The folders named `key=value`, the same for all files."""
        return self.members[0].hive if self.members else ()

    def only(self, files: Collection[str]) -> Self:
        """Take some of the files."""
        wanted = set(files)
        return replace(self, members=[member for member in self.members if member.name in wanted])

    def _with_folders(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Add what folders named `key=value` say."""
        return rows.with_columns(
            pl.col(FILE).str.extract(rf"(?:^|/){re.escape(key)}=([^/]*)/").alias(key) for key in self.hive
        )


class Table(Group):
    """Files of one kind whose columns have types that agree."""

    @property
    def kind(self) -> Kind:
        """What the files are: all Parquet or all CSV."""
        return self.members[0].kind

    def scan(self, storage_options: dict[str, Any] | None = None) -> pl.LazyFrame:
        """Scan the files."""
        if self.kind == "csv":
            tables = [
                scan_table(member, storage_options).with_columns(pl.lit(member.name).alias(FILE))
                for member in self.members
            ]
            return self._with_folders(pl.concat(tables, how="diagonal"))
        names = {member.path: member.name for member in self.members}
        are_copies = list(names) != self.files
        table = pl.scan_parquet(
            list(names),
            schema={name: dtype for name, dtype in self.schema.items() if name not in self.hive},
            glob=False,
            hive_partitioning=bool(self.hive) and not are_copies,
            hive_schema=None if are_copies else dict.fromkeys(self.hive, pl.String()) or None,
            missing_columns="insert",
            extra_columns="ignore",
            # Times are converted by the scan itself, so that a filter on them can skip row groups.
            cast_options=pl.ScanCastOptions(
                datetime_cast=list(TIME_CASTS.values()),
                missing_struct_fields="insert",
                extra_struct_fields="ignore",
            ),
            storage_options=storage_options,
            include_file_paths=FILE,
        )
        return self._with_folders(table.with_columns(pl.col(FILE).replace(names))) if are_copies else table

    def _columns_of(self, path: str) -> list[str]:
        """List the columns that a path may lead to: its own, and those that have counted names."""
        if path == "$":
            return list(self.schema)
        known = beginnings(path, (*self.schema, *self.hive, FILE))
        counted = re.compile(rf"{re.escape(path)}\.\d+\.")
        return [max(known, key=len)] if known else [name for name in self.schema if counted.match(name)]

    def field(self, places: Sequence[Candidate]) -> Field | None:
        """Find a field: a column itself where that is all there is to it, so that filters reach the scan."""
        present = [(place, columns) for place in places if (columns := self._columns_of(place.path))]
        if not present:
            return None
        whole = [
            place
            for place, columns in present
            if columns == [place.path] and place.reading in ("text", "word")
        ]
        dtypes = {self.schema.get(place.path, pl.String()) for place in whole}
        if len(whole) == len(present) and not any(dtype.is_nested() for dtype in dtypes):
            if len(whole) == 1 and (whole[0].reading == "text" or pl.String() not in dtypes):
                return Field(pl.col(whole[0].path), dtypes.pop())
            return Field(pl.coalesce(self._plain(place) for place in whole), pl.String())
        used = dict.fromkeys(column for _, columns in present for column in columns)
        record = as_record({name: self.schema.get(name, pl.String()) for name in used})
        return Field(read_text(record, [place for place, _ in present]), pl.String())

    def source_field(self, path: str, reading: str = "text") -> Field | None:
        """Find what a user names: a column or a path into one."""
        return self.field([Candidate(path, reading)])

    def _plain(self, place: Candidate) -> pl.Expr:
        """Take a column as text, without the ways to write that there is none."""
        text = as_text(Field(pl.col(place.path), self.schema.get(place.path, pl.String())))
        return text if place.reading == "text" else text.replace(["", "null", "{}"], None)

    def knows(self, name: str) -> bool:
        """Say whether a path begins with a column of these files."""
        return bool(self._columns_of(name))


@dataclass
class Stream(Group):
    """Files of records."""

    # Whether the platform must take the records apart.
    unpacks: bool = False
    constant: set[str] = field(default_factory=set)
    # The fields that were asked for, and so must be read from the records.
    used: dict[str, Sequence[Candidate]] = field(default_factory=dict)
    # The source's own keys that were asked for, which unpacking must keep.
    kept: list[str] = field(default_factory=list)
    # Fields that are not needed where another one is there: hashes in the place of ids.
    unless: dict[str, str] = field(default_factory=dict)

    def only(self, files: Collection[str]) -> Self:
        """Take some of the files, as they were before fields were asked of them."""
        return replace(super().only(files), used={}, kept=[], unless={})

    def field(self, places: Sequence[Candidate]) -> Field | None:
        """Find a field; folders named `key=value` stand in for keys that the records lack."""
        if not places:
            return None
        name = f"@{len(self.used)}"
        self.used[name] = list(places)
        folders = [pl.col(place.path) for place in places if place.path in self.hive]
        return Field(pl.coalesce(pl.col(name), *folders) if folders else pl.col(name), pl.String())

    def source_field(self, path: str, reading: str = "text") -> Field | None:
        """Find what a user names: a key or a path of the records as they are in the file."""
        if path in (FILE, LINE) or path in self.hive:
            return Field(pl.col(path), pl.String())
        places = [Candidate(path, reading)]
        if self.unpacks:
            self.kept.extend({path, path.partition(".")[0].partition("[")[0]} - set(self.kept))
            places = [Candidate(f"{KEPT}.{path}", reading), *places]
        return self.field(places)

    def knows(self, name: str) -> bool:
        """Say whether a path begins with a key that was seen."""
        return bool(beginnings(name, (*self.schema, *self.hive, FILE, LINE)))

    def scan(self, storage_options: dict[str, Any] | None = None) -> pl.LazyFrame:
        """Scan the files: the fields that are used, as texts."""
        text = dict.fromkeys((*self.used, FILE, LINE, BROKEN), pl.String())

        def frames(wanted: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
            fields = {name: places for name, places in self.used.items() if name in wanted}
            for records in self.records(storage_options, at_once=at_once):
                if not fields and BROKEN not in wanted:
                    yield records
                    continue
                values = read_records(records.get_column(LINE), fields, self.unless)
                refuse_deep(records, values)
                yield records.hstack(values)

        return self._with_folders(scan_frames(pl.Schema({**text, NUMBER: pl.Int64()}), frames))

    def records(
        self,
        storage_options: dict[str, Any] | None,
        *,
        at_once: int = BATCH_BYTES,
        passed: Container[str] = (),
    ) -> Iterator[pl.DataFrame]:
        """Read the records of the files; those of small files come together, up to some bytes.

        Of a file that is in `passed` by then, no more is read.
        """
        held, size = list[pl.DataFrame](), 0
        unpack = self.platform.unpack if self.unpacks else None
        for member in self.members:
            for frame in record_frames(
                member, self.platform.lists, unpack, kept=self.kept, storage_options=storage_options
            ):
                if member.name in passed:
                    break
                name = pl.Series(FILE, [member.name], pl.String).new_from_index(0, frame.height)
                held.append(frame.insert_column(frame.width, name))
                size += int(frame.estimated_size())
                if size >= at_once:
                    yield pl.concat(held)
                    held, size = [], 0
        if held:
            yield pl.concat(held)


def scan_frames(
    schema: pl.Schema, frames: Callable[[Sequence[str], int], Iterator[pl.DataFrame]]
) -> pl.LazyFrame:
    """Scan frames that are made as they are needed, from the wanted columns and the bytes to read at once."""

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if columns is None else columns
        # A caller who wants a few rows does not wait for those of other files.
        for frame in frames(wanted, BATCH_BYTES if rows is None else 0):
            found = frame if predicate is None else frame.filter(predicate)
            if rows is not None:
                found = found.head(rows)
                rows -= found.height
            yield found.select(wanted)
            if rows == 0:
                return

    return register_io_source(source, schema=schema)


def merge_schemas(
    left: Mapping[str, pl.DataType], right: Mapping[str, pl.DataType], *, widen: bool = False
) -> dict[str, pl.DataType] | None:
    """Merge columns, which may come and go; None where a type changes."""
    merged = dict(left)
    for name, dtype in right.items():
        both = merge_types(left.get(name, dtype), dtype, widen=widen)
        if both is None:
            return None
        merged[name] = both
    return merged


def merge_types(left: pl.DataType, right: pl.DataType, *, widen: bool = False) -> pl.DataType | None:
    """
    Find the type that both can be read as; None where there is none.

    A column without values takes any type, structs take all fields. With `widen`, numbers become floats.
    """
    if left == right or isinstance(right, pl.Null):
        return left
    if isinstance(left, pl.Null):
        return right
    if widen and left.is_numeric() and right.is_numeric():
        return pl.Float64()
    if isinstance(left, pl.Struct) and isinstance(right, pl.Struct):
        fields = merge_schemas(_members(left), _members(right), widen=widen)
        return None if fields is None else pl.Struct(fields)
    if isinstance(left, pl.List) and isinstance(right, pl.List):
        inner = merge_types(instance(left.inner), instance(right.inner), widen=widen)
        return None if inner is None else pl.List(inner)
    return None


def _members(dtype: pl.Struct) -> dict[str, pl.DataType]:
    return {member.name: instance(member.dtype) for member in dtype.fields}
