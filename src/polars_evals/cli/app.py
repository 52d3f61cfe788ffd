"""The commands. What they do is in the library; here it is only asked for and shown."""

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from pathlib import Path
from shutil import get_terminal_size
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from polars_evals._version import __version__
from polars_evals.cli import console, options
from polars_evals.cli.console import deliver, explained, leave, progress, show, show_result, stoppable, tell
from polars_evals.cli.options import TEXT, TEXTS, Option, argument, flag, option

if TYPE_CHECKING:
    from polars_evals._diff import Diff

Command = Callable[..., None]

# The options that go to `run_diff` as they are.
OF_COMPARISON = (
    *("version", "candidate", "item", "cluster", "by", "measures"),
    *("min_effect", "alpha", "margin", "unanswered"),
)
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


def _command(
    name: str, example: str, takes: str, more: str = "", /, **own: Option
) -> Callable[[Any], Command]:
    """Add a command with the options of these names, whose values are attributes of its one argument."""

    def register(command: Callable[[SimpleNamespace], None]) -> Command:
        @wraps(command, assigned=("__name__", "__doc__"))
        def run(**given: Any) -> None:
            command(SimpleNamespace(**given))

        options.declare(run, takes, own)
        return app.command(name=name, epilog=f"Example: `polars-evals {name} {example}`{more}")(run)

    return register


def _question(name: str, example: str, about: str, takes: str, more: str = "", /, **own: Option) -> None:
    """Add a command that calls the function of the library with its name, and writes and shows the result.

    With more options of a command: one that takes `fail_on_inconclusive` leaves with the verdict's exit code.
    """
    first, *others = takes.split()

    def ask(given: SimpleNamespace) -> None:
        with explained():
            from polars_evals import drift
            from polars_evals.jobs.ingest import scan_scored

            files = getattr(given, first)
            asked = options.arguments({option: getattr(given, option) for option in others})
            result = getattr(drift, name)(scan_scored(files) if files else None, **asked)
            show_result(result, deliver(result, given), given)
        if hasattr(given, "fail_on_inconclusive"):
            leave([result.verdict], given)

    ask.__name__, ask.__doc__ = name, about
    _command(name, example, f"{takes} html markdown everything as_json {more}", **own)(ask)


@_command(
    "diff",
    "v1.jsonl v2.jsonl --html report.html",
    "inputs suite metrics version baseline candidate item cluster by measures format_name columns keep rows "
    "dataset on expected min_effect alpha margin unanswered html open_page save junit markdown everything "
    "as_json fail_on_inconclusive exit_zero",
    metrics=options.METRIC_NAMES,
    version=option(TEXT, "Column of versions, where one input holds them all.", "--version"),
    baseline=option(TEXT, "The version to compare with, where one input holds them all."),
    item=option(TEXT, "Column that pairs the versions. [default: item_id, or equal inputs]"),
    open_page=flag("--open", "Show the page in a browser."),
    save=option(TEXT, "Keep the scores in a Parquet file."),
)
def diff(given: SimpleNamespace) -> None:
    """Compare two files or folders of answers in one step. The first is the baseline."""
    with stoppable(), explained():
        from polars_evals._diff import run_diff
        from polars_evals.cli.reading import choose_suite, in_options, need_pairs, reading_of

        chosen = choose_suite(given.suite, given.metrics) if given.suite or given.metrics else None
        reading, before = reading_of(given), given.baseline
        compared = options.arguments({name: getattr(given, name) for name in OF_COMPARISON})
        with in_options(), progress("scoring"):
            done = run_diff(given.inputs, suite=chosen, baseline_version=before, reading=reading, **compared)
        if given.save is not None:
            done.scored.write_parquet(given.save, metadata=done.suite.metadata)
        if given.open_page and given.html is None:
            given.html = str(Path(given.save or "report").with_suffix(".html"))
        written = {"scores": given.save} if given.save is not None else {}
        written |= deliver(done.comparison, given)
        show(_diff_json(done) if given.as_json else _diff_text(done, given, written), as_json=given.as_json)
        if given.open_page:
            import webbrowser

            webbrowser.open(Path(given.html).resolve().as_uri())
        if done.compared:
            need_pairs(done.comparison)
    leave(done.comparison.verdicts.values(), given)


