"""The commands and their options. What they do is in the library; here it is only asked for and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from polars_evals._version import __version__
from polars_evals.cli import console
from polars_evals.cli.console import explained, progress, show, stoppable, tell

app = typer.Typer(
    help="Score what language models say, and catch regressions between model versions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Scored = Annotated[
    list[str], typer.Argument(help="Scored Parquet files, folders, patterns, or the store of a job.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Version = Annotated[str, typer.Option("--version", help="Column that tells the versions apart.")]
Baseline = Annotated[str, typer.Option(help="The version to compare with.")]
Candidates = Annotated[
    list[str] | None,
    typer.Option("--candidate", help="The version to judge; repeat for several. [default: all]"),
]
Item = Annotated[str | None, typer.Option(help="Column that names the test case, to pair the versions on.")]
Cluster = Annotated[
    str | None, typer.Option(help="Column that groups items which are not independent, such as the session.")
]
By = Annotated[
    list[str] | None,
    typer.Option(help="Column to slice by; repeat for several, `a,b` for both at once, `auto` to search."),
]
ByColumn = Annotated[
    list[str] | None,
    typer.Option("--by", help="Column to slice by; repeat for several, `a,b` for both at once."),
]
Metrics = Annotated[list[str] | None, typer.Option("--metric", help="Metric to look at. [default: all]")]
MinEffect = Annotated[float, typer.Option(help="The smallest difference in mean score that matters.")]
Alpha = Annotated[float, typer.Option(help="Level of the intervals and of the corrected tests.")]
FailOnInconclusive = Annotated[
    bool, typer.Option("--fail-on-inconclusive", help="Exit with 4 when nothing can be concluded.")
]
Markdown = Annotated[Path | None, typer.Option(help="Write the result as Markdown.")]


def print_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 fine, 1 a gate failed, 2 usage or configuration, 3 input or schema, 4 inconclusive."
)
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score what language models say, and catch regressions between model versions."""
    console.debug = debug


@app.command(
    epilog="Example: `polars-evals score traces/*.parquet --suite evals.toml --output scored.parquet`"
)
def score(
    inputs: Annotated[list[str], typer.Argument(help="Parquet or JSON Lines files, folders or patterns.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The Parquet file to write.")],
    suite: Annotated[Path | None, typer.Option(help="Suite file (TOML, YAML or JSON).")] = None,
    metrics: Annotated[
        list[str] | None, typer.Option("--metric", help="A metric with its defaults, instead of a suite.")
    ] = None,
    format_name: Annotated[
        str, typer.Option("--format", help="Trace format; auto tells by the columns.")
    ] = "auto",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column", help="Where a canonical column is: `output=answer.text`; repeat for several."
        ),
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Another column of a trace export to keep.")] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="`outputs`: rows with an output; `all`: every row. [default: outputs for spans, else all]"
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="`polars`: this machine; `ray`, `spark`: a cluster, which writes a folder of files."
        ),
    ] = "polars",
    as_json: AsJson = False,
) -> None:
    """Score files into one Parquet file, streaming: they need not fit in memory."""
    with explained():
        from polars_evals.cli.score import choose_input, choose_suite, score_files

        source = choose_input(inputs, format_name, columns or [], keep=keep or [], rows=rows)
        result = score_files(source, choose_suite(suite, metrics), output, engine)
        show(json.dumps(result, indent=2) if as_json else result_lines(result))


@app.command(
    epilog="Example: `polars-evals compare scored.parquet --version model --baseline v1 --candidate v2 "
    "--item item_id --by topic --html report.html`"
)
def compare(
    scored: Scored,
    *,
    version: Version,
    baseline: Baseline,
    candidate: Candidates = None,
    item: Item = None,
    cluster: Cluster = None,
    by: By = None,
    metrics: Metrics = None,
    min_effect: MinEffect = 0.01,
    alpha: Alpha = 0.05,
    html: Annotated[Path | None, typer.Option(help="Write the report page.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML, for continuous integration.")] = None,
    markdown: Markdown = None,
    as_json: AsJson = False,
    fail_on_inconclusive: FailOnInconclusive = False,
) -> None:
    """Compare model versions with a baseline; exits with 1 when something regressed."""
    with explained():
        need_pages("--html", html)
        comparison = compared(
            scored, version=version, baseline=baseline, candidate=candidate, item=item, cluster=cluster,
            by=by, metrics=metrics, min_effect=min_effect, alpha=alpha,
        )  # fmt: skip
        deliver(comparison, {"html": html, "junit": junit, "markdown": markdown})
        show(comparison.to_json() if as_json else repr(comparison))
    leave(comparison.verdict, fail_on_inconclusive=fail_on_inconclusive)


@app.command(
    epilog="Example: `polars-evals report scored.parquet --version model --baseline v1 --item item_id`"
)
def report(
    scored: Scored,
    *,
    version: Version,
    baseline: Baseline,
    candidate: Candidates = None,
    item: Item = None,
    cluster: Cluster = None,
    by: By = None,
    metrics: Metrics = None,
    min_effect: MinEffect = 0.01,
    alpha: Alpha = 0.05,
    time: Annotated[
        str | None, typer.Option(help="Column of dates or datetimes, to show the scores over time.")
    ] = None,
    every: Annotated[str, typer.Option(help="Length of a window of --time: 1h, 1d, 1w, 1mo.")] = "1d",
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    as_json: AsJson = False,
) -> None:
    """Write the page of a comparison, and judge nothing: one HTML file that opens offline."""
    with explained():
        from polars_evals.cli.score import read_scored
        from polars_evals.jobs.outcome import over_time, write_whole

        need_pages("report", output)
        comparison = compared(
            scored, version=version, baseline=baseline, candidate=candidate, item=item, cluster=cluster,
            by=by, metrics=metrics, min_effect=min_effect, alpha=alpha,
        )  # fmt: skip
        line = None if time is None else over_time(read_scored(scored), comparison, time=time, every=every)
        write_whole(output, comparison.to_html(timeline=line))
        result = {"verdict": comparison.verdict, "html": str(output)}
        show(json.dumps(result) if as_json else f"{comparison.headline}\n{output}")


