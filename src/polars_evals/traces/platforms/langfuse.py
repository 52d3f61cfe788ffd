"""Langfuse: the blob export, observations and traces of the API, and pages of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import Record, calling, held, layout, objects, opened


def _either(name: str) -> tuple[str, str]:
    """Name a field as the blob export writes it, in snake_case, and as the API does, in camelCase."""
    first, dot, rest = name.partition(".")
    head, *words = first.split("_")
    return name, "".join([head, *map(str.capitalize, words)]) + dot + rest


def _decoded(record: Record) -> Record:
    return record | {name: _said(_opened(record.get(name))) for name in ("input", "output", "metadata")}


def _opened(value: Any) -> Any:
    """Read JSON within JSON; a text that is none stays."""
    while (inner := opened(value, ('"', "{", "["))) is not value:
        value = inner
    return value


def _said(value: Any) -> Any:
    """Bring the contents of ADK and the calls of the AI SDK to the shape of a message."""
    if isinstance(value, dict) and isinstance(held(value, "content").get("parts"), list):
        return {"role": "assistant", "parts": value["content"]["parts"]}
    if isinstance(value, list) and value and all(isinstance(v, dict) and "toolCallId" in v for v in value):
        calls = [{"name": v.get("toolName"), "arguments": v.get("input", v.get("args"))} for v in value]
        return calling(calls)
    return value


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Take a trace of the API apart: the trace itself is the root of its observations."""
    if isinstance(record.get("trace"), dict):
        # The download of the UI: values are JSON texts, and only the outer observations have theirs.
        opened = [_decoded(each) for each in objects(record, "observations")]
        record = _decoded(record["trace"]) | {"observations": opened}
    if "traceId" in record or "trace_id" in record:
        yield record
        return
    trace = record.get("id")
    about = {key: value for key, value in record.items() if key != "observations"}
    yield about | {"traceId": trace, "parentObservationId": None, "startTime": record.get("timestamp")}
    for observation in objects(record, "observations"):
        parent = observation.get("parentObservationId") or trace
        yield observation | {"traceId": trace, "parentObservationId": parent}


LANGFUSE = layout(
    r"""
    langfuse: Langfuse export
    marks: trace_id provided_model_name, trace_id project_id parent_observation_id type, traceId
        providedModelName, traceId parentObservationId, traceId providedUsageDetails, id timestamp htmlPath
        latency, id timestamp observations scores, id timestamp projectId public, trace observations
    item_id: @experiment_item_id @dataset_item_id metadata.dataset_item_id  trace_id: @trace_id  span_id: id
    parent_id: @parent_observation_id  session_id: @session_id
    ts: @start_time  end: @end_time  latency_s: latency  model: @provided_model_name model
    version: version release @prompt_version  input:  output: output|stated
    expected: @experiment_item_expected_output|stated metadata.expected_output metadata.expected
        metadata.reference
    kind: type  status: level  status_message: @status_message  finish_reason: metadata.finish_reason
    input_tokens: @usage_details.input @provided_usage_details.input @input_usage usage.input promptTokens
        usageDetails.prompt_tokens
    output_tokens: @usage_details.output @provided_usage_details.output @output_usage usage.output
        completionTokens usageDetails.completion_tokens
    cost: @total_cost @cost_details.total @calculated_total_cost  tool_calls: output
    contexts: output|contexts  scores:
    is: spans  unpack_marks: trace observations htmlPath timestamp  lists: data
    score.marks: name value trace_id data_type, name value traceId dataType, name value trace_id
        observation_id
    score.trace_id: trace_id traceId  score.span_id: observation_id observationId
    score.name:  score.value:  score.label: string_value stringValue
    folder: /observations(_v2)?/[^/]*$  leave_out: /manifests/[^/]*\.json$
""",
    expand=_either,
).unpacked_by(_unpack)
