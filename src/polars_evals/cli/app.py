"""The commands. What they do is in the library; here it is only asked for and shown."""

import inspect
import json
import shlex
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from polars_evals._version import __version__
from polars_evals.cli import console, options
from polars_evals.cli.console import deliver, explained, leave, progress, show, show_result, stoppable, tell
from polars_evals.cli.diff import diff

Command = Callable[..., None]

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


def _print_version(wanted: bool) -> None:
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
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score what language models say, and catch regressions between model versions."""
    console.debug, console.log = debug, log


def _command(name: str, *example: str, more: str = "") -> Callable[[Command], Command]:
    """Add a command, with an example that ends its help."""
    text = " ".join(("polars-evals", name, *example))
    return app.command(name=name, epilog=f"Example: `{text}`{more}")


def _question(name: str, *example: str, judges: bool = False) -> Callable[[Command], Command]:
    """Add a command that calls the function of the library with its name, and writes and shows the result.

    The decorated function declares the options and has no body. A command that `judges` leaves with the exit
    code of the verdict.
    """

    def register(declared: Command) -> Command:
        @wraps(declared, assigned=("__name__", "__doc__"))
        def run(
            *,
            html: options.Page = None,
            markdown: options.Markdown = None,
            everything: options.All = False,
            as_json: options.AsJson = False,
            fail_on_inconclusive: options.FailOnInconclusive = False,
            **given: Any,
        ) -> None:
            with explained():
                from polars_evals import drift
                from polars_evals.jobs.scoring import scan_scored

                files = given.pop(declared_options[0].name)
                frame = scan_scored(files) if files else None
                result = getattr(drift, name)(frame, **options.arguments(given))
                paths = deliver(result, {"html": html, "markdown": markdown})
                show_result(result, paths, as_json=as_json, everything=everything)
            if judges:
                leave([result.verdict], fail_on_inconclusive=fail_on_inconclusive)

        declared_options = list(inspect.signature(declared).parameters.values())
        shared = list(inspect.signature(run, follow_wrapped=False).parameters.values())
        taken = [*declared_options, *shared[: 5 if judges else 4]]
        run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
        return _command(name, *example)(run)

    return register


_command("diff", "v1.jsonl v2.jsonl --html report.html")(diff)


@_command("score", "traces/*.parquet --suite evals.toml --output scored.parquet")
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
    given = locals()
    with stoppable(), explained():
        from polars_evals.cli import reading
        from polars_evals.report.terminal import score_lines

        if output is None and not check:
            raise ValueError("--output names the Parquet file to write; --check alone writes nothing")
        source = reading.choose_input(given)
        chosen = reading.choose_suite(suite, metrics)
        findings = reading.check_files(source, chosen) if check else []
        if output is None:
            found = json.dumps(findings, indent=2) if as_json else reading.finding_lines(findings)
            show(found, as_json=as_json)
            return
        with progress("scoring"):
            result = reading.score_input(source, chosen, output, engine)
        if check:
            result["findings"] = findings
            if not as_json:
                show(reading.finding_lines(findings))
        for warning in result.get("warnings", ()):
            tell(f"polars-evals: warning: {warning}")
        show(json.dumps(result, indent=2) if as_json else score_lines(result), as_json=as_json)


@_command("traces", "export.jsonl --column output=response")
def traces(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders or patterns.")],
    *,
    format_name: options.Format = "auto",
    columns: options.Columns = None,
    keep: options.Keep = None,
    rows: options.Rows = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the format of files, how many records became rows, and why others did not."""
    given = locals()
    with explained():
        from polars_evals._errors import INPUT
        from polars_evals.cli.reading import choose_input, in_options, in_words_of_the_command
        from polars_evals.report.terminal import fold_of, traces_text, width_of
        from polars_evals.traces import check_traces

        source = choose_input(given)
        with in_options():
            checked = check_traces(
                inputs, format_name, columns=source.columns, keep=source.keep, rows=source.rows
            )
        text = traces_text(checked, in_words_of_the_command, width_of(sys.stdout), fold_of(sys.stdout))
        show(json.dumps(checked.to_dict(), indent=2) if as_json else text)
    if not checked.ok:
        raise typer.Exit(INPUT)


@_command(
    "compare", "scored.parquet --version model --baseline v1 --candidate v2",
    "--item item_id --by topic --html report.html",
)  # fmt: skip
def compare(
    scored: options.Scored,
    *,
    version: options.FoundVersion = None,
    baseline: options.Baseline = None,
    candidate: options.Candidates = None,
    item: options.Item = None,
    cluster: options.Cluster = None,
    by: options.By = None,
    metrics: options.Metrics = None,
    measures: options.Measures = None,
    aggregates: options.Aggregates = None,
    truth: options.Truth = None,
    adjust: options.Adjust = None,
    min_effect: options.MinEffect = 0.01,
    alpha: options.Alpha = 0.05,
    margin: options.Margin = None,
    unanswered: options.Unanswered = "auto",
    html: options.Html = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of dates or datetimes, to also show scores over time in --html."),
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
    given = locals()
    with explained():
        from polars_evals.cli.reading import need_pairs, with_defaults
        from polars_evals.drift import compare_spec
        from polars_evals.jobs.runner import timeline_of
        from polars_evals.jobs.scoring import scan_scored

        spec = options.comparison_spec(given)
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


@_question("timeline", "scored.parquet --time ts --every 1d --version model", judges=True)
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
) -> None:
    """Follow scores over time and find when they changed; exits with 1 when something regressed."""


