"""A ranking of a table in parts: means of all versions, and how they vary together, merge."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.rank import Moments, incomplete, items_of, ranking_of
from polars_evals.wording import left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from polars_evals.drift.columns import Schema
    from polars_evals.drift.inference import Floats
    from polars_evals.drift.rank import Ranking


class RankOptions(TypedDict, total=False):
    """The arguments of `rank` that a table in parts can take."""

    version: str
    item: str
    metrics: Sequence[str] | None
    cluster: None
    baseline: Any
    alpha: float
    seed: int


class RankSpec(NamedTuple):
    """What to rank, checked against the columns of a table."""

    version: str
    item: str
    metrics: list[str]
    versions: list[str]
    baseline: str | None
    alpha: float
    seed: int

    def needed(self, existing: Iterable[str]) -> list[str]:
        """Return the columns that a ranking needs."""
        wanted = {self.version, self.item}
        wanted |= {f"{name}_{end}" for name in self.metrics for end in ("score", "signature")}
        return [name for name in existing if name in wanted]


def rank_spec(ranked: RankOptions, schema: Schema, versions: Callable[[], pl.DataFrame]) -> RankSpec:
    """Check what to rank; `versions` is asked for those that are there."""
    if ranked.get("cluster") is not None:
        raise ValueError(
            "cluster: clusters that lie in several parts cannot be ranked; rank without one, or the rows in "
            "one place"
        )
    alpha = ranked.get("alpha", 0.05)
    columns.require_level(alpha)
    for role in ("version", "item"):
        columns.require(schema, ranked[role], role)
    there = versions()["version"].drop_nulls().sort().to_list()
    baseline = ranked.get("baseline")
    before = None if baseline is None else columns.version_text(schema, ranked["version"], baseline)
    if before is not None and before not in there:
        raise columns.absent("baseline", before, ranked["version"], there)
    metrics = columns.find_metrics(schema, ranked.get("metrics"))
    return RankSpec(ranked["version"], ranked["item"], metrics, there, before, alpha, ranked.get("seed", 0))


@dataclass
class RankSums:
    """What a part says of each metric: items that all versions have, others, means, and squares."""

    n: dict[str, int]
    lost: dict[str, int]
    means: dict[str, Floats]
    squares: dict[str, Floats]
    left_out: dict[str, int]
    signatures: dict[str, list[str | None]]

    def to_bytes(self) -> bytes:
        """Return a message to another worker."""
        arrays = {"means": self.means, "squares": self.squares}
        plain = {key: {name: one.tolist() for name, one in of.items()} for key, of in arrays.items()}
        return json.dumps({**vars(self), **plain}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> RankSums:
        """Read what `to_bytes` wrote."""
        found = json.loads(data)
        for key in ("means", "squares"):
            found[key] = {name: np.array(one, dtype=np.float64) for name, one in found[key].items()}
        return cls(**found)


def rank_part(frame: pl.DataFrame, spec: RankSpec) -> RankSums:
    """Sum up a part, which must hold all rows of its items."""
    schema = frame.schema
    rows = columns.collect(
        frame.lazy().select(
            columns.as_text(schema, spec.version).alias("version"),
            columns.item_key(schema, spec.item).alias("item"),
            *columns.scores_and_labels(schema, spec.metrics),
        ),
        spec.metrics,
    )
    left_out = {role: rows[role].null_count() for role in ("version", "item")}
    rows = rows.drop_nulls(["version", "item"])
    sums = RankSums({}, {}, {}, {}, left_out, {})
    for name in spec.metrics:
        signed = f"{name}_signature"
        if signed in schema:
            sums.signatures[signed] = frame[signed].cast(pl.String).unique().to_list()
        items = items_of(rows, name, spec.versions)
        values = items.drop_nulls([f"v:{at}" for at in range(len(spec.versions))]).drop("item").to_numpy()
        mean = values.mean(axis=0) if len(values) else np.zeros(len(spec.versions))
        sums.n[name], sums.lost[name] = len(values), items.height - len(values)
        sums.means[name], sums.squares[name] = mean, (values - mean).T @ (values - mean)
    return sums


def merge_ranks(parts: Iterable[RankSums], spec: RankSpec) -> Ranking:
    """Rank the versions of a table, given what its parts say."""
    size = len(spec.versions)
    whole = RankSums(
        dict.fromkeys(spec.metrics, 0),
        dict.fromkeys(spec.metrics, 0),
        {name: np.zeros(size) for name in spec.metrics},
        {name: np.zeros((size, size)) for name in spec.metrics},
        {"version": 0, "item": 0},
        {},
    )
    for part in parts:
        for name in spec.metrics:
            n, more = whole.n[name], part.n[name]
            apart = part.means[name] - whole.means[name]
            if more:
                # Within the parts and between them, so that nothing is lost to large numbers.
                whole.squares[name] = (
                    whole.squares[name] + part.squares[name] + np.outer(apart, apart) * n * more / (n + more)
                )
                whole.means[name] = whole.means[name] + apart * more / (n + more)
            whole.n[name], whole.lost[name] = n + more, whole.lost[name] + part.lost[name]
        for role, count in part.left_out.items():
            whole.left_out[role] += count
        for signed, seen in part.signatures.items():
            known = whole.signatures.setdefault(signed, [])
            known += [one for one in seen if one not in known]
    for signed, seen in whole.signatures.items():
        columns.require_one_signature(signed, sorted(seen, key=str))
    moments = {}
    for name in spec.metrics:
        n = whole.n[name]
        scale = n / max(n - 1, 1) / max(n, 1) ** 2
        means = whole.means[name] if n else np.full(size, np.nan)
        moments[name] = Moments(n, n, means, scale * whole.squares[name])
    named = {"version": spec.version, "item": spec.item}
    notes = [
        left_out(count, f"{role} ({named[role]})") for role, count in whole.left_out.items() if count
    ] + [f"{name}: {incomplete(lost)}" for name, lost in whole.lost.items() if lost]
    settings = {
        "version": spec.version, "item": spec.item, "cluster": None, "baseline": spec.baseline,
        "metrics": spec.metrics, "alpha": spec.alpha, "seed": spec.seed,
    }  # fmt: skip
    return ranking_of(moments, spec.versions, notes=notes, settings=settings)
