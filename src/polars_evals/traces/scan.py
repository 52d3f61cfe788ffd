"""Scan exports, and say what they are and what they hold: for the library, the command and jobs."""

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
from polars_evals.traces.query import TraceQuery, check_options, file_models, make_query, no_answers, query_of
from polars_evals.traces.read import BROKEN, NUMBER, read_value
from polars_evals.traces.rows import CANONICAL, OF_FILE, QUESTION, Rows, is_answer, with_values
from polars_evals.traces.source import SOURCE, Stream, Table, scan_tables, stack_frames
from polars_evals.wording import counted, verb, without_query

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


_COUNTS = ("records", "spans", "rows", "outputs", "broken")
_FILES = {"file": pl.String, "format": pl.String} | dict.fromkeys(_COUNTS, pl.Int64) | {"error": pl.String}
_REASONS = {"file": pl.String, "reason": pl.String, "records": pl.Int64}


@dataclass(frozen=True)
class TraceCheck:
    """What files of traces hold.

    Attributes
    ----------
    files
        A row per file: `file`, `format`, `records`, `spans` (what the records hold), `rows` (answers),
        `outputs` (rows that carry one), `broken` (records that cannot be read) and `error`.
    reasons
        Why spans are no rows of their own: `file`, `reason`, `records`.
    left_out
        The files that are no traces, and why.
    pairing
        The share of items that more than one version answers, of all items; null where there is one version.
    versions
        What tells the versions apart: the column, and its values.
    warnings
        What to look at before scores are trusted.
    """

    files: pl.DataFrame
    reasons: pl.DataFrame
    left_out: Mapping[str, str]
    pairing: float | None
    versions: tuple[str, tuple[str, ...]] | None
    warnings: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of answers."""
        return int(self.files.get_column("rows").sum())

    @property
    def ok(self) -> bool:
        """Whether every file can be read and holds answers."""
        return self.files.get_column("error").null_count() == self.files.height

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        column, values = self.versions or (None, ())
        return {
            "files": self.files.to_dicts(),
            "reasons": self.reasons.to_dicts(),
            "left_out": dict(self.left_out),
            "pairing": self.pairing,
            "versions": {"column": column, "values": list(values)} if column else None,
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        """Say it in a few lines."""
        lines = []
        for file in self.files.iter_rows(named=True):
            if file["format"] is None or file["records"] is None:
                lines.append(f"{file['file']}: {file['error']}")
                continue
            spans = f" with {counted(file['spans'], 'span')}" if file["spans"] != file["records"] else ""
            lines.append(
                f"{file['file']}: {file['format']}, {counted(file['records'], 'record')}{spans}, "
                f"{counted(file['rows'], 'row')}"
                + (f" ({file['outputs']:,} with an output)" if file["outputs"] != file["rows"] else "")
            )
            own = self.reasons.filter(pl.col("file") == file["file"])
            lines += [f"  {count:,} {reason}" for _, reason, count in own.iter_rows()]
            if file["error"] is not None:
                lines.append(f"  error: {file['error']}")
        lines += [f"{file}: left out, {reason}" for file, reason in self.left_out.items()]
        if self.pairing is not None and self.versions is not None:
            lines.append(
                f"{self.pairing:.0%} of the items are answered by more than one {self.versions[0]} "
                f"({', '.join(self.versions[1][:5])}{', …' if len(self.versions[1]) > 5 else ''})"
            )
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)


def check_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    columns: Mapping[str, str | pl.Expr] | None = None,
    keep: Sequence[str] = (),
    rows: Rows | None = None,
    storage_options: dict[str, Any] | None = None,
) -> TraceCheck:
    r"""
    Report the format of files, how many records became rows, and why others did not.

    Parameters
    ----------
    path, format, columns, keep, rows, storage_options
        As in [`scan_traces`][polars_evals.scan_traces].

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> with open(f"{folder}/spans.jsonl", "w") as file:
    ...     _ = file.write('{"span_id": "a", "root_span_id": "a", "output": "4"}\n')
    ...     _ = file.write('{"span_id": "b", "root_span_id": "a", "span_parents": ["a"], "output": "4"}\n')
    ...     _ = file.write('{"span_id": "c", "ou')
    >>> checked = pe.check_traces(folder)
    >>> checked.files.select("format", "records", "rows", "outputs", "broken")
    shape: (1, 5)
    ┌────────────┬─────────┬──────┬─────────┬────────┐
    │ format     ┆ records ┆ rows ┆ outputs ┆ broken │
    │ ---        ┆ ---     ┆ ---  ┆ ---     ┆ ---    │
    │ str        ┆ i64     ┆ i64  ┆ i64     ┆ i64    │
    ╞════════════╪═════════╪══════╪═════════╪════════╡
    │ braintrust ┆ 3       ┆ 2    ┆ 1       ┆ 1      │
    └────────────┴─────────┴──────┴─────────┴────────┘
    >>> checked.reasons.select("reason", "records").rows()
    [('spans within a trace that is a row', 1), ('broken: a row with an error', 1)]
    >>> print(checked.warnings[0])
    expected is null in every row; ...
    """
    columns, rows = check_options(columns, keep, rows)
    files = sort_files(path, format, storage_options, output=columns.get("output"))
    failed = {file: str(error) for file, error in files.failed.items()}
    query = query_of([], {}, columns, keep)
    try:
        if files.recognized:
            query = query_of(files.recognized, files.left_out, columns, keep)
    except pl.exceptions.PolarsError as error:
        failed |= {one.file.name: str(error) for one in files.recognized}
    found: list[dict[str, Any]] = [{"file": file, "error": error} for file, error in failed.items()]
    reasons, answers = list[dict[str, Any]](), list[pl.DataFrame]()
    for group in query.groups:
        for numbers, answered in _counts(query, group, rows, found):
            answers.append(answered)
            total = numbers.get_column("answers").sum()
            for row in numbers.iter_rows(named=True):
                lacks = row["records"] and not (total if group.platform.spans else row["answers"])
                refusal = str(no_answers(row["file"], row["records"], group.platform)) if lacks else None
                found.append({**row, "format": group.platform.name, "error": refusal})
                reasons += _reasons(row)
    order = {file: place for place, file in enumerate(files.files)}
    found.sort(key=lambda row: order[str(row["file"])])
    all_rows = _with_models(pl.concat(answers), query) if answers else None
    pairing, versions = _pairing(all_rows)
    return TraceCheck(
        pl.DataFrame([{name: row.get(name) for name in _FILES} for row in found], schema=_FILES),
        pl.DataFrame(reasons, schema=_REASONS),
        query.detection.left_out,
        pairing,
        versions,
        tuple(_warnings(all_rows, pairing)),
    )


def _counts(
    query: TraceQuery, group: Table | Stream, rows: Rows, found: list[dict[str, Any]]
) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Count a group's files together; where one cannot be read to its end, each by itself."""
    try:
        return [_count(query, group, rows)]
    except (pl.exceptions.PolarsError, OSError) as error:
        if len(group.files) == 1:
            reason = without_query(str(error))
            found.append({"file": group.files[0], "format": group.platform.name, "error": reason})
            return []
    alone = [group.only([file]) for file in group.members]
    return [one for group in alone for one in _counts(query, group, rows, found)]


