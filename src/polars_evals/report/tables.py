"""What results show: the rows of a comparison with the numbers that decided, and tables of every result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import polars as pl

from polars_evals.report.numbers import amount, day, digits_for, percent, score, signed
from polars_evals.suite.measure import measures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from polars_evals.drift import Agreement, Calibration, Comparison, Ranking, Runs, SamplePlan, Timeline
    from polars_evals.drift.result import Result
    from polars_evals.suite.measure import Measure

    # A key of a row, or a function of a row; None leaves a column out.
    _Columns: TypeAlias = Mapping[str, str | Callable[[Any], Any] | None]

SIGNS = {"regressed": "▼", "improved": "▲", "inconclusive": "◇", "no_change": "●"}
MOVED = {"regressed": "worse", "improved": "better"}
WORDS = {**MOVED, "inconclusive": "unclear", "no_change": "unchanged"}
# Worst first.
ORDER = ("regressed", "inconclusive", "improved", "no_change")
# Heads of tables of rows, which a column of slices must not have too.
HEADS = {
    "", "version", "metric", "verdict", "difference", "low", "high", "before → after", "before → now",
    "since", "rows", "items", "change", "interval", "newly failing", "newly passing",
}  # fmt: skip
# Differences below this come from rounding.
_NEGLIGIBLE = 1e-9
_OUTCOMES = {"error": "errors", "truncated": "truncated answers", "filtered": "filtered answers"}


@dataclass(frozen=True)
class Row:
    """A row of a comparison or a timeline with the numbers of the component that decided its verdict."""

    # Empty where a timeline does not tell versions apart.
    candidate: str
    metric: str
    # None for all items.
    slice: str | None
    by: str | None
    value: str | None
    # `mean`, `pass rate`, or a quantile such as `p95`.
    part: str
    verdict: str
    reason: str
    n: int
    q_value: float | None
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    high: float | None
    # None of a score.
    measure: Measure | None
    min_effect: float = 0.0
    # A metric with only the scores 0 and 1: its mean is its pass rate.
    binary: bool = False
    newly_failing: int | None = None
    newly_passing: int | None = None
    worst_case: float | None = None
    pass_worst_case: float | None = None
    mde: float | None = None
    shrunk: float | None = None
    judged: bool = True
    # The numbers and the verdict of the mean, whatever decided.
    means: tuple[float | None, ...] = ()
    score_verdict: str | None = None
    # When a series changed.
    began: datetime | None = None

    @property
    def name(self) -> str:
        """The metric with the component, where that is not its mean."""
        if self.part == "mean" or self.binary:
            return self.metric
        return f"{self.metric} ({self.part})"

    @property
    def is_rate(self) -> bool:
        """Whether the numbers are shares of items."""
        return self.binary or self.part == "pass rate"

    @property
    def is_score(self) -> bool:
        """Whether this is a metric, not a measure or a share of answers."""
        return self.measure is None

    @property
    def has_unit(self) -> bool:
        """Whether the numbers have the unit of a measure: they are no scores and no shares."""
        return self.measure is not None and not self.measure.share

    @property
    def sign(self) -> int:
        """1 if more is better, else −1."""
        return 1 if self.measure is None else self.measure.sign

    def drawn(self, *, relative: bool = False) -> tuple[float | None, float | None, float | None]:
        """Return value and interval, better to the right; relative ones as parts of the baseline."""
        part = self.sign / (abs(self.before or 0.0) or 1.0 if relative else 1.0)
        numbers = (self.difference, self.low, self.high)
        value, low, high = (None if one is None else one * part for one in numbers)
        return (value, high, low) if part < 0 else (value, low, high)

    @property
    def likely_gain(self) -> float:
        """The gain by which rows are sorted: of a slice, what is left of it without chance."""
        kept = self.difference if self.shrunk is None or self.part != "mean" else self.shrunk
        return (kept or 0.0) * self.sign

    @property
    def weight(self) -> float:
        """How far the row moved, in parts of the smallest change that matters: units differ."""
        size = abs(self.likely_gain)
        return size / self.min_effect if self.min_effect > 0 else size

    @property
    def moved(self) -> bool:
        """Whether the row got worse or better."""
        return self.verdict in MOVED

    @property
    def of_mean(self) -> Row:
        """The same row with the numbers of its mean, where the mean alone gives the same verdict."""
        if self.part != "pass rate" or self.score_verdict != self.verdict:
            return self
        before, after, difference, low, high = self.means
        return replace(
            self, part="mean", before=before, after=after, difference=difference, low=low, high=high
        )

    def level(self, value: float | None) -> str:
        """Write a value."""
        if value is None:
            return "–"
        if self.is_rate:
            return percent(value)
        return score(value) if self.measure is None else amount(self.measure, value)

    @property
    def levels(self) -> str:
        """What was and what is."""
        known = self.before is not None or self.after is not None
        return f"{self.level(self.before)} → {self.level(self.after)}" if known else "–"

    def change(self, value: float | None, digits: int | None = None) -> str:
        """Write a difference or an end of its interval, with its sign."""
        if value is None:
            return "–"
        if self.measure is None or self.is_rate:
            return signed(value, digits_for(self.low, self.high) if digits is None else digits)
        return amount(self.measure, value, sign=True)

    @property
    def interval(self) -> str:
        """The interval in words."""
        return "" if self.low is None else f"{self.change(self.low)} to {self.change(self.high)}"


def series_of(timeline: Timeline) -> list[Row]:
    """Return the series of a timeline, what moved first, the worst first, scores before measures."""
    from polars_evals.drift.timeline import deciding

    measures = measures_of(timeline.settings["measures"])
    columns = {"before": "reference_mean", "after": "current_mean", "low": "ci_low", "high": "ci_high"}
    same = ("metric", "slice", "by", "value", "verdict", "reason", "n", "q_value", "difference", "began")
    rows = [
        Row(
            **{name: one[name] for name in same},
            **{name: one[column] for name, column in columns.items()},
            candidate=one["version"] or "",
            part=one["part"].replace("_", " "),
            measure=measures.get(one["metric"]),
        )
        for one in map(deciding, timeline.summary.iter_rows(named=True))
    ]
    # Units differ: measures are sorted by themselves.
    return sorted(
        rows,
        key=lambda row: (
            *(not row.moved, ORDER.index(row.verdict), not row.is_score, row.slice is not None),
            -abs(row.difference or 0.0),
        ),
    )


def is_series(metric: str, version: str | None, part: str | None) -> pl.Expr:
    """Choose the rows or windows of one series of a timeline."""
    named = {"metric": metric, "version": version, "slice": part}
    return pl.all_horizontal(
        pl.col(name).eq_missing(pl.lit(value, dtype=pl.String)) for name, value in named.items()
    )


def rows_of(comparison: Comparison) -> list[Row]:
    """Return the rows of a comparison, all items first."""
    frame = pl.concat([comparison.summary, comparison.slices], how="diagonal_relaxed")
    quantiles = _worst_quantiles(comparison)
    return [_row(one, comparison, quantiles) for one in frame.iter_rows(named=True)]


def bins_of(comparison: Comparison, metric: str, candidate: str) -> pl.DataFrame:
    """Return the bins of a metric's scores: `low`, `high`, and the share of answers `before` and `after`."""
    rows = comparison.distributions.filter(pl.col("metric") == metric, pl.col("candidate") == candidate)
    is_before = pl.col("version") == comparison.spec.baseline
    before, after = (rows.filter(one).sort("bin_low") for one in (is_before, ~is_before))
    return before.select(low="bin_low", high="bin_high", before="share").with_columns(after=after["share"])


