"""The items of a page: read once, put in the order of reading, and packed so that no text can act."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_evals.drift.columns import as_text, item_key, values_of
from polars_evals.drift.items import text_of
from polars_evals.drift.unanswered import (
    CUT_OFF,
    HAS_ANSWER,
    HELD_BACK,
    error_of,
    finish_of,
    scores_of_answers,
)
from polars_evals.report.numbers import common_prefix, middle_cut
from polars_evals.report.tables import rows_of
from polars_evals.wording import counted, reveal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from polars_evals.drift import Comparison
    from polars_evals.report.tables import Row

    Floats = npt.NDArray[np.float64]

# Bytes of a page where `items` is "auto"; items of a block; characters of a preview; zlib's level.
BUDGET, BLOCK, PREVIEW, LEVEL = 6_000_000, 64, 160, 4
# What a page needs beside its items, and the part of the budget that previews may take.
RESERVED, PREVIEW_SHARE = 400_000, 0.25
# Facts about an answer, in the order of their bits.
FACTS = (
    "error", "empty", "truncated", "filtered", "refusal", "other script", "JSON no longer valid", "fenced",
    "twice as long", "half as long",
)  # fmt: skip
# What traces say of a call, and the letter of its column in a block.
ABOUT = {
    "error": "e", "finish_reason": "f", "latency_ms": "l", "cost": "c", "trace_id": "t", "output_tokens": "o",
}  # fmt: skip
_REFUSAL = (
    r"(?i)^\W*(?:i(?:[’']m| am) (?:sorry|unable|not able)|sorry,|i (?:can[’']?t|cannot|can not|won[’']t)\b|"
    r"as an ai\b|unfortunately, i)"
)
_SCRIPTS = "Greek Cyrillic Hebrew Arabic Devanagari Bengali Tamil Thai Hiragana Katakana Han Hangul"
_OTHER_SCRIPT = "[" + "".join(rf"\p{{{name}}}" for name in _SCRIPTS.split()) + "]"


@dataclass(frozen=True)
class Packed:
    """The items of a page."""

    # What all items share, as JSON has it: versions, metrics, slices.
    about: dict[str, Any]
    # Deflated, in base 64: names with `about`; numbers; previews of answers; full texts, a word a block.
    head: str
    scores: str
    previews: str
    texts: str
    total: int
    with_text: int
    # The share of each version's answers with an error, cut off, and so on.
    rates: dict[str, list[float]]
    # What examples are chosen from: a row for each item, and scores by metric.
    frame: pl.DataFrame = field(repr=False)
    numbers: dict[str, Floats] = field(repr=False)
    # The facts about each answer, a column a version.
    flags: npt.NDArray[np.uint16] = field(repr=False)

    @property
    def lead(self) -> str:
        """The metric that the page opens with."""
        return str(self.about["metrics"][self.about["lead"]]["name"])

    def example(self, row: Row) -> dict[str, Any] | None:
        """Return one item that shows what a row of the comparison says, with short texts if there is one."""
        if row.metric not in self.numbers or row.candidate not in self.about["versions"]:
            return None
        place = self.about["versions"].index(row.candidate)
        values = self.numbers[row.metric]
        gain = (values[:, place] - values[:, 0]) * row.sign
        gain = gain if row.verdict == "regressed" else -gain
        if row.by is not None and f"by:{row.by}" in self.frame.columns:
            here = (self.frame[f"by:{row.by}"] == row.slice).fill_null(value=False).to_numpy()
            gain = np.where(here, gain, np.nan)
        worst = [at for at in np.argsort(gain, kind="stable")[:20].tolist() if gain[at] < 0]
        if not worst:
            return None
        found = self.frame[worst].select(
            "item", "input", "expected", before="output:0", after=f"output:{place}"
        )
        size = pl.sum_horizontal(pl.col("input", "expected", "before", "after").str.len_chars().fill_null(0))
        return found.sort(size, maintain_order=True).row(0, named=True)


def pack(
    comparison: Comparison,
    items: str | int = "auto",
    label: pl.DataFrame | None = None,
    *,
    budget: int = BUDGET,
) -> Packed | None:
    """Pack the items of a comparison; None where there are none."""
    spec = comparison.spec
    if spec.item is None:
        return None
    rows = _read(comparison)
    if rows.is_empty():
        return None
    versions = ranked(comparison)
    shared, parts = _aligned(rows, versions)
    numbers = {
        name: np.column_stack([part[f"{name}:score"].cast(pl.Float64).to_numpy() for part in parts])
        for name in spec.names
    }
    lead = _lead_metric(comparison)
    order = _order(numbers[lead], lower=spec.sign(lead) < 0)
    shared, parts = shared[order], [part[order] for part in parts]
    numbers = {name: values[order] for name, values in numbers.items()}
    flags = _facts(parts)
    about = _about(comparison, versions, shared, lead)
    about["facts"] = list(FACTS)
    about["limit"] = shared.height if isinstance(items, str) else min(items, shared.height)
    names = shared["item"].to_list()
    about["label"] = None if label is None else _sample(label, spec.item, names)
    previews = _shown(shared["input"])
    # A page is known by what it shows: its names and its numbers.
    blob = _numbers(about, numbers, parts, flags, shared)
    about["report"] = sha256(json.dumps([about, names], sort_keys=True).encode() + blob).hexdigest()[:16]
    with ThreadPoolExecutor(2) as pool:
        head, scores = pool.map(_deflate, (_json(about | {"names": names, "inputs": previews}), blob))
    left = budget - min(RESERVED, budget // 4) - len(head) - len(scores)
    blocks, shown, answers = _pack_texts(shared, parts, items, left)
    return Packed(
        about=about, head=head, scores=scores, previews=answers, texts=" ".join(blocks),
        total=len(names), with_text=shown,
        rates={fact: ((flags >> bit) & 1).mean(axis=0).tolist() for bit, fact in enumerate(FACTS[:4])},
        frame=shared.with_columns(part["output"].alias(f"output:{at}") for at, part in enumerate(parts)),
        numbers=numbers, flags=flags,
    )  # fmt: skip


def ranked(comparison: Comparison) -> list[str]:
    """Return the versions: the baseline, then the candidates by their mean scores, best first."""
    spec = comparison.spec
    rows = comparison.summary.filter(pl.col("metric").is_in(spec.metrics))
    means = rows.group_by("candidate", maintain_order=True).agg(pl.col("candidate_mean").mean())
    found = dict(means.iter_rows())
    order = sorted(spec.candidates, key=lambda name: -(found.get(name) or 0.0))
    return [spec.baseline, *order]


def _lead_metric(comparison: Comparison) -> str:
    """Return the metric that moved most: the one that a page opens with."""
    rows = [row for row in rows_of(comparison) if row.is_score and row.metric in comparison.spec.metrics]
    moved = [row for row in rows if row.verdict == "regressed"] or [row for row in rows if row.moved]
    if not moved:
        return comparison.spec.metrics[0]
    return max(moved, key=lambda row: (row.newly_failing is not None, row.weight)).metric


def _read(comparison: Comparison) -> pl.DataFrame:
    """Return a row for each item and version: scores, passes, slices, texts, and what became of the call."""
    table, spec = comparison.table, comparison.spec
    assert spec.item is not None
    schema = table.collect_schema()
    failed = error_of(schema)
    finish = pl.lit(None, pl.String) if (known := finish_of(schema)) is None else known
    output = text_of(schema, "output")
    facts = {
        "fact:error": pl.lit(value=False) if failed is None else failed,
        **{
            f"fact:{name}": finish.is_in(reasons).fill_null(value=False)
            for name, reasons in (("truncated", CUT_OFF), ("filtered", HELD_BACK))
        },
        "fact:refusal": output.str.head(200).str.contains(_REFUSAL),
        "fact:script": output.str.head(2_000).str.contains(_OTHER_SCRIPT),
        "fact:fence": output.str.contains("```", literal=True),
        "fact:json": output.str.head(200).str.contains(r"^\s*[\[{]"),
        "fact:length": output.str.len_bytes(),
    }
    slices = [
        pl.concat_str(
            [pl.lit(f"{name}=") + as_text(schema, name).fill_null("null") for name in group], separator=", "
        ).alias(f"by:{', '.join(group)}")
        for group in _sets(comparison, list(schema))
    ]
    rows = (
        table.select(
            as_text(schema, spec.version).alias("version"),
            item_key(schema, spec.item).cast(pl.String).alias("item"),
            *slices,
            text_of(schema, "input").alias("input"),
            text_of(schema, "expected").alias("expected"),
            output.alias("output"),
            *(
                one
                for one in scores_of_answers(schema, spec.metrics, spec.unanswered)
                if one.meta.output_name() != HAS_ANSWER
            ),
            *values_of(spec.measures),
            *(
                text_of(schema, name).alias(f"about:{name}")
                if schema[name] == pl.String or name in ("error", "finish_reason", "trace_id")
                else pl.col(name).cast(pl.Float64).alias(f"about:{name}")
                for name in ABOUT
                if name in schema
            ),
            **facts,
        )
        .filter(pl.col("item").is_not_null(), pl.col("version").is_in(spec.versions))
        .collect()
    )
    if not rows.select(pl.struct("version", "item").is_duplicated().any()).item():
        return rows
    # Repeats are averaged; their texts are those of the first.
    averaged = [name for name in rows.columns if name.endswith((":score", ":pass"))]
    others = [name for name in rows.columns if name not in {*averaged, "version", "item"}]
    return rows.group_by("version", "item", maintain_order=True).agg(
        pl.col(averaged).mean(), pl.col(others).first()
    )


def _sets(comparison: Comparison, known: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns of each set of slices; those that a search found are read from their rows."""
    if not comparison.spec.automatic:
        return list(comparison.spec.slices)
    found = comparison.slices["by"].drop_nulls().unique(maintain_order=True)
    sets = ((by,) if by in known else tuple(by.split(", ")) for by in found)
    return [group for group in sets if all(name in known for name in group)]


