"""A store of plain Parquet files; a numbered manifest is the commit."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import polars as pl

from polars_evals.jobs.store import KEPT, Part, Snapshot, State, Store, is_part, write_json


class ParquetStore(Store):
    """Data files, and manifests that list them; the one with the greatest number counts."""

    format = "parquet"

    def manifests(self) -> list[Path]:
        """List the manifests, oldest first."""
        return sorted(self.own.glob("manifest-*.json"))

    def exists(self) -> bool:
        """Whether there is a manifest."""
        return bool(self.manifests())

    def load(self) -> Snapshot:
        """Read the last manifest."""
        path = self.manifests()[-1]
        stored = json.loads(path.read_text("utf-8"))
        parts = tuple(
            Part(str(self.path / part["file"]), part["rows"], part["size"]) for part in stored["parts"]
        )
        schema = pl.read_parquet(b64decode(stored["schema"])).schema
        return Snapshot(stored["version"], State.from_dict(stored["state"]), parts, schema)

    def write_commit(
        self,
        before: Snapshot | None,
        state: State,
        schema: Mapping[str, pl.DataType],
        added: Sequence[Part],
        removed: Sequence[Part],
    ) -> None:
        """Write the next manifest."""
        version = 0 if before is None else before.version + 1
        gone = {part.path for part in removed}
        parts = [part for part in (before.parts if before else ()) if part.path not in gone]
        listed = [
            {"file": os.path.basename(part.path), "rows": part.rows, "size": part.size}
            for part in (*parts, *added)
        ]
        # An empty Parquet file states the columns: unlike Polars' own serialization, it outlives upgrades.
        pl.DataFrame(schema=schema).write_parquet(columns := BytesIO())
        manifest = {
            "version": version,
            "state": state.to_dict(),
            "parts": listed,
            "schema": b64encode(columns.getvalue()).decode(),
        }
        try:
            write_json(self.own / f"manifest-{version:010}.json", manifest)
        except FileExistsError:
            raise self.overtaken() from None

    def tidy(self) -> None:
        """Keep some commits for those who are reading them, and the files that they list."""
        *old, _ = self.manifests()
        for manifest in old[: max(0, len(old) + 1 - KEPT)]:
            manifest.unlink(missing_ok=True)
        named = {
            part["file"]
            for manifest in self.manifests()
            for part in json.loads(manifest.read_text("utf-8"))["parts"]
        }
        for file in self.path.iterdir():
            if is_part(file) and file.name not in named:
                file.unlink(missing_ok=True)
