"""A store that is a Delta Lake table; its log is the commit.

The data files are written by Polars and committed with what they replace in one transaction, which also
carries the number of the state file, as the application's transaction identifier that Delta has for this.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.jobs.errors import JobError, StoreError
from polars_evals.jobs.store import KEPT, Part, Snapshot, State, Store, write_json

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

APPLICATION = "polars-evals"


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

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.library = deltalake()

    def exists(self) -> bool:
        """Whether the table has a log."""
        log = self.path / "_delta_log"
        return any(log.glob("*.json")) or any(log.glob("*.parquet"))

    def state_file(self, number: int) -> Path:
        """Name the state that a commit refers to."""
        return self.own / f"state-{number:016x}.json"

    def load(self) -> Snapshot:
        """Read the table's log and the state that it refers to."""
        table = self.library.DeltaTable(str(self.path))
        number = table.transaction_version(APPLICATION)
        if number is None:
            raise StoreError(
                f"{str(self.path)!r} is a Delta table, but no store of scores; name another folder"
            )
        state = State.from_dict(json.loads(self.state_file(number).read_text("utf-8")))
        actions = pl.DataFrame(table.get_add_actions(flatten=True))
        parts = tuple(
            Part(str(self.path / file), rows, size)
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
        from deltalake.transaction import (
            AddAction,
            CommitProperties,
            RemoveAction,
            Transaction,
            create_table_with_add_actions,
        )

        number, now = randbits(62), int(time.time() * 1000)
        write_json(self.state_file(number), state.to_dict())
        adds = [
            AddAction(Path(part.path).name, part.size, {}, now, True, json.dumps({"numRecords": part.rows}))
            for part in added
        ]
        removes = [
            RemoveAction(Path(part.path).name, deletion_timestamp=now, data_change=True) for part in removed
        ]
        # No retry on top of another run's commit: what this one did rests on the commit that it read.
        properties = CommitProperties(
            max_commit_retries=0, app_transactions=[Transaction(APPLICATION, number, now)]
        )
        wanted = delta_schema(self.library, schema)
        try:
            if before is None:
                create_table_with_add_actions(
                    str(self.path), wanted, adds, mode="error", name="scores", commit_properties=properties
                )
                return
            table: DeltaTable = self.library.DeltaTable(str(self.path), version=before.version)
            if len(removed) == len(before.parts) and not set(before.schema) <= set(schema):
                # All rows were written again, with other columns: the table takes over their schema.
                table.create_write_transaction(adds, "overwrite", wanted, commit_properties=properties)
                return
            new = [field for field in wanted.fields if field.name not in before.schema]
            if new:
                # Only adds columns, which are null everywhere: no reader sees other rows.
                table.alter.add_columns(new, commit_properties=CommitProperties(max_commit_retries=0))
            table.create_write_transaction([*adds, *removes], "append", wanted, commit_properties=properties)
        except self.library.exceptions.DeltaError as error:
            self.state_file(number).unlink(missing_ok=True)
            if self.exists() and (
                before is None or self.library.DeltaTable(str(self.path)).version() > before.version
            ):
                raise self.overtaken() from error
            raise StoreError(f"the store {str(self.path)!r} cannot be written: {error}") from error

    def tidy(self) -> None:
        """Keep the states of the last commits. Old data files are Delta's to vacuum."""
        states = sorted(self.own.glob("state-*.json"), key=lambda file: file.stat().st_mtime_ns)
        current = self.library.DeltaTable(str(self.path)).transaction_version(APPLICATION)
        for file in states[:-KEPT]:
            if file != self.state_file(current):
                file.unlink(missing_ok=True)


def delta_schema(library: Any, schema: Mapping[str, pl.DataType]) -> Schema:
    """Translate the columns."""
    return library.Schema.from_arrow(pl.Schema(schema))


def polars_schema(schema: Schema) -> dict[str, pl.DataType]:
    """Translate the columns back."""
    return dict(pl.Schema(schema.to_arrow()))
