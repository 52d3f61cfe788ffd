"""Score files into a file, and read scored files back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from uuid import uuid4

import polars as pl

from polars_evals.cli.console import stoppable
from polars_evals.jobs.errors import ConfigError, InputError
from polars_evals.jobs.inputs import Input, scan_all
from polars_evals.jobs.memory import small_steps, with_small_row_groups
from polars_evals.jobs.open import kind_of, read_store
from polars_evals.jobs.store import clear_staging, staged
from polars_evals.options import did_you_mean
from polars_evals.suite import Metric, Suite, signatures
from polars_evals.traces.files import is_parquet, reading_copies

Rows: TypeAlias = Literal["outputs", "all"] | None
ROWS = ("outputs", "all")
ENGINES = ("polars", "ray", "spark")

# What the options of `scan_traces` are called here.
OPTIONS = {
    r"columns=\{[\"'](\w+)[\"']: \.\.\.(?:, [^}]*)?\}": r"--column \1=...",
    r"\bformat=\"(\w+)\"": r"--format \1",
    r"\bcolumns=": "--column",
    r"\b(keep|format)=": r"--\1",
}


def score_files(source: Input, suite: Suite, output: Path, engine: str) -> dict[str, Any]:
    """Score the files and say what came out."""
    if engine not in ENGINES:
        hint = did_you_mean(engine, ENGINES)
        raise ConfigError(f'--engine must be one of {", ".join(ENGINES)}, got "{engine}"{hint}')
    return (
        score_here(source, suite, output)
        if engine == "polars"
        else score_there(source, suite, output, engine)
    )


def score_there(source: Input, suite: Suite, output: Path, engine: str) -> dict[str, Any]:
    """Score the files on a cluster, into a folder."""
    if source.format != "auto" or source.columns or source.keep or source.rows:
        raise ConfigError(f"--engine {engine} reads Parquet files as they are: it takes no options of traces")
    try:
        from polars_evals.cluster import score_files

        files = source.files()
        for file in files:
            if not is_parquet(file):
                raise InputError(f"--engine {engine} reads Parquet files, which {file!r} is not")
        score_files(files, suite, output, engine=engine)  # type: ignore[arg-type]
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error}; pip install 'polars-evals[{engine}]'") from None
    except FileExistsError as error:
        raise InputError(str(error)) from None
    return {"output": str(output), "files": len(files), **summary(output / "*.parquet", suite)}


def score_here(source: Input, suite: Suite, output: Path) -> dict[str, Any]:
    """Score the files on this machine, streaming."""
    if output.suffix.lower() not in (".parquet", ".pq"):
        raise ConfigError(
            f"scores are written as Parquet: --output must end in .parquet, got {str(output)!r}"
        )
    if output.is_dir():
        raise ConfigError(f"--output {str(output)!r} is a folder; name a file")
    files = source.files()
    if any(os.path.exists(output) and os.path.samefile(file, output) for file in files):
        raise InputError(f"{str(output)!r} is one of the inputs; write the scores to another file")
    with in_options():
        frame = scan_all(source, files)
    output.parent.mkdir(parents=True, exist_ok=True)
    work = output.with_name(f".{output.name}.{uuid4().hex}")
    try:
        with stoppable():
            staged.add(work)
            work.mkdir()
            read = {file: with_small_row_groups(file, work / "copies") for file in files}
            if list(read.values()) != files:
                with reading_copies(read):
                    frame = scan_all(source, files)
            with small_steps(list(read.values())) as rows:
                suite.sink_parquet(frame, work / "scored", engine="streaming", row_group_size=rows)
    except pl.exceptions.PolarsError:
        with in_options():
            for file in files:
                source.check(file)
        raise
    else:
        os.replace(work / "scored", output)
    finally:
        clear_staging()
    return {"output": str(output), "files": len(files), **summary(output, suite)}


def choose_input(
    paths: list[str], format_name: str, columns: list[str], *, keep: list[str], rows: str | None
) -> Input:
    """Take the files and how to read them from the options."""
    if rows is not None and rows not in ROWS:
        raise ConfigError(f'--rows must be one of {", ".join(ROWS)}, got "{rows}"{did_you_mean(rows, ROWS)}')
    return Input(paths, format_name, dict(map(mapped, columns)), keep, cast(Rows, rows))


def choose_suite(suite: Path | None, metrics: list[str] | None) -> Suite:
    """Take the suite file, or make a suite of metrics."""
    if (suite is None) == (not metrics):
        raise ConfigError("give either --suite with a file, or --metric with the name of a metric")
    if suite is None:
        return Suite([Metric(name) for name in metrics or []])
    try:
        return Suite.load(suite)
    except OSError as error:
        raise ConfigError(f"the suite cannot be read: {error}") from None


@contextmanager
def in_options() -> Iterator[None]:
    """Let an error that names the options of `scan_traces` name those of the command."""
    try:
        yield
    except (InputError, pl.exceptions.PolarsError, ValueError) as error:
        told = str(error)
        for words, option in OPTIONS.items():
            told = re.sub(words, option, told)
        if told == str(error):
            raise
        raise type(error)(told) from error


def mapped(text: str) -> tuple[str, str]:
    """Read `output=answer.text`."""
    name, equals, source = text.partition("=")
    if not equals or not name or not source:
        raise ConfigError(
            f"--column maps a canonical column to one of the files: output=answer, got {text!r}"
        )
    return name, source


def summary(path: Path, suite: Suite) -> dict[str, Any]:
    """Read means and pass rates back from the file that was written."""
    names = [str(metric.name) for metric in suite.metrics]
    scored = pl.scan_parquet(path, glob=path.stem == "*")
    totals = scored.select(
        pl.len().alias("rows"),
        *(pl.col(f"{name}_score").mean().alias(f"mean:{name}") for name in names),
        *((pl.col(f"{name}_label") == "pass").mean().alias(f"pass:{name}") for name in names),
    )
    found = totals.collect(engine="streaming").row(0, named=True)
    return {
        "rows": found["rows"],
        "metrics": {
            name: {"mean": found[f"mean:{name}"], "pass_rate": found[f"pass:{name}"]} for name in names
        },
        "signatures": suite.signature,
    }


def read_scored(paths: list[str]) -> pl.LazyFrame:
    """Scan scored files, or the store of a job; scores that were made in different ways are refused."""
    if len(paths) == 1 and kind_of(Path(paths[0])) is not None:
        return read_store(paths[0]).scan()
    source = Input(paths)
    files = source.files()
    try:
        signatures(files)
    except ValueError as error:
        raise InputError(str(error)) from None
    frames = [pl.scan_parquet(file, glob=False) for file in files]
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal")
