"""Read files: a file's records as JSON texts, one a row, with their place in the file; fields of records."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import polars as pl
import yaml

from polars_evals import _native
from polars_evals._polars import is_map, scan_lines
from polars_evals.expressions.python import elementwise, json_text
from polars_evals.storage.paths import local_path
from polars_evals.traces.content import (
    LONGEST_RECORD,
    PIECE_BYTES,
    UNPACKED_BYTES,
    TraceFile,
    guarded,
    pieces,
    too_long,
)
from polars_evals.traces.platforms import PLATFORMS
from polars_evals.traces.platforms.base import BrokenRecordError, Candidate, Record
from polars_evals.wording import line

# Where a row comes from: its file, its record as text, and the record's number in the file.
FILE = "source_file"
LINE = "source_line"
NUMBER = "source_number"
# What is wrong with a record; null where nothing is.
BROKEN = "@broken"

# How many records, and how many bytes of them, make a frame.
_BATCH_RECORDS = 4096
BATCH_BYTES = 4 << 20
# Of how many records the keys say what a file is.
SAMPLE_RECORDS = 100

KEPT = "@kept"


def record_frames(
    file: TraceFile,
    lists: Sequence[Sequence[str]],
    unpack: Callable[[Record, Record], Iterable[Record]] | None = None,
    *,
    kept: Sequence[str] = (),
) -> Iterator[pl.DataFrame]:
    """Read a file's records, in frames of some megabytes; a line that is not valid UTF-8 is null.

    Records that `unpack` makes of one have its number; what they should keep of it stands under `KEPT`.
    """
    around: Record = {}
    if file.kind == "lines":
        frames = _lines(file)
    elif file.kind in ("parquet", "csv"):
        frames = _rows(file)
    elif file.kind == "eval":
        frames = _batched(_archive(file.path, around))
    else:
        data = _pieces(file, size=1 << 20)
        json_data = _yaml(file.path, data) if file.kind == "yaml" else data
        frames = _batched(_documents(file.path, json_data, lists, around))
    for frame in frames:
        # Every document clears what stands around its records.
        around["file"] = file.name
        yield frame if unpack is None else _unpacked(frame, unpack, around, kept)


def _frame(texts: pl.Series, first: int) -> pl.DataFrame:
    # Without a query, which costs more than a small file.
    numbered = texts.to_frame().with_row_index(NUMBER, first)
    return numbered.replace_column(0, numbered.get_column(NUMBER).cast(pl.Int64))


def _pieces(file: TraceFile, size: int = PIECE_BYTES) -> Iterator[bytes]:
    return pieces(file.path, storage_options=file.storage_options, size=size)


def _lines(file: TraceFile) -> Iterator[pl.DataFrame]:
    held, number = b"", 1
    for piece in chain(_pieces(file), (None,)):
        is_first = number == 1 and not held
        data = (piece or b"").removeprefix(b"\xef\xbb\xbf" if is_first else b"")
        split, are_objects, held = _native.split_lines(data, name=LINE, held=held, is_last=piece is None)
        if len(held) > LONGEST_RECORD:
            raise too_long(file.path)
        lines = pl.DataFrame(split).to_series()
        if lines.is_empty():
            continue
        frame = _frame(lines, number)
        number += lines.len()
        if are_objects:
            yield frame
        else:
            yield frame.filter(pl.col(LINE).is_null() | pl.col(LINE).str.contains(r"[^\s\x{feff}]"))


def _batched(texts: Iterable[bytes]) -> Iterator[pl.DataFrame]:
    """Put records in frames; the first one is small, for those who look at the beginning of a file."""
    number, held, size, most = 1, list[str | None](), 0, SAMPLE_RECORDS
    for text in texts:
        try:
            held.append(text.decode())
        except UnicodeDecodeError:
            held.append(None)
        size += len(text)
        if len(held) >= most or size >= BATCH_BYTES:
            yield _frame(pl.Series(LINE, held, pl.String), number)
            number, held, size, most = number + len(held), [], 0, _BATCH_RECORDS
    if held:
        yield _frame(pl.Series(LINE, held, pl.String), number)


def _documents(
    file: str, data: Iterable[bytes], lists: Sequence[Sequence[str]], around: Record
) -> Iterator[bytes]:
    """Cut JSON into records: entries of the list at the top, or of one of the lists, else whole documents."""
    splitter = _native.JsonSplitter([list(keys) for keys in lists])
    had_entries = False
    for piece in data:
        found = splitter.feed(piece)
        # A document that ended in this piece has left the splitter, with all that stands around its list.
        ends = [text for is_document, text in found if is_document]
        for is_document, text in found:
            if is_document:
                # What is left of a document whose records have come already.
                if not had_entries:
                    yield text
                had_entries = False
                ends.pop(0)
                continue
            if not had_entries:
                around.clear()
                around.update(_object(ends[0] if ends else splitter.around()))
            had_entries = True
            yield text
        if splitter.pending() > LONGEST_RECORD:
            raise too_long(file)
    if splitter.is_open():
        # Cut off: what there is of it is a broken record.
        yield b'{"cut off'


def _object(text: bytes) -> Record:
    """Read what stands around a list; a comma or a key may be left at its end."""
    for tail in (b"", b"null"):
        try:
            closing = text[len(text.rstrip(b"}]")) :]
            value = json.loads(text[: len(text) - len(closing)].rstrip(b", \n\r\t") + tail + closing)
        except ValueError:
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _archive(file: str, around: Record) -> Iterator[bytes]:
    """Read the samples of an Inspect log, which is a zip; its entries may be packed with Zstandard."""
    path = local_path(file)
    if path is None:
        raise pl.exceptions.ComputeError(
            f"{file!r}: an archive is read from this machine; copy it here first"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            for name in ("_journal/start.json", "header.json"):
                if name in names:
                    around.update(_object(_entry(file, archive, name)))
            samples = sorted({name for name in names if re.fullmatch(r"(?s)samples/.*\.json", name)})
            if not samples and "header.json" not in names:
                raise pl.exceptions.ComputeError(
                    f"{file!r} is a zip, but no Inspect log; unpack it and scan what is in it"
                )
            for name in samples:
                yield _entry(file, archive, name)
    except (OSError, pl.exceptions.PolarsError):
        raise
    except Exception as error:
        # One bit makes an entry encrypted, or packed in another way: each has an error of its own class, and
        # the end of a file inside an entry has no words.
        why = line(str(error)) or "its entries are cut off"
        raise pl.exceptions.ComputeError(f"cannot read {file!r}: {why}; fetch it again") from None


_ZSTANDARD = 93


def _entry(file: str, archive: zipfile.ZipFile, inside: str) -> bytes:
    entry, name = archive.getinfo(inside), f"{file}/{inside}"
    if entry.file_size > LONGEST_RECORD:
        raise too_long(name)
    if entry.compress_type == _ZSTANDARD:
        # Older Pythons cannot unpack it: its bytes stand behind a header of 30 bytes and two texts.
        stream = archive.fp
        assert stream is not None
        stream.seek(entry.header_offset + 26)
        stream.seek(sum(struct.unpack("<HH", stream.read(4))), os.SEEK_CUR)
        unpacked = _unpacked_zstandard(name, stream.read(entry.compress_size))
    else:
        unpacked = iter(partial(archive.open(entry).read, 1 << 20), b"")
    return b"".join(guarded(name, unpacked, entry.compress_size))


def _unpacked_zstandard(name: str, packed: bytes) -> Iterator[bytes]:
    """Unpack with Arrow, a piece at a time; where there is none, with a query of Polars, which is slower."""
    try:
        import pyarrow as pa
    except ImportError:
        lines = scan_lines(io.BytesIO(packed)).collect().get_column("line")
        yield "\n".join(lines).encode()
        return
    try:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            yield from iter(partial(stream.read, 1 << 20), b"")
    except OSError as error:
        raise pl.exceptions.ComputeError(f"cannot read {name!r}: {error}; fetch it again") from None


# What aliases of YAML may stand for: this much, or this many times what is written.
_YAML_BYTES, _YAML_TIMES = 16 << 20, 16


def _yaml(file: str, data: Iterable[bytes]) -> Iterator[bytes]:
    """Read YAML, as a whole, as JSON."""
    text = bytearray()
    for piece in data:
        text += piece
        if len(text) > UNPACKED_BYTES:
            raise pl.exceptions.ComputeError(
                f"{file!r} has more than {UNPACKED_BYTES >> 20} MB of YAML, which is read as a whole; write "
                "JSON Lines"
            )
    try:
        _refuse_expanding(file, bytes(text))
        value = yaml.load(bytes(text), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise pl.exceptions.ComputeError(f"cannot read {file!r}: {line(str(error))}") from None
    yield _written(value).encode()


def _refuse_expanding(file: str, text: bytes) -> None:
    """Refuse YAML whose aliases stand for far more than is written, or for themselves; and deep nesting."""
    sizes, open_ones, total = dict[str | None, int](), list[tuple[str | None, int]](), 0
    largest = max(_YAML_BYTES, _YAML_TIMES * len(text))
    why = None
    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in [anchor for anchor, _ in open_ones]:
                why = f"the alias *{event.anchor} refers to itself"
            total += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[event.anchor] = len(event.value) + 1
            total += sizes[event.anchor]
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            open_ones.append((event.anchor, total))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            anchor, before = open_ones.pop()
            sizes[anchor] = total - before + 1
        if len(open_ones) > _native.DEEPEST:
            why = f"its YAML is nested more than {_native.DEEPEST} levels deep"
        if total > largest:
            why = f"its YAML aliases stand for more than {largest >> 20} MB"
        if why is not None:
            raise pl.exceptions.ComputeError(f"cannot read {file!r}: {why}; write it as JSON Lines")


def scan_table(file: TraceFile, **csv_options: Any) -> pl.LazyFrame:
    """Scan a Parquet file, or a CSV file: as texts, unless other options are given."""
    options: dict[str, Any] = {"glob": False, "storage_options": file.storage_options}
    if file.kind == "parquet":
        return pl.scan_parquet(file.path, hive_partitioning=False, **options)
    separator = "\t" if ".tsv" in file.name.lower() else ","
    return pl.scan_csv(file.path, separator=separator, **options, **(csv_options or {"infer_schema": False}))


def _rows(file: TraceFile) -> Iterator[pl.DataFrame]:
    """Read the rows of a table as records, for platforms whose rows must be unpacked."""
    table = scan_table(file)
    record = as_record(table.collect_schema())
    start = 0
    while True:
        texts = table.slice(start, _BATCH_RECORDS).select(record.alias(LINE)).collect().to_series()
        if texts.is_empty():
            return
        yield _frame(texts, start + 1)
        start += texts.len()


def _written(record: Any) -> str:
    return json.dumps(record, separators=(",", ":"), default=str)


def _unpacked(
    frame: pl.DataFrame,
    unpack: Callable[[Record, Record], Iterable[Record]],
    around: Record,
    kept: Sequence[str],
) -> pl.DataFrame:
    """Have a platform take records apart; it may add to what stands around them."""
    numbers, texts = list[int](), list[str | None]()
    for number, text in zip(frame.get_column(NUMBER), frame.get_column(LINE), strict=True):
        record = _parsed(text)
        made = [text]
        if isinstance(record, dict):
            own = {name: record[name] for name in kept if name in record}
            try:
                made = [_written(each | {KEPT: own} if own else each) for each in unpack(record, around)]
            except BrokenRecordError:
                made = ["broken"]
        numbers += [number] * len(made)
        texts += made
    return pl.DataFrame([pl.Series(NUMBER, numbers, pl.Int64), pl.Series(LINE, texts, pl.String)])


def sample(file: TraceFile) -> list[Any]:
    """Read a file's first records, before its platform is known; one that cannot be read is None."""
    lists = list(dict.fromkeys(keys for platform in PLATFORMS.values() for keys in platform.lists))
    found = list[str | None]()
    for frame in islice(record_frames(file, lists), 3):
        found += frame.get_column(LINE).head(SAMPLE_RECORDS - len(found)).to_list()
        if len(found) == SAMPLE_RECORDS:
            break
    return [_parsed(text) for text in found]