def _count(query: TraceQuery, group: Table | Stream, chosen: Rows) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count the records, spans and rows of a group's files; with the rows, without their texts."""
    broken = pl.col(BROKEN).is_not_null()
    of_file = pl.col(OF_FILE).alias("file")
    # A table has no numbers, and a record a row.
    records = pl.when(pl.col(NUMBER).is_null().all()).then(pl.len()).otherwise(pl.col(NUMBER).n_unique())
    answers = (is_answer() & ~broken).sum()
    counts = {"records": records, "spans": pl.len(), "answers": answers, "broken": broken.sum()}
    spans = query.spans(group).group_by(of_file).agg(**counts).collect(engine="streaming")
    rows = (
        query.rows(group, chosen)
        .select(
            pl.coalesce("item_id", QUESTION).alias("item"),
            *("model", "version", OF_FILE),
            has_output=pl.col("output").is_not_null(),
            has_expected=pl.col("expected").is_not_null(),
        )
        .collect(engine="streaming")
    )
    outputs = rows.group_by(of_file).agg(rows=pl.len(), outputs=pl.col("has_output").sum())
    numbers = pl.DataFrame({"file": group.files})
    for other in (spans, outputs):
        numbers = numbers.join(other, on="file", how="left", maintain_order="left")
    return numbers.with_columns(pl.exclude("file").fill_null(0).cast(pl.Int64)), rows


def _with_models(rows: pl.DataFrame, query: TraceQuery) -> pl.DataFrame:
    """Name the models of files that name none, as a scan does."""
    named = set(rows.filter(pl.coalesce("model", "version").is_not_null()).get_column(OF_FILE))
    tables = [group for group in query.groups if not group.platform.spans]
    nameless = [file for group in tables for file in group.files if file not in named]
    models = {} if {"model", "version"} & set(query.columns) else file_models(nameless)
    return with_values(rows, "model", OF_FILE, models)


def _reasons(file: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Say why spans of a file are no rows, and which rows say less than they might."""
    within = file["spans"] - file["rows"]
    counts = {
        "spans within a trace that is a row": within,
        "broken: a row with an error": file["broken"],
        "rows without an output": file["rows"] - file["outputs"] - file["broken"],
    }
    return [
        {"file": file["file"], "reason": reason, "records": count}
        for reason, count in counts.items()
        if count > 0
    ]


def _pairing(rows: pl.DataFrame | None) -> tuple[float | None, tuple[str, tuple[str, ...]] | None]:
    """Find the share of items that more than one version answers."""
    if rows is None:
        return None, None
    for column in ("model", "version"):
        values = rows.get_column(column).drop_nulls().unique().sort().to_list()
        if len(values) > 1:
            per_item = rows.drop_nulls(["item", column]).group_by("item").agg(pl.col(column).n_unique())
            share = (per_item.get_column(column) > 1).mean() if per_item.height else 0.0
            return float(share or 0.0), (column, tuple(values))  # type: ignore[arg-type]
    return None, None


def _warnings(rows: pl.DataFrame | None, pairing: float | None) -> list[str]:
    if rows is None or rows.is_empty():
        return []
    warnings, total = list[str](), counted(rows.height, "row")
    if not rows.get_column("has_expected").any():
        warnings.append(
            "expected is null in every row; metrics that compare with it score 0.0. Add it from a data set "
            'with pe.with_expected(traces, dataset), or name its column with columns={"expected": ...}'
        )
    elif lacking := int((~rows.get_column("has_expected")).sum()):
        warnings.append(f"{lacking:,} of {total} {verb(lacking, 'has', 'have')} no expected value")
    if nameless := rows.get_column("item").null_count():
        warnings.append(
            f"{nameless:,} of {total} {verb(nameless, 'has', 'have')} no item: "
            "the question is blank or missing"
        )
    if pairing is not None and pairing < 0.5:
        warnings.append(
            f"only {pairing:.0%} of the items pair across versions; a comparison needs the same questions "
            'in both. Name the column of the questions with columns={"item_id": ...}'
        )
    return warnings
