"""A third engine, as small as one can be: lists of Arrow tables in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars_evals.cluster.score import MapTables

Tables = list[pa.Table]


class LocalEngine:
    def read_parquet(self, files: Sequence[str]) -> Tables:
        return [pq.read_table(file) for file in files]

    def write_parquet(self, data: Tables, folder: str) -> None:
        Path(folder).mkdir()
        for number, table in enumerate(data):
            pq.write_table(table, f"{folder}/{number}.parquet")

    def schema(self, data: Tables) -> pa.Schema:
        return data[0].schema

    def select(self, data: Tables, columns: Sequence[str]) -> Tables:
        return [table.select(list(columns)) for table in data]

    def map(self, data: Tables, function: MapTables, schema: pa.Schema, *, keep: bool = False) -> Tables:
        mapped = [table for one in data for table in function([one])]
        made = pa.schema([*self.schema(data), *schema]) if keep else schema
        assert all(table.schema == made for table in mapped)
        return mapped

    def collect(self, data: Tables) -> Iterator[pa.Table]:
        return iter(data)
