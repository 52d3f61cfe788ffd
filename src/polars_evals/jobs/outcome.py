"""What a run did and found, for people, machines and continuous integration, and the files that say so."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from io import BytesIO
from typing import Any

import polars as pl

from polars_evals._errors import GATE_FAILED, INCONCLUSIVE, INPUT, is_failure
from polars_evals.drift import Comparison, Timeline
from polars_evals.jobs.config import Report
from polars_evals.jobs.gates import ADVISORY, FAILED, PASSED, SKIPPED, GateResult
from polars_evals.report.junit import Case, document
from polars_evals.report.markdown import inert
from polars_evals.storage.objects import write_file
from polars_evals.storage.secrets import one_line
from polars_evals.wording import counted, line, to_json

LISTED, LONGEST = 20, 1_000
# The variable that names the file of the step summary, in a GitHub action.
STEP = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes
    ----------
    store
        The folder of the scores.
    rows
        How many rows the store holds now.
    added, updated
        How many rows of this run had a new key, and how many replaced an older row.
    files
        The rows of each input file that was new or had changed.
    failures
        The input files that could not be taken, and why. The next run tries them again.
    rescored
        Whether all rows were scored again with a changed suite.
    gates
        What became of each gate.
    comparison
        The comparison of versions, if the job has one and there is something to compare.
    timeline
        The scores over time, if the job's page shows them.
    notes
        Sentences about limits of the result.
    """

    store: str
    rows: int
    added: int = 0
    updated: int = 0
    files: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    rescored: bool = False
    gates: tuple[GateResult, ...] = ()
    comparison: Comparison | None = None
    timeline: Timeline | None = None
    notes: tuple[str, ...] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    # The reports that could not be written, and why.
    unwritten: Mapping[str, str] = field(default_factory=dict)
    # What the gates said in the run before, if nothing is new since.
    same_as: str | None = None
    # The files that hold no traces, with the reason, and how many records of a file cannot be read.
    left_out: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, int] = field(default_factory=dict)
    # How many rows of this run another row of this run with the same key replaced.
    replaced: int = 0

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each candidate, if versions were compared."""
        return {} if self.comparison is None else self.comparison.verdicts

    @property
    def verdict(self) -> str | None:
        """The verdict of the comparison; None if there are several candidates."""
        return None if self.comparison is None else self.comparison.badge

    @property
    def _failed(self) -> int:
        """How many gates failed."""
        return sum(gate.status == FAILED for gate in self.gates)

    def exit_code(self, *, fail_on_inconclusive: bool = False) -> int:
        """Return the exit code: 1 a gate failed, 3 a file was not read or written, 4 inconclusive, else 0."""
        if self._failed:
            return GATE_FAILED
        if self.failures or self.unwritten:
            return INPUT
        return INCONCLUSIVE if fail_on_inconclusive and "inconclusive" in self.verdicts.values() else 0

    @property
    def status(self) -> str:
        """The result of the run: `passed`, `a gate failed` or `inputs were not read`."""
        if self._failed:
            return "a gate failed"
        return "inputs were not read" if self.failures else "passed"

    @property
    def headline(self) -> str:
        """The run in one line."""
        files = counted(len(self.files), "new file")
        done = f"{counted(self.added, 'row')} added, {self.updated:,} updated from {files}"
        if self.replaced:
            done += f", {self.replaced:,} replaced by others of the same key"
        return f"{done}; {counted(self.rows, 'row')} in {self.store}" + (
            "; all scored again" if self.rescored else ""
        )

    def lines(self) -> list[str]:
        """Return the result as lines of text, most important first."""
        lines = (
            [f"nothing new since {self.same_as}; the status is still: {self.status}"] if self.same_as else []
        )
        gates = sorted(self.gates, key=lambda one: one.status != FAILED)
        lines += [text for one in gates for text in one.texts()]
        files = list(self.failures.items())
        lines += [f"not read: {name}: {reason}" for name, reason in files[:LISTED]]
        if len(files) > LISTED:
            lines.append(f"not read: {counted(len(files) - LISTED, 'more file')}")
        lines += [f"not written: {name}: {reason}" for name, reason in self.unwritten.items()]
        lines += [f"note: {note}" for note in self.notes]
        if self.comparison is not None:
            lines.append(self.comparison.headline)
        # What to look at is said last, and must not be cut off.
        return [line(text, LONGEST) for text in [*lines, self.headline]]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary."""
        comparison = self.comparison
        plain = ("store", "rows", "added", "updated", "replaced", "rescored")
        of_files = ("files", "failures", "left_out", "broken")
        return {
            "verdict": self.verdict,
            "verdicts": self.verdicts,
            "exit_code": self.exit_code(),
            **{name: getattr(self, name) for name in plain},
            **{name: dict(getattr(self, name)) for name in of_files},
            "gates": [one.to_dict() for one in self.gates],
            "summary": [] if comparison is None else comparison.summary.to_dicts(),
            "slices": [] if comparison is None else comparison.slices.to_dicts(),
            "notes": [*self.notes, *(() if comparison is None else comparison.notes)],
            "reports": dict(self.reports),
            "unwritten": dict(self.unwritten),
        }

    def to_json(self) -> str:
        """Return the summary as JSON."""
        return to_json(self.to_dict())

    def to_markdown(self) -> str:
        """Return gates, inputs and comparison as Markdown."""
        lines = "\n".join(f"- {inert(text)}" for text in self.lines())
        body = "" if self.comparison is None else f"\n{self.comparison.to_markdown()}"
        is_early = {one.status for one in self.gates} == {SKIPPED}
        first = "skipped, there is nothing to judge yet" if is_early else "passed"
        if self._failed:
            first = "a gate failed" if self._failed == 1 else f"{self._failed} gates failed"
        aside = "; inputs were not read" if self.failures else ""
        return f"## polars-evals: {first}{aside}\n\n{lines}\n{body}"

    def to_junit(self) -> str:
        """Return a JUnit report: a test for each gate, and one for each input file."""
        gates = [
            Case("gates", gate.name)
            if gate.status in (PASSED, ADVISORY)
            else Case("gates", gate.name, "failure", gate.lines[0], "gate", "\n".join(gate.lines))
            if gate.status == FAILED
            else Case("gates", gate.name, "skipped", gate.lines[0])
            for gate in self.gates
        ]
        inputs = [
            *(Case("inputs", name) for name in self.files),
            *(Case("inputs", name, "error", reason, "input") for name, reason in self.failures.items()),
        ]
        return document([("gates", gates), ("inputs", inputs)])