@_question("rank", "scored.parquet --version model --item item_id")
def rank(
    scored: options.Scored,
    *,
    version: options.Version,
    item: options.ItemColumn,
    metrics: options.Metrics = None,
    cluster: options.Cluster = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare every version with this one. [default: all pairs]")
    ] = None,
    measures: options.Measures = None,
    aggregates: options.Aggregates = None,
    unanswered: options.Unanswered = "auto",
    alpha: options.Alpha = 0.05,
) -> None:
    """Rank versions: a leaderboard with intervals for means, ranks and differences."""


@_question("plan", "--spread 0.3 --min-effect 0.02")
def plan(
    pilot: Annotated[
        list[str] | None,
        typer.Argument(help="Scored files of two versions, to estimate the spread from; or give --spread."),
    ] = None,
    *,
    spread: Annotated[
        float | None, typer.Option(help="Standard deviation of the paired differences.")
    ] = None,
    min_effect: Annotated[float, typer.Option(help="The difference to detect.")] = 0.02,
    alpha: options.Alpha = 0.05,
    power: Annotated[float, typer.Option(help="Probability of detecting it.")] = 0.8,
    cluster_size: Annotated[float | None, typer.Option(help="Number of items in a cluster.")] = None,
    icc: Annotated[float | None, typer.Option(help="Correlation within a cluster.")] = None,
    runs: Annotated[int, typer.Option(help="How often each version answers each item.")] = 1,
    run_share: Annotated[
        float | None, typer.Option(help="Share of the variance between runs of an item.")
    ] = None,
    version: Annotated[str | None, typer.Option(help="The pilot's column of versions.")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="The version to compare with, for a pilot of more than two versions."),
    ] = None,
    item: Annotated[str | None, typer.Option(help="The pilot's column of test cases.")] = None,
    cluster: options.Cluster = None,
    metrics: options.Metrics = None,
) -> None:
    """Find how many items two versions must answer to detect a change."""


@_question("runs", "scored.parquet --version model --item item_id --k 1 --k 4")
def runs(
    scored: options.Scored,
    *,
    version: options.Version,
    item: options.ItemColumn,
    k: Annotated[
        list[int] | None,
        typer.Option(help="Number of runs, for pass@k; repeat for several. [default: 1, 2, 4]"),
    ] = None,
    metrics: options.Metrics = None,
    cluster: options.Cluster = None,
    alpha: options.Alpha = 0.05,
) -> None:
    """Judge versions that answered each item several times: pass@k, pass^k and flaky items."""


@_question("agreement", "labels.parquet --rater human --rater judge")
def agreement(
    ratings: Annotated[list[str], typer.Argument(help="Parquet files with a row for each item.")],
    *,
    raters: Annotated[
        list[str], typer.Option("--rater", help="Column of ratings; repeat for each rater, people first.")
    ],
    level: Annotated[str, typer.Option(help="`nominal`, `ordinal` or `interval`.")] = "nominal",
    alpha: options.Alpha = 0.05,
) -> None:
    """Measure how well raters agree: kappas, Krippendorff's alpha, and a judge against people."""


@_command("init", "export/ --output evals/")
def init(
    inputs: options.Inputs,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path("evals"),
    format_name: options.Format = "auto",
    columns: options.Columns = None,
    keep: options.Keep = None,
) -> None:
    """Look at answers and write a suite and a job for them. Nothing is scored, and no file is replaced."""
    given = locals()
    with explained():
        from polars_evals.cli.init import write_files
        from polars_evals.cli.reading import in_options, reading_of

        with in_options():
            files, reasons = write_files(inputs, output, reading=reading_of(given))
        show("\n".join([*(f"wrote {file}" for file in files), *(f"  {one}" for one in reasons)]))
        tell(f"next: polars-evals run {shlex.quote(str(files[-1]))}")


