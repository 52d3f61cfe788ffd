"""Langfuse: the blob export, observations and traces of the API, and pages of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import Platform, Record, Scores, ScoreTable, marks, score


def _either(*names: str) -> tuple[str, ...]:
    """Name fields as the blob export writes them, in snake_case, and as the API does, in camelCase."""
    first = [name.split(".") for name in names]
    camel = [
        ".".join([part.split("_")[0] + "".join(word.capitalize() for word in part.split("_")[1:]), *rest])
        for part, *rest in first
    ]
    return tuple(dict.fromkeys(name for pair in zip(names, camel, strict=True) for name in pair))


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Take a trace of the API apart: the trace itself is the root of its observations."""
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


def _scores(held: Any) -> Scores:
    found: Scores = {}
    for entry in held if isinstance(held, list) else []:
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
    unpack_marks=frozenset({"observations", "htmlPath", "timestamp"}),
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
