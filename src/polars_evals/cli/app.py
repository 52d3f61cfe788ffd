"""The commands and their options. What they do is in the library; here it is only asked for and shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from polars_evals._version import __version__
from polars_evals.cli import console, options, questions, start, traces
from polars_evals.cli.comparing import compares, leave, named_measures, need_pairs, slices, with_defaults
from polars_evals.cli.console import (
    deliver,
    explained,
    progress,
    show,
    show_result,
    stoppable,
    tell,
)

if TYPE_CHECKING:
    from polars_evals.drift import ComparisonSpec

GROUPS = {
    "Score": ("score", "traces", "metrics"),
    "Compare": ("diff", "compare", "timeline", "rank", "runs", "agreement", "plan"),
    "Jobs": ("init", "run", "status", "maintain"),
}


class GroupedCommands(TyperGroup):
    """Commands in groups, each with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group; one that no group names stands under More."""
        left = dict(self.commands)
        groups = {
            title: {name: left.pop(name) for name in names if name in left} for title, names in GROUPS.items()
        }
        for title, commands in {**groups, "More": left}.items():
            if commands:
                with formatter.section(title):
                    # The help of a command is never cut: lines wrap.
                    rows = [(name, one.get_short_help_str(limit=1_000)) for name, one in commands.items()]
                    formatter.write_dl(rows)


app = typer.Typer(
    cls=GroupedCommands,
    help="Score what language models say, and catch regressions between model versions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help: it is there at once, and flags look like flags.
    rich_markup_mode=None,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": max(80, get_terminal_size((100, 24)).columns),
    },
)


start.add_to(app)


def print_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 fine, 1 a gate failed, 2 usage or configuration, 3 input or schema, "
    "4 inconclusive, 70 an unexpected error."
)
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")] = False,
    log: Annotated[Path | None, typer.Option("--log", help="Append the trace of an error to a file.")] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score what language models say, and catch regressions between model versions."""
    console.debug, console.log = debug, log


@app.command(
    epilog="Example: `polars-evals score traces/*.parquet --suite evals.toml --output scored.parquet`"
)
def score(
    inputs: Annotated[
        list[str], typer.Argument(help="Files (Parquet, JSON Lines, JSON, CSV, ...), folders or patterns.")
    ],
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The Parquet file to write. Not needed with --check.")
    ] = None,
    suite: options.SuiteFile = None,
    metrics: options.MetricNames = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Report problems of the data that make scores misleading."),
    ] = False,
    format_name: options.Format = "auto",
    columns: options.Columns = None,
    keep: options.Keep = None,
    rows: options.Rows = None,
    dataset: options.DatasetFile = None,
    on: options.On = "item_id",
    expected: options.ExpectedColumn = "expected",
    engine: Annotated[
        str,
        typer.Option(
            help="`polars`: this machine; `ray`, `spark`: a cluster, which writes a folder of files."
        ),
    ] = "polars",
    as_json: options.AsJson = False,
) -> None:
    """Score files into one Parquet file, streaming: they need not fit in memory."""
    with stoppable(), explained():
        from polars_evals.cli.score import check_files, choose_input, choose_suite, finding_lines, score_files
        from polars_evals.report.terminal import score_lines

        if output is None and not check:
            raise ValueError("--output names the Parquet file to write; --check alone writes nothing")
        source = choose_input(
            inputs,
            format_name,
            columns or [],
            keep=keep or [],
            rows=rows,
            dataset=None if dataset is None else (dataset, on, expected),
        )
        chosen = choose_suite(suite, metrics)
        findings = check_files(source, chosen) if check else None
        if output is None:
            found = json.dumps(findings, indent=2) if as_json else finding_lines(findings or [])
            show(found, as_json=as_json)
            return
        with progress("scoring"):
            result = score_files(source, chosen, output, engine)
        if findings is not None:
            result["findings"] = findings
            if not as_json:
                show(finding_lines(findings))
        for warning in result.get("warnings", ()):
            tell(f"polars-evals: warning: {warning}")
        show(json.dumps(result, indent=2) if as_json else score_lines(result), as_json=as_json)


