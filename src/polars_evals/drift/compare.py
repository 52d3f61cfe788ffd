"""Compare versions: pair, estimate, test, correct, judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.comparison import Comparison
from polars_evals.drift.flips import UNMATCHED, changed_labels, gather_flips, unmatched_items
from polars_evals.drift.histogram import histogram
from polars_evals.drift.inference import benjamini_hochberg, floats, infer, tests_of, wilson
from polars_evals.drift.inference import column as float_column
from polars_evals.drift.measure import IDENTITY, measure
from polars_evals.drift.pairing import observe, varying
from polars_evals.drift.search import Search, searchable
from polars_evals.drift.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.pairing import Observations

    By = Sequence[str | Sequence[str]] | str | None

SUMMARY = [
    "candidate", "metric", "n", "n_baseline_only", "n_candidate_only", "clusters", "paired", "baseline_mean",
    "candidate_mean", "difference", "se", "ci_low", "ci_high", "correlation", "p_value", "q_value",
    "p_permutation", "baseline_pass_rate", "candidate_pass_rate", "pass_rate_difference", "newly_failing",
    "newly_passing", "p_mcnemar", "ks", "psi", "mde", "n_needed", "verdict", "reason",
]  # fmt: skip
SLICES = [*IDENTITY, *SUMMARY[2:]]
MOST_SLICES = 1_000


def compare(
    scored: Frame,
    *,
    version: str,
    baseline: Any,
    candidate: Any = None,
    item: str | None = None,
    cluster: str | None = None,
    by: By = None,
    metrics: Sequence[str] | None = None,
    min_effect: float = 0.01,
    alpha: float = 0.05,
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
        The version to judge, or a list of them; None for every other version in the frame.
    item
        Column that names the test case, to pair the versions on. Repeats of an item in a version are
        averaged. None compares without pairs, which sees far less.
    cluster
        Column that groups items which are not independent, such as the conversation, document or user. An
        item without a cluster counts as a cluster of its own.
    by
        Columns to slice by, one row for each value; a pair in the list is sliced by both, as in
        ``["topic", ("topic", "language")]``. The flips show these columns too. ``"auto"`` searches the
        columns with few values, and their pairs, for slices that moved differently from the rest.
    metrics
        Names of the metrics; None for every ``<name>_score`` column.
    min_effect
        The smallest difference in mean score that matters.
    alpha
        Level of the intervals and of the corrected tests.
    seed
        Fixes the random signs of the permutation test.
    max_flips
        How many flips to keep for each candidate and metric, the greatest loss first; None for all. The
        counts in `summary` are always those of all.

    Returns
    -------
    Comparison
        With frames `summary`, `slices`, `flips`, `unmatched`, `pass_rates`, `distributions`, and a `verdict`.

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
    ...         "case_id": [1, 2, 3, 4] * 2,
    ...         "model": ["v1"] * 4 + ["v2"] * 4,
    ...         "levenshtein_score": [0.9, 0.8, 1.0, 0.7, 0.5, 0.3, 0.6, 0.4],
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
    │ v2        ┆ levenshtein ┆ 4   ┆ -0.4       ┆ regressed │
    └───────────┴─────────────┴─────┴────────────┴───────────┘
    """
    check_levels(alpha, min_effect)
    frame = columns.lazy(scored)
    schema = frame.collect_schema()
    for role, name in (("version", version), ("item", item), ("cluster", cluster)):
        if name is not None:
            columns.require(schema, name, role)
    names = columns.find_metrics(schema, metrics)
    counts = count_versions(frame, schema, version)
    before, after, notes = choose_versions(counts, schema, version, baseline, candidate)
    version_key = columns.as_text(schema, version)
    frame = frame.filter(version_key.is_in([before, *after]))
    columns.check_signatures(frame, schema, names)
    automatic = by == "auto"
    taken = {version, *(name for name in (item, cluster) if name is not None)}
    sets = [(name,) for name in searchable(frame, schema, taken)] if automatic else slice_sets(schema, by)
    traits = sorted({name for group in sets for name in group})
    item_key = None if item is None else _item_key(schema, item)
    rows = select_rows(
        frame, schema, versions=[before, *after], version=version, item=item, cluster=cluster, traits=traits,
        metrics=names,
    )  # fmt: skip
    if automatic and item is not None:
        # What differs within an item describes an answer, not a part of the test cases.
        answers = varying(rows, [columns.trait(name) for name in traits])
        rows = rows.drop(answers)
        traits = [name for name in traits if columns.trait(name) not in answers]
    if not automatic:
        check_few_slices(rows, sets)
    notes += describe_missing(rows.null_count().row(0, named=True), item, cluster)

    measured, searches, flips, unmatched, spread = [], dict[tuple[str, str], Search](), [], [], []
    kept = dict[str, "Observations"]()
    shown = [] if automatic else traits
    for one in after:
        observations = observe(rows, baseline=before, candidate=one, metrics=names, item=item)
        if automatic:
            kept[one] = observations
        for name in names:
            measured.append(measure(observations, candidate=one, metric=name, seed=seed))
            spread.append(histogram(observations, baseline=before, candidate=one, metric=name))
            if automatic:
                searches[one, name] = Search(observations, name, traits)
            else:
                measured += [
                    measure(observations, candidate=one, metric=name, by=group, seed=seed) for group in sets
                ]
        if item is not None:
            flips.append(changed_labels(observations, candidate=one, metrics=names, most=max_flips, by=shown))
            unmatched.append(unmatched_items(observations, candidate=one, metrics=names))
    table = pl.concat(measured)
    unseen = np.array([], dtype=np.float64)
    if automatic:
        found, unseen = _search(table, searches, kept, alpha=alpha, min_effect=min_effect, seed=seed)
        notes.append(_search_note(traits, len(unseen) + sum(map(len, found)), sum(map(len, found))))
        table = pl.concat([table, *found])
    return conclude(
        table,
        also_tried=unseen,
        flips=gather_flips(
            flips, frame, schema, item=item_key, version=version_key, baseline=before, by=shown
        ),
        unmatched=pl.concat(unmatched) if unmatched else pl.DataFrame(schema=UNMATCHED),
        distributions=pl.concat(spread),
        notes=notes,
        settings={
            "version": version, "baseline": before, "candidates": after, "item": item, "cluster": cluster,
            "by": "auto" if automatic else [list(group) for group in sets], "metrics": names,
            "min_effect": min_effect, "alpha": alpha, "seed": seed,
        },
    )  # fmt: skip


