"""MLflow with a SQLite store: an application with spans of its own, and OpenAI's client under autologging."""

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "OPENAI_API_KEY": "none",
}

import mlflow
from mlflow.entities import SpanType
from openai import OpenAI
from real.endpoint import ask, serve
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder, version = Path(sys.argv[1]), sys.argv[2]
NEW = int(version.split(".")[0]) >= 3


@mlflow.trace(span_type=SpanType.RETRIEVER)
def retrieve(question):
    return [
        {"page_content": text, "metadata": {"doc_uri": f"doc-{place}"}, "id": f"doc-{place}"}
        for place, text in enumerate(QUESTIONS[question].contexts)
    ]


@mlflow.trace(span_type=SpanType.TOOL)
def run_tool(name, arguments):
    return "12" if name == "get_weather" else None


@mlflow.trace(name="assistant", span_type=SpanType.CHAIN)
def assistant(messages, question, model):
    if QUESTIONS[question].contexts:
        retrieve(question)
    return ask(client, QUESTIONS[question], model, run_tool)


def score(trace_id, answer):
    """Log what people and judges say, and the expected answer twice: the newest counts."""
    expected = QUESTIONS[answer.question].expected
    if expected is not None:
        mlflow.log_expectation(trace_id=trace_id, name="expected_response", value="an older opinion")
        mlflow.log_expectation(trace_id=trace_id, name="expected_response", value=expected)
    for name, value in answer.scores.items():
        kind = "HUMAN" if name == "human" else "LLM_JUDGE"
        source = mlflow.entities.AssessmentSource(source_type=kind, source_id=f"{name}@acme.example")
        mlflow.log_feedback(trace_id=trace_id, name=name, value=value, source=source, rationale="so it is")


def run(name, answers, ask_one):
    """Ask in an experiment of its own, and return how to get its traces, in the order of the scenario."""
    experiment = mlflow.set_experiment(name)
    for answer in answers:
        try:
            ask_one(answer)
        except Exception:
            if answer.error is None:
                raise
        if NEW:
            score(mlflow.get_last_active_trace_id(), answer)
    if NEW:
        mlflow.flush_trace_async_logging()
    place = (
        {"locations": [experiment.experiment_id]} if NEW else {"experiment_ids": [experiment.experiment_id]}
    )
    return lambda kind: mlflow.search_traces(
        **place, return_type=kind, order_by=["timestamp_ms ASC"], max_results=100
    )


def write_assistant(traces, answers):
    """Write what a user keeps of a search: the frame as Parquet and as lines, the traces as JSON."""
    frame = traces("pandas").drop(columns="trace")
    # Arrow takes no column of texts and objects; MLflow 3 makes an object of an answer that is JSON.
    texts = [place for place, answer in enumerate(answers) if answer.question != "json"]
    frame.iloc[texts].to_parquet(folder / "assistant.parquet")
    lines = {"orient": "records", "lines": True, "force_ascii": False, "default_handler": str}
    frame.to_json(folder / "assistant.jsonl", **lines)
    dumped = frame.map(lambda held: json.dumps(held, default=str) if isinstance(held, dict | list) else held)
    dumped.to_parquet(folder / "assistant_dumped.parquet")
    found = traces("list")
    with gzip.open(folder / "assistant_to_json.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{trace.to_json()}\n" for trace in found)
    some = [trace for trace, answer in zip(found, answers, strict=True) if answer.question in SOME]
    (folder / "assistant_to_dict.json").write_text(json.dumps([trace.to_dict() for trace in some]))


def write_autolog(traces, _answers):
    traces("pandas").drop(columns="trace").to_parquet(folder / "autolog.parquet")
    with gzip.open(folder / "autolog_to_json.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{trace.to_json()}\n" for trace in traces("list"))


def ask_assistant(answer):
    messages = [dict(message) for message in QUESTIONS[answer.question].messages]
    assistant(messages, answer.question, answer.model)


def ask_model(answer):
    ask(client, QUESTIONS[answer.question], answer.model)


SOME = ("capital", "json", "failed", "weather")
# Without a span around them, the two calls of a question with a tool would be two traces.
SINGLE = ("capital", "json", "quote", "blank", "failed", "long", "alarm", "turns")
with tempfile.TemporaryDirectory() as scratch, serve() as address:
    mlflow.set_tracking_uri(f"sqlite:///{scratch}/mlflow.db")
    client = OpenAI(api_key="none", base_url=f"{address}/v1", max_retries=0)
    mlflow.openai.autolog()
    write_assistant(run("assistant", ANSWERS, ask_assistant), ANSWERS)
    single = [answer for answer in ANSWERS if answer.question in SINGLE]
    write_autolog(run("autolog", single, ask_model), single)

FIELDS = ["model", "input", "output", "error", "finish_reason", "latency_ms", "input_tokens", "output_tokens"]
FIELDS += ["tool_calls", *(["expected", "scores"] if NEW else [])]
write_truth(
    folder,
    f"mlflow {version} with a SQLite store; OpenAI's client, autologged, asks a fake endpoint",
    [
        export("assistant.parquet", [*FIELDS, "contexts"], questions=[q for q in QUESTIONS if q != "json"]),
        export("assistant.jsonl", [*FIELDS, "contexts"]),
        export("assistant_dumped.parquet", [*FIELDS, "contexts"]),
        export("assistant_to_json.jsonl.gz", [*FIELDS, "contexts"]),
        export("assistant_to_dict.json", [*FIELDS, "contexts"], questions=SOME),
        export("autolog.parquet", FIELDS, questions=SINGLE),
        export("autolog_to_json.jsonl.gz", FIELDS, questions=SINGLE),
    ],
    logged() if NEW else logged(expected=None, scores={}),
)