def _diff_text(done: "Diff", given: SimpleNamespace, written: Mapping[str, str]) -> str:
    """Say what was found, with which metrics, how to do it step by step, and where the files are."""
    from polars_evals.report.terminal import text, width_of

    reasons = done.suggestion.reasons if done.suggestion else ()
    shown = {"width": width_of(sys.stdout), "more": "--all", "everything": given.everything}
    lines = [done.first_line] if done.first_line else []
    lines += [text(done.comparison, **shown)] if done.compared else done.similarity
    if reasons:
        lines += ["metrics chosen from the data", *(f"  {one}" for one in reasons)]
    lines += ["the same step by step"]
    lines += [f"  {shlex.join(['polars-evals', *step])}" for step in _steps(done, given)]
    return "\n".join([*lines, *(f"{kind}: {path}" for kind, path in written.items())])


def _steps(done: "Diff", given: SimpleNamespace) -> list[list[str]]:
    steps, inputs = [], list(given.inputs)
    inputs += [*_repeated("--column", given.columns), *_repeated("--keep", given.keep)]
    inputs += ["--format", given.format_name] if given.format_name != "auto" else []
    if given.metrics:
        scoring = _repeated("--metric", given.metrics)
    elif given.suite is not None:
        scoring = ["--suite", str(given.suite)]
    else:
        steps.append(["init", *inputs, "--output", "evals"])
        scoring = ["--suite", "evals/evals.toml"]
    steps.append(["score", *inputs, *scoring, "--output", "scored.parquet"])
    spec = done.comparison.spec
    versions = ["--version", done.version, "--baseline", spec.baseline, "--item", done.item]
    versions += _repeated("--by", given.by)
    versions += ["--cluster", given.cluster] if given.cluster is not None else []
    steps.append(["compare", "scored.parquet", *versions, "--html", "report.html"])
    return steps


def _repeated(option: str, values: list[str] | None) -> list[str]:
    return [word for value in values or [] for word in (option, value)]


def _diff_json(done: "Diff") -> str:
    """Return the comparison with how it came about."""
    found = json.loads(done.comparison.to_json())
    about = {
        "metrics": [str(metric.name) for metric in done.suite.metrics],
        "reasons": list(done.suggestion.reasons) if done.suggestion else [],
        "expected": "baseline" if done.is_against_baseline else "expected",
        "item": done.item,
    }
    return json.dumps({**found, "diff": about}, indent=2, ensure_ascii=False)


@_command(
    "score",
    "traces/*.parquet --suite evals.toml --output scored.parquet",
    "inputs output suite metrics check format_name columns keep rows dataset on expected engine as_json",
    inputs=argument("Files (Parquet, JSON Lines, JSON, CSV, ...), folders or patterns."),
    output=option(TEXT, "The Parquet file to write. Not needed with --check.", "--output", "-o"),
    metrics=options.METRIC_NAMES,
    check=flag("--check", "Report problems of the data that make scores misleading."),
    engine=option(
        str,
        "`polars`: this machine; `ray`, `spark`: a cluster, which writes a folder of files.",
        default="polars",
    ),
)
def score(given: SimpleNamespace) -> None:
    """Score files into one Parquet file, streaming: they need not fit in memory."""
    with stoppable(), explained():
        from polars_evals.cli import reading
        from polars_evals.report.terminal import score_lines

        output, as_json = given.output, given.as_json
        if output is None and not given.check:
            raise ValueError("--output names the Parquet file to write; --check alone writes nothing")
        source = reading.choose_input(given)
        chosen = reading.choose_suite(given.suite, given.metrics)
        findings = reading.check_files(source, chosen) if given.check else []
        if output is None:
            found = json.dumps(findings, indent=2) if as_json else reading.finding_lines(findings)
            show(found, as_json=as_json)
            return
        with progress("scoring"):
            result = reading.score_input(source, chosen, output, given.engine)
        if given.check:
            result["findings"] = findings
            if not as_json:
                show(reading.finding_lines(findings))
        for warning in result.get("warnings", ()):
            tell(f"polars-evals: warning: {warning}")
        show(json.dumps(result, indent=2) if as_json else score_lines(result), as_json=as_json)


