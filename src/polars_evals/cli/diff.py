"""The command `diff`: from two files to a verdict in one step."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from polars_evals.cli import options
from polars_evals.cli.console import deliver, explained, leave, progress, show, stoppable

if TYPE_CHECKING:
    from polars_evals._diff import Diff

# The options that go to `run_diff` as they are.
OF_COMPARISON = (
    *("version", "candidate", "item", "cluster", "by", "measures"),
    *("min_effect", "alpha", "margin", "unanswered"),
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
        show(_as_json(done) if given.as_json else _text(done, given, written), as_json=given.as_json)
        if given.open_page:
            import webbrowser

            webbrowser.open(Path(given.html).resolve().as_uri())
        if done.compared:
            need_pairs(done.comparison)
    leave(done.comparison.verdicts.values(), given)


def _text(done: "Diff", given: SimpleNamespace, written: Mapping[str, str]) -> str:
    """Say what was found, with which metrics, how to do it step by step, and where the files are."""
    from polars_evals.report.terminal import text, width_of

    reasons = done.suggestion.reasons if done.suggestion else ()
    shown = {"width": width_of(sys.stdout), "more": "--all", "everything": given.everything}
    found = [text(done.comparison, **shown)] if done.compared else done.similarity
    lines = [
        *([done.first_line] if done.first_line else []),
        *found,
        *(["metrics chosen from the data", *(f"  {one}" for one in reasons)] if reasons else []),
        "the same step by step",
        *(f"  {shlex.join(['polars-evals', *step])}" for step in _steps(done, given)),
        *(f"{kind}: {path}" for kind, path in written.items()),
    ]
    return "\n".join(lines)


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
