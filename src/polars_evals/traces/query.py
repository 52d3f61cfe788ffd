"""What a scan reads and how: files in groups, and the frames that come of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import polars as pl

from polars_evals.expressions.python import elementwise
from polars_evals.storage.paths import Paths
from polars_evals.traces.detect import Detection, Recognized, look, score_table_of, sort_files
from polars_evals.traces.platforms import GENERIC, Platform
from polars_evals.traces.platforms.base import Scores, as_number, candidates, read_scores
from polars_evals.traces.read import BATCH_BYTES, FILE, LINE, read_records, record_frames, refuse_deep
from polars_evals.traces.rows import (
    CANONICAL,
    OF_FILE,
    QUESTION,
    SCORES,
    SEVERAL,
    Rows,
    choose_rows,
    finished,
    is_answer,
    kept_name,
    spans_frame,
    with_values,
)
from polars_evals.traces.source import Stream, Table, merge_schemas
from polars_evals.wording import counted, did_you_mean

# Of more files than this, only one of each group is looked into for answers before the scan.
_FILES_TO_TRY = 64

_ROWS = get_args(Rows)
_PATH = re.compile(r"[^\[\]]+(\[(-?\d+:?|\*|[^\[\]=]+=[^\[\]]*|'[^']*')\]|[^\[\]]+)*")


@dataclass(frozen=True)
class TraceQuery:
    """What a scan reads, and how."""

    detection: Detection
    groups: list[Table | Stream]
    columns: Mapping[str, str | pl.Expr]
    keep: Sequence[str]
    # What was seen in files before the scan, and the models of those that name none.
    seen: dict[str, Survey] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)

    @property
    def kept(self) -> list[str]:
        """The names that the kept source columns have."""
        return [kept_name(name) for name in self.keep]

    @property
    def nameless(self) -> list[str]:
        """The files of answers that say nothing of their model or version."""
        if {"model", "version"} & set(self.columns):
            return []
        return [file for file, about in self.seen.items() if about.records and not about.has_model]

    def scan(self, rows: Rows) -> pl.LazyFrame:
        """Scan everything to the canonical columns and the kept ones."""
        return self.finish([self.rows(group, rows) for group in self.groups], self.kept)

    def scan_with_scores(self, rows: Rows) -> pl.LazyFrame:
        """Add `<name>_score` and `<name>_label` for each score that the files hold."""
        frames = list[tuple[Platform, pl.LazyFrame]]()
        for group in self.groups:
            # Scores of tables that stand beside the traces: by span, or else by trace.
            spans, traces = _scores_beside(self, group.platform)
            frame = with_values(self.rows(group, rows, scores=spans), SCORES, "trace_id", traces)
            frames.append((group.platform, frame))
        names = sorted({name for platform, frame in frames for name in _score_names(platform, frame)})
        columns = [f"{name}_{part}" for name in names for part in ("score", "label")]
        if taken := sorted({*columns} & {*CANONICAL, *self.kept}):
            raise ValueError(
                f"the platform's scores would overwrite {', '.join(taken)}; leave it out of keep="
            )
        scored = [
            frame.with_columns(_read_scores(platform, names).struct.unnest()) if names else frame
            for platform, frame in frames
        ]
        return self.finish(scored, [*self.kept, *columns])

    def spans(self, group: Table | Stream) -> pl.LazyFrame:
        """Scan one group to one row a record."""
        return spans_frame(group.only(group.members), columns=self.columns, keep=self.keep)

    def rows(
        self,
        group: Table | Stream,
        rows: Rows,
        *,
        scores: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> pl.LazyFrame:
        """Scan one group to the rows that were asked for; `scores` of spans are from a table beside them."""
        repeated = any(self.seen[file].repeats for file in group.files if file in self.seen)
        return choose_rows(
            with_values(self.spans(group), SCORES, "span_id", scores or {}),
            group,
            rows,
            self.kept,
            may_repeat=repeated or len(group.files) > 1,
            apart=apart,
        )

    def finish(self, frames: Sequence[pl.LazyFrame], kept: Sequence[str]) -> pl.LazyFrame:
        """Finish rows, by what the user named and by what was seen in the files, and join the groups."""
        several = any(about.several for about in self.seen.values())
        item = "item_id" if "item_id" in self.columns else pl.coalesce("item_id", QUESTION)
        done = [
            with_values(finished(frame, several=several), "model", OF_FILE, self.models)
            .with_columns(item_id=item)
            .select(*CANONICAL, *kept)
            for frame in frames
        ]
        # Only kept columns can differ in type between the groups.
        return done[0] if len(done) == 1 else pl.concat(done, how="vertical_relaxed")

    def survey(self) -> None:
        """Look into the files before they are scanned; of very many, into one of each group."""
        files = sum(len(group.files) for group in self.groups)
        for group in self.groups:
            for file in group.members if files <= _FILES_TO_TRY else group.members[:1]:
                self.look_into(group.only([file]))
        self.models.update(file_models(self.nameless))

    def unanswered(self, group: Table | Stream, *, apart: bool = False) -> dict[str, Exception]:
        """Find the files that hold records and no answer, which would be scored as nothing at all."""
        if "output" in self.columns:
            return {}
        looked = [file for file in group.files if file in self.seen]
        without = [file for file in looked if self.seen[file].records and not self.seen[file].answered]
        # A trace may stand in several files: spans in one, what they said in another.
        if not apart and group.platform.spans and len(without) < len(looked):
            return {}
        return {file: no_answers(file, self.seen[file].records, group.platform) for file in without}

    def look_into(self, group: Table | Stream) -> None:
        """Read files up to the first answer, or to the end where that is needed."""
        if isinstance(group, Table):
            self._look_into_table(group)
            return
        places = {
            name: [place for wanted in names.split() for place in candidates(group.platform, wanted)]
            for name, names in _SURVEYED.items()
        }
        ids = pl.struct("trace_id", "span_id")
        failed = pl.col("status").str.to_lowercase().str.contains("err|fail|^2$|exception")
        about = (
            pl.len().alias("records"),
            (pl.col("answer").is_not_null() | failed).fill_null(False).any().alias("answered"),
            # The spans of a trace do not say which model a file is of.
            (pl.col("model").is_not_null().any() | group.platform.spans).alias("has_model"),
            pl.col("expected").str.starts_with(SEVERAL).fill_null(False).any().alias("several"),
            ids.filter(pl.col("span_id").is_not_null()).is_duplicated().any().alias("repeats"),
        )
        found, passed = dict.fromkeys(group.files, Survey()), set[str]()
        at_once = 0 if len(found) == 1 else BATCH_BYTES
        for frame in group.records(passed=passed, at_once=at_once):
            values = read_records(frame.get_column(LINE), places)
            refuse_deep(frame, values)
            for file, *said in frame.select(FILE).hstack(values).group_by(FILE).agg(about).iter_rows():
                records, *flags = found[file]
                merged = (one or other for one, other in zip(flags, said[1:], strict=True))
                found[file] = Survey(records + said[0], *merged)
                if found[file].answered and not group.platform.several:
                    passed.add(file)
        self.seen.update(found)

    def _look_into_table(self, group: Table) -> None:
        places = {name: candidates(group.platform, name) for name in ("expected", "model", "version")}
        dtypes = [group.schema.get(place.path) for place in places["expected"]]
        names = any(group.knows(place.path) for place in [*places["model"], *places["version"]])
        spans = self.spans(group).select(OF_FILE, answered=is_answer())
        # A large file is not read to its end for this.
        if len(group.files) == 1 and spans.filter("answered").head(1).collect(engine="streaming").height:
            counts = [(group.files[0], 1, True)]
        else:
            of_file = spans.group_by(OF_FILE).agg(pl.len(), pl.col("answered").any())
            counts = of_file.collect(engine="streaming").rows()
        are_spans, several = group.platform.spans, pl.List(pl.String()) in dtypes
        for file, rows, answered in counts:
            self.seen[file] = Survey(rows, answered, names or are_spans, several, are_spans)


class Survey(NamedTuple):
    """What was seen in a file, as far as it was read before the scan."""

    records: int = 0
    answered: bool = False
    has_model: bool = False
    several: bool = False
    repeats: bool = False


# The fields that a survey needs: one of them each.
_SURVEYED = {
    "answer": "output tool_calls error",
    "status": "status",
    "model": "model version",
    "expected": "expected",
    "trace_id": "trace_id",
    "span_id": "span_id",
}


def _scores_beside(query: TraceQuery, platform: Platform) -> tuple[dict[str, str], dict[str, str]]:
    """Read the tables of scores: for spans and for traces, the scores of each as JSON."""
    found = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    fields = ("trace_id", "span_id", "name", "value", "label")
    places = {field: candidates(platform, f"score.{field}") for field in fields}
    for name in query.detection.left_out if platform.score_marks else ():
        file = look(name, query.groups[0].members[0].storage_options)
        if score_table_of(file) is not platform:
            continue
        for frame in record_frames(file, (("data",),)):
            for row in read_records(frame.get_column(LINE), places).iter_rows(named=True):
                owner = row["span_id"] or row["trace_id"]
                if owner and row["name"]:
                    score = as_number({"true": 1, "false": 0}.get(row["value"], row["value"]))
                    held = found[not row["span_id"]].setdefault(owner, {})
                    held[row["name"]] = {"score": score, "label": row["label"]}
    spans, traces = ({owner: json.dumps(held) for owner, held in one.items()} for one in found)
    return spans, traces


def _score_names(platform: Platform, frame: pl.LazyFrame) -> set[str]:
    """Look up the names of the scores."""
    held = frame.select(pl.col(SCORES).unique()).collect(engine="streaming").to_series()
    return {name for text in held.drop_nulls() for name in _scores(platform, text)}


def _scores(platform: Platform, text: str) -> Scores:
    held: Any = text
    for _ in range(2):  # Tables hold JSON as text.
        try:
            held = json.loads(held) if isinstance(held, str) else held
        except ValueError:
            return {}
    return read_scores(held, platform.grades)


def _read_scores(platform: Platform, names: Sequence[str]) -> pl.Expr:
    parts = (("score", pl.Float64()), ("label", pl.String()))
    schema = {f"{name}_{part}": dtype for name in names for part, dtype in parts}

    def read(batch: Sequence[pl.Series]) -> pl.Series:
        found = [{} if text is None else _scores(platform, text) for text in batch[0]]
        rows = [[value for name in names for value in one.get(name, (None, None))] for one in found]
        return pl.DataFrame(rows, schema, orient="row").to_struct()

    return elementwise("scan_traces", {"scores": pl.col(SCORES)}, read, pl.Struct(schema))


def no_answers(file: str, records: int, platform: Platform) -> pl.exceptions.NoDataError:
    """Make the error for a file without answers, which says what to do."""
    places = ", ".join(dict.fromkeys(place.path for place in candidates(platform, "output")[:3]))
    hint = f"; {platform.hint}" if platform.hint else ""
    return pl.exceptions.NoDataError(
        f"{file!r} has {counted(records, 'record')} ({platform.title}) and no answer in any of them (looked "
        f'for {places}); name the column that holds the answers with columns={{"output": ...}}, or take the '
        f'records as they are with rows="all"{hint}'
    )


def check_options(
    columns: Mapping[str, str | pl.Expr] | None, keep: Sequence[str], rows: Rows | None
) -> tuple[Mapping[str, str | pl.Expr], Rows]:
    """Refuse options that no file could satisfy; gives those that have a default."""
    columns = columns or {}
    rows = "traces" if rows is None else rows
    if rows not in _ROWS:
        raise ValueError(f"rows must be one of {', '.join(map(repr, _ROWS))}, not {rows!r}")
    for name, mapped in columns.items():
        if name not in CANONICAL:
            raise ValueError(
                f"columns= maps {name!r}, which is not a canonical column{did_you_mean(name, CANONICAL)} "
                f"(they are {', '.join(CANONICAL)}); to keep another source column use keep="
            )
        if not isinstance(mapped, str | pl.Expr):
            raise TypeError(f"columns= maps {name!r} to {mapped!r}: give a column name or an expression")
        if isinstance(mapped, str) and not _PATH.fullmatch(mapped):
            raise ValueError(
                f"columns= maps {name!r} to {mapped!r}, which is not a column or a path such as "
                "'outputs.choices[0].text'"
            )
    if isinstance(keep, str):
        raise TypeError(f"keep= takes a list of columns: keep=[{keep!r}]")
    names = [kept_name(name) for name in keep]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"keep= names {', '.join(repeated)} twice")
    return columns, rows


def make_query(
    path: Paths,
    format_name: str,
    columns: Mapping[str, str | pl.Expr],
    keep: Sequence[str],
    storage_options: dict[str, Any] | None,
) -> TraceQuery:
    """Sort the files, group them, and check what the user named; a file that cannot be read is an error."""
    found = sort_files(path, format_name, storage_options, output=columns.get("output"))
    for error in found.failed.values():
        raise error
    return query_of(found.recognized, found.left_out, columns, keep)


def query_of(
    files: Sequence[Recognized],
    left_out: Mapping[str, str],
    columns: Mapping[str, str | pl.Expr],
    keep: Sequence[str],
) -> TraceQuery:
    """Group files, and check what the user named."""
    groups = _group_files(files)
    detection = Detection(
        "+".join(dict.fromkeys(one.platform.name for one in files)),
        "; ".join(dict.fromkeys(one.reason for one in files)),
        tuple(one.file.name for one in files),
        left_out,
    )
    for name, mapped in columns.items():
        if isinstance(mapped, str):
            _require(mapped, groups, f"columns={{{name!r}: ...}}")
    for name in keep:
        _require(name, groups, "keep=")
    if "output" not in columns:
        _require_output(groups)
    return TraceQuery(detection, groups, columns, keep)


def _group_files(files: Sequence[Recognized]) -> list[Table | Stream]:
    """Put together the files that one scan can read: columns may come and go, types may not change."""
    groups = list[tuple[object, Table | Stream]]()
    for file, platform, _ in files:
        marks = platform.unpack_marks
        unpacks = platform.unpack is not None and (not marks or bool(marks & file.names))
        is_table = file.kind in ("csv", "parquet") and not unpacks
        key = (platform.name, file.hive, file.kind if is_table else unpacks)
        columns = dict(file.schema)
        for group in [group for other, group in groups if other == key]:
            joined = merge_schemas(group.schema, columns) if is_table else group.schema | columns
            if joined is not None:
                group.schema = joined
                group.constant &= file.constant
                group.members.append(file)
                break
        else:
            stream = Stream(platform, [file], columns, file.constant, unpacks)
            groups.append((key, Table(platform, [file], columns) if is_table else stream))
    return [group for _, group in groups]


def _require(name: str, groups: Sequence[Table | Stream], option: str) -> None:
    """Insist that some file holds a column that the user named."""
    if not groups or name in (FILE, LINE) or any(group.knows(name) or not group.schema for group in groups):
        return
    group = groups[0]
    where = repr(group.files[0])
    if isinstance(group, Stream):
        where = f"the first records of {where}"
    others = sum(len(each.files) for each in groups) - 1
    raise pl.exceptions.ColumnNotFoundError(
        f"{option} names {name!r}, which is not in {where}{f' nor in {others} other files' if others else ''}"
        f"{did_you_mean(name, sorted(group.schema))} "
        f"(columns: {', '.join(sorted(group.schema))})"
    )


def _require_output(groups: Sequence[Table | Stream]) -> None:
    """Insist that tables have a column where their platform has its answers."""
    places = {group.platform.name: candidates(group.platform, "output") for group in groups}
    for group in groups:
        known = (group.knows(place.path) for place in places[group.platform.name])
        if isinstance(group, Stream) or not group.schema or any(known):
            return
    if not groups:
        return
    group = groups[0]
    wanted = dict.fromkeys(re.split(r"[.\[]", place.path)[0] for place in places[group.platform.name])
    where = "" if group.platform is GENERIC else f", where {group.platform.title} has its outputs"
    raise pl.exceptions.ColumnNotFoundError(
        f"{group.files[0]!r} has no column {' or '.join(map(repr, wanted))}{where}; name it with "
        f'columns={{"output": ...}} (columns: {", ".join(sorted(group.schema))})'
        f"{f'; {group.platform.hint}' if group.platform.hint else ''}"
    )


_ENDING = re.compile(r"(\.[A-Za-z]\w{1,7}){1,2}$")
# What tells files apart and is no name of a model: dates, times and ids, and the numbers of parts.
_STAMP = re.compile(
    r"\d{4}-?\d{2}-?\d{2}(?:[T_ -]?\d{2}[-:_.]?\d{2}(?:[-:_.]?\d{2}(?:\.\d+)?)?)?Z?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_PART = re.compile(
    r"(?:part|chunk|shard|batch|split|page|file|data|outputs?|results?|samples?|traces?|spans?|export|logs?|day)?"
    r"[\W_]*\d*(?:[\W_]*of[\W_]*\d+)?",
    re.IGNORECASE,
)


def file_models(files: Sequence[str]) -> dict[str, str]:
    """Name the models of files that name none, by the folder or by the name that tells the files apart.

    Dates, times, ids and numbers of parts are no names.

    Examples
    --------
    >>> file_models(["runs/llama-7b/out.json", "runs/llama-13b/out.json"])
    {'runs/llama-7b/out.json': 'llama-7b', 'runs/llama-13b/out.json': 'llama-13b'}
    >>> file_models(["gpt-4_2026-01-02.jsonl", "o1_2026-01-03.jsonl"])
    {'gpt-4_2026-01-02.jsonl': 'gpt-4', 'o1_2026-01-03.jsonl': 'o1'}
    >>> file_models(["2026-01-02.jsonl", "2026-01-03.jsonl"])
    {}
    """
    parts = {file: re.split(r"[/\\]", os.path.abspath(file) if "://" not in file else file) for file in files}
    stems = {file: _STAMP.sub("", _ENDING.sub("", path[-1])).strip(" _-.") for file, path in parts.items()}
    if len(files) > 1 and len(set(stems.values())) == len(files):
        # Each file has a name of its own, unless folders of several files tell the models.
        folders = {tuple(path[:-1]) for path in parts.values()}
        if len(folders) in (1, len(files)):
            return {} if all(_PART.fullmatch(stem) for stem in stems.values()) else stems
    for level in range(2, max(map(len, parts.values()), default=0) + 1):
        names = {file: path[-level] if len(path) >= level else "" for file, path in parts.items()}
        bare = {_STAMP.sub("", name).strip(" _-.") for name in names.values()}
        if len(bare) > 1 and not all(_PART.fullmatch(name) for name in bare):
            return names
    return {}
