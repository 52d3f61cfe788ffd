"""MLflow: `search_traces` as a table, and traces as JSON, of MLflow 2 and 3."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from polars_evals.traces.platforms.base import BrokenRecordError, Platform, Record, held, marks


def _read(value: Any) -> Any:
    """Read what MLflow wrote as JSON within JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _unquoted(value: Any) -> Any:
    """Read a text that is written as a JSON string; other text stays as it is."""
    return _read(value) if isinstance(value, str) and value.startswith('"') else value


def _attribute(span: Mapping[str, Any], name: str) -> Any:
    attributes = span.get("attributes")
    return _read(attributes.get(name)) if isinstance(attributes, dict) else None


def _as_it_was(span: Mapping[str, Any], name: str, preview: Any) -> Any:
    """Read an attribute that holds a value as JSON, where a structure stays the text that it is written as.

    MLflow 3 writes a text that happens to be JSON without quotes around it; the trace's preview has them.
    """
    attributes = span.get("attributes")
    written = attributes.get(name) if isinstance(attributes, dict) else None
    if not isinstance(written, str) or written == _read(preview):
        return written
    value = _read(written)
    return value if isinstance(value, str) or value is None else written


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Take a trace apart into its spans; a table without spans has one row a trace."""
    trace = _read(record.get("trace"))
    if isinstance(trace, str) and trace.startswith("{"):
        raise BrokenRecordError
    trace = trace if isinstance(trace, dict) else record
    info = held(trace, "info")
    data = held(trace, "data")
    about = {key: value for key, value in record.items() if key not in ("trace", "spans", "info", "data")}
    about |= {f"info_{key}": value for key, value in info.items()}
    metadata: Record = {}
    for key in (
        "request_metadata",
        "trace_metadata",
        "tags",
        "info_request_metadata",
        "info_trace_metadata",
        "info_tags",
    ):
        values = _read(about.get(key))
        if isinstance(values, list):
            values = {pair.get("key"): pair.get("value") for pair in values if isinstance(pair, dict)}
        metadata |= values if isinstance(values, dict) else {}
    identity = {
        "trace_id": next(
            (
                about[key]
                for key in ("trace_id", "request_id", "info_trace_id", "info_request_id")
                if about.get(key)
            ),
            None,
        ),
        "metadata": metadata,
        "assessments": _newest_last(_read(about.get("assessments")) or _read(about.get("info_assessments"))),
        "state": about.get("state", about.get("status", about.get("info_state", about.get("info_status")))),
        "request_time": next(
            (
                about[key]
                for key in ("request_time", "timestamp_ms", "info_request_time", "info_timestamp_ms")
                if about.get(key) is not None
            ),
            None,
        ),
    }
    spans = _read(data.get("spans") or record.get("spans"))
    spans = [span for span in spans if isinstance(span, dict)] if isinstance(spans, list) else []
    if not spans:
        request = data.get("request", about.get("request", about.get("info_request_preview")))
        response = data.get("response", about.get("response", about.get("info_response_preview")))
        took = about.get(
            "execution_time_ms", about.get("execution_duration", about.get("info_execution_time_ms"))
        )
        yield identity | {
            "input": _unquoted(request),
            "output": _unquoted(response),
            "took": took,
            "kind": "CHAIN",
        }
        return
    for place, span in enumerate(spans):
        yield identity | _span(span, identity, is_root=_parent(span) is None and place == 0)


def _parent(span: Mapping[str, Any]) -> Any:
    return span.get("parent_id") or span.get("parent_span_id") or None


def _span(span: Mapping[str, Any], identity: Mapping[str, Any], *, is_root: bool) -> Record:
    context = span.get("context")
    context = context if isinstance(context, dict) else {}
    usage = _attribute(span, "mlflow.chat.tokenUsage")
    status = span.get("status")
    status = (
        status
        if isinstance(status, dict)
        else {"code": span.get("status_code"), "message": span.get("status_message")}
    )
    events = span.get("events")
    failures = [
        attributes.get("exception.message")
        for event in (events if isinstance(events, list) else [])
        if isinstance(event, dict) and isinstance(attributes := event.get("attributes"), dict)
    ]
    kind = _attribute(span, "mlflow.spanType")
    outputs = _attribute(span, "mlflow.spanOutputs")
    said = identity["metadata"].get("mlflow.traceOutputs")
    return {
        "span_id": span.get("span_id") or context.get("span_id"),
        "parent_id": _parent(span),
        "start": span.get("start_time_unix_nano", span.get("start_time")),
        "end": span.get("end_time_unix_nano", span.get("end_time")),
        "kind": kind,
        "model": _attribute(span, "mlflow.llm.model") or _attribute(span, "model"),
        "input": _as_it_was(span, "mlflow.spanInputs", None),
        "output": _as_it_was(span, "mlflow.spanOutputs", said if is_root else None),
        "usage": usage or (outputs.get("usage") if isinstance(outputs, dict) else None),
        "cost": _attribute(span, "mlflow.llm.cost"),
        "documents": outputs if kind == "RETRIEVER" else None,
        "status": status.get("code"),
        "status_message": next((text for text in failures if text), None) or status.get("message"),
        "assessments": identity["assessments"] if is_root else None,
    }


def _newest_last(found: Any) -> list[dict[str, Any]]:
    entries = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    entries = [entry for entry in entries if entry.get("valid") is not False]
    return sorted(
        entries, key=lambda entry: str(entry.get("create_time") or entry.get("create_time_ms") or "")
    )


def _expected(record: Record) -> Any:
    """Find the newest expectation: `expected_response` if there is one, else the only one."""
    found = {}
    for entry in record.get("assessments") or []:
        expectation = entry.get("expectation")
        if isinstance(expectation, dict):
            value = expectation.get("value")
            if value is None and isinstance(text := expectation.get("serialized_value"), dict):
                value = _read(text.get("value"))
            found[entry.get("assessment_name", entry.get("name"))] = value
    for name in ("expected_response", "expected_output", "expected", "ground_truth"):
        if name in found:
            return found[name]
    return next(iter(found.values())) if len(found) == 1 else None


def _unpack_with_expected(record: Record, around: Record) -> Iterator[Record]:
    for span in _unpack(record, around):
        yield span | {"expected": _expected(span)}


MLFLOW = Platform(
    "mlflow",
    "MLflow traces",
    marks(
        *("trace trace_id", "trace request_time", "trace request response", "info data info.trace_id"),
        *(
            "info data info.request_id",
            "request_id timestamp_ms request response",
            "trace_id request_time request response",
        ),
        *("trace_id request response spans", "request_id request response spans"),
    ),
    """
    trace_id: span_id: parent_id: end: input: output: expected: kind: status_message:
    item_id: metadata.mlflow.dataset.recordId metadata.dataset_record_id
    session_id: metadata.mlflow.trace.session
    ts: start request_time
    model: model metadata.model
    version: metadata.mlflow.modelId metadata.mlflow.source.git.commit
    status: status state
    latency_ms: took
    input_tokens: usage.input_tokens usage.prompt_tokens
    output_tokens: usage.output_tokens usage.completion_tokens
    cost: cost.total_cost cost
    contexts: documents|contexts
    scores: assessments
    """,
    spans=True,
    unpack=_unpack_with_expected,
    json=("trace",),
    hint="mlflow.search_traces(include_spans=True) keeps the spans, where the answers are",
)
