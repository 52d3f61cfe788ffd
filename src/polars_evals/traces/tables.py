"""Tables: Parquet and CSV files that agree, and what a field is in their columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_evals import _native
from polars_evals._polars import TIME_CASTS, is_map
from polars_evals.lift import elementwise, json_text
from polars_evals.traces.content import Kind
from polars_evals.traces.fields import FILE, NUMBER, Candidate, Field, as_text
from polars_evals.traces.files import readable_copy

BROKEN = "@broken"

_HEAD = re.compile(r"[^.\[]+")


def read_records(texts: pl.Series, columns: Mapping[str, Sequence[Candidate]]) -> pl.DataFrame:
    """Read fields of records, all in one pass: a column of texts for each, and `BROKEN`."""
    plan = [(name, [(place.path, place.reading) for place in places]) for name, places in columns.items()]
    found = _native.read_records(texts, plan, broken=BROKEN, threads=pl.thread_pool_size())
    return pl.concat([pl.DataFrame(piece) for piece in found], rechunk=False)


def read_text(texts: pl.Expr, places: Sequence[Candidate]) -> pl.Expr:
    """Read a field of records that are texts."""

    def read(batch: Sequence[pl.Series]) -> pl.Series:
        return read_records(batch[0], {"value": places}).get_column("value")

    return elementwise("scan_traces", {"texts": texts}, read, pl.String())


def as_record(schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Write columns as one JSON object a row."""
    return json_text(pl.struct(_encodable(pl.col(name), dtype).alias(name) for name, dtype in schema.items()))


def _encodable(expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if is_map(dtype):
        return expr.cast(pl.List(pl.Struct({"key": dtype.key, "value": dtype.value})))
    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Decimal | pl.Duration):
        return expr.cast(pl.String)
    if isinstance(dtype, pl.Binary):
        return expr.cast(pl.String, strict=False)
    return expr


@dataclass(frozen=True)
class Table:
    """Files of one kind whose columns have types that agree, so that one scan reads them."""

    kind: Kind
    hive: tuple[str, ...]
    files: list[str] = field(default_factory=list)
    schema: dict[str, pl.DataType] = field(default_factory=dict)

    def scan(self, storage_options: dict[str, Any] | None = None) -> pl.LazyFrame:
        """Scan the files."""
        if self.kind == "csv":
            tables = [
                pl.scan_csv(
                    file,
                    glob=False,
                    infer_schema=False,
                    separator="\t" if ".tsv" in file.lower() else ",",
                    storage_options=storage_options,
                ).with_columns(pl.lit(file).alias(FILE))
                for file in self.files
            ]
            return self._with_folders(pl.concat(tables, how="diagonal"))
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
                datetime_cast=list(TIME_CASTS.values()),
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
        return rows.with_columns(folder_value(key) for key in self.hive)

    def column_of(self, path: str) -> str | None:
        """Find the column that a path begins with: the longest, for columns may have dots in their names."""
        known = [
            column
            for column in (*self.schema, *self.hive, FILE)
            if path.startswith(column) and path[len(column) :][:1] in ("", ".", "[")
        ]
        return max(known, key=len, default=None)

    def columns_of(self, path: str) -> list[str]:
        """List the columns that a path may lead to: its own, and those that have counted names."""
        if path == "$":
            return list(self.schema)
        column = self.column_of(path)
        if column is not None:
            return [column]
        counted = re.compile(rf"{re.escape(path)}\.\d+\.")
        return [name for name in self.schema if counted.match(name)]

    def field(self, places: Sequence[Candidate]) -> Field | None:
        """Find a field: a column itself where that is all there is to it, so that filters reach the scan."""
        present = [(place, columns) for place in places if (columns := self.columns_of(place.path))]
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

    def _plain(self, place: Candidate) -> pl.Expr:
        """Take a column as text, without the ways to write that there is none."""
        text = as_text(Field(pl.col(place.path), self.schema.get(place.path, pl.String())))
        return text if place.reading == "text" else text.replace(["", "null", "{}"], None)

    def knows(self, name: str) -> bool:
        """Say whether a path begins with a column of these files."""
        return bool(self.columns_of(name))


def folder_value(key: str) -> pl.Expr:
    """Read what a folder named `key=value` says."""
    return pl.col(FILE).str.extract(rf"(?:^|/){re.escape(key)}=([^/]*)/").alias(key)


def numbered(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Tables have no line numbers to tell."""
    return frame.with_columns(pl.lit(None, pl.Int64).alias(NUMBER))
