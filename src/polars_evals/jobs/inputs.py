"""What to read: files of a trace platform, or tables of one's own with all their columns."""

from __future__ import annotations

import os
import shutil
from codecs import BOM_UTF8
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from zipfile import BadZipFile

import polars as pl
import pyarrow as pa

from polars_evals._errors import InputError
from polars_evals._polars import scan_ndjson
from polars_evals.jobs.memory import refuse_long_lines
from polars_evals.jobs.small import SMALL_BYTES, Exports, Small, small_lines, small_table, unpacked_bytes
from polars_evals.storage.objects import CHANGED, Entry, download, is_remote
from polars_evals.storage.paths import Listing, is_inside_of, list_files, unique_files
from polars_evals.storage.secrets import one_line
from polars_evals.traces import detect_traces, scan_traces
from polars_evals.traces.content import ENDINGS, kind_of
from polars_evals.traces.dataset import Dataset
from polars_evals.traces.detect import UnknownFormatError, choose_files, platform_named
from polars_evals.traces.files import is_parquet, readable_copy
from polars_evals.traces.plan import ScanPlan, make_plan
from polars_evals.traces.read import broken_line, is_blank
from polars_evals.traces.rows import Rows, as_time, with_text_as_time
from polars_evals.traces.source import Field

__all__ = ["CHANGED", "READ_ERRORS", "Input", "detect", "scan_all"]

# The copies of objects that are being read.
_downloads: ContextVar[Mapping[str, str]] = ContextVar("downloads", default=MappingProxyType({}))

# What reading a file can raise when the file, and not the program, is at fault.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


