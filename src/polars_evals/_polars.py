"""What Polars' releases spell differently, and nothing else: the rest of the code is written for the newest.

Each function says from which release on the new way exists; when the oldest release that is supported (see
pyproject.toml) reaches it, the old way goes, and the function with it.
"""

from __future__ import annotations

import gzip
import inspect
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import polars as pl

if TYPE_CHECKING:
    import io
    from collections.abc import Mapping

VERSION = tuple(int(part) for part in re.findall(r"\d+", pl.__version__)[:2])

# Polars refuses lines of JSON that are nested more deeply from 2.1 on; before, they overflow its stack, which
# ends the process.
DEEPEST_JSON = 1024
_BRACKETS = re.compile(r"[\[{]|[\]}]")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')

# Files that may hold no text: no longer than this, for all that a header of gzip may say.
BLANK_BYTES = 1024
GZIP = b"\x1f\x8b"

# Units of time that a scan can convert to microseconds, and what it calls that; milliseconds from 1.43 on.
TIME_CASTS: dict[str, Any] = {"ns": "nanosecond-downcast", "us": "convert-timezone"}
if VERSION >= (1, 43):
    TIME_CASTS["ms"] = "millisecond-upcast"

# Has `explode` give no row for an empty list, as from 2.0 on; the oldest releases give one with a null.
NOTHING_OF_EMPTY: dict[str, Any] = (
    {"empty_as_null": False} if "empty_as_null" in inspect.signature(pl.Expr.explode).parameters else {}
)

# Whether lists inside of structs are written as JSON as they are in a part of a column too, as from 1.42 on.
ENCODES_PARTS = VERSION >= (1, 42)

# The first release whose lowercase sees the same letters and marks beside a capital sigma, to make it a final
# one or not: before 1.40 those of Unicode 17 without ASCII, since then those of Unicode 15 with it.
SIGMA_TABLE: Literal["1.35", "1.40"] = "1.40" if VERSION >= (1, 40) else "1.35"


def is_map(dtype: pl.DataType) -> TypeGuard[pl.Map]:
    """Tell a map, which Polars has from 2.0 on; before, it reads one as the list of entries that holds it."""
    return hasattr(pl, "Map") and isinstance(dtype, pl.Map)


def format_text(template: str, *values: str | pl.Expr) -> pl.Expr:
    """Put values into a text; null where one is null: `pl.format`, which wrote "null" before 1.36."""
    if VERSION >= (1, 36):
        return pl.format(template, *values)
    columns = [pl.col(value) if isinstance(value, str) else value for value in values]
    around = [pl.lit(text) for text in template.split("{}")]
    return pl.concat_str(
        [around[0], *(one for pair in zip(columns, around[1:], strict=True) for one in pair)]
    )


def truncate(times: pl.Expr, every: str, dtype: pl.DataType) -> pl.Expr:
    """Return the start of the window that each time is in: `dt.truncate`.

    Before 1.40 it fails where a change of clocks skips the start, and gives two starts where it repeats it.
    """
    zone = getattr(dtype, "time_zone", None)
    if VERSION >= (1, 40) or zone is None:
        return times.dt.truncate(every)
    start = times.dt.replace_time_zone(None).dt.truncate(every)
    # A start that is there twice is the last one that has come by then.
    again = start.dt.replace_time_zone(zone, ambiguous="latest", non_existent="null")
    return pl.coalesce(pl.when(again <= times).then(again), _in_zone(start, zone))


def offset_by(times: pl.Expr, every: str, dtype: pl.DataType) -> pl.Expr:
    """Go on by a length of time: `dt.offset_by`, which fails before 1.40 at a change of clocks."""
    zone = getattr(dtype, "time_zone", None)
    if VERSION >= (1, 40) or zone is None or not every.endswith(("d", "w", "mo", "q", "y")):
        return times.dt.offset_by(every)
    return _in_zone(times.dt.replace_time_zone(None).dt.offset_by(every), zone)


def _in_zone(wall: pl.Expr, zone: str) -> pl.Expr:
    """Find the first moment at which a clock shows a time; if it skips it, the moment of the change."""
    shown = wall.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    # The clock of the day before would call the moment so.
    day_before = wall.dt.offset_by("-1d").dt.replace_time_zone(zone, ambiguous="latest", non_existent="null")
    return pl.coalesce(shown, day_before.dt.offset_by("24h"))


