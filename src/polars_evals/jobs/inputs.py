"""What to read: the files of a job or command, how to read them, and copies of those that are far away.

Memory does not grow with the input: a query holds some steps and row groups, which are small here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from errno import EDQUOT, EFBIG, ENOSPC
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals._errors import InputError
from polars_evals._polars import GZIP
from polars_evals.storage.objects import Entry, download, is_remote
from polars_evals.storage.paths import Listing, is_inside_of, list_files, unique_files
from polars_evals.storage.secrets import one_line
from polars_evals.traces.content import ENDINGS, ZSTD, is_packed, kind_of, named_files, pieces
from polars_evals.traces.dataset import Dataset
from polars_evals.traces.detect import choose_files, platform_named
from polars_evals.traces.rows import Rows
from polars_evals.traces.scan import Reading, read_traces

# The error numbers of a full disk.
NO_ROOM = (ENOSPC, EDQUOT, EFBIG)

# What a step of a query and a row group of its result may hold. A query has some tens of steps at work.
STEP_BYTES, STEP_ROWS = 4 << 20, 10_000
ROW_GROUP_BYTES, ROW_GROUP_ROWS = 16 << 20, 100_000

# A reader unpacks several row groups as a whole. Files with larger ones are written again first.
LARGEST_ROW_GROUP = 128 << 20

# How much of a file of lines is looked at, unless it is packed by gzip or Zstandard.
SAMPLES, SAMPLE_BYTES = 32, 1 << 18
PACKED = {GZIP: "gzip", ZSTD: "zstd"}
# The longest line that is read from one, and the size below which none can be that long.
LONGEST_LINE = 256 << 20
SMALLEST_PACKED = 16 << 10


@contextmanager
def small_steps(longest: float) -> Iterator[int]:
    """Let streaming queries over rows of a size go in small steps; gives the number of rows for a row group.

    Polars reads ahead by a number of steps, each of about 100,000 rows however long their texts are. Where
    scoring is slower than reading that is gigabytes of traces in waiting; smaller steps cost no speed.
    """
    with pl.Config(streaming_chunk_size=min(int(STEP_BYTES / longest) + 1, STEP_ROWS)):
        yield min(int(ROW_GROUP_BYTES / longest) + 1, ROW_GROUP_ROWS)


def row_bytes(file: str) -> float:
    """Return the size of a row where the rows of a file are longest, about."""
    if kind_of(file) == "parquet":
        return max((size / rows for rows, size in _row_groups(file)), default=1.0)
    return _line_bytes(file)


def with_small_row_groups(file: str, folder: Path) -> str:
    """Return the file or, where its row groups are too large to unpack, a copy in `folder` with smaller ones.

    Unlike Polars, Arrow reads a row group page by page. What it cannot read, or not as Polars does, is left
    as it is.
    """
    if kind_of(file) != "parquet" or all(size <= LARGEST_ROW_GROUP for _, size in _row_groups(file)):
        return file
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The folders keep their names, for some formats say with them what is inside.
    copy = folder / uuid4().hex / Path(file).absolute().relative_to(Path(file).absolute().anchor)
    copy.parent.mkdir(parents=True)
    # Rows unpack to more than the file says where texts repeat.
    rows = min(int(STEP_BYTES / row_bytes(file)) + 1, STEP_ROWS)
    try:
        with (
            pq.ParquetFile(
                file, pre_buffer=False, buffer_size=1 << 20, coerce_int96_timestamp_unit="us"
            ) as source,
            pq.ParquetWriter(copy, source.schema_arrow, compression="lz4") as target,
        ):
            for batch in source.iter_batches(batch_size=rows):
                target.write_batch(batch)
        same = pl.read_parquet_schema(copy) == pl.read_parquet_schema(file)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        same = False
    if not same:
        copy.unlink(missing_ok=True)
    return str(copy) if same else file


def _row_groups(file: str) -> Sequence[tuple[int, int]]:
    """Return rows and bytes, unpacked, of each row group that has any, where Arrow can tell."""
    about = os.stat(file)
    return _read_row_groups(file, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=4096)
def _read_row_groups(file: str, size: int, mtime_ns: int) -> Sequence[tuple[int, int]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(file)
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    except (pa.ArrowException, OSError):
        # What Arrow does not know, such as whole numbers of 128 bits, or does not forgive, Polars may read.
        return ()
    return tuple((group.num_rows, group.total_byte_size) for group in groups if group.num_rows)


def _refuse_long_lines(file: str) -> None:
    """Refuse a packed file with a line that no memory should have to hold; a small file can unpack to one."""
    with open(file, "rb") as stream:
        begin = stream.read(4)
    kind = next((name for start, name in PACKED.items() if begin.startswith(start)), None)
    if kind is None or os.path.getsize(file) <= SMALLEST_PACKED:
        return
    import pyarrow as pa

    length = 0
    try:
        with pa.input_stream(file, compression=kind) as stream:
            while piece := stream.read(SAMPLE_BYTES):
                last = piece.rfind(b"\n")
                length = len(piece) - last - 1 if last >= 0 else length + len(piece)
                if length > LONGEST_LINE:
                    raise InputError(
                        f"it unpacks to a line of more than {LONGEST_LINE >> 20} MB; JSON Lines have an "
                        "object on each line"
                    )
    except pa.ArrowException as error:
        raise InputError(str(error)) from None


def _line_bytes(file: str) -> float:
    """Look at some places of a file of lines, and return how long they are where they are longest."""
    size = os.path.getsize(file)
    longest = 1.0
    if is_packed(file):
        head = b""
        for piece in pieces(file, size=SAMPLE_BYTES):
            head += piece
            if len(head) >= SAMPLE_BYTES:
                break
        return max(len(head) / (head.count(b"\n") + 1), 1.0)
    with open(file, "rb") as stream:
        for place in range(0, max(size - SAMPLE_BYTES, 0) + 1, max(size // SAMPLES, SAMPLE_BYTES)):
            stream.seek(place)
            sample = stream.read(SAMPLE_BYTES)
            longest = max(longest, len(sample) / (sample.count(b"\n") + 1))
    return longest


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
        found, is_inside = Listing(), is_inside_of(outside) if outside is not None else lambda _: False
        for path in self.path:
            listed = list_files(path, ENDINGS, self.storage_options)
            files = [file for file in listed.files if not is_inside(file)]
            if listed.files and not files:
                found.unreadable[path] = f"{path!r} matches no file but those of the store"
            found.files.extend(files)
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
        """Yield local paths, of objects and Parquet files with large row groups as copies, and failures."""
        remote = {file: entry for file, entry in entries.items() if is_remote(file)}
        copied, failures = dict[str, str](), dict[str, str]()
        try:
            if remote:
                copied, failures = download(remote, folder, self.storage_options)
            paths = dict[str, str]()
            for file in [file for file in entries if file not in failures]:
                path = copied.get(file, file)
                try:
                    _require_readable(file, path)
                    paths[file] = with_small_row_groups(path, folder)
                except (InputError, *READ_ERRORS) as error:
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
        """Read files together, from the paths that `copies` gives; `needed` is `as_is` of `read_traces`."""
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
    _refuse_long_lines(path)