@dataclass(frozen=True)
class Input:
    """The files to score, and how to read them.

    Parameters
    ----------
    path
        Files, folders and patterns, on this machine or in an object store.
    format
        A trace format; `"auto"` tells by the columns, and takes a file of no platform as it is.
    columns, keep, rows
        As in `scan_traces`.
    allow_empty
        Whether paths that match nothing are fine, once something was taken.
    storage_options
        How to get to an object store, as in `pl.scan_parquet`.
    dataset
        Where the expected values are, if not in the files.
    """

    path: Sequence[str]
    format: str = "auto"
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    rows: Rows | None = None
    allow_empty: bool = False
    storage_options: Mapping[str, str] | None = None
    dataset: Dataset | None = None
    # The formats of Parquet files, by their likeness, as far as they have been told.
    formats: dict[Hashable, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def files(self) -> list[str]:
        """List the files; what is named and not there, or cannot be looked into, is an error."""
        return self.listed().files

    def listed(self) -> Listing:
        """List the files with what is known of them; what is named and not there is an error."""
        found = self.find()
        for name, reason in found.unreadable.items():
            raise InputError(reason if name in reason else f"{name!r}: {reason}")
        return found

    def find(self, *, outside: str | None = None) -> Listing:
        """List the files, without those in the folder `outside`, and what was named and gives none."""
        found = Listing()
        for path in self.path:
            listed = list_files(path, ENDINGS, self.storage_options)
            if outside is not None:
                inside = is_inside_of(outside)
                taken = [file for file in listed.files if not inside(file)]
                if listed.files and not taken:
                    found.unreadable[path] = f"{path!r} matches no file but those of the store"
                listed = Listing(taken, listed.unreadable, listed.entries)
            found.files.extend(listed.files)
            found.unreadable.update(listed.unreadable)
            found.entries.update(listed.entries)
        if not found.files:
            return found
        # A file that is named twice, however it is written, is read once; tables beside the traces are not.
        local = [file for file in found.files if file not in found.entries]
        chosen = choose_files(unique_files(local), platform_named(self.format))[0]
        remote = [file for file in dict.fromkeys(found.files) if file in found.entries]
        return Listing([*chosen, *remote], found.unreadable, found.entries)

    @contextmanager
    def copies(self, entries: Mapping[str, Entry], folder: Path) -> Iterator[dict[str, str]]:
        """Read objects from copies on this machine meanwhile; gives those that cannot be had, and why."""
        remote = {file: entry for file, entry in entries.items() if is_remote(file)}
        if not remote:
            yield {}
            return
        copied, failures = download(remote, folder, self.storage_options)
        token = _downloads.set(copied)
        try:
            yield failures
        finally:
            _downloads.reset(token)
            shutil.rmtree(folder, ignore_errors=True)

    def copy(self, file: str) -> str:
        """Return the copy of an object on this machine, or the file itself."""
        return _downloads.get().get(file, file)

    def scan(self, file: str) -> pl.LazyFrame:
        """Scan one file: to the canonical columns if it is a platform's, else as it is."""
        if not file.isprintable() and any("\udc80" <= character <= "\udcff" for character in file):
            shown = os.fsencode(file).decode(errors="backslashreplace")
            raise InputError(f"the name of {shown!r} is no valid Unicode; rename the file")
        read = self.copy(file)
        if not os.access(read, os.R_OK):
            reason = "is not readable" if os.path.exists(read) else "is no longer there"
            raise InputError(f"{file!r} {reason}")
        try:
            refuse_long_lines(read)
        except pa.ArrowException as error:
            raise InputError(f"cannot read {file!r}: {one_line(error)}") from None
        format_name = detect(read) if self.format == "auto" else self.format
        if format_name == "generic" and self.plain and kind_of(read) in ("parquet", "lines"):
            table = with_utc_time(scan_table(read))
            return table.filter(pl.col("output").is_not_null()) if self.rows == "outputs" else table
        return scan_traces(read, format_name, columns=self.columns, keep=self.keep, rows=self.rows)

    @property
    def plain(self) -> bool:
        """Whether files of no platform are taken as they are."""
        return self.format == "auto" and not self.columns and not self.keep

    def small(self, file: str, size: int) -> Small | None:
        """Look at a file that may be read with others that are like it; None for one that is read by itself.

        That is also one with which something is wrong, which reading it by itself tells.
        """
        read = self.copy(file)
        if size > SMALL_BYTES or not file.isprintable() or not os.access(read, os.R_OK):
            return None
        try:
            kind = kind_of(read)
            if kind == "parquet":
                return self.small_parquet(read, os.path.dirname(file))
            unpacked = unpacked_bytes(read, kind)
            if unpacked is None:
                return None
            plan = self.plan(read)
            if not self.plain or plan.detection.format != "generic" or kind != "lines":
                return Small(read, Exports(plan, self.rows or "traces"), unpacked)
            return None if self.rows else small_lines(read, unpacked)
        except (*READ_ERRORS, pa.ArrowException, BadZipFile, NotImplementedError):
            return None

    def small_parquet(self, read: str, folder: str) -> Small | None:
        """Look at a Parquet file: one of no platform is taken as it is."""
        table = small_table(read, folder)
        if table is None:
            return None
        if self.plain:
            # The columns and the folder tell, so one file tells for all that are like it.
            if table.way.likeness not in self.formats:
                self.formats[table.way.likeness] = detect(read)
            if self.formats[table.way.likeness] == "generic":
                return None if self.rows else table
        return replace(table, way=Exports(self.plan(read), self.rows or "traces"))

    def plan(self, read: str) -> ScanPlan:
        """Find out how to scan a file, by its format or by what it holds."""
        try:
            return make_plan(read, self.format, self.columns, self.keep, None)
        except UnknownFormatError:
            return make_plan(read, "generic", self.columns, self.keep, None)

    def check(self, file: str) -> None:
        """Read a file to its end; if that fails, say what is wrong with it."""
        try:
            self.scan(file).select(pl.all().null_count()).collect(engine="streaming")
        except READ_ERRORS as error:
            raise unreadable(file, error) from None


def detect(file: str) -> str:
    """Tell the platform that a file is from; `generic` if it is from none."""
    try:
        return detect_traces(file).format
    except UnknownFormatError:
        return "generic"


def scan_table(file: str) -> pl.LazyFrame:
    """Scan a table with all its columns."""
    if is_parquet(file):
        return pl.scan_parquet(readable_copy(file), glob=False)
    if is_blank(file):
        raise InputError(f"{file!r} is empty; leave it out, or name its format=, with which it has no rows")
    try:
        table = scan_ndjson(file, glob=False)
        with open(file, "rb") as stream:
            if stream.read(3) == BOM_UTF8:
                table = pl.scan_ndjson(BytesIO(stream.read()), infer_schema_length=None)
        table.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise unreadable(file, error) from None
    return table


def with_utc_time(table: pl.LazyFrame) -> pl.LazyFrame:
    """Read the column `ts` as `scan_traces` does: dates, times with or without a zone, texts and numbers."""
    dtype = table.collect_schema().get("ts")
    if dtype is None:
        return table
    if dtype == pl.String():
        return with_text_as_time(table, "ts")
    time = as_time(Field(pl.col("ts"), dtype))
    return table if time is None else table.with_columns(ts=time)


def unreadable(file: str, error: BaseException) -> InputError:
    """Say why a file cannot be read, and where in it."""
    told = str(error).split("\n")[0]
    try:
        found = None if is_parquet(file) else broken_line(file)
    except READ_ERRORS:
        found = None
    if found is None:
        return InputError(told if file in told else f"cannot read {file!r}: {told}")
    number, reason = found
    return InputError(
        f"{file!r}, line {number:,}, is no JSON object: {reason}; mend or remove the line, or read the file "
        'with format="generic", which keeps it as a row without an output'
    )


def scan_all(source: Input, files: Sequence[str]) -> pl.LazyFrame:
    """Scan files into one frame; columns may come and go, but not change their type."""
    frames = [source.scan(file) for file in files]
    if len(frames) == 1:
        return frames[0]
    seen: dict[str, tuple[pl.DataType, str]] = {}
    for frame, file in zip(frames, files, strict=True):
        for name, dtype in frame.collect_schema().items():
            known, where = seen.setdefault(name, (dtype, file))
            if known != dtype:
                raise InputError(f"column {name!r} is {known} in {where!r} and {dtype} in {file!r}")
    return pl.concat(frames, how="diagonal")
