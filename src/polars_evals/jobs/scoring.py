"""Score files into one Parquet file, streaming, and read scored files back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

import polars as pl

from polars_evals._errors import ConfigError, InputError
from polars_evals.jobs.inputs import Input, row_bytes, small_steps
from polars_evals.jobs.store import find_store
from polars_evals.storage import atomic
from polars_evals.storage.atomic import temporary_folder
from polars_evals.storage.objects import Entry, is_remote, open_folder
from polars_evals.suite import Suite, signatures
from polars_evals.suite.lint import describe_unlabelled, unlabelled
from polars_evals.suite.signature import SIGNATURE
from polars_evals.traces.scan import Reading, is_broken
from polars_evals.traces.source import SOURCE
from polars_evals.wording import counted, listed, without_query

ENDINGS = (".parquet", ".pq")


def score_files(
    source: Input | str | Path | Sequence[str | Path], suite: Suite, output: str | Path
) -> dict[str, Any]:
    """
    Score files into one Parquet file, streaming: they need not fit in memory.

    Parameters
    ----------
    source
        Files, folders and patterns, also of object stores; an `Input` also says how to read them.
    suite
        The metrics.
    output
        The Parquet file to write, on this machine or in an object store. It is there once it is complete.

    Returns
    -------
    dict
        How many rows came from how many files, and for each metric the mean score and the pass rate.

    Raises
    ------
    ConfigError, InputError
        If the output is no Parquet file, or an input cannot be read; the error names it.

    Examples
    --------
    >>> import polars_evals as pe
    >>> from polars_evals.jobs import score_files
    >>> done = score_files("data/traces.parquet", pe.Suite([pe.Metric("exact_match")]), "scored.parquet")
    >>> done["rows"], done["files"], list(done["metrics"])
    (2160, 1, ['exact_match'])
    """
    if not isinstance(source, Input):
        listed = [source] if isinstance(source, str | Path) else source
        source = Input([str(path) for path in listed])
    output = str(output)
    _check_output(output)
    listing = source.listed()
    if any(_is_same(file, output) for file in listing.files):
        raise InputError(f"{output!r} is one of the inputs; write the scores to another file")
    with _working_folder(output) as work:
        entries = {file: listing.entries.get(file, Entry(0, 0)) for file in listing.files}
        with source.copies(entries, work / "inputs") as (paths, unread):
            for file, reason in unread.items():
                raise InputError(reason if file in reason else f"{file}: {reason}")
            written, reading = _score_into(work, source, paths, suite)
        found = summary(written, suite)
        if is_remote(output):
            folder, _, name = output.rpartition("/")
            open_folder(folder, source.storage_options).take(str(written), name)
        else:
            atomic.replace(written, Path(output))
    return {
        "output": output,
        "files": len(reading.files),
        "left_out": {**listing.left_out, **reading.left_out},
        **found,
    }


def read_all(source: Input, paths: Mapping[str, str], suite: Suite) -> tuple[Reading, pl.LazyFrame]:
    """Read all files to one frame; one that cannot be read is an error."""
    reading = source.read(paths, _columns_of(suite), name_models=True)
    frame = reading.require(f"there is nothing to score: {listed(reading.left_out, 3)} is empty")
    return reading, frame.drop([name for name in SOURCE if name not in source.keep])


def _score_into(work: Path, source: Input, paths: Mapping[str, str], suite: Suite) -> tuple[Path, Reading]:
    reading, frame = read_all(source, paths, suite)
    try:
        with small_steps(max(row_bytes(paths[file]) for file in reading.files)) as rows:
            suite.sink_parquet(frame, work / "scored", engine="streaming", row_group_size=rows)
    except pl.exceptions.PolarsError:
        for file in reading.files:
            _check_file(source, file, paths[file])
        raise
    return work / "scored", reading


def _check_file(source: Input, file: str, path: str) -> None:
    """Read a file to its end; if that fails, name it."""
    one = source.read({file: path}, ())
    try:
        if one.frame is not None:
            one.frame.select(pl.all().null_count()).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        reason = without_query(str(error))
        raise InputError(reason if file in reason else f"cannot read {file!r}: {reason}") from None


@contextmanager
def _working_folder(output: str) -> Iterator[Path]:
    """Give a folder next to the output, or on this machine for one in an object store."""
    if is_remote(output):
        work = Path(mkdtemp(prefix="polars-evals-"))
    else:
        path = Path(output)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not with the name of the output in it, which may be as long as a name can be.
        work = path.with_name(f".{uuid4().hex}")
    with temporary_folder(work):
        yield work


def _columns_of(suite: Suite) -> list[str]:
    return list(dict.fromkeys(column for metric in suite.metrics for column in metric.columns))


def _is_same(file: str, output: str) -> bool:
    if is_remote(file) or is_remote(output):
        return file == output
    return os.path.exists(output) and os.path.samefile(file, output)


def _check_output(output: str) -> None:
    """Insist that the scores can have that name."""
    if not output.lower().endswith(ENDINGS):
        raise ConfigError(f"scores are written as Parquet: output must end in .parquet, got {output!r}")
    if not is_remote(output) and Path(output).is_dir():
        raise ConfigError(f"the output {output!r} is a folder; name a file")


def summary(path: Path, suite: Suite) -> dict[str, Any]:
    """Read means and pass rates back from the file that was written."""
    names = [str(metric.name) for metric in suite.metrics]
    scored = pl.scan_parquet(path, glob=path.stem == "*")
    columns = scored.collect_schema()
    without = unlabelled(suite.metrics, columns)
    totals = scored.select(
        pl.len().alias("rows"),
        *(missing.sum().alias(f"unlabelled:{name}") for name, missing in without.items()),
        (is_broken().sum() if "error" in columns else pl.lit(0)).alias("broken"),
        *(pl.col(f"{name}_score").mean().alias(f"mean:{name}") for name in names),
        *((pl.col(f"{name}_label") == "pass").mean().alias(f"pass:{name}") for name in names),
    )
    found = totals.collect(engine="streaming").row(0, named=True)
    missing = {name: found[f"unlabelled:{name}"] for name in without if found[f"unlabelled:{name}"]}
    warnings = [
        describe_unlabelled(suite.metrics, name, count, found["rows"]) for name, count in missing.items()
    ]
    if (hint := _cleaning_hint(scored, columns)) is not None:
        warnings.append(hint)
    if found["broken"]:
        warnings.append(
            f"{counted(found['broken'], 'record')} cannot be read; each is a row without an output, and "
            "`error` names its line"
        )
    return {
        "rows": found["rows"],
        "broken": found["broken"],
        "unlabelled": missing,
        "warnings": warnings,
        "metrics": {
            name: {"mean": found[f"mean:{name}"], "pass_rate": found[f"pass:{name}"]} for name in names
        },
        "signatures": suite.signature,
    }


# A reference longer than this is no answer that a sentence would contain.
_SHORT = 64


def _cleaning_hint(scored: pl.LazyFrame, columns: Mapping[str, pl.DataType]) -> str | None:
    """Say so where outputs never equal the expected value, but mostly contain it: "ANSWER: A" and "A"."""
    if columns.get("output") != pl.String() or columns.get("expected") != pl.String():
        return None
    output, expected = pl.col("output").str.strip_chars(), pl.col("expected").str.strip_chars()
    word = pl.format(r"(?:^|\W){}(?:\W|$)", expected.str.escape_regex())
    short = scored.filter(
        output.is_not_null(), expected.str.len_chars().is_between(1, _SHORT), output.str.len_chars() > 0
    ).head(1_000)
    found = short.select(
        pl.len().alias("rows"),
        (output.str.to_lowercase() == expected.str.to_lowercase()).sum().alias("equal"),
        output.str.contains(word).sum().alias("contained"),
        (expected.str.len_chars() == 1).all().alias("letters"),
    ).collect(engine="streaming")
    rows, equal, contained, letters = found.row(0)
    if rows < 2 or equal or contained < rows / 2:
        return None
    way = "use the metric `choice`" if letters else "clean them in a suite, for example with `extract_after`"
    return (
        f"no output equals its expected value, but {contained / rows:.0%} of the outputs contain it: {way}, "
        "or compare with `contains`"
    )


def scan_scored(paths: Sequence[str], *, storage_options: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """
    Scan scored files, or the store of a job; scores that were made in different ways are refused.

    Files of one machine and of a cluster can be mixed: their signatures are in metadata or in columns, labels
    are words of a fixed set or any text, and times have a zone or are in UTC.

    Parameters
    ----------
    paths
        Parquet files, folders or patterns; or the one folder of a job's store.
    storage_options
        Options for object stores, as in `pl.scan_parquet`.
    """
    if len(paths) == 1 and not paths[0].lower().endswith(ENDINGS):
        snapshot = find_store(paths[0], storage_options)
        if snapshot is not None:
            return snapshot.scan()
    files = Input(paths, storage_options=storage_options).files()
    options = dict(storage_options) if storage_options else None
    try:
        made = signatures(files, storage_options=options)
    except ValueError as error:
        raise InputError(str(error)) from None
    frames = [
        pl.scan_parquet(file, glob=False, storage_options=options if is_remote(file) else None)
        for file in files
    ]
    return frames[0] if len(frames) == 1 else _concat(frames, made)


def _concat(frames: Sequence[pl.LazyFrame], made: Mapping[str, str]) -> pl.LazyFrame:
    """Put scored tables together that one machine, Ray and Spark may have written."""
    schemas = [frame.collect_schema() for frame in frames]
    names = {name for schema in schemas for name in schema}
    signed = {
        f"{metric}{SIGNATURE}": text for metric, text in made.items() if f"{metric}{SIGNATURE}" in names
    }
    zoned = {name for name in names if len({_zone_of(schema.get(name)) for schema in schemas} - {None}) > 1}
    alike = [
        frame.with_columns(
            *(pl.lit(text).alias(name) for name, text in signed.items() if name not in schema),
            *(_in_utc(name, schema[name]) for name in schema if name in zoned),
        )
        for frame, schema in zip(frames, schemas, strict=True)
    ]
    return pl.concat(alike, how="diagonal_relaxed")


def _zone_of(dtype: pl.DataType | None) -> str | None:
    """Name the zone of a column of times, blank if it has none; None for anything else."""
    return dtype.time_zone or "" if isinstance(dtype, pl.Datetime) else None


def _in_utc(name: str, dtype: pl.DataType) -> pl.Expr:
    times = pl.col(name).dt
    return times.convert_time_zone("UTC") if _zone_of(dtype) else times.replace_time_zone("UTC")
