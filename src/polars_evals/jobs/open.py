"""Find the right kind of store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from polars_evals.jobs.delta import DeltaStore
from polars_evals.jobs.errors import StoreError
from polars_evals.jobs.folder import Folder, LocalFolder
from polars_evals.jobs.parquet import ParquetStore
from polars_evals.jobs.remote import RemoteFolder, is_remote
from polars_evals.jobs.store import Snapshot, Store, kind_of

STORES: dict[str, type[Store]] = {kind.format: kind for kind in (DeltaStore, ParquetStore)}


def open_folder(path: str | Path, storage_options: Mapping[str, str] | None = None) -> Folder:
    """Open a folder of this machine or of an object store, which need not exist yet."""
    if is_remote(str(path)):
        return RemoteFolder(str(path), storage_options)
    return LocalFolder(Path(path))


def open_store(folder: Folder, form: str) -> Store:
    """Open a store of a format, which need not exist yet."""
    return STORES[form](folder)


def find_store(path: str | Path, storage_options: Mapping[str, str] | None = None) -> Snapshot | None:
    """Read the last commit of a store; None if there is none."""
    folder = open_folder(path, storage_options)
    kind = kind_of(folder)
    return None if kind is None else open_store(folder, kind).read()


def read_store(path: str | Path, storage_options: Mapping[str, str] | None = None) -> Snapshot:
    """Read the last commit of a store."""
    snapshot = find_store(path, storage_options)
    if snapshot is None:
        raise StoreError(f"there is no store of scores at {str(path)!r}")
    return snapshot


def scan_store(path: str | Path, *, storage_options: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """
    Scan the scores that a job keeps, in either format.

    Parameters
    ----------
    path
        The folder that `path` in `[store]` names, on this machine or in an object store.
    storage_options
        How to get to the object store, as in `pl.scan_parquet`; without them the environment says it.

    Returns
    -------
    LazyFrame
        The rows of the last complete run, whatever a run does meanwhile.
    """
    return read_store(path, storage_options).scan()
