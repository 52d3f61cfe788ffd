"""The first commands: two files to a verdict, and a suite and a job proposed from the data."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from polars_evals.cli import options
from polars_evals.cli.comparing import leave, named_measures, need_pairs, slices
from polars_evals.cli.console import deliver, explained, progress, show, stoppable, tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polars_evals._diff import Diff

Inputs = Annotated[list[str], typer.Argument(help="Files or folders of answers, from any tool.")]


class _Asked(NamedTuple):
    """What the user said, for the commands that do the same."""

    suite: Path | None
    metrics: list[str] | None
    reading: list[str]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the others."""
    app.command(epilog="Example: `polars-evals diff v1.jsonl v2.jsonl --html report.html`")(diff)
    app.command(epilog="Example: `polars-evals init export/ --output evals/`")(init)


def diff(
    inputs: Inputs,
    *,
    suite: options.SuiteFile = None,
    metrics: options.MetricNames = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Column of versions, where one input holds them all.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The version to compare with, where one input holds them all.")
    ] = None,
    candidate: options.Candidates = None,
    item: Annotated[
        str | None, typer.Option(help="Column that pairs the versions. [default: item_id, or equal inputs]")
    ] = None,
    cluster: options.Cluster = None,
    by: options.By = None,
    measures: options.Measures = None,
    format_name: options.Format = "auto",
    columns: options.Columns = None,
    keep: options.Keep = None,
    rows: options.Rows = None,
    dataset: options.DatasetFile = None,
    on: options.On = "item_id",
    expected: options.ExpectedColumn = "expected",
    min_effect: options.MinEffect = 0.01,
    alpha: options.Alpha = 0.05,
    margin: options.Margin = None,
    unanswered: options.Unanswered = "auto",
    html: options.Html = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    save: Annotated[str | None, typer.Option(help="Keep the scores in a Parquet file.")] = None,
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    everything: options.All = False,
    as_json: options.AsJson = False,
    fail_on_inconclusive: options.FailOnInconclusive = False,
    exit_zero: options.ExitZero = False,
) -> None:
    """Compare two files or folders of answers in one step. The first is the baseline."""
    with stoppable(), explained():
        from polars_evals._diff import run_diff
        from polars_evals.cli.score import choose_suite, in_options

        chosen = choose_suite(suite, metrics) if suite or metrics else None
        reading = _reading(
            inputs, format_name, columns, keep, rows=rows, dataset=dataset and (dataset, on, expected)
        )
        with in_options(), progress("scoring"):
            done = run_diff(
                inputs,
                suite=chosen,
                version=version,
                baseline_version=baseline,
                item=item,
                reading=reading,
                candidate=candidate or None,
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
        words = [word for one in columns or [] for word in ("--column", one)]
        words += [word for one in keep or [] for word in ("--keep", one)]
        words += ["--format", format_name] if format_name != "auto" else []
        if open_page and html is None:
            html = str(Path(save or "report").with_suffix(".html"))
        paths = deliver(done.comparison, {"junit": junit, "markdown": markdown, "html": html})
        page = paths.pop("html", None)
        written = {"scores": save, **paths, "report": page}
        if as_json:
            show(_as_json(done), as_json=True)
        else:
            show(_text(done, inputs, written, _Asked(suite, metrics, words), everything=everything))
        if open_page and html is not None:
            import webbrowser

            webbrowser.open(Path(html).resolve().as_uri())
        if done.compared:
            need_pairs(done.comparison)
    verdicts = [] if exit_zero else done.comparison.verdicts.values()
    leave(verdicts, fail_on_inconclusive=fail_on_inconclusive)


def _reading(
    inputs: list[str],
    format_name: str,
    columns: list[str] | None,
    keep: list[str] | None,
    *,
    rows: str | None = None,
    dataset: Any = None,
) -> dict[str, Any]:
    """Return how to read the files, as `read_traces` takes it."""
    from polars_evals.cli.score import choose_input

    source = choose_input(inputs, format_name, columns or [], keep=keep or [], rows=rows, dataset=dataset)
    names = ("format", "columns", "keep", "rows", "dataset")
    return {name: getattr(source, name) for name in names}


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
        steps.append(["init", *inputs, *asked.reading, "--output", "evals"])
        scoring = ["--suite", "evals/evals.toml"]
    steps.append(["score", *inputs, *asked.reading, *scoring, "--output", "scored.parquet"])
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
    format_name: options.Format = "auto",
    columns: options.Columns = None,
    keep: options.Keep = None,
) -> None:
    """Look at answers and write a suite and a job for them. Nothing is scored, and no file is replaced."""
    with explained():
        from polars_evals.cli.init import write_files
        from polars_evals.cli.score import in_options

        with in_options():
            reading = _reading(inputs, format_name, columns, keep)
            files, reasons = write_files(inputs, output, reading=reading)
        show("\n".join([*(f"wrote {file}" for file in files), *(f"  {one}" for one in reasons)]))
        tell(f"next: polars-evals run {shlex.quote(str(files[-1]))}")
