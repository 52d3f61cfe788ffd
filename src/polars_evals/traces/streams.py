"""Files of records as a lazy scan that reads only the fields that a query asks for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from polars_evals.traces.content import Kind
from polars_evals.traces.fields import FILE, LINE, NUMBER, Candidate, Field
from polars_evals.traces.platforms.base import Record
from polars_evals.traces.records import BATCH_BYTES, KEPT, record_frames
from polars_evals.traces.tables import BROKEN, folder_value, read_records


@dataclass(frozen=True)
class Stream:
    """Files of one platform's records."""

    hive: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]
    unpack: Callable[[Record, Record], Iterable[Record]] | None
    files: list[tuple[str, Kind]] = field(default_factory=list)
    schema: dict[str, pl.DataType] = field(default_factory=dict)
    # The fields that were asked for, and so must be read from the records.
    used: dict[str, Sequence[Candidate]] = field(default_factory=dict)
    # The source's own keys that were asked for, which unpacking must keep.
    kept: list[str] = field(default_factory=list)

    def field(self, places: Sequence[Candidate]) -> Field | None:
        """Find a field; folders named `key=value` stand in for keys that the records lack."""
        if not places:
            return None
        name = f"@{len(self.used)}"
        self.used[name] = list(places)
        folders = [pl.col(place.path) for place in places if place.path in self.hive]
        return Field(pl.coalesce(pl.col(name), *folders) if folders else pl.col(name), pl.String())

    def source_field(self, path: str, reading: str = "text") -> Field:
        """Find what a user names: a key or a path of the records as they are in the file."""
        if path in (FILE, LINE) or path in self.hive:
            return Field(pl.col(path), pl.String())
        places = [Candidate(path, reading)]
        if self.unpack is not None:
            self.kept.extend({path, path.partition(".")[0].partition("[")[0]} - set(self.kept))
            places = [Candidate(f"{KEPT}.{path}", reading), *places]
        found = self.field(places)
        assert found is not None
        return found

    def knows(self, name: str) -> bool:
        """Say whether a path begins with a key that was seen."""
        known = (*self.schema, *self.hive, FILE, LINE)
        return any(name.startswith(key) and name[len(key) :][:1] in ("", ".", "[") for key in known)

    def scan(self, storage_options: dict[str, Any] | None = None) -> pl.LazyFrame:
        """Scan the files: the fields that are used, as texts."""
        text = dict.fromkeys((*self.used, FILE, LINE, BROKEN), pl.String())
        schema = pl.Schema({**text, NUMBER: pl.Int64()})

        def source(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
        ) -> Iterator[pl.DataFrame]:
            wanted = list(schema) if columns is None else columns
            # Who wants a few rows need not wait for those of other files.
            for frame in self._frames(wanted, storage_options, BATCH_BYTES if rows is None else 0):
                found = frame if predicate is None else frame.filter(predicate)
                if rows is not None:
                    found = found.head(rows)
                    rows -= found.height
                yield found.select(wanted)
                if rows == 0:
                    return

        scan = register_io_source(source, schema=schema)
        return scan.with_columns(folder_value(key) for key in self.hive)

    def _frames(
        self, wanted: Sequence[str], storage_options: dict[str, Any] | None, at_once: int
    ) -> Iterator[pl.DataFrame]:
        fields = {name: places for name, places in self.used.items() if name in wanted}
        for found in self.records(storage_options, at_once=at_once):
            if fields or BROKEN in wanted:
                yield found.hstack(read_records(found.get_column(LINE), fields))
            else:
                yield found

    def records(
        self,
        storage_options: dict[str, Any] | None,
        *,
        at_once: int = BATCH_BYTES,
        passed: Container[str] = (),
    ) -> Iterator[pl.DataFrame]:
        """Read the records of the files; those of small files come together, up to some bytes.

        Of a file that is in `passed` by then, no more is read.
        """
        held, size = list[pl.DataFrame](), 0
        for file, kind in self.files:
            for frame in record_frames(
                file, kind, self.lists, self.unpack, kept=self.kept, storage_options=storage_options
            ):
                if file in passed:
                    break
                name = pl.Series(FILE, [file], pl.String).new_from_index(0, frame.height)
                held.append(frame.insert_column(frame.width, name))
                size += int(frame.estimated_size())
                if size >= at_once:
                    yield pl.concat(held)
                    held, size = [], 0
        if held:
            yield pl.concat(held)