@app.command(
    epilog="Example: `polars-evals compare scored.parquet --version model --baseline v1 --candidate v2 "
    "--item item_id --by topic --html report.html`"
)
@compares
def compare(
    scored: options.Scored,
    *,
    spec: ComparisonSpec,
    html: options.Html = None,
    time: Annotated[
        str | None, typer.Option(help="Column of dates or datetimes: the page shows scores over time too.")
    ] = None,
    every: Annotated[str, typer.Option(help="Length of a window of --time: 1h, 1d, 1w, 1mo.")] = "1d",
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    everything: options.All = False,
    as_json: options.AsJson = False,
    fail_on_inconclusive: options.FailOnInconclusive = False,
    exit_zero: options.ExitZero = False,
) -> None:
    """Compare model versions with a baseline; exits with 1 when something regressed."""
    with explained():
        from polars_evals.drift import compare_spec
        from polars_evals.jobs.runner import timeline_of
        from polars_evals.jobs.scoring import scan_scored

        if time is not None and html is None:
            raise ValueError("--time shows scores over time on the page: name the page with --html")
        frame = scan_scored(scored)
        comparison = compare_spec(frame, with_defaults(spec, frame))
        page = {}
        if time is not None:
            page["timeline"] = timeline_of(
                scan_scored(scored), comparison.spec, comparison.spec.slices, time=time, every=every
            )
        paths = deliver(comparison, {"html": html, "junit": junit, "markdown": markdown}, html=page)
        show_result(comparison, paths, as_json=as_json, everything=everything)
        need_pairs(comparison)
    leave([] if exit_zero else comparison.verdicts.values(), fail_on_inconclusive=fail_on_inconclusive)


@app.command(epilog="Example: `polars-evals timeline scored.parquet --time ts --every 1d --version model`")
def timeline(
    scored: options.Scored,
    *,
    time: Annotated[str, typer.Option(help="Column of dates or datetimes.")] = "ts",
    every: Annotated[str, typer.Option(help="Length of a window: 1h, 1d, 1w, 1mo.")] = "1d",
    version: Annotated[str | None, typer.Option(help="Column of versions.")] = None,
    cluster: options.Cluster = None,
    by: options.ByColumn = None,
    metrics: options.Metrics = None,
    measures: options.Measures = None,
    adjust: options.Adjust = None,
    unanswered: options.Unanswered = "auto",
    reference: Annotated[int, typer.Option(help="Number of first windows that form the reference.")] = 14,
    min_effect: options.MinEffect = 0.01,
    alpha: options.Alpha = 0.05,
    html: Annotated[str | None, typer.Option(help="Write a page.")] = None,
    markdown: options.Markdown = None,
    everything: options.All = False,
    as_json: options.AsJson = False,
    fail_on_inconclusive: options.FailOnInconclusive = False,
) -> None:
    """Follow scores over time and find when they changed; exits with 1 when something regressed."""
    with explained():
        from polars_evals.drift import timeline as follow
        from polars_evals.jobs.scoring import scan_scored

        line = follow(
            scan_scored(scored), time=time, every=every, version=version, cluster=cluster, by=slices(by),
            metrics=metrics, measures=named_measures(measures), adjust=adjust,
            unanswered=unanswered, reference=reference, min_effect=min_effect,  # type: ignore[arg-type]
            alpha=alpha,
        )  # fmt: skip
        paths = deliver(line, {"html": html, "markdown": markdown})
        show_result(line, paths, as_json=as_json, everything=everything)
    leave([line.verdict], fail_on_inconclusive=fail_on_inconclusive)


