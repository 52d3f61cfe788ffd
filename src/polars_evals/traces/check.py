"""What files hold: how many records became rows, and why the others did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_evals.storage.paths import Paths
from polars_evals.traces.detect import sort_files
from polars_evals.traces.query import TraceQuery, check_options, file_models, no_answers, query_of
from polars_evals.traces.read import BROKEN, NUMBER
from polars_evals.traces.rows import OF_FILE, QUESTION, Rows, is_answer, with_values
from polars_evals.traces.source import Stream, Table
from polars_evals.wording import counted, verb, without_query

_FILES = {
    "file": pl.String,
    "format": pl.String,
    "records": pl.Int64,
    "spans": pl.Int64,
    "rows": pl.Int64,
    "outputs": pl.Int64,
    "broken": pl.Int64,
    "error": pl.String,
}
_REASONS = {"file": pl.String, "reason": pl.String, "records": pl.Int64}

BROKEN_REASON = "broken: a row with an error"


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
        return {
            "files": self.files.to_dicts(),
            "reasons": self.reasons.to_dicts(),
            "left_out": dict(self.left_out),
            "pairing": self.pairing,
            "versions": None
            if self.versions is None
            else {"column": self.versions[0], "values": list(self.versions[1])},
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
        BROKEN_REASON: file["broken"],
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
