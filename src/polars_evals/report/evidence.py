"""The items behind the verdicts: which of them go into a page, and how they are packed."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.columns import as_text, item_key
from polars_evals.drift.inference.decide import VERDICTS
from polars_evals.drift.pair import slice_name
from polars_evals.report.markup import reveal
from polars_evals.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars_evals.drift import Comparison

# Packed characters of all items together, and characters of one text; what goes beyond is left out, and said.
BUDGET, NOTEBOOK_BUDGET = 600_000, 250_000
LONGEST = 5_000
# Rows of slices that choose items, worst first.
MOST_JUDGED = 200
# Items that stand in the page also without its script.
WORST = 3
_SIDES = ("baseline", "candidate")


@dataclass(frozen=True)
class Evidence:
    """
    Items with their scores and texts, packed.

    Attributes
    ----------
    packed
        Lines of JSON, the first about all items, deflated, in base 64: no text in it can be read as markup.
    shown, total
        How many items are in it, and how many there are.
    worst
        The lines of the first items.
    """

    packed: str
    shown: int
    total: int
    worst: tuple[list[Any], ...]


def evidence(comparison: Comparison, budget: int = BUDGET) -> Evidence | None:
    """Return the items that explain the verdicts, as many as there is room for; None without any."""
    spec = comparison.spec
    if spec.item is None:
        return None
    rows = _rows(comparison)
    if rows.is_empty():
        return None
    places = _places(comparison, rows)
    order = _order(comparison, rows, places)
    lines = _lines(comparison, rows, places, order)
    packer = zlib.compressobj(9)
    kept = [_json(_about(comparison, places))]
    room, worst = budget * 3 // 4, list[list[Any]]()
    for line in lines:
        text = _json(line)
        room -= len(packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))
        if room < 0 and worst:
            break
        kept.append(text)
        worst += [line] if len(worst) < WORST else []
    packed = b64encode(zlib.compress(b"\n".join(kept), 9)).decode()
    return Evidence(packed, len(kept) - 1, len(order), tuple(worst))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _rows(comparison: Comparison) -> pl.DataFrame:
    """Return a row for each candidate, metric and item; merged aggregates have only those that flipped."""
    if comparison.table is None:
        rows = comparison.flips.with_columns(item=pl.col("item").cast(pl.String))
    else:
        rows = comparison.items.select(
            "candidate", "metric", "item", "difference",
            *(f"{side}_{what}" for what in ("score", "label") for side in _SIDES),
        ).collect()  # fmt: skip
    worse = [name for name in comparison.spec.names if lower_is_better(comparison, name)]
    gain = pl.when(pl.col("metric").is_in(worse)).then(-pl.col("difference")).otherwise("difference")
    return rows.with_columns(gain=gain)


def lower_is_better(comparison: Comparison, metric: str) -> bool:
    """Tell whether less of a metric is better."""
    return bool(_measure(comparison, metric).get("lower_is_better", False))


def unit(comparison: Comparison, metric: str) -> str:
    """Return the unit of a metric, empty for a score."""
    return str(_measure(comparison, metric).get("unit") or "")


def _measure(comparison: Comparison, metric: str) -> dict[str, Any]:
    measures = getattr(comparison.spec, "measures", None) or {}
    found = dict(measures).get(metric)
    return {} if found is None else dict(found) if isinstance(found, dict) else dict(vars(found))


def _places(comparison: Comparison, rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each item with the slices that it lies in, a column for each set of slices."""
    table, spec = comparison.table, comparison.spec
    if table is None:
        return rows.select("item").unique(maintain_order=True)
    schema = table.collect_schema()
    sets = _sets(comparison, list(schema))
    names = sorted({name for group in sets for name in group})
    assert spec.item is not None
    traits = (
        table.select(
            item_key(schema, spec.item).alias("item"),
            *(as_text(schema, name).alias(f"by:{at}") for at, name in enumerate(names)),
        )
        .group_by("item", maintain_order=True)
        .agg(pl.all().drop_nulls().first())
        .collect()
    )
    columns = {name: traits[f"by:{at}"].to_list() for at, name in enumerate(names)}
    found = traits.select("item").with_columns(
        pl.Series(
            ", ".join(group),
            [slice_name(group, values) for values in zip(*(columns[name] for name in group), strict=True)],
            dtype=pl.String,
        )
        for group in sets
    )
    return (
        rows.select("item")
        .unique(maintain_order=True)
        .join(found, on="item", how="left", maintain_order="left")
    )


