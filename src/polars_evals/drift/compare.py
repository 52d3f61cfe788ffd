"""Compare versions: pair, estimate, test, correct, judge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift.columns import as_text, flat, item_key
from polars_evals.drift.comparison import Comparison
from polars_evals.drift.flips import changed_labels, gather_flips, without_pair
from polars_evals.drift.histogram import histogram
from polars_evals.drift.inference import column, floats, testing
from polars_evals.drift.inference.decide import judge
from polars_evals.drift.inference.intervals import wilson
from polars_evals.drift.inference.measure import IDENTITY, measure
from polars_evals.drift.inference.quantiles import empty_statistics, statistics
from polars_evals.drift.measures import judge_quantiles, measures_frame, of_quantiles, with_quantiles
from polars_evals.drift.pair import measured, pair
from polars_evals.drift.read import read
from polars_evals.drift.slices import Search, search_slices
from polars_evals.drift.spec import ComparisonSpec, with_slices
from polars_evals.wording import have

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.pair import Observations
    from polars_evals.drift.read import Scores
    from polars_evals.drift.spec import ResolvedSpec, SomeBy, SomeMeasures, Unanswered

SUMMARY = [
    "candidate", "metric", "n", "n_baseline_only", "n_candidate_only", "clusters", "paired", "baseline_mean",
    "candidate_mean", "difference", "se", "ci_low", "ci_high", "correlation", "p_value", "q_value",
    "p_permutation", "baseline_pass_rate", "candidate_pass_rate", "pass_rate_difference", "pass_ci_low",
    "pass_ci_high", "pass_p_value", "pass_q_value", "pass_p_permutation", "newly_failing", "newly_passing",
    "p_mcnemar", "ks", "psi", "psi_chance", "mde", "n_needed", "sequential_low", "sequential_high",
    "p_sequential", "sequential_verdict", "min_effect", "score_verdict", "pass_verdict", "not_worse",
    "verdict", "reason",
]  # fmt: skip
SLICES = [*IDENTITY, *SUMMARY[2:]]


def compare(
    scored: Frame,
    *,
    version: str,
    baseline: Any,
    candidate: Any = None,
    item: str | None = None,
    cluster: str | None = None,
    by: SomeBy = None,
    metrics: Sequence[str] | str | None = None,
    measures: SomeMeasures = None,
    min_effect: float = 0.01,
    alpha: float = 0.05,
    margin: float | None = None,
    unanswered: Unanswered = "auto",
    seed: int = 0,
    max_flips: int | None = 10_000,
) -> Comparison:
    """
    Compare the scores of model versions with those of a baseline.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column ``<name>_score`` for each metric, and ``<name>_label``
        (``"fail"`` or ``"pass"``) where pass rates are wanted. A LazyFrame is read for its scores once, and
        once more for the texts of the flips.
    version
        Column that tells the versions apart.
    baseline
        The version to compare with.
    candidate
        The version to judge, or a list, set or Series of them; None for every other version in the frame.
    item
        Column that names the test case, to pair the versions on. Repeats of an item in a version are
        averaged. None compares without pairs, which sees far less.
    cluster
        Column that groups items which are not independent, such as the conversation, document or user. An
        item without a cluster counts as a cluster of its own.
    by
        Columns or expressions to slice by, one row for each value; a pair in the list is sliced by both, as
        in ``["topic", ("topic", "language")]``. An expression needs a name of its own:
        ``(pl.col("input").str.len_chars() > 1000).alias("long")``. The flips show these columns too.
        ``"auto"`` searches the columns with few values, and their pairs, for slices that moved differently
        from the rest.
    metrics
        Names of the metrics; None for every ``<name>_score`` column.
    measures
        Columns of numbers to compare beside the scores, such as latency and cost. Names of what traces have
        (``["latency_ms", "cost", "input_tokens", "output_tokens"]``), ``"auto"`` for those that are there, or
        any column with its direction: ``{"retries": {"lower_is_better": True}}``. `Measure` has the other
        options. Each is a row of `summary`; its quantiles and ratios are in `Comparison.measures`.
    min_effect
        The smallest difference in mean score that matters. A measure has its own.
    alpha
        Level of the intervals and of the corrected tests.
    margin
        How much worse a candidate may be and still count as not worse; `summary` then says so in
        ``not_worse``: ``yes``, ``no`` or ``unknown``. A measure has its own.
    unanswered
        ``"apart"``: a row with an ``error``, or without an ``output``, is no wrong answer. It is left out of
        the scores and counts in the row ``answered``. ``"wrong"`` keeps the score that it has. ``"auto"``
        sets it apart where the frame has ``error`` or ``finish_reason``, as traces do.
    seed
        Fixes the random signs of the permutation test.
    max_flips
        How many flips to keep for each candidate and metric, the greatest loss first; None for all. The
        counts in `summary` are always those of all.

    Returns
    -------
    Comparison
        With frames `summary`, `slices`, `measures`, `flips`, `unmatched`, `pass_rates`, `distributions`, and
        a `verdict`.

    Notes
    -----
    Rows without a version, item or score are counted and reported, never dropped silently. A column
    ``<name>_signature``, where there is one, must have one value over all compared rows: scores that were not
    made in the same way are refused.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_evals as pe
    >>> scored = pl.DataFrame(
    ...     {
    ...         "case_id": [*range(12), *range(12)],
    ...         "model": ["v1"] * 12 + ["v2"] * 12,
    ...         "levenshtein_score": [0.9, 0.8, 1.0, 0.7] * 3 + [0.5, 0.3, 0.6, 0.4] * 3,
    ...     }
    ... )
    >>> comparison = pe.compare(scored, version="model", baseline="v1", item="case_id")
    >>> comparison.verdict
    'regressed'
    >>> comparison.summary.select("candidate", "metric", "n", pl.col("difference").round(3), "verdict")
    shape: (1, 5)
    ┌───────────┬─────────────┬─────┬────────────┬───────────┐
    │ candidate ┆ metric      ┆ n   ┆ difference ┆ verdict   │
    │ ---       ┆ ---         ┆ --- ┆ ---        ┆ ---       │
    │ str       ┆ str         ┆ i64 ┆ f64        ┆ enum      │
    ╞═══════════╪═════════════╪═════╪════════════╪═══════════╡
    │ v2        ┆ levenshtein ┆ 12  ┆ -0.4       ┆ regressed │
    └───────────┴─────────────┴─────┴────────────┴───────────┘
    """
    table, names = with_slices(scored, by)
    spec = ComparisonSpec(
        version=version, baseline=baseline, candidate=candidate, item=item, cluster=cluster, by=names,
        metrics=metrics, measures=measures, min_effect=min_effect, alpha=alpha, margin=margin,
        unanswered=unanswered, seed=seed, max_flips=max_flips,
    )  # fmt: skip
    return compare_spec(table, spec)


def compare_spec(scored: Frame, spec: ComparisonSpec) -> Comparison:
    """
    Compare as a specification says.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame, as for `compare`.
    spec
        What to compare. `Comparison.spec` is one, so that a comparison can be repeated on other rows.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_evals.drift import ComparisonSpec, compare_spec
    >>> scores = {"a_score": [0.9, 0.8, 1.0] * 4 + [0.5, 0.3, 0.6] * 4}
    >>> models = {"case_id": [*range(12), *range(12)], "model": ["v1"] * 12 + ["v2"] * 12}
    >>> scored = pl.DataFrame(models | scores)
    >>> spec = ComparisonSpec(version="model", baseline="v1", item="case_id", alpha=0.01)
    >>> compare_spec(scored, spec).headline
    'regressed: v2 against v1'
    """
    scores = read(scored, spec)
    parts = [estimate(pair(scores.rows, scores.spec, one), scores) for one in scores.spec.candidates]
    return replace(conclude(scores.spec, gather(parts, scores)), table=scores.table)


@dataclass(frozen=True)
class Estimates:
    """
    What is known before anything is tested.

    Attributes
    ----------
    rows
        What `measure` gives, a row for each candidate, metric and slice.
    flips, unmatched, distributions
        The frames of a `Comparison`.
    only_runs
        How many rows of the baseline have no other run to be scored against.
    also_tried
        The p-values of slices that a search tried and does not list; they count in the correction.
    searches
        The slices of a metric that a search is to choose from.
    statistics
        Means, quantiles and ratios of measures.
    """

    rows: pl.DataFrame
    flips: pl.DataFrame
    unmatched: pl.DataFrame
    distributions: pl.DataFrame
    notes: Sequence[str] = ()
    only_runs: int = 0
    also_tried: Floats = field(default_factory=lambda: np.array([], dtype=np.float64))
    searches: Sequence[Search] = ()
    statistics: pl.DataFrame = field(default_factory=empty_statistics)


def estimate(pairs: Observations, scores: Scores) -> Estimates:
    """Measure each metric of one candidate, over all items and by slice, and find the items behind it."""
    spec = scores.spec
    names = measured(scores.rows, spec)
    searches = [Search(pairs, name, scores.traits) for name in names] if spec.automatic else []
    return Estimates(
        rows=pl.concat(
            measure(pairs, metric=name, by=group, seed=spec.seed)
            for name in names
            for group in [(), *spec.slices]
        ),
        flips=changed_labels(pairs, metrics=spec.metrics, most=spec.max_flips, by=spec.traits),
        unmatched=without_pair(pairs, metrics=spec.metrics),
        distributions=pl.concat(histogram(pairs, baseline=spec.baseline, metric=name) for name in names),
        searches=searches,
        statistics=pl.concat(
            [
                empty_statistics(),
                *(
                    statistics(pairs, one, group, alpha=spec.alpha)
                    for one in spec.measures.values()
                    for group in [(), *spec.slices]
                ),
            ]
        ),
    )


def gather(parts: Sequence[Estimates], scores: Scores) -> Estimates:
    """Put the candidates below each other, with the slices that a search lists and the texts of the flips."""
    spec, schema = scores.spec, scores.table.collect_schema()
    rows, notes = pl.concat(part.rows for part in parts), scores.notes
    also_tried = np.array([], dtype=np.float64)
    if spec.automatic:
        searches = [search for part in parts for search in part.searches]
        found, also_tried, note = search_slices(rows, searches, scores.traits, spec)
        rows, notes = pl.concat([rows, *found]), [*notes, note]
    flips = gather_flips(
        [part.flips for part in parts],
        scores.table,
        schema,
        item=None if spec.item is None else item_key(schema, spec.item),
        version=as_text(schema, spec.version),
        baseline=spec.baseline,
        by=spec.traits,
    )
    return Estimates(
        rows=rows,
        flips=flips,
        unmatched=pl.concat(part.unmatched for part in parts),
        distributions=pl.concat(part.distributions for part in parts),
        notes=notes,
        only_runs=scores.only_runs,
        also_tried=also_tried,
        statistics=pl.concat(part.statistics for part in parts),
    )


def conclude(spec: ResolvedSpec, estimates: Estimates) -> Comparison:
    """Test, correct and judge what was estimated."""
    tested = testing.test(estimates.rows, spec)
    found = estimates.statistics
    others = [floats(found.filter(of_quantiles())["p_value"]), estimates.also_tried]
    corrected, q = testing.correct_all(tested, np.concatenate(others))
    judged = judge(corrected, spec, only_runs=estimates.only_runs)
    quantiles = judge_quantiles(found, q[: len(others[0])], spec)
    judged = with_quantiles(judged, quantiles, spec)
    sliced = pl.col("slice").is_not_null()
    return Comparison(
        summary=judged.filter(~sliced).select(SUMMARY),
        slices=flat(judged.filter(sliced).select(SLICES)),
        measures=measures_frame(found, quantiles, judged, spec),
        flips=estimates.flips,
        unmatched=estimates.unmatched,
        pass_rates=_pass_rates(judged, spec),
        distributions=estimates.distributions,
        notes=(*estimates.notes, *_repeats(judged)),
        spec=spec,
    )


def _repeats(judged: pl.DataFrame) -> list[str]:
    """Say that items were asked more than once."""
    most = judged["repeated"].max()
    if not isinstance(most, int) or not most:
        return []
    return [
        f"{have(most, 'item')} several rows in a version: they are averaged, and "
        "an item flips only where most of its rows do"
    ]


def _pass_rates(judged: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """Return each version's pass rate with Wilson's interval, a row for each row and version judged."""
    sides = []
    for side in ("baseline", "candidate"):
        n, rate = floats(judged[f"{side}_labels"]), floats(judged[f"{side}_pass_rate"])
        low, high = wilson(rate * n, n, spec.alpha)
        sides.append(
            judged.select(
                *IDENTITY,
                (pl.lit(spec.baseline) if side == "baseline" else pl.col("candidate")).alias("version"),
                pl.col(f"{side}_labels").alias("n"),
                pl.col(f"{side}_pass_rate").alias("pass_rate"),
                column("ci_low", low),
                column("ci_high", high),
            )
        )
    return flat(pl.concat(sides).filter(pl.col("n") > 0))
