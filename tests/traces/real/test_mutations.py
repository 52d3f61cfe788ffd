"""The same records, written in another way: another order of lines or keys, other line ends, packed, cut."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe
from tests.traces.real.test_truth import EXPORTS, Export

# What a row says, whatever file it stands in.
TOLD = [
    "item_id",
    "model",
    "input",
    "output",
    "expected",
    "error",
    "finish_reason",
    "input_tokens",
    "output_tokens",
]


def _text(file: Path) -> str:
    data = file.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()


def _lines(file: Path) -> list[str]:
    return [line for line in _text(file).split("\n") if line]


def _turned(value: Any) -> Any:
    """Turn the order of keys round, in all depths."""
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(each) for each in value] if isinstance(value, list) else value


def _shuffled(lines: list[str]) -> bytes:
    random.Random(0).shuffle(lines)
    return "\n".join(lines).encode()


def _reordered(lines: list[str]) -> bytes:
    return "\n".join(json.dumps(_turned(json.loads(line)), indent=None) for line in lines).encode()


MUTATIONS: dict[str, Callable[[list[str]], bytes]] = {
    "shuffled": _shuffled,
    "keys": _reordered,
    "crlf": lambda lines: "\r\n".join([*lines, ""]).encode(),
    "mark": lambda lines: b"\xef\xbb\xbf" + "\n".join(lines).encode(),
    "blank lines": lambda lines: "\n\n  \n".join(lines).encode(),
    "gzip": lambda lines: gzip.compress("\n".join(lines).encode()),
    "two gzips": lambda lines: b"".join(gzip.compress(f"{line}\n".encode()) for line in lines),
}


def _is_lines(export: Export) -> bool:
    return all(file.is_file() and ".jsonl" in file.name for file in export.files)


LINES = [export for export in EXPORTS if _is_lines(export.values[0])]


def _told(rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(repr, rows.select(TOLD).iter_rows()))  # type: ignore[arg-type]


def test_there_are_lines() -> None:
    assert len(LINES) > 10


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("export", LINES)
def test_rows_say_the_same(export: Export, mutation: str, tmp_path: Path) -> None:
    files = []
    for number, file in enumerate(export.files):
        folder = tmp_path / str(number)
        folder.mkdir()
        written = folder / file.name.removesuffix(".gz")
        written.write_bytes(MUTATIONS[mutation](_lines(file)))
        files.append(written)
    assert _told(pe.scan_traces(files).collect()) == _told(export.scan())


@pytest.mark.parametrize("export", LINES)
def test_a_file_cut_inside_a_character_loses_one_line_and_says_so(export: Export, tmp_path: Path) -> None:
    *files, last = export.files
    lines = _lines(last)
    whole = "\n".join(lines).encode()
    cut = whole[: len(whole) - len(lines[-1].encode()) // 2] + "é".encode()[:1]
    written = tmp_path / last.name.removesuffix(".gz")
    written.write_bytes(cut)
    checked = pe.check_traces([*files, written])
    assert "broken" in str(checked) or "UTF-8" in str(checked), str(checked)
    kept = pe.scan_traces([*files, written]).collect()
    assert kept.height >= export.scan().height - 2