def _parsed(text: str | None) -> Any:
    """Read JSON; what is broken is None, which the scan itself keeps and counts."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_value(text: pl.Expr, reading: str) -> pl.Expr:
    """Read texts as if each stood in a record."""
    return read_text(pl.struct(value=text).struct.json_encode(), [Candidate("value", reading)])


def read_records(
    texts: pl.Series, columns: Mapping[str, Sequence[Candidate]], unless: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Read fields of records, all in one pass: a column of texts for each, and `BROKEN`.

    `unless` names fields that need not be read where another one, which comes before them, is there.
    """
    plan = [(name, [(place.path, place.reading) for place in places]) for name, places in columns.items()]
    at = {name: place for place, name in enumerate(columns)}
    pairs = [(at[name], at[other]) for name, other in (unless or {}).items() if {name, other} <= at.keys()]
    found = _native.read_records(texts, plan, broken=BROKEN, unless=pairs, threads=pl.thread_pool_size())
    return pl.concat([pl.DataFrame(piece) for piece in found], rechunk=False)


def refuse_deep(records: pl.DataFrame, read: pl.DataFrame) -> None:
    """Refuse a file with a record that is nested so deeply that other readers of its rows would fail."""
    broken = read.get_column(BROKEN)
    if broken.null_count() == broken.len():
        return
    for row in (broken == _native.TOO_DEEP).arg_true().head(1):
        raise too_deep(records.get_column(FILE)[row], records.get_column(NUMBER)[row])


def too_deep(file: str, number: int) -> Exception:
    """Make the error for a record that is nested too deeply."""
    return pl.exceptions.ComputeError(
        f"{file!r}, record {number:,}: it is nested more than {_native.DEEPEST} levels deep; remove it or "
        "write its inner values as text"
    )


def read_text(texts: pl.Expr, places: Sequence[Candidate]) -> pl.Expr:
    """Read a field of records that are texts."""

    def read(batch: Sequence[pl.Series]) -> pl.Series:
        return read_records(batch[0], {"value": places}).get_column("value")

    return elementwise("scan_traces", {"texts": texts}, read, pl.String())


def as_record(schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Write columns as one JSON object a row."""
    return json_text(pl.struct(encodable(pl.col(name), dtype).alias(name) for name, dtype in schema.items()))


def encodable(expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Take a column as a type that JSON has."""
    if is_map(dtype):
        return expr.cast(pl.List(pl.Struct({"key": dtype.key, "value": dtype.value})))
    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Decimal | pl.Duration):
        return expr.cast(pl.String)
    if isinstance(dtype, pl.Binary):
        return expr.cast(pl.String, strict=False)
    return expr
