"""Langfuse: the blob export, observations and traces of the API, and pages of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import (
    Platform,
    Record,
    Scores,
    ScoreTable,
    held,
    listed,
    marks,
    score,
)


def _either(*names: str) -> tuple[str, ...]:
    """Name fields as the blob export writes them, in snake_case, and as the API does, in camelCase."""
    first = [name.split(".") for name in names]
    camel = [
        ".".join([part.split("_")[0] + "".join(word.capitalize() for word in part.split("_")[1:]), *rest])
        for part, *rest in first
    ]
    return tuple(dict.fromkeys(name for pair in zip(names, camel, strict=True) for name in pair))


def _decoded(record: Record) -> Record:
    return record | {name: _said(_opened(record.get(name))) for name in ("input", "output", "metadata")}


def _opened(value: Any) -> Any:
    """Read JSON within JSON; a text that is none stays."""
    while isinstance(value, str) and value[:1] in ('"', "{", "["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _said(value: Any) -> Any:
    """Bring the contents of ADK and the calls of the AI SDK to the shape of a message."""
    if isinstance(value, dict) and isinstance(held(value, "content").get("parts"), list):
        return {"role": "assistant", "parts": value["content"]["parts"]}
    if isinstance(value, list) and value and all(isinstance(v, dict) and "toolCallId" in v for v in value):
        calls = [{"name": v.get("toolName"), "arguments": v.get("input", v.get("args"))} for v in value]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return value


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Take a trace of the API apart: the trace itself is the root of its observations."""
    if isinstance(record.get("trace"), dict):
        # The download of the UI: values are JSON texts, and only the outer observations have theirs.
        opened = [_decoded(each) for each in listed(record, "observations")]
        record = _decoded(record["trace"]) | {"observations": opened}
    observations = record.get("observations")
    is_trace = "traceId" not in record and "trace_id" not in record
    if not is_trace:
        yield record
        return
    trace = record.get("id")
    about = {key: value for key, value in record.items() if key != "observations"}
    yield about | {"traceId": trace, "parentObservationId": None, "startTime": record.get("timestamp")}
    for observation in observations if isinstance(observations, list) else []:
        if isinstance(observation, dict):
            parent = observation.get("parentObservationId") or trace
            yield observation | {"traceId": trace, "parentObservationId": parent}


def _scores(entries: Any) -> Scores:
    found: Scores = {}
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("name"):
            words = entry.get("stringValue", entry.get("string_value"))
            found[str(entry["name"])] = score(entry.get("value"), words or None)
    return found


LANGFUSE = Platform(
    "langfuse",
    "Langfuse export",
    marks(
        *("trace_id provided_model_name", "trace_id project_id parent_observation_id type"),
        *("traceId providedModelName", "traceId parentObservationId", "traceId providedUsageDetails"),
        *(
            "id timestamp htmlPath latency",
            "id timestamp observations scores",
            "id timestamp projectId public",
            "trace observations",
        ),
    ),
    {
        "item_id": (*_either("experiment_item_id", "dataset_item_id"), "metadata.dataset_item_id"),
        "trace_id": _either("trace_id"),
        "span_id": ("id",),
        "parent_id": _either("parent_observation_id"),
        "session_id": _either("session_id"),
        "ts": _either("start_time"),
        "end": _either("end_time"),
        "model": (*_either("provided_model_name"), "model"),
        "version": ("version", "release", *_either("prompt_version")),
        "input": ("input",),
        "output": ("output as stated",),
        "expected": (
            *(f"{name} as stated" for name in _either("experiment_item_expected_output")),
            *("metadata.expected_output", "metadata.expected", "metadata.reference"),
        ),
        "kind": ("type",),
        "status": ("level",),
        "status_message": _either("status_message"),
        "finish_reason": ("metadata.finish_reason",),
        "latency_s": ("latency",),
        "input_tokens": (
            *_either("usage_details.input", "provided_usage_details.input", "input_usage"),
            *("usage.input", "promptTokens", "usageDetails.prompt_tokens"),
        ),
        "output_tokens": (
            *_either("usage_details.output", "provided_usage_details.output", "output_usage"),
            *("usage.output", "completionTokens", "usageDetails.completion_tokens"),
        ),
        "cost": (*_either("total_cost", "cost_details.total", "calculated_total_cost"),),
        "tool_calls": ("output",),
        "contexts": ("output as contexts",),
        "scores": ("scores",),
    },
    spans=True,
    unpack=_unpack,
    unpack_marks=frozenset({"trace", "observations", "htmlPath", "timestamp"}),
    lists=(("data",),),
    scores=_scores,
    score_table=ScoreTable(
        marks(
            "name value trace_id data_type",
            "name value traceId dataType",
            "name value trace_id observation_id",
        ),
        {
            "trace_id": _either("trace_id"),
            "span_id": _either("observation_id"),
            "name": ("name",),
            "value": ("value",),
            "label": _either("string_value"),
        },
    ),
    folder=r"/observations(_v2)?/[^/]*$",
    leave_out=r"/manifests/[^/]*\.json$",
)
