"""Make a baseline's outputs the expected ones, where no one has written any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polars_evals.drift import columns

if TYPE_CHECKING:
    from polars_evals.drift.columns import Frame


@overload
def against_baseline(
    traces: pl.DataFrame,
    *,
    version: str,
    baseline: Any,
    item: str,
    output: str = ...,
    expected: str = ...,
) -> pl.DataFrame: ...
@overload
def against_baseline(
    traces: pl.LazyFrame,
    *,
    version: str,
    baseline: Any,
    item: str,
    output: str = ...,
    expected: str = ...,
) -> pl.LazyFrame: ...
def against_baseline(
    traces: Frame,
    *,
    version: str,
    baseline: Any,
    item: str,
    output: str = "output",
    expected: str = "expected",
) -> Frame:
    """
    Make the baseline's output of each item the expected text of every version.

    Scores then say how far a version has moved from the baseline, also for traffic without expected texts.

    Parameters
    ----------
    traces
        A DataFrame or LazyFrame with one row an answer.
    version
        Column that tells the versions apart.
    baseline
        The version whose outputs become the expected ones.
    item
        Column that names the question that was answered.
    output
        Column of the answers.
    expected
        Column to write, replaced where there is one.

    Returns
    -------
    DataFrame or LazyFrame
        All rows in their order. Where the baseline has no output for an item, `expected` is null: score with
        ``missing="null"`` to leave such rows out.

    Notes
    -----
    Of several outputs of the baseline for an item the first one counts, so that its other rows show how much
    the baseline differs from itself.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_evals as pe
    >>> traces = pl.DataFrame(
    ...     {
    ...         "item_id": ["a", "b", "a", "b", "c"],
    ...         "model": ["v1", "v1", "v2", "v2", "v2"],
    ...         "output": ["Paris", "42", "Paris.", None, "new"],
    ...     }
    ... )
    >>> pe.against_baseline(traces, version="model", baseline="v1", item="item_id")
    shape: (5, 4)
    ┌─────────┬───────┬────────┬──────────┐
    │ item_id ┆ model ┆ output ┆ expected │
    │ ---     ┆ ---   ┆ ---    ┆ ---      │
    │ str     ┆ str   ┆ str    ┆ str      │
    ╞═════════╪═══════╪════════╪══════════╡
    │ a       ┆ v1    ┆ Paris  ┆ Paris    │
    │ b       ┆ v1    ┆ 42     ┆ 42       │
    │ a       ┆ v2    ┆ Paris. ┆ Paris    │
    │ b       ┆ v2    ┆ null   ┆ 42       │
    │ c       ┆ v2    ┆ new    ┆ null     │
    └─────────┴───────┴────────┴──────────┘
    """
    frame = columns.lazy(traces)
    schema = frame.collect_schema()
    for role, name in (("version", version), ("item", item), ("output", output)):
        columns.require(schema, name, role)
    key = columns.as_text(schema, version)
    before = columns.version_text(schema, version, baseline)
    present = frame.select(key.unique().sort()).collect(engine="streaming").to_series().drop_nulls().to_list()
    if before not in present:
        raise columns.absent("baseline", before, version, present)
    references = (
        frame.filter(key == before, pl.col(item).is_not_null(), pl.col(output).is_not_null())
        .select(item, pl.col(output).alias(expected))
        .unique(subset=item, keep="first", maintain_order=True)
    )
    joined = frame.drop(expected, strict=False).join(references, on=item, how="left", maintain_order="left")
    order = list(schema) if expected in schema else [*schema, expected]
    joined = joined.select(order)
    return joined.collect() if isinstance(traces, pl.DataFrame) else joined
