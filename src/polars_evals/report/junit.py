"""JUnit XML, which every continuous integration shows: suites of cases, and those of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as ET

from polars_evals.report.sentences import claims_about, sentence, story
from polars_evals.wording import clean, line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_evals.drift import Comparison
    from polars_evals.report.tables import Row

NAME = 200
COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}


@dataclass(frozen=True)
class Case:
    """One thing that was judged, and its problem in a line, in a word, and at length."""

    group: str
    name: str
    # None if all is well.
    problem: Literal["failure", "error", "skipped"] | None = None
    message: str = ""
    kind: str | None = None
    text: str | None = None
    output: str | None = None


def document(suites: Iterable[tuple[str, Sequence[Case]]]) -> str:
    """Return the XML of named suites, whatever their texts hold.

    Examples
    --------
    >>> print(document([("gates", [Case("gates", "pass rate", "failure", "80% is below 90%", "gate")])]))
    <?xml version="1.0" encoding="utf-8"?>
    <testsuites name="polars-evals" tests="1" failures="1" errors="0" skipped="0">
      <testsuite name="gates" tests="1" failures="1" errors="0" skipped="0">
        <testcase classname="gates" name="pass rate" time="0">
          <failure message="80% is below 90%" type="gate" />
        </testcase>
      </testsuite>
    </testsuites>
    <BLANKLINE>
    """
    root = ET.Element("testsuites", name="polars-evals")
    for title, cases in suites:
        suite = ET.SubElement(root, "testsuite", name=clean(title, NAME))
        for case in cases:
            _add(suite, case)
        _count(suite)
    _count(root)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add(suite: ET.Element, case: Case) -> None:
    names = {"classname": clean(case.group, NAME), "name": clean(case.name, NAME)}
    element = ET.SubElement(suite, "testcase", {**names, "time": "0"})
    if case.problem is not None:
        problem = ET.SubElement(element, case.problem, message=line(case.message))
        if case.kind is not None:
            problem.set("type", case.kind)
        problem.text = None if case.text is None else clean(case.text)
    if case.output is not None:
        ET.SubElement(element, "system-out").text = clean(case.output)


def _count(element: ET.Element) -> None:
    for kind, tag in COUNTED.items():
        element.set(kind, str(sum(1 for _ in element.iter(tag))))


def junit(comparison: Comparison) -> str:
    """
    Return a suite for each candidate: a case for its verdict, and one for each metric and slice.

    A row fails only where the verdict on the candidate is `regressed`: failures agree with the exit code.
    """
    rows = story(comparison).rows
    suites = []
    for candidate, verdict in comparison.verdicts.items():
        said = "; ".join(claim.text for claim in claims_about(comparison, candidate)) or sentence(comparison)
        whole = Case(candidate, "verdict", output=f"{verdict}: {sentence(comparison)}")
        if verdict == "regressed":
            whole = Case(candidate, "verdict", "failure", said, verdict, sentence(comparison))
        mine = [row for row in rows if row.candidate == candidate]
        cases = [_case(row, said, lost=verdict == "regressed") for row in mine]
        suites.append((f"{candidate} against {comparison.spec.baseline}", [whole, *cases]))
    return document(suites)


def _case(row: Row, said: str, *, lost: bool) -> Case:
    name = row.name if row.slice is None else f"{row.name} [{row.slice}]"
    output = f"{row.verdict}: {row.reason}"
    if row.verdict == "regressed" and lost:
        return Case(row.candidate, name, "failure", row.reason, row.verdict, said, output=output)
    if row.verdict in ("regressed", "inconclusive"):
        return Case(row.candidate, name, "skipped", row.reason, output=output)
    return Case(row.candidate, name, output=output)
