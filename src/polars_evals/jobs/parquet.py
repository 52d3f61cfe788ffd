"""A store of plain Parquet files; a numbered manifest is the commit."""

from __future__ import annotations

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import polars as pl

from polars_evals.jobs.store import KEPT, Part, Snapshot, State, Store, is_manifest, to_bytes

DAY_NS = 24 * 3600 * 10**9


class ParquetStore(Store):
    """Data files, and manifests that list them; the one with the greatest number counts."""

    format = "parquet"

    def manifests(self) -> list[str]:
        """List the manifests, oldest first."""
        return [f"_evals/{name}" for name in sorted(self.folder.files("_evals")) if is_manifest(name)]

    def manifest(self, name: str) -> dict[str, Any]:
        """Read a manifest."""
        return dict(json.loads(self.folder.read(name)))

    def exists(self) -> bool:
        """Whether there is a manifest."""
        return bool(self.manifests())

    def load(self) -> Snapshot:
        """Read the last manifest."""
        stored = self.manifest(self.manifests()[-1])
        parts = tuple(
            Part(self.folder.path(part["file"]), part["rows"], part["size"], self.folder.options)
            for part in stored["parts"]
        )
        schema = pl.read_parquet(b64decode(stored["schema"])).schema
        state = State.from_dict(stored["state"])
        return Snapshot(stored["version"], state, parts, schema)

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
        # An empty Parquet file states the columns: unlike Polars' own serialization, it outlives upgrades.
        pl.DataFrame(schema=schema).write_parquet(columns := BytesIO())
        manifest = {
            "version": version,
            "state": state.to_dict(),
            "parts": [{"file": part.name, "rows": part.rows, "size": part.size} for part in (*parts, *added)],
            "schema": b64encode(columns.getvalue()).decode(),
        }
        try:
            self.folder.create(f"_evals/manifest-{version:010}.json", to_bytes(manifest))
        except FileExistsError:
            raise self.overtaken() from None

    def tidy(self) -> None:
        """Keep some commits for those who are reading them, and the files that they list."""
        manifests = self.manifests()
        names = {one: {part["file"] for part in self.manifest(one)["parts"]} for one in manifests}
        kept = set[str]().union(*(names[one] for one in manifests[-KEPT:]))
        for one in manifests[:-KEPT]:
            self.folder.remove([one, *(names[one] - kept)])
        self.remove_abandoned(kept)

    def vacuum(self, keep_days: float) -> int:
        """Remove the commits before the last one that are so old, and the files that only they list."""
        held = self.folder.files("_evals")
        *old, last = self.manifests()
        limit = time.time_ns() - keep_days * DAY_NS
        gone = [one for one in old if held[one.removeprefix("_evals/")].time_ns < limit]
        self.folder.remove(gone)
        kept = [self.manifest(one)["parts"] for one in [*(one for one in old if one not in gone), last]]
        return self.remove_abandoned({part["file"] for parts in kept for part in parts}, keep_days * DAY_NS)