@app.command(epilog="Example: `polars-evals timeline scored.parquet --time ts --every 1d --version model`")
def timeline(
    scored: Scored,
    *,
    time: Annotated[str, typer.Option(help="Column of dates or datetimes.")] = "ts",
    every: Annotated[str, typer.Option(help="Length of a window: 1h, 1d, 1w, 1mo.")] = "1d",
    version: Annotated[str | None, typer.Option(help="Column that tells versions apart.")] = None,
    cluster: Cluster = None,
    by: ByColumn = None,
    metrics: Metrics = None,
    reference: Annotated[int, typer.Option(help="How many first windows the others are held against.")] = 14,
    min_effect: MinEffect = 0.01,
    alpha: Alpha = 0.05,
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    markdown: Markdown = None,
    as_json: AsJson = False,
    fail_on_inconclusive: FailOnInconclusive = False,
) -> None:
    """Follow scores over time and find when they changed; exits with 1 when something regressed."""
    with explained():
        from polars_evals.cli.score import read_scored
        from polars_evals.drift import timeline as follow

        need_pages("--html", html)
        line = follow(
            read_scored(scored), time=time, every=every, version=version, cluster=cluster, by=slices(by),
            metrics=metrics, reference=reference, min_effect=min_effect, alpha=alpha,
        )  # fmt: skip
        deliver(line, {"html": html, "markdown": markdown})
        show(line.to_json() if as_json else repr(line))
    leave(line.verdict, fail_on_inconclusive=fail_on_inconclusive)


@app.command(epilog="Example: `polars-evals run job.toml`, from cron, Airflow or a GitHub workflow.")
def run(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    rescore: Annotated[
        bool, typer.Option("--rescore", help="Score all stored rows again if the suite has changed.")
    ] = False,
    as_json: AsJson = False,
    fail_on_inconclusive: FailOnInconclusive = False,
) -> None:
    """Run a job: score what is new, add it to the store exactly once, compare, gate and report."""
    with stoppable(), explained():
        from polars_evals.jobs.runner import Watch
        from polars_evals.jobs.runner import run as run_job

        with progress("scoring files") as (start, advance):
            outcome = run_job(job, rescore=rescore, watch=Watch(tell, start, advance))
        if as_json:
            show(outcome.to_json())
        else:
            show(
                "\n".join([*outcome.lines(), *(f"{kind}: {path}" for kind, path in outcome.reports.items())])
            )
    raise typer.Exit(outcome.exit_code(fail_on_inconclusive=fail_on_inconclusive))


@app.command(name="metrics", epilog="Example: `polars-evals metrics rouge`")
def list_metrics(
    name: Annotated[str | None, typer.Argument(help="One metric, to read all about it.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the metrics of a suite with their options and defaults."""
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
    as_json: AsJson = False,
) -> None:
    """Score the example traces, compare two model versions by topic, and write the report."""
    with explained():
        from polars_evals.cli.demo import run_demo

        need_pages("demo", output)
        show(run_demo(output, as_json=as_json))


def compared(
    scored: list[str],
    *,
    version: str,
    baseline: str,
    candidate: list[str] | None,
    item: str | None,
    cluster: str | None,
    by: list[str] | None,
    metrics: list[str] | None,
    min_effect: float,
    alpha: float,
) -> Any:
    """Compare as the options say."""
    from polars_evals.cli.score import read_scored
    from polars_evals.drift import compare as compare_versions

    return compare_versions(
        read_scored(scored), version=version, baseline=baseline, candidate=candidate or None, item=item,
        cluster=cluster, by=slices(by), metrics=metrics or None, min_effect=min_effect, alpha=alpha,
    )  # fmt: skip


def slices(by: list[str] | None) -> str | list[str | list[str]] | None:
    """Read the slices: `auto`, columns, or columns joined by commas."""
    if not by:
        return None
    return "auto" if by == ["auto"] else [one.split(",") if "," in one else one for one in by]


def need_pages(what: str, page: Path | None) -> None:
    """Insist on what a page needs, if there is one to write, before any work."""
    from polars_evals.jobs.config import require_pages

    if page is not None:
        require_pages(what)


def deliver(result: Any, paths: dict[str, Path | None]) -> None:
    """Write the files that were asked for, each at once."""
    from polars_evals.jobs.outcome import write_whole

    for kind, path in paths.items():
        if path is not None:
            write_whole(path, getattr(result, f"to_{kind}")())


def leave(verdict: str, *, fail_on_inconclusive: bool) -> None:
    """Leave with the exit code of a verdict."""
    from polars_evals.jobs.errors import GATE_FAILED, INCONCLUSIVE

    codes = {"regressed": GATE_FAILED, "inconclusive": INCONCLUSIVE if fail_on_inconclusive else 0}
    raise typer.Exit(codes.get(verdict, 0))


def result_lines(result: dict[str, Any]) -> str:
    """Show what `score` did."""
    from polars_evals.drift.text import counted

    told = [
        f"{name:20} mean score {about['mean']:.4f}  pass rate {about['pass_rate']:.1%}"
        if about["mean"] is not None
        else f"{name:20} no scores"
        for name, about in result["metrics"].items()
    ]
    return "\n".join(
        [
            *told,
            f"{counted(result['rows'], 'row')} from {counted(result['files'], 'file')} in {result['output']}",
        ]
    )
