"""Write what a run found, each file at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from io import BytesIO

import polars as pl

from polars_evals._errors import is_failure
from polars_evals.drift import Comparison
from polars_evals.jobs.config import Report
from polars_evals.jobs.outcome import Outcome
from polars_evals.storage.objects import write_file
from polars_evals.storage.secrets import one_line


def write_reports(outcome: Outcome, report: Report) -> Outcome:
    """Write the files that the job asks for, and the step summary where the run is a GitHub action.

    One that cannot be written costs itself: the verdict stands, and the other files too.
    """
    written, unwritten = dict[str, str](), dict[str, str]()
    options = report.storage_options
    writers: dict[str, Callable[[str], None]] = {
        "junit": lambda file: write_file(file, outcome.to_junit(), options),
        "markdown": lambda file: write_file(file, outcome.to_markdown(), options),
        "html": lambda file: write_file(file, page_of(outcome), options),
    }
    if outcome.comparison is not None:
        writers["items"] = partial(write_items, outcome.comparison, storage_options=options)

    def attempt(kind: str, file: str, write: Callable[[str], None]) -> None:
        try:
            write(file)
            written[kind] = file
        except BaseException as error:
            # Whatever it is: a page that cannot be drawn must not cost the verdict.
            if not is_failure(error):
                raise
            unwritten[file] = one_line(error)

    for kind, write in writers.items():
        if kind in report.files:
            attempt(kind, report.files[kind], write)
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        attempt("step", step, lambda file: append_to(file, outcome.to_markdown()))
        written.pop("step", None)
    if report.summary is not None:
        # The last one, as it lists the others.
        told = replace(outcome, reports=written, unwritten=unwritten)
        attempt("summary", report.summary, lambda file: write_file(file, told.to_json(), options))
    return replace(outcome, reports=written, unwritten=unwritten)


def page_of(outcome: Outcome) -> str:
    """Return the page: of the comparison, of the scores over time, or of a day with neither."""
    gates = [{"gate": one.name, "status": one.status, "lines": one.lines} for one in outcome.gates]
    if outcome.comparison is not None:
        return outcome.comparison.to_html(timeline=outcome.timeline, gates=gates)
    if outcome.timeline is not None:
        return outcome.timeline.to_html(gates=gates)
    return waiting_page(outcome)


def append_to(file: str, text: str) -> None:
    """Add a text to a file."""
    with open(file, "a", encoding="utf-8") as target:
        target.write(text)


def write_items(comparison: Comparison, path: str, storage_options: Mapping[str, str] | None) -> None:
    """Write the items that newly fail, with their texts, worst first."""
    failing = comparison.items.filter(pl.col("flip") == "newly_failing").collect(engine="streaming")
    if path.lower().endswith(".csv"):
        # A spreadsheet takes a cell that begins so for a formula, whoever wrote the answer.
        texts = pl.col(pl.String)
        inert = pl.when(texts.str.contains(r"^[=+\-@\t\r]")).then("'" + texts).otherwise(texts)
        write_file(path, failing.with_columns(inert.name.keep()).write_csv(), storage_options)
        return
    failing.write_parquet(content := BytesIO())
    write_file(path, content.getvalue(), storage_options)


def waiting_page(outcome: Outcome) -> str:
    """Return a page for a day on which there is nothing to compare yet."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in outcome.lines())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>nothing to compare yet</title>'
        f"</head><body><h1>Nothing to compare yet</h1><ul>{lines}</ul></body></html>\n"
    )
