"""Suites and comparisons on Ray Data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from polars_evals.cluster.aggregates import Aggregates
from polars_evals.cluster.batches import MAX_BYTES, THREADS, Scorer, polars_type
from polars_evals.cluster.merging import merge
from polars_evals.cluster.plan import Plan, make_plan
from polars_evals.cluster.steps import (
    GROUP,
    item_groups,
    merge_messages,
    read_messages,
    sum_up_tables,
)
from polars_evals.drift.compare import count_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ray.data import Dataset

    from polars_evals.drift.compare import By
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
    scorer = Scorer.of(suite, _arrow_schema(dataset), signatures=signatures, max_bytes=max_bytes)
    return _map(dataset, _score, scorer, num_cpus=num_cpus)


def aggregate_ray(
    dataset: Dataset,
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
    Sum up a scored Ray dataset, to compare versions that no machine holds.

    Parameters
    ----------
    dataset
        The scored dataset. Only the columns that a comparison needs are shuffled.
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
    >>> from polars_evals.cluster import aggregate_ray
    >>> aggregates = aggregate_ray(scored, version="model", baseline="v1", item="item_id")  # doctest: +SKIP
    >>> aggregates.compare(min_effect=0.005).verdict  # doctest: +SKIP
    'no_change'
    """
    arrow = _arrow_schema(dataset)
    schema = {field.name: polars_type(field.type) for field in arrow}

    def versions() -> pl.DataFrame:
        counted = _map(dataset.select_columns([version]), _count, version)
        frames = [pl.DataFrame(pl.from_arrow(table)) for table in _tables(counted)]
        return pl.concat(frames).group_by("version").agg(pl.col("len").sum()).sort("version")

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
    rows = dataset.select_columns(plan.needed(arrow.names))
    if item is None:
        messages = _map(rows, _sum_up, plan, parts)
    else:
        grouped = _map(rows, _add_group, item, parts).groupby(GROUP, num_partitions=parts)
        messages = grouped.map_groups(_alone(_sum_up, plan, parts), batch_format="pyarrow", num_cpus=1)
    grouped = _filled(messages).groupby(GROUP, num_partitions=parts)
    merged = grouped.map_groups(_alone(merge_messages), batch_format="pyarrow", num_cpus=1)
    return merge(read_messages(_tables(merged)))


def _score(table: pa.Table, scorer: Scorer) -> Iterator[pa.Table]:
    yield from scorer.score_all([table])


def _count(table: pa.Table, version: str) -> pa.Table:
    frame = pl.DataFrame(pl.from_arrow(table)).lazy()
    return count_versions(frame, frame.collect_schema(), version).to_arrow()


def _add_group(table: pa.Table, item: str, parts: int) -> pa.Table:
    frame = pl.DataFrame(pl.from_arrow(table.select([item])))
    return table.append_column(GROUP, frame.select(item_groups(pl.col(item), parts)).to_series().to_arrow())


def _sum_up(table: pa.Table, plan: Plan, parts: int) -> pa.Table:
    return sum_up_tables([table], plan, parts)


def _filled(dataset: Dataset) -> Dataset:
    """Run a dataset and leave out its empty blocks, which Ray cannot shuffle: they have lost their schema."""
    import ray

    blocks = dataset.to_arrow_refs()
    rows = ray.get([ray.remote(_count_rows).remote(block) for block in blocks])
    return ray.data.from_arrow_refs([block for block, count in zip(blocks, rows, strict=True) if count])


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

    run.__name__ = function.__name__
    return run


def _tables(dataset: Dataset) -> Iterator[pa.Table]:
    return iter(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))


def _arrow_schema(dataset: Dataset) -> pa.Schema:
    schema = dataset.schema()
    if schema is None:
        msg = "the dataset has no rows and no schema: there is nothing to score"
        raise ValueError(msg)
    return pa.schema(list(zip(schema.names, schema.types, strict=True)))
