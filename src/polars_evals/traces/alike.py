"""Small files that are alike: told one by one, read together, each as if it were the only one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import polars as pl

from polars_evals.traces.plan import Group, ScanPlan, no_answers
from polars_evals.traces.rows import OF_FILE, Rows, finished, kept_name
from polars_evals.traces.source import Stream


def likeness(plan: ScanPlan) -> Hashable:
    """Say what the plan of one file has to share with another's for one plan to read both."""
    [group] = plan.groups
    source = group.source
    if isinstance(source, Stream):
        [(_, kind)] = source.files
        return group.platform.name, source.hive, kind, source.unpack is not None
    return group.platform.name, source.hive, source.kind, tuple(source.schema.items())


def scan_apart(plan: ScanPlan, files: Sequence[str], rows: Rows, path: str) -> pl.LazyFrame:
    """Scan files that are like that of a plan: the rows of each in their order, and whose they are."""
    kept = [kept_name(name) for name in plan.keep]
    found = plan.rows(_group(plan, files), rows, apart=True)
    frame = finished(found, [*kept, OF_FILE], has_own_item="item_id" in plan.columns)
    return frame.rename({OF_FILE: path})


def unanswered(plan: ScanPlan, files: Sequence[str]) -> dict[str, str]:
    """Say of each file that holds records and no answer that it does."""
    group = _group(plan, files)
    without = {} if "output" in plan.columns else plan.without_answers(group, files)
    return {file: no_answers(file, records, group.platform) for file, records in without.items()}


def _group(plan: ScanPlan, files: Sequence[str]) -> Group:
    [group] = plan.groups
    source = group.source
    if isinstance(source, Stream):
        [(_, kind)] = source.files
        return Group(group.platform, replace(source, files=[(file, kind) for file in files]))
    return Group(group.platform, replace(source, files=list(files)))