def _worst_quantiles(comparison: Comparison) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the quantile that moved most clearly in the direction of each row's verdict."""
    if comparison.measures.is_empty():
        return {}
    moved = comparison.measures.filter(pl.col("statistic") != "mean", pl.col("verdict").is_in(list(MOVED)))
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in moved.sort("p_value", maintain_order=True, nulls_last=True).iter_rows(named=True):
        found.setdefault((one["candidate"], one["metric"], one["slice"], one["verdict"]), one)
    return found


_MEANS = ("baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high")
_RATES = (
    "baseline_pass_rate", "candidate_pass_rate", "pass_rate_difference", "pass_ci_low", "pass_ci_high",
)  # fmt: skip
# Columns that are shown as they are, where they are there.
_PLAIN = (
    "by", "value", "q_value", "newly_failing", "newly_passing", "worst_case", "pass_worst_case", "mde",
    "score_verdict",
)  # fmt: skip


def _row(
    one: dict[str, Any], comparison: Comparison, quantiles: dict[tuple[Any, ...], dict[str, Any]]
) -> Row:
    measure = comparison.spec.measure(one["metric"])
    share = measure is not None and measure.share
    binary = share or _pass_or_fail(one)
    part, numbers, verdict = "mean", _MEANS, one["verdict"]
    quantile = quantiles.get((one["candidate"], one["metric"], one["slice"], verdict))
    if quantile is not None and one["score_verdict"] != verdict:
        part = str(quantile["statistic"])
        one = one | {key: quantile[key] for key in ("difference", "ci_low", "ci_high", "min_effect")}
        one |= {"baseline_mean": quantile["baseline_value"], "candidate_mean": quantile["candidate_value"]}
    # What is unclear is described by its mean.
    elif "pass" in one["decided_by"] and verdict in MOVED and not binary:
        part, numbers = "pass rate", _RATES
    before, after, difference, low, high = (one[name] for name in numbers)
    return Row(
        **{name: one[name] for name in _PLAIN},
        # Slices are shrunk by their means.
        shrunk=one["shrunk"] if part == "mean" else None,
        candidate=one["candidate"], metric=one["metric"], slice=one["slice"], n=one["n"], part=part,
        verdict=verdict, reason=one["reason"] or "", before=before, after=after,
        difference=difference, low=low, high=high, min_effect=one["min_effect"] or 0.0,
        measure=measure, binary=binary, judged=one["se"] is not None,
        means=tuple(one[name] for name in _MEANS),
    )  # fmt: skip


