"""Find rows to delete: those that a newer row with the same key replaces, and those that are too old.

Newer is the greater value of the column `newest` if there is one, then the later time of the input file, then
its name, then the row in it. The order does not depend on runs, so that any division of the same inputs into
runs ends with the same table. Rows that are too old do not come back with their files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from polars_evals._errors import ConfigError, InputError
from polars_evals.drift.columns import as_text, version_text
from polars_evals.jobs.columns import SOURCE, Schema
from polars_evals.jobs.store import HASH, PART, Part, Parts, Snapshot, Writer, scan_parts
from polars_evals.wording import counted, listed, verb

if TYPE_CHECKING:
    from polars_evals.jobs.config import StoreConfig

# The time of a row, unless `time` in [store] names another column; without one, that of its file counts.
TIME, FILE_TIME = "ts", "source_time"

ROW = list(SOURCE)


def replaced_rows(
    live: Parts, staged: Parts, schema: Schema, config: StoreConfig, version: str | None = None
) -> pl.DataFrame:
    """Find the rows, old and new, that a newer row of the same key replaces.

    Only the keys' hashes of the new rows are held, 8 bytes each, and the keys of rows that are not alone.
    """
    key, newest = config.key, [config.newest] if config.newest else []
    order = [*newest, "source_time", "source_file", "source_row"]
    versions = [version] if version in schema and version not in key else []
    columns = list(dict.fromkeys([*key, *order, *versions, PART]))
    hashed = pl.struct(key).hash().alias(HASH)

    def rows_of(parts: Parts) -> pl.LazyFrame:
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
    again = rows_with(rows_of(staged), shared)
    for name in versions:
        _refuse_mixed(again, key, str(name))
    ranked = pl.concat([old, again]).sort(order, nulls_last=False)
    return ranked.filter(~ranked.select(pl.struct(key).is_last_distinct()).to_series()).select(*ROW, PART)


def _refuse_mixed(rows: pl.DataFrame, key: Sequence[str], version: str) -> None:
    """Refuse rows of one key that are of different versions: the comparison would lose one of them."""
    found = rows.group_by(*key).agg(pl.col(version).cast(pl.String).unique().sort())
    mixed = found.filter(pl.col(version).list.len() > 1).sort(*key)
    if mixed.is_empty():
        return
    first = mixed.row(0, named=True)
    named = ", ".join(f"{name} = {first[name]!r}" for name in key)
    raise InputError(
        f"{counted(mixed.height, 'key')} {verb(mixed.height, 'has', 'have')} rows of several {version}s, "
        f"such as {named}: {listed(first[version])}; a store keeps one row for each key, so that one "
        f"would be lost: add {version!r} to `key` in [store] and name another store"
    )


def without(writer: Writer, parts: Parts, schema: Schema, lost: pl.DataFrame) -> list[Part]:
    """Return data files without some rows, which `replaced_rows` found: each unchanged or written again."""
    lost_in = {str(path): rows for (path,), rows in lost.partition_by(PART, as_dict=True).items()}
    kept = list[Part]()
    for part in parts:
        gone = lost_in.get(part.path)
        if gone is not None:
            there = scan_parts([part], schema)
            rest = there.join(gone.lazy().select(ROW), on=ROW, how="anti", maintain_order="left")
        kept += [part] if gone is None else writer.write(rest, [part])
    return kept


@dataclass(frozen=True)
class Retention:
    """How long rows are kept, the column of their times, and the version that is always kept."""

    keep: str
    time: str | None = None
    spared: tuple[str, str | float] | None = None

    def limit(self) -> datetime:
        """Return the time before which rows are deleted: the start of a day, to rewrite files once a day."""
        now = pl.Series([datetime.now(UTC)])
        limit: datetime = now.dt.offset_by(f"-{self.keep}").dt.truncate("1d").item()
        return limit

    def column(self, schema: Schema) -> str:
        """Return the column of times, or raise if it holds no times."""
        name = self.time or (TIME if TIME in schema else FILE_TIME)
        if name not in schema:
            raise ConfigError(f"[store]: rows are kept by {name!r}, a column that the store does not have")
        if not isinstance(schema[name], pl.Date | pl.Datetime):
            raise ConfigError(
                f"[store]: rows are kept by {name!r}, which holds {schema[name]}; name a column of dates or "
                f'times with `time`, or take that of the input files: time = "{FILE_TIME}"'
            )
        return name

    def _is_spared(self, schema: Schema) -> pl.Expr:
        """Select the rows that are kept at any age."""
        if self.spared is None or self.spared[0] not in schema:
            return pl.lit(False)
        name, version = self.spared
        return as_text(schema, name).eq_missing(version_text(schema, name, version))


def check_keep(keep: str) -> str:
    """Raise unless the length of time is a day or more."""
    day = pl.Series([datetime(2000, 3, 1, tzinfo=UTC)])
    try:
        is_long = day.dt.offset_by(f"-{keep}").item() <= datetime(2000, 2, 29, tzinfo=UTC)
    except (pl.exceptions.PolarsError, OverflowError):
        is_long = False
    if not is_long:
        raise ValueError(f'rows are kept for a day or more, such as "90d", "12w" or "1y", got {keep!r}')
    return keep


def _is_older(schema: Schema, time: str, limit: datetime) -> pl.Expr:
    """Select the rows before a time. A row without a time has the time of its file."""
    zone = getattr(schema[time], "time_zone", None)
    moment = pl.col(time).cast(pl.Datetime("us", zone))
    moment = moment.dt.convert_time_zone("UTC") if zone else moment.dt.replace_time_zone("UTC")
    return pl.coalesce(moment, pl.col(FILE_TIME)) < limit


@dataclass(frozen=True)
class Expiry:
    """The rows to delete, their data files, and what the store records about it."""

    rows: pl.Expr
    counts: Mapping[str, int]
    forgotten: Mapping[str, str] | None = None
    # How many of the rows have come only now.
    fresh: int = 0
    # How many rows are too old, where these are all rows of the store.
    refused: int = 0

    @property
    def total(self) -> int:
        """The number of rows to delete."""
        return sum(self.counts.values())

    @property
    def notes(self) -> list[str]:
        """Notes about deleted rows, or about rows that were kept because all are too old."""
        if self.refused:
            return [
                f"kept {counted(self.refused, 'row')} although all are too old: deleting them would empty "
                f"the store; is the clock right? It says {datetime.now(UTC):%Y-%m-%d}"
            ]
        if not self.counts or self.forgotten is None:
            return []
        day = self.forgotten["before"][:10]
        return [f"deleted {counted(self.total, 'row')} older than {day} (by {self.forgotten['time']})"]

    def remaining(self, writer: Writer, parts: Parts, schema: Schema) -> list[Part]:
        """Return data files without the deleted rows: each unchanged, rewritten, or not at all."""
        kept = list[Part]()
        for part in parts:
            gone = self.counts.get(part.path, 0)
            if gone < part.rows:
                rest = scan_parts([part], schema).filter(~self.rows)
                kept += writer.write(rest, [part]) if gone else [part]
        return kept


def expire(
    retention: Retention | None,
    before: Snapshot | None,
    parts: Parts,
    schema: Schema,
    new: Sequence[str] = (),
) -> Expiry:
    """Find the rows to delete, also in the files that a run has read (`new`) and had read before."""
    known = before.state.forgotten if before else None
    again = [name for name in new if before and name in before.state.inputs]
    conditions, forgotten = list[pl.Expr](), known
    if retention is not None and schema:
        time, limit = retention.column(schema), retention.limit()
        conditions.append(_is_older(schema, time, limit))
        if known is None or known["before"] < limit.isoformat():
            forgotten = {"before": limit.isoformat(), "time": time}
    if known is not None and again and known["time"] in schema:
        limit = datetime.fromisoformat(known["before"])
        # A clock that was wrong once must not cost all that comes later.
        if limit <= datetime.now(UTC):
            conditions.append(pl.col("source_file").is_in(again) & _is_older(schema, known["time"], limit))
    if not conditions:
        return Expiry(pl.lit(False), {}, known)
    rows = pl.any_horizontal(conditions) & ~(retention._is_spared(schema) if retention else pl.lit(False))
    found = (
        scan_parts(parts, schema, include_file_paths=PART)
        .filter(rows)
        .group_by(PART)
        .agg(pl.len(), fresh=pl.col("source_file").is_in(list(new)).sum())
        .collect(engine="streaming")
    )
    counts = dict(found.select(PART, "len").iter_rows())
    if before is not None and before.rows and sum(counts.values()) == sum(part.rows for part in parts):
        # A clock that is wrong makes all rows look old.
        return Expiry(pl.lit(False), {}, known, refused=sum(counts.values()))
    return Expiry(rows, counts, forgotten if counts else known, int(found["fresh"].sum()))
