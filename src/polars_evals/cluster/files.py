"""Score Parquet files into Parquet files on a cluster."""

from __future__ import annotations

import os
import sys
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from polars_evals.suite.signature import parquet_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_evals.suite import Suite

    Source = str | PathLike[str]

Engine = Literal["ray", "spark"]


def score_files(
    paths: Source | Iterable[Source], suite: Suite, output: Source, *, engine: Engine, signatures: bool = True
) -> None:
    """
    Score Parquet files with a suite on Ray or Spark, into a folder of Parquet files.

    Parameters
    ----------
    paths
        Files, folders or patterns. Addresses such as ``s3://traces/`` are the engine's to read.
    suite
        The suite.
    output
        The folder to write, which must not exist yet.
    engine
        ``"ray"`` takes the cluster that ``RAY_ADDRESS`` names, ``"spark"`` the session that is active or that
        the environment configures. Without these, both start on this machine.
    signatures
        Add ``<name>_signature`` columns: the files of a cluster have no metadata of ours.

    Examples
    --------
    >>> from polars_evals.cluster import score_files
    >>> suite = pe.Suite.load("evals.toml")  # doctest: +SKIP
    >>> score_files("traces/*.parquet", suite, "scored", engine="ray")  # doctest: +SKIP
    """
    if engine not in get_args(Engine):
        msg = f"engine must be one of {', '.join(map(repr, get_args(Engine)))}, got {engine!r}"
        raise ValueError(msg)
    target = str(output)
    if "://" not in target and Path(target).exists():
        msg = f"{target} exists already; give the scores a folder of their own"
        raise FileExistsError(msg)
    sources = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [file for one in sources for file in parquet_files(str(one))]
    if engine == "ray":
        import ray.data

        from polars_evals.cluster.ray import score_ray

        score_ray(ray.data.read_parquet(files), suite, signatures=signatures).write_parquet(target)
        return
    from pyspark.sql import SparkSession

    from polars_evals.cluster.spark import score_spark

    session = SparkSession.builder.getOrCreate()
    context = getattr(session, "_sc", None)
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        # Spark would take whatever `python3` is, which need not know this package.
        context.pythonExec = sys.executable
    score_spark(session.read.parquet(*files), suite, signatures=signatures).write.parquet(target)
