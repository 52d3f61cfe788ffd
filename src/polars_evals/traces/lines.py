"""Lines of JSON that say nothing, or cannot be read: which, and what is wrong with them."""

from __future__ import annotations

import json

import polars as pl

from polars_evals._polars import read_ndjson
from polars_evals.traces.content import pieces
from polars_evals.traces.fields import LINE, NUMBER
from polars_evals.traces.records import record_frames

# How many lines that one JSON reader refuses are tried with the other, which knows wider bounds.
SUSPECT_LINES = 1_000


def is_blank(file: str) -> bool:
    """Say whether a file of JSON Lines has no line with anything in it."""
    return all(frame.is_empty() for frame in record_frames(file, "lines", (), None))


def broken_line(file: str) -> tuple[int, str] | None:
    """Find the first line that cannot be read as a JSON object: its number, and what is wrong with it."""
    if next(pieces(file, size=3), b"") == b"\xef\xbb\xbf":
        return 1, "Unexpected UTF-8 BOM"
    line, tried = pl.col(LINE), 0
    suspect = ~line.str.starts_with("{") | line.str.json_path_match("$").is_null()
    for frame in record_frames(file, "lines", (), None):
        for number, text in frame.filter(suspect.fill_null(True)).select(NUMBER, LINE).iter_rows():
            if text is None:
                return number, "it is not valid UTF-8"
            try:
                read_ndjson(text)
            except pl.exceptions.PolarsError:
                return number, _reason(text)
            tried += 1
            if tried == SUSPECT_LINES:
                return None
    return None


def _reason(line: str) -> str:
    """Say what is wrong with a line that cannot be read."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return f"{error.msg} (column {error.colno:,})"
    except (ValueError, RecursionError):
        return "it is nested too deeply, or holds a number that is too long"
    return "NaN and Infinity are not JSON" if isinstance(value, dict) else "it is another JSON value"