def _aligned(rows: pl.DataFrame, versions: Sequence[str]) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """Return what an item has once, and a frame for each version, all with the same items in one order."""
    once = [name for name in rows.columns if name.startswith("by:") or name in ("input", "expected")]
    own = [name for name in rows.columns if name not in {*once, "version", "item"}]
    shared = rows.group_by("item", maintain_order=True).agg(pl.col(once).drop_nulls().first())
    by_version = rows.partition_by("version", as_dict=True)
    parts = []
    for name in versions:
        part = by_version.get((name,), rows.clear()).select("item", *own)
        parts.append(shared.select("item").join(part, on="item", how="left", maintain_order="left"))
    return shared, parts


def _order(values: Floats, *, lower: bool) -> npt.NDArray[np.intp]:
    """Return the items, those that say most first: the worst of two versions, else the least agreed on."""
    if values.shape[1] == 2:
        gain = (values[:, 1] - values[:, 0]) * (-1 if lower else 1)
        keys = np.where(np.isnan(gain), np.inf, np.round(gain, 9))
    else:
        counts = (~np.isnan(values)).sum(axis=1)
        spread = np.zeros(len(values))
        spread[counts > 1] = np.nanstd(values[counts > 1], axis=1)
        keys = np.round(-spread, 9)
    return np.argsort(keys, kind="stable")


