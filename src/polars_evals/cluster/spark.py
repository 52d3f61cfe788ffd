"""Suites on Spark."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from polars_evals.cluster.score import MAX_BYTES, THREADS, score_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from polars_evals.cluster.score import MapTables, Scorer
    from polars_evals.suite import Suite


# How Spark writes times: by default in a way that readers take for times without a zone.
TIMES = "spark.sql.parquet.outputTimestampType"


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
        The suite. The scores are those of `suite.score`, to the last bit.
    signatures
        Also add `<name>_signature`, which travels with the scores into any format.
    max_bytes
        How many bytes of a partition are scored at once.

    Returns
    -------
    DataFrame
        The columns of the DataFrame, then those of `suite.score`. Labels are strings: Spark has no type for
        a fixed set of them.

    Notes
    -----
    A task has as many threads as `spark.task.cpus` says. On Spark Connect, where a client cannot set that,
    set `spark.executorEnv.POLARS_MAX_THREADS` for the cluster. Spark repeats the tasks of an executor that
    dies.

    Examples
    --------
    >>> from polars_evals.cluster import score_spark
    >>> suite = pe.Suite([pe.Metric("levenshtein")])
    >>> score_spark(spark.read.parquet("s3://traces/"), suite).write.parquet("s3://scored/")  # doctest: +SKIP
    """
    return score_on(SparkEngine(), dataframe, suite, signatures=signatures, max_bytes=max_bytes)


class SparkEngine:
    """Spark, on the session of the data, or the one that is active or that the environment configures."""

    def read_parquet(self, files: Sequence[str]) -> DataFrame:
        """Read files; a session that starts here runs this Python."""
        from pyspark.sql import SparkSession

        session = SparkSession.builder.getOrCreate()
        context = getattr(session, "_sc", None)
        if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            # Spark would take whatever `python3` is, which need not know this package.
            context.pythonExec = sys.executable
        return session.read.parquet(*files)

    def write_parquet(self, data: DataFrame, folder: str) -> None:
        """Write one file or more for each partition; times as instants in UTC, not in Spark's old INT96."""
        settings = data.sparkSession.conf
        before = settings.get(TIMES)
        settings.set(TIMES, "TIMESTAMP_MICROS")
        try:
            data.write.parquet(folder)
        finally:
            settings.set(TIMES, before)

    def schema(self, data: DataFrame) -> pa.Schema:
        """Return the columns as Arrow has them; a time has the zone of the session."""
        return data.sparkSession.createDataFrame([], data.schema).toArrow().schema

    def select(self, data: DataFrame, columns: Sequence[str]) -> DataFrame:
        """Take some columns, also those with a dot in their name."""
        return data.select([data[name] for name in columns])

    def score(self, data: DataFrame, scorer: Scorer) -> DataFrame:
        """Score partition by partition; the columns of the data keep the types that Spark has."""
        from pyspark.sql.types import StructType

        schema = StructType([*data.schema, *_spark_schema(scorer.added)])
        with _threads(data.sparkSession):
            return data.mapInArrow(lambda batches: _each(batches, scorer.score_all), schema)

    def map(self, data: DataFrame, function: MapTables, schema: pa.Schema) -> DataFrame:
        """Map partition by partition."""
        with _threads(data.sparkSession):
            return data.mapInArrow(lambda batches: _each(batches, function), _spark_schema(schema))

    def collect(self, data: DataFrame) -> Iterator[pa.Table]:
        """Bring the data to the driver."""
        yield data.toArrow()


def _spark_schema(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _each(batches: Iterable[pa.RecordBatch], function: MapTables) -> Iterator[pa.RecordBatch]:
    for table in function(pa.Table.from_batches([batch]) for batch in batches):
        yield from table.combine_chunks().to_batches()


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
