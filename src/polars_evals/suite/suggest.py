"""Propose metrics that fit the columns of a frame."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.clean import cleaned_text
from polars_evals.expressions.options import check_choices
from polars_evals.suite.aggregate import Aggregate
from polars_evals.suite.metric import Metric
from polars_evals.suite.suite import Suite, check_frame
from polars_evals.wording import counted, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# So many rows are looked at.
LOOKED_AT = 10_000
# Most, and nearly all, of the values.
MOST, NEARLY_ALL = 0.5, 0.95
# A cleaning step is proposed where so many answers need it.
OFTEN, SOMETIMES = 0.2, 0.01
# So many different values are labels, if each stands in so many rows on average.
LABELS, ROWS_A_LABEL = 20, 5
LONGEST_LABEL = 60
# Texts up to this length are compared by characters.
SHORT = 80
FIELDS = 5

_REASONING = r"(?i)</?(think|thinking|reasoning|thought|scratchpad)>|<\|channel\|>\s*analysis"
_FENCE = r"(?m)^\s*```"
_MARKER = r"(?i)\banswer(\*\*|__)?\s?:"
_HASHES = r"####\s*\S"
_BOXED = r"\\boxed\s*\{"
_NUMBER = r"^\s*[-+−]?\s*[$€£]?\s*(\d[\d,]*)?\.?\d+([eE][-+]?\d+)?\s*%?\s*$"
_ENDS_WITH_NUMBER = r"####\s*[-+$]?[\d][\d.,]*\s*$"
_CHOICE = r"^\s*\(?[A-J][).]?\s*$"
_SCORE_NAME = re.compile(
    r"(^|_)(scores?|ratings?|grades?|judge|correct|passed|human|quality|ok)(_|$)", re.IGNORECASE
)
_SCALES = ((0.0, 1.0), (1.0, 5.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))


@dataclass(frozen=True)
class Suggestion:
    """
    A suite that fits a frame, with the reasons.

    Attributes
    ----------
    suite
        The suite. It can score the frame as it is.
    reasons
        A sentence for each metric and each cleaning step.
    """

    suite: Suite
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.reasons)


def suggest(
    frame: pl.DataFrame | pl.LazyFrame, *, output: str = "output", expected: str = "expected"
) -> Suggestion:
    """
    Propose metrics that fit the columns of a frame.

    Parameters
    ----------
    frame
        The answers. Only the first 10,000 rows are read.
    output, expected
        The columns of the answers and of the expected values. Without expected values, the metrics fit a
        comparison with other answers.

    Returns
    -------
    Suggestion
        The suite and the reasons. The same rows give the same suggestion.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["Answer: spam", "Answer: ham"] * 50, "expected": ["spam", "spam"] * 50})
    >>> print(pe.suggest(df.with_columns(expected=pl.Series(["spam", "ham"] * 50))))
    expected has 2 values in 100 rows: exact_match, aggregate macro_f1
    100% of the outputs contain "Answer:": clean keeps the text after it
    """
    check_frame(frame)
    rows = frame.lazy().head(LOOKED_AT).collect()
    scores = list(_scores(rows, {output, expected}))
    sides = {name: column for name, column in (("output", output), ("expected", expected)) if column in rows}
    if "output" not in sides and not scores:
        raise ValueError(
            f"the frame has no column {output!r}{did_you_mean(output, rows.columns)} to score; "
            f"it has {', '.join(map(repr, rows.columns))}"
        )
    found = _Found()
    if "output" in sides:
        _suggest_for(rows, sides, found)
    for metric, reason in scores:
        found.add(reason, metric)
    if not found.metrics:
        raise ValueError("no row has an answer to look at: nothing can be suggested")
    suite = Suite(
        found.metrics, output=output, expected=expected, clean=found.steps or None,
        aggregates=found.aggregates or None,
    )  # fmt: skip
    return Suggestion(suite, (*found.reasons, *(reason for _, reason in found.cleaning)))


@dataclass
class _Found:
    metrics: list[Metric] = field(default_factory=list)
    aggregates: list[Aggregate] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    # Cleaning steps, each with its reason.
    cleaning: list[tuple[Any, str]] = field(default_factory=list)

    def add(self, reason: str, *metrics: Metric) -> bool:
        self.metrics += metrics
        self.reasons.append(reason)
        return True

    def clean(self, step: Any, rate: float, found: str) -> None:
        self.cleaning.append((step, f"{rate:.0%} of the outputs {found}"))

    def keep_reasoning(self) -> None:
        """Drop the other steps: the metric finds the answer itself, and a step could only lose it."""
        self.cleaning = [one for one in self.cleaning if one[0] == "reasoning"]

    @property
    def steps(self) -> list[Any]:
        return [step for step, _ in self.cleaning]


@dataclass(frozen=True)
class _Texts:
    """The answers and the expected texts of the rows, without nulls."""

    output: pl.Series
    expected: pl.Series
    # The rows that have both, as answer and first expected text.
    pairs: pl.DataFrame
    what: str

    @classmethod
    def of(cls, rows: pl.DataFrame, sides: Mapping[str, str]) -> _Texts:
        has_expected = "expected" in sides and rows[sides["expected"]].count() > 0
        what = sides["expected" if has_expected else "output"]
        output, expected = _as_texts(rows[sides["output"]]), _as_texts(rows[what])
        pairs = pl.DataFrame({"output": output, "expected": expected}).drop_nulls()
        return cls(output.drop_nulls(), expected.drop_nulls(), pairs, what)

    def share(self, pattern: str, side: str = "output") -> float:
        """Return how many of the texts have a pattern."""
        texts: pl.Series = getattr(self, side)
        return float(texts.str.contains(pattern).mean() or 0.0)  # type: ignore[arg-type]

    @cached_property
    def values(self) -> list[str]:
        """The different expected texts, without white space around them, in order."""
        return self.expected.str.strip_chars().unique().sort().to_list()

    @cached_property
    def length(self) -> float:
        """The median length of the expected texts."""
        return float(self.expected.str.len_chars().median() or 0)  # type: ignore[arg-type]


def _as_texts(column: pl.Series) -> pl.Series:
    """Return a column as texts: of several references the first, of an object its JSON."""
    column = column.list.first() if isinstance(column.dtype, pl.List) else column
    if column.dtype == pl.Boolean:
        return column.cast(pl.String).str.to_titlecase()
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode()
    return column.cast(pl.String, strict=False)


def _suggest_for(rows: pl.DataFrame, sides: Mapping[str, str], found: _Found) -> None:
    if _retrieval(rows, sides, found) or _tools(rows, sides, found):
        return
    texts = _Texts.of(rows, sides)
    if texts.expected.is_empty():
        return
    _cleaning(texts, found)
    for propose in (_choices, _numbers, _documents, _labels, _plain_texts):
        if propose(texts, found):
            return


def _cleaning(texts: _Texts, found: _Found) -> None:
    """Propose steps for what stands around the answers and not around what is expected."""
    if (share := texts.share(_REASONING)) >= SOMETIMES:
        found.clean("reasoning", share, "contain reasoning: clean drops it")
    for pattern, step, shown in (
        (_FENCE, "fence", "a code fence"),
        (_BOXED, "boxed", r"\boxed{}"),
        (_HASHES, {"after": "####"}, '"####"'),
        (_MARKER, {"after": "Answer:"}, '"Answer:"'),
    ):
        share = texts.share(pattern)
        if share >= OFTEN and texts.share(pattern, "expected") < OFTEN:
            kept = "keeps its content" if step in ("fence", "boxed") else "keeps the text after it"
            found.clean(step, share, f"contain {shown}: clean {kept}")


def _choices(texts: _Texts, found: _Found) -> bool:
    if texts.share(_CHOICE, "expected") < NEARLY_ALL:
        return False
    letters = sorted({one for value in texts.values for one in value.upper() if one.isalpha()})
    if len(letters) < 2 and texts.pairs.height > ROWS_A_LABEL:
        return False
    last = max([*letters, "D"])
    choices = "".join(chr(code) for code in range(ord("A"), ord(last) + 1))
    options: dict[str, Any] = {} if choices == "ABCD" else {"choices": choices}
    found.keep_reasoning()
    reason = f"{texts.what} holds letters of choices ({', '.join(letters)}): choice"
    return found.add(reason, Metric("choice", **options))


def _numbers(texts: _Texts, found: _Found) -> bool:
    """Numbers, also at the end of a worked answer."""
    plain = texts.share(_NUMBER, "expected")
    if max(plain, texts.share(_ENDS_WITH_NUMBER, "expected")) < NEARLY_ALL:
        return False
    if plain >= NEARLY_ALL and len(texts.values) <= ROWS_A_LABEL and _are_labels(texts):
        return False
    return found.add(f"{texts.what} holds numbers: numeric_match", Metric("numeric_match"))


def _documents(texts: _Texts, found: _Found) -> bool:
    """JSON documents, and the fields that nearly all of them have."""
    share = texts.share(r"^\s*[\[{]", "expected")
    documents = [_parsed(text) for text in texts.expected.head(1_000)] if share >= NEARLY_ALL else []
    if not documents or sum(one is not None for one in documents) < NEARLY_ALL * len(documents):
        return False
    prose = float((~texts.output.str.contains(r"^\s*[\[{]")).mean() or 0.0)  # type: ignore[arg-type]
    found.keep_reasoning()
    if prose >= SOMETIMES:
        found.clean("json", prose, "have text around their JSON: clean takes the JSON")
    found.add(f"{texts.what} holds JSON: json_match", Metric("json_match"))
    for path, metric in _fields(documents):
        name = re.sub(r"\W+", "_", path.removeprefix("$")).strip("_")
        found.add(f"{path} is in nearly every document: {metric}", Metric(metric, field=path, name=name))
    return True


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _fields(documents: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Return the first paths that nearly all documents have, and the metric for what stands there."""
    values: dict[str, list[Any]] = {}
    for document in documents:
        for path, value in _leaves(document, "$"):
            values.setdefault(path, []).append(value)
    common = [path for path, held in values.items() if len(held) >= 0.8 * len(documents)]
    for path in common[:FIELDS]:
        held = values[path]
        kinds = Counter(type(value) for value in held)
        if kinds[bool] < len(held) and kinds[int] + kinds[float] + kinds[bool] == len(held):
            yield path, "numeric_match"
        elif all(isinstance(value, str) for value in held):
            lengths = sorted(len(value) for value in held)
            few = len(set(held)) <= max(2, len(held) // ROWS_A_LABEL)
            ids = all(re.fullmatch(r"[\w.:/-]*\d[\w.:/-]*", value) for value in held)
            median = lengths[len(lengths) // 2]
            yield path, "exact_match" if few or ids else "levenshtein" if median <= SHORT else "token_f1"
        else:
            yield path, "exact_match"


def _leaves(value: Any, path: str, depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Return the single values of an object, with their paths; those in arrays have none that stays."""
    if isinstance(value, dict) and depth:
        for key, held in value.items():
            if re.fullmatch(r"[A-Za-z_]\w*", key):
                yield from _leaves(held, f"{path}.{key}", depth - 1)
    elif path != "$" and not isinstance(value, dict | list) and value is not None:
        yield path, value


def _are_labels(texts: _Texts) -> bool:
    values = texts.values
    return (
        len(values) <= LABELS
        and len(values) * ROWS_A_LABEL <= texts.expected.len()
        and max(map(len, values)) <= LONGEST_LABEL
    )


def _labels(texts: _Texts, found: _Found) -> bool:
    """Labels: a few values that come again and again."""
    if not _are_labels(texts):
        return False
    values, also = texts.values, ""
    if len(values) > 1:
        # A stray answer is wrong, and no class of its own.
        found.aggregates.append(Aggregate("macro_f1", labels=values))
        also = ", aggregate macro_f1"
    seen = f"{counted(len(values), 'value')} in {counted(texts.expected.len(), 'row')}"
    found.add(f"{texts.what} has {seen}: exact_match{also}", Metric("exact_match"))
    # A step after which more answers are one of the labels.
    known = _share_of_labels(texts, found.steps)
    steps: list[tuple[Any, str]] = [({"regex": r"\[([^\[\]]+)\]"}, "in brackets")]
    with suppress(ValueError):  # labels of several words, or two that differ only in case, are no choices
        steps.append(({"choice": check_choices("clean", values)}, "within other text"))
    shares = [_share_of_labels(texts, [*found.steps, step]) for step, _ in steps]
    best = max(shares)
    if best > known + OFTEN:
        step, shown = steps[shares.index(best)]
        found.clean(step, best - known, f"contain a label {shown}: clean keeps only the label")
    return True


def _share_of_labels(texts: _Texts, steps: Sequence[Any]) -> float:
    """Return how many answers are a label after some steps."""
    output = cleaned_text(pl.col("output"), steps) if steps else pl.col("output")
    is_label = output.str.strip_chars().is_in(texts.values)
    return float(texts.output.to_frame("output").select(is_label.mean()).item() or 0.0)


def _plain_texts(texts: _Texts, found: _Found) -> bool:
    length = f"{texts.what} has a median length of {counted(round(texts.length), 'character')}"
    if texts.length > SHORT:
        metrics = Metric("rouge", variant="rougeL"), Metric("token_f1")
        return found.add(f"{length}: rouge (rougeL), token_f1", *metrics)
    found.add(f"{length}: levenshtein, token_f1", Metric("levenshtein"), Metric("token_f1"))
    answers = float(texts.output.str.len_chars().median() or 0)  # type: ignore[arg-type]
    inside = texts.pairs.select(
        pl.col("output")
        .str.to_lowercase()
        .str.contains(pl.col("expected").str.strip_chars().str.to_lowercase(), literal=True)
        .mean()
    ).item()
    if answers > 3 * texts.length and (inside or 0.0) >= OFTEN:
        reason = f"{inside:.0%} of the outputs contain the expected text among others: contains"
        found.add(reason, Metric("contains"))
    return True


def _retrieval(rows: pl.DataFrame, sides: Mapping[str, str], found: _Found) -> bool:
    expected = rows[sides["expected"]] if "expected" in sides else None
    if expected is None or not _holds_ids(expected):
        return False
    names = ("recall_at_k", "ndcg", "reciprocal_rank")
    for output in (sides["output"], "contexts"):
        if output in rows and _holds_ids(rows[output]):
            reason = f"{output} and {sides['expected']} are lists of ids: {', '.join(names)}"
            return found.add(reason, *(Metric(name, output=output) for name in names))
    return False


def _holds_ids(column: pl.Series) -> bool:
    if not isinstance(column.dtype, pl.List):
        return False
    inner = column.explode().drop_nulls()
    if inner.dtype != pl.String:
        return inner.dtype.is_integer() and not inner.is_empty()
    ids = (inner.str.len_chars() <= 64) & ~inner.str.contains(r"\s") & inner.str.contains(r"[\d_:/.-]")
    return bool((ids.mean() or 0.0) >= NEARLY_ALL)  # type: ignore[operator]


def _tools(rows: pl.DataFrame, sides: Mapping[str, str], found: _Found) -> bool:
    if "expected" not in sides or not _holds_calls(rows[sides["expected"]]):
        return False
    has_calls = "tool_calls" in rows.columns and _holds_calls(rows["tool_calls"])
    metric = Metric("tool_calls", output="tool_calls" if has_calls else sides["output"])
    return found.add(f"{sides['expected']} holds tool calls: tool_calls", metric)


def _holds_calls(column: pl.Series) -> bool:
    dtype = column.dtype
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        names = {field.name for field in dtype.inner.fields}
        return bool(names & {"name", "function"}) and bool(column.list.len().sum())
    if dtype != pl.String:
        return False
    texts = column.drop_nulls().head(200).to_list()
    return bool(texts) and sum(map(_is_calls, texts)) >= NEARLY_ALL * len(texts)


def _is_calls(text: str) -> bool:
    value = _parsed(text)
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    calls = value if isinstance(value, list) else [value]
    return bool(calls) and all(map(_is_call, calls))


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict):
        return False
    call = next((call[key] for key in ("function", "functionCall", "toolUse") if key in call), call)
    arguments = {"arguments", "args", "input", "parameters"}
    return isinstance(call, dict) and isinstance(call.get("name"), str) and not arguments.isdisjoint(call)


def _scores(rows: pl.DataFrame, taken: set[str]) -> Iterator[tuple[Metric, str]]:
    """Return the columns that hold somebody's scores, known by their names and values."""
    for name, dtype in rows.schema.items():
        if name in taken or not _SCORE_NAME.search(name) or not (dtype.is_numeric() or dtype == pl.Boolean):
            continue
        values = rows[name].cast(pl.Float64).drop_nulls().drop_nans()
        # Ratings of a few rows are people's labels (`compare(truth=...)`), and no metric of all rows.
        if values.is_empty() or values.len() < MOST * rows.height:
            continue
        scales = [one for one in _SCALES if values.is_between(*one).all()]
        if not scales or (scales[0] != (0.0, 1.0) and values.n_unique() < 3):
            continue
        low, high = scales[0]
        options: dict[str, Any] = {} if (low, high) == (0.0, 1.0) else {"low": low, "high": high}
        called = name.removesuffix("_score")
        metric = Metric("column", name=called, column=name, missing="null", **options)
        yield metric, f"{name} holds scores from {low:g} to {high:g}: column"
