"""What to read: the files of a job or command, how to read them, and copies of those that are far away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from polars_evals._errors import InputError
from polars_evals.jobs.memory import NO_ROOM, refuse_long_lines, with_small_row_groups
from polars_evals.storage.objects import CHANGED, Entry, download, is_remote
from polars_evals.storage.paths import Listing, is_inside_of, list_files, unique_files
from polars_evals.storage.secrets import one_line
from polars_evals.traces.content import ENDINGS, named_files
from polars_evals.traces.dataset import Dataset
from polars_evals.traces.detect import choose_files, platform_named
from polars_evals.traces.rows import Rows
from polars_evals.traces.scan import Reading, read_traces

__all__ = ["CHANGED", "READ_ERRORS", "Input"]

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
        A trace format. `"auto"` detects it from the columns, and reads other tables unchanged.
    columns, keep, rows
        As in `scan_traces`.
    allow_empty
        Whether paths may match nothing after a run that read files.
    dataset
        Where the expected values are, if not in the files.
    storage_options
        Options of the object store, as in `pl.scan_parquet`.
    """

    path: Sequence[str]
    format: str = "auto"
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    rows: Rows | None = None
    allow_empty: bool = False
    dataset: Dataset | None = None
    storage_options: Mapping[str, str] | None = None

    def files(self) -> list[str]:
        """List the files. Raise if a named path is missing or cannot be read."""
        return self.listed().files

    def listed(self) -> Listing:
        """List the files with their size and time. Raise if a named path is missing."""
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
                listed = replace(listed, files=taken)
            found.files.extend(listed.files)
            found.unreadable.update(listed.unreadable)
            found.entries.update(listed.entries)
        if not found.files:
            return found
        # A file that is named twice, however it is written, is read once; tables beside the traces are not.
        local = [file for file in found.files if file not in found.entries]
        chosen, beside = choose_files(unique_files(local), platform_named(self.format))
        remote = [file for file in dict.fromkeys(found.files) if file in found.entries]
        return replace(found, files=[*chosen, *remote], left_out=dict(beside))

    @contextmanager
    def copies(
        self, entries: Mapping[str, Entry], folder: Path
    ) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
        """Yield the local path of each file, and the files that cannot be copied, with the reason.

        Objects are copied to this machine, and Parquet files with large row groups to smaller ones.
        """
        remote = {file: entry for file, entry in entries.items() if is_remote(file)}
        copied, failures = dict[str, str](), dict[str, str]()
        try:
            if remote:
                copied, failures = download(remote, folder, self.storage_options)
            paths = dict[str, str]()
            for file in entries:
                if file in failures:
                    continue
                path = copied.get(file, file)
                try:
                    _require_readable(file, path)
                    paths[file] = with_small_row_groups(path, folder)
                except (InputError, pa.ArrowException, *READ_ERRORS) as error:
                    if isinstance(error, OSError) and error.errno in NO_ROOM:
                        raise
                    failures[file] = one_line(error).replace(path, file)
            yield paths, failures
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def read(
        self,
        paths: Mapping[str, str],
        needed: Collection[str],
        *,
        apart: bool = False,
        name_models: bool = False,
    ) -> Reading:
        """Read files together, from the paths that `copies` gives.

        A table of no platform that has the needed columns is taken as it is. `apart` and `name_models` are
        those of `read_traces`.
        """
        return read_traces(
            list(paths),
            self.format,
            columns=self.columns,
            keep=self.keep,
            rows=self.rows,
            as_is=needed,
            dataset=self.dataset,
            apart=apart,
            name_models=name_models,
            explicit=named_files(list(self.path)),
            copies={file: path for file, path in paths.items() if path != file},
        )


def _require_readable(file: str, path: str) -> None:
    """Refuse a file that would stop the reading of others."""
    if not file.isprintable() and any("\udc80" <= character <= "\udcff" for character in file):
        shown = os.fsencode(file).decode(errors="backslashreplace")
        raise InputError(f"the name of {shown!r} is not valid Unicode; rename the file")
    if not os.access(path, os.R_OK):
        reason = "is not readable" if os.path.exists(path) else "no longer exists"
        raise InputError(f"{file!r} {reason}")
    refuse_long_lines(path)
