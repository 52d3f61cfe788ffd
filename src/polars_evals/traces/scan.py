"""Scan exports, and say what they are: one reading of paths for the library, the command and jobs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_evals._errors import InputError
from polars_evals.storage.paths import Paths
from polars_evals.traces.dataset import Dataset
from polars_evals.traces.detect import Detection, sort_files
from polars_evals.traces.platforms import GENERIC
from polars_evals.traces.query import TraceQuery, check_options, file_models, make_query, query_of
from polars_evals.traces.read import BROKEN, NUMBER, read_value
from polars_evals.traces.rows import CANONICAL, OF_FILE, Rows, with_values
from polars_evals.traces.source import SOURCE, Stream, Table, scan_tables, stack_frames
from polars_evals.wording import counted

_log = logging.getLogger("polars_evals.traces")


def scan_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002 - the word that users of scan functions expect
    *,
    columns: Mapping[str, str | pl.Expr] | None = None,
    keep: Sequence[str] = (),
    rows: Rows | None = None,
    scores: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """
    Scan the traces that a platform exported, as one frame for scoring.

    Parameters
    ----------
    path
        A file (Parquet, JSON Lines, JSON, CSV, YAML, Inspect's `.eval`; lines also packed as `.gz` or
        `.zst`), a folder, a pattern such as `traces/**/*.parquet`, a URL as `polars.scan_parquet` takes it,
        or a list of these.
    format
        The platform or layout: `langfuse`, `langsmith`, `phoenix`, `mlflow`, `otel`, `inspect`, `lm_eval`,
        `promptfoo`, `braintrust`, `weave`, `litellm`, `logfire`, `batch`, `messages`, `ragas`, `deepeval`,
        `alpaca_eval`, `openai_evals`, `helm`, `model_answer`, `swebench`, `bfcl`, `tau_bench`,
        `pydantic_evals`, `lighteval`, `adk`, `every_eval_ever`, `openai_agents`, `dspy`, `mmlu_pro`,
        `ifeval`, `rag_evaluator`, `trulens`, `deepeval_traces`, `ragas_experiment`, `cloud_batch`, `generic`
        for other tables, or `auto` to detect the format of each file.
    columns
        Where to find canonical columns, for `generic` or instead of a platform's: the name of a source
        column, a path into one (`metadata.model`, `outputs.choices[0].text`), or an expression over the
        source columns.
    keep
        Source columns to keep. A column with a canonical name gets the prefix `source_`.
    rows
        `traces`, the default: one row for each answer. A trace of several spans has its root's input and
        output if they exist, else those of its last model call. `spans`: the model calls. `outputs`: the
        records with an output. `all`: every record. In tables of answers (`inspect`, `promptfoo`, `generic`,
        …) every record is a row. A missing answer stays: it scores 0.0 and fails.
    scores
        Whether to add the platform's own scores, as `<name>_score` and `<name>_label`. This reads the names
        of the scores from the files first.
    storage_options
        Options for cloud storage, as `polars.scan_parquet` takes them.

    Returns
    -------
    LazyFrame
        The columns `item_id`, `trace_id`, `span_id`, `session_id`, `ts`, `model`, `version`, `input`,
        `output`, `expected`, `kind`, `error`, `finish_reason`, `latency_ms`, `input_tokens`,
        `output_tokens`, `cost`, `tool_calls` and `contexts`, null if the source has none, and those in
        `keep`.

    Raises
    ------
    polars.exceptions.NoDataError
        If a file has records but no answer, unless `rows="all"`.

    Notes
    -----
    `item_id` pairs the same question across versions: the platform's dataset item, example or sample; else
    the BLAKE2b hash (16 bytes, in hexadecimal) of the question: its messages, without the model, its
    parameters, ids, times and the spacing of JSON. A blank question has none.

    A broken record stays, with a null `output` and an `error` that names its line;
    [`check_traces`][polars_evals.check_traces] counts them.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> pl.DataFrame(
    ...     {"question": ["2 + 2?", "3 + 3?"], "answer": ["4", None], "truth": ["4", "6"]}
    ... ).write_parquet(f"{folder}/answers.parquet")
    >>> traces = pe.scan_traces(
    ...     f"{folder}/answers.parquet",
    ...     format="generic",
    ...     columns={"input": "question", "output": "answer", "expected": "truth"},
    ... )
    >>> traces.select("input", "output", "expected").collect()
    shape: (2, 3)
    ┌────────┬────────┬──────────┐
    │ input  ┆ output ┆ expected │
    │ ---    ┆ ---    ┆ ---      │
    │ str    ┆ str    ┆ str      │
    ╞════════╪════════╪══════════╡
    │ 2 + 2? ┆ 4      ┆ 4        │
    │ 3 + 3? ┆ null   ┆ 6        │
    └────────┴────────┴──────────┘
    """
    columns, rows = check_options(columns, keep, rows)
    query = make_query(path, format, columns, keep, storage_options)
    _log.info("%s", query.detection)
    query.survey()
    for group in query.groups if rows != "all" else ():
        for error in query.unanswered(group).values():
            raise error
    return query.scan_with_scores(rows) if scores else query.scan(rows)


def detect_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    storage_options: dict[str, Any] | None = None,
) -> Detection:
    """
    Detect the format of files, with the reason, and list the files that are left out.

    [`scan_traces`][polars_evals.scan_traces] logs the same to the logger `polars_evals.traces` (INFO).

    Parameters
    ----------
    path, format, storage_options
        As in [`scan_traces`][polars_evals.scan_traces].

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> spans = pl.DataFrame({"span_id": ["a"], "root_span_id": ["a"], "output": ["4"]})
    >>> spans.write_parquet(f"{folder}/spans.parquet")
    >>> print(pe.detect_traces(f"{folder}/spans.parquet"))
    braintrust: columns root_span_id, span_id (Braintrust export), in 1 file
    """
    return make_query(path, format, {"output": pl.lit(None)}, (), storage_options).detection


@dataclass(frozen=True)
class Reading:
    """Files that are read together, and what became of each."""

    # The rows of all files that can be read, with the columns of `SOURCE`; None where there is no such file.
    frame: pl.LazyFrame | None
    # The files that the frame reads, with their format; `table` for a table of no platform.
    formats: Mapping[str, str]
    # The files that are no traces, and those that cannot or must not be read, with the reason.
    left_out: Mapping[str, str]
    failed: Mapping[str, str]
    # Those of `failed` that have no known format, and would be left out beside a file of traces.
    strays: Collection[str]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the frame reads."""
        return tuple(self.formats)

    def require(self, nothing: str) -> pl.LazyFrame:
        """Return the frame. A file that cannot be read is an error, and so are no rows (`nothing`)."""
        for file, reason in self.failed.items():
            others = len(self.failed) - 1
            more = f" (and {counted(others, 'other file')} cannot be read)" if others else ""
            raise InputError(f"{reason if file in reason else f'{file}: {reason}'}{more}")
        if self.frame is None:
            raise InputError(nothing)
        return self.frame