@_command(
    "traces",
    "export.jsonl --column output=response",
    "inputs format_name columns keep rows as_json",
    inputs=argument("Files, folders or patterns."),
)
def traces(given: SimpleNamespace) -> None:
    """Show the format of files, how many records became rows, and why others did not."""
    with explained():
        from polars_evals._errors import INPUT
        from polars_evals.cli.reading import choose_input, in_options, in_words_of_the_command
        from polars_evals.report.terminal import fold_of, traces_text, width_of
        from polars_evals.traces import check_traces

        source = choose_input(given)
        with in_options():
            checked = check_traces(
                given.inputs, source.format, columns=source.columns, keep=source.keep, rows=source.rows
            )
        text = traces_text(checked, in_words_of_the_command, width_of(sys.stdout), fold_of(sys.stdout))
        show(json.dumps(checked.to_dict(), indent=2) if given.as_json else text)
    if not checked.ok:
        raise typer.Exit(INPUT)


@_command(
    "compare",
    "scored.parquet --version model --baseline v1 --candidate v2 --item item_id --by topic "
    "--html report.html",
    "scored version baseline candidate item cluster by metrics measures aggregates truth adjust min_effect "
    "alpha margin unanswered html time every junit markdown everything as_json fail_on_inconclusive "
    "exit_zero",
    time=option(TEXT, "Column of dates or datetimes, to also show scores over time in --html."),
    every=option(str, "Length of a window of --time: 1h, 1d, 1w, 1mo.", default="1d"),
)
def compare(given: SimpleNamespace) -> None:
    """Compare model versions with a baseline; exits with 1 when something regressed."""
    with explained():
        from polars_evals.cli.reading import need_pairs, with_defaults
        from polars_evals.drift import compare_spec
        from polars_evals.jobs.ingest import scan_scored

        spec = options.comparison_spec(vars(given))
        if given.time is not None and given.html is None:
            raise ValueError("--time shows scores over time on the page: name the page with --html")
        frame = scan_scored(given.scored)
        comparison = compare_spec(frame, with_defaults(spec, frame))
        page = {}
        if given.time is not None:
            from polars_evals.jobs.runner import timeline_of

            when, found = {"time": given.time, "every": given.every}, comparison.spec
            page["timeline"] = timeline_of(scan_scored(given.scored), found, found.slices, **when)
        show_result(comparison, deliver(comparison, given, **page), given)
        need_pairs(comparison)
    leave(comparison.verdicts.values(), given)


