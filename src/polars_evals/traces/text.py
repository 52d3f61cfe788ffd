"""The identity of a text, the same on every machine and in every version."""

from __future__ import annotations

import polars as pl

from polars_evals.traces.fields import Candidate
from polars_evals.traces.tables import read_text


def stable_hash(text: pl.Expr) -> pl.Expr:
    """Hash each text with BLAKE2b (16 bytes, in hexadecimal) of its UTF-8 bytes; null stays null."""
    return read_text(pl.struct(value=text).struct.json_encode(), [Candidate("value", "hash")])