def _pass_or_fail(one: dict[str, Any]) -> bool:
    pairs = ((one[f"{side}_mean"], one[f"{side}_pass_rate"]) for side in ("baseline", "candidate"))
    return all(a is not None and b is not None and abs(a - b) < _NEGLIGIBLE for a, b in pairs)


def digits_of(rows: Iterable[Row]) -> int | None:
    """Return how many digits the changes of one column deserve: those of the narrowest interval."""
    known = [row for row in rows if row.low is not None and (row.measure is None or row.is_rate)]
    return max((digits_for(row.low, row.high) for row in known), default=None)


def by_importance(rows: Iterable[Row]) -> list[Row]:
    """Return rows in the order of reading: what moved first, the largest change first, all items first."""
    return sorted(rows, key=lambda row: (not row.moved, row.slice is not None, -row.weight))


def count_verdicts(rows: Iterable[Row]) -> list[str]:
    """Count the rows of each verdict, in words."""
    verdicts = [row.verdict for row in rows]
    return [f"{verdicts.count(kind):,} {word}" for kind, word in WORDS.items() if kind in verdicts]


def outcome_name(metric: str) -> str:
    """Return what a share of answers is called."""
    return _OUTCOMES.get(metric, metric)


@dataclass(frozen=True)
class Table:
    """A table to show: the texts of each column by its head, and which columns are numbers."""

    title: str
    columns: dict[str, list[str]]
    numeric: set[str]

    @classmethod
    def of(cls, rows: Sequence[Any], title: str = "", columns: _Columns | None = None) -> Table:
        """Make a table of mappings, or of columns of any rows; all but texts are numbers."""
        if columns is None:
            columns = {head: head for head in rows[0]} if rows else {}
        values = {
            head: [row[of] for row in rows] if isinstance(of, str) else [of(row) for row in rows]
            for head, of in columns.items()
            if of is not None
        }
        numeric = {head for head, column in values.items() if all(map(_is_number, column))}
        return cls(title, {head: list(map(_text, column)) for head, column in values.items()}, numeric)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows."""
        return list(zip(*self.columns.values(), strict=True))


def _is_number(value: Any) -> bool:
    return not isinstance(value, str) or value[:1] in "+−–$€£" or value[:1].isdigit()


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if isinstance(value, float):
        return f"{value:.4g}" if 0 < abs(value) < 0.001 else score(value)
    return day(value) if hasattr(value, "isoformat") else str(value)


def compared(
    rows: Sequence[Row],
    title: str = "",
    *,
    versions: bool = False,
    intervals: bool = True,
    over_time: bool = False,
) -> Table:
    """Return the table of rows: verdict, difference and interval of what decided."""
    head = places_of(rows)
    digits = digits_of(rows)
    return Table.of(
        rows,
        title,
        {
            "version": (lambda row: row.candidate or "–") if versions else None,
            "metric": lambda row: row.name,
            head: (lambda row: place_of(row, head)) if head else None,
            "verdict": lambda row: row.verdict.replace("_", " "),
            "difference": lambda row: row.change(row.difference, digits),
            "low": (lambda row: row.change(row.low, digits)) if intervals else None,
            "high": (lambda row: row.change(row.high, digits)) if intervals else None,
            f"before → {'now' if over_time else 'after'}": lambda row: row.levels,
            "since": (lambda row: row.began) if over_time else None,
            "rows" if over_time else "items": lambda row: row.n,
        },
    )


def places_of(rows: Iterable[Row]) -> str:
    """Return the head of a column of slices, empty without slices: one column of slices gives its name."""
    columns = {row.by for row in rows if row.by is not None}
    return "" if not columns else columns.pop() if len(columns) == 1 and not columns & HEADS else "slice"


def place_of(row: Row, head: str) -> str:
    """Return the name of a slice under a head that may say its column."""
    if row.slice is None:
        return "all items"
    return row.slice if head == "slice" or row.value is None else row.value


def tables_of(result: Result) -> list[Table]:
    """Return the tables of any result but a comparison, most important first."""
    makers: dict[str, Callable[[Any], list[Table]]] = {
        "Agreement": _agreement, "Calibration": _calibration, "Ranking": _ranking, "Runs": _runs,
        "SamplePlan": _plan, "Timeline": _timeline,
    }  # fmt: skip
    return [table for table in makers[type(result).__name__](result) if table.rows]


def is_comparison(result: Result) -> TypeGuard[Comparison]:
    """Say whether a result is a comparison.

    Results are known by the names of their classes: `polars-evals score` shows a table, and should not wait
    for the import of everything that compares.
    """
    return type(result).__name__ == "Comparison"


def _timeline(result: Timeline) -> list[Table]:
    rows = series_of(result)
    return [compared(rows, "series", versions=any(row.candidate for row in rows), over_time=True)]


def _places(row: dict[str, Any]) -> str:
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low}–{high}"


def _ranking(result: Ranking) -> list[Table]:
    metric = "metric" if result.summary["metric"].n_unique() > 1 else None
    board: _Columns = {
        "metric": metric,
        "rank": _places,
        "version": "version",
        "mean": "mean",
        "low": "ci_low",
        "high": "ci_high",
        "best": lambda row: percent(row["p_best"]),
        "items": "n",
    }
    pairs: _Columns = {
        "metric": metric,
        "versions": lambda row: f"{row['b']} − {row['a']}",
        "difference": lambda row: signed(row["difference"]),
        "low": lambda row: signed(row["ci_low"]),
        "high": lambda row: signed(row["ci_high"]),
        "q": "q_value",
    }
    return [
        Table.of(result.summary.to_dicts(), "leaderboard", board),
        Table.of(result.pairs.sort("q_value").to_dicts(), "pairs", pairs),
    ]


def _calibration(result: Calibration) -> list[Table]:
    names = [name for name in ("precision", "recall", "f1", "kappa", "accuracy") if name in result.summary]
    thresholds: _Columns = {
        "metric": "metric",
        "verdict": "verdict",
        "threshold": lambda row: f"{row['threshold']:g}",
        "low": lambda row: f"{row['threshold_ci_low']:g}",
        "high": lambda row: f"{row['threshold_ci_high']:g}",
        **{name: name for name in names},
        "items": "n",
    }
    shown = Table.of(result.summary.to_dicts(), "thresholds", thresholds)
    return [shown, Table.of(result.pairs.to_dicts(), "pairs")]


def _plan(result: SamplePlan) -> list[Table]:
    shown = result.summary if result.summary["metric"].count() else result.summary.drop("metric")
    # Effects are what was asked for, in the digits in which it was.
    rows = [
        {key: f"{value:g}" if isinstance(value, float) else value for key, value in row.items()}
        for row in shown.drop("power", strict=False).to_dicts()
    ]
    return [Table.of(rows, "items needed")]


def _runs(result: Runs) -> list[Table]:
    def interval(row: dict[str, Any], of: str) -> str:
        return f"{percent(row[f'{of}ci_low'], 1)} to {percent(row[f'{of}ci_high'], 1)}"

    passes: _Columns = {
        "version": "version",
        "metric": "metric",
        "k": "k",
        "any of k passes": lambda row: percent(row["pass_at_k"], 1),
        "interval": lambda row: interval(row, ""),
        "all of k pass": lambda row: percent(row["pass_all_k"], 1),
        "interval ": lambda row: interval(row, "all_"),
        "items": "n",
    }
    return [
        Table.of(result.summary.to_dicts(), "passes", passes),
        Table.of(result.variance.to_dicts(), "variance"),
        Table.of(result.items.to_dicts(), "flaky items"),
    ]


def _agreement(result: Agreement) -> list[Table]:
    pairs = result.pairs.to_dicts() if len(result.settings["raters"]) > 2 else []
    return [
        Table.of(result.summary.to_dicts(), "agreement"),
        Table.of(result.pass_rate.to_dicts(), "pass rate of all items"),
        Table.of(pairs, "pairs of raters"),
    ]
