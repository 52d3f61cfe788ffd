"""Find the right kind of store."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from polars_evals.jobs.errors import StoreError
from polars_evals.jobs.store import Snapshot, Store


def kind_of(path: Path) -> str | None:
    """Tell the format of the store in a folder; None if there is none."""
    if (path / "_delta_log").is_dir():
        return "delta"
    return "parquet" if any((path / "_evals").glob("manifest-*.json")) else None


def open_store(path: Path, form: str) -> Store:
    """Open a store of a format, which need not exist yet."""
    if form == "delta":
        from polars_evals.jobs.delta import DeltaStore

        return DeltaStore(path)
    from polars_evals.jobs.parquet import ParquetStore

    return ParquetStore(path)


def read_store(path: str | Path) -> Snapshot:
    """Read the last commit of a store."""
    kind = kind_of(Path(path))
    snapshot = None if kind is None else open_store(Path(path), kind).read()
    if snapshot is None:
        raise StoreError(f"there is no store of scores at {str(path)!r}")
    return snapshot


def scan_store(path: str | Path) -> pl.LazyFrame:
    """
    Scan the scores that a job keeps, in either format.

    Parameters
    ----------
    path
        The folder that `path` in `[store]` names.

    Returns
    -------
    LazyFrame
        The rows of the last complete run, whatever a run does meanwhile.
    """
    return read_store(path).scan()