_question(
    "timeline",
    "scored.parquet --time ts --every 1d --version model",
    "Follow scores over time and find when they changed; exits with 1 when something regressed.",
    "scored time every version cluster by metrics measures adjust unanswered reference min_effect alpha",
    "fail_on_inconclusive",
    time=option(str, "Column of dates or datetimes.", default="ts"),
    every=option(str, "Length of a window: 1h, 1d, 1w, 1mo.", default="1d"),
    version=option(TEXT, "Column of versions."),
    by=options.BY_COLUMN,
    reference=option(int, "Number of first windows that form the reference.", default=14),
)
_question(
    "rank",
    "scored.parquet --version model --item item_id",
    "Rank versions: a leaderboard with intervals for means, ranks and differences.",
    "scored version item metrics cluster baseline measures aggregates unanswered alpha",
    version=options.VERSION,
    item=options.ITEM,
    baseline=option(TEXT, "Compare every version with this one. [default: all pairs]"),
)
_question(
    "plan",
    "--spread 0.3 --min-effect 0.02",
    "Find how many items two versions must answer to detect a change.",
    "pilot spread min_effect alpha power cluster_size icc runs run_share version baseline item cluster "
    "metrics",
    pilot=argument(
        "Scored files of two versions, to estimate the spread from; or give --spread.", TEXTS, None
    ),
    spread=option(options.NUMBER, "Standard deviation of the paired differences."),
    min_effect=option(float, "The difference to detect.", default=0.02),
    power=option(float, "Probability of detecting it.", default=0.8),
    cluster_size=option(options.NUMBER, "Number of items in a cluster."),
    icc=option(options.NUMBER, "Correlation within a cluster."),
    runs=option(int, "How often each version answers each item.", default=1),
    run_share=option(options.NUMBER, "Share of the variance between runs of an item."),
    version=option(TEXT, "The pilot's column of versions."),
    baseline=option(TEXT, "The version to compare with, for a pilot of more than two versions."),
    item=option(TEXT, "The pilot's column of test cases."),
)
_question(
    "runs",
    "scored.parquet --version model --item item_id --k 1 --k 4",
    "Judge versions that answered each item several times: pass@k, pass^k and flaky items.",
    "scored version item k metrics cluster alpha",
    version=options.VERSION,
    item=options.ITEM,
    k=option(list[int] | None, "Number of runs, for pass@k; repeat for several. [default: 1, 2, 4]", "--k"),
)
_question(
    "agreement",
    "labels.parquet --rater human --rater judge",
    "Measure how well raters agree: kappas, Krippendorff's alpha, and a judge against people.",
    "ratings raters level alpha",
    ratings=argument("Parquet files with a row for each item."),
    raters=option(
        list[str],
        "Column of ratings; repeat for each rater, people first.",
        "--rater",
        **options.REQUIRED,
    ),
    level=option(str, "`nominal`, `ordinal` or `interval`.", default="nominal"),
)


@_command(
    "init",
    "export/ --output evals/",
    "inputs output format_name columns keep",
    output=option(Path, "The folder to write to.", "--output", "-o", default=Path("evals")),
)
def init(given: SimpleNamespace) -> None:
    """Look at answers and write a suite and a job for them. Nothing is scored, and no file is replaced."""
    with explained():
        from polars_evals.cli.init import write_files
        from polars_evals.cli.reading import in_options, reading_of

        with in_options():
            files, reasons = write_files(given.inputs, given.output, reading=reading_of(given))
        show("\n".join([*(f"wrote {file}" for file in files), *(f"  {one}" for one in reasons)]))
        tell(f"next: polars-evals run {shlex.quote(str(files[-1]))}")


@_command(
    "run",
    "job.toml",
    "job rescore as_json fail_on_inconclusive",
    ", from cron, Airflow or a GitHub workflow.",
    rescore=flag("--rescore", "Score all stored rows again if the suite has changed."),
)
def run(given: SimpleNamespace) -> None:
    """Run a job: score new files, store each row exactly once, compare, check gates and write reports."""
    with stoppable(), explained():
        from polars_evals.jobs.runner import Watch
        from polars_evals.jobs.runner import run as run_job
        from polars_evals.report.terminal import fold_of, run_lines, width_of

        with progress("scoring files") as (start, advance):
            outcome = run_job(given.job, rescore=given.rescore, watch=Watch(tell, start, advance))
        if given.as_json:
            show(outcome.to_json(), as_json=True)
        else:
            show("\n".join(run_lines(outcome, width_of(sys.stdout), fold_of(sys.stdout))))
    raise typer.Exit(outcome.exit_code(fail_on_inconclusive=given.fail_on_inconclusive))


@_command(
    "status",
    "job.toml",
    "job last as_json",
    last=option(int, "How many of the last runs to show.", default=10, min=0),
)
def status(given: SimpleNamespace) -> None:
    """Show the last runs of a job, the files they read and skipped, and the current gates; runs nothing."""
    with explained():
        from polars_evals.jobs.runner import status as status_of
        from polars_evals.report.terminal import fold_of, status_lines, width_of

        found = status_of(given.job, last=given.last)
        lines = status_lines(found, width_of(sys.stdout), fold_of(sys.stdout))
        show(found.to_json() if given.as_json else "\n".join(lines), as_json=given.as_json)


