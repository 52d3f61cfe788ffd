"""What people say: choose items for them to rate, and read their ratings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.components import UNSURE, labels_of, require_texts
from polars_evals.drift.spec import WEIGHT
from polars_evals.storage.paths import expand
from polars_evals.wording import counted, listed, shown, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_evals.drift.columns import Frame
    from polars_evals.drift.inference import Floats
    from polars_evals.storage.paths import Paths

Strategy = Literal["uncertain", "random", "stratified"]
# The column that labels of a frame become.
PEOPLE_LABEL = "people_label"
# Uncertain items are drawn with a chance that grows with this much added: certain ones are drawn as well.
LEAST = 0.2
# No item is taken for sure, so that the weights stay small and the labels speak for all items.
MOST = 0.9
COLUMNS: dict[str, Any] = {
    "item_id": pl.String, "version": pl.String, "label": pl.Enum(columns.LABELS), "note": pl.String,
    "rater": pl.String, "ts": pl.Datetime("us", "UTC"), "weight": pl.Float64,
}  # fmt: skip


def sample_items(
    scored: Frame,
    n: int = 100,
    *,
    item: str = "item_id",
    strategy: Strategy = "uncertain",
    by: Sequence[str] | str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """
    Draw items for people to rate.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame with a column `<name>_score` for each metric (`"uncertain"` needs one).
    n
        The number of items to draw. If there are fewer, all are drawn.
    item
        Column that identifies the test case.
    strategy
        `"uncertain"` draws uncertain items more often: those with scores far from 0 and 1, and those whose
        versions differ. `"random"` gives all items the same chance. `"stratified"` draws the same number
        from each value of `by`, so that rare values are rated too.
    by
        Columns of the strata, with one value for each item.
    seed
        Fixes the draw. The order of the rows does not matter.

    Returns
    -------
    DataFrame
        The rows of the drawn items, of all their versions, with `weight`: 1 / the chance of the item to be
        drawn. `compare(truth=…)` uses it, so that the labels represent all items.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_evals as pe
    >>> scored = pl.DataFrame(
    ...     {
    ...         "item_id": [*range(100), *range(100)],
    ...         "model": ["v1"] * 100 + ["v2"] * 100,
    ...         "judge_score": [0.9] * 150 + [0.5] * 50,
    ...     }
    ... )
    >>> sample = pe.sample_items(scored, 20)
    >>> sample["item_id"].n_unique(), sample.height
    (20, 40)
    >>> sample.group_by(pl.col("item_id") >= 50).agg(pl.col("weight").mean().round(2)).sort("item_id")
    shape: (2, 2)
    ┌─────────┬────────┐
    │ item_id ┆ weight │
    │ ---     ┆ ---    │
    │ bool    ┆ f64    │
    ╞═════════╪════════╡
    │ false   ┆ 7.86   │
    │ true    ┆ 3.67   │
    └─────────┴────────┘
    """
    if strategy not in get_args(Strategy):
        raise ValueError(f"strategy must be 'uncertain', 'random' or 'stratified', got {shown(strategy)}")
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n must be a whole number, at least 1, got {shown(n)}")
    strata = [by] if isinstance(by, str) else list(by or ())
    if (strategy == "stratified") != bool(strata):
        raise ValueError(
            'strategy="stratified" draws from the values of a column: by="topic"'
            if strategy == "stratified"
            else f'by is for strategy="stratified", not for {strategy!r}'
        )
    table = columns.lazy(scored)
    schema = table.collect_schema()
    columns.require(schema, item, "item")
    for name in strata:
        columns.require(schema, name, "by")
    if WEIGHT in schema:
        raise pl.exceptions.DuplicateError(f"the frame already has a column {WEIGHT!r}; drop or rename it")
    metrics = columns.find_metrics(schema, None) if strategy == "uncertain" else []
    rows = table.filter(pl.col(item).is_not_null()).collect(engine="streaming")
    if rows.is_empty():
        raise ValueError(f"no row has an item ({item})")
    items = _items(rows, item, metrics, strata)
    rng = np.random.default_rng(seed)
    size = items.height
    if n >= size:
        chance = np.ones(size)
    elif strategy == "uncertain":
        chance = _fill(LEAST + items["uncertain"].to_numpy(), max(MOST, n / size), n)
    elif strategy == "random":
        chance = np.full(size, n / size)
    else:
        # As many items from each stratum, and all of one that has fewer.
        stratum = items["stratum"].to_numpy()
        sizes = np.bincount(stratum).astype(np.float64)
        chance = (_fill(np.ones(len(sizes)), sizes, n) / sizes)[stratum]
    drawn = _draw(chance, rng) if n < size else np.ones(size, dtype=np.bool_)
    chosen = items.select(item, pl.Series(WEIGHT, 1 / chance)).filter(pl.Series(drawn))
    return rows.join(chosen, on=item, how="inner", maintain_order="left")


def _items(rows: pl.DataFrame, item: str, metrics: Sequence[str], strata: Sequence[str]) -> pl.DataFrame:
    """Return a row for each item in a fixed order, with how uncertain it is and the number of its stratum."""
    scores = [pl.col(f"{name}_score").cast(pl.Float64).clip(0, 1) for name in metrics]
    # How far scores are from sure, and how far versions are apart.
    unsure = [(4 * one * (1 - one)).max().fill_null(1.0) for one in scores]
    apart = [(one.max() - one.min()).fill_null(0.0) for one in scores]
    worst = [pl.max_horizontal(pair) for pair in zip(unsure, apart, strict=True)]
    uncertain = pl.mean_horizontal(worst) if worst else pl.lit(0.0)
    keys = [columns.trait(name) for name in strata]
    traits = [pl.col(name).cast(pl.String).min().alias(key) for name, key in zip(strata, keys, strict=True)]
    found = rows.group_by(item).agg(uncertain.alias("uncertain"), *traits).sort(item)
    if keys:
        found = found.with_columns(stratum=pl.struct(keys).rank("dense").cast(pl.Int64) - 1)
    return found


def _fill(wanted: Floats, most: Floats | float, n: int) -> Floats:
    """Return shares of n in proportion to what is wanted, none above its limit unless all are."""
    found: Floats = np.minimum(wanted / wanted.sum() * n, most)
    for _ in range(100):
        below = found < most
        lacking = n - found.sum()
        if lacking < 1e-9 or not below.any():
            break
        found = np.where(below, np.minimum(found * (1 + lacking / found[below].sum()), most), found)
    return found


def _draw(chance: Floats, rng: np.random.Generator) -> np.typing.NDArray[np.bool_]:
    """Draw each item with its chance, and as many in all as the chances add up to (systematic sampling)."""
    order = rng.permutation(len(chance))
    steps = np.floor(np.cumsum(chance[order]) + rng.random() + 1e-9)
    drawn = np.zeros(len(chance), dtype=np.bool_)
    drawn[order] = np.diff(steps, prepend=0.0) >= 1
    return drawn


def join_labels(table: pl.LazyFrame, labels: Frame, *, version: str, item: str | None) -> pl.LazyFrame:
    """
    Add people's labels to the rows of a table as `PEOPLE_LABEL`, with their weights.

    Several raters of an answer are averaged. Labels of items that the table does not have are an error.
    """
    if item is None:
        raise ValueError('truth: labels are joined by item; name the column: item="item_id"')
    given = columns.lazy(labels).collect()
    for name in ("item_id", "version", "label"):
        columns.require(given.schema, name, "truth")
    schema = table.collect_schema()
    columns.require(schema, item, "item")
    columns.require(schema, version, "version")
    if PEOPLE_LABEL in schema:
        raise pl.exceptions.DuplicateError(
            f"truth: the table already has a column {PEOPLE_LABEL!r}; rename it"
        )
    require_texts(given.lazy(), given.schema, "label")
    weight = pl.col(WEIGHT) if WEIGHT in given.columns else pl.lit(None, dtype=pl.Float64)
    keys = [f"item{columns.APART}", f"version{columns.APART}"]
    people = (
        given.select(
            pl.col("item_id").cast(pl.String).alias(keys[0]),
            pl.col("version").cast(pl.String).alias(keys[1]),
            labels_of(given.schema, "label").alias(PEOPLE_LABEL),
            weight.cast(pl.Float64).alias(WEIGHT),
        )
        .group_by(keys, maintain_order=True)
        .agg(pl.col(PEOPLE_LABEL).mean(), pl.col(WEIGHT).max())
    )
    table = table.with_columns(
        columns.item_key(schema, item).cast(pl.String).alias(keys[0]),
        columns.as_text(schema, version).alias(keys[1]),
    )
    there = table.select(keys).unique().collect()
    strangers = people.join(there, on=keys[0], how="anti", maintain_order="left")[keys[0]]
    if unknown := strangers.unique(maintain_order=True).to_list():
        raise ValueError(
            f"truth: {counted(len(unknown), 'labelled item')} {verb(len(unknown), 'is', 'are')} not in "
            f"column {item!r}, such as {listed(unknown, 3)}"
        )
    if people.join(there, on=keys, how="semi").is_empty():
        versions = people[keys[1]].unique().sort().to_list()
        raise ValueError(
            f"truth: the labels are of the versions {listed(versions)}, which {version!r} does not have"
        )
    table = table.drop(WEIGHT, strict=False)
    return table.join(people.lazy(), on=keys, how="left", maintain_order="left").drop(keys)


def read_labels(path: Paths) -> pl.DataFrame:
    """
    Read the ratings that people exported from a page.

    Parameters
    ----------
    path
        A file of JSON Lines, a folder or pattern of them, or a list of these.

    Returns
    -------
    DataFrame
        A row for each rated answer and rater, with `item_id`, `version`, `label` (`pass` or `fail`; null if
        the rater was not sure), `note`, `rater`, `ts` and `weight` (null if the page was not made from a
        sample). The last rating of a rater counts.

    Notes
    -----
    Labels may be numbers too; the column is then Float64.

    Examples
    --------
    >>> from pathlib import Path
    >>> import polars_evals as pe
    >>> line = '{"item_id": "a", "version": "v1", "label": "pass", "rater": "ann"}'
    >>> _ = Path("labels.jsonl").write_text(line)
    >>> pe.read_labels("labels.jsonl").select("item_id", "version", "label", "rater")
    shape: (1, 4)
    ┌─────────┬─────────┬───────┬───────┐
    │ item_id ┆ version ┆ label ┆ rater │
    │ ---     ┆ ---     ┆ ---   ┆ ---   │
    │ str     ┆ str     ┆ enum  ┆ str   │
    ╞═════════╪═════════╪═══════╪═══════╡
    │ a       ┆ v1      ┆ pass  ┆ ann   │
    └─────────┴─────────┴───────┴───────┘
    """
    records = []
    for file in expand(path, (".jsonl", ".ndjson", ".json")):
        with open(file, encoding="utf-8-sig") as lines:
            records += [_record(text, f"{file}, line {n}") for n, text in enumerate(lines, 1) if text.strip()]
    kinds = {type(one["label"]) for one in records}
    if {float, str} <= kinds:
        raise ValueError("the labels are texts in some lines and numbers in others; give one kind")
    schema = COLUMNS | ({"label": pl.Float64} if float in kinds else {})
    frame = pl.DataFrame(records, schema=schema | {"ts": pl.String}).with_columns(
        pl.col("ts").str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    )
    # Files may come in any order: the time says which rating is the last, where it is known.
    return frame.sort("ts", nulls_last=False, maintain_order=True).unique(
        ["item_id", "version", "rater"], keep="last", maintain_order=True
    )


def _record(text: str, where: str) -> dict[str, Any]:
    """Read one line."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(
            f"{where}: must be a JSON object with item_id, version and label, got {shown(text.strip())}"
        )
    for key in ("item_id", "version", "label"):
        if key not in found:
            raise ValueError(f'{where}: "{key}" is missing')
    for key in ("item_id", "version", "note", "rater", "ts"):
        value = found.get(key)
        found[key] = value if value is None or isinstance(value, str) else json.dumps(value)
    weight = found.get("weight")
    if weight is not None:
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not weight > 0:
            raise ValueError(f'{where}: "weight" must be a number above 0, got {shown(weight)}')
        weight = float(weight)
    label = _label(found["label"], where)
    return {key: found.get(key) for key in COLUMNS} | {"weight": weight, "label": label}


def _label(label: object, where: str) -> str | float | None:
    if label is None or label == UNSURE:
        return None
    if isinstance(label, bool):
        return columns.LABELS[label]
    if isinstance(label, int | float):
        return float(label)
    if isinstance(label, str) and label in columns.LABELS:
        return label
    raise ValueError(f'{where}: "label" must be "pass", "fail", "unsure" or a number, got {shown(label)}')
