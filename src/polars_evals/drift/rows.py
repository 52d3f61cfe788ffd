"""Read the scored rows of all versions: what `timeline`, `rank`, `runs` and `plan` start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from polars_evals.drift import columns
from polars_evals.drift.answers import (
    HAS_EXPECTED,
    OUTCOMES,
    answers_are_missing,
    describe_unanswered,
    describe_unlabelled,
    outcomes,
    scores_of_answers,
    shares,
    with_answers,
    without_idle,
)
from polars_evals.drift.spec import Unanswered
from polars_evals.suite.measure import AUTO, measures_of
from polars_evals.wording import left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from polars_evals.drift.columns import Frame, Schema
    from polars_evals.suite.measure import Measures


@dataclass(frozen=True)
class Rows:
    """
    Scored rows.

    Attributes
    ----------
    frame
        The named columns, then `<name>:score` and `<name>:pass` of metrics, measures and shares of
        answers.
    metrics
        The names of the metrics.
    measures
        The measures, and the shares of answers (`answered`, `error`, …) that the rows have.
    notes
        What was left out, in words.
    """

    frame: pl.DataFrame
    metrics: list[str]
    measures: Measures
    notes: list[str]

    @property
    def versions(self) -> list[str]:
        """The versions in their order."""
        return self.frame["version"].unique().sort().to_list()

    def baseline(self, version: str, value: Any, schema: Schema) -> str | None:
        """Return the name of the baseline, or raise where the column `version` does not have it."""
        if value is None:
            return None
        name = columns.version_text(schema, version, value)
        if name not in self.versions:
            raise columns.absent("baseline", name, version, self.versions)
        return name

    @property
    def names(self) -> list[str]:
        """Everything that has values, in the order of rows."""
        return [*self.metrics, *self.measures]


def cluster_codes(frame: pl.DataFrame) -> npt.NDArray[np.int64] | None:
    """Return the number of each row's cluster, where there are any; a row without one is one of its own."""
    if "cluster" not in frame.columns:
        return None
    code = pl.col("cluster").rank("dense").cast(pl.Int64)
    codes = frame.select(code.fill_null(-1 - pl.int_range(pl.len()))).to_series()
    return np.unique(codes.to_numpy(), return_inverse=True)[1]


def read_rows(
    scored: Frame,
    *,
    metrics: Sequence[str] | None,
    measures: Any = None,
    version: str | None = None,
    item: str | None = None,
    cluster: str | None = None,
    by: Sequence[str] = (),
    unanswered: Unanswered = "wrong",
    count_answers: bool = False,
    more: dict[str, pl.Expr] | None = None,
) -> Rows:
    """
    Read what is needed of a scored frame; rows without a version or an item are counted and left out.

    Parameters
    ----------
    scored, metrics, measures, version, item, cluster, unanswered
        As in `compare`.
    by
        Columns to slice by, named as `columns.trait` does.
    count_answers
        Whether shares of answers are read too.
    more
        Other columns by name.
    """
    if unanswered not in get_args(Unanswered):
        raise ValueError(f"unanswered must be 'auto', 'apart' or 'wrong', got {unanswered!r}")
    frame = columns.lazy(scored)
    schema = frame.collect_schema()
    roles = {"version": version, "item": item, "cluster": cluster}
    for role, name in roles.items():
        if name is not None:
            columns.require(schema, name, role)
    # None at all, where only other columns are asked for.
    names = [] if metrics == () else columns.find_metrics(schema, metrics)
    also = measures_of(measures, schema)
    for name in also:
        columns.require_number(schema, name, "measures")
        if name in names or name in OUTCOMES:
            what = "a metric" if name in names else "a built-in row about answers"
            raise ValueError(f"measures: {name!r} is also the name of {what}; rename the column")
    columns.check_signatures(frame, schema, names)
    rows = columns.collect(
        frame.select(
            *(
                (columns.item_key if role == "item" else columns.as_text)(schema, name).alias(role)
                for role, name in roles.items()
                if name is not None
            ),
            *(columns.as_text(schema, name).alias(columns.trait(name)) for name in by),
            *(one.alias(name) for name, one in (more or {}).items()),
            *scores_of_answers(schema, names, unanswered),
            *columns.values_of(also),
            *(outcomes(schema, names) if count_answers else []),
        ),
        names,
        also,
    )
    notes = [
        left_out(count, f"{role} ({name})")
        for role, name in roles.items()
        if name is not None and role != "cluster" and (count := rows[role].null_count())
    ]
    rows = rows.drop_nulls([role for role in ("version", "item") if roles[role] is not None])
    if rows.is_empty() and version is not None:
        needed = " and ".join(f"{role} ({roles[role]})" for role in ("version", "item") if roles[role])
        raise ValueError(f"no row has a {needed.replace(' and ', ' and a ')}")
    nulls = rows.null_count().row(0, named=True)
    if measures == AUTO:
        # Traces have all their columns, whether anything is known or not.
        also = measures_of([one for name, one in also.items() if nulls[f"{name}:score"] < rows.height])
    notes += [*describe_unanswered(nulls), *describe_unlabelled(rows)]
    if count_answers:
        rows = without_idle(rows, names)
        if answers_are_missing(rows, names):
            rows = with_answers(rows, names)
        counted = [OUTCOMES[name] for name in shares(rows) if name not in names]
        also = measures_of([*also.values(), *counted])
    return Rows(rows.drop(HAS_EXPECTED, strict=False), names, also, notes)
