"""Compare versions: pair, estimate, test, correct, judge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift.columns import flat
from polars_evals.drift.comparison import Comparison
from polars_evals.drift.components import PEOPLE_COLUMNS, confusion, describe_classes, describe_labels
from polars_evals.drift.inference import column, floats
from polars_evals.drift.inference.corrections import SHRUNK_COLUMNS, with_shrunk
from polars_evals.drift.inference.decide import adjust_p_values, decide, summarize, test
from polars_evals.drift.inference.estimate import IDENTITY, Estimates
from polars_evals.drift.inference.intervals import welch_p, wilson
from polars_evals.drift.inference.shape import histogram
from polars_evals.drift.items import without_pair
from polars_evals.drift.labels import PEOPLE_LABEL, join_labels
from polars_evals.drift.pair import names_in, pair
from polars_evals.drift.read import read
from polars_evals.drift.slices import Search, search_slices
from polars_evals.drift.spec import ComparisonSpec, with_slices
from polars_evals.suite.measure import Measures
from polars_evals.wording import have, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.pair import Observations
    from polars_evals.drift.spec import ResolvedSpec, SomeAggregates, SomeBy, SomeMeasures, Unanswered

SUMMARY = [
    "candidate", "metric", "n", "n_baseline_only", "n_candidate_only", "clusters", "paired", "baseline_mean",
    "candidate_mean", "difference", "se", "ci_low", "ci_high", "worst_case", "correlation", "p_value",
    "q_value", "p_permutation", "baseline_pass_rate", "candidate_pass_rate", "pass_rate_difference",
    "pass_ci_low", "pass_ci_high", "pass_worst_case", "pass_p_value", "pass_q_value", "pass_p_permutation",
    "newly_failing", "newly_passing", "p_mcnemar", "ks", "psi", "psi_chance", "mde", "n_needed",
    "sequential_low", "sequential_high", "p_sequential", "sequential_verdict", "min_effect", "score_verdict",
    "pass_verdict", "decided_by", "not_worse", "verdict", "reason",
]  # fmt: skip
SLICES = [*IDENTITY, *SUMMARY[2:], *SHRUNK_COLUMNS]
# What is kept of a judge alone, where labels correct it.
JUDGED = ["baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high", "verdict"]
JUDGE = [f"judge_{name}" for name in JUDGED]
COMPONENTS = [
    *IDENTITY, "component", "quantile", "n", "baseline_value", "candidate_value", "difference", "se",
    "ci_low", "ci_high", "worst_case", "best_case", "p_value", "p_test", "q_value", "p_family",
    "p_permutation", "sequential_low", "sequential_high", "sequential_worst_case", "sequential_best_case",
    "p_sequential", "min_effect", "same",
    "sequential_verdict", "verdict",
]  # fmt: skip
DISTRIBUTIONS = {
    **dict.fromkeys(("candidate", "metric", "version"), pl.String), "bin_low": pl.Float64,
    "bin_high": pl.Float64, "count": pl.Int64, "share": pl.Float64,
}  # fmt: skip
MEASURES = [
    *IDENTITY, "statistic", "quantile", "n", "baseline_value", "candidate_value", "difference", "ci_low",
    "ci_high", "ratio", "ratio_low", "ratio_high", "min_effect", "p_value", "q_value", "unit",
    "lower_is_better", "verdict",
]  # fmt: skip


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
    aggregates: SomeAggregates = None,
    truth: str | Mapping[str, str] | Frame | None = None,
    adjust: str | Sequence[str] | None = None,
    min_effect: float = 0.01,
    alpha: float = 0.05,
    margin: float | None = None,
    unanswered: Unanswered = "auto",
    seed: int = 0,
) -> Comparison:
    """
    Compare the scores of model versions with those of a baseline.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column `<name>_score` for each metric, and `<name>_label` (`"fail"`
        or `"pass"`) for pass rates. A LazyFrame is read once for its scores, and again when you use `items`
        or `flips`.
    version
        Column of the version.
    baseline
        The version to compare with.
    candidate
        The version to judge, or a list, set or Series of versions; None for every other version in the
        frame.
    item
        Column that identifies the test case. Versions are paired by it. Repeats of an item in a version are
        averaged. None compares without pairs, which detects much less.
    cluster
        Column of groups of items that are not independent, such as the conversation, document or user. An
        item without a cluster is a cluster of its own.
    by
        Columns or expressions to slice by, one row for each value; a pair in the list is sliced by both, as
        in `["topic", ("topic", "language")]`. An expression needs a name:
        `(pl.col("input").str.len_chars() > 1000).alias("long")`. The items show these columns too. `"auto"`
        searches the columns with few values, and their pairs, for slices that changed differently from the
        rest.
    metrics
        Names of the metrics; None for every `<name>_score` column.
    measures
        Columns of numbers to compare beside the scores, such as latency and cost. Names of columns of traces
        (`["latency_ms", "cost", "input_tokens", "output_tokens"]`), `"auto"` for those that exist, or any
        column with its direction: `{"retries": {"lower_is_better": True}}`. `Measure` has the other options.
        Each is a row of `summary`; its quantiles and ratios are in `Comparison.measures`.
    aggregates
        Statistics of all items beside the means, such as `["macro_f1", "corpus_bleu"]`, or `Aggregate`s.
        Each is a row of `summary` like a mean. None takes those that the suite scored.
    truth
        People's labels of some rows, which correct the scores of a judge on all rows: a column (null where
        nobody rated), a mapping from metric to column, or a frame of `read_labels`. Labels are Booleans,
        `pass` and `fail`, or numbers in the range of the scores. A column `weight` beside them, as
        `sample_items` makes it, is used. The metric's row is the corrected one. The `judge_…` columns have
        the estimate of the judge alone, the `people_…` columns that of the labels alone.
    adjust
        Columns of strata, for versions that are not paired. The candidate's rows are weighted to the
        baseline's mix, so that different traffic does not look like a regression.
    min_effect
        The smallest difference in mean score that matters. A measure has its own.
    alpha
        Level of the intervals and of the corrected tests.
    margin
        The largest loss that still counts as not worse. It fills the column `not_worse` of `summary` with
        `yes`, `no` or `unknown`. A measure has its own.
    unanswered
        How to treat rows with an `error` or without an `output`. `"apart"` leaves them out of the scores and
        counts them in the row `answered`. `"wrong"` keeps their scores. `"auto"` is `"apart"` if the frame
        has a column `error` or `finish_reason`, as traces do.
    seed
        Fixes the random signs of the permutation test.

    Returns
    -------
    Comparison
        With frames `summary`, `slices`, `measures`, `flips`, `unmatched`, `pass_rates`, `distributions`, and
        a `verdict`.

    Notes
    -----
    Rows without a version, item or score are counted and reported, never dropped silently. A column
    `<name>_signature`, if present, must have one value in all compared rows. Otherwise the scores were made
    in different ways, and `compare` raises an error.

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
    if isinstance(truth, pl.DataFrame | pl.LazyFrame):
        table, truth = join_labels(table, truth, version=version, item=item), PEOPLE_LABEL
    spec = ComparisonSpec(
        version=version, baseline=baseline, candidate=candidate, item=item, cluster=cluster, by=names,
        metrics=metrics, measures=measures, aggregates=aggregates, truth=truth, adjust=adjust,
        min_effect=min_effect, alpha=alpha, margin=margin,
        unanswered=unanswered, seed=seed,
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
    'v2 against v1: overall worse: 0.900 → 0.467 (−0.43).'
    """
    scores = read(scored, spec)
    resolved = scores.spec
    estimates = Estimates(resolved)
    unmatched, searches = [], []
    absent: list[str] = []
    distributions: list[dict[str, Any]] = []
    for candidate in resolved.candidates:
        pairs = pair(scores.rows, resolved, candidate)
        slicings = [pairs.slicing(), *(pairs.slicing(by) for by in resolved.slices)]
        names = names_in(scores.rows, resolved)
        for name in (*names, *resolved.aggregate_names):
            for slicing in slicings:
                estimates.add(pairs, name, slicing)
        for name in names:
            known = scores.rows.select("version", pl.col(f"{name}:score")).drop_nulls()
            spread = histogram(
                {
                    one: floats(known.filter(pl.col("version") == one)[f"{name}:score"])
                    for one in (resolved.baseline, candidate)
                }
            )
            distributions += [{"candidate": candidate, "metric": name} | one for one in spread]
        if resolved.automatic:
            searches += [Search(pairs, name, scores.traits) for name in names]
        unmatched.append(without_pair(pairs, metrics=resolved.metrics))
        absent += _describe_absent(pairs, resolved)
    also_tried, notes = None, [*scores.notes, *absent]
    if resolved.automatic:
        also_tried, note = search_slices(estimates, searches, scores.traits)
        notes.append(note)
    found, judged = _decide(estimates, also_tried, only_runs=scores.only_runs)
    judged = with_shrunk(judged, resolved.alpha)
    summary, slices = SUMMARY, SLICES
    if resolved.truths:
        alone = _judge_alone(scored, resolved)
        judged = judged.join(
            alone, on=["candidate", "metric", "slice"], how="left", nulls_equal=True, maintain_order="left"
        )
        summary, slices = [*SUMMARY, *JUDGE, *PEOPLE_COLUMNS], [*SLICES, *JUDGE, *PEOPLE_COLUMNS]
        notes += [*describe_labels(judged, resolved), *estimates.notes]
    classes = confusion(scores.rows, resolved)
    notes += describe_classes(classes)
    sliced = pl.col("slice").is_not_null()
    return Comparison(
        summary=judged.filter(~sliced).select(summary),
        slices=flat(judged.filter(sliced).select(slices)),
        measures=_measures(found, resolved),
        components=flat(found.select(COMPONENTS)),
        unmatched=pl.concat(unmatched),
        pass_rates=_pass_rates(judged, resolved),
        distributions=pl.DataFrame(distributions, schema=DISTRIBUTIONS),
        confusion=classes,
        notes=(*notes, *_repeats(judged)),
        spec=resolved,
        table=scores.table,
    )


def _decide(
    estimates: Estimates, also_tried: Floats | None, *, only_runs: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Test, correct and decide, and return the components and a row for all of each row."""
    spec, (rows, facts) = estimates.spec, estimates.frames()
    decided = decide(adjust_p_values(test(rows, facts, spec), spec, also_tried), facts, spec)
    return decided, summarize(decided, facts, spec, only_runs=only_runs)


def _judge_alone(scored: Frame, spec: ResolvedSpec) -> pl.DataFrame:
    """Return what the judge says without labels."""
    plain = replace(
        spec, metrics=tuple(spec.truths), measures=Measures(), aggregates=(), truth=None,
    )  # fmt: skip
    alone = compare_spec(scored, plain)
    keys = ["candidate", "metric", "slice"]
    whole = alone.summary.with_columns(slice=pl.lit(None, dtype=pl.String))
    rows = pl.concat([one.select(*keys, *JUDGED) for one in (whole, alone.slices)])
    return rows.rename({name: f"judge_{name}" for name in JUDGED})


def _measures(components: pl.DataFrame, spec: ResolvedSpec) -> pl.DataFrame:
    """Return a row for each measure, slice and statistic: values, difference, ratio, unit and verdict."""
    rows = components.filter(pl.col("metric").is_in(list(spec.measures)), pl.col("n") > 0)
    about = (
        pl.col("metric").replace_strict(
            {name: getattr(one, key) for name, one in spec.measures.items()}, return_dtype=dtype, default=None
        ).alias(key)
        for key, dtype in (("unit", pl.String), ("lower_is_better", pl.Boolean))
    )  # fmt: skip
    ordered = rows.with_columns(*about, statistic="component").sort("row", maintain_order=True)
    return flat(ordered.select(MEASURES))


def _describe_absent(pairs: Observations, spec: ResolvedSpec) -> list[str]:
    """
    Say how many items of the baseline a candidate has no row of, and whether they are like the others.

    Where the baseline scores otherwise on them, what is compared is another set of items than it seems.
    """
    if not pairs.paired:
        return []
    there, both = (pairs.frame[name].is_not_null().to_numpy() for name in ("in_b", "in_c"))
    missing = there & ~both
    count = int(missing.sum())
    if not count:
        return []
    means = []
    for name in spec.metrics:
        scores = pairs.values(name, "b")
        groups = [scores[part & ~np.isnan(scores)] for part in (missing, there & ~missing)]
        if min(map(len, groups)):
            p = welch_p(*groups)
            clear = "" if np.isnan(p) else f", p = {p:.2g}"
            means.append(f"{name} {groups[0].mean():.3f} against {groups[1].mean():.3f} elsewhere{clear}")
    note = (
        f"{count:,} of {there.sum():,} items of {spec.baseline} {verb(count, 'has', 'have')} no row of "
        f"{pairs.candidate} and {verb(count, 'is', 'are')} not compared"
    )
    return [f"{note}; there {spec.baseline} scores {'; '.join(means)}" if means else note]


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
