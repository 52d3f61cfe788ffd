"""Expected values that an export does not hold, from the dataset that the traces answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import polars as pl

from polars_evals._polars import scan_ndjson
from polars_evals.traces.source import Field, as_text
from polars_evals.wording import counted, listed, verb

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True)
class Dataset:
    """Where the expected values are: a file, the column that it shares with the traces, and their column."""

    path: str
    on: str = "item_id"
    expected: str = "expected"

    def join(self, traces: pl.LazyFrame) -> pl.LazyFrame:
        """Add the expected values."""
        return with_expected(traces, self.path, self.on, self.expected)


def with_expected(
    traces: FrameT,
    dataset: pl.DataFrame | pl.LazyFrame | str | Path,
    on: str = "item_id",
    expected: str = "expected",
    *,
    unmatched: Literal["keep", "raise"] = "keep",
) -> FrameT:
    """
    Add the expected values of a dataset to traces.

    Parameters
    ----------
    traces
        A frame of traces.
    dataset
        A frame, or the path of a Parquet, JSON Lines or CSV file.
    on
        The column of the item, in both.
    expected
        The dataset's column of expected values: text, or lists of texts for several references.
    unmatched
        How to treat traces whose item is not in the dataset. `keep` leaves their `expected` as it is.
        `raise` raises an error, which for a LazyFrame runs the query for the column `on`.
        [`unmatched_items`][polars_evals.unmatched_items] lists them.

    Returns
    -------
    DataFrame or LazyFrame
        `traces`, in its order, with the column `expected`.

    Raises
    ------
    ValueError
        If an item is in the dataset twice with different expected values.

    Examples
    --------
    >>> traces = pl.DataFrame({"item_id": ["a", "b", "a"], "output": ["4", "6", "5"]})
    >>> dataset = pl.DataFrame({"item_id": ["a", "c"], "answer": ["4", "8"]})
    >>> pe.with_expected(traces, dataset, expected="answer")
    shape: (3, 3)
    ┌─────────┬────────┬──────────┐
    │ item_id ┆ output ┆ expected │
    │ ---     ┆ ---    ┆ ---      │
    │ str     ┆ str    ┆ str      │
    ╞═════════╪════════╪══════════╡
    │ a       ┆ 4      ┆ 4        │
    │ b       ┆ 6      ┆ null     │
    │ a       ┆ 5      ┆ 4        │
    └─────────┴────────┴──────────┘
    """
    if unmatched not in ("keep", "raise"):
        raise ValueError(f"unmatched must be 'keep' or 'raise', not {unmatched!r}")
    frame = traces.lazy()
    references = _references(frame, scan_dataset(dataset), on, expected)
    if unmatched == "raise":
        absent = frame.select(on).join(references.lazy(), on=on, how="anti", maintain_order="left")
        missing = absent.collect().get_column(on)
        if items := missing.unique(maintain_order=True).to_list():
            raise ValueError(
                f"{counted(missing.len(), 'trace')} {verb(missing.len(), 'belongs', 'belong')} to "
                f"{counted(len(items), 'item')} that the dataset does not hold: "
                f"{listed([repr(item) for item in items])}"
            )
    joined = frame.join(references.lazy(), on=on, how="left", maintain_order="left")
    schema = joined.collect_schema()
    are_lists = {name: schema[name] == pl.List for name in (_REFERENCE, "expected") if name in schema}
    values = [
        _as_list(pl.col(name)) if any(are_lists.values()) and not is_list else pl.col(name)
        for name, is_list in are_lists.items()
    ]
    result = joined.with_columns(pl.coalesce(values).alias("expected")).drop(_REFERENCE)
    return result.collect() if isinstance(traces, pl.DataFrame) else result


def _as_list(text: pl.Expr) -> pl.Expr:
    return pl.when(text.is_not_null()).then(pl.concat_list(text.cast(pl.String)))


def unmatched_items(
    traces: pl.DataFrame | pl.LazyFrame,
    dataset: pl.DataFrame | pl.LazyFrame | str | Path,
    on: str = "item_id",
) -> pl.DataFrame:
    """
    List the items that only the traces or only the dataset have, with their numbers of rows.

    Parameters
    ----------
    traces, dataset, on
        As in [`with_expected`][polars_evals.with_expected].

    Examples
    --------
    >>> traces = pl.DataFrame({"item_id": ["a", "b", "b"]})
    >>> dataset = pl.DataFrame({"item_id": ["a", "c"]})
    >>> pe.unmatched_items(traces, dataset)
    shape: (2, 3)
    ┌─────────┬─────────┬──────┐
    │ item_id ┆ only_in ┆ rows │
    │ ---     ┆ ---     ┆ ---  │
    │ str     ┆ str     ┆ u32  │
    ╞═════════╪═════════╪══════╡
    │ b       ┆ traces  ┆ 2    │
    │ c       ┆ dataset ┆ 1    │
    └─────────┴─────────┴──────┘
    """
    frame = scan_dataset(dataset)
    keys = frame.select(_key(traces.lazy(), frame, on))
    pieces = [
        left.select(on)
        .join(right.select(on), on=on, how="anti")
        .group_by(on)
        .agg(rows=pl.len())
        .select(on, pl.lit(name).alias("only_in"), "rows")
        .sort(on)
        for name, left, right in (("traces", traces.lazy(), keys), ("dataset", keys, traces.lazy()))
    ]
    return pl.concat(pieces).collect()


# The dataset's values while they are joined; a name that no frame has.
_REFERENCE = "__dataset_expected"


def _references(traces: pl.LazyFrame, dataset: pl.LazyFrame, on: str, expected: str) -> pl.DataFrame:
    """Read the dataset as one row per item."""
    schema = dataset.collect_schema()
    if expected not in schema:
        raise pl.exceptions.ColumnNotFoundError(
            f"the dataset has no column {expected!r} (it has {', '.join(schema)}); name it with expected="
        )
    dtype = schema[expected]
    value = pl.col(expected) if dtype == pl.List(pl.String) else as_text(Field(pl.col(expected), dtype))
    references = dataset.select(_key(traces, dataset, on), value.alias(_REFERENCE)).drop_nulls(on)
    distinct = references.unique(maintain_order=True).collect()
    repeated = distinct.filter(pl.col(on).is_duplicated()).get_column(on).unique(maintain_order=True)
    if repeated.len():
        raise ValueError(
            f"the dataset holds {counted(repeated.len(), 'item')} twice with different values of "
            f"{expected!r}: {listed([repr(item) for item in repeated])}; "
            "keep one row per item, or put several references in one list"
        )
    return distinct


def _key(traces: pl.LazyFrame, dataset: pl.LazyFrame, on: str) -> pl.Expr:
    """Take the dataset's key as the type that it has in the traces."""
    held = traces.collect_schema()
    for name, schema in (("traces", held), ("dataset", dataset.collect_schema())):
        if on not in schema:
            raise pl.exceptions.ColumnNotFoundError(
                f"no column {on!r} in the {name} (columns: {', '.join(schema)}); "
                "name one that both have with on="
            )
    return pl.col(on).cast(held[on])


def scan_dataset(dataset: pl.DataFrame | pl.LazyFrame | str | Path) -> pl.LazyFrame:
    """Scan a dataset: a frame, or a Parquet, JSON Lines or CSV file."""
    if isinstance(dataset, pl.DataFrame | pl.LazyFrame):
        return dataset.lazy()
    suffixes = Path(dataset).suffixes
    if ".jsonl" in suffixes or ".ndjson" in suffixes:
        return scan_ndjson(dataset)
    if ".csv" in suffixes:
        return pl.scan_csv(dataset, infer_schema=False)
    return pl.scan_parquet(dataset)