def read_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    columns: Mapping[str, str | pl.Expr] | None = None,
    keep: Sequence[str] = (),
    rows: Rows | None = None,
    as_is: Collection[str] | None = None,
    dataset: Dataset | None = None,
    apart: bool = False,
    explicit: Collection[str] | None = None,
    name_models: bool = False,
    copies: Mapping[str, str] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Reading:
    """Read a set of paths as `scan_traces` does, and set files apart that cannot be read.

    Every command and job reads through this function, so that all of them give the same rows and counts. The
    frame is made once for all files: a trace whose spans stand in two of them is one row. A file that breaks
    later than its first records raises when the frame is collected; read the halves of the set by themselves
    to get the rows of the others.

    `as_is` are columns that the caller needs: a table of no platform that has all of them, or a column
    `output`, is read with all its columns and their types. With `apart`, each file is read as if it were the
    only one. `explicit` are the files that a user named one by one, if not all; of the others, those that are
    no traces are left out. With `name_models`, files that name no model get one by what tells them apart, and
    tables without items get them by `input`: not for files of different days. `copies` holds the paths of
    files that are read from a copy, and need not be on this machine.
    """
    columns, rows = check_options(columns, keep, rows)
    is_plain = as_is is not None and format == "auto" and not columns and not keep
    found = sort_files(
        path,
        format,
        storage_options,
        output=columns.get("output"),
        as_is=as_is if is_plain else None,
        explicit=explicit,
        copies=copies,
        apart=apart,
    )
    failed = dict(found.failed)
    tables = [one.file for one in found.recognized if is_plain and one.platform is GENERIC]
    exports = [one for one in found.recognized if not (is_plain and one.platform is GENERIC)]
    query = query_of(exports, {}, columns, keep)
    groups = [_readable(query, group, failed, rows, apart=apart) for group in query.groups]
    if name_models:
        nameless = [file.name for file in tables if not {"model", "version"} & file.names]
        query.models.update(file_models([*query.nameless, *nameless]))
    frames = [frame for group in groups for frame in _frames(query, group, rows, apart=apart)]
    formats = {file: group.platform.name for group in groups for file in group.files}
    if tables:
        texts = {name for name, dtype in CANONICAL.items() if dtype == pl.String} | {*(as_is or ())}
        own = scan_tables(tables, texts, failed)
        if name_models:
            own = [_completed(frame, query.models) for frame in own]
        frames += [_with_output(frame) for frame in own] if rows == "outputs" else own
        formats |= {file.name: "table" for file in tables if file.name not in failed}
    frame = stack_frames(frames) if formats else None
    if frame is not None and dataset is not None:
        frame = dataset.join(frame)
    return Reading(
        frame,
        {file: formats[file] for file in found.files if file in formats},
        found.left_out,
        {file: str(error) for file, error in failed.items()},
        found.strays,
    )


