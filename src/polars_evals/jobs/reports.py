"""Write what a run found, each file at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import polars as pl

from polars_evals.drift import Comparison
from polars_evals.jobs import system
from polars_evals.jobs.config import Report
from polars_evals.jobs.outcome import Outcome
from polars_evals.jobs.remote import RemoteFolder, is_remote


def write_reports(outcome: Outcome, report: Report) -> dict[str, str]:
    """Write the files that the job asks for, and the step summary where the run is a GitHub action."""
    written = dict[str, str]()
    texts: dict[str, Callable[[], str]] = {"junit": outcome.to_junit, "markdown": outcome.to_markdown}
    if outcome.comparison is not None:
        texts["html"] = partial(outcome.comparison.to_html, timeline=outcome.timeline)
    elif outcome.timeline is not None:
        texts["html"] = outcome.timeline.to_html
    else:
        texts["html"] = partial(waiting_page, outcome)
    for kind, make in texts.items():
        if kind in report.files:
            write_whole(report.files[kind], make(), report.storage_options)
            written[kind] = report.files[kind]
    if report.items is not None and outcome.comparison is not None:
        write_items(outcome.comparison, report.items, report.storage_options)
        written["items"] = report.items
    step = os.environ.get("GITHUB_STEP_SUMMARY")
    if step:
        with open(step, "a", encoding="utf-8") as file:
            file.write(outcome.to_markdown())
    return written


def write_items(comparison: Comparison, path: str, storage_options: Mapping[str, str] | None) -> None:
    """Write the items that newly fail, with their texts, worst first."""
    failing = comparison.items.filter(pl.col("flip") == "newly_failing").collect(engine="streaming")
    if path.lower().endswith(".csv"):
        write_whole(path, failing.write_csv(), storage_options)
        return
    failing.write_parquet(content := BytesIO())
    write_whole(path, content.getvalue(), storage_options)


def waiting_page(outcome: Outcome) -> str:
    """Return a page for a day on which there is nothing to compare yet."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in outcome.lines())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>nothing to compare yet</title>'
        f"</head><body><h1>Nothing to compare yet</h1><ul>{lines}</ul></body></html>\n"
    )


def write_whole(
    path: str | Path, text: str | bytes, storage_options: Mapping[str, str] | None = None
) -> None:
    """Write a file at once: a reader finds the old one or the new one."""
    content = text.encode() if isinstance(text, str) else text
    if is_remote(str(path)):
        folder, _, name = str(path).rpartition("/")
        RemoteFolder(folder, storage_options).write(name, content)
        return
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Such as /dev/stdout, a link to whatever the output is: nothing may take its place.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_bytes(content)
            return
        temporary = path.with_name(f".{path.name}.{uuid4().hex}")
        try:
            temporary.write_bytes(content)
            system.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {str(path)!r}: {error.strerror}") from None
