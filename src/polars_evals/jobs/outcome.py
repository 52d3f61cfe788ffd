"""What a run did and found, for people, for machines and for continuous integration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree as ET

import polars as pl

from polars_evals.drift import Comparison, Timeline, timeline
from polars_evals.drift.render import inert
from polars_evals.drift.text import clean, counted, line, to_json
from polars_evals.jobs.config import Report
from polars_evals.jobs.errors import GATE_FAILED, INCONCLUSIVE, INPUT
from polars_evals.jobs.gates import GateResult, failed

LISTED = 20


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
        What needs care, in words.
    """

    store: str
    rows: int
    added: int
    updated: int
    files: Mapping[str, int]
    failures: Mapping[str, str]
    rescored: bool
    gates: tuple[GateResult, ...] = ()
    comparison: Comparison | None = None
    timeline: Timeline | None = None
    notes: tuple[str, ...] = ()
    reports: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str | None:
        """The verdict of the comparison."""
        return None if self.comparison is None else self.comparison.verdict

    def exit_code(self, *, fail_on_inconclusive: bool = False) -> int:
        """Say how the run ended: 1 a gate failed, 3 an input was not taken, 4 inconclusive, else 0."""
        if failed(self.gates):
            return GATE_FAILED
        if self.failures:
            return INPUT
        return INCONCLUSIVE if fail_on_inconclusive and self.verdict == "inconclusive" else 0

    @property
    def headline(self) -> str:
        """The run in one line."""
        files = counted(len(self.files), "new file")
        done = f"{counted(self.added, 'row')} added, {self.updated:,} updated from {files}"
        return f"{done}; {counted(self.rows, 'row')} in {self.store}" + (
            "; all scored again" if self.rescored else ""
        )

    def lines(self) -> list[str]:
        """Tell a person, most important first, a line each."""
        told = [
            f"FAILED {one.name}: {text}" for one in self.gates if one.status == "failed" for text in one.lines
        ]
        told += [f"{one.status} {one.name}" for one in self.gates if one.status != "failed"]
        files = list(self.failures.items())
        told += [f"not taken: {name}: {reason}" for name, reason in files[:LISTED]]
        if len(files) > LISTED:
            told.append(f"not taken: {counted(len(files) - LISTED, 'more file')}")
        told += [f"note: {note}" for note in self.notes]
        if self.comparison is not None:
            told.append(self.comparison.headline)
        return [line(text) for text in [*told, self.headline]]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary."""
        comparison = self.comparison
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code(),
            "store": self.store,
            "rows": self.rows,
            "added": self.added,
            "updated": self.updated,
            "rescored": self.rescored,
            "files": dict(self.files),
            "failures": dict(self.failures),
            "gates": [{"gate": g.name, "status": g.status, "lines": list(g.lines)} for g in self.gates],
            "summary": [] if comparison is None else comparison.summary.to_dicts(),
            "slices": [] if comparison is None else comparison.slices.to_dicts(),
            "notes": [*self.notes, *(() if comparison is None else comparison.notes)],
            "reports": dict(self.reports),
        }

    def to_json(self) -> str:
        """Return the summary as JSON."""
        return to_json(self.to_dict())

    def to_markdown(self) -> str:
        """Return gates, inputs and comparison as Markdown."""
        told = "\n".join(f"- {inert(text)}" for text in self.lines())
        body = "" if self.comparison is None else f"\n{self.comparison.to_markdown()}"
        return f"## polars-evals: {outcome_word(self)}\n\n{told}\n{body}"

    def to_junit(self) -> str:
        """Return a JUnit report: a test for each gate, and one for each input file that was not taken."""
        root = ET.Element("testsuites", name="polars-evals")
        gates = ET.SubElement(root, "testsuite", name="gates")
        for gate in self.gates:
            case = ET.SubElement(gates, "testcase", classname="gates", name=clean(gate.name, 200), time="0")
            if gate.status == "failed":
                text = clean("\n".join(gate.lines))
                ET.SubElement(case, "failure", message=line(gate.lines[0]), type="gate").text = text
            elif gate.status == "skipped":
                ET.SubElement(case, "skipped", message=line(gate.lines[0]))
        inputs = ET.SubElement(root, "testsuite", name="inputs")
        for name in [*self.files, *self.failures]:
            case = ET.SubElement(inputs, "testcase", classname="inputs", name=clean(name, 200), time="0")
            if name in self.failures:
                ET.SubElement(case, "error", message=line(self.failures[name]), type="input")
        for suite in (root, gates, inputs):
            for kind, tag in {
                "tests": "testcase",
                "failures": "failure",
                "errors": "error",
                "skipped": "skipped",
            }.items():
                suite.set(kind, str(sum(1 for _ in suite.iter(tag))))
        ET.indent(root)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def outcome_word(outcome: Outcome) -> str:
    """Say in a word or two how the run ended."""
    words = {0: "passed", GATE_FAILED: "a gate failed", INPUT: "inputs were not taken"}
    return words[outcome.exit_code()]


def write_reports(outcome: Outcome, report: Report) -> dict[str, str]:
    """Write the files that the job asks for, and the step summary where the run is a GitHub action."""
    written = dict[str, str]()
    texts: dict[str, Callable[[], str]] = {"junit": outcome.to_junit, "markdown": outcome.to_markdown}
    if outcome.comparison is not None:
        texts["html"] = partial(outcome.comparison.to_html, timeline=outcome.timeline)
    for kind, make in texts.items():
        path: Path | None = getattr(report, kind)
        if path is not None:
            write_whole(path, make())
            written[kind] = str(path)
    step = os.environ.get("GITHUB_STEP_SUMMARY")
    if step:
        with open(step, "a", encoding="utf-8") as file:
            file.write(outcome.to_markdown())
    return written


def over_time(scored: pl.LazyFrame, comparison: Comparison, *, time: str, every: str) -> Timeline:
    """Follow the scores of a comparison over time, all versions together, for its page."""
    settings = comparison.settings
    alike = {key: settings[key] for key in ("cluster", "metrics", "min_effect", "alpha")}
    by = None if settings["by"] == "auto" else settings["by"]
    return timeline(scored, time=time, every=every, by=by, **alike)


def write_whole(path: Path, text: str) -> None:
    """Write a file at once: a reader finds the old one or the new one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Such as /dev/stdout, a link to whatever the output is: nothing may take its place.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        temporary = path.with_name(f".{path.name}.{uuid4().hex}")
        try:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {str(path)!r}: {error.strerror}") from None
