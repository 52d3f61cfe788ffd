"""What a comparison needs of a table, summed up by part: small, and as good as the rows once it is merged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from polars_evals.drift.columns import lazy
from polars_evals.drift.compare import conclude
from polars_evals.drift.parts import message
from polars_evals.drift.parts.estimating import estimates_of
from polars_evals.drift.parts.summing import close_clusters, merged, sum_up
from polars_evals.drift.reading import count_versions
from polars_evals.drift.spec import ComparisonSpec, SpecOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.drift.comparison import Comparison
    from polars_evals.drift.parts.summing import Sums
    from polars_evals.drift.spec import ResolvedSpec

# Flips travel between workers, so fewer are kept than on one machine.
MAX_FLIPS = 1_000


@dataclass(frozen=True, eq=False)
class Aggregates:
    """
    The sums behind a comparison, as frames that can be merged.

    Attributes
    ----------
    spec
        What is compared.
    sums
        The frames by name; `polars_evals.drift.parts.summing.merges` says what each is, and how it merges.
    """

    spec: ResolvedSpec
    sums: Sums

    @classmethod
    def of(cls, frame: pl.LazyFrame, spec: ResolvedSpec) -> Aggregates:
        """Sum up a part, which must hold all rows of its items; clusters may go on in other parts."""
        return cls(spec, sum_up(frame, spec))

    def closed(self) -> Aggregates:
        """Return the same, smaller: no other part holds more of the clusters in here."""
        return replace(self, sums=close_clusters(self.sums, self.spec))

    def compare(
        self, *, min_effect: float | None = None, alpha: float | None = None, seed: int | None = None
    ) -> Comparison:
        """
        Compare the versions, as `polars_evals.compare` does with the rows.

        Parameters
        ----------
        min_effect, alpha, seed
            As in `polars_evals.compare`; None for what the aggregates were made with.
        """
        given = {"min_effect": min_effect, "alpha": alpha, "seed": seed}
        changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        spec = replace(self.spec, **changed)
        return conclude(spec, estimates_of(close_clusters(self.sums, spec), spec))

    def to_bytes(self) -> bytes:
        """Return the aggregates as a message to another worker: Arrow data, and what it is as JSON."""
        return message.write(self.spec, self.sums)

    @staticmethod
    def from_bytes(data: bytes) -> Aggregates:
        """
        Read what `to_bytes` wrote.

        Raises
        ------
        ValueError
            If the message is none, is damaged, or was written by a version that this one cannot read.
        """
        return Aggregates(*message.read(data))


def aggregate(scored: Frame, **compared: Unpack[SpecOptions]) -> Aggregates:
    """
    Sum up a part of a scored table, to be merged with others and compared.

    Parameters
    ----------
    scored
        A DataFrame or LazyFrame that holds all rows of its items.
    **compared
        As in `polars_evals.compare`. `by` names the columns. All parts need the same `candidate`; without one
        they are those in this part, which is right only where each part has them all. `max_flips` (1,000) is
        how many flips and unmatched items to keep for each candidate and metric; all are counted.

    Examples
    --------
    >>> from polars_evals import cluster
    >>> columns = {"model": ["v1", "v2"] * 12, "levenshtein_score": [0.9, 0.5, 0.8, 0.3, 1.0, 0.6] * 4}
    >>> scored = pl.DataFrame({"case_id": [row // 2 for row in range(24)], **columns})
    >>> compared = {"version": "model", "baseline": "v1", "candidate": "v2", "item": "case_id"}
    >>> parts = [cluster.aggregate(part, **compared) for part in (scored[:10], scored[10:])]
    >>> cluster.merge(parts).compare().verdict
    'regressed'
    """
    frame = lazy(scored)
    schema = frame.collect_schema()
    spec = resolve(compared, schema, lambda: count_versions(frame, schema, compared["version"]))
    return Aggregates.of(frame, spec)


def merge(parts: Iterable[Aggregates]) -> Aggregates:
    """
    Merge the aggregates of the parts of a table.

    Parameters
    ----------
    parts
        What `aggregate` made of each part, in any order, with the same settings. No two parts may hold rows
        of the same item.

    Notes
    -----
    Aggregates are merged as they arrive, so a generator of them needs no more memory than two.
    """
    whole: Aggregates | None = None
    for part in parts:
        if whole is None:
            whole = part
        elif part.spec != whole.spec:
            raise ValueError(f"the parts were not made with the same settings: {whole.spec} and {part.spec}")
        else:
            whole = Aggregates(whole.spec, merged(whole.spec, [whole.sums, part.sums]))
    if whole is None:
        raise ValueError("there are no aggregates to merge")
    return whole


def resolve(compared: SpecOptions, schema: Schema, versions: Callable[[], pl.DataFrame]) -> ResolvedSpec:
    """Check what to compare against a schema; `versions` is asked for them if no candidate is named."""
    options: SpecOptions = {"max_flips": MAX_FLIPS, **compared}
    spec = ComparisonSpec.of(options)
    if spec.by == "auto":
        raise ValueError('by="auto" needs all rows in one place; name the columns to slice by')
    if spec.measures == "auto":
        raise ValueError('measures="auto" needs all rows in one place; name the measures')
    if asked := [name for name, one in spec.measures.items() if one.quantiles]:
        raise ValueError(
            f"quantiles of {', '.join(asked)} cannot be summed up by part; leave them out (quantiles=[]) to "
            "compare means and ratios, or compare the rows in one place"
        )
    spec.require_columns(schema)
    if spec.candidates is not None:
        return spec.resolve(schema)
    return spec.resolve(schema, versions()["version"].drop_nulls().sort().to_list())
