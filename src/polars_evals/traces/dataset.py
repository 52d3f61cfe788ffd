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
    answers = _answers(traces, dataset, on, expected)
    if unmatched == "raise":
        missing = traces.lazy().select(on).join(answers.lazy(), on=on, how="anti", maintain_order="left")
        _refuse(missing.collect().get_column(on))
    schema = traces.lazy().collect_schema()
    joined = traces.lazy().join(answers.lazy(), on=on, how="left", maintain_order="left")
    value = pl.col(_ANSWER)
    if "expected" in schema:
        own = pl.col("expected")
        are_lists = [isinstance(dtype, pl.List) for dtype in (answers.schema[_ANSWER], schema["expected"])]
        if are_lists == [True, False]:
            own = _as_list(own)
        elif are_lists == [False, True]:
            value = _as_list(value)
        value = pl.coalesce(value, own)
    result = joined.with_columns(value.alias("expected")).drop(_ANSWER)
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
    keys = scan_dataset(dataset).select(_key(traces, dataset, on))
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
_ANSWER = "__dataset_expected"


def _answers(
    traces: pl.DataFrame | pl.LazyFrame,
    dataset: pl.DataFrame | pl.LazyFrame | str | Path,
    on: str,
    expected: str,
) -> pl.DataFrame:
    """Read the dataset as one row per item."""
    frame = scan_dataset(dataset)
    schema = frame.collect_schema()
    if expected not in schema:
        raise pl.exceptions.ColumnNotFoundError(
            f"the dataset has no column {expected!r} (it has {', '.join(schema)}); name it with expected="
        )
    dtype = schema[expected]
    value = pl.col(expected) if dtype == pl.List(pl.String) else as_text(Field(pl.col(expected), dtype))
    answers = frame.select(_key(traces, dataset, on), value.alias(_ANSWER)).drop_nulls(on)
    distinct = answers.unique(maintain_order=True).collect()
    repeated = distinct.filter(pl.col(on).is_duplicated()).get_column(on).unique(maintain_order=True)
    if repeated.len():
        raise ValueError(
            f"the dataset holds {counted(repeated.len(), 'item')} twice with different values of "
            f"{expected!r}: "
            f"{listed([repr(item) for item in repeated])}; "
            "keep one row per item, or put several references in one list"
        )
    return distinct


def _key(
    traces: pl.DataFrame | pl.LazyFrame, dataset: pl.DataFrame | pl.LazyFrame | str | Path, on: str
) -> pl.Expr:
    """Take the dataset's key as the type that it has in the traces."""
    for name, schema in (
        ("traces", traces.lazy().collect_schema()),
        ("dataset", scan_dataset(dataset).collect_schema()),
    ):
        if on not in schema:
            raise pl.exceptions.ColumnNotFoundError(
                f"no column {on!r} in the {name} (columns: {', '.join(schema)}); "
                "name one that both have with on="
            )
    return pl.col(on).cast(traces.lazy().collect_schema()[on])


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


def _refuse(missing: pl.Series) -> None:
    if missing.len():
        items = missing.unique(maintain_order=True)
        raise ValueError(
            f"{counted(missing.len(), 'trace')} {verb(missing.len(), 'belongs', 'belong')} to "
            f"{counted(items.len(), 'item')} that the dataset does not hold: "
            f"{listed([repr(item) for item in items])}"
        )