def conclude(
    table: pl.DataFrame,
    *,
    also_tried: Floats,
    flips: pl.DataFrame,
    unmatched: pl.DataFrame,
    distributions: pl.DataFrame,
    notes: Sequence[str],
    settings: dict[str, Any],
) -> Comparison:
    """Test, correct and judge what was measured."""
    levels = {name: settings[name] for name in ("alpha", "min_effect")}
    judged = judge(infer(table, also_tried=also_tried, **levels), **levels)
    sliced = pl.col("slice").is_not_null()
    return Comparison(
        summary=judged.filter(~sliced).select(SUMMARY),
        slices=judged.filter(sliced).select(SLICES),
        flips=flips,
        unmatched=unmatched,
        pass_rates=_pass_rates(judged, settings["baseline"], settings["alpha"]),
        distributions=distributions,
        notes=tuple(notes),
        settings=settings,
    )


def check_levels(alpha: float, min_effect: float) -> None:
    """Refuse levels that no comparison can have."""
    columns.require_level(alpha)
    columns.require_effect(min_effect)


def select_rows(
    frame: pl.LazyFrame,
    schema: Schema,
    *,
    versions: Sequence[str],
    version: str,
    item: str | None,
    cluster: str | None,
    traits: Sequence[str],
    metrics: Sequence[str],
) -> pl.DataFrame:
    """Read what a comparison needs of the rows of some versions."""
    selected = frame.filter(columns.as_text(schema, version).is_in(versions)).select(
        columns.as_text(schema, version).cast(pl.Enum(versions)).alias("version"),
        *([] if item is None else [_item_key(schema, item).alias("item")]),
        *([] if cluster is None else [columns.as_text(schema, cluster).alias("cluster")]),
        *(columns.as_text(schema, name).alias(columns.trait(name)) for name in traits),
        *columns.measures(schema, metrics),
    )
    return columns.collect(selected, metrics)


def slice_sets(schema: Schema, by: By) -> list[tuple[str, ...]]:
    """Return the columns of each set of slices, checked."""
    groups = [by] if isinstance(by, str) else list(by or [])
    sets = [(group,) if isinstance(group, str) else tuple(group) for group in groups]
    for group in sets:
        for name in group:
            columns.require(schema, name, "by")
        if not group or len(set(group)) < len(group) or sets.count(group) > 1:
            msg = f"by must name each slice once, got {by!r}"
            raise ValueError(msg)
    return sets


def check_few_slices(rows: pl.DataFrame, sets: Sequence[tuple[str, ...]]) -> None:
    """Raise if a set of slices has too many."""
    for group in sets:
        require_few_slices(
            group, rows.select(pl.struct(columns.trait(name) for name in group).n_unique()).item()
        )


def require_few_slices(group: tuple[str, ...], count: int) -> None:
    """Raise if columns have too many values to slice by."""
    if count > MOST_SLICES:
        named = group[0] if len(group) == 1 else group
        msg = f"by={named!r} gives {count:,} slices; at most {MOST_SLICES:,} are possible"
        raise ValueError(msg)


def _item_key(schema: Schema, item: str) -> pl.Expr:
    text = isinstance(schema[item], pl.Enum | pl.Categorical)
    return pl.col(item).cast(pl.String) if text else pl.col(item)