@_command("run", "job.toml", more=", from cron, Airflow or a GitHub workflow.")
def run(
    job: options.JobFile,
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
        from polars_evals.report.terminal import fold_of, run_lines, width_of

        with progress("scoring files") as (start, advance):
            outcome = run_job(job, rescore=rescore, watch=Watch(tell, start, advance))
        if as_json:
            show(outcome.to_json(), as_json=True)
        else:
            show("\n".join(run_lines(outcome, width_of(sys.stdout), fold_of(sys.stdout))))
    raise typer.Exit(outcome.exit_code(fail_on_inconclusive=fail_on_inconclusive))


@_command("status", "job.toml")
def status(
    job: options.JobFile,
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


@_command("maintain", "job.toml --keep-days 30", more=", once a week.")
def maintain(
    job: options.JobFile,
    keep: Annotated[
        str | None,
        typer.Option(help="Delete rows older than this: 90d, 12w, 1y. [default: `keep` of the job]"),
    ] = None,
    keep_days: Annotated[float, typer.Option(help="Days to keep replaced data files.", min=0)] = 7,
    restore: Annotated[
        bool, typer.Option("--restore", help="Restore a damaged store to its last undamaged version.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Delete a store's old rows on request, merge its small files, and remove replaced ones."""
    with stoppable(), explained():
        from polars_evals.jobs.upkeep import maintain as maintain_store
        from polars_evals.wording import counted

        done = maintain_store(job, keep=keep, keep_days=keep_days, restore=restore, say=tell)
        rows = counted(done["rows"], "row")
        if restore:
            text = f"restored {done['store']} to version {done['version']}: {rows}"
        else:
            before, after = done["files_before"], done["files"]
            merged = f"{counted(before, 'data file')} into {after:,}" if after < before else "no data files"
            text = (
                f"Deleted {counted(done['forgotten'], 'old row')}; merged {merged}; "
                f"removed {counted(done['removed'], 'replaced file')}; {rows} in {done['store']}"
            )
        show(json.dumps(done, indent=2) if as_json else text)


@_command("metrics", "rouge")
def metrics(
    name: Annotated[str | None, typer.Argument(help="One metric, to read all about it.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the metrics with their options and defaults."""
    with explained():
        from polars_evals.suite.metric import metric_names, metric_type

        if name is not None and not as_json:
            show(inspect.getdoc(metric_type(name).function) or "")
            return
        found = [_describe(one) for one in ([name] if name is not None else metric_names())]
        if as_json:
            show(json.dumps(found if name is None else found[0], indent=2, default=str))
        else:
            show(_overview(found))


def _describe(name: str) -> dict[str, Any]:
    from polars_evals.suite.metric import metric_type

    kind = metric_type(name)
    required = [option for option, given in kind.options.items() if given.default is given.empty]
    return {
        "metric": name,
        "about": (inspect.getdoc(kind.function) or "").split("\n")[0],
        "compares_with_expected": kind.has_expected,
        "options": {
            option: None if option in required else given.default for option, given in kind.options.items()
        },
        "required": required,
    }


def _overview(found: list[dict[str, Any]]) -> str:
    from polars_evals.clean import KNOWN

    width = max(len(one["metric"]) for one in found)
    lines = []
    for one in found:
        options = ", ".join(
            option if option in one["required"] else f"{option}={value!r}"
            for option, value in one["options"].items()
        )
        lines.append(f"{one['metric']:{width}}  {one['about']}\n{'':{width}}  {options}")
    lines += ["", "Steps that clean the texts first, in a suite as `clean = [...]`:", f"  {KNOWN}"]
    return "\n".join(lines)


@_command("demo", "--output demo")
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path(
        "polars-evals-demo"
    ),
    as_json: options.AsJson = False,
) -> None:
    """Score the example traces, compare two model versions by topic, and write the report."""
    with explained():
        import polars as pl

        from polars_evals import Metric, Suite
        from polars_evals.drift import compare as compare_rows
        from polars_evals.wording import to_json

        suite = Suite([Metric("exact_match"), Metric("levenshtein"), Metric("rouge", tokenizer="unicode")])
        scored, page = output / "scored.parquet", output / "report.html"
        examples = _example_traces()
        output.mkdir(parents=True, exist_ok=True)
        suite.sink_parquet(pl.scan_parquet(examples), scored)
        comparison = compare_rows(
            pl.scan_parquet(scored),
            version="model",
            baseline="assistant-1.0",
            candidate="assistant-2.0",
            item="item_id",
            cluster="session_id",
            by=["topic"],
        )
        deliver(comparison, {"html": page})
        if as_json:
            frames = {"summary": comparison.summary.to_dicts(), "slices": comparison.slices.to_dicts()}
            found = {"verdict": comparison.verdict, "scored": str(scored), "html": str(page), **frames}
            show(to_json(found), as_json=True)
            return
        from polars_evals.report.terminal import text, width_of

        paths = {"scores": str(scored), "report": str(page)}
        more = "print(comparison.explain())"
        show(text(comparison, width=width_of(sys.stdout), more=more, lines=20, paths=paths))


def _example_traces() -> Path:
    """Find the example traces: in the installed package, or in the project's folder."""
    import polars_evals
    from polars_evals._errors import InputError

    package = Path(polars_evals.__file__).parent
    for path in (package / "demo" / "traces.parquet", package.parents[1] / "data" / "traces.parquet"):
        if path.exists():
            return path
    raise InputError("the example traces are not installed: reinstall polars-evals")
