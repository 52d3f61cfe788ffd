"""Aggregates: statistics of a whole set of answers that are no means of scores, and what each row adds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from polars_evals.suite.metric import Metric
from polars_evals.wording import did_you_mean, listed, shown

Schema = Mapping[str, pl.DataType]

# The column of a suite's aggregate, after its name.
COUNTS = "_counts"
# Those of one class, and those of all classes.
OF_ONE_CLASS = ("f1", "precision", "recall")
OF_CLASSES = (
    "accuracy", "balanced_accuracy", "macro_f1", "micro_f1", "weighted_f1", "mcc", "cohen_kappa",
    *OF_ONE_CLASS,
)  # fmt: skip
# Those of texts, with the metric that counts for them.
OF_TEXTS = {"corpus_bleu": "bleu", "corpus_chrf": "chrf", "corpus_wer": "wer", "corpus_cer": "cer"}
TYPES = (*OF_CLASSES, *OF_TEXTS)
BLEU_ORDERS, CHRF_ORDERS = 4, 6


@dataclass(frozen=True)
class Aggregate:
    """
    A statistic of all answers of a version, such as macro-F1 or corpus BLEU.

    Parameters
    ----------
    type
        Of labels: `accuracy`, `balanced_accuracy`, `macro_f1`, `micro_f1`, `weighted_f1`, `mcc`,
        `cohen_kappa`, and `f1`, `precision` and `recall` of one class. Of texts: `corpus_bleu`,
        `corpus_chrf`, `corpus_wer` and `corpus_cer`.
    output, expected
        The columns to compare, `"output"` and `"expected"` if not given.
    name
        The name of its rows, and of its column in a scored frame: `<name>_counts`. The default is the type.
    positive
        The class that `f1`, `precision` and `recall` are computed for.
    labels
        The classes. Any other output is wrong and is not a class. By default every distinct output is a
        class, as in scikit-learn.
    clean, clean_expected
        Steps that clean the texts first: see `Metric`. In a suite, the default is the suite's.

    Notes
    -----
    Values are those of scikit-learn, of sacrebleu's corpus scores divided by 100, and of jiwer as 1 − error
    rate. Labels are compared as they are: `"Yes"` and `"yes"` are two classes. Rows without an expected
    value are left out. A missing output counts as an empty text, which is wrong.

    Examples
    --------
    >>> import polars_evals as pe
    >>> pe.Aggregate("f1", positive="spam", name="spam_f1")
    Aggregate("f1", name='spam_f1', positive='spam')
    >>> pe.Aggregate("makro_f1")
    Traceback (most recent call last):
    ValueError: unknown aggregate "makro_f1"; did you mean "macro_f1"?
    """

    type: str
    output: str | None = None
    expected: str | None = None
    name: str | None = None
    positive: Any = None
    labels: Any = None
    clean: Any = None
    clean_expected: Any = None

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            hint = did_you_mean(str(self.type), TYPES) or f"; use one of {', '.join(TYPES)}"
            raise ValueError(f'unknown aggregate "{self.type}"{hint}')
        if self.type in OF_ONE_CLASS and self.positive is None:
            raise ValueError(f'{self.type}: name the class with `positive`, such as positive="yes"')
        if self.type not in OF_ONE_CLASS and self.positive is not None:
            raise ValueError(f"{self.type}: takes no `positive`, only {listed(OF_ONE_CLASS)} do")
        if isinstance(self.positive, list | tuple | set | dict):
            raise ValueError(f"{self.type}: `positive` must be one class, got {shown(self.positive)}")
        if self.labels is not None:
            if self.type not in OF_CLASSES:
                raise ValueError(f"{self.type}: has no classes; leave out `labels`")
            if isinstance(self.labels, str) or not all(isinstance(one, str) for one in self.labels):
                raise ValueError(f"{self.type}: `labels` must be a list of texts, got {shown(self.labels)}")
            object.__setattr__(self, "labels", list(self.labels))
        object.__setattr__(self, "name", self.type if self.name is None else self.name)
        _ = self._metric  # names and steps that are wrong are errors now

    def __repr__(self) -> str:
        given = {key: value for key, value in self.to_dict().items() if key != "type"}
        return f'Aggregate("{self.type}"{"".join(f", {key}={value!r}" for key, value in given.items())})'

    @property
    def column(self) -> str:
        """The column that a suite keeps the counts of each row in."""
        return f"{self.name}{COUNTS}"

    @property
    def columns(self) -> list[str]:
        """The columns that are compared."""
        return list(self._metric.sides.values())

    @property
    def _metric(self) -> Metric:
        """The metric over the same columns: it knows about names, cleaning and counts."""
        return Metric(
            OF_TEXTS.get(self.type, "exact_match"), name=self.name, output=self.output,
            expected=self.expected, clean=self.clean, clean_expected=self.clean_expected,
        )  # fmt: skip

    def bind(self, **given: Any) -> Aggregate:
        """Fill in what is not given."""
        return replace(
            self, **{key: value for key, value in given.items() if getattr(self, key) in (None, (), False)}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the aggregate as an entry of a suite file."""
        entry = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.name == self.type:
            del entry["name"]
        return {key: value for key, value in entry.items() if value is not None}

    @property
    def signature(self) -> str:
        """All that can change the counts, in one line."""
        options = [
            f"{key}:{shown(value)}"
            for key, value in self.to_dict().items()
            if key in ("positive", "labels", "clean", "clean_expected")
        ]
        return "|".join([self.type, *options, "aggregate:1"])

    def counts(self, schema: Schema) -> pl.Expr:
        """
        Return what each row adds to the statistic, as a struct; null without an expected value.

        Labels are kept as they are (`expected`, `output`), of texts the sums of n-grams or errors
        (`counts`). `type` and `positive` say what they are for.
        """
        sides = self._metric.side_exprs
        for side, column in self._metric.sides.items():
            dtype = schema[column]
            lists = side == "expected" and self.type in OF_TEXTS and dtype == pl.List(pl.String)
            if dtype in (pl.Object, pl.Binary) or (dtype.is_nested() and not lists):
                raise pl.exceptions.InvalidOperationError(
                    f"aggregate {self.name!r}: column {column!r} is {dtype}; it takes text, numbers, Booleans"
                )
        known = sides["expected"].is_not_null()
        kind = pl.lit(self.type).alias("type")
        if self.type in OF_CLASSES:
            dtypes = {schema[column] for column in self.columns}
            if len(dtypes) > 1 and all(dtype.is_numeric() for dtype in dtypes):
                # 1 and 1.0 are one class.
                sides = {side: expr.cast(pl.Float64) for side, expr in sides.items()}
            expected, output = (sides[side].cast(pl.String) for side in ("expected", "output"))
            if self.labels is not None:
                output = pl.when(output.is_in(self.labels)).then(output)
            positive = pl.lit(self._positive_text(dtypes), dtype=pl.String)
            found = pl.struct(kind, positive=positive, expected=expected, output=output)
        else:
            expected = sides["expected"]
            if not schema[self._metric.sides["expected"]].is_nested():
                expected = expected.cast(pl.String)
            output = sides["output"].cast(pl.String).fill_null("")
            metric = self._metric.expr(output=output, expected=expected, details=True)
            # Within the struct, so that the metric runs once.
            sums = metric.struct.with_fields(counts=_sums(self.type).cast(pl.List(pl.Int64)))
            found = pl.struct(kind, sums.struct.field("counts"))
        return pl.when(known).then(found).alias(self.column)

    def _positive_text(self, dtypes: Collection[pl.DataType]) -> str | None:
        """Return the positive class as the labels are written."""
        if self.positive is None or isinstance(self.positive, str):
            return self.positive
        [dtype] = dtypes if len(dtypes) == 1 else [pl.Float64()]
        made = pl.Series([self.positive])
        return str((made.cast(dtype) if dtype.is_numeric() else made).cast(pl.String).item())