def _sets(comparison: Comparison, known: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns of each set of slices; those that a search found are read from their rows."""
    if not comparison.spec.automatic:
        return list(comparison.spec.slices)
    found = comparison.slices["by"].drop_nulls().unique(maintain_order=True)
    sets = ((by,) if by in known else tuple(by.split(", ")) for by in found)
    return [group for group in sets if all(name in known for name in group)]


def _order(comparison: Comparison, rows: pl.DataFrame, places: pl.DataFrame) -> list[str]:
    """
    Return the items, those that explain most first.

    Notes
    -----
    In each row that regressed or improved, the greatest losses and the greatest gains are taken at the same
    pace, so that any number of items shows both in the share that they have. Other items that moved
    follow in the same way, and then those that did not.
    """
    judged = pl.concat([comparison.summary, comparison.slices], how="diagonal").filter(
        pl.col("verdict").is_in(["regressed", "improved"])
    )
    ranked = [rows.select("item", share=1 + _share("candidate", "metric"))]
    sets = [name for name in places.columns if name != "item"]
    located = rows.join(places, on="item", how="left", maintain_order="left")
    parts = located.partition_by("candidate", "metric", as_dict=True)
    for row in judged.sort("verdict", "q_value", nulls_last=True).head(MOST_JUDGED).iter_rows(named=True):
        mine = parts.get((row["candidate"], row["metric"]), located.clear())
        if row["slice"] is not None:
            here = [pl.col(name) == row["slice"] for name in sets]
            mine = mine.filter(pl.any_horizontal(here)) if here else mine.clear()
        ranked.append(mine.select("item", share=_share()))
    # Of what did not move, any: by a hash, so that neighbours in the table are not together.
    first = pl.concat(ranked).group_by("item").agg(pl.col("share").min())
    return first.sort("share", pl.col("item").hash(), "item")["item"].to_list()


def _share(*over: str) -> pl.Expr:
    """Return the place of an item among those that moved the same way, from 0 to 1; 1 if it did not move."""
    side = pl.col("gain").sign()
    rank = pl.col("gain").abs().rank("ordinal", descending=True).over(*over, side)
    moved = rank / pl.len().over(*over, side)
    return pl.when(side == 0).then(1.0).otherwise(moved * 0.999).fill_null(1.0)


def _about(comparison: Comparison, places: pl.DataFrame) -> dict[str, Any]:
    """Return what all items share: the names that they number, and the verdicts."""
    spec = comparison.spec
    sets = [name for name in places.columns if name != "item"]
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal")
    return {
        "versions": [shown(name) for name in spec.versions],
        "metrics": [
            {
                "name": shown(name),
                "lower": lower_is_better(comparison, name),
                "unit": unit(comparison, name),
                "measure": name in spec.measures,
            }
            for name in spec.names
        ],
        "sets": [
            {"name": shown(name), "values": [shown(one) for one in places[name].drop_nulls().unique().sort()]}
            for name in sets
        ],
        "verdicts": VERDICTS,
        "rows": [
            [
                spec.versions.index(row["candidate"]), spec.names.index(row["metric"]),
                None if row["slice"] is None else shown(row["slice"]), VERDICTS.index(row["verdict"]),
            ]
            for row in rows.iter_rows(named=True)
            if row["metric"] in spec.names
        ],
    }  # fmt: skip


def _lines(
    comparison: Comparison, rows: pl.DataFrame, places: pl.DataFrame, order: Sequence[str]
) -> Iterator[list[Any]]:
    """Return an item after the other: name, slices, scores, labels, input, expected answer, answers."""
    spec = comparison.spec
    versions, metrics = spec.versions, spec.names
    sets = [name for name in places.columns if name != "item"]
    # So many items at once that few are read in vain.
    for start in range(0, len(order), 500):
        chosen = list(order[start : start + 500])
        wanted = pl.col("item").is_in(chosen)
        scores: dict[str, Any] = {}
        for row in rows.filter(wanted).iter_rows(named=True):
            values, labels = scores.setdefault(
                row["item"], tuple([[None] * len(versions) for _ in metrics] for _ in range(2))
            )
            at, own = metrics.index(row["metric"]), versions.index(row["candidate"])
            for place, side in ((0, "baseline"), (own, "candidate")):
                values[at][place] = _rounded(row[f"{side}_score"])
                labels[at][place] = {"pass": 1, "fail": 0}.get(row[f"{side}_label"])
        slices = {
            row["item"]: [row[name] for name in sets] for row in places.filter(wanted).iter_rows(named=True)
        }
        texts = _texts(comparison, chosen)
        for item in chosen:
            values, labels = scores[item]
            yield [
                shown(item), [None if one is None else shown(one) for one in slices[item]],
                values, labels, *texts.get(item, [None, None, [None] * len(versions)]),
            ]  # fmt: skip


def _texts(comparison: Comparison, chosen: Sequence[str]) -> dict[str, list[Any]]:
    """Return input, expected answer and the answers of all versions of some items."""
    spec = comparison.spec
    if comparison.table is None:
        found: dict[str, list[Any]] = {}
        for row in comparison.flips.filter(pl.col("item").cast(pl.String).is_in(chosen)).iter_rows(
            named=True
        ):
            of = found.setdefault(
                str(row["item"]), [_text(row["input"]), _text(row["expected"]), [None] * len(spec.versions)]
            )
            of[2][0] = _text(row["baseline_output"])
            of[2][spec.versions.index(row["candidate"])] = _text(row["candidate_output"])
        return found
    outputs = [f"output_{version}" for version in spec.versions]
    frame = (
        comparison.items.select("item", "input", "expected", *outputs)
        .filter(pl.col("item").is_in(chosen))
        .unique("item")
        .collect()
    )
    return {
        item: [_text(before), _text(expected), [_text(one) for one in answers]]
        for item, before, expected, *answers in frame.iter_rows()
    }


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, list):
        value = "\n".join("–" if one is None else str(one) for one in value)
    return clean(reveal(str(value)), LONGEST)


def shown(name: Any) -> str:
    """Return a name as the page shows it."""
    return clean(reveal(str(name)), 200)


def _rounded(value: float | None) -> float | None:
    if value is None:
        return None
    return round(value, 4) if abs(value) < 100 else float(f"{value:.6g}")
