"""Write a suite and a job for a set of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from polars_evals._errors import ConfigError
from polars_evals.drift.slices import searchable
from polars_evals.jobs.ingest import relative
from polars_evals.suite.files import to_toml, toml_value
from polars_evals.suite.suggest import LOOKED_AT, suggest
from polars_evals.traces.scan import read_traces
from polars_evals.traces.source import SOURCE

SUITE, JOB = "evals.toml", "job.toml"
# Columns that say what a row is, and no group of rows.
ROLES = {"trace_id", "item_id", "input", "expected", "model", "version", "source_broken", *SOURCE}
NO_EXPECTED = """\
# The answers have no expected values. Add them from a file:
# [input.dataset]
# path = "questions.csv"
# on = "item_id"
# expected = "answer"
""".splitlines()
# How many columns of groups are proposed.
MOST_SLICED = 3


@dataclass(frozen=True)
class _Versions:
    column: str
    names: list[str]
    baseline: str
    why: str


def write_files(
    paths: Sequence[str], folder: Path, *, reading: Mapping[str, Any]
) -> tuple[list[Path], tuple[str, ...]]:
    """Write the files, and return them with the reasons for what is in them; existing files stay."""
    files = [folder / SUITE, folder / JOB]
    if taken := [str(file) for file in files if file.exists()]:
        raise ConfigError(f"{', '.join(taken)} already exists: choose another folder with --output")
    traces = _read(paths, folder, reading)
    suggestion = suggest(traces.head(LOOKED_AT))
    head = ["# The metrics, chosen from the data:", *(f"# - {one}" for one in suggestion.reasons), "", ""]
    suite = "\n".join(head) + to_toml(suggestion.suite.to_dict())
    texts = [suite, _job_text(paths, folder, traces, reading)]
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in zip(files, texts, strict=True):
        with open(file, "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    return files, suggestion.reasons


def _read(paths: Sequence[str], folder: Path, reading: Mapping[str, Any]) -> pl.LazyFrame:
    """Read the answers, with the columns that decide what a job compares, and files as the job names them."""
    found = read_traces(list(paths), **{"as_is": ("output",), **reading})
    frame = found.require(f"{', '.join(paths)} has no answers")
    names = frame.collect_schema().names()
    canonical = ("trace_id", "model", "version", "item_id", "input", "expected", "ts")
    absent = [name for name in canonical if name not in names]
    files = {file: relative(file, folder) for file in found.files}
    frame = frame.with_columns(
        pl.col("source_file").replace(files),
        *(pl.lit(None, dtype=pl.String).alias(name) for name in absent),
    )
    if not any(_any(frame, name) for name in ("trace_id", "item_id", "input")):
        raise ConfigError(
            f"{', '.join(paths)}: no column identifies a row. Name the column of the questions or of "
            "their ids with --column item_id=<column>"
        )
    return frame


def _job_text(paths: Sequence[str], folder: Path, traces: pl.LazyFrame, reading: Mapping[str, Any]) -> str:
    located = [relative(path, folder) for path in paths]
    lines = [
        f"# Run it: polars-evals run {folder / JOB}",
        "# Paths are relative to this file.",
        "",
        "[input]",
        f"path = {toml_value(located[0] if len(located) == 1 else located)}",
        *([f"format = {toml_value(reading['format'])}"] if reading.get("format", "auto") != "auto" else []),
        *([f"keep = [{', '.join(map(toml_value, reading['keep']))}]"] if reading.get("keep") else []),
    ]
    if reading.get("columns"):
        pairs = ", ".join(f"{name} = {toml_value(source)}" for name, source in reading["columns"].items())
        lines.append(f"columns = {{ {pairs} }}")
    if not _any(traces, "expected"):
        lines += ["", *NO_EXPECTED]
    lines += ["", "[suite]", f"path = {toml_value(SUITE)}", "", "[store]", 'path = "scores"']
    versions = _versions(traces)
    return "\n".join([*lines, *_key_lines(traces, versions), "", *_comparison_lines(traces, versions)]) + "\n"


def _key_lines(traces: pl.LazyFrame, versions: _Versions | None) -> list[str]:
    """Write the key that identifies a row, unless it is the default."""
    named = [_item(traces), *([versions.column] if versions else [])]
    for key in (["trace_id"], named, [*named, "ts"]):
        rows = traces.select(key).drop_nulls().collect()
        if rows.height and rows.n_unique() == traces.select(pl.len()).collect().item():
            return [] if key == ["trace_id"] else [f"key = {toml_value(key)}  # identifies a row"]
    return [f"key = {toml_value(named)}  # a later row with the same key replaces an earlier one"]


def _item(traces: pl.LazyFrame) -> str:
    return "item_id" if _any(traces, "item_id") else "input"


def _comparison_lines(traces: pl.LazyFrame, versions: _Versions | None) -> list[str]:
    """Write the section `[compare]`, as a comment if there is only one version."""
    item = _item(traces)
    gate = ["[[gate]]", 'fail_on = "regressed"']
    report = ["[report]", 'html = "report.html"', 'junit = "report.xml"', 'summary = "summary.json"']
    if versions is None:
        section = ["[compare]", 'version = "model"', 'baseline = "the version to compare with"']
        return [
            "# The answers are of one version. Once there is a second one, compare it:",
            *(f"# {line}" for line in [*section, f'item = "{item}"', *gate, *report[:3]]),
            "",
            report[0],
            report[3],
        ]
    named = ", ".join(versions.names[:5]) + (", …" if len(versions.names) > 5 else "")
    return [
        f"# {versions.column} has {len(versions.names)} values: {named}.",
        "[compare]",
        f"version = {toml_value(versions.column)}",
        f"baseline = {toml_value(versions.baseline)}  # {versions.why}",
        f"item = {toml_value(item)}",
        *_slice_lines(traces, item, versions.column),
        "",
        "# The run fails with exit code 1 if a version got worse. Other gates: max_newly_failing,",
        "# max_drop, not_worse_than, min_pass_rate.",
        *gate,
        "",
        *report,
    ]


def _slice_lines(traces: pl.LazyFrame, item: str, version: str) -> list[str]:
    """Write `by`: columns with few values that describe the item, to show in which of them it got worse."""
    columns = searchable(traces, traces.collect_schema(), {*ROLES, item, version})
    values = traces.group_by(item).agg(pl.col(columns).n_unique()).select(columns).max().collect()
    found = [column for column in columns if values[column].item() == 1][:MOST_SLICED]
    return [f"by = {toml_value(found)}  # describe the item, with few values"] if found else []


def _versions(traces: pl.LazyFrame) -> _Versions | None:
    """Find the column that tells versions apart, and the first of them."""
    for column in ("model", "version", "source_file"):
        known = traces.filter(pl.col(column).is_not_null())
        found = known.group_by(column, maintain_order=True).agg(pl.col("ts").min()).collect()
        if found.height < 2:
            continue
        names = found[column].to_list()
        if found["ts"].null_count():
            return _Versions(column, names, names[0], "the first in the files")
        return _Versions(column, names, found.sort("ts", maintain_order=True)[column][0], "the earliest")
    return None


def _any(traces: pl.LazyFrame, column: str) -> bool:
    return bool(traces.select(pl.col(column).is_not_null().any()).collect().item())
