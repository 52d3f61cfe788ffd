"""MLflow: `search_traces` as a table, and traces as JSON, of MLflow 2 and 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polars_evals.traces.platforms.base import BrokenRecordError, Record, first, held, layout, objects, opened


def _read(value: Any) -> Any:
    """Read what MLflow wrote as JSON within JSON, whatever it is."""
    return opened(value, "")


def _attribute(span: Mapping[str, Any], name: str) -> Any:
    return _read(held(span, "attributes").get(name))


def _as_it_was(span: Mapping[str, Any], name: str, preview: Any) -> Any:
    """Read an attribute that holds a value as JSON, where a structure stays the text that it is written as.

    MLflow 3 writes a text that happens to be JSON without quotes around it; the trace's preview has them.
    """
    written = held(span, "attributes").get(name)
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
    info, data = held(trace, "info"), held(trace, "data")
    about = info | record
    metadata: Record = {}
    for key in ("request_metadata", "trace_metadata", "tags"):
        values = _read(about.get(key))
        if isinstance(values, list):
            values = {pair.get("key"): pair.get("value") for pair in values if isinstance(pair, dict)}
        metadata |= values if isinstance(values, dict) else {}
    identity = {
        "trace_id": first(about, "trace_id", "request_id"),
        "metadata": metadata,
        "assessments": _newest_last(_read(about.get("assessments")) or _read(info.get("assessments"))),
        "state": first(about, "state", "status"),
        "request_time": first(about, "request_time", "timestamp_ms"),
    }
    spans = objects({"spans": _read(data.get("spans") or record.get("spans"))}, "spans")
    if not spans:
        yield identity | {
            "input": opened(first(about | data, "request", "request_preview"), '"'),
            "output": opened(first(about | data, "response", "response_preview"), '"'),
            "took": first(about, "execution_time_ms", "execution_duration"),
            "kind": "CHAIN",
            "expected": _expected(identity["assessments"]),
        }
        return
    for place, span in enumerate(spans):
        yield identity | _span(span, identity, is_root=_parent(span) is None and place == 0)


def _parent(span: Mapping[str, Any]) -> Any:
    return span.get("parent_id") or span.get("parent_span_id") or None


def _span(span: Mapping[str, Any], identity: Mapping[str, Any], *, is_root: bool) -> Record:
    usage = _attribute(span, "mlflow.chat.tokenUsage")
    status = held(span, "status") or {"code": span.get("status_code"), "message": span.get("status_message")}
    failures = [held(event, "attributes").get("exception.message") for event in objects(span, "events")]
    kind = _attribute(span, "mlflow.spanType")
    outputs = _attribute(span, "mlflow.spanOutputs")
    said = identity["metadata"].get("mlflow.traceOutputs")
    return {
        "span_id": span.get("span_id") or held(span, "context").get("span_id"),
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
        "expected": _expected(identity["assessments"]) if is_root else None,
    }


def _newest_last(found: Any) -> list[dict[str, Any]]:
    valid = [entry for entry in objects({"": found}, "") if entry.get("valid") is not False]
    return sorted(valid, key=lambda entry: str(first(entry, "create_time", "create_time_ms") or ""))


def _expected(assessments: Sequence[Record]) -> Any:
    """Find the newest expectation: `expected_response` if there is one, else the only one."""
    found = {}
    for entry in assessments:
        if isinstance(expectation := entry.get("expectation"), dict):
            value = expectation.get("value")
            if value is None:
                value = _read(held(expectation, "serialized_value").get("value"))
            found[entry.get("assessment_name", entry.get("name"))] = value
    for name in ("expected_response", "expected_output", "expected", "ground_truth"):
        if name in found:
            return found[name]
    return next(iter(found.values())) if len(found) == 1 else None


MLFLOW = layout(
    """
    mlflow: MLflow traces
    marks: trace trace_id, trace request_time, trace request response, info data info.trace_id, info data
        info.request_id, request_id timestamp_ms request response, trace_id request_time request response,
        trace_id request response spans, request_id request response spans
    item_id: metadata.mlflow.dataset.recordId metadata.dataset_record_id  trace_id:  span_id:  parent_id:
    session_id: metadata.mlflow.trace.session
    ts: start request_time  end:  latency_ms: took  model: model metadata.model
    version: metadata.mlflow.modelId metadata.mlflow.source.git.commit  input:  output:  expected:
    kind:  status: status state  status_message:  input_tokens: usage.input_tokens usage.prompt_tokens
    output_tokens: usage.output_tokens usage.completion_tokens  cost: cost.total_cost cost
    contexts: documents|contexts  scores: assessments  is: spans  json: trace
""",
    hint="mlflow.search_traces(include_spans=True) keeps the spans, where the answers are",
).unpacked_by(_unpack)
