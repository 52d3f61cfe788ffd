"""Use a baseline's outputs as the expected texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polars_evals.drift import columns

if TYPE_CHECKING:
    from polars_evals.drift.columns import Frame

# Columns that are there for a moment only.
FIRST, SECOND, SEVERAL, RUN = (f"{columns.APART}{name}" for name in ("first", "second", "several", "run"))


@overload
def against_baseline(
    frame: pl.DataFrame,
    *,
    version: str,
    baseline: Any,
    item: str,
    output: str = ...,
    expected: str = ...,
) -> pl.DataFrame: ...
@overload
def against_baseline(
    frame: pl.LazyFrame,
    *,
    version: str,
    baseline: Any,
    item: str,
    output: str = ...,
    expected: str = ...,
) -> pl.LazyFrame: ...
def against_baseline(
    frame: Frame,
    *,
    version: str,
    baseline: Any,
    item: str,
    output: str = "output",
    expected: str = "expected",
) -> Frame:
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
    schema = table.collect_schema()
    for role, name in (("version", version), ("item", item), ("output", output)):
        columns.require(schema, name, role)
    key = columns.as_text(schema, version)
    before = columns.version_text(schema, version, baseline)
    present = table.select(key.unique().sort()).collect(engine="streaming").to_series().drop_nulls().to_list()
    if before not in present:
        raise columns.absent("baseline", before, version, present)
    known = table.filter(key == before, pl.col(item).is_not_null(), pl.col(output).is_not_null())
    runs = known.group_by(item, maintain_order=True).agg(
        pl.col(output).first().alias(FIRST),
        # Null where the baseline has one run of the item.
        pl.col(output).slice(1, 1).first().alias(SECOND),
        (pl.len() > 1).alias(SEVERAL),
    )
    placed = table.with_columns(
        # The first run itself: the first row of the baseline with an output.
        ((key == before) & pl.col(output).is_not_null()).cum_sum().over(item).alias(RUN)
    )
    own = (key == before) & pl.col(output).is_not_null() & (pl.col(RUN) == 1)
    joined = placed.drop(expected, columns.ONLY_RUN, strict=False).join(
        runs, on=item, how="left", maintain_order="left"
    )
    joined = joined.with_columns(
        pl.when(own).then(SECOND).otherwise(FIRST).alias(expected),
        (own & ~pl.col(SEVERAL)).fill_null(value=False).alias(columns.ONLY_RUN),
    )
    order = list(schema) if expected in schema else [*schema, expected]
    order = order if columns.ONLY_RUN in order else [*order, columns.ONLY_RUN]
    joined = joined.select(order)
    return joined.collect() if isinstance(frame, pl.DataFrame) else joined
