"""Weave, LiteLLM and Logfire: what they write of each call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import Platform, Record, Scores, held, marks, score


def _weave(record: Record, around: Record) -> Iterator[Record]:
    """Take usage out of the summary, where it stands under the model's name, and ops for their kind."""
    summary = held(record, "summary")
    usage = held(summary, "usage")
    [model, counted] = next(iter(usage.items()), (None, {}))
    inputs = record.get("inputs")
    if isinstance(inputs, dict):
        inputs = {key: value for key, value in inputs.items() if key not in ("self", "_keys")}
        model = inputs.get("model") if isinstance(inputs.get("model"), str) else model
    name = str(record.get("op_name") or "").lower()
    is_model = any(
        word in name for word in ("completion", "messages.create", "generate_content", "responses.create")
    )
    weave = held(summary, "weave")
    costs = [held for held in (weave.get("costs") or {}).values() if isinstance(held, dict)]
    yield record | {
        "inputs": inputs,
        "model": model,
        "usage": counted,
        "kind": "llm" if is_model else "chain",
        "latency": weave.get("latency_ms"),
        "cost": sum(
            (c.get("prompt_tokens_total_cost") or 0) + (c.get("completion_tokens_total_cost") or 0)
            for c in costs
        )
        if costs
        else None,
    }


def _weave_scores(held: Any) -> Scores:
    found: Scores = {}
    feedback = held.get("feedback", held) if isinstance(held, dict) else held
    for entry in feedback if isinstance(feedback, list) else []:
        payload = entry.get("payload") if isinstance(entry, dict) else None
        if isinstance(payload, dict) and entry.get("feedback_type"):
            found[str(entry["feedback_type"]).rsplit(".", 1)[-1]] = score(
                payload.get("output", payload.get("value"))
            )
    return {name: values for name, values in found.items() if values != (None, None)}


WEAVE = Platform(
    "weave",
    "Weave calls",
    marks("op_name trace_id inputs output", "op_name project_id inputs output"),
    {
        "item_id": ("attributes.dataset_item_id", "inputs.example.id"),
        "trace_id": ("trace_id",),
        "span_id": ("id",),
        "parent_id": ("parent_id",),
        "session_id": ("thread_id",),
        "ts": ("started_at",),
        "end": ("ended_at",),
        "model": ("model",),
        "version": ("attributes.version",),
        "input": ("inputs",),
        "output": ("output",),
        "expected": ("inputs.expected", "inputs.target", "inputs.example.expected"),
        "kind": ("kind",),
        "error": ("exception",),
        "latency_ms": ("latency",),
        "input_tokens": ("usage.prompt_tokens", "usage.input_tokens"),
        "output_tokens": ("usage.completion_tokens", "usage.output_tokens"),
        "cost": ("cost",),
        "scores": ("summary.weave", "feedback"),
    },
    spans=True,
    unpack=_weave,
    lists=(("calls",),),
    scores=_weave_scores,
)

LITELLM = Platform(
    "litellm",
    "LiteLLM log",
    marks(
        *(
            "call_type litellm_params messages",
            "messages response response_cost",
            "request_id call_type spend",
        ),
        *("id call_type messages response model", "litellm_call_id messages"),
    ),
    {
        "item_id": ("metadata.item_id", "metadata.requester_metadata.item_id"),
        "trace_id": ("trace_id", "litellm_trace_id", "id", "request_id", "litellm_call_id"),
        "span_id": ("id", "request_id", "litellm_call_id"),
        "session_id": ("session_id", "metadata.session_id"),
        "ts": ("startTime", "start_time"),
        "end": ("endTime", "end_time"),
        "model": ("model",),
        "version": ("metadata.version",),
        "input": ("messages", "proxy_server_request.messages", "input"),
        "output": ("response", "original_response"),
        "kind": ("kind",),
        "error": ("error_str", "error_information.error_message", "exception"),
        "latency_s": ("response_time",),
        "input_tokens": ("prompt_tokens", "response.usage.prompt_tokens"),
        "output_tokens": ("completion_tokens", "response.usage.completion_tokens"),
        "cost": ("response_cost", "spend"),
    },
    lists=(("data",),),
)

LOGFIRE = Platform(
    "logfire",
    "Logfire records",
    marks(
        "trace_id span_id otel_scope_name",
        "trace_id span_name attributes service_name",
        "span_id otel_status_code",
    ),
    {
        "item_id": ("attributes.dataset_item_id", "attributes.case_name"),
        "trace_id": ("trace_id",),
        "span_id": ("span_id",),
        "parent_id": ("parent_span_id",),
        "session_id": ("attributes.gen_ai.conversation.id", "attributes.session.id"),
        "ts": ("start_timestamp",),
        "end": ("end_timestamp",),
        "model": (
            "attributes.gen_ai.response.model",
            "attributes.gen_ai.request.model",
            "attributes.model_name",
        ),
        "version": ("service_version",),
        "input": (
            *(
                "attributes.gen_ai.input.messages",
                "attributes.request_data",
                "attributes.pydantic_ai.all_messages",
            ),
            *("attributes.all_messages_events", "attributes.events", "attributes.prompt"),
        ),
        "output": (
            *("attributes.gen_ai.output.messages", "attributes.final_result", "attributes.response_data"),
            *("attributes.pydantic_ai.all_messages", "attributes.all_messages_events", "attributes.events"),
        ),
        "expected": ("attributes.expected_output",),
        "kind": ("attributes.gen_ai.operation.name",),
        "status": ("otel_status_code",),
        "status_message": ("exception_message", "otel_status_message"),
        "finish_reason": ("attributes.gen_ai.response.finish_reasons[0]",),
        "latency_s": ("duration",),
        "input_tokens": ("attributes.gen_ai.usage.input_tokens",),
        "output_tokens": ("attributes.gen_ai.usage.output_tokens",),
        "cost": ("attributes.operation.cost",),
    },
    spans=True,
    lists=(("rows",), ("data",)),
)