def _readable(
    query: TraceQuery, group: Table | Stream, failed: dict[str, Exception], rows: Rows, *, apart: bool
) -> Table | Stream:
    """Set files apart that hold records and no answers, or that cannot be read."""
    try:
        query.look_into(group)
    except (pl.exceptions.PolarsError, OSError):
        for file in group.members:
            try:
                query.look_into(group.only([file]))
            except (pl.exceptions.PolarsError, OSError) as error:
                error.__traceback__ = error.__context__ = None
                failed[file.name] = error
    if rows != "all":
        failed |= query.unanswered(group, apart=apart)
    return group.only([file for file in group.members if file.name not in failed])


def _frames(query: TraceQuery, group: Table | Stream, rows: Rows, *, apart: bool) -> Iterator[pl.LazyFrame]:
    """Scan a group, with its rows numbered: tables file by file, unless rows of files belong together."""
    is_one = isinstance(group, Stream) or group.platform.spans or apart
    kept = [name for name in query.kept if name not in SOURCE]
    for part in [group] if is_one else [group.only([file]) for file in group.members]:
        if not part.files:
            continue
        frame = query.rows(part, rows, apart=apart)
        if isinstance(part, Stream) and not part.unpacks and not part.platform.spans:
            row = pl.col(NUMBER) - 1
        elif len(part.files) == 1:
            frame, row = frame.with_row_index("@place"), pl.col("@place").cast(pl.Int64)
        else:
            row = pl.int_range(pl.len(), dtype=pl.Int64).over(OF_FILE)
        frame = frame.with_columns(source_file=OF_FILE, source_row=row, source_broken=BROKEN)
        yield query.finish([frame], [*kept, *SOURCE])


def _completed(table: pl.LazyFrame, models: Mapping[str, str]) -> pl.LazyFrame:
    """Add the models of files that name none, and the items of a table that has none."""
    schema = table.collect_schema()
    if models and "version" not in schema:
        table = table if "model" in schema else table.with_columns(model=pl.lit(None, pl.String))
        table = with_values(table, "model", "source_file", models)
    if "item_id" not in schema and schema.get("input") == pl.String():
        table = table.with_columns(item_id=read_value(pl.col("input"), "item"))
    return table


def _with_output(table: pl.LazyFrame) -> pl.LazyFrame:
    """Leave out the rows of a table that have no output; those of broken records stay."""
    if "output" not in table.collect_schema():
        return table
    return table.filter(pl.col("output").is_not_null() | pl.col("source_broken").is_not_null())


def is_broken() -> pl.Expr:
    """Whether a row stands for a record that cannot be read, as its `error` says."""
    return pl.col("error").str.contains(r"^line \d+: it is no").fill_null(False)
