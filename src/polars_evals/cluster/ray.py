"""Suites and comparisons on Ray Data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl
import pyarrow as pa

from polars_evals.cluster.batches import MAX_BYTES, THREADS
from polars_evals.cluster.engine import aggregate_on, rank_on, score_on
from polars_evals.cluster.steps import GROUP, item_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ray.data import Dataset

    from polars_evals.cluster.batches import Scorer
    from polars_evals.cluster.engine import MapTables
    from polars_evals.drift.parts import Aggregates, Ranking, RankOptions, SpecOptions
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
        The suite. The scores are those of ``suite.score``, to the last bit.
    signatures
        Also add ``<name>_signature``, which travels with the scores into any format.
    max_bytes
        How many bytes of a block are scored at once.
    num_cpus
        Processors of a task. Polars and the metrics use as many threads.

    Returns
    -------
    Dataset
        The columns of the dataset, then those of ``suite.score``. Labels are strings: Ray and Arrow have no
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


def aggregate_ray(
    dataset: Dataset,
    *,
    parts: int = 200,
    **compared: Unpack[SpecOptions],
) -> Aggregates:
    """
    Sum up a scored Ray dataset, to compare versions that no machine holds.

    Parameters
    ----------
    dataset
        The scored dataset. Only the columns that a comparison needs are shuffled.
    parts
        Into how many parts the items are shuffled. A part must fit a worker, with about 200 bytes a row.
    **compared
        As in `polars_evals.compare`. `by` names the columns. Without `candidate`, the version column is read
        first to find all others. `max_flips` (1,000) is how many flips and unmatched items to keep for each
        candidate and metric; all are counted.

    Examples
    --------
    >>> from polars_evals.cluster import aggregate_ray
    >>> aggregates = aggregate_ray(scored, version="model", baseline="v1", item="item_id")  # doctest: +SKIP
    >>> aggregates.compare(min_effect=0.005).verdict  # doctest: +SKIP
    'no_change'
    """
    return aggregate_on(RayEngine(), dataset, compared, parts=parts)


def rank_ray(dataset: Dataset, *, parts: int = 200, **ranked: Unpack[RankOptions]) -> Ranking:
    """
    Rank the versions of a scored Ray dataset.

    Parameters
    ----------
    dataset
        The scored data. Only the columns that a ranking needs are shuffled.
    parts
        Into how many parts the items are shuffled.
    **ranked
        As in `polars_evals.rank`, without `cluster`: clusters may lie in several parts.

    Examples
    --------
    >>> from polars_evals.cluster import rank_ray
    >>> rank_ray(scored, version="model", item="item_id").summary  # doctest: +SKIP
    """
    return rank_on(RayEngine(), dataset, ranked, parts=parts)


@dataclass(frozen=True)
class RayEngine:
    """Ray Data, with so many processors for a task that scores."""

    num_cpus: int = 1

    def read_parquet(self, files: Sequence[str]) -> Dataset:
        """Read files on the cluster that ``RAY_ADDRESS`` names."""
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

    def with_groups(self, data: Dataset, item: str, groups: int) -> Dataset:
        """Add the group of each row."""
        return _map(data, _add_group, item, groups)

    def map_groups(
        self,
        data: Dataset,
        function: Callable[[pa.Table], pa.Table],
        schema: pa.Schema,
        groups: int,
    ) -> Dataset:
        """Shuffle by group, and map."""
        grouped = data.groupby(GROUP, num_partitions=groups)
        return grouped.map_groups(_alone(function), batch_format="pyarrow", num_cpus=1)

    def run(self, data: Dataset) -> Dataset:
        """Run, and leave out empty blocks, which Ray cannot shuffle: they have lost their schema."""
        import ray

        blocks = data.to_arrow_refs()
        rows = ray.get([ray.remote(_count_rows).remote(block) for block in blocks])
        return ray.data.from_arrow_refs([block for block, count in zip(blocks, rows, strict=True) if count])

    def collect(self, data: Dataset) -> Iterator[pa.Table]:
        """Bring the blocks to the driver."""
        return iter(data.iter_batches(batch_size=None, batch_format="pyarrow"))


def _each(table: pa.Table, function: MapTables) -> Iterator[pa.Table]:
    yield from function([table])


def _add_group(table: pa.Table, item: str, parts: int) -> pa.Table:
    frame = pl.DataFrame(pl.from_arrow(table.select([item])))
    return table.append_column(GROUP, frame.select(item_groups(pl.col(item), parts)).to_series().to_arrow())


def _count_rows(table: pa.Table) -> int:
    return int(table.num_rows)


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
