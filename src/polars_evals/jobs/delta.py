"""A store that is a Delta Lake table; its log is the commit.

The data files are written by Polars and committed with what they replace in one transaction, which also
carries the number of the state file, as the application's transaction identifier that Delta has for this.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from secrets import randbits
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

import polars as pl

from polars_evals.jobs.errors import InputError, JobError, StoreError, is_failure
from polars_evals.jobs.folder import Folder
from polars_evals.jobs.store import KEPT, Part, Snapshot, State, Store, to_bytes
from polars_evals.traces.source import instance

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

APPLICATION = "polars-evals"

# What the library unquotes once too often, or takes for a separator, in the URL of a folder.
UNSAFE = re.compile(r"^file:.*%(25|5C)")

# Of lists and objects in each other; the log is JSON, whose readers stop at 128 levels.
DEEPEST = 30


def deltalake() -> Any:
    """Import the library, or say how to install it."""
    try:
        import deltalake
    except ModuleNotFoundError:
        raise JobError(
            "a Delta store needs the package deltalake: pip install 'polars-evals[jobs]', "
            'or choose plain files with format = "parquet" in [store]'
        ) from None
    return deltalake


class DeltaStore(Store):
    """A Delta table, and a state file for each of the last commits."""

    format = "delta"

    def __init__(self, folder: Folder) -> None:
        super().__init__(folder)
        self.library = deltalake()
        self.mirror: Path | None = None
        self.uses_mirror = False

    def table(self) -> DeltaTable:
        """Open the table."""
        options = dict(self.folder.options) if self.folder.options else None
        return self.library.DeltaTable(self.location(), storage_options=options)

    def location(self) -> str:
        """Return the URL of the table or, where the library would misread it, of a copy of its log."""
        if not self.uses_mirror and not UNSAFE.search(self.folder.url):
            return self.folder.url
        if self.mirror is None:
            self.mirror = Path(mkdtemp(prefix="polars-evals-"))
            finalize(self, shutil.rmtree, self.mirror, ignore_errors=True)
        log = self.mirror / "_delta_log"
        log.mkdir(exist_ok=True)
        for name in self.folder.files("_delta_log"):
            if not (log / name).exists():
                (log / name).write_bytes(self.folder.read(f"_delta_log/{name}"))
        return self.mirror.as_uri()

    def publish(self) -> None:
        """Give the table what was written to the copy of its log, unless another commit has that number."""
        mirror, self.mirror = self.mirror, None
        held = self.folder.files("_delta_log")
        for file in sorted(mirror.glob("_delta_log/*.json")) if mirror else []:
            if file.name not in held:
                self.folder.create(f"_delta_log/{file.name}", file.read_bytes())

    def exists(self) -> bool:
        """Whether the table has a log."""
        return any(name.endswith((".json", ".parquet")) for name in self.folder.files("_delta_log"))

    def load(self) -> Snapshot:
        """Read the table's log and the state that it refers to."""
        table = self.table()
        number = table.transaction_version(APPLICATION)
        if number is None:
            raise StoreError(
                f"{self.address!r} is a Delta table, but no store of scores; name another folder"
            )
        state = State.from_dict(json.loads(self.folder.read(state_file(number))))
        actions = pl.DataFrame(table.get_add_actions(flatten=True))
        parts = tuple(
            Part(self.folder.path(file), rows, size, self.folder.options)
            for file, rows, size in actions.select("path", "num_records", "size_bytes")
            .sort("path")
            .iter_rows()
        )
        return Snapshot(table.version(), state, parts, polars_schema(table.schema()))

    def write_commit(
        self,
        before: Snapshot | None,
        state: State,
        schema: Mapping[str, pl.DataType],
        added: Sequence[Part],
        removed: Sequence[Part],
    ) -> None:
        """Write one transaction."""
        number = randbits(62)
        self.folder.create(state_file(number), to_bytes(state.to_dict()))
        try:
            try:
                self.transact(before, number, schema, added, removed)
            except self.library.exceptions.DeltaError as error:
                # Some servers list nothing after a name that is the last; the log itself is fine.
                if "Invalid table version" not in str(error) or self.uses_mirror:
                    raise
                self.uses_mirror = True
                self.transact(before, number, schema, added, removed)
            self.publish()
        except BaseException as error:
            if is_failure(error) and not isinstance(error, StoreError) and self.table_is_newer(before):
                raise self.overtaken() from error
            raise

    def table_is_newer(self, than: Snapshot | None) -> bool:
        """Whether there has been a commit since one was read."""
        return self.exists() and (than is None or self.table().version() > than.version)

    def transact(
        self,
        before: Snapshot | None,
        number: int,
        schema: Mapping[str, pl.DataType],
        added: Sequence[Part],
        removed: Sequence[Part],
    ) -> None:
        """Commit files by their names."""
        from deltalake.transaction import (
            AddAction,
            CommitProperties,
            RemoveAction,
            Transaction,
            create_table_with_add_actions,
        )

        now = int(time.time() * 1000)
        adds = [
            AddAction(part.name, part.size, {}, now, True, json.dumps({"numRecords": part.rows}))
            for part in added
        ]
        removes = [RemoveAction(part.name, deletion_timestamp=now, data_change=True) for part in removed]
        # No retry on top of another run's commit: what this one did rests on the commit that it read.
        properties = CommitProperties(
            max_commit_retries=0, app_transactions=[Transaction(APPLICATION, number, now)]
        )
        wanted = delta_schema(self.library, schema)
        if before is None:
            create_table_with_add_actions(
                self.location(),
                wanted,
                adds,
                mode="error",
                name="scores",
                storage_options=dict(self.folder.options) if self.folder.options else None,
                commit_properties=properties,
            )
            return
        table = self.table()
        if table.version() != before.version:
            raise self.overtaken()
        changed = any(schema.get(name) != dtype for name, dtype in before.schema.items())
        if len(removed) == len(before.parts) and changed:
            # All rows were written again, with other columns: the table takes over their schema.
            table.create_write_transaction(adds, "overwrite", wanted, commit_properties=properties)
            return
        new = [field for field in wanted.fields if field.name not in before.schema]
        if new:
            # Only adds columns, which are null everywhere: no reader sees other rows.
            table.alter.add_columns(new, commit_properties=CommitProperties(max_commit_retries=0))
        table.create_write_transaction([*adds, *removes], "append", wanted, commit_properties=properties)

    def check_schema(self, schema: Mapping[str, pl.DataType]) -> None:
        """Refuse names that Delta Lake cannot hold or tell apart, and what its log cannot say."""
        check_names("columns", schema)
        for name, dtype in schema.items():
            check_nested(name, dtype, 0)

    def tidy(self) -> None:
        """Keep the states of the last commits. Data files that were replaced are Delta's to vacuum."""
        states = {
            f"_evals/{name}": entry.time_ns
            for name, entry in self.folder.files("_evals").items()
            if name.startswith("state-")
        }
        current = state_file(self.table().transaction_version(APPLICATION) or 0)
        oldest = sorted(states, key=lambda name: states[name])[:-KEPT]
        self.folder.remove(name for name in oldest if name != current)

    def vacuum(self, keep_days: float) -> int:
        """Remove the data files that were replaced so long ago, and old entries of the log."""
        hours = int(keep_days * 24)
        if self.location() != self.folder.url:
            named = {part.name for part in self.load().parts}
            return self.remove_abandoned(named, keep_days * 24 * 3600 * 10**9)
        table = self.table()
        gone = table.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False)
        table = self.table()
        table.create_checkpoint()
        table.cleanup_metadata()
        return len(gone)


