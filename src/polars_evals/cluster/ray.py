"""Suites on Ray Data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from polars_evals.cluster.score import MAX_BYTES, THREADS, score_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ray.data import Dataset

    from polars_evals.cluster.score import MapTables, Scorer
    from polars_evals.suite import Suite


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
    return score_on(RayEngine(num_cpus), dataset, suite, signatures=signatures, max_bytes=max_bytes)


@dataclass(frozen=True)
class RayEngine:
    """Ray Data, with so many processors for a task that scores."""

    num_cpus: int = 1

    def read_parquet(self, files: Sequence[str]) -> Dataset:
        """Read files on the cluster that `RAY_ADDRESS` names."""
        import ray.data

        return ray.data.read_parquet(list(files))

    def write_parquet(self, data: Dataset, folder: str) -> None:
        """Write one file or more for each block."""
        data.write_parquet(folder)

    def schema(self, data: Dataset) -> pa.Schema:
        """Return the schema; where only reading tells it, some is read."""
        schema = data.schema()
        if schema is None:
            raise ValueError("the dataset has no rows and no schema: there is nothing to score")
        return pa.schema(list(zip(schema.names, schema.types, strict=True)))

    def select(self, data: Dataset, columns: Sequence[str]) -> Dataset:
        """Take some columns."""
        return data.select_columns(list(columns))

    def score(self, data: Dataset, scorer: Scorer) -> Dataset:
        """Score block by block."""
        return _map(data, _each, scorer.score_all, num_cpus=self.num_cpus)

    def map(self, data: Dataset, function: MapTables, schema: pa.Schema) -> Dataset:
        """Map block by block."""
        return _map(data, _each, function)

    def collect(self, data: Dataset) -> Iterator[pa.Table]:
        """Bring the blocks to the driver."""
        return iter(data.iter_batches(batch_size=None, batch_format="pyarrow"))


def _each(table: pa.Table, function: MapTables) -> Iterator[pa.Table]:
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