def _facts(parts: Sequence[pl.DataFrame]) -> npt.NDArray[np.uint16]:
    """Return the facts about each answer as bits, a column a version; some are relative to the baseline."""
    before = parts[0].select(pl.col("output", "^fact:.*$").name.prefix("before:"))
    error, output = pl.col("fact:error"), pl.col("output")
    own = [
        error, ~error & (output.is_null() | (output.str.strip_chars() == "")), pl.col("fact:truncated"),
        pl.col("fact:filtered"), pl.col("fact:refusal"),
    ]  # fmt: skip
    length, length_before = (pl.col(f"{when}fact:length").cast(pl.Int64) for when in ("", "before:"))
    found: list[npt.NDArray[np.uint16]] = []
    for part in parts:
        relative = [
            pl.col("fact:script") & ~pl.col("before:fact:script"),
            pl.lit(_broken_json(parts[0], part)),
            pl.col("fact:fence") & ~pl.col("before:fact:fence"),
            (length >= 2 * length_before) & (length_before > 20),
            (2 * length <= length_before) & (length_before > 40),
        ]
        flags = [*own, *(relative if found else [])]
        bits = [flag.fill_null(value=False).cast(pl.UInt16) * 2**bit for bit, flag in enumerate(flags)]
        found.append(part.hstack(before).select(pl.sum_horizontal(bits)).to_series().to_numpy())
    return np.column_stack(found).astype(np.uint16)


