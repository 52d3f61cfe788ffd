"""What kind of file stands at a path, by its first bytes, and its bytes without packing.

Packed files are unpacked as they are read, and refused where they grow beyond reason.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import polars as pl

from polars_evals._polars import GZIP, scan_lines
from polars_evals.storage.paths import Paths, ending, local_path
from polars_evals.storage.paths import expand as expand_paths

Kind: TypeAlias = Literal["parquet", "lines", "json", "csv", "yaml", "eval"]

ENDINGS: dict[str, Kind] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".eval": "eval",
}

# How much is read at once, and at first: who looks at the beginning of a file need not wait for more.
PIECE_BYTES = 2 << 20
FIRST_BYTES = 64 << 10
# A packed file may unpack to this much, or to this many times its size; a line and a document may be this
# long.
UNPACKED_BYTES = 256 << 20
UNPACKED_TIMES = 400
LONGEST_RECORD = 256 << 20

ZSTD = b"\x28\xb5\x2f\xfd"
_MAGIC: dict[bytes, Kind] = {b"PAR1": "parquet", b"PK\x03\x04": "eval"}
_READERS = {
    ".xlsx": "read_excel",
    ".avro": "read_avro",
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "read_ipc"),
}


@dataclass(frozen=True)
class TraceFile:
    """A file, and what its first records or its columns are called."""

    name: str
    kind: Kind
    # Where its bytes are, which may be a copy, and the options of their store.
    path: str
    storage_options: dict[str, Any] | None = None
    # The folders named `key=value` that it is in.
    hive: tuple[str, ...] = ()
    schema: Mapping[str, pl.DataType] = field(default_factory=dict)
    nested: frozenset[str] = frozenset()
    is_empty: bool = False
    # Keys that say the same in all of the first records, and so name no item.
    constant: frozenset[str] = frozenset()

    @property
    def names(self) -> set[str]:
        """The columns, and `column.key` for the keys one level below, as far as they are known."""
        return {*self.schema, *self.hive, *self.nested}

    def has(self, column: str | pl.Expr) -> bool:
        """Whether a column, a path into one, or the columns of an expression are there."""
        if isinstance(column, pl.Expr):
            used = set(column.meta.root_names())
            return bool(used) and used <= self.names
        return bool(beginnings(column, self.names))


def beginnings(path: str, names: Iterable[str]) -> list[str]:
    """List the names that a path is or begins with; names may have dots themselves."""
    return [name for name in names if path.startswith(name) and path[len(name) :][:1] in ("", ".", "[")]


def expand(paths: Paths, storage_options: dict[str, Any] | None = None) -> list[str]:
    """List the trace files that a path, a folder, a pattern, a URL, or a list of these stands for."""
    return expand_paths(paths, ENDINGS, storage_options)


def named_files(paths: Paths) -> set[str]:
    """List the files that a user named one by one."""
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    return {os.path.expanduser(os.fspath(path)) for path in listed}


def kind_of(file: str) -> Kind:
    """Tell what a file holds, by its content, and by its ending where that says more."""
    named = ENDINGS.get(ending(file))
    path = local_path(file)
    if path is None:
        return named or "parquet"
    if named == "parquet":
        if not os.path.getsize(path):
            raise pl.exceptions.ComputeError(f"{file!r} is empty: it has 0 bytes; fetch or write it again")
        return named
    head = next(pieces(path, size=FIRST_BYTES), b"")
    if _is_utf16(head):
        raise pl.exceptions.ComputeError(
            f"{file!r} is encoded as UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
        )
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if named in ("csv", "yaml"):
        return named
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text or text[:1] in (b"{", b"[") or named in ("lines", "json"):
        return _json_or_lines(text, named)
    suffix = ending(file)
    reader = _READERS.get(suffix)
    convert = f" (convert with pl.{reader}(...).write_parquet(...))" if reader else ""
    raise pl.exceptions.ComputeError(
        f"{file}: {suffix or 'this kind of file'} cannot be read; use Parquet, JSON Lines, JSON, CSV, YAML "
        f"or Inspect's .eval{convert}"
    )


def _is_utf16(head: bytes) -> bool:
    """Tell text of two bytes a character by its mark, or by the zeros beside the first brackets."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or (
        len(head) > 3 and {head[:2].strip(b"{["), head[2:4].strip(b'"{ ')} <= {b"\0"}
    )


