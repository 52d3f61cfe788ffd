"""A Phoenix server on this machine: traces with annotations, and two experiments over one data set."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from pathlib import Path

os.environ |= {"PHOENIX_TELEMETRY_ENABLED": "false", "NO_COLOR": "1"}

from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from phoenix.client import Client
from real.endpoint import ask, serve
from real.openinference import described
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, find, logged, write_truth

folder = Path(sys.argv[1])
SOME = ("capital", "arabic", "json", "blank", "failed", "weather", "alarm", "report", "turns")


def free_port():
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def phoenix():
    """Serve Phoenix, and give its address."""
    port = free_port()
    settings = {
        **os.environ,
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(Path("phoenix-data").absolute()),
    }
    with Path("server.log").open("w") as log:
        command = [sys.executable, "-m", "phoenix.server.main", "serve"]
        server = subprocess.Popen(command, env=settings, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=5)
                break
            except OSError:
                time.sleep(0.5)
        else:
            raise RuntimeError(Path("server.log").read_text())
        yield address
    finally:
        server.terminate()
        server.wait()


def trace(address, client):
    """Log the answers, and return the ids of their root spans."""
    provider = TracerProvider(resource=Resource({"openinference.project.name": "fixtures"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{address}/v1/traces")))
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    tracer = provider.get_tracer("assistant")
    for answer in ANSWERS:
        if answer.question in SOME:
            try:
                described(tracer, client, QUESTIONS[answer.question], answer.model)
            except Exception:
                if answer.error is None:
                    raise
    instrumentor.uninstrument()
    provider.shutdown()


def wait_for(count, spans):
    for _ in range(120):
        found = spans()
        if len(found) >= count:
            return found
        time.sleep(0.5)
    raise RuntimeError(f"{len(found)} of {count} spans")


def fetch(address, path):
    with urllib.request.urlopen(f"{address}{path}") as answer:
        return answer.read()


with serve() as endpoint, phoenix() as address:
    client = OpenAI(api_key="none", base_url=f"{endpoint}/v1", max_retries=0)
    trace(address, client)
    store = Client(base_url=address)
    # A root and a model call each; a call and a tool more for the weather, a tool for the alarm, a retriever.
    count = 2 * (2 * len(SOME) + 2 + 1 + 1)
    spans = wait_for(count, lambda: store.spans.get_spans(project_identifier="fixtures", limit=500))
    roots = sorted((s for s in spans if not s.get("parent_id")), key=lambda s: s["start_time"])
    asked = [answer for answer in ANSWERS if answer.question in SOME]
    for root, answer in zip(roots, asked, strict=True):
        for name, value in answer.scores.items():
            store.spans.add_span_annotation(
                span_id=root["context"]["span_id"],
                annotation_name=name,
                annotator_kind="HUMAN" if name == "human" else "LLM",
                score=value,
                label="good" if value >= 0.5 else "bad",
                sync=True,
            )
    (folder / "get_spans.json").write_text(json.dumps(spans, ensure_ascii=False))
    frame = store.spans.get_spans_dataframe(project_identifier="fixtures", limit=500)
    frame.to_parquet(folder / "spans.parquet")
    (folder / "annotated").mkdir()
    frame.to_parquet(folder / "annotated" / "spans.parquet")
    notes = store.spans.get_span_annotations_dataframe(spans_dataframe=frame, project_identifier="fixtures")
    # Arrow writes no struct without fields.
    notes.drop(columns="metadata", errors="ignore").to_parquet(folder / "annotated" / "annotations.parquet")

    data = store.datasets.create_dataset(
        name="questions",
        inputs=[{"question": q.text, "id": q.id} for q in QUESTIONS.values()],
        outputs=[{"answer": q.expected} for q in QUESTIONS.values()],
    )
    (folder / "experiments").mkdir()
    for version, model in MODELS.items():

        def task(input, model=model):  # noqa: A002
            return ask(
                client, QUESTIONS[input["id"]], model, lambda name, _: "12" if "weather" in name else None
            )

        def helpfulness(input, output, version=version):  # noqa: A002
            return find(input["id"], version).scores["helpfulness"]

        done = store.experiments.run_experiment(
            dataset=data,
            task=task,
            evaluators=[helpfulness],
            experiment_name=model,
            experiment_metadata={"model": model},
            print_summary=False,
            retries=0,
        )
        for kind in ("json", "csv"):
            body = fetch(address, f"/v1/experiments/{done['experiment_id']}/{kind}")
            (folder / "experiments" / f"{model}.{kind}").write_bytes(body)

FIELDS = ["model", "input", "output", "error", "finish_reason", "latency_ms", "input_tokens", "output_tokens"]
FIELDS += ["tool_calls", "contexts"]
write_truth(
    folder,
    "arize-phoenix 20.26.1 served on this machine, openinference-instrumentation-openai 0.1.66",
    [
        export("spans.parquet", FIELDS, questions=SOME, expected=None),
        export("get_spans.json", FIELDS, questions=SOME, expected=None),
        export("annotated", [*FIELDS, "scores"], questions=SOME, expected=None),
        *(
            export(
                f"experiments_{kind}",
                [
                    "input",
                    "output",
                    "expected",
                    "error",
                    "latency_ms",
                    *(["scores"] if kind == "json" else []),
                ],
                files=[f"experiments/{model}.{kind}" for model in MODELS.values()],
                note="an experiment for each model; only the files tell them apart",
            )
            for kind in ("json", "csv")
        ),
    ],
    logged(cost=None),
)