def error_text(error: Exception) -> str:
    """Return what an error inside of an expression says.

    Releases after 1.36 raise it anew, with the expression behind its text. A KeyError is shown as a literal,
    and must not be shown so twice.
    """
    is_anew = isinstance(error, KeyError) and "\n" in "".join(map(str, error.args))
    return str(error.args[0] if is_anew else error)


def scan_lines(
    source: str | io.BytesIO, *, glob: bool = True, storage_options: dict[str, Any] | None = None
) -> pl.LazyFrame:
    """Scan the lines of a text: `pl.scan_lines`, from 1.38 on."""
    if hasattr(pl, "scan_lines"):
        return pl.scan_lines(source, glob=glob, storage_options=storage_options)
    schema = {"line": pl.String()}
    if (lines := _blank_lines(source)) is not None:
        return pl.LazyFrame({"line": lines}, schema)
    # A table of one column, as no text has the separator in it. A file that has is refused.
    return pl.scan_csv(
        source, has_header=False, separator="\x01", quote_char=None, schema=schema, raise_if_empty=False,
        missing_utf8_is_empty_string=True, glob=glob, storage_options=storage_options,  # type: ignore[call-arg]
    )  # fmt: skip


def _blank_lines(source: str | io.BytesIO) -> list[str] | None:
    """Return the lines of a small file without text, which a Polars before 1.38 cannot scan; else None."""
    if isinstance(source, str):
        file = Path(source)
        small = file.read_bytes() if file.is_file() and file.stat().st_size <= BLANK_BYTES else None
    else:
        small = source.getvalue() if source.getbuffer().nbytes <= BLANK_BYTES else None
    if small is None:
        return None
    if small.startswith(GZIP):
        try:
            small = gzip.decompress(small)
        except (OSError, EOFError, zlib.error):  # damaged, which is for Polars to say
            return None
    return None if small.strip(b"\r\n") else [""] * small.count(b"\n")


def scan_ndjson(source: str | Path) -> pl.LazyFrame:
    """Scan JSON Lines by the columns that are in any of them; Polars refuses deep ones from 2.1 on."""
    if VERSION < (2, 1):
        suspect = pl.col("line").str.count_matches(r"[\[{]") > DEEPEST_JSON
        found = scan_lines(str(source)).filter(suspect).collect(engine="streaming").get_column("line")
        if any(_nesting(line) > DEEPEST_JSON for line in found):
            raise pl.exceptions.ComputeError(f"a line is nested more than {DEEPEST_JSON} deep")
    return pl.scan_ndjson(source, infer_schema_length=None)


def _nesting(line: str) -> int:
    """Return how many brackets of a line of JSON are open at once, at most.

    Examples
    --------
    >>> _nesting('{"a": [1, {"b": "]"}]}')
    3
    """
    deepest = depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", line)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def sink_parts(
    frame: pl.LazyFrame,
    folder: Path,
    *,
    part_bytes: int,
    row_bytes: float,
    metadata: Mapping[str, str],
    row_group_size: int,
) -> list[tuple[str, int, int]]:
    """Write a frame to Parquet files of about a size, complete on disk when done: paths, rows and bytes.

    The sink says what it wrote from 1.44 on, and takes a size in bytes from 1.37 on; before, one in rows.
    """
    written = list[tuple[str, int, int]]()
    options: dict[str, Any] = {
        "metadata": dict(metadata),
        "row_group_size": row_group_size,
        "sync_on_close": "all",
        "engine": "streaming",
    }
    if "sinked_paths_callback" in inspect.signature(pl.LazyFrame.sink_parquet).parameters:
        frame.sink_parquet(
            pl.PartitionBy(folder, approximate_bytes_per_file=part_bytes),
            sinked_paths_callback=lambda sunk: written.extend(
                (str(file.path), file.num_rows, file.num_bytes) for file in sunk.paths
            ),
            **options,
        )
        return written
    if hasattr(pl, "PartitionBy"):
        frame.sink_parquet(pl.PartitionBy(folder, approximate_bytes_per_file=part_bytes), **options)
    else:
        rows = max(int(part_bytes / row_bytes), 1)
        frame.sink_parquet(pl.PartitionMaxSize(folder, max_size=rows), **options)  # type: ignore[attr-defined]
    for file in sorted(folder.rglob("*.parquet")):
        rows = pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()
        written.append((str(file), rows, file.stat().st_size))
    return written
