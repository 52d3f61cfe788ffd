"""Calls of OpenAI's SDK, instrumented by OpenLIT: what its console exporter and a collector write."""

import json
import sys
from base64 import b64decode
from pathlib import Path

import openlit
from google.protobuf.json_format import MessageToDict
from openai import BadRequestError, OpenAI
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from real.endpoint import ask, serve
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder, version = Path(sys.argv[1]), sys.argv[2]
ASKED = [question for question in QUESTIONS if question not in ("failed", "report", "weather")]
kept = InMemorySpanExporter()
openlit.init(service_name="assistant", environment="tests", disable_metrics=True)
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(kept))


def spans_of(questions):
    kept.clear()
    with serve() as address:
        client = OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
        for answer in ANSWERS:
            if answer.question in questions:
                try:
                    ask(client, QUESTIONS[answer.question], answer.model)
                except BadRequestError:
                    if answer.error is None:
                        raise
    return kept.get_finished_spans()


def console(spans, name):
    lines = [span.to_json(indent=None) + "\n" for span in spans]
    (folder / name).write_text("".join(lines), encoding="utf-8")


def with_ids(held, key=None):
    """Write ids as the collector does: hexadecimal."""
    if isinstance(held, dict):
        return {name: with_ids(inner, name) for name, inner in held.items()}
    if isinstance(held, list):
        return [with_ids(inner) for inner in held]
    return b64decode(held).hex() if key in ("traceId", "spanId", "parentSpanId") else held


spans = spans_of(ASKED)
console(spans, "console.jsonl")
# In batches, as a collector writes them.
with (folder / "otlp.jsonl").open("w", encoding="utf-8") as file:
    for start in range(0, len(spans), 4):
        batch = encode_spans(spans[start : start + 4])
        collected = with_ids(MessageToDict(batch, use_integers_for_enums=True))
        file.write(json.dumps(collected) + "\n")
FIELDS = ["model", "input", "output", "error", "finish_reason", "input_tokens", "output_tokens", "tool_calls"]
write_truth(
    folder,
    f"openlit {version} with openai over a fake endpoint",
    [
        export("console.jsonl", FIELDS, questions=ASKED),
        export("otlp.jsonl", FIELDS, questions=ASKED),
    ],
    logged(expected=None, scores={}, cost=None, contexts=[]),
)