def _broken_json(before: pl.DataFrame, after: pl.DataFrame) -> pl.Series:
    """Return where the baseline's answer is JSON and the candidate's is not."""
    rows = zip(before["fact:json"], before["output"], after["output"], strict=True)
    return pl.Series(
        [
            bool(starts and own is not None and _is_json(text) and not _is_json(own))
            for starts, text, own in rows
        ]
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _about(
    comparison: Comparison, versions: Sequence[str], shared: pl.DataFrame, lead: str
) -> dict[str, Any]:
    """Return what all items share: the names that they number."""
    spec = comparison.spec
    prefix = common_prefix(versions) if len(versions) > 2 else ""
    summary = comparison.summary.unique("metric", keep="first", maintain_order=True)
    effects = dict(summary.select("metric", "min_effect").iter_rows())
    metrics = [
        {
            "name": name, "lower": spec.sign(name) < 0,
            "unit": "" if measure is None else measure.unit or "", "measure": measure is not None,
            "effect": float(effects.get(name) or 0.0),
        }
        for name, measure in ((name, spec.measure(name)) for name in spec.names)
    ]  # fmt: skip
    sets = [
        {"name": one.name.removeprefix("by:"), "values": one.drop_nulls().unique().sort().to_list()}
        for one in shared
        if one.name.startswith("by:")
    ]
    return {
        "versions": list(versions),
        "short": [middle_cut(reveal(name.removeprefix(prefix)), 28) for name in versions],
        "metrics": metrics, "lead": spec.names.index(lead), "sets": sets, "item": spec.item,
        "expected": shared["expected"].null_count() < shared.height,
    }  # fmt: skip


def _sample(label: pl.DataFrame, item: str, names: Sequence[str]) -> list[list[Any]]:
    """Return the place and the weight of each item that people are to rate."""
    if item not in label.columns:
        raise ValueError(f"label: the sample has no column {item!r}; it has {', '.join(label.columns)}")
    places = {name: at for at, name in enumerate(names)}
    weights = label["weight"].to_list() if "weight" in label.columns else [None] * label.height
    found = dict(zip(label[item].cast(pl.String).to_list(), weights, strict=True))
    unknown = [name for name in found if name not in places]
    if unknown:
        raise ValueError(
            f"label: {counted(len(unknown), 'item')} of the sample are not in the comparison: {unknown[:3]}"
        )
    return [[places[name], weight] for name, weight in found.items()]


def _numbers(
    about: dict[str, Any],
    numbers: dict[str, Floats],
    parts: Sequence[pl.DataFrame],
    flags: npt.NDArray[np.uint16],
    shared: pl.DataFrame,
) -> bytes:
    """
    Return all numbers, a column after the other: scores, labels, slices, facts.

    Scores in [0, 1] take two bytes (65535 where there is none), other numbers four.
    """
    columns, labels = list[bytes](), list[bytes]()
    for name, metric in zip(numbers, about["metrics"], strict=True):
        values = numbers[name]
        metric["unit_scale"] = bool(np.all(np.isnan(values) | ((values >= 0) & (values <= 1))))
        if metric["unit_scale"]:
            codes = np.where(np.isnan(values), 65535, np.round(values * 65534)).astype("<u2")
        else:
            codes = values.astype("<f4")
        columns.append(codes.T.tobytes())
        passed = np.column_stack([part[f"{name}:pass"].cast(pl.Float64).to_numpy() for part in parts])
        metric["labels"] = bool((~np.isnan(passed)).any())
        if metric["labels"]:
            # 1 fails, 2 passes, 0 is neither.
            codes = np.where(np.isnan(passed), 0, 1 + (passed > 0.5) - 1 * (passed == 0.5))
            labels.append(codes.astype("u1").T.tobytes())
    # Four-byte numbers must begin where four bytes can be read.
    columns += labels
    for group in about["sets"]:
        places = pl.Series(range(len(group["values"])), dtype=pl.UInt16)
        known = shared[f"by:{group['name']}"]
        taken = known.replace_strict(group["values"], places, default=65535, return_dtype=pl.UInt16)
        columns.append(taken.to_numpy().astype("<u2").tobytes())
    columns.append(flags.astype("<u2").T.tobytes())
    return b"".join(columns)


def _pack_texts(
    shared: pl.DataFrame, parts: Sequence[pl.DataFrame], items: str | int, budget: int
) -> tuple[list[str], int, str]:
    """Return the blocks of full texts, as many as fit, how many items they hold, and previews of answers."""
    texts = _texts(shared, parts)
    limit = items if isinstance(items, int) else 0 if items == "none" else shared.height
    room = float("inf") if items != "auto" else budget
    previews = ""
    if items == "auto":
        short = texts.select(pl.col(name).str.head(PREVIEW) for name in texts.columns if name[0] in "xa")
        size = short.select(pl.sum_horizontal(pl.all().str.len_bytes()).sum()).item() or 0
        longest = texts.select(pl.sum_horizontal(pl.col("^[ixa].*$").str.len_bytes()).sum()).item() or 0
        # Where all texts fit, previews would say them twice.
        if longest * 0.62 > budget and size * 0.6 < PREVIEW_SHARE * budget:
            previews = _deflate(_lines(short))
            room -= len(previews)
    blocks: list[str] = []
    shown = 0
    starts = list(range(0, min(limit, shared.height), BLOCK))
    with ThreadPoolExecutor(2) as pool:
        # A few at a time: texts that do not fit need not be packed.
        for first in range(0, len(starts), 8):
            batch = [texts.slice(start, min(BLOCK, limit - start)) for start in starts[first : first + 8]]
            packed = pool.map(lambda part: _deflate(_lines(part)), batch)
            for part, block in zip(batch, packed, strict=True):
                fits = len(block) + 1 <= room
                blocks.append(block if fits else "-")
                if fits:
                    room -= len(block) + 1
                    shown += part.height
            if room < 4_096:
                break
    while blocks and blocks[-1] == "-":
        blocks.pop()
    return blocks, shown, previews


def _texts(shared: pl.DataFrame, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return a row for each item: input, expected, and of each version the answer and what became of it."""
    columns = [shared["input"].alias("i"), shared["expected"].alias("x")]
    columns += [part["output"].alias(f"a{at}") for at, part in enumerate(parts)]
    for name, letter in ABOUT.items():
        for at, part in enumerate(parts):
            if f"about:{name}" in part.columns and part[f"about:{name}"].count():
                columns.append(part[f"about:{name}"].alias(f"{letter}{at}"))
    return pl.DataFrame(columns)


def _lines(frame: pl.DataFrame) -> bytes:
    return frame.write_ndjson().encode()


def _deflate(data: bytes) -> str:
    return b64encode(zlib.compress(data, LEVEL)).decode()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _shown(texts: pl.Series) -> list[str]:
    """Return texts as one line each, short, with what cannot be seen made visible."""
    short = texts.str.head(3 * PREVIEW).str.replace_all(r"\s+", " ").str.strip_chars().str.head(PREVIEW)
    return [reveal(one) if one is not None else "" for one in short]
