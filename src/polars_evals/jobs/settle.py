"""One row a key: of several, the newest counts, whatever the order in which they came.

Newer is the greater value of the column `newest` if there is one, then the later time of the input file, then
its name, then the row in it. The order does not depend on runs, so that any division of the same inputs into
runs ends with the same table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals.jobs.schema import SOURCE
from polars_evals.jobs.store import Part, scan_parts, write_parts

ROW = list(SOURCE)
HASH, PART = "__key_hash", "__part"


def outdated(
    live: Sequence[Part],
    staged: Sequence[Part],
    schema: Mapping[str, pl.DataType],
    *,
    key: Sequence[str],
    newest: str | None,
) -> pl.DataFrame:
    """Find the rows, old and new, that a newer row of the same key replaces.

    Only the keys' hashes of the new rows are held, 8 bytes each, and the keys of rows that are not alone.
    """
    order = [*([newest] if newest else []), "source_time", "source_file", "source_row"]
    columns = list(dict.fromkeys([*key, *order, PART]))
    hashed = pl.struct(key).hash().alias(HASH)

    def rows_of(parts: Sequence[Part]) -> pl.LazyFrame:
        return scan_parts(parts, schema, include_file_paths=PART).select(hashed, *columns)

    def rows_with(rows: pl.LazyFrame, hashes: pl.Series) -> pl.DataFrame:
        return rows.join(hashes.unique().to_frame().lazy(), on=HASH, how="semi").collect(engine="streaming")

    none = pl.DataFrame(schema={name: schema.get(name, pl.String()) for name in [*ROW, PART]})
    if not staged:
        return none
    new = rows_of(staged).select(HASH).collect(engine="streaming").get_column(HASH)
    old = rows_with(rows_of(live), new)
    shared = pl.concat([new.filter(new.is_duplicated()), old.get_column(HASH)])
    if shared.is_empty():
        return none
    ranked = pl.concat([old, rows_with(rows_of(staged), shared)]).sort(order, nulls_last=False)
    return ranked.filter(~ranked.select(pl.struct(key).is_last_distinct()).to_series()).select(*ROW, PART)


def without(
    part: Part,
    schema: Mapping[str, pl.DataType],
    folder: Path,
    metadata: Mapping[str, str],
    *,
    rows: pl.DataFrame | None = None,
    wanted: pl.Expr | None = None,
) -> list[Part]:
    """Write a data file again without some of its rows, or with those alone that are wanted."""
    kept = scan_parts([part], schema)
    if rows is not None:
        kept = kept.join(rows.lazy().select(ROW), on=ROW, how="anti", maintain_order="left")
    if wanted is not None:
        kept = kept.filter(wanted)
    written = write_parts(kept, folder / uuid4().hex, metadata, read=[part])
    return [part for part in written if part.rows]
