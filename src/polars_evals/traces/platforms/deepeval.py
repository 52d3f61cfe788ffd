"""DeepEval: data sets of goldens, and test runs."""

from __future__ import annotations

from collections.abc import Iterator

from polars_evals.traces.platforms.base import Platform, Record, marks


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


DEEPEVAL = Platform(
    "deepeval",
    "DeepEval test cases",
    marks("input actual_output, input actualOutput, testCases, input actual_output expected_output"),
    """
    item_id: additionalMetadata.id additional_metadata.id id
    latency_s: completionTime completion_time
    model: model additionalMetadata.model additional_metadata.model
    input:  output: actualOutput|text actual_output|text  expected: expectedOutput|text expected_output|text
    cost: tokenCost token_cost  tool_calls: calls  contexts: contexts|contexts  scores:
    """,
    unpack=_unpack,
    lists=(("testCases",), ("test_cases",), ("goldens",), ("testRunData", "testCases")),
    common=True,
)