@app.command(epilog="Example: `polars-evals run job.toml`, from cron, Airflow or a GitHub workflow.")
def run(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    rescore: Annotated[
        bool, typer.Option("--rescore", help="Score all stored rows again if the suite has changed.")
    ] = False,
    as_json: options.AsJson = False,
    fail_on_inconclusive: options.FailOnInconclusive = False,
) -> None:
    """Run a job: score new files, store each row exactly once, compare, check gates and write reports."""
    with stoppable(), explained():
        from polars_evals.jobs.runner import Watch
        from polars_evals.jobs.runner import run as run_job

        with progress("scoring files") as (start, advance):
            outcome = run_job(job, rescore=rescore, watch=Watch(tell, start, advance))
        if as_json:
            show(outcome.to_json(), as_json=True)
        else:
            from polars_evals.report.terminal import fold_of, run_lines, width_of

            show("\n".join(run_lines(outcome, width_of(sys.stdout), fold_of(sys.stdout))))
    raise typer.Exit(outcome.exit_code(fail_on_inconclusive=fail_on_inconclusive))


@app.command(epilog="Example: `polars-evals status job.toml`")
def status(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    last: Annotated[int, typer.Option(help="How many of the last runs to show.", min=0)] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Show the last runs of a job, the files they read and skipped, and the current gates; runs nothing."""
    with explained():
        from polars_evals.jobs.upkeep import status as status_of
        from polars_evals.report.terminal import fold_of, status_lines, width_of

        found = status_of(job, last=last)
        lines = status_lines(found, width_of(sys.stdout), fold_of(sys.stdout))
        show(found.to_json() if as_json else "\n".join(lines), as_json=as_json)


@app.command(epilog="Example: `polars-evals maintain job.toml --keep-days 30`, once a week.")
def maintain(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    keep: Annotated[
        str | None,
        typer.Option(help="Delete rows older than this: 90d, 12w, 1y. [default: `keep` of the job]"),
    ] = None,
    keep_days: Annotated[float, typer.Option(help="Days to keep replaced data files.", min=0)] = 7,
    restore: Annotated[
        bool, typer.Option("--restore", help="Restore a damaged store to its last sound version.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Delete a store's old rows on request, merge its small files, and remove replaced ones."""
    with stoppable(), explained():
        from polars_evals.jobs.upkeep import maintain as maintain_store
        from polars_evals.wording import counted

        done = maintain_store(job, keep=keep, keep_days=keep_days, restore=restore, say=tell)
        if restore:
            text = f"restored {done['store']} to version {done['version']}: {counted(done['rows'], 'row')}"
            show(json.dumps(done, indent=2) if as_json else text)
            return
        before, removed = done["files_before"], done["removed"]
        is_merged = done["files"] < before
        merged = (
            f"merged {counted(before, 'data file')} into {done['files']:,}"
            if is_merged
            else "merged no data files"
        )
        text = (
            f"Deleted {counted(done['forgotten'], 'old row')}; {merged}; "
            f"removed {counted(removed, 'replaced file')}; "
            f"{counted(done['rows'], 'row')} in {done['store']}"
        )
        show(json.dumps(done, indent=2) if as_json else text)


@app.command(name="metrics", epilog="Example: `polars-evals metrics rouge`")
def list_metrics(
    name: Annotated[str | None, typer.Argument(help="One metric, to read all about it.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the metrics with their options and defaults."""
    with explained():
        from polars_evals.cli.metrics import about, overview

        if name is not None:
            show(about(name, as_json=as_json))
        else:
            show(overview(as_json=as_json))


@app.command(epilog="Example: `polars-evals demo --output demo`")
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path(
        "polars-evals-demo"
    ),
    as_json: options.AsJson = False,
) -> None:
    """Score the example traces, compare two model versions by topic, and write the report."""
    with explained():
        from polars_evals.cli.demo import run_demo

        show(run_demo(output, as_json=as_json), as_json=as_json)


questions.add_to(app)
traces.add_to(app)
