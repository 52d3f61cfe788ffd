"""The front door: scan an export, say what it is, and count what it holds."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_evals.traces.canonical import CANONICAL, INVALID, canonical_frame, kept_name
from polars_evals.traces.detect import Detection, choose_files, detect_source, source_named
from polars_evals.traces.fields import FILE, LINE, Fields
from polars_evals.traces.files import SAMPLE_LINES, FileGroup, Paths, expand, group_files
from polars_evals.traces.sources import GENERIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.traces.sources import Source

_log = logging.getLogger("polars_evals.traces")


def scan_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002 - the word that users of scan functions expect
    *,
    columns: Mapping[str, str | pl.Expr] | None = None,
    keep: Sequence[str] = (),
    rows: Literal["outputs", "all"] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """
    Scan the traces that a platform exported to one frame that can be scored.

    Parameters
    ----------
    path
        A Parquet or JSON Lines file, a folder, a pattern such as `traces/**/*.parquet`, a URL as
        `polars.scan_parquet` takes it, or a list of these.
    format
        The platform: `langfuse`, `langsmith`, `phoenix`, `mlflow`, `otel`, `inspect`, `lm_eval`, `promptfoo`,
        `braintrust`, `generic` for columns of your own, or `auto` to tell by the columns.
    columns
        Where to find canonical columns, for `generic` or to overrule a platform: the name of a source column,
        a path into one (`metadata.model`, `outputs.choices[0].text`), or an expression over the source
        columns.
    keep
        More source columns to keep. One that has a canonical name gets the prefix `source_`.
    rows
        `outputs` keeps the rows that carry an output, `all` keeps the others too. By default `outputs` for
        the spans of a platform, and `all` where every row is an answer: `generic`, `inspect`, `lm_eval` and
        `promptfoo`. A missing answer then scores 0.0 and fails.
    storage_options
        Options for cloud storage, as `polars.scan_parquet` takes them.

    Returns
    -------
    LazyFrame
        The columns `item_id`, `trace_id`, `session_id`, `ts`, `model`, `version`, `input`, `output` and
        `expected`, null where the source has none, and those in `keep`.

    Notes
    -----
    `item_id` pairs the same question across versions: the platform's dataset item, example or sample; else
    the BLAKE2b hash of `input` (16 bytes, in hexadecimal), which is the same on every machine and in every
    version.

    A row whose JSON is broken stays, with a null `output`;
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
    if rows not in ("outputs", "all", None):
        raise ValueError(f"rows must be 'outputs' or 'all', not {rows!r}")
    plan = _plan(path, format, columns or {}, keep, storage_options)
    _log.info("%s", plan.detection)
    return plan.scan(rows or plan.source.rows)


