"""`[compare]` and `[timeline]`: what a job asks of its scores."""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl

from polars_evals._errors import ConfigError
from polars_evals.drift import ComparisonSpec
from polars_evals.drift.columns import require_effect, require_level
from polars_evals.drift.timeline import check_length
from polars_evals.jobs.rules import require_metric
from polars_evals.jobs.section import Section
from polars_evals.suite import Suite
from polars_evals.suite.measure import AUTO, Measures, measures_of

# The length of windows, where none is given.
DAY = "1d"


def names_of(suite: Suite) -> tuple[str, ...]:
    """Name the metrics of a suite."""
    return tuple(str(metric.name) for metric in suite.metrics)


def read_compare(section: Section, suite: Suite) -> ComparisonSpec:
    """Read `[compare]`: the arguments of `compare`, about the metrics of the suite."""
    given = {
        "version": section.take("version", str, "the column of versions", needed=True),
        "baseline": section.take("baseline", (str, int, float), "the version to compare with", needed=True),
        "candidate": section.texts("candidate", "a version or a list of versions"),
        "item": section.take("item", str, "the column of test cases"),
        "cluster": section.take("cluster", str, "a column"),
        "by": read_by(section),
        "metrics": section.texts("metrics", "a list of metrics"),
        "measures": read_measures(section, suite),
        "unanswered": section.take("unanswered", str, '"auto", "apart" or "wrong"'),
        "min_effect": section.take("min_effect", (int, float), "a number"),
        "alpha": section.take("alpha", (int, float), "a number"),
        "margin": section.take("margin", (int, float), "a number above 0"),
    }
    section.finish()
    for name in given["metrics"] or ():
        require_metric(section, name, names_of(suite))
    given["metrics"] = given["metrics"] or names_of(suite)
    return section.insist(
        partial(ComparisonSpec, **{key: value for key, value in given.items() if value is not None})
    )


def read_timeline(section: Section, suite: Suite) -> dict[str, Any]:
    """Read `[timeline]`: the arguments of `timeline`, about the metrics of the suite."""
    given = {
        "time": section.take("time", str, "the column of times", needed=True),
        "every": section.take("every", str, "a length of time"),
        "version": section.take("version", str, "the column of versions"),
        "by": read_by(section),
        "cluster": section.take("cluster", str, "a column"),
        "metrics": section.texts("metrics", "a list of metrics"),
        "measures": read_measures(section, suite),
        "reference": section.take("reference", int, "a number of windows"),
        "min_effect": section.take("min_effect", (int, float), "a number"),
        "alpha": section.take("alpha", (int, float), "a number"),
    }
    section.finish()
    if given["by"] == "auto":
        raise ConfigError(f"{section.where}: `by` takes columns; slices are not searched for over time")
    for name in given["metrics"] or ():
        require_metric(section, name, names_of(suite))
    given["metrics"] = list(given["metrics"] or names_of(suite))
    section.insist(check_length, given["every"] or DAY, pl.Schema({"time": pl.Datetime("us")}), "time")
    for key, check in {"alpha": require_level, "min_effect": require_effect}.items():
        if given[key] is not None:
            section.insist(check, given[key])
    return {key: value for key, value in given.items() if value is not None}


def read_measures(section: Section, suite: Suite) -> Measures | str:
    """Read the measures: names, or a table of names and options; without any, those of the suite."""
    what = "a column, a list of columns, or a table of columns and their options"
    given = section.take("measures", (str, list, dict), what)
    if given is None or given == AUTO:
        return suite.measures if given is None else AUTO
    return section.insist(partial(measures_of, own=suite.measures), given)


def read_by(section: Section) -> str | list[str | list[str]] | None:
    """Read the slices: columns, lists of columns, or `"auto"`."""
    what = 'a column, a list of columns or of lists of them, or "auto"'
    by: str | list[str | list[str]] | None = section.take("by", (str, list), what)
    groups = by if isinstance(by, list) else []
    if not all(
        isinstance(g, str) or (isinstance(g, list) and all(isinstance(n, str) for n in g)) for g in groups
    ):
        raise ConfigError(f"{section.where}: `by` must be {what}, got {by!r}")
    return by