def _sums(kind: str) -> pl.Expr:
    """Return what is summed up over the rows, of the fields of a metric's details."""
    field = pl.field
    if kind == "corpus_bleu":
        output, expected = field("output_tokens"), field("expected_tokens")
        shared = [field(f"overlap_{n}") for n in range(1, BLEU_ORDERS + 1)]
        return pl.concat_list(output, expected, *shared, *_ngrams(output, BLEU_ORDERS))
    if kind == "corpus_chrf":
        made = _ngrams(field("output_characters"), CHRF_ORDERS)
        wanted = _ngrams(field("expected_characters"), CHRF_ORDERS)
        # As sacrebleu: n-grams of the output do not count where expected is too short to have any.
        made = [pl.when(b > 0).then(a).otherwise(0) for a, b in zip(made, wanted, strict=True)]
        return pl.concat_list(*made, *wanted, *(field(f"overlap_{n}") for n in range(1, CHRF_ORDERS + 1)))
    errors = field("substitutions") + field("insertions") + field("deletions")
    return pl.concat_list(errors, field("length"))


def _ngrams(length: pl.Expr, orders: int) -> list[pl.Expr]:
    return [(length - n).clip(0) for n in range(orders)]


def aggregates_of(given: Any) -> tuple[Aggregate, ...]:
    """Return aggregates of names, aggregates, or tables as in a suite file; each name once."""
    if given is None:
        return ()
    alone = isinstance(given, str | Aggregate | Mapping) or not isinstance(given, Iterable)
    found = [_aggregate_of(one) for one in ([given] if alone else given)]
    names = [one.name for one in found]
    if repeated := sorted({str(name) for name in names if names.count(name) > 1}):
        raise ValueError(f'two aggregates are named "{repeated[0]}"; give one of them another name: name="…"')
    return tuple(found)


def _aggregate_of(entry: object) -> Aggregate:
    if isinstance(entry, Aggregate):
        return entry
    entry = {"type": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, Mapping):
        raise TypeError(f"aggregates takes names or pe.Aggregate(...), got {shown(entry)}")
    known = [field.name for field in fields(Aggregate)]
    for key in entry:
        if key not in known:
            hint = did_you_mean(str(key), known) or f"; an aggregate takes {', '.join(known)}"
            raise ValueError(f'unknown option "{key}"{hint}')
    if "type" not in entry:
        raise ValueError(f"the `type` is missing; use one of {', '.join(TYPES)}")
    return Aggregate(**entry)


def stored(schema: Schema) -> dict[str, str]:
    """Return the aggregates whose counts are among the columns of a frame: names and columns."""
    found = {}
    for column, dtype in schema.items():
        if column.endswith(COUNTS) and isinstance(dtype, pl.Struct) and column != COUNTS:
            names = {field.name for field in dtype.fields}
            if {"type", "counts"} <= names or {"type", "expected", "output"} <= names:
                found[column.removesuffix(COUNTS)] = column
    return found
