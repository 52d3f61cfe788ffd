"""Score files as the options of the command say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast, get_args

import polars as pl

from polars_evals._errors import ConfigError, InputError
from polars_evals.cli.console import stoppable
from polars_evals.jobs.inputs import Input
from polars_evals.jobs.scoring import score_files as score_here
from polars_evals.jobs.scoring import summary
from polars_evals.suite import Metric, Suite
from polars_evals.traces.files import is_parquet
from polars_evals.traces.rows import Rows
from polars_evals.wording import did_you_mean

ROWS = get_args(Rows)
ENGINES = ("polars", "ray", "spark")

# What the options of the library are called here.
OPTIONS = {
    r"\boutput must end in": "--output must end in",
    r"\bthe output (?=')": "--output ",
    r"columns=\{[^}]*\} \(command line: ([^)]*)\)": r"\1",
    r"columns=\{[\"'](\w+)[\"']: \.\.\.(?:, [^}]*)?\}": r"--column \1=...",
    r"\bformat=\"(\w+)\"": r"--format \1",
    r"\bcolumns=": "--column",
    r"\b(keep|format)=": r"--\1",
}


def score_files(source: Input, suite: Suite, output: str | Path, engine: str) -> dict[str, Any]:
    """Score the files and say what came out."""
    if engine not in ENGINES:
        hint = did_you_mean(engine, ENGINES)
        raise ConfigError(f'--engine must be one of {", ".join(ENGINES)}, got "{engine}"{hint}')
    if engine != "polars":
        return score_there(source, suite, output, engine)
    with stoppable(), in_options():
        return score_here(source, suite, output)


def score_there(source: Input, suite: Suite, output: str | Path, engine: str) -> dict[str, Any]:
    """Score the files on a cluster, into a folder."""
    if source.format != "auto" or source.columns or source.keep or source.rows:
        raise ConfigError(f"--engine {engine} reads Parquet files as they are: it takes no options of traces")
    try:
        from polars_evals.cluster import score_files

        files = source.files()
        for file in files:
            if not is_parquet(file):
                raise InputError(f"--engine {engine} reads Parquet files, which {file!r} is not")
        score_files(files, suite, Path(output), engine=engine)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error}; pip install 'polars-evals[{engine}]'") from None
    except FileExistsError as error:
        raise InputError(str(error)) from None
    return {"output": str(output), "files": len(files), **summary(Path(output) / "*.parquet", suite)}


def choose_input(
    paths: list[str], format_name: str, columns: list[str], *, keep: list[str], rows: str | None
) -> Input:
    """Take the files and how to read them from the options."""
    if rows is not None and rows not in ROWS:
        raise ConfigError(f'--rows must be one of {", ".join(ROWS)}, got "{rows}"{did_you_mean(rows, ROWS)}')
    return Input(paths, format_name, dict(map(mapped, columns)), keep, cast("Rows | None", rows))


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
    """Let an error that names the options of the library name those of the command."""
    try:
        yield
    except (ConfigError, InputError, pl.exceptions.PolarsError, ValueError) as error:
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