@_command(
    "maintain",
    "job.toml --keep-days 30",
    "job keep keep_days restore as_json",
    ", once a week.",
    keep=option(TEXT, "Delete rows older than this: 90d, 12w, 1y. [default: `keep` of the job]"),
    keep_days=option(float, "Days to keep replaced data files.", default=7, min=0),
    restore=flag("--restore", "Restore a damaged store to its last undamaged version."),
)
def maintain(given: SimpleNamespace) -> None:
    """Delete a store's old rows on request, merge its small files, and remove replaced ones."""
    with stoppable(), explained():
        from polars_evals.jobs.runner import maintain as maintain_store
        from polars_evals.wording import counted

        chosen = {"keep": given.keep, "keep_days": given.keep_days, "restore": given.restore}
        done = maintain_store(given.job, **chosen, say=tell)
        rows = counted(done["rows"], "row")
        if given.restore:
            text = f"restored {done['store']} to version {done['version']}: {rows}"
        else:
            before, after = done["files_before"], done["files"]
            merged = f"{counted(before, 'data file')} into {after:,}" if after < before else "no data files"
            text = (
                f"Deleted {counted(done['forgotten'], 'old row')}; merged {merged}; "
                f"removed {counted(done['removed'], 'replaced file')}; {rows} in {done['store']}"
            )
        show(json.dumps(done, indent=2) if given.as_json else text)


@_command("metrics", "rouge", "name as_json", name=argument("One metric, to read all about it.", TEXT, None))
def metrics(given: SimpleNamespace) -> None:
    """List the metrics with their options and defaults."""
    with explained():
        from polars_evals.suite.metric import metric_names, metric_type

        name, as_json = given.name, given.as_json
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
    defaults = {option: one.default for option, one in kind.options.items()}
    required = [option for option, default in defaults.items() if default is Parameter.empty]
    return {
        "metric": name,
        "about": (inspect.getdoc(kind.function) or "").split("\n")[0],
        "compares_with_expected": kind.has_expected,
        "options": defaults | dict.fromkeys(required),
        "required": required,
    }


def _overview(found: list[dict[str, Any]]) -> str:
    from polars_evals.clean import KNOWN

    width = max(len(one["metric"]) for one in found)
    lines = []
    for one in found:
        options = [
            option if option in one["required"] else f"{option}={value!r}"
            for option, value in one["options"].items()
        ]
        lines.append(f"{one['metric']:{width}}  {one['about']}\n{'':{width}}  {', '.join(options)}")
    lines += ["", "Steps that clean the texts first, in a suite as `clean = [...]`:", f"  {KNOWN}"]
    return "\n".join(lines)


@_command(
    "demo",
    "--output demo",
    "output as_json",
    output=option(Path, "The folder to write to.", "--output", "-o", default=Path("polars-evals-demo")),
)
def demo(given: SimpleNamespace) -> None:
    """Score the example traces, compare two model versions by topic, and write the report."""
    with explained():
        import polars as pl

        from polars_evals import Metric, Suite
        from polars_evals.drift import compare as compare_rows
        from polars_evals.wording import to_json

        suite = Suite([Metric("exact_match"), Metric("levenshtein"), Metric("rouge", tokenizer="unicode")])
        scored, page = given.output / "scored.parquet", given.output / "report.html"
        examples = _example_traces()
        given.output.mkdir(parents=True, exist_ok=True)
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
        written = deliver(comparison, SimpleNamespace(html=page))
        if given.as_json:
            frames = {"summary": comparison.summary.to_dicts(), "slices": comparison.slices.to_dicts()}
            found = {"verdict": comparison.verdict, "scored": str(scored), "html": str(page), **frames}
            show(to_json(found), as_json=True)
            return
        from polars_evals.report.terminal import text, width_of

        paths = {"scores": str(scored), **written}
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
