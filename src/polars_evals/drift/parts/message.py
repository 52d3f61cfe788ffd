"""Sums as bytes: a line that says what this is, a description as JSON, and Arrow data."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.parts.summing import merges
from polars_evals.drift.spec import ResolvedSpec

if TYPE_CHECKING:
    from polars_evals.drift.parts.summing import Sums

MAGIC = b"polars-evals aggregates "
VERSION = 3


def write(spec: ResolvedSpec, sums: Sums) -> bytes:
    """Return a specification and its sums as bytes."""
    sizes, body = dict[str, int](), io.BytesIO()
    for name, frame in sums.items():
        # A frame without columns stands for none, and Arrow has no such thing.
        if frame.width:
            start = body.tell()
            frame.write_ipc_stream(body, compression="zstd")
            sizes[name] = body.tell() - start
    described = {field.name: getattr(spec, field.name) for field in fields(spec)}
    described["measures"] = spec.settings["measures"]
    header = json.dumps({"spec": described, "sizes": sizes}).encode()
    content = len(header).to_bytes(8, "big") + header + body.getvalue()
    return b"%b%d\n%b%b" % (MAGIC, VERSION, _digest(content), content)


def read(data: bytes) -> tuple[ResolvedSpec, Sums]:
    """Read what `write` wrote; anything else is a ValueError."""
    first, _, rest = bytes(data[: len(MAGIC) + 20]).partition(b"\n")
    if not first.startswith(MAGIC) or not _:
        raise ValueError(
            f"these bytes are no aggregates of polars-evals: they begin with {bytes(data[:20])!r}"
        )
    if first != b"%b%d" % (MAGIC, VERSION):
        number = first.removeprefix(MAGIC).decode("ascii", "replace")
        raise ValueError(
            f"aggregates of format {number}, but this version of polars-evals reads format {VERSION}"
        )
    rest = bytes(data[len(first) + 1 :])
    size = len(_digest(b""))
    content = rest[size:]
    if rest[:size] != _digest(content):
        raise ValueError("the aggregates are damaged or cut short")
    try:
        return _parsed(content)
    except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        raise ValueError(f"the aggregates cannot be read: {error}") from error


def _parsed(content: bytes) -> tuple[ResolvedSpec, Sums]:
    start = 8 + int.from_bytes(content[:8], "big")
    header: dict[str, Any] = json.loads(content[8:start])
    spec = ResolvedSpec(**header["spec"])
    sums = dict.fromkeys(merges(spec), pl.DataFrame())
    for name, size in header["sizes"].items():
        if name not in sums:
            raise ValueError(f"unknown sums {name!r}")
        sums[name] = pl.read_ipc_stream(content[start : start + size])
        start += size
    return spec, sums


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
