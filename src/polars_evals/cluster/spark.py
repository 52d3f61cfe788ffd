"""Suites and comparisons on Spark."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from polars_evals.cluster.aggregates import Aggregates
from polars_evals.cluster.batches import MAX_BYTES, THREADS, Scorer, bounded, polars_type
from polars_evals.cluster.merging import merge
from polars_evals.cluster.plan import Plan, make_plan
from polars_evals.cluster.steps import GROUP, MESSAGE, merge_messages, sum_up_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from polars_evals.drift.compare import By
    from polars_evals.suite import Suite

MESSAGES = f"{GROUP} long, {MESSAGE} binary"


def score_spark(
    dataframe: DataFrame, suite: Suite, *, signatures: bool = False, max_bytes: int = MAX_BYTES
) -> DataFrame:
    """
    Score a Spark DataFrame with a suite.

    Parameters
    ----------
    dataframe
        The DataFrame. Nothing is read before the result is.
    suite
        The suite. The scores are those of ``suite.score``, to the last bit.
    signatures
        Also add ``<name>_signature``, which travels with the scores into any format.
    max_bytes
        How many bytes of a partition are scored at once.

    Returns
    -------
    DataFrame
        The columns of the DataFrame, then those of ``suite.score``. Labels are strings: Spark has no type for
        a fixed set of them.

    Notes
    -----
    A task has as many threads as ``spark.task.cpus`` says. On Spark Connect, where a client cannot set that,
    set ``spark.executorEnv.POLARS_MAX_THREADS`` for the cluster. Spark repeats the tasks of an executor that
    dies.

    Examples
    --------
    >>> from polars_evals.cluster import score_spark
    >>> suite = pe.Suite([pe.Metric("levenshtein")])
    >>> score_spark(spark.read.parquet("s3://traces/"), suite).write.parquet("s3://scored/")  # doctest: +SKIP
    """
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    scorer = Scorer.of(suite, _arrow_schema(dataframe), signatures=signatures, max_bytes=max_bytes)
    schema = StructType([*dataframe.schema, *from_arrow_schema(scorer.added)])
    with _threads(dataframe.sparkSession):
        return dataframe.mapInArrow(lambda batches: _score(batches, scorer), schema)


def aggregate_spark(
    dataframe: DataFrame,
    *,
    version: str,
    baseline: Any,
    candidate: Any = None,
    item: str | None = None,
    cluster: str | None = None,
    by: By = None,
    metrics: Sequence[str] | None = None,
    max_flips: int = 1_000,
    parts: int = 200,
) -> Aggregates:
    """
    Sum up a scored Spark DataFrame, to compare versions that no machine holds.

    Parameters
    ----------
    dataframe
        The scored DataFrame. Only the columns that a comparison needs are shuffled.
    version, baseline, item, cluster, by, metrics
        As in `polars_evals.compare`; `by` names the columns.
    candidate
        The version to judge, or a list of them. None reads the version column first to find all others.
    max_flips
        How many flips and unmatched items to keep for each candidate and metric. All are counted.
    parts
        Into how many parts the items are shuffled. A part must fit a worker, with about 200 bytes a row.

    Examples
    --------
    >>> from polars_evals.cluster import aggregate_spark
    >>> aggregates = aggregate_spark(scored, version="model", baseline="v1", item="item_id")  # doctest: +SKIP
    >>> aggregates.compare(min_effect=0.005).verdict  # doctest: +SKIP
    'no_change'
    """
    from pyspark.sql import functions

    arrow = _arrow_schema(dataframe)
    schema = {field.name: polars_type(field.type) for field in arrow}

    def versions() -> pl.DataFrame:
        counted = dataframe.groupBy(dataframe[version].alias("version")).count().toArrow()
        return (
            pl.DataFrame(pl.from_arrow(counted))
            .select(pl.col("version").cast(pl.String), len="count")
            .sort("version")
        )

    plan = make_plan(
        schema,
        version=version,
        baseline=baseline,
        candidate=candidate,
        item=item,
        cluster=cluster,
        by=by,
        metrics=metrics,
        max_flips=max_flips,
        count_versions=versions,
    )
    rows = dataframe.select([dataframe[name] for name in plan.needed(arrow.names)])
    with _threads(dataframe.sparkSession):
        if item is None:
            messages = rows.mapInArrow(lambda batches: _sum_up_all(batches, plan, parts), MESSAGES)
        else:
            anywhere = functions.monotonically_increasing_id()
            known = functions.xxhash64(rows[item])
            key = functions.when(rows[item].isNull(), anywhere).otherwise(known)
            grouped = rows.withColumn(GROUP, functions.pmod(key, functions.lit(parts))).groupBy(GROUP)
            messages = grouped.applyInArrow(lambda table: _sum_up(table, plan, parts), MESSAGES)
        merged = messages.groupBy(GROUP).applyInArrow(merge_messages, MESSAGES)
        return merge(Aggregates.from_bytes(bytes(row[MESSAGE])) for row in merged.collect())


def _arrow_schema(dataframe: DataFrame) -> pa.Schema:
    """Return the columns as Arrow has them; a time has the zone of the session."""
    return dataframe.sparkSession.createDataFrame([], dataframe.schema).toArrow().schema


def _score(batches: Iterable[pa.RecordBatch], scorer: Scorer) -> Iterator[pa.RecordBatch]:
    for table in scorer.score_all(pa.Table.from_batches([batch]) for batch in batches):
        yield from table.combine_chunks().to_batches()


def _sum_up(table: pa.Table, plan: Plan, parts: int) -> pa.Table:
    return sum_up_tables([table.drop_columns([GROUP])], plan, parts)


def _sum_up_all(batches: Iterable[pa.RecordBatch], plan: Plan, parts: int) -> Iterator[pa.RecordBatch]:
    tables = bounded((pa.Table.from_batches([batch]) for batch in batches), MAX_BYTES)
    yield from sum_up_tables(tables, plan, parts).to_batches()


@contextmanager
def _threads(session: SparkSession) -> Iterator[None]:
    """Have Polars start no more threads in a worker than Spark gives it processors."""
    context = getattr(session, "_sc", None)
    if context is None or THREADS in context.environment:
        yield
        return
    context.environment[THREADS] = context.getConf().get("spark.task.cpus", "1")
    try:
        yield
    finally:
        del context.environment[THREADS]
