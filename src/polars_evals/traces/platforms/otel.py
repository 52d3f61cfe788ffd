"""OpenTelemetry: spans with GenAI attributes, whichever convention and exporter wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import Record, held, layout, objects, opened


def _attribute(name: str) -> Iterator[str]:
    """Name an attribute: of a column of its own, or of the one that holds all."""
    return (f"{holder}{name}" for holder in ("attributes.", "SpanAttributes.", "span_attributes.", ""))


def _value(found: Any) -> Any:
    """Take an OTLP value out of the object that says its type."""
    if not isinstance(found, dict) or len(found) != 1:
        return found
    [(kind, value)] = found.items()
    kind = kind.replace("_value", "Value")
    if kind == "arrayValue":
        return [_value(entry) for entry in value.get("values", [])]
    if kind == "kvlistValue":
        return _attributes(value.get("values", []))
    return value if kind in ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue") else found


def _attributes(found: Any) -> dict[str, Any]:
    if isinstance(found, dict):
        return found
    pairs = objects({"": found}, "")
    return {pair["key"]: _value(pair.get("value")) for pair in pairs if "key" in pair}


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Take OTLP apart into spans and log records, and the console exporter's ids out of their context."""
    for resource in _list(record, "resourceSpans", "resource_spans"):
        about = _attributes(resource.get("resource", {}).get("attributes"))
        for scope in _list(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
            for span in _list(scope, "spans"):
                yield _span(span | {"attributes": _attributes(span.get("attributes")), "resource": about})
    for resource in _list(record, "resourceLogs", "resource_logs"):
        for scope in _list(resource, "scopeLogs", "scope_logs"):
            for log in _list(scope, "logRecords", "log_records"):
                yield _log(log)
    if context := held(record, "context"):
        yield _span(record | context)
    elif "event_name" in record or "body" in record:
        yield _log(record)
    elif not {"resourceSpans", "resource_spans", "resourceLogs", "resource_logs"} & record.keys():
        yield _span(record)


def _list(record: Record, *names: str) -> list[Record]:
    return next((objects(record, name) for name in names if isinstance(record.get(name), list)), [])


# The events that hold a message each, in the conventions of 2024 and 2025.
_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
# Those that hold one value: where it goes, and its attribute.
_VALUES = {
    "gen_ai.content.prompt": ("event_prompt", "gen_ai.prompt"),
    "gen_ai.content.completion": ("event_completion", "gen_ai.completion"),
    "exception": ("event_error", "exception.message"),
}


def _span(span: Record) -> Record:
    """Bring messages that stand in events to where the newer conventions have them."""
    messages: list[Any] = []
    for event in _list(span, "events", "Events"):
        attributes = _attributes(event.get("attributes"))
        name = event.get("name")
        if name in _ROLES:
            messages.append({"role": _ROLES[name], "content": None} | _opened(attributes))
        elif name in _VALUES:
            span = span | {_VALUES[name][0]: attributes.get(_VALUES[name][1])}
        elif name == "gen_ai.choice":
            span = span | {"event_choice": _opened(attributes)}
        elif name == "gen_ai.client.inference.operation.details":
            span = span | {"attributes": _attributes(span.get("attributes")) | attributes}
    span = span | {"event_messages": messages} if messages else span
    if not span.get("event_error"):
        return span
    # Exporters may leave the status of a failed span unset.
    status = span.get("status")
    code = status.get("code") or status.get("status_code") if isinstance(status, dict) else status
    names = _attributes(span.get("attributes"))
    has_output = any(name.startswith(_OUTPUTS) for name in names) or {*_OUTPUT_EVENTS} & span.keys()
    failed = code in (None, 0, "UNSET", "STATUS_CODE_UNSET") and not has_output
    return span | {"failed": span["event_error"]} if failed else span


_OUTPUTS = ("gen_ai.completion", "gen_ai.output", "llm.output_messages", "output.value", "ai.response.text")
_OUTPUT_EVENTS = ("event_choice", "event_completion")


def _opened(attributes: dict[str, Any]) -> dict[str, Any]:
    """Read the values of an event that are JSON themselves."""
    return {
        key: opened(value) if key in ("message", "tool_calls") else value for key, value in attributes.items()
    }


def _log(log: Record) -> Record:
    """Make of a log record a span that holds what it says, within the span that it belongs to."""
    # That span has counted its tokens itself.
    attributes = {
        key: value
        for key, value in _attributes(log.get("attributes")).items()
        if not key.startswith("gen_ai.usage.")
    }
    body = _value(log.get("body"))
    body = _attributes(body) if isinstance(body, list) else body
    name = log.get("eventName") or log.get("event_name") or attributes.get("event.name")
    times = ("timeUnixNano", "timestamp", "observedTimeUnixNano", "observed_timestamp")
    time = next((log[key] for key in times if log.get(key)), None)
    # Without an id of its own: several belong to one span.
    ids = {key: log.get(key) for key in ("traceId", "trace_id")}
    span = ids | {"attributes": attributes, "timestamp": time}
    span["parentSpanId"] = log.get("spanId") or log.get("span_id")
    if name == "gen_ai.user.message" and isinstance(body, dict):
        span["event_messages"] = [{"role": "user", "content": None} | _opened(body)]
    elif name == "gen_ai.choice" and isinstance(body, dict):
        span |= {"event_choice": _opened(body), "log_kind": "llm"}
    return span


OTEL = layout(
    """
    otel: OpenTelemetry spans
    marks: gen_ai.output.messages, attributes.gen_ai.output.messages, gen_ai.completion, SpanAttributes,
        resourceSpans, resource_spans, resourceLogs, context.trace_id context.span_id resource,
        attributes.gen_ai.request.model, attributes.gen_ai.completion.0.content, attributes.gen_ai.system,
        trace_id span_id event_name body, gen_ai.request.model, trace_id span_id body attributes,
        attributes.gen_ai.operation.name, attributes.gen_ai.provider.name, traceId spanId attributes
    item_id: @dataset.item.id @dataset_item_id @eval.item_id
    trace_id: trace_id TraceId traceId context.trace_id  span_id: span_id SpanId spanId context.span_id
    parent_id: parent_span_id ParentSpanId parentSpanId parent_id
    session_id: @gen_ai.conversation.id @session.id @traceloop.association.properties.session_id
    ts: start_time_unix_nano startTimeUnixNano start_time Timestamp timeUnixNano timestamp
    end: end_time_unix_nano endTimeUnixNano end_time  latency_ns: Duration
    model: @gen_ai.response.model @gen_ai.request.model @llm.model_name @ai.response.model @ai.model.id
        @llm.response.model @llm.request.model @llm.invocation_parameters.model @input.value.model
    version: @gen_ai.agent.version resource.attributes.service.version ResourceAttributes.service.version
        resource.service.version @service.version
    input: @gen_ai.input.messages @gen_ai.prompt @llm.input_messages event_messages event_prompt
        @pydantic_ai.all_messages @all_messages_events @ai.prompt.messages @ai.prompt @input.value
        @traceloop.entity.input @gen_ai.tool.call.arguments @mlflow.spanInputs
    output: @gen_ai.output.messages|parsed @gen_ai.completion @llm.output_messages event_choice
        event_completion @final_result @pydantic_ai.all_messages @all_messages_events @ai.response.text
        @output.value @traceloop.entity.output @gen_ai.tool.call.result @mlflow.spanOutputs|decoded
    expected: @expected @expected_output @eval.expected
    kind: @openinference.span.kind @traceloop.span.kind @gen_ai.operation.name @llm.request.type log_kind
        attributes.ai.operationId
    status: status.code status.status_code StatusCode status_code
    status_message: event_error status.message status.description StatusMessage status_message
        @error.message
    error: failed  error_type: @error.type @exception.type
    finish_reason: @gen_ai.response.finish_reasons[0] @llm.response.finish_reason[0]
        @gen_ai.completion.0.finish_reason @ai.response.finishReason @llm.finish_reason
        event_choice.finish_reason @output.value|finish
    input_tokens: @gen_ai.usage.input_tokens @gen_ai.usage.prompt_tokens @llm.token_count.prompt
        @ai.usage.promptTokens @ai.usage.inputTokens
    output_tokens: @gen_ai.usage.output_tokens @gen_ai.usage.completion_tokens @llm.token_count.completion
        @ai.usage.completionTokens @ai.usage.outputTokens
    cost: @gen_ai.usage.cost @llm.cost.total @operation.cost
    contexts: @retrieval.documents|contexts @gen_ai.retrieval.documents|contexts  is: spans
    unpack_marks: resourceSpans resource_spans resourceLogs resource_logs context.trace_id events body
    json: gen_ai.output.messages gen_ai.input.messages
""",
    expand=_attribute,
).unpacked_by(_unpack)