def write_reports(outcome: Outcome, report: Report) -> Outcome:
    """Write the files that the job asks for, and a GitHub action's summary; one that fails costs itself."""
    written, unwritten = dict[str, str](), dict[str, str]()
    files = report.files
    if step := os.environ.get(STEP):
        files[STEP] = step
    if outcome.comparison is None:
        files.pop("items", None)
    contents: dict[str, Callable[[], str | bytes]] = {
        "junit": outcome.to_junit,
        "markdown": outcome.to_markdown,
        "html": partial(_page_of, outcome),
        "items": partial(_items_of, outcome, str(report.items)),
        STEP: outcome.to_markdown,
        # The last one, as it lists the others.
        "summary": lambda: replace(outcome, reports=written, unwritten=unwritten).to_json(),
    }
    for kind in [kind for kind in contents if kind in files]:
        try:
            text = contents[kind]()
            if kind == STEP:
                with open(files[kind], "a", encoding="utf-8") as target:
                    target.write(str(text))
            else:
                write_file(files[kind], text, report.storage_options)
                written[kind] = files[kind]
        except BaseException as error:
            # Whatever it is: a page that cannot be drawn must not cost the verdict.
            if not is_failure(error):
                raise
            unwritten[files[kind]] = one_line(error)
    return replace(outcome, reports=written, unwritten=unwritten)


def _page_of(outcome: Outcome) -> str:
    gates = [one.to_dict() for one in outcome.gates]
    if outcome.comparison is not None:
        return outcome.comparison.to_html(timeline=outcome.timeline, gates=gates)
    if outcome.timeline is not None:
        return outcome.timeline.to_html(gates=gates)
    lines = "".join(f"<li>{escape(line)}</li>" for line in outcome.lines())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>nothing to compare yet</title>'
        f"</head><body><h1>Nothing to compare yet</h1><ul>{lines}</ul></body></html>\n"
    )


def _items_of(outcome: Outcome, file: str) -> str | bytes:
    """Write the items that newly fail, with their texts, worst first."""
    assert outcome.comparison is not None
    failing = outcome.comparison.items.filter(pl.col("flip") == "newly_failing").collect(engine="streaming")
    if file.lower().endswith(".csv"):
        # A spreadsheet takes a cell that begins so for a formula, whoever wrote the answer.
        texts = pl.col(pl.String)
        safe = pl.when(texts.str.contains(r"^[=+\-@\t\r]")).then("'" + texts).otherwise(texts)
        return failing.with_columns(safe.name.keep()).write_csv()
    failing.write_parquet(content := BytesIO())
    return content.getvalue()
