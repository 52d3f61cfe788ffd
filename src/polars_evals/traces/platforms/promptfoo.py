"""promptfoo: results as lines, JSON, YAML and CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from polars_evals.traces.platforms.base import Record, as_number, held, layout, number, objects

# The kinds of assertion whose value is a text to compare with, not code or a rubric.
_REFERENCES = (
    *("equals", "similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor", "factuality"),
    *("model-graded-factuality", "contains", "icontains", "starts-with"),
)


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Add the item (the test's own variables: `testIdx` restarts), the expected text and the scores."""
    if "Grader Reason" in record or _headed(record):
        yield from _table(record)
        return
    test = held(record, "testCase")
    metadata = held(test, "metadata")
    variables = record.get("vars") or test.get("vars")
    provider = held(record, "provider") or {"id": record.get("provider")}
    outer = held(around, "results")
    response = held(record, "response")
    # An assertion that fails is no failed call: promptfoo writes both in `error`.
    failed = record.get("error") if response.get("error") or response.get("output") is None else None
    yield record | {
        "item": metadata.get("id") or metadata.get("item_id") or (_named(variables) if variables else None),
        "model": provider.get("label") or provider.get("id"),
        "expected": _expected(record, test),
        "scores": held(record, "namedScores")
        | ({} if number(record.get("score")) is None else {"promptfoo": record["score"]}),
        "failed": response.get("error") or failed,
        "ts": outer.get("timestamp") or around.get("timestamp"),
        "eval": around.get("evalId"),
    }


def _headed(names: Iterable[str]) -> dict[str, re.Match[str]]:
    """Find the columns of answers in a table, which are named by their provider and prompt."""
    return {name: head for name in names if (head := _ANSWER.fullmatch(_AGAIN.sub("", name)))}


def _shown(names: Collection[str], _: str) -> list[str]:
    """Find the columns that tell a table."""
    graded = ["Grader Reason", "Status", "Score"]
    return max(graded if {*graded} <= {*names} else [], list(_headed(names)), key=len)


# How a cell of the older table begins: the verdict and its score, then the answer, then the reason.
_CELL = re.compile(
    r"\[(?P<verdict>PASS|FAIL|ERROR)\](?: \((?P<score>[\d.]+)\))?\s*(?P<text>.*?)"
    r"(?:\n\n(?:Pass|Fail) Reason: .*|\n---\n.*)?",
    re.DOTALL,
)
_ANSWER = re.compile(r"\[(?P<label>[^\]]+)\] (?P<prompt>.*)", re.DOTALL)
# What variables that hold the right answer are called.
_EXPECTED = ("__expected", "expected", "reference", "answer", "target", "ideal", "ground_truth")
_AGAIN = re.compile(r"_duplicated_\d+$")


def _table(record: Record) -> Iterator[Record]:
    """Take a row of the CSV apart: variables, then some columns for each provider's answer."""
    names, heads = list(record), _headed(record)
    places = [*map(names.index, heads), len(names)]
    variables = {name: record[name] or "" for name in names[: places[0]] if name != "Description"}
    for head, (begin, end) in zip(heads.values(), pairwise(places), strict=True):
        about = {_AGAIN.sub("", name): record[name] for name in names[begin + 1 : end]}
        said = record[names[begin]] or ""
        if "Status" not in about and (cell := _CELL.fullmatch(said)):
            said = cell["text"]
            about |= {"Status": cell["verdict"], "Score": cell["score"]}
        failed = about.get("Status") == "ERROR"
        metrics = [name for name in about if name.startswith("Metric: ")]
        yield {
            "item": _named(variables),
            "row": [head["label"], head["prompt"], variables],
            "model": head["label"],
            "prompt": {"raw": _rendered(head["prompt"], variables)},
            "response": {"output": None if failed else said},
            "expected": next((variables[name] for name in _EXPECTED if variables.get(name)), None),
            "failed": (about.get("Grader Reason") or said or "error") if failed else None,
            "scores": {name[len("Metric: ") :]: as_number(about[name]) for name in metrics}
            | {"promptfoo": as_number(about.get("Score"))},
        }


def _rendered(prompt: str, variables: Record) -> str:
    """Fill in a prompt's variables."""
    return re.sub(r"{{\s*(\w+)\s*}}", lambda found: str(variables.get(found[1], found[0])), prompt)


def _named(variables: Any) -> str:
    """Name an item by its variables, whatever their order."""
    text = json.dumps(variables, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _expected(record: Record, test: Record) -> Any:
    """Take the value of the first assertion that compares texts, with its variables filled in."""
    graded = [
        (assertion.get("type"), held(part, "metadata").get("renderedAssertionValue", assertion.get("value")))
        for part in objects(held(record, "gradingResult"), "componentResults")
        if (assertion := held(part, "assertion"))
    ]
    asserted = [(one.get("type"), one.get("value")) for one in objects(test, "assert")]
    known = [(kind, value) for kind, value in [*graded, *asserted] if kind in _REFERENCES]
    return min(known, key=lambda one: _REFERENCES.index(one[0]), default=(None, None))[1]


PROMPTFOO = layout(
    """
    promptfoo: promptfoo results
    marks: testIdx testCase, testIdx promptIdx, prompt vars response success, prompt.raw vars provider
        success, prompt.raw vars provider score
    item_id: item  trace_id: id row|hash  session_id: metadata.sessionId response.sessionId
    ts:  latency_ms: latencyMs  model:  version: promptId
    input: prompt.raw|asked  output: response.output  expected: expected|text
    error: failed  finish_reason: response.finishReason
    input_tokens: response.tokenUsage.prompt tokenUsage.prompt
    output_tokens: response.tokenUsage.completion tokenUsage.completion  cost: cost response.cost  scores:
    lists: results.results results
""",
    shows=_shown,
).unpacked_by(_unpack)
