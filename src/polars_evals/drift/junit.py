"""A comparison as a JUnit report, for continuous integration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.drift.claims import claims_about
from polars_evals.junit import Case, document

if TYPE_CHECKING:
    from polars_evals.drift.comparison import Comparison


def junit(comparison: Comparison) -> str:
    """Return a suite for each candidate and a case for each metric and slice."""
    rows = pl.concat([comparison.summary, comparison.slices], how="diagonal")
    return document(
        (
            f"{candidate} against {comparison.spec.baseline}",
            [
                _case(row, _said(comparison, candidate))
                for row in rows.filter(pl.col("candidate") == candidate).iter_rows(named=True)
            ],
        )
        for candidate in comparison.spec.candidates
    )


def _said(comparison: Comparison, candidate: str) -> str:
    """Return what was found about a candidate, for those who open one failure."""
    return "; ".join(claim.text for claim in claims_about(comparison, candidate))


def _case(row: dict[str, Any], said: str) -> Case:
    name = row["metric"] if row["slice"] is None else f"{row['metric']} [{row['slice']}]"
    verdict, reason = row["verdict"], row["reason"]
    output = f"{verdict}: {reason}"
    if verdict == "regressed":
        return Case(row["candidate"], name, "failure", reason, verdict, said, output=output)
    if verdict == "inconclusive":
        return Case(row["candidate"], name, "skipped", reason, output=output)
    return Case(row["candidate"], name, output=output)
