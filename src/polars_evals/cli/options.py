"""The options that several commands have, each declared once, and how the library takes them."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from polars_evals.cli import console

Inputs = Annotated[list[str], typer.Argument(help="Files or folders of answers, from any tool.")]
Scored = Annotated[
    list[str], typer.Argument(help="Scored Parquet files, folders, patterns, or the store of a job.")
]
AsJson = Annotated[
    bool,
    typer.Option("--json", callback=console.expect_json, help="Print the result or error as JSON."),
]
Version = Annotated[str, typer.Option("--version", help="Column of versions.")]
FoundVersion = Annotated[
    str | None,
    typer.Option(
        "--version",
        help="Column of versions. [default: `model`, or `version` if there is one model]",
    ),
]
Baseline = Annotated[
    str | None, typer.Option(help="The version to compare with. [default: the first in the file]")
]
Candidates = Annotated[
    list[str] | None,
    typer.Option("--candidate", help="The version to judge; repeat for several. [default: all]"),
]
Item = Annotated[
    str | None,
    typer.Option(
        help="Column of test cases, which pairs the versions. [default: item_id, without --version]"
    ),
]
ItemColumn = Annotated[str, typer.Option(help="Column of test cases.")]
Format = Annotated[str, typer.Option("--format", help="Trace format; `auto` detects it from the content.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Source of a canonical column: `output=answer.text`; repeat for several."),
]
Keep = Annotated[
    list[str] | None, typer.Option(help="Another column of a trace export to keep; repeat for several.")
]
Rows = Annotated[
    str | None,
    typer.Option(
        help="`traces`: a row for each answer; `spans`: each call; `outputs`; `all`. [default: traces]"
    ),
]
Cluster = Annotated[str | None, typer.Option(help="Column that groups dependent items, such as the session.")]
By = Annotated[
    list[str] | None,
    typer.Option(help="Column to slice by; repeat for several, `a,b` for both at once, `auto` to search."),
]
ByColumn = Annotated[
    list[str] | None,
    typer.Option("--by", help="Column to slice by; repeat for several, `a,b` for both at once."),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", help="Metric to use; repeat for several. [default: all]")
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        help="Column of numbers to compare too: latency_ms, cost, input_tokens, output_tokens, or any with "
        "its direction, as in `retries:lower`; `auto` for those that traces have.",
    ),
]
Aggregates = Annotated[
    list[str] | None,
    typer.Option(
        "--aggregate",
        help="Statistic of all items to compare too, such as macro_f1, mcc, corpus_bleu, or f1:spam for one "
        "class; repeat for several. [default: those of the suite]",
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        help="Column with people's labels of some rows, which correct the scores of all rows; `judge=column` "
        "for one metric."
    ),
]
Unanswered = Annotated[
    str,
    typer.Option(
        help="How errors and missing outputs count: `apart` (not in the scores), `wrong` (score 0), or "
        "`auto` (apart in traces)."
    ),
]
Adjust = Annotated[
    list[str] | None,
    typer.Option(
        help="Column whose mix may differ, such as the topic: weight it to the mix of the baseline; repeat "
        "for several."
    ),
]
MinEffect = Annotated[
    float, typer.Option(help="The smallest change of mean score or pass rate that matters.")
]
Alpha = Annotated[float, typer.Option(help="Rate of false alarms; intervals have level 1 - alpha.")]
Margin = Annotated[
    float | None, typer.Option(help="How much worse a candidate may be and still count as not worse.")
]
FailOnInconclusive = Annotated[
    bool, typer.Option("--fail-on-inconclusive", help="Exit with 4 if the verdict is inconclusive.")
]
Markdown = Annotated[str | None, typer.Option(help="Write the result to this Markdown file.")]
All = Annotated[bool, typer.Option("--all", help="Show every row, not only those that changed.")]
SuiteFile = Annotated[Path | None, typer.Option("--suite", help="Suite file (TOML, YAML or JSON).")]
MetricNames = Annotated[
    list[str] | None,
    typer.Option("--metric", help="A metric with its defaults, instead of a suite. Repeat for several."),
]
DatasetFile = Annotated[
    str | None, typer.Option("--dataset", help="File with the expected values (Parquet, JSON Lines or CSV).")
]
On = Annotated[str, typer.Option(help="Column that the files and --dataset share.")]
ExpectedColumn = Annotated[str, typer.Option(help="Column of --dataset with the expected values.")]
Html = Annotated[str | None, typer.Option(help="Write the report to this HTML file.")]
Page = Annotated[str | None, typer.Option(help="Write the result to this HTML file.")]
JobFile = Annotated[Path, typer.Argument(help="The job file.")]
Junit = Annotated[
    str | None, typer.Option(help="Write the result to this JUnit XML file, for continuous integration.")
]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 for every verdict.")]


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
