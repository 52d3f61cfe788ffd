"""Batch files of OpenAI, Anthropic and those that write as they do: requests and results."""

from __future__ import annotations

from collections.abc import Iterator

from polars_evals.traces.platforms.base import Platform, Record, held, marks


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Tell requests from results; what failed has a body that is no answer."""
    body = held(held(record, "response"), "body")
    failed = held(body, "error").get("message") or held(held(record, "response"), "error").get("message")
    yield record | {
        "answer": None if failed else body or held(record, "result").get("message"),
        "failed": failed,
        "part_of": None if "body" in record or "params" in record else record.get("custom_id"),
    }


BATCH = Platform(
    "batch",
    "OpenAI or Anthropic batch",
    marks("custom_id response, custom_id result, custom_id body url, custom_id params"),
    """
    trace_id: custom_id  span_id: id response.request_id result.message.id  parent_id: part_of
    ts: response.body.created response.body.created_at  model: answer.model body.model params.model
    question: body|item params|item custom_id|text  input: body params  output: answer
    error: failed error.message result.error.error.message result.error.message error
    finish_reason: answer|finish
    input_tokens: answer.usage.prompt_tokens answer.usage.input_tokens
    output_tokens: answer.usage.completion_tokens answer.usage.output_tokens
    """,
    spans=True,
    unpack=_unpack,
    common=True,
    requests=True,
)