def state_file(number: int) -> str:
    """Name the state that a commit refers to."""
    return f"_evals/state-{number:016x}.json"


def check_names(what: str, names: Iterable[str]) -> None:
    """Refuse names that Delta Lake cannot hold or tell apart."""
    seen = dict[str, str]()
    for name in names:
        if "\0" in name:
            raise InputError(
                f"the name {name!r} among the {what} has a null character, which a Delta table cannot hold; "
                'rename it, or choose format = "parquet" in [store]'
            )
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InputError(
                f"the {what} {other!r} and {name!r} differ only in case, which a Delta table does not know; "
                'rename one, or choose format = "parquet" in [store]'
            )


def check_nested(column: str, dtype: pl.DataType, depth: int) -> None:
    """Refuse objects inside of objects beyond what the table's log can be read back with."""
    if depth > DEEPEST:
        raise InputError(
            f"the column {column!r} is nested more than {DEEPEST} levels deep, which a Delta table cannot "
            'hold; keep it as text, or choose format = "parquet" in [store]'
        )
    if isinstance(dtype, pl.Struct):
        check_names(f"keys of {column!r}", [field.name for field in dtype.fields])
        for field in dtype.fields:
            check_nested(column, instance(field.dtype), depth + 1)
    elif isinstance(dtype, pl.List | pl.Array):
        check_nested(column, instance(dtype.inner), depth + 1)


def delta_schema(library: Any, schema: Mapping[str, pl.DataType]) -> Schema:
    """Translate the columns."""
    return library.Schema.from_arrow(pl.Schema(schema))


def polars_schema(schema: Schema) -> dict[str, pl.DataType]:
    """Translate the columns back."""
    return dict(pl.Schema(schema.to_arrow()))
