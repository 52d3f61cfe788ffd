"""Braintrust: rows of logs and experiments."""

from __future__ import annotations

from collections.abc import Iterator

from polars_evals.traces.platforms.base import Platform, Record, marks


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Name the data set's record that a row comes from; its origin may also be a prompt or another log."""
    origin = record.get("origin")
    if isinstance(origin, dict) and origin.get("object_type") == "dataset":
        record = record | {"dataset_record": origin.get("id")}
    yield record


BRAINTRUST = Platform(
    "braintrust",
    "Braintrust export",
    marks("root_span_id span_id"),
    """
    item_id: dataset_record_id dataset_record  trace_id: root_span_id  span_id:
    parent_id: span_parents[0] parent
    session_id: metadata.session_id metadata.thread_id metadata.conversation_id
    ts: metrics.start created  end: metrics.end  latency_s: metrics.duration  model: metadata.model
    version: experiment_id
    input:  output:  expected:
    kind: span_attributes.type  error: error.message error
    input_tokens: metrics.prompt_tokens  output_tokens: metrics.completion_tokens
    cost: metrics.estimated_cost metrics.cost  contexts: output|contexts  scores:
    """,
    spans=True,
    unpack=_unpack,
    unpack_marks=frozenset({"origin"}),
    lists=(("events",), ("rows",)),
)
