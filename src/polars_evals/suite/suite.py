"""A suite: metrics over one frame."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, Self

import polars as pl
from polars.exceptions import ColumnNotFoundError

from polars_evals.suite.aggregate import Aggregate, aggregates_of
from polars_evals.suite.measure import Measures, measures_of
from polars_evals.suite.metric import Metric
from polars_evals.suite.scoring import FrameT, Scoring, quoted
from polars_evals.suite.signature import remember, signature, to_metadata
from polars_evals.wording import did_you_mean


@dataclass(frozen=True, init=False)
class Suite:
    """A named list of metrics that scores a whole frame in one pass.

    Parameters
    ----------
    metrics
        The metrics: `Metric`s, or names of metrics with their defaults. If two have the same default name,
        the second is named `<name>_2`.
    output, expected
        The columns to score, for metrics without columns of their own. `expected` may be a literal:
        `pl.lit("Paris")`.
    clean, clean_expected
        Steps that clean the texts first, for metrics without steps of their own: see `Metric`.
    measures
        Columns of numbers that versions are compared by beside the scores: names, `Measure`s, or names with
        options. `compare(..., measures=suite.measures)`. A job compares them without being asked.
    aggregates
        Statistics of all rows, such as `"macro_f1"`: names, or `Aggregate`s. Scored frames hold the
        contribution of each row in `<name>_counts`. `compare` and `rank` find these columns.

    Examples
    --------
    >>> suite = pe.Suite([pe.Metric("levenshtein", threshold=0.9), pe.Metric("exact_match", name="exact")])
    >>> suite.score(pl.DataFrame({"output": ["Hello World!"], "expected": ["Hello World"]}))
    shape: (1, 6)
    ┌──────────────┬─────────────┬───────────────────┬───────────────────┬─────────────┬─────────────┐
    │ output       ┆ expected    ┆ levenshtein_score ┆ levenshtein_label ┆ exact_score ┆ exact_label │
    │ ---          ┆ ---         ┆ ---               ┆ ---               ┆ ---         ┆ ---         │
    │ str          ┆ str         ┆ f64               ┆ enum              ┆ f64         ┆ enum        │
    ╞══════════════╪═════════════╪═══════════════════╪═══════════════════╪═════════════╪═════════════╡
    │ Hello World! ┆ Hello World ┆ 0.92              ┆ pass              ┆ 0.0         ┆ fail        │
    └──────────────┴─────────────┴───────────────────┴───────────────────┴─────────────┴─────────────┘
    """

    metrics: tuple[Metric, ...]
    measures: Measures = field(default_factory=Measures)
    aggregates: tuple[Aggregate, ...] = ()

    def __init__(
        self,
        metrics: Metric | str | Iterable[Metric | str],
        *,
        output: str = "output",
        expected: str | pl.Expr = "expected",
        clean: Any = None,
        clean_expected: Any = None,
        measures: Any = None,
        aggregates: Any = None,
    ) -> None:
        several = isinstance(metrics, Iterable) and not isinstance(metrics, str)
        given = [_as_metric(one) for one in (metrics if several else [metrics])]  # type: ignore[union-attr]
        shared: dict[str, Any] = {"output": output, "clean": clean, "clean_expected": clean_expected}
        column = {"expected": expected} if isinstance(expected, str) else {}
        statistics = tuple(one.bind(**shared, **column) for one in aggregates_of(aggregates))
        if not given and not statistics:
            raise ValueError("a suite needs at least one metric or aggregate")
        names = _choose_names(given)
        bound = [
            one.bind(name=name, expected=expected, **shared) for name, one in zip(names, given, strict=True)
        ]
        object.__setattr__(self, "metrics", tuple(bound))
        object.__setattr__(self, "measures", measures_of(measures))
        if taken := [name for name in self.measures if name in names]:
            raise ValueError(f"{quoted(taken)} is a metric and a measure; rename one")
        object.__setattr__(self, "aggregates", statistics)
        if taken := [str(one.name) for one in statistics if one.name in (*names, *self.measures)]:
            raise ValueError(f"{quoted(taken)} is an aggregate, and a metric or measure; rename one")

    def __len__(self) -> int:
        return len(self.metrics)

    def __iter__(self) -> Iterator[Metric]:
        return iter(self.metrics)

    def __add__(self, other: object) -> Self:
        """Make a suite of all that both hold; `other` may be a metric or its name."""
        if isinstance(other, str | Metric):
            other = type(self)(other)
        if not isinstance(other, Suite):
            return NotImplemented
        return type(self)(
            (*self.metrics, *other.metrics),
            measures={**self.measures, **other.measures},
            aggregates=(*self.aggregates, *other.aggregates),
        )

    def __repr__(self) -> str:
        measures = f", measures={list(self.measures)!r}" if self.measures else ""
        aggregates = f", aggregates={list(self.aggregates)!r}" if self.aggregates else ""
        metrics = "".join(f"    {metric!r},\n" for metric in self.metrics)
        return f"Suite([\n{metrics}]{measures}{aggregates})"

    @classmethod
    def load(cls, path: str | Path, *, output: str | None = None, expected: str | None = None) -> Self:
        """Load a suite from a TOML, YAML or JSON file.

        Parameters
        ----------
        path
            A file that ends in `.toml`, `.yaml`, `.yml` or `.json`. It holds a list `metric`, or the
            evaluators of judge-llm or 2Signal.
        output, expected
            The columns to score, where they are not those that the file names.

        Raises
        ------
        ValueError
            If something in the file is wrong. The error names file, place and the nearest right word.
        """
        from polars_evals.suite.files import read_file

        return cls.from_dict(read_file(path), source=str(path), output=output, expected=expected)

    @classmethod
    def from_dict(
        cls, config: object, *, source: str = "suite", output: str | None = None, expected: str | None = None
    ) -> Self:
        """Make a suite from the contents of a suite file: `{"metric": [{"type": "levenshtein"}]}`.

        Parameters
        ----------
        config
            The contents: a mapping, or a list of evaluators.
        source
            Where it is from, for errors.
        output, expected
            The columns to score, where they are not those that the configuration names.
        """
        from polars_evals.suite.files import read_suite

        given = {"output": output, "expected": expected}
        arguments = read_suite(config, source) | {
            key: name for key, name in given.items() if name is not None
        }
        try:
            return cls(**arguments)
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the suite to a TOML, YAML or JSON file, by its ending.

        Parameters
        ----------
        path
            A file that ends in `.toml`, `.yaml`, `.yml` or `.json`.

        Raises
        ------
        ValueError
            If a metric cannot be written: a file names metrics, and holds no functions or expressions.

        Examples
        --------
        >>> suite = pe.Suite(["levenshtein", pe.Metric("rouge", variant="rougeL")])
        >>> suite.save("evals.toml")
        >>> pe.Suite.load("evals.toml") == suite
        True
        """
        from polars_evals.suite.files import write_file

        write_file(self.to_dict(), path)

    def to_dict(self) -> dict[str, Any]:
        """Return the suite as the contents of a suite file."""
        measures = [{"name": name, **one.plain} for name, one in self.measures.items()]
        tables = {"measure": measures, "aggregate": [one.to_dict() for one in self.aggregates]}
        metrics = {"metric": [metric.to_dict() for metric in self.metrics]}
        return metrics | {key: entries for key, entries in tables.items() if entries}

    def score(self, frame: FrameT, *, signatures: bool = False) -> FrameT:
        """Add `<name>_score` and `<name>_label` of each metric, and `<name>_counts` of each aggregate.

        Parameters
        ----------
        frame
            A DataFrame, which gives a DataFrame, or a LazyFrame, which gives a LazyFrame.
        signatures
            Also add `<name>_signature`, for tables that collect the scores of different suites.

        Notes
        -----
        Each metric runs once over the data, and in a lazy query only if something of it is used. Metrics that
        differ in threshold alone are computed once, and word metrics over the same two columns (`rouge`,
        `bleu`, `token_f1` and their like) share one pass over the texts.

        Examples
        --------
        >>> suite = pe.Suite([pe.Metric("contains")], output="answer", expected="keyword")
        >>> suite.score(pl.DataFrame({"answer": ["It is Paris."], "keyword": ["paris"]}))
        shape: (1, 4)
        ┌──────────────┬─────────┬────────────────┬────────────────┐
        │ answer       ┆ keyword ┆ contains_score ┆ contains_label │
        │ ---          ┆ ---     ┆ ---            ┆ ---            │
        │ str          ┆ str     ┆ f64            ┆ enum           │
        ╞══════════════╪═════════╪════════════════╪════════════════╡
        │ It is Paris. ┆ paris   ┆ 1.0            ┆ pass           │
        └──────────────┴─────────┴────────────────┴────────────────┘
        """
        check_frame(frame)
        schema = frame.collect_schema()
        _check_columns(self.metrics, schema.names())
        _check_columns(self.aggregates, schema.names())
        counts = [one.counts(schema) for one in self.aggregates]
        scoring = Scoring(self.metrics, schema, self.signature if signatures else {}, counts)
        scored = scoring.score(frame)
        remember(scored, self.signature)
        return scored

    def sink_parquet(
        self, frame: pl.DataFrame | pl.LazyFrame, path: Any, **options: Any
    ) -> pl.LazyFrame | None:
        """Score a frame into a Parquet file, with the signatures in its metadata.

        Parameters
        ----------
        frame
            The frame to score. A LazyFrame is streamed: it need not fit in memory.
        path
            The file, or whatever else `LazyFrame.sink_parquet` takes.
        **options
            Options of `LazyFrame.sink_parquet`, such as `compression`. Entries of `metadata` are kept.

        Examples
        --------
        >>> suite = pe.Suite([pe.Metric("exact_match")])
        >>> suite.sink_parquet(pl.LazyFrame({"output": ["4"], "expected": ["4"]}), "scored.parquet")
        >>> pl.read_parquet("scored.parquet").columns
        ['output', 'expected', 'exact_match_score', 'exact_match_label']
        """
        check_frame(frame)
        options["metadata"] = {**(options.get("metadata") or {}), **self.metadata}
        written: pl.LazyFrame | None = self.score(frame.lazy()).sink_parquet(path, **options)
        return written

    def check(self, frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
        """Check a frame for problems that make its scores misleading.

        Scores the expected values against themselves and profiles the columns.

        Parameters
        ----------
        frame
            The frame to be scored.

        Returns
        -------
        DataFrame
            The findings, the worst first, with `severity` (error, warning, info), `finding`, `metric` (null
            where it concerns all), `column`, `rows` and `share` of all rows, `example` (the first such value,
            shortened) and `advice`. No rows: nothing was found.

        Examples
        --------
        >>> suite = pe.Suite([pe.Metric("exact_match")])
        >>> df = pl.DataFrame({"output": ["Paris", "Rome", "Bern"], "expected": ["Paris", None, "Bern"]})
        >>> suite.check(df).select("severity", "finding", "column", "rows", "advice")
        shape: (1, 5)
        ┌──────────┬─────────┬──────────┬──────┬─────────────────────────────────┐
        │ severity ┆ finding ┆ column   ┆ rows ┆ advice                          │
        │ ---      ┆ ---     ┆ ---      ┆ ---  ┆ ---                             │
        │ enum     ┆ str     ┆ str      ┆ i64  ┆ str                             │
        ╞══════════╪═════════╪══════════╪══════╪═════════════════════════════════╡
        │ warning  ┆ missing ┆ expected ┆ 1    ┆ they score 0.0 and fail; with … │
        └──────────┴─────────┴──────────┴──────┴─────────────────────────────────┘
        """
        from polars_evals.suite.lint import find

        check_frame(frame)
        lazy = frame.lazy()
        schema = lazy.collect_schema()
        _check_columns(self.metrics, schema.names())
        return find(self.metrics, lazy, schema)

    @property
    def signature(self) -> dict[str, str]:
        """What the scores are made with: every option that can change a score or label, and the algorithm.

        The last part is the version of the metric's algorithm. It changes where scores do, so that a release
        that changes no score changes no signature.

        Examples
        --------
        >>> pe.Suite([pe.Metric("levenshtein", threshold=0.8)]).signature["levenshtein"]
        'levenshtein|threshold:0.8|case:lower|max_chars:10000|decimals:2|missing:fail|levenshtein:1'
        """
        found = {str(metric.name): signature(metric) for metric in self.metrics}
        return found | {str(one.name): one.signature for one in self.aggregates}

    @property
    def metadata(self) -> dict[str, str]:
        """The signatures as Parquet metadata: `scored.write_parquet(path, metadata=suite.metadata)`."""
        return to_metadata(self.signature)


def _as_metric(metric: object) -> Metric:
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return Metric(metric)
    hint = "; give a function as pe.Metric(function)" if callable(metric) else ""
    raise TypeError(f"a suite is made of pe.Metric(...) or names of metrics, got {metric!r}{hint}")


def check_frame(frame: object) -> None:
    """Refuse what is no frame; a path is the likeliest."""
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        reading = "; read the file with pl.read_parquet(...) or pl.scan_parquet(...)"
        raise TypeError(
            f"`frame` must be a DataFrame or a LazyFrame, got {frame!r}"
            f"{reading if isinstance(frame, str | Path) else ''}"
        )


def _check_columns(metrics: Iterable[Metric | Aggregate], existing: list[str]) -> None:
    for metric in metrics:
        for column in metric.columns:
            if column not in existing:
                hint = did_you_mean(column, existing)
                if not hint:
                    hint = f"; there are {quoted(existing)}"
                    if column == metric.expected:
                        hint += f'. Write a literal text as pl.lit("{column}")'
                        hint += f', and in a file {{literal = "{column}"}}'
                kind = "metric" if isinstance(metric, Metric) else "aggregate"
                raise ColumnNotFoundError(f'{kind} "{metric.name}": the frame has no column "{column}"{hint}')


def _choose_names(metrics: list[Metric]) -> list[str]:
    """Name the metrics: as given, or else by their type, numbered where that is taken."""
    given = [metric.name for metric in metrics if metric.name]
    repeated = dict.fromkeys(name for name in given if given.count(name) > 1)
    if repeated:
        raise ValueError(f"two metrics are named {quoted(repeated)}; give them different names")
    names = list[str]()
    for metric in metrics:
        name = metric.name or metric.default_name
        numbered = chain([name], (f"{name}_{number}" for number in count(2)))
        names.append(metric.name or next(one for one in numbered if one not in (*given, *names)))
    return names
