"""DeepEval: data sets of goldens, and test runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import Platform, Record, Scores, marks, score


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Bring `actualOutput` of saved runs and `actual_output` of data sets to one spelling."""
    calls = record.get("toolsCalled", record.get("tools_called"))
    called = [
        {"name": call.get("name"), "arguments": call.get("inputParameters", call.get("input_parameters"))}
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
    found = record.get("retrieval_context", record.get("retrievalContext"))
    yield record | {
        # Data sets that were saved as lines or as CSV have one text for all.
        "contexts": found.split("|") if isinstance(found, str) and found else found,
        "calls": [{"role": "assistant", "content": None, "tool_calls": called}] if called else None,
        "scores": record.get("metricsData", record.get("metrics_data")),
    }


def _scores(held: Any) -> Scores:
    found = {}
    for entry in held if isinstance(held, list) else []:
        if isinstance(entry, dict) and entry.get("name"):
            passed = entry.get("success")
            label = None if passed is None else "pass" if passed else "fail"
            found[str(entry["name"])] = score(entry.get("score"), label)
    return found


DEEPEVAL = Platform(
    "deepeval",
    "DeepEval test cases",
    marks("input actual_output", "input actualOutput", "testCases", "input actual_output expected_output"),
    {
        "item_id": ("additionalMetadata.id", "additional_metadata.id", "id"),
        "model": ("model", "additionalMetadata.model", "additional_metadata.model"),
        "input": ("input",),
        "output": ("actualOutput as text", "actual_output as text"),
        "expected": ("expectedOutput as text", "expected_output as text"),
        "latency_s": ("completionTime", "completion_time"),
        "cost": ("tokenCost", "token_cost"),
        "tool_calls": ("calls",),
        "contexts": ("contexts as contexts",),
        "scores": ("scores",),
    },
    unpack=_unpack,
    lists=(("testCases",), ("test_cases",), ("goldens",), ("testRunData", "testCases")),
    scores=_scores,
    common=True,
)
