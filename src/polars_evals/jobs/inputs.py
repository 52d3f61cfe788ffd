"""What to read: files of a trace platform, or tables of one's own with all their columns."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from polars_evals.jobs.errors import InputError
from polars_evals.traces import detect_traces, scan_traces, trace_files
from polars_evals.traces.detect import UnknownFormatError
from polars_evals.traces.files import broken_line, is_blank, is_parquet, readable_copy

# What reading a file can raise when the file, and not the program, is at fault.
READ_ERRORS = (pl.exceptions.PolarsError, OSError, ValueError)


@dataclass(frozen=True)
class Input:
    """The files to score, and how to read them.

    Parameters
    ----------
    path
        Files, folders and patterns.
    format
        A trace format; `"auto"` tells by the columns, and takes a file of no platform as it is.
    columns, keep, rows
        As in `scan_traces`.
    """

    path: Sequence[str]
    format: str = "auto"
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    rows: Literal["outputs", "all"] | None = None

    def files(self, *, outside: Path | None = None) -> list[str]:
        """List the files, without those in the folder `outside`."""
        for path in self.path:
            if "://" in path:
                raise InputError(f"{path!r} is an address; copy or mount the files, and give their path")
        try:
            found = trace_files(self.path, self.format)
        except FileNotFoundError as error:
            raise InputError(str(error)) from None
        if outside is not None:
            inside = outside.resolve()
            found = [file for file in found if not Path(file).resolve().is_relative_to(inside)]
        if not found:
            raise InputError(f"{', '.join(self.path)} matches no file but those of the store")
        return found

    def scan(self, file: str) -> pl.LazyFrame:
        """Scan one file: to the canonical columns if it is a platform's, else as it is."""
        if not file.isprintable() and any("\udc80" <= character <= "\udcff" for character in file):
            shown = os.fsencode(file).decode(errors="backslashreplace")
            raise InputError(f"the name of {shown!r} is no valid Unicode; rename the file")
        if not os.access(file, os.R_OK):
            reason = "is not readable" if os.path.exists(file) else "is no longer there"
            raise InputError(f"{file!r} {reason}")
        format_name = detect(file) if self.format == "auto" else self.format
        if format_name == "generic" and self.format == "auto" and not self.columns and not self.keep:
            table = scan_table(file)
            return table.filter(pl.col("output").is_not_null()) if self.rows == "outputs" else table
        return scan_traces(file, format_name, columns=self.columns, keep=self.keep, rows=self.rows)

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
    # Polars takes the path for a pattern here, whatever is in it.
    table = pl.scan_ndjson(glob.escape(file), infer_schema_length=None)
    try:
        table.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise unreadable(file, error) from None
    return table


def unreadable(file: str, error: Exception) -> InputError:
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
