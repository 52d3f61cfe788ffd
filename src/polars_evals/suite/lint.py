"""Check data for problems that make scores misleading."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_evals.metrics.words import gleu
from polars_evals.suite.metric import Metric
from polars_evals.suite.scoring import prepare
from polars_evals.wording import counted, verb

FINDINGS: dict[str, Any] = {
    "severity": pl.Enum(["error", "warning", "info"]), "finding": pl.String, "metric": pl.String,
    "column": pl.String, "rows": pl.Int64, "share": pl.Float64, "example": pl.String, "advice": pl.String,
}  # fmt: skip

TEXT = (pl.String, pl.Categorical, pl.Enum)
EXAMPLE_CHARS = 80

# Letters that `[a-z0-9]+` drops with all the words that they make.
UNSEEN = r"[\p{L}--\p{Latin}]"
# Scripts that do not set spaces between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"


@dataclass(frozen=True)
class Probe:
    """A question to each row: the rows that `flag` are a finding about a column."""

    severity: str
    finding: str
    column: str
    flag: pl.Expr
    advice: str
    metric: str | None = None


@dataclass(frozen=True)
class Column:
    """A column of the frame, and how to look into its texts."""

    name: str
    dtype: pl.DataType

    @property
    def is_list(self) -> bool:
        """Whether a row holds several values."""
        return isinstance(self.dtype, pl.List | pl.Array)

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return getattr(self.dtype, "inner", self.dtype) in TEXT

    @property
    def texts(self) -> pl.Expr:
        """The column as String or List(String)."""
        return pl.col(self.name).cast(pl.List(pl.String) if self.is_list else pl.String)

    @property
    def missing(self) -> pl.Expr:
        """Whether there is no value; a list without any is none."""
        column = pl.col(self.name)
        if not isinstance(self.dtype, pl.List | pl.Array):
            return column.is_null()
        return column.cast(pl.List(self.dtype.inner)).list.drop_nulls().list.len().fill_null(0) == 0

    def any_text(self, test: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
        """Whether the text, or one in the list, passes the test."""
        return (
            self.texts.list.eval(test(pl.element())).list.any() if self.is_list else test(self.texts)
        ).fill_null(False)


def find(metrics: Sequence[Metric], frame: pl.LazyFrame, schema: pl.Schema) -> pl.DataFrame:
    """Run all probes in one pass, and count duplicates in another for each expected column."""
    prepared = prepare(metrics, schema)
    metrics, frame = prepared.metrics, prepared.run(frame)
    schema = frame.collect_schema()
    columns = {
        name: Column(name, schema[name]) for name in dict.fromkeys(n for m in metrics for n in m.columns)
    }
    probes = [
        *(probe for column in columns.values() for probe in _column_probes(column, metrics)),
        *(probe for metric in metrics for probe in _metric_probes(metric, columns)),
    ]
    flags = {f"__flag_{n}": probe for n, probe in enumerate(probes)}
    flagged = frame.select(*columns, **{flag: probe.flag for flag, probe in flags.items()})
    found = {
        flag: pl.struct(rows=pl.col(flag).sum(), example=pl.col(probe.column).filter(flag).first())
        for flag, probe in flags.items()
    }
    expected = {m.sides["expected"] for m in metrics if m.kind.has_expected} - prepared.literals
    repeated = [column for column in columns.values() if column.name in expected and column.is_text]
    results = pl.collect_all(
        [flagged.select(pl.len(), **found), *(_count_duplicates(frame, column) for column in repeated)],
        engine="streaming",
    )
    probed = results[0].row(0, named=True)
    total = probed["len"]
    if total == 0:
        advice = "the frame is empty: there is nothing to score"
        empty = {"severity": "error", "finding": "no_rows", "rows": 0, "advice": advice}
        return pl.DataFrame([empty], schema=FINDINGS)
    rows: list[dict[str, Any]] = []
    for flag, probe in flags.items():
        about = vars(probe) | probed[flag]
        if about["rows"] == total and probe.finding == "missing":
            about |= {"severity": "error", "finding": "all_missing"}
            about |= {"advice": "the column holds no value at all"}
        rows.append(about)
    for column, repeats in zip(repeated, results[1:], strict=True):
        advice = "fine for classes and for versions that answer the same cases; else cases count twice"
        about = {"severity": "info", "finding": "duplicate", "column": column.name, "advice": advice}
        rows.append(about | repeats.row(0, named=True))
    found_rows = [
        {key: row.get(key) for key in FINDINGS}
        | {"column": prepared.sources.get(row["column"], row["column"]), "share": row["rows"] / total}
        | {"example": _example(row["example"])}
        for row in rows
        if row["rows"]
    ]
    return pl.DataFrame(found_rows, schema=FINDINGS).sort("severity", maintain_order=True)


def _column_probes(column: Column, metrics: Sequence[Metric]) -> Iterator[Probe]:
    readers = [metric for metric in metrics if column.name in metric.columns]
    # A column that metrics compare with, and none scores.
    is_expected = all(metric.sides.get("expected") == column.name for metric in readers)
    mode = "unlabelled" if is_expected else "null"
    advice = "they get no score"
    if not all(metric.settings["missing"] in ("null", mode) for metric in readers):
        advice = f'they score 0.0 and fail; with missing="{mode}" they get no score'
    yield Probe("warning", "missing", column.name, column.missing, advice)
    if column.is_text:
        empty = column.any_text(lambda text: text.str.strip_chars() == "")
        advice = "the text is empty; two empty texts count as equal"
        yield Probe("warning", "empty", column.name, empty, advice)


def _metric_probes(metric: Metric, columns: dict[str, Column]) -> Iterator[Probe]:
    name = metric.name
    sides = [columns[column] for column in metric.sides.values()]
    if metric.kind.has_expected and not metric.settings.get("negate", False):
        least = metric.threshold
        advice = f"the expected value scores below {least} against itself, so no output can be right"
        fails = _fails_itself(metric, *sides)
        yield Probe("error", "cannot_pass", sides[1].name, fails, advice, name)
    max_chars = metric.settings.get("max_chars")
    words = _tokenizer(metric)
    for column in (side for side in sides if side.is_text):
        if max_chars is not None:
            long = column.any_text(lambda text: text.str.len_chars() > max_chars)
            advice = f"only the first {max_chars:,} characters count; raise max_chars"
            yield Probe("warning", "over_max_chars", column.name, long, advice, name)
        if words == "rouge":
            unseen = column.any_text(lambda text: text.str.contains(UNSEEN))
            advice = 'these words are dropped, only a-z and 0-9 are seen; tokenizer="auto" sees every script'
            yield Probe("error", "unseen_script", column.name, unseen, advice, name)
        elif words in ("whitespace", "unicode"):
            unspaced = column.any_text(lambda text: text.str.contains(UNSPACED))
            advice = f"a sentence without spaces is one word; {_choice_for_unspaced(metric)}"
            yield Probe("warning", "unspaced_script", column.name, unspaced, advice, name)


def _fails_itself(metric: Metric, output: Column, expected: Column) -> pl.Expr:
    """Whether a row fails that gives exactly what is expected."""
    answer = pl.col(expected.name)
    if expected.is_list and not output.is_list:
        answer = expected.texts.list.drop_nulls().list.first()
    return (metric.expr(output=answer).struct.field("label") == "fail") & ~expected.missing


def _tokenizer(metric: Metric) -> str | None:
    """Tell how a metric finds words, if it does: by its options, or between white space."""
    settings = metric.settings
    if settings.get("unit") == "characters" or settings.get("match_type") == "exact":
        return None
    if "tokenizer" in settings:
        # judge-llm's word sets are those between white space, in every script.
        by_sets = settings.get("match_type") in ("semantic", "recall")
        return "whitespace" if by_sets and settings["tokenizer"] == "auto" else str(settings["tokenizer"])
    if "tokenize" in settings:
        return "characters" if settings["tokenize"] == "char" else "whitespace"
    # GLEU has no choice: its words are those between white space.
    return "whitespace" if metric.kind.function is gleu else None


def _choice_for_unspaced(metric: Metric) -> str:
    """Say what to choose for scripts that do not set spaces between words."""
    settings = metric.settings
    if "tokenize" in settings:
        return 'use tokenize="char"'
    if "tokenizer" not in settings:
        return 'use bleu with tokenize="char", or chrf'
    return 'use tokenizer="characters"' if "match_type" in settings else 'use tokenizer="auto"'


def unlabelled(metrics: Sequence[Metric], schema: pl.Schema) -> dict[str, pl.Expr]:
    """Say for each expected column of a frame which rows have no value there."""
    names = {m.sides["expected"] for m in metrics if "expected" in m.sides}
    return {name: Column(name, schema[name]).missing for name in sorted(names) if name in schema}


def describe_unlabelled(metrics: Sequence[Metric], column: str, missing: int, rows: int) -> str:
    """Say how many rows have no expected value, and what their scores are."""
    modes = {m.settings["missing"] for m in metrics if m.sides.get("expected") == column}
    fails = "fail" in modes
    if missing == rows:
        effect = "scores 0.0" if fails else "gives no score"
        return (
            f"{column} is null in every row, so every metric that compares with it {effect}; add it with "
            "pe.with_expected, or name its column (--column expected=...)"
        )
    effect = 'scored 0.0; missing="unlabelled" leaves them out' if fails else "without a score"
    return f"{missing:,} of {counted(rows, 'row')} {verb(missing, 'has', 'have')} no {column} value: {effect}"


def _count_duplicates(frame: pl.LazyFrame, column: Column) -> pl.LazyFrame:
    groups = frame.filter(~column.missing).group_by(value=column.texts).agg(pl.len())
    return groups.select(rows=(pl.col("len") - 1).sum(), example=pl.col("value").sort_by("len").last())


def _example(value: object) -> str | None:
    text = None if value is None else str(value)
    return text if text is None or len(text) <= EXAMPLE_CHARS else text[: EXAMPLE_CHARS - 1] + "…"