def count_versions(frame: pl.LazyFrame, schema: Schema, version: str) -> pl.DataFrame:
    """Return how many rows (``len``) each version has."""
    versions = frame.group_by(columns.as_text(schema, version).alias("version"))
    return versions.agg(pl.len()).sort("version").collect(engine="streaming")


def choose_versions(
    counts: pl.DataFrame, schema: Schema, version: str, baseline: Any, candidate: Any
) -> tuple[str, list[str], list[str]]:
    """Return baseline and candidates as text, with notes; each must be among those counted."""
    present = counts["version"].drop_nulls().to_list()
    before = columns.version_text(schema, version, baseline)
    if candidate is None:
        after = [one for one in present if one != before]
    else:
        several = isinstance(candidate, list | tuple | set | frozenset | pl.Series)
        after = [
            columns.version_text(schema, version, one) for one in (candidate if several else [candidate])
        ]
    for role, one in (("baseline", before), *(("candidate", one) for one in after)):
        if one not in present:
            raise columns.absent(role, one, version, present)
    if not after:
        msg = f"column {version!r} holds only {before!r}: there is nothing to compare it with"
        raise ValueError(msg)
    if before in after or len(set(after)) < len(after):
        msg = f"baseline and candidates must all differ, got baseline {before!r}, candidates {after!r}"
        raise ValueError(msg)
    nameless = counts.filter(pl.col("version").is_null())["len"].sum()
    notes = [f"{nameless:,} rows have no version ({version}) and were left out"] if nameless else []
    return before, after, notes


def describe_missing(nulls: Mapping[str, int], item: str | None, cluster: str | None) -> list[str]:
    """Say how many of the rows that `select_rows` read lack what a comparison needs."""
    notes = []
    if item is None:
        notes.append("unpaired: no item column was given, so differences between items hide small changes")
    elif missing := nulls["item"]:
        notes.append(f"{missing:,} rows have no item ({item}) and cannot be paired")
    if cluster is not None and (missing := nulls["cluster"]):
        notes.append(f"{missing:,} rows have no cluster ({cluster}); each item among them is its own cluster")
    scores = {name.removesuffix(":score"): n for name, n in nulls.items() if name.endswith(":score")}
    return notes + [
        f"{missing:,} rows have no {name} score and are not in its numbers"
        for name, missing in scores.items()
        if missing
    ]


def _search(
    summary: pl.DataFrame,
    searches: dict[tuple[str, str], Search],
    kept: dict[str, Observations],
    *,
    alpha: float,
    min_effect: float,
    seed: int,
) -> tuple[list[pl.DataFrame], Floats]:
    """Return the slices that moved, and the p-values of all other slices that were tried."""
    overall = tests_of(summary, alpha)[2]
    tests = {key: search.tests(alpha) for key, search in searches.items()}
    q = benjamini_hochberg(np.concatenate([overall, *(p for _, _, p in tests.values())]))
    start, found, unseen = len(overall), [], []
    for (candidate, metric), search in searches.items():
        low, high, p = tests[candidate, metric]
        corrected = q[start : start + len(p)]
        start += len(p)
        large = np.abs(floats(search.tried["difference"])) >= min_effect
        moved = np.flatnonzero(((low > 0) | (high < 0)) & large & (corrected <= alpha))
        listed = search.listed([int(i) for i in moved], alpha)
        unseen.append(np.delete(p, listed))
        for index in listed:
            by, value = search.tried["by"][index].to_list(), search.tried["value"][index].to_list()
            rows = measure(kept[candidate], candidate=candidate, metric=metric, by=by, seed=seed)
            found.append(rows.filter(pl.col("value") == pl.lit(value, dtype=pl.List(pl.String))))
    return found, np.concatenate(unseen)


def _search_note(traits: Sequence[str], tried: int, listed: int) -> str:
    if not traits:
        return "by='auto' found no column with 2 to 20 values that describes the items"
    tally = f"tried {tried:,} slices of {', '.join(traits)} and lists {listed:,}"
    return f"by='auto' {tally} that moved apart from the rest"


def _pass_rates(judged: pl.DataFrame, baseline: str, alpha: float) -> pl.DataFrame:
    """Return each version's pass rate with Wilson's interval, a row for each row and version judged."""
    sides = []
    for side in ("baseline", "candidate"):
        n, rate = floats(judged[f"{side}_labels"]), floats(judged[f"{side}_pass_rate"])
        low, high = wilson(rate * n, n, alpha)
        sides.append(
            judged.select(
                *IDENTITY,
                (pl.lit(baseline) if side == "baseline" else pl.col("candidate")).alias("version"),
                pl.col(f"{side}_labels").alias("n"),
                pl.col(f"{side}_pass_rate").alias("pass_rate"),
                float_column("ci_low", low),
                float_column("ci_high", high),
            )
        )
    return pl.concat(sides).filter(pl.col("n") > 0)
