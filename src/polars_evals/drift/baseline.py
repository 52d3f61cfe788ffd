"""Use a baseline's outputs as the expected texts."""

from __future__ import annotations

from typing import Any, TypeVar

import polars as pl

from polars_evals.drift import columns

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)
# Columns that are there for a moment only.
FIRST, SECOND, RUNS, RUN = (f"{columns.APART}{name}" for name in ("first", "second", "runs", "run"))


def against_baseline(
    frame: FrameT,
    *,
    version: str,
    baseline: Any,
    item: str,
    output: str = "output",
    expected: str = "expected",
) -> FrameT:
    """
    Use the baseline's output of each item as the expected text of all other answers.

    The scores then measure how far a version moved away from the baseline. No expected texts are needed.

    Parameters
    ----------
    frame
        A DataFrame or LazyFrame with one row for each answer.
    version
        Column of the version.
    baseline
        The version whose outputs become the expected texts.
    item
        Column that identifies the question.
    output
        Column of the answers.
    expected
        Column to write. An existing column is replaced.

    Returns
    -------
    DataFrame or LazyFrame
        All rows in their order. If the baseline has no output for an item, `expected` is null. Score with
        `missing="null"` to leave such rows out.

    Notes
    -----
    The baseline's first output of an item is the expected text of all other answers. The expected text of
    that first output is the second one. So the baseline is scored against another run of itself, and a
    candidate has regressed only if it is further from the baseline than the baseline is. If the baseline
    answered an item only once, its row has no expected text, and `only_run` is true. `compare` leaves such
    rows out and asks for a second run of the baseline.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_evals as pe
    >>> traces = pl.DataFrame(
    ...     {
    ...         "item_id": ["a", "a", "b", "a", "b"],
    ...         "model": ["v1", "v1", "v1", "v2", "v2"],
    ...         "output": ["Paris", "It is Paris", "42", "Paris.", None],
    ...     }
    ... )
    >>> pe.against_baseline(traces, version="model", baseline="v1", item="item_id")
    shape: (5, 5)
    ┌─────────┬───────┬─────────────┬─────────────┬──────────┐
    │ item_id ┆ model ┆ output      ┆ expected    ┆ only_run │
    │ ---     ┆ ---   ┆ ---         ┆ ---         ┆ ---      │
    │ str     ┆ str   ┆ str         ┆ str         ┆ bool     │
    ╞═════════╪═══════╪═════════════╪═════════════╪══════════╡
    │ a       ┆ v1    ┆ Paris       ┆ It is Paris ┆ false    │
    │ a       ┆ v1    ┆ It is Paris ┆ Paris       ┆ false    │
    │ b       ┆ v1    ┆ 42          ┆ null        ┆ true     │
    │ a       ┆ v2    ┆ Paris.      ┆ Paris       ┆ false    │
    │ b       ┆ v2    ┆ null        ┆ 42          ┆ false    │
    └─────────┴───────┴─────────────┴─────────────┴──────────┘
    """
    table = columns.lazy(frame)
    schema: columns.Schema = table.collect_schema()
    for role, name in (("version", version), ("item", item), ("output", output)):
        columns.require(schema, name, role)
    key = columns.as_text(schema, version)
    before = columns.version_text(schema, version, baseline)
    present = table.select(key.unique().sort()).collect(engine="streaming").to_series().drop_nulls().to_list()
    if before not in present:
        raise columns.absent("baseline", before, version, present)
    has_output = (key == before) & pl.col(output).is_not_null()
    runs = (
        table.filter(has_output, pl.col(item).is_not_null())
        .group_by(item, maintain_order=True)
        .agg(
            pl.col(output).first().alias(FIRST),
            # Null where the baseline has one run of the item.
            pl.col(output).slice(1, 1).first().alias(SECOND),
            pl.len().alias(RUNS),
        )
    )
    first_run = has_output & (pl.col(RUN) == 1)
    joined = (
        table.with_columns(has_output.cum_sum().over(item).alias(RUN))
        .drop(expected, columns.ONLY_RUN, strict=False)
        .join(runs, on=item, how="left", maintain_order="left")
        .with_columns(
            pl.when(first_run).then(SECOND).otherwise(FIRST).alias(expected),
            (first_run & (pl.col(RUNS) == 1)).fill_null(value=False).alias(columns.ONLY_RUN),
        )
    )
    joined = joined.select(list(dict.fromkeys([*schema, expected, columns.ONLY_RUN])))
    return joined.collect() if isinstance(frame, pl.DataFrame) else joined