def detect_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    storage_options: dict[str, Any] | None = None,
) -> Detection:
    """
    Say which format a set of files has, why, and which files are left out.

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
    return _detect(path, format, storage_options)[0]


def trace_files(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    storage_options: dict[str, Any] | None = None,
) -> list[str]:
    """List the files that [`scan_traces`][polars_evals.scan_traces] would read, without opening them."""
    return choose_files(expand(path, storage_options), source_named(format))[0]


def check_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    columns: Mapping[str, str | pl.Expr] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> pl.DataFrame:
    r"""
    Count what each file of an export holds; a file that cannot be read is a row with its error.

    Parameters
    ----------
    path, format, columns, storage_options
        As in [`scan_traces`][polars_evals.scan_traces].

    Returns
    -------
    DataFrame
        A row per file: `file`, `format`, `rows`, `outputs` (rows that carry one), `invalid_json` (rows whose
        JSON is broken) and `error`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> with open(f"{folder}/spans.jsonl", "w") as file:
    ...     _ = file.write('{"span_id": "a", "root_span_id": "a", "output": "4"}\n{"span_id": "b", "ou')
    >>> pe.check_traces(folder).drop("file")
    shape: (1, 5)
    ┌────────────┬──────┬─────────┬──────────────┬───────┐
    │ format     ┆ rows ┆ outputs ┆ invalid_json ┆ error │
    │ ---        ┆ ---  ┆ ---     ┆ ---          ┆ ---   │
    │ str        ┆ i64  ┆ i64     ┆ i64          ┆ str   │
    ╞════════════╪══════╪═════════╪══════════════╪═══════╡
    │ braintrust ┆ 2    ┆ 1       ┆ 1            ┆ null  │
    └────────────┴──────┴─────────┴──────────────┴───────┘
    """
    counted = ("rows", "outputs", "invalid_json")
    schema = {"file": pl.String, "format": pl.String, **dict.fromkeys(counted, pl.Int64), "error": pl.String}
    found = []
    for file in trace_files(path, format, storage_options=storage_options):
        row: dict[str, object] = {"file": file}
        try:
            plan = _plan(file, format, columns or {}, (), storage_options)
            row["format"] = plan.source.name
            counts = plan.scan("all", flag_invalid=True).select(
                rows=pl.len(),
                outputs=pl.col("output").is_not_null().sum(),
                invalid_json=pl.col(INVALID).sum(),
            )
            row |= counts.collect().row(0, named=True)
        except (pl.exceptions.PolarsError, OSError) as error:
            row["error"] = str(error)
        found.append(row)
    return pl.DataFrame(found, schema=schema)


@dataclass(frozen=True)
class _Plan:
    """What a scan will read, and how."""

    detection: Detection
    source: Source
    groups: list[FileGroup]
    columns: Mapping[str, str | pl.Expr]
    keep: Sequence[str]
    storage_options: dict[str, Any] | None

    def scan(self, rows: Literal["outputs", "all"], *, flag_invalid: bool = False) -> pl.LazyFrame:
        frames = [
            canonical_frame(
                group,
                self.source,
                columns=self.columns,
                keep=self.keep,
                rows=rows,
                storage_options=self.storage_options,
                flag_invalid=flag_invalid,
            )
            for group in self.groups
        ]
        # Only kept columns can differ in type between the groups.
        return frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")


def _plan(
    path: Paths,
    format_name: str,
    columns: Mapping[str, str | pl.Expr],
    keep: Sequence[str],
    storage_options: dict[str, Any] | None,
) -> _Plan:
    _check_options(columns, keep)
    detection, source, groups = _detect(path, format_name, storage_options)
    for name, mapped in columns.items():
        if isinstance(mapped, str):
            _require(mapped, groups, f"columns={{{name!r}: ...}}")
    for name in keep:
        _require(name, groups, "keep=")
    if "output" not in columns and not _holds_output(source, groups):
        fields = groups[0].fields
        wanted = dict.fromkeys(
            fields.head(name) for name in source.columns["output"] if isinstance(name, str)
        )
        where = "" if source is GENERIC else f", where {source.title} has its outputs"
        raise pl.exceptions.ColumnNotFoundError(
            f"{groups[0].files[0]!r} has no column {' or '.join(map(repr, wanted))}{where}; name it with "
            f'columns={{"output": ...}} (columns: {", ".join(sorted(groups[0].schema))})'
            f"{f'; {source.hint}' if source.hint else ''}"
        )
    return _Plan(detection, source, groups, columns, keep, storage_options)


def _detect(
    path: Paths, format_name: str, storage_options: dict[str, Any] | None
) -> tuple[Detection, Source, list[FileGroup]]:
    named = source_named(format_name)
    files, left_out = choose_files(expand(path, storage_options), named)
    groups = group_files(files, storage_options)
    source, reason = (named, "as asked for") if named else detect_source(groups)
    return Detection(source.name, reason, tuple(files), left_out), source, groups


def _check_options(columns: Mapping[str, str | pl.Expr], keep: Sequence[str]) -> None:
    for name, mapped in columns.items():
        if name not in CANONICAL:
            near = get_close_matches(name, CANONICAL, n=1)
            did_you_mean = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"columns= maps {name!r}, which is no canonical column{did_you_mean} "
                f"(they are {', '.join(CANONICAL)}); to keep another source column use keep="
            )
        if not isinstance(mapped, str | pl.Expr):
            raise TypeError(f"columns= maps {name!r} to {mapped!r}: give a column name or an expression")
        if isinstance(mapped, str):
            _check_path(name, mapped)
    if isinstance(keep, str):
        raise TypeError(f"keep= takes a list of columns: keep=[{keep!r}]")
    repeated = sorted({name for name in map(kept_name, keep) if list(map(kept_name, keep)).count(name) > 1})
    if repeated:
        raise ValueError(f"keep= names {', '.join(repeated)} twice")


def _check_path(name: str, mapped: str) -> None:
    """Try a path on an empty object, so that a malformed one fails now and not while the query runs."""
    try:
        fields = Fields({}, lines=True)
        value = fields.text(mapped)
        pl.DataFrame({key: [""] for key in fields.used}).select(pl.lit(None) if value is None else value)
    except pl.exceptions.ComputeError:
        raise ValueError(
            f"columns= maps {name!r} to {mapped!r}, which is not a column or a path such as "
            "'outputs.choices[0].text'"
        ) from None


def _require(name: str, groups: Sequence[FileGroup], option: str) -> None:
    """Insist that some file holds a column that the user named."""
    if name in (FILE, LINE) or any(group.fields.knows(name) or not group.schema for group in groups):
        return
    group = groups[0]
    near = get_close_matches(name, sorted(group.names), n=1)
    did_you_mean = f"; did you mean {near[0]!r}?" if near else ""
    where = (
        f"the first {SAMPLE_LINES} lines of {group.files[0]!r}"
        if group.kind == "lines"
        else repr(group.files[0])
    )
    others = len([file for each in groups for file in each.files]) - 1
    raise pl.exceptions.ColumnNotFoundError(
        f"{option} names {name!r}, which is not in {where}{f' nor in {others} other files' if others else ''}"
        f"{did_you_mean} (columns: {', '.join(sorted(group.schema))})"
    )


def _holds_output(source: Source, groups: Sequence[FileGroup]) -> bool:
    names = [name for name in source.columns["output"] if isinstance(name, str)]
    return any(not group.schema or any(group.fields.knows(name) for name in names) for group in groups)
