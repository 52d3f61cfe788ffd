"""The options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from polars_evals.cli import console

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
Format = Annotated[str, typer.Option("--format", help="Trace format; `auto` detects it from the content.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Source of a canonical column: `output=answer.text`; repeat for several."),
]
Keep = Annotated[list[str] | None, typer.Option(help="Another column of a trace export to keep.")]
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
    list[str] | None, typer.Option("--metric", help="Metric to look at; repeat for several. [default: all]")
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
MinEffect = Annotated[float, typer.Option(help="The smallest difference in mean score that matters.")]
Alpha = Annotated[float, typer.Option(help="Level of the intervals and of the corrected tests.")]
Margin = Annotated[
    float | None, typer.Option(help="How much worse a candidate may be and still count as not worse.")
]
FailOnInconclusive = Annotated[
    bool, typer.Option("--fail-on-inconclusive", help="Exit with 4 if the verdict is inconclusive.")
]
Markdown = Annotated[str | None, typer.Option(help="Write the result as Markdown.")]
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
Html = Annotated[str | None, typer.Option(help="Write the report page.")]
Junit = Annotated[str | None, typer.Option(help="Write JUnit XML, for continuous integration.")]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 whatever the verdict is.")]
