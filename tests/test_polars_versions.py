"""The releases of Polars that are supported, and what they spell differently."""

from __future__ import annotations

import gzip
import io
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from polars_evals import _polars

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]


def test_the_oldest_release_that_is_tested_is_the_oldest_that_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [allowed] = [one for one in project["dependencies"] if one.startswith("polars")]
    [tested] = re.findall(r"^POLARS \?= (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert allowed == f"polars>={tested.split()[0]},<3"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "content",
    [b"a\nb\n", b"a\n\n\nb", b"a\r\nb\r\n", b"", b"\n", b"\r\n\n", b'"a\nb",x\n', b" a \n\t\n", b"\t\n"],
)
def test_lines(tmp_path: Path, content: bytes, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(pack(content))
    expected = content.decode().replace("\r\n", "\n").splitlines()
    for source in (str(file), io.BytesIO(pack(content))):
        lines = _polars.scan_lines(source, glob=False).collect()
        assert lines.to_dict(as_series=False) == {"line": expected}


def test_a_text_with_a_null_in_it_is_null() -> None:
    frame = pl.DataFrame({"n": [1, None], "text": ["a", "b"]})
    written = frame.select(_polars.format_text("{}: {}!", "n", pl.col("text")))
    assert written.to_series().to_list() == ["1: a!", None]


def test_deep_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.jsonl"
    for depth, read in ((1000, True), (2000, False)):
        file.write_text('{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}\n", "utf-8")
        if read:
            assert _polars.scan_ndjson(file).collect().height == 1
        else:
            with pytest.raises(pl.exceptions.ComputeError):
                _polars.scan_ndjson(file).collect()
