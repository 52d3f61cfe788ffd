"""The options of the commands, each declared once, and how the library takes them."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from polars_evals.cli import console

# A type, a default, and what Typer knows of an option.
Option: TypeAlias = tuple[Any, Any, Any]
TEXT, TEXTS, NUMBER = str | None, list[str] | None, float | None


def option(kind: Any, about: str, *names: str, default: Any = None, **more: Any) -> Option:
    """Declare an option; without names it is called as its parameter."""
    return kind, default, typer.Option(*names, help=about, **more)


def flag(name: str, about: str, **more: Any) -> Option:
    """Declare an option without a value."""
    return option(bool, about, name, default=False, **more)


def argument(about: str, kind: Any = list[str], default: Any = Parameter.empty) -> Option:
    """Declare what stands before the options."""
    return kind, default, typer.Argument(help=about)


REQUIRED = {"default": Parameter.empty}
BY = "Column to slice by; repeat for several, `a,b` for both at once"
OPTIONS: dict[str, Option] = {
    "inputs": argument("Files or folders of answers, from any tool."),
    "scored": argument("Scored Parquet files, folders, patterns, or the store of a job."),
    "job": argument("The job file.", Path),
    "as_json": flag("--json", "Print the result or error as JSON.", callback=console.expect_json),
    "version": option(
        TEXT, "Column of versions. [default: `model`, or `version` if there is one model]", "--version"
    ),
    "baseline": option(TEXT, "The version to compare with. [default: the first in the file]"),
    "candidate": option(TEXTS, "The version to judge; repeat for several. [default: all]", "--candidate"),
    "item": option(
        TEXT, "Column of test cases, which pairs the versions. [default: item_id, without --version]"
    ),
    "format_name": option(
        str, "Trace format; `auto` detects it from the content.", "--format", default="auto"
    ),
    "columns": option(
        TEXTS, "Source of a canonical column: `output=answer.text`; repeat for several.", "--column"
    ),
    "keep": option(TEXTS, "Another column of a trace export to keep; repeat for several."),
    "rows": option(
        TEXT,
        "`traces`: a row for each answer; `spans`: each call; `outputs`; `all`. [default: traces]",
    ),
    "cluster": option(TEXT, "Column that groups dependent items, such as the session."),
    "by": option(TEXTS, f"{BY}, `auto` to search."),
    "metrics": option(TEXTS, "Metric to use; repeat for several. [default: all]", "--metric"),
    "measures": option(
        TEXTS,
        "Column of numbers to compare too: latency_ms, cost, input_tokens, output_tokens, or any with its "
        "direction, as in `retries:lower`; `auto` for those that traces have.",
        "--measure",
    ),
    "aggregates": option(
        TEXTS,
        "Statistic of all items to compare too, such as macro_f1, mcc, corpus_bleu, or f1:spam for one "
        "class; repeat for several. [default: those of the suite]",
        "--aggregate",
    ),
    "truth": option(
        TEXT,
        "Column with people's labels of some rows, which correct the scores of all rows; `judge=column` for "
        "one metric.",
    ),
    "unanswered": option(
        str,
        "How errors and missing outputs count: `apart` (not in the scores), `wrong` (score 0), or `auto` "
        "(apart in traces).",
        default="auto",
    ),
    "adjust": option(
        TEXTS,
        "Column whose mix may differ, such as the topic: weight it to the mix of the baseline; repeat for "
        "several.",
    ),
    "min_effect": option(float, "The smallest change of mean score or pass rate that matters.", default=0.01),
    "alpha": option(float, "Rate of false alarms; intervals have level 1 - alpha.", default=0.05),
    "margin": option(NUMBER, "How much worse a candidate may be and still count as not worse."),
    "suite": option(Path | None, "Suite file (TOML, YAML or JSON).", "--suite"),
    "dataset": option(TEXT, "File with the expected values (Parquet, JSON Lines or CSV).", "--dataset"),
    "on": option(str, "Column that the files and --dataset share.", default="item_id"),
    "expected": option(str, "Column of --dataset with the expected values.", default="expected"),
    "html": option(TEXT, "Write the report to this HTML file."),
    "junit": option(TEXT, "Write the result to this JUnit XML file, for continuous integration."),
    "markdown": option(TEXT, "Write the result to this Markdown file."),
    "everything": flag("--all", "Show every row, not only those that changed."),
    "fail_on_inconclusive": flag("--fail-on-inconclusive", "Exit with 4 if the verdict is inconclusive."),
    "exit_zero": flag("--exit-zero", "Exit with 0 for every verdict."),
}
# What replaces them in commands that ask for it otherwise.
METRIC_NAMES = option(
    TEXTS, "A metric with its defaults, instead of a suite. Repeat for several.", "--metric"
)
BY_COLUMN = option(TEXTS, f"{BY}.", "--by")
VERSION = option(str, "Column of versions.", "--version", **REQUIRED)
ITEM = option(str, "Column of test cases.", **REQUIRED)


def declare(run: Any, names: str, own: Mapping[str, Option]) -> None:
    """Give a function the options of these names, those of its own and the shared ones, for Typer to read."""
    annotated: Any = Annotated
    known = {**OPTIONS, **own}
    taken = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotated[kind, info])
        for name in names.split()
        for kind, default, info in [known[name]]
    ]
    run.__signature__ = Signature(taken)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}


# Which way is better.
WAYS = ("lower", "higher")


def _slices(by: list[str]) -> str | list[str | list[str]]:
    """Read the slices: `auto`, columns, or columns joined by commas."""
    return "auto" if by == ["auto"] else [one.split(",") if "," in one else one for one in by]


def _named_measures(given: list[str]) -> str | list[Any]:
    """Read the measures: `auto`, columns, or columns with their direction."""
    from polars_evals.suite import Measure
    from polars_evals.wording import did_you_mean

    if given == ["auto"]:
        return "auto"
    found: list[Any] = []
    for one in given:
        name, _, way = one.rpartition(":")
        if name and way not in WAYS:
            raise ValueError(f"--measure {one}: write {name}:lower or {name}:higher{did_you_mean(way, WAYS)}")
        found.append(Measure(name, lower_is_better=way == "lower") if name else one)
    return found


def _named_aggregates(given: list[str]) -> list[Any]:
    """Read the aggregates: names, or types with the class that they are about."""
    from polars_evals.suite import Aggregate

    parts = [one.partition(":") for one in given]
    return [Aggregate(kind, positive=of) if of else kind for kind, _, of in parts]


def _named_truth(given: str) -> str | dict[str, str]:
    """Read the labels: a column, or the column of one metric."""
    metric, sign, column = given.partition("=")
    return {metric: column} if sign else given


READERS: dict[str, Callable[[Any], Any]] = {
    "by": _slices,
    "measures": _named_measures,
    "aggregates": _named_aggregates,
    "truth": _named_truth,
}

# What is found in the scored rows.
AUTO = "auto"


def arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as functions of the library take them, without those that were not given."""
    return {
        name: READERS[name](value) if name in READERS else value
        for name, value in given.items()
        if value is not None and value != []
    }


def comparison_spec(given: Mapping[str, Any]) -> Any:
    """Make a specification of the options of `compare`; the scored rows say what was not given."""
    from polars_evals.drift import ComparisonSpec

    known = {field.name for field in fields(ComparisonSpec)}
    chosen = {name: value for name, value in arguments(given).items() if name in known}
    return ComparisonSpec(**{"version": AUTO, "baseline": AUTO, **chosen})
