"""Read, check and score files as the options of the command say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from polars_evals._errors import ConfigError, InputError
from polars_evals.cli.options import AUTO
from polars_evals.jobs.ingest import read_all, score_files, summary
from polars_evals.jobs.inputs import Input
from polars_evals.suite import Metric, Suite
from polars_evals.traces.content import kind_of
from polars_evals.traces.dataset import Dataset
from polars_evals.traces.rows import Rows
from polars_evals.wording import counted, did_you_mean

if TYPE_CHECKING:
    from polars_evals.drift import Comparison, ComparisonSpec

ROWS = get_args(Rows)
# Without a cluster.
HERE = "polars"

# What the options of the library are called here.
OPTIONS = {
    r"\boutput must end in": "--output must end in",
    r"\bthe output (?=')": "--output ",
    r"columns=\{[^}]*\} \(command line: ([^)]*)\)": r"\1",
    r"columns=\{[\"'](\w+)[\"']: \.\.\.(?:, [^}]*)?\}": r"--column \1=...",
    r"\bformat=\"(\w+)\"": r"--format \1",
    r"\bcolumns=": "--column",
    r"\brows=\"(\w+)\"": r"--rows \1",
    r"pe\.with_expected\(traces, dataset\)": "--dataset FILE",
    r"\b(keep|format)=": r"--\1",
    r"\((version|baseline|item)\)": r"(--\1)",
    r"files, folders or frames": "files or folders",
}


def score_input(source: Input, suite: Suite, output: str | Path, engine: str) -> dict[str, Any]:
    """Score the files and say what came out."""
    if engine != HERE:
        from polars_evals.cluster.engines import ENGINES

        known = (HERE, *ENGINES)
        if engine not in known:
            hint = did_you_mean(engine, known)
            raise ConfigError(f'--engine must be one of {", ".join(known)}, got "{engine}"{hint}')
        return _score_on_cluster(source, suite, output, engine)
    with in_options():
        return score_files(source, suite, output)


def check_files(source: Input, suite: Suite) -> list[dict[str, Any]]:
    """Check files for problems that make scores misleading: `Suite.check`."""
    with in_options():
        _, frame = read_all(source, {file: file for file in source.files()}, suite)
        return suite.check(frame).to_dicts()


def finding_lines(findings: list[dict[str, Any]]) -> str:
    """Write findings for a terminal, the worst first."""
    if not findings:
        return "nothing found"
    lines = []
    for one in findings:
        rows = f"{counted(one['rows'], 'row')} ({one['share']:.0%})" if one["share"] is not None else ""
        where = ", ".join(filter(None, (one["metric"], one["column"], rows)))
        lines.append(f"{one['severity']}: {one['finding']}: {where}")
        lines.append(f"  {one['advice']}" + (f"; such as {one['example']!r}" if one["example"] else ""))
    return "\n".join(lines)


def _score_on_cluster(source: Input, suite: Suite, output: str | Path, engine: str) -> dict[str, Any]:
    """Score the files on a cluster, into a folder."""
    if source.format != "auto" or source.columns or source.keep or source.rows:
        raise ConfigError(f"--engine {engine} reads plain Parquet files; leave out the options of traces")
    try:
        from polars_evals import cluster

        files = source.files()
        for file in files:
            if kind_of(file) != "parquet":
                raise InputError(f"--engine {engine} reads Parquet files only, got {file!r}")
        cluster.score_parquet(files, suite, Path(output), engine=engine)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error}; pip install 'polars-evals[{engine}]'") from None
    except FileExistsError as error:
        raise InputError(str(error)) from None
    return {"output": str(output), "files": len(files), **summary(Path(output) / "*.parquet", suite)}


def choose_input(given: Any) -> Input:
    """Take the files and how to read them from the options of a command."""
    rows = getattr(given, "rows", None)
    if rows is not None and rows not in ROWS:
        raise ConfigError(f'--rows must be one of {", ".join(ROWS)}, got "{rows}"{did_you_mean(rows, ROWS)}')
    dataset = getattr(given, "dataset", None)
    return Input(
        given.inputs,
        given.format_name,
        dict(map(_mapped, given.columns or [])),
        given.keep or [],
        rows,
        dataset=None if dataset is None else Dataset(dataset, given.on, given.expected),
    )


def reading_of(given: Any) -> dict[str, Any]:
    """Return how to read the files, as `read_traces` takes it."""
    source = choose_input(given)
    return {name: getattr(source, name) for name in ("format", "columns", "keep", "rows", "dataset")}


def choose_suite(suite: Path | None, metrics: list[str] | None) -> Suite:
    """Take the suite file, or make a suite of metrics."""
    if (suite is None) == (not metrics):
        raise ConfigError("give either --suite with a file, or --metric with the name of a metric")
    if suite is None:
        try:
            return Suite([Metric(name) for name in metrics or []])
        except ValueError as error:
            if str(error).endswith("is missing"):
                hint = "--metric takes no options: write a suite file for --suite"
                raise ConfigError(f"{error}; {hint}") from None
            raise
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
        message = in_words_of_the_command(str(error))
        if message == str(error):
            raise
        raise type(error)(message) from error


def in_words_of_the_command(message: str) -> str:
    """Name the options of the command in the place of those of the library."""
    for words, option in OPTIONS.items():
        message = re.sub(words, option, message)
    return message


def _mapped(text: str) -> tuple[str, str]:
    name, equals, source = text.partition("=")
    if not equals or not name or not source:
        raise ConfigError(
            f"--column maps a canonical column to one of the files: output=answer, got {text!r}"
        )
    return name, source


def with_defaults(spec: ComparisonSpec, scored: pl.LazyFrame) -> ComparisonSpec:
    """Find what was not given: the column of versions, the baseline (the first version) and the item."""
    columns, found = scored.collect_schema(), spec
    if spec.version == AUTO and AUTO not in columns:
        counts = {name: scored.select(pl.col(name).drop_nulls().n_unique()).collect().item()
                  for name in ("model", "version") if name in columns}  # fmt: skip
        several = [name for name, count in counts.items() if count > 1]
        if not several:
            raise ConfigError(
                "no column of versions was found: neither `model` nor `version` has two values; "
                "name it with --version"
            )
        found = replace(found, version=several[0])
        has_items = "item_id" in columns and scored.select(pl.col("item_id").count()).collect().item()
        if found.item is None and has_items:
            found = replace(found, item="item_id")
    if found.version not in columns:
        raise InputError(
            f"--version: there is no column {found.version!r}{did_you_mean(found.version, columns)}"
        )
    if spec.baseline == AUTO:
        versions = scored.select(pl.col(found.version).drop_nulls().cast(pl.String)).head(1).collect()
        if versions.is_empty():
            raise ConfigError(f"the column {found.version!r} of --version has no values")
        found = replace(found, baseline=versions.item())
    return found


def need_pairs(comparison: Comparison) -> None:
    """Refuse to conclude from nothing: every candidate needs something to compare, in every metric."""
    if comparison.summary["n"].min() and comparison.spec.paired:
        return
    # Gates are declared with pydantic, which takes a while to import.
    from polars_evals.jobs.rules import nothing_compared

    if lone := nothing_compared(comparison, comparison.summary):
        raise InputError("\n".join(lone))
