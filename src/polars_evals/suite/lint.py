"""Check data for problems that make scores misleading."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_evals.suite.metric import Metric
from polars_evals.suite.scoring import prepare
from polars_evals.wording import counted, verb

SEVERITY = pl.Enum(["error", "warning", "info"])

FINDINGS: dict[str, pl.DataType | type[pl.DataType]] = {
    "severity": SEVERITY,
    "finding": pl.String,
    "metric": pl.String,
    "column": pl.String,
    "rows": pl.Int64,
    "share": pl.Float64,
    "example": pl.String,
    "advice": pl.String,
}

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
        return (self.dtype.inner if isinstance(self.dtype, pl.List | pl.Array) else self.dtype) in TEXT

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
    flags = [f"__flag_{n}" for n in range(len(probes))]
    flagged = frame.select(*columns, *(one.flag.alias(flag) for one, flag in zip(probes, flags, strict=True)))
    found = [
        pl.struct(
            pl.col(flag).sum().alias("rows"), pl.col(probe.column).filter(flag).first().alias("example")
        )
        for probe, flag in zip(probes, flags, strict=True)
    ]
    expected = {m.sides["expected"] for m in metrics if m.kind.has_expected} - prepared.literals
    repeated = [column for column in columns.values() if column.name in expected and column.is_text]
    results = pl.collect_all(
        [
            flagged.select(pl.len(), *(one.alias(flag) for one, flag in zip(found, flags, strict=True))),
            *(_count_duplicates(frame, column) for column in repeated),
        ],
        engine="streaming",
    )
    probed = results[0].row(0, named=True)
    total = probed["len"]
    if total == 0:
        advice = "the frame is empty: there is nothing to score"
        return _findings([{"severity": "error", "finding": "no_rows", "rows": 0, "advice": advice}], total)
    rows: list[dict[str, Any]] = []
    for flag, probe in zip(flags, probes, strict=True):
        about = {key: getattr(probe, key) for key in ("severity", "finding", "column", "metric", "advice")}
        if probed[flag]["rows"] == total and probe.finding == "missing":
            about |= {"severity": "error", "finding": "all_missing"}
            about |= {"advice": "the column holds no value at all"}
        rows.append(about | probed[flag])
    for column, repeats in zip(repeated, results[1:], strict=True):
        advice = "fine for classes and for versions that answer the same cases; else cases count twice"
        about = {"severity": "info", "finding": "duplicate", "column": column.name, "advice": advice}
        rows.append(about | repeats.row(0, named=True))
    rows = [row for row in rows if row["rows"]]
    for row in rows:
        row["column"] = prepared.sources.get(row["column"], row["column"])
    return _findings(rows, total).sort("severity", maintain_order=True)


def _column_probes(column: Column, metrics: Sequence[Metric]) -> Iterator[Probe]:
    readers = [metric for metric in metrics if column.name in metric.columns]
    no_score = {"null", "unlabelled"} if _is_expected(column, readers) else {"null"}
    if all(metric.settings["missing"] in no_score for metric in readers):
        advice = "they get no score"
    elif _is_expected(column, readers):
        advice = 'they score 0.0 and fail; with missing="unlabelled" they get no score'
    else:
        advice = 'they score 0.0 and fail; with missing="null" they get no score'
    yield Probe("warning", "missing", column.name, column.missing, advice)
    if column.is_text:
        empty = column.any_text(lambda text: text.str.strip_chars() == "")
        advice = "the text is empty; two empty texts count as equal"
        yield Probe("warning", "empty", column.name, empty, advice)


def _is_expected(column: Column, readers: Sequence[Metric]) -> bool:
    """Whether metrics compare with a column, and none scores it."""
    return all(metric.sides.get("expected") == column.name for metric in readers)


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
    # GLEU counts n-grams of words; chrF's are of characters.
    return "whitespace" if metric.function is None and "max_len" in settings else None


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


def _findings(rows: list[dict[str, Any]], total: int) -> pl.DataFrame:
    for row in rows:
        row["share"] = row["rows"] / total if total else None
        if (value := row.get("example")) is not None:
            text = str(value)
            row["example"] = text if len(text) <= EXAMPLE_CHARS else text[: EXAMPLE_CHARS - 1] + "…"
    return pl.DataFrame(rows, schema=FINDINGS)
