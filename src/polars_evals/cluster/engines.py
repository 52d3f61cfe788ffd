"""The engines by name, and files that they score."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polars_evals.cluster.ray import RayEngine
from polars_evals.cluster.score import MAX_BYTES, score_on
from polars_evals.cluster.spark import SparkEngine
from polars_evals.suite.signature import parquet_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from polars_evals.cluster.score import Engine
    from polars_evals.suite import Suite

    PathOrAddress = str | PathLike[str]

# By the name that the command and `score_files` take.
ENGINES: dict[str, Callable[[], Engine[Any]]] = {"ray": RayEngine, "spark": SparkEngine}
# Whose data it is, by the package that the data's class is from.
PACKAGES = {"ray": "ray", "pyspark": "spark"}


def score_files(
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
    >>> from polars_evals.cluster import score_files
    >>> suite = pe.Suite.load("evals.toml")  # doctest: +SKIP
    >>> score_files("traces/*.parquet", suite, "scored", engine="ray")  # doctest: +SKIP
    """
    chosen = engine_named(engine)
    target = str(output)
    if "://" not in target and Path(target).exists():
        raise FileExistsError(f"{target} already exists; name a new folder for the scores")
    sources = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [file for one in sources for file in parquet_files(str(one))]
    data = score_on(chosen, chosen.read_parquet(files), suite, signatures=signatures, max_bytes=MAX_BYTES)
    chosen.write_parquet(data, target)


def engine_named(name: str) -> Engine[Any]:
    """Return an engine; its packages are imported when it first reads."""
    if name not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {name!r}")
    return ENGINES[name]()


def engine_of(data: Any) -> Engine[Any]:
    """Return the engine that holds the data."""
    package = type(data).__module__.split(".")[0]
    if package not in PACKAGES:
        raise TypeError(
            f"expected a Ray Dataset or a Spark DataFrame, got {type(data).__name__}; "
            "polars_evals.compare and polars_evals.rank take Polars frames"
        )
    return ENGINES[PACKAGES[package]]()
