"""The first commands: two files to a verdict, and a suite and a job proposed from the data."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from polars_evals.cli.comparing import leave, named_measures, need_pairs, slices
from polars_evals.cli.console import deliver, explained, progress, show, stoppable, tell
from polars_evals.cli.options import (
    All,
    Alpha,
    AsJson,
    By,
    Cluster,
    FailOnInconclusive,
    Margin,
    Markdown,
    Measures,
    MinEffect,
    Unanswered,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polars_evals._diff import Diff

Inputs = Annotated[list[str], typer.Argument(help="Files or folders of answers, from any tool.")]
Format = Annotated[str, typer.Option("--format", help="Trace format. `auto` recognizes it.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Where a column is: `output=answer.text`. Repeat for several."),
]
Keep = Annotated[list[str] | None, typer.Option(help="Another column of the files to keep.")]
SuiteFile = Annotated[Path | None, typer.Option(help="Suite file (TOML, YAML or JSON).")]
MetricNames = Annotated[
    list[str] | None, typer.Option("--metric", help="A metric with its defaults. Repeat for several.")
]


class _Asked(NamedTuple):
    """How to score, where the user says so."""

    suite: Path | None
    metrics: list[str] | None


def add_to(app: typer.Typer) -> None:
    """Add these commands to the others."""
    app.command(epilog="Example: `polars-evals diff v1.jsonl v2.jsonl --html report.html`")(diff)
    app.command(epilog="Example: `polars-evals init export/ --output evals/`")(init)


def diff(
    inputs: Inputs,
    *,
    suite: SuiteFile = None,
    metrics: MetricNames = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Column of versions, where one input holds them all.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The version to compare with, where one input holds them all.")
    ] = None,
    item: Annotated[
        str | None, typer.Option(help="Column that pairs the versions. [default: item_id, or equal inputs]")
    ] = None,
    cluster: Cluster = None,
    by: By = None,
    measures: Measures = None,
    format_name: Format = "auto",
    columns: Columns = None,
    keep: Keep = None,
    min_effect: MinEffect = 0.01,
    alpha: Alpha = 0.05,
    margin: Margin = None,
    unanswered: Unanswered = "auto",
    html: Annotated[str | None, typer.Option(help="Write the report page.")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    save: Annotated[str | None, typer.Option(help="Keep the scores in a Parquet file.")] = None,
    junit: Annotated[str | None, typer.Option(help="Write JUnit XML, for continuous integration.")] = None,
    markdown: Markdown = None,
    everything: All = False,
    as_json: AsJson = False,
    fail_on_inconclusive: FailOnInconclusive = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 whatever the verdict is.")
    ] = False,
) -> None:
    """Compare two files or folders of answers in one step. The first is the baseline."""
    with stoppable(), explained():
        from polars_evals._diff import run_diff
        from polars_evals.cli.score import mapped
        from polars_evals.suite import Suite

        reading: dict[str, Any] = {"format": format_name, "columns": dict(map(mapped, columns or []))}
        with progress("scoring"):
            done = run_diff(
                inputs,
                suite=None if suite is None else Suite.load(suite),
                metrics=metrics or None,
                version=version,
                baseline_version=baseline,
                item=item,
                reading={**reading, "keep": keep or []},
                by=slices(by),
                cluster=cluster,
                measures=named_measures(measures),
                min_effect=min_effect,
                alpha=alpha,
                margin=margin,
                unanswered=unanswered,
            )
        if save is not None:
            done.scored.write_parquet(save, metadata=done.suite.metadata)
        if open_page and html is None:
            html = str(Path(save or "report").with_suffix(".html"))
        paths = deliver(done.comparison, {"junit": junit, "markdown": markdown, "html": html})
        page = paths.pop("html", None)
        written = {"scores": save, **paths, "report": page}
        if as_json:
            show(_as_json(done), as_json=True)
        else:
            show(_text(done, inputs, written, _Asked(suite, metrics), everything=everything))
        if open_page and html is not None:
            import webbrowser

            webbrowser.open(Path(html).resolve().as_uri())
        if done.compared:
            need_pairs(done.comparison)
    verdicts = [] if exit_zero else done.comparison.verdicts.values()
    leave(verdicts, fail_on_inconclusive=fail_on_inconclusive)


def _text(
    done: Diff, inputs: list[str], written: Mapping[str, str | None], asked: _Asked, *, everything: bool
) -> str:
    """Say what was found, with which metrics, how to do it step by step, and where the files are."""
    from polars_evals.report.terminal import text, width_of

    reasons = done.suggestion.reasons if done.suggestion else ()
    if done.compared:
        found = [text(done.comparison, width=width_of(sys.stdout), more="--all", everything=everything)]
    else:
        found = done.similarity
    lines = [
        *([done.first_line] if done.first_line else []),
        *found,
        *(["metrics chosen from the data", *(f"  {one}" for one in reasons)] if reasons else []),
        "the same step by step",
        *(f"  {shlex.join(['polars-evals', *step])}" for step in _steps(done, inputs, asked)),
        *(f"{kind}: {path}" for kind, path in written.items() if path is not None),
    ]
    return "\n".join(lines)


def _steps(done: Diff, inputs: list[str], asked: _Asked) -> list[list[str]]:
    """Return the commands that do the same."""
    steps = []
    if asked.metrics:
        scoring = [word for name in asked.metrics for word in ("--metric", name)]
    elif asked.suite is not None:
        scoring = ["--suite", str(asked.suite)]
    else:
        steps.append(["init", *inputs, "--output", "evals"])
        scoring = ["--suite", "evals/evals.toml"]
    steps.append(["score", *inputs, *scoring, "--output", "scored.parquet"])
    spec = done.comparison.spec
    versions = ["--version", done.version, "--baseline", spec.baseline, "--item", done.item]
    steps.append(["compare", "scored.parquet", *versions, "--html", "report.html"])
    return steps


def _as_json(done: Diff) -> str:
    """Return the comparison with how it came about."""
    found = json.loads(done.comparison.to_json())
    about = {
        "metrics": [str(metric.name) for metric in done.suite.metrics],
        "reasons": list(done.suggestion.reasons) if done.suggestion else [],
        "expected": "baseline" if done.is_against_baseline else "expected",
        "item": done.item,
    }
    return json.dumps({**found, "diff": about}, indent=2, ensure_ascii=False)


def init(
    inputs: Inputs,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path("evals"),
    format_name: Format = "auto",
    columns: Columns = None,
    keep: Keep = None,
) -> None:
    """Look at answers and write a suite and a job for them. Nothing is scored, and no file is replaced."""
    with explained():
        from polars_evals.cli.init import write_files
        from polars_evals.cli.score import mapped

        reading: dict[str, Any] = {"format": format_name, "columns": dict(map(mapped, columns or []))}
        files, reasons = write_files(inputs, output, reading={**reading, "keep": keep or []})
        show("\n".join([*(f"wrote {file}" for file in files), *(f"  {one}" for one in reasons)]))
        tell(f"next: polars-evals run {shlex.quote(str(files[-1]))}")
