"""Suites on Ray Data and on Spark: what scores, and how the engines do what `score.Engine` asks for."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from polars_evals.cluster.score import MAX_BYTES, THREADS, score_on
from polars_evals.suite.signature import parquet_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from ray.data import Dataset

    from polars_evals.cluster.score import Engine, MapTables
    from polars_evals.suite import Suite

    PathOrAddress = str | PathLike[str]

# How Spark writes times: by default in a way that readers take for times without a zone.
TIMES = "spark.sql.parquet.outputTimestampType"


def score_ray(
    dataset: Dataset,
    suite: Suite,
    *,
    signatures: bool = False,
    max_bytes: int = MAX_BYTES,
    num_cpus: int = 1,
) -> Dataset:
    """
    Score a Ray dataset with a suite.

    Parameters
    ----------
    dataset
        The dataset. It is not read, unless that is the only way to learn its schema.
    suite
        The suite. The scores are those of `suite.score`, to the last bit.
    signatures
        Also add `<name>_signature`, which travels with the scores into any format.
    max_bytes
        How many bytes of a block are scored at once.
    num_cpus
        Processors of a task. Polars and the metrics use as many threads.

    Returns
    -------
    Dataset
        The columns of the dataset, then those of `suite.score`. Labels are strings: Ray and Arrow have no
        type for a fixed set of them.

    Notes
    -----
    Ray repeats the tasks of a worker that dies. The order of rows is Ray's.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from polars_evals.cluster import score_ray
    >>> suite = pe.Suite([pe.Metric("levenshtein")])
    >>> dataset = ray.data.read_parquet("s3://traces/")  # doctest: +SKIP
    >>> score_ray(dataset, suite).write_parquet("s3://scored/")  # doctest: +SKIP
    """
    return score_on(_RayEngine(num_cpus), dataset, suite, signatures=signatures, max_bytes=max_bytes)


def score_spark(
    dataframe: DataFrame, suite: Suite, *, signatures: bool = False, max_bytes: int = MAX_BYTES
) -> DataFrame:
    """
    Score a Spark DataFrame with a suite.

    Parameters
    ----------
    dataframe
        The DataFrame. Nothing is read before the result is.
    suite, signatures, max_bytes
        As in `score_ray`, with a partition in the place of a block.

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
    return score_on(_SparkEngine(), dataframe, suite, signatures=signatures, max_bytes=max_bytes)


@dataclass(frozen=True)
class _RayEngine:
    """Ray Data, with so many processors for a task that scores."""

    num_cpus: int = 1

    def read_parquet(self, files: Sequence[str]) -> Dataset:
        import ray.data

        return ray.data.read_parquet(list(files))

    def write_parquet(self, data: Dataset, folder: str) -> None:
        data.write_parquet(folder)

    def schema(self, data: Dataset) -> pa.Schema:
        """Return the schema; where only reading tells it, some is read."""
        schema = data.schema()
        if schema is None:
            raise ValueError("the dataset has no rows and no schema: there is nothing to score")
        return pa.schema(list(zip(schema.names, schema.types, strict=True)))

    def select(self, data: Dataset, columns: Sequence[str]) -> Dataset:
        return data.select_columns(list(columns))

    def map(self, data: Dataset, function: MapTables, schema: pa.Schema, *, keep: bool = False) -> Dataset:
        return _map(data, _each_block, function, num_cpus=self.num_cpus)

    def collect(self, data: Dataset) -> Iterator[pa.Table]:
        return iter(data.iter_batches(batch_size=None, batch_format="pyarrow"))


def _each_block(table: pa.Table, function: MapTables) -> Iterator[pa.Table]:
    yield from function([table])


