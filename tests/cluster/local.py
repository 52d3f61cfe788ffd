"""A third engine, as small as one can be: lists of Arrow tables in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from polars_evals.cluster.steps import GROUP, item_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polars_evals.cluster.batches import Scorer
    from polars_evals.cluster.engine import MapTables

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

    def score(self, data: Tables, scorer: Scorer) -> Tables:
        return self.map(data, scorer.score_all, scorer.schema)

    def map(self, data: Tables, function: MapTables, schema: pa.Schema) -> Tables:
        mapped = [table for one in data for table in function([one])]
        assert all(table.schema == schema for table in mapped)
        return mapped

    def with_groups(self, data: Tables, item: str, groups: int) -> Tables:
        frames = [pl.DataFrame(pl.from_arrow(table.select([item]))) for table in data]
        added = [frame.select(item_groups(pl.col(item), groups)).to_series().to_arrow() for frame in frames]
        return [table.append_column(GROUP, column) for table, column in zip(data, added, strict=True)]

    def map_groups(
        self, data: Tables, function: Callable[[pa.Table], pa.Table], schema: pa.Schema, groups: int
    ) -> Tables:
        whole = pa.concat_tables(data)
        found = [
            function(whole.filter(pa.compute.equal(whole[GROUP], group))) for group in whole[GROUP].unique()
        ]
        assert all(table.schema == schema for table in found)
        assert groups > 0
        return found

    def run(self, data: Tables) -> Tables:
        return data

    def collect(self, data: Tables) -> Iterator[pa.Table]:
        return iter(data)