def _json_or_lines(text: bytes, named: Kind | None) -> Kind:
    """Tell lines of JSON, which are quick to cut, from JSON that stands over several lines or in a list."""
    first, _, rest = text.partition(b"\n")
    second = rest.lstrip().partition(b"\n")[0]
    if first.startswith(b"["):
        is_deep = first.startswith(b"[[") and named == "lines"
        is_lines = is_deep or (_is_object(second) and first.strip() != b"[")
    elif _is_object(first):
        is_lines = named != "json" or second.startswith(b"{")
    else:
        is_lines = second.startswith(b"{") if second else not text or named == "lines"
    return "lines" if is_lines else "json"


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def is_packed(path: str) -> bool:
    """Say whether a file of this machine is packed by gzip or Zstandard."""
    with open(path, "rb") as stream:
        return stream.read(4).startswith((GZIP, ZSTD))


def pieces(
    file: str, *, storage_options: dict[str, Any] | None = None, size: int = PIECE_BYTES
) -> Iterator[bytes]:
    """Read a file's bytes, unpacked, in pieces that grow up to a size."""
    path = local_path(file)
    if path is None:
        yield from _polars_pieces(file, storage_options, size)
        return
    with open(path, "rb") as stream:
        begin = stream.read(4)
        stream.seek(0)
        if not begin.startswith((GZIP, ZSTD)):
            yield from _growing(stream.read, size)
            return
        is_gzip = begin.startswith(GZIP)
        unpacked = _gzip_pieces(file, stream, size) if is_gzip else _polars_pieces(path, None, size)
        yield from guarded(file, unpacked, os.path.getsize(path))


def _growing(read: Callable[[int], bytes], largest: int) -> Iterator[bytes]:
    size = min(FIRST_BYTES, largest)
    while piece := read(size):
        yield piece
        size = min(8 * size, largest)


def _gzip_pieces(file: str, packed: BinaryIO, size: int) -> Iterator[bytes]:
    try:
        with gzip.open(packed) as unpacked:
            yield from _growing(unpacked.read, size)
    except (EOFError, OSError, zlib.error) as error:
        raise pl.exceptions.ComputeError(
            f"cannot read {file!r}: its gzip data is broken or cut off ({error}); fetch it again"
        ) from None


def _polars_pieces(file: str, storage_options: dict[str, Any] | None, size: int) -> Iterator[bytes]:
    """Let Polars read what only it can: object stores, and Zstandard."""
    lines = scan_lines(file, glob=False, storage_options=storage_options)
    held, length = [], 0
    for batch in lines.collect_batches(maintain_order=True):
        for line in batch.get_column("line"):
            held.append(line.encode())
            length += len(held[-1])
            if length >= size:
                yield b"\n".join(held) + b"\n"
                held, length = [], 0
    if held:
        yield b"\n".join(held) + b"\n"


def guarded(file: str, unpacked: Iterator[bytes], packed: int) -> Iterator[bytes]:
    """Pass pieces on until they are far more than a file of this size should hold."""
    total = 0
    for piece in unpacked:
        total += len(piece)
        if total > UNPACKED_BYTES and total > UNPACKED_TIMES * packed:
            raise pl.exceptions.ComputeError(
                f"{file!r} has {packed:,} bytes and unpacks to more than {UNPACKED_TIMES} times that; if it "
                "is sound, unpack it yourself and scan what comes out"
            )
        yield piece


def too_long(file: str) -> Exception:
    """Make the error for a record that no trace is as long as."""
    return pl.exceptions.ComputeError(
        f"{file!r} has a line or a record of more than {LONGEST_RECORD >> 20} MB, too long for a "
        "trace; check the file, and write one record per line"
    )


def refuse_large_parquet(file: str) -> None:
    """Refuse a Parquet file that unpacks to far more than its size, as far as Arrow can tell."""
    path = local_path(file)
    if path is None:
        return
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    packed = os.path.getsize(path)
    try:
        about = pq.read_metadata(path)
        groups = [about.row_group(index) for index in range(about.num_row_groups)]
    except (pa.ArrowException, OSError):
        return  # Polars may read what Arrow cannot, or says better what is wrong.
    # A value that is written once may stand for any number of rows, of which each has at least an index.
    unpacked = max(sum(group.total_byte_size for group in groups), about.num_rows)
    if unpacked > UNPACKED_BYTES and unpacked > UNPACKED_TIMES * packed:
        raise pl.exceptions.ComputeError(
            f"{file!r} has {packed:,} bytes and unpacks to {unpacked:,} ({about.num_rows:,} rows), more than "
            f"{UNPACKED_TIMES} times its size; if it is sound, write it again without such strong packing"
        )
