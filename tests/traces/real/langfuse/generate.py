"""Langfuse's SDK logs to a fake of its server; the API's pages are built of that, with the SDK's models.

The server itself cannot run here. What it stores of a span is taken from the attributes that the SDK sends.
"""

import json
import sys
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import polars as pl
from langfuse import Langfuse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from real.endpoint import serve
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder, version = Path(sys.argv[1]), sys.argv[2]
NEW = int(version.split(".")[0]) > 3
received = []


class Server(BaseHTTPRequestHandler):
    """Takes everything, and keeps what is JSON: the scores."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "json" in self.headers.get("Content-Type", ""):
            received.append((self.path, json.loads(body)))
        self.send_response(207 if "ingestion" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"successes": [], "errors": []}')

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": []}')

    def log_message(self, *_):
        """Say nothing."""


def generation(client, answer, *, messages, output, tokens, cost):
    with client.start_as_current_observation(
        name="chat", as_type="generation", model=answer.model, input=messages, version=answer.version
    ) as span:
        if answer.error:
            span.update(level="ERROR", status_message=answer.error)
            raise RuntimeError(answer.error)
        usage = {"input": tokens[0], "output": tokens[1], "total": sum(tokens)}
        span.update(output=output, usage_details=usage, cost_details={"total": cost})


def log(client, answer):
    """One trace: a root with its input and output, a retriever, a tool, and one or two model calls."""
    question = QUESTIONS[answer.question]
    messages = [dict(message) for message in question.messages]
    metadata = {"question": question.id}
    if question.expected is not None:
        metadata["expected_output"] = question.expected
    with client.start_as_current_observation(
        name="assistant", as_type="chain", input=messages, metadata=metadata, version=answer.version
    ) as root:
        trace_id = root.trace_id
        try:
            if question.contexts:
                with client.start_as_current_observation(
                    name="retrieve", as_type="retriever", input=question.text
                ) as found:
                    found.update(output=list(question.contexts))
            tokens, cost = [answer.input_tokens, answer.output_tokens], answer.cost
            called = [{"type": "function", "function": call} for call in answer.tool_calls]
            asks = {"role": "assistant", "content": None, "tool_calls": called}
            if called and answer.output is not None:
                generation(client, answer, messages=messages, output=asks, tokens=[8, 3], cost=0.0)
                with client.start_as_current_observation(
                    name=called[0]["function"]["name"],
                    as_type="tool",
                    input=called[0]["function"]["arguments"],
                ) as used:
                    used.update(output=question.tool_result)
                tokens = [tokens[0] - 8, tokens[1] - 3]
                messages = [*messages, asks, {"role": "tool", "content": question.tool_result}]
            says = {"role": "assistant", "content": answer.output}
            output = asks if answer.output is None else says
            generation(client, answer, messages=messages, output=output, tokens=tokens, cost=cost)
            root.update(output=answer.output)
        except RuntimeError:
            root.update(level="ERROR", status_message=answer.error)
    for name, value in answer.scores.items():
        client.create_score(
            name=name, value=value, trace_id=trace_id, data_type="NUMERIC", comment="so it is"
        )


def told(held):
    """What the server reads of an attribute: JSON where the SDK wrote JSON, else the text."""
    if isinstance(held, str) and held[:2] in ("[{", '{"') and ('"role"' in held or '"total"' in held):
        return json.loads(held)
    return json.loads(held) if isinstance(held, str) and held.startswith('["') else held


def when(nanoseconds):
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def observation(span):
    """The fields of an observation that the server stores of a span."""
    held = {key.removeprefix("langfuse.observation."): value for key, value in span.attributes.items()}
    usage, cost = told(held.get("usage_details")) or {}, told(held.get("cost_details")) or {}
    metadata = {k.removeprefix("metadata."): v for k, v in held.items() if k.startswith("metadata.")}
    if NEW:
        # This SDK sends each entry as JSON.
        metadata = {key: json.loads(value) for key, value in metadata.items()}
    kind = str(held.get("type", "span")).upper()
    latency = (span.end_time - span.start_time) / 1e9
    fields = {
        "id": f"{span.context.span_id:016x}",
        "trace_id": f"{span.context.trace_id:032x}",
        "project_id": "project",
        "type": kind,
        "name": span.name,
        "start_time": when(span.start_time),
        "end_time": when(span.end_time),
        "parent_observation_id": f"{span.parent.span_id:016x}" if span.parent else None,
        "input": told(held.get("input")),
        "output": told(held.get("output")),
        "metadata": metadata,
        "model": held.get("model.name"),
        "version": span.attributes.get("langfuse.version"),
        "level": held.get("level", "DEFAULT"),
        "status_message": held.get("status_message"),
        "usage_details": usage,
        "cost_details": cost,
        "environment": "default",
        "latency": latency,
    }
    if NEW:
        return fields | {"total_cost": cost.get("total"), "is_root_observation": span.parent is None}
    return fields | {
        "model_parameters": {},
        "calculated_total_cost": cost.get("total"),
        "prompt_tokens": usage.get("input", 0),
        "completion_tokens": usage.get("output", 0),
        "total_tokens": usage.get("total", 0),
        "unit": "TOKENS",
        "usage": {
            "input": usage.get("input", 0),
            "output": usage.get("output", 0),
            "total": usage.get("total", 0),
        },
    }


def as_json(model):
    return (
        json.loads(model.json(by_alias=True)) if not NEW else json.loads(model.model_dump_json(by_alias=True))
    )


def write(name, held):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("l"):
        text = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in held)
    else:
        text = json.dumps(held, ensure_ascii=False, default=str)
    (folder / name).write_text(text)


kept = InMemorySpanExporter()
with serve(Server) as address:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    client = Langfuse(public_key="pk", secret_key="sk", host=address, tracer_provider=provider)
    for answer in ANSWERS:
        log(client, answer)
    client.flush()
    client.shutdown()

spans = sorted(kept.get_finished_spans(), key=lambda span: span.start_time)
found = [observation(span) for span in spans]
now = datetime(2026, 11, 1, tzinfo=UTC)
scores = []
for _, body in received:
    bodies = body if isinstance(body, list) else body.get("batch") or body.get("scores") or [body]
    bodies = [event.get("body", event) for event in bodies]
    for place, score in enumerate(bodies):
        if "value" in score and "name" in score:
            scores.append(
                {
                    "id": score.get("id") or f"score-{len(scores)}-{place}",
                    "trace_id": score.get("traceId"),
                    "name": score["name"],
                    "value": score["value"],
                    "comment": score.get("comment"),
                    "source": "API",
                    "data_type": "NUMERIC",
                    "timestamp": now,
                    "created_at": now,
                    "updated_at": now,
                    "environment": "default",
                    "metadata": {},
                }
            )
assert len(scores) == 2 * sum(answer.error is None for answer in ANSWERS), received[:2]
SOME = ("capital", "json", "failed", "weather", "alarm", "report")
asked = {held["trace_id"]: held["metadata"]["question"] for held in found if held["metadata"]}
some = [held for held in found if asked[held["trace_id"]] in SOME]

if NEW:
    from langfuse.api.commons.types.observation_v2 import ObservationV2
    from langfuse.api.observations.types import ObservationsV2Meta, ObservationsV2Response

    models = [ObservationV2(**held) for held in found]
    write("observations.jsonl", [as_json(model) for model in models])
    page = ObservationsV2Response(
        data=[ObservationV2(**held) for held in some], meta=ObservationsV2Meta(cursor=None)
    )
    write("observations_page.json", as_json(page))
else:
    from langfuse.api.resources.commons.types import ObservationsView, TraceWithDetails
    from langfuse.api.resources.observations.types import ObservationsViews
    from langfuse.api.resources.trace.types import Traces
    from langfuse.api.resources.utils.resources.pagination.types import MetaResponse

    write("observations.jsonl", [as_json(ObservationsView(**held)) for held in found])
    meta = MetaResponse(page=1, limit=100, total_items=len(some), total_pages=1)
    page = ObservationsViews(data=[ObservationsView(**held) for held in some], meta=meta)
    write("observations_page.json", as_json(page))
    traces = []
    for root in (held for held in found if held["parent_observation_id"] is None):
        inside = [held for held in found if held["trace_id"] == root["trace_id"]]
        traces.append(
            TraceWithDetails(
                id=root["trace_id"],
                timestamp=root["start_time"],
                name=root["name"],
                input=root["input"],
                output=root["output"],
                metadata=root["metadata"],
                version=root["version"],
                tags=[],
                public=False,
                environment="default",
                html_path=f"/project/project/traces/{root['trace_id']}",
                latency=root["latency"],
                total_cost=sum(held["cost_details"].get("total", 0.0) for held in inside),
                observations=[held["id"] for held in inside],
                scores=[score["id"] for score in scores if score["trace_id"] == root["trace_id"]],
            )
        )
    meta = MetaResponse(page=1, limit=100, total_items=len(traces), total_pages=1)
    write("traces_page.json", as_json(Traces(data=traces, meta=meta)))


# The export to a bucket writes the same in snake case, a table a folder, texts as they are stored.
def stored(held):
    texts = {
        key: json.dumps(held[key], ensure_ascii=False)
        for key in ("input", "output", "metadata")
        if held.get(key) is not None and not isinstance(held[key], str)
    }
    renamed = {key: value for key, value in (held | texts).items() if key != "model"}
    return renamed | {"provided_model_name": held["model"]}


if NEW:
    for name, rows in (("observations_v2", [stored(held) for held in found]), ("scores", scores)):
        (folder / "blob" / name).mkdir(parents=True)
        plain = [{k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()} for row in rows]
        pl.DataFrame(plain, infer_schema_length=None).write_parquet(
            folder / "blob" / name / "2026-11-01.parquet"
        )
else:
    write("blob/observations/2026-11-01.jsonl", [stored(held) for held in found])
    write("blob/scores/2026-11-01.jsonl", scores)

FIELDS = [
    "model",
    "version",
    "input",
    "output",
    "expected",
    "error",
    "latency_ms",
    "input_tokens",
    "output_tokens",
]
FIELDS += ["cost", "tool_calls", "contexts"]
table = "observations_v2" if NEW else "observations"
exports = [
    export("observations.jsonl", FIELDS),
    export("observations_page.json", FIELDS, questions=SOME),
    export("blob", [*FIELDS, "scores"], note=f"the tables {table} and scores"),
]
if not NEW:
    traced = ["version", "input", "output", "expected", "latency_ms", "cost"]
    exports.append(export("traces_page.json", traced, note="traces: their models stand in the observations"))
write_truth(
    folder,
    f"langfuse {version} logs to a fake of its server; its models make the pages and tables of that",
    exports,
    logged(finish_reason=None),
)