def _map(dataset: Dataset, function: Any, *arguments: Any, num_cpus: int = 1) -> Dataset:
    options: dict[str, Any] = {"num_cpus": num_cpus}
    if num_cpus == 1:
        function, arguments = _alone(function, *arguments), ()
    else:
        options["runtime_env"] = {"env_vars": {THREADS: str(num_cpus)}}
    return dataset.map_batches(function, batch_format="pyarrow", fn_args=arguments, **options)


def _alone(function: Any, *arguments: Any) -> Callable[[pa.Table], Any]:
    """Return the function with its arguments, for a worker whose Polars has one thread.

    Ray sends a local function whole, so a worker can set the number before it imports Polars for the rest. An
    environment for these tasks would do too, but then they have processes of their own, which Ray starts and
    stops all the time where reading takes turns with scoring, and every block is copied between the two.
    """
    from ray import cloudpickle

    packed, variable = cloudpickle.dumps((function, arguments)), THREADS

    def run(table: pa.Table) -> Any:
        import os

        os.environ.setdefault(variable, "1")
        from ray import cloudpickle

        unpacked, given = cloudpickle.loads(packed)
        return unpacked(table, *given)

    run.__name__ = getattr(function, "__name__", "run")
    return run


class _SparkEngine:
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

    def map(
        self, data: DataFrame, function: MapTables, schema: pa.Schema, *, keep: bool = False
    ) -> DataFrame:
        """Map partition by partition; columns that are kept have the types that Spark has."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

        made = StructType([*(data.schema if keep else ()), *from_arrow_schema(schema)])
        with _threads(data.sparkSession):
            return data.mapInArrow(lambda batches: _each_batch(batches, function), made)

    def collect(self, data: DataFrame) -> Iterator[pa.Table]:
        yield data.toArrow()


def _each_batch(batches: Iterable[pa.RecordBatch], function: MapTables) -> Iterator[pa.RecordBatch]:
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


# By the name that the command and `score_parquet` take.
ENGINES: dict[str, Callable[[], Engine[Any]]] = {"ray": _RayEngine, "spark": _SparkEngine}
# Whose data it is, by the package that the data's class is from.
PACKAGES = {"ray": "ray", "pyspark": "spark"}


def score_parquet(
    paths: PathOrAddress | Iterable[PathOrAddress],
    suite: Suite,
    output: PathOrAddress,
    *,
    engine: str,
    signatures: bool = True,
) -> None:
    """
    Score Parquet files with a suite on Ray or Spark, into a folder of Parquet files.

    Parameters
    ----------
    paths
        Files, folders or patterns. Addresses such as `s3://traces/` are the engine's to read.
    suite
        The suite.
    output
        The folder to write, which must not exist yet.
    engine
        `"ray"` takes the cluster that `RAY_ADDRESS` names, `"spark"` the session that is active or that
        the environment configures. Without these, both start on this machine.
    signatures
        Add `<name>_signature` columns: the files of a cluster have no metadata of ours.

    Examples
    --------
    >>> from polars_evals.cluster import score_parquet
    >>> suite = pe.Suite.load("evals.toml")  # doctest: +SKIP
    >>> score_parquet("traces/*.parquet", suite, "scored", engine="ray")  # doctest: +SKIP
    """
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {engine!r}")
    chosen = ENGINES[engine]()
    target = str(output)
    if "://" not in target and Path(target).exists():
        raise FileExistsError(f"{target} already exists; name a new folder for the scores")
    sources = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [file for one in sources for file in parquet_files(str(one))]
    data = score_on(chosen, chosen.read_parquet(files), suite, signatures=signatures, max_bytes=MAX_BYTES)
    chosen.write_parquet(data, target)


def engine_of(data: Any) -> Engine[Any]:
    """Return the engine that holds the data."""
    package = type(data).__module__.split(".")[0]
    if package not in PACKAGES:
        raise TypeError(
            f"expected a Ray Dataset or a Spark DataFrame, got {type(data).__name__}; "
            "polars_evals.compare and polars_evals.rank take Polars frames"
        )
    return ENGINES[PACKAGES[package]]()
