"""OpenTelemetry's SDK, with three instrumentors of OpenAI's client over a fake endpoint.

OpenInference runs inside spans that say what went in and out, OpenLLMetry inside a span that says nothing,
and OpenTelemetry's own without any span around it: with messages as attributes, and with messages as log
events. The older version has the older conventions: indexed attributes, and a log event for each message.
"""

import base64
import json
import os
import subprocess
import sys
from importlib.metadata import version as package_version
from pathlib import Path

os.environ |= {"OTEL_SDK_DISABLED": "false", "TRACELOOP_METRICS_ENABLED": "false"}
# These are read once: the process for log events is one of its own.
EVENTS = len(sys.argv) > 3
NEW = sys.argv[2] != "1.34.1"
CONTENT = "true" if not NEW else "EVENT_ONLY" if EVENTS else "SPAN_ONLY"
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = CONTENT
if NEW:
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"

import polars as pl
from google.protobuf.json_format import MessageToDict
from openai import OpenAI
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.instrumentation.openai import OpenAIInstrumentor as OpenLLMetry
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor as OpenAIv2
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from real.endpoint import ask, serve
from real.openinference import described
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

if NEW:
    from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInference
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter as InMemoryLogs
else:
    from opentelemetry.sdk._events import EventLoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogExporter as InMemoryLogs

folder = Path(sys.argv[1])
RESOURCE = Resource({"service.name": "assistant", "service.version": "7"})
SOME = ("capital", "json", "blank", "failed", "weather", "alarm", "report", "turns")
# Without a span around them, the two calls of a question with a tool would be two traces.
SINGLE = tuple(question for question in QUESTIONS if question != "weather")


def run(instrumentor, questions, around):
    """Ask the questions under an instrumentor, and return the spans and the log records."""
    spans, records = InMemorySpanExporter(), InMemoryLogs()
    provider, logger = TracerProvider(resource=RESOURCE), LoggerProvider(resource=RESOURCE)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    logger.add_log_record_processor(SimpleLogRecordProcessor(records))
    with serve() as address:
        client = OpenAI(api_key="none", base_url=f"{address}/v1", max_retries=0)
        loggers = (
            {"logger_provider": logger} if NEW else {"event_logger_provider": EventLoggerProvider(logger)}
        )
        instrumentor.instrument(tracer_provider=provider, **loggers)
        tracer = provider.get_tracer("assistant")
        for answer in ANSWERS:
            if answer.question in questions:
                try:
                    around(tracer, client, QUESTIONS[answer.question], answer.model)
                except Exception:
                    if answer.error is None:
                        raise
        instrumentor.uninstrument()
    return spans.get_finished_spans(), records.get_finished_logs()


def plain(tracer, client, question, model):
    """A request of a server, which knows nothing of models."""
    with tracer.start_as_current_span("POST /ask", attributes={"http.request.method": "POST"}):
        ask(client, question, model, lambda name, _: "12" if name == "get_weather" else None)


def alone(_tracer, client, question, model):
    ask(client, question, model)


def console(spans, name, indent=None):
    """Write spans as the console exporter does; its default is one object over many lines."""
    with (folder / name).open("w") as file:
        ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=indent) + "\n").export(spans)


def collector(message):
    """Write a message as the collector's file exporter does: OTLP's JSON, with ids in hexadecimal."""

    def with_ids(held):
        if isinstance(held, list):
            return [with_ids(inner) for inner in held]
        if not isinstance(held, dict):
            return held
        return {
            key: base64.b64decode(inner).hex()
            if key in ("traceId", "spanId", "parentSpanId")
            else with_ids(inner)
            for key, inner in held.items()
        }

    return json.dumps(with_ids(MessageToDict(message, use_integers_for_enums=True)), separators=(",", ":"))


def otlp(items, name, encode):
    """Write a line for every batch of five."""
    (folder / name).parent.mkdir(exist_ok=True)
    batches = [items[start : start + 5] for start in range(0, len(items), 5)]
    (folder / name).write_text("".join(collector(encode(batch)) + "\n" for batch in batches))


def flat(spans, name):
    """Write a column for every attribute, as tables of spans have them."""
    rows = []
    for span in spans:
        context = span.get_span_context()
        row = {
            "trace_id": f"{context.trace_id:032x}",
            "span_id": f"{context.span_id:016x}",
            "parent_span_id": f"{span.parent.span_id:016x}" if span.parent else None,
            "name": span.name,
            "start_time_unix_nano": span.start_time,
            "end_time_unix_nano": span.end_time,
            "status_code": span.status.status_code.name,
            "status_message": span.status.description,
        }
        rows.append(row | {f"attributes.{key}": held for key, held in span.attributes.items()})
    pl.from_dicts(rows, infer_schema_length=None).write_parquet(folder / name)


if EVENTS:
    spans, records = run(OpenAIv2(), SINGLE, alone)
    otlp(spans, "events/spans.jsonl", encode_spans)
    otlp(records, "events/logs.jsonl", encode_logs)
    lines = ((record if NEW else record.log_record).to_json(indent=None) + "\n" for record in records)
    (folder / "events_console.jsonl").write_text("".join(lines))
    sys.exit()

subprocess.run([sys.executable, *sys.argv, "events"], check=True)

if NEW:
    spans, _ = run(OpenInference(), SOME, described)
    console(spans, "openinference_console.jsonl")
    otlp(spans, "openinference_otlp.jsonl", encode_spans)
    short, _ = run(OpenInference(), ("capital", "failed"), described)
    console(short, "openinference_console_default.json", indent=4)

    spans, _ = run(OpenAIv2(), SINGLE, alone)
    console(spans, "genai_console.jsonl")
    otlp(spans, "genai_otlp.jsonl", encode_spans)
    flat(spans, "genai_flat.parquet")

spans, _ = run(OpenLLMetry(), SOME, plain)
console(spans, "openllmetry_console.jsonl")
otlp(spans, "openllmetry_otlp.jsonl", encode_spans)
flat(spans, "openllmetry_flat.parquet")

FIELDS = ["model", "input", "output", "error", "finish_reason", "latency_ms", "input_tokens", "output_tokens"]
FIELDS += ["tool_calls"]
SPANS = ("console.jsonl", "otlp.jsonl", "flat.parquet")
events = "messages are log events, which spans know by trace and span id"
exports = [export(f"openllmetry_{name}", FIELDS, questions=SOME) for name in SPANS]
exports.append(export("events", FIELDS, questions=SINGLE, note=events))
kept = ["input", "output", "tool_calls", *(["model", "error", "finish_reason"] if NEW else [])]
exports.append(export("events_console.jsonl", kept, questions=SINGLE, note="the log events alone"))
if NEW:
    exports += [export(f"genai_{name}", FIELDS, questions=SINGLE) for name in SPANS]
    for name in ("openinference_console.jsonl", "openinference_otlp.jsonl"):
        exports.append(export(name, [*FIELDS, "contexts"], questions=SOME))
    exports.append(export("openinference_console_default.json", FIELDS, questions=("capital", "failed")))
packages = ("openinference-instrumentation-openai",) if NEW else ()
packages += ("opentelemetry-instrumentation-openai", "opentelemetry-instrumentation-openai-v2")
with_them = ", ".join(f"{name} {package_version(name)}" for name in packages)
write_truth(
    folder,
    f"opentelemetry-sdk {package_version('opentelemetry-sdk')}, with {with_them}, over a fake endpoint",
    exports,
    logged(expected=None, scores={}, cost=None),
)
