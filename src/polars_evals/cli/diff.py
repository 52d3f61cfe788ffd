"""The command `diff`: from two files to a verdict in one step."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polars_evals.cli import options
from polars_evals.cli.console import deliver, explained, leave, progress, show, stoppable

if TYPE_CHECKING:
    from polars_evals._diff import Diff

# The options that go to `run_diff` as they are.
OF_COMPARISON = (
    *("version", "candidate", "item", "cluster", "by", "measures"),
    *("min_effect", "alpha", "margin", "unanswered"),
)


def diff(
    inputs: options.Inputs,
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
    given = locals()
    with stoppable(), explained():
        from polars_evals._diff import run_diff
        from polars_evals.cli.reading import choose_suite, in_options, need_pairs, reading_of

        chosen = choose_suite(suite, metrics) if suite or metrics else None
        reading = reading_of(given)
        compared = options.arguments({name: given[name] for name in OF_COMPARISON})
        with in_options(), progress("scoring"):
            done = run_diff(inputs, suite=chosen, baseline_version=baseline, reading=reading, **compared)
        if save is not None:
            done.scored.write_parquet(save, metadata=done.suite.metadata)
        if open_page and html is None:
            html = str(Path(save or "report").with_suffix(".html"))
        paths = deliver(done.comparison, {"junit": junit, "markdown": markdown, "html": html})
        page = paths.pop("html", None)
        written = {"scores": save, **paths, "report": page}
        show(_as_json(done) if as_json else _text(done, given, written), as_json=as_json)
        if open_page and html is not None:
            import webbrowser

            webbrowser.open(Path(html).resolve().as_uri())
        if done.compared:
            need_pairs(done.comparison)
    verdicts = [] if exit_zero else done.comparison.verdicts.values()
    leave(verdicts, fail_on_inconclusive=fail_on_inconclusive)


def _text(done: "Diff", given: Mapping[str, Any], written: Mapping[str, str | None]) -> str:
    """Say what was found, with which metrics, how to do it step by step, and where the files are."""
    from polars_evals.report.terminal import text, width_of

    reasons = done.suggestion.reasons if done.suggestion else ()
    shown = {"width": width_of(sys.stdout), "more": "--all", "everything": given["everything"]}
    found = [text(done.comparison, **shown)] if done.compared else done.similarity
    lines = [
        *([done.first_line] if done.first_line else []),
        *found,
        *(["metrics chosen from the data", *(f"  {one}" for one in reasons)] if reasons else []),
        "the same step by step",
        *(f"  {shlex.join(['polars-evals', *step])}" for step in _steps(done, given)),
        *(f"{kind}: {path}" for kind, path in written.items() if path is not None),
    ]
    return "\n".join(lines)


def _steps(done: "Diff", given: Mapping[str, Any]) -> list[list[str]]:
    steps, inputs = [], list(given["inputs"])
    inputs += [word for one in given["columns"] or [] for word in ("--column", one)]
    inputs += [word for one in given["keep"] or [] for word in ("--keep", one)]
    inputs += ["--format", given["format_name"]] if given["format_name"] != "auto" else []
    if given["metrics"]:
        scoring = [word for name in given["metrics"] for word in ("--metric", name)]
    elif given["suite"] is not None:
        scoring = ["--suite", str(given["suite"])]
    else:
        steps.append(["init", *inputs, "--output", "evals"])
        scoring = ["--suite", "evals/evals.toml"]
    steps.append(["score", *inputs, *scoring, "--output", "scored.parquet"])
    spec = done.comparison.spec
    versions = ["--version", done.version, "--baseline", spec.baseline, "--item", done.item]
    versions += [word for one in given["by"] or [] for word in ("--by", one)]
    versions += ["--cluster", given["cluster"]] if given["cluster"] is not None else []
    steps.append(["compare", "scored.parquet", *versions, "--html", "report.html"])
    return steps


def _as_json(done: "Diff") -> str:
    """Return the comparison with how it came about."""
    found = json.loads(done.comparison.to_json())
    about = {
        "metrics": [str(metric.name) for metric in done.suite.metrics],
        "reasons": list(done.suggestion.reasons) if done.suggestion else [],
        "expected": "baseline" if done.is_against_baseline else "expected",
        "item": done.item,
    }
    return json.dumps({**found, "diff": about}, indent=2, ensure_ascii=False)
