"""Write the exports in `fixtures/`, with the platforms' own packages where they work without a network.

Run once, by hand, in an environment that has what a fixture needs, and commit what it writes:

    pip install mlflow inspect-ai lm-eval opentelemetry-sdk pandas pyarrow
    python tests/traces/make_fixtures.py mlflow inspect lm_eval otel langfuse langsmith braintrust
    pip install arize-phoenix       # in an environment of its own
    python tests/traces/make_fixtures.py phoenix
    npm install promptfoo           # run from the folder of its node_modules
    python tests/traces/make_fixtures.py promptfoo

Langfuse, LangSmith and Braintrust export from their servers only; their files follow the documented columns.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,untyped-decorator,unused-ignore"

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "fixtures"
QUESTIONS = {"fr": ("Capital of France?", "Paris"), "sum": ("2+2?", "4")}


def fresh(name: str) -> Path:
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def mlflow() -> None:
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    import mlflow
    from mlflow.entities import SpanType

    folder = fresh("mlflow")
    with tempfile.TemporaryDirectory() as scratch:
        mlflow.set_tracking_uri(f"sqlite:///{scratch}/mlflow.db")
        experiment = mlflow.set_experiment("fixtures")

        @mlflow.trace(span_type=SpanType.CHAT_MODEL)
        def chat(question: str, answer: str) -> dict[str, Any]:
            mlflow.get_current_active_span().set_attribute("mlflow.llm.model", "gpt-x")
            return {"choices": [{"message": {"role": "assistant", "content": answer}}]}

        @mlflow.trace
        def agent(question: str, answer: str) -> str:
            mlflow.update_current_trace(metadata={"mlflow.trace.session": "s1", "mlflow.modelId": "m-1"})
            content: str = chat(question, answer)["choices"][0]["message"]["content"]
            return content

        @mlflow.trace
        def nothing() -> None:
            mlflow.update_current_trace(tags={"model": "tagged"})

        agent(*QUESTIONS["fr"])
        mlflow.flush_trace_async_logging()
        mlflow.log_expectation(
            trace_id=mlflow.get_last_active_trace_id(), name="expected_response", value="Paris"
        )
        chat(*QUESTIONS["sum"])
        agent("Quote it", 'He said "null"')
        nothing()
        mlflow.flush_trace_async_logging()
        traces = mlflow.search_traces(locations=[experiment.experiment_id], order_by=["timestamp_ms ASC"])
    # The other columns hold a string in one row and an object in the next, which Parquet cannot.
    # MLflow notes where it ran; that says nothing about the format.
    traces["trace"] = traces["trace"].str.replace(str(Path.cwd()), "/home/user").str.replace(scratch, "/tmp")
    traces[["trace_id", "trace", "state", "request_time"]].to_parquet(folder / "traces.parquet")
    traces[["trace_id", "trace", "request", "response"]].to_json(
        folder / "traces.jsonl", orient="records", lines=True
    )


def inspect() -> None:
    import inspect_ai.model._model
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.analysis import EvalModel, SampleColumn, SampleSummary, samples_df
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.solver import generate

    async def no_tokens(*_: Any, **__: Any) -> int:
        return 1

    # Counting tokens would download an encoding.
    inspect_ai.model._model.ModelAPI.count_tokens = no_tokens
    inspect_ai.model._model.ModelAPI.count_text_tokens = no_tokens
    folder = fresh("inspect")
    samples = [
        Sample(input=question, target=answer, id=name) for name, (question, answer) in QUESTIONS.items()
    ]
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in ("Paris", "4", "Rome", "4")]
    with tempfile.TemporaryDirectory() as scratch:
        model = get_model("mockllm/model", custom_outputs=outputs)
        task = Task(dataset=samples, solver=generate(), epochs=2)
        run(task, model=model, log_dir=scratch, display="none", max_samples=1)
        output = SampleColumn("output", path="output.choices[0].message.content", full=True)
        frame = samples_df(scratch, columns=[*SampleSummary, *EvalModel, output], quiet=True)
        frame.to_parquet(folder / "samples.parquet")
        samples_df(scratch, quiet=True).to_parquet(folder / "without_output.parquet")


def lm_eval() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Mock(LM):  # type: ignore[misc,unused-ignore]
        def generate_until(self, requests: Any, **_: Any) -> list[str]:
            answers = dict(QUESTIONS.values())
            return [answers[request.args[0].removeprefix("Q: ").removesuffix("\nA:")] for request in requests]

        def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
            raise NotImplementedError

    folder = fresh("lm_eval")
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data.jsonl"
        data.write_text("".join(json.dumps({"q": q, "a": a}) + "\n" for q, a in QUESTIONS.values()))
        config = {
            "task": "capitals",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data)}},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "Q: {{q}}\nA:",
            "doc_to_target": "{{a}}",
            "generation_kwargs": {"until": ["\n"]},
            "metric_list": [{"metric": "exact_match"}],
        }
        results = simple_evaluate(
            model=Mock(), tasks=[config], task_manager=TaskManager(include_defaults=False), log_samples=True
        )
        samples = results.pop("samples")
        tracker = EvaluationTracker(output_path=scratch)
        tracker.general_config_tracker.model_name = "org__mock-1"
        tracker.general_config_tracker.model_name_sanitized = "org__mock-1"
        tracker.save_results_aggregated(results=results, samples=samples)
        for task, rows in samples.items():
            tracker.save_results_samples(task_name=task, samples=rows)
        for file in Path(scratch).rglob("samples_*.jsonl"):
            target = folder / file.parent.name
            target.mkdir()
            shutil.copy(file, target)


def phoenix() -> None:
    scratch = tempfile.mkdtemp()
    os.environ |= {"PHOENIX_PORT": "6116", "PHOENIX_GRPC_PORT": "6117", "PHOENIX_WORKING_DIR": scratch}
    import phoenix as px
    from phoenix.client import Client
    from phoenix.otel import register

    folder = fresh("phoenix")
    px.launch_app(use_temp_dir=True)
    url = "http://localhost:6116"
    provider = register(endpoint=f"{url}/v1/traces", protocol="http/protobuf", batch=False, verbose=False)
    tracer = provider.get_tracer("fixtures")

    def span(kind: str, **attributes: Any) -> None:
        with tracer.start_as_current_span(kind.lower()) as current:
            current.set_attribute("openinference.span.kind", kind)
            for name, value in attributes.items():
                current.set_attribute(name.replace("__", "."), value)

    def message(index: int, text: str) -> dict[str, str]:
        prefix = f"llm__output_messages__{index}__message__"
        return {f"{prefix}role": "assistant", f"{prefix}content": text}

    llm = {"llm__model_name": "gpt-x", "session__id": "s1"}
    raw = json.dumps({"choices": [{"message": {"role": "assistant", "content": "Paris"}}]})
    span("CHAIN", input__value="Capital of France?", output__value="It is Paris.")
    span(
        "LLM",
        **llm,
        input__value="Capital of France?",
        output__value=raw,
        **message(0, "Wait"),
        **message(1, "Paris"),
    )
    span("LLM", **llm, input__value="2+2?", **message(0, "4"))
    part = "llm__output_messages__0__message__contents__"
    several = {f"{part}{i}__message_content__type": "text" for i in range(2)}
    several |= {f"{part}{i}__message_content__text": text for i, text in enumerate(("one ", "two"))}
    span("LLM", **llm, input__value="Count", **several)
    span("TOOL", input__value="no output")
    time.sleep(3)
    frame = Client(base_url=url).spans.get_spans_dataframe()
    frame.sort_values("start_time").to_parquet(folder / "spans.parquet")
    # The server runs in a thread that nothing else ends.
    os._exit(0)


def promptfoo() -> None:
    folder = fresh("promptfoo")
    provider = """module.exports = class {
      id() { return 'mock:model-1'; }
      async callApi(prompt) {
        if (prompt.includes('fail')) return { error: 'boom' };
        if (prompt.includes('List')) return { output: { items: ['a', 1] }, sessionId: 's1' };
        return { output: 'Paris' };
      }
    };"""
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "provider.js"
        script.write_text(provider)
        config = Path(scratch) / "promptfooconfig.json"
        code = {"type": "javascript", "value": "output.length > 0"}
        tests = [
            {"vars": {"question": "Capital of France?"}, "assert": [{"type": "equals", "value": "Paris"}]},
            {"vars": {"question": "List"}, "assert": [code, {"type": "icontains", "value": "a"}]},
            {"vars": {"question": "fail"}},
        ]
        providers = [f"file://{script}", "echo"]
        config.write_text(
            json.dumps({"prompts": ["Answer: {{question}}"], "providers": providers, "tests": tests})
        )
        output = folder / "results.jsonl"
        settings = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_CONFIG_DIR": scratch}
        command = ["npx", "promptfoo", "eval", "--no-cache", "-c", str(config), "-o", str(output)]
        subprocess.run(command, env=os.environ | settings, check=False)  # Exits with 100 if a test fails.


def otel() -> None:
    import pandas as pd
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    folder = fresh("otel")
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("fixtures")

    def chat(question: str, parts: list[dict[str, Any]]) -> None:
        asked = [{"role": "user", "parts": [{"type": "text", "content": question}]}]
        said = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
        with tracer.start_as_current_span("chat gpt-x") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.request.model", "gpt-x")
            span.set_attribute("gen_ai.response.model", "gpt-x-2026-01-01")
            span.set_attribute("gen_ai.conversation.id", "c1")
            span.set_attribute("gen_ai.input.messages", json.dumps(asked))
            span.set_attribute("gen_ai.output.messages", json.dumps(said))

    chat("Capital of France?", [{"type": "text", "content": "Paris"}])
    thought = {"type": "reasoning", "content": "hm"}
    chat("2+2?", [thought, {"type": "text", "content": "The sum "}, {"type": "text", "content": 'is "4"'}])
    chat("Weather?", [{"type": "tool_call", "id": "1", "name": "get", "arguments": {"type": "text"}}])
    with tracer.start_as_current_span("retrieve"):
        pass
    spans = [
        {
            "trace_id": f"{span.context.trace_id:032x}",
            "span_id": f"{span.context.span_id:016x}",
            "name": span.name,
            "start_time_unix_nano": span.start_time,
            "attributes": dict(span.attributes or {}),
        }
        for span in exporter.get_finished_spans()
    ]
    (folder / "spans.jsonl").write_text("".join(json.dumps(span) + "\n" for span in spans))
    flat = [{**span, **span["attributes"]} for span in spans]
    pd.DataFrame(flat).drop(columns="attributes").to_parquet(folder / "spans.parquet")


def langfuse() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = fresh("langfuse")
    chat = json.dumps({"role": "assistant", "content": "Paris"})
    metadata = [[("expected_output", "Paris")], [], [], []]
    start = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    table = {
        "id": ["o1", "o2", "o3", "o4"],
        "trace_id": ["t1", "t1", "t2", "t3"],
        "project_id": ["p"] * 4,
        "start_time": pa.array(start, pa.timestamp("us", "UTC")),
        "parent_observation_id": ["", "o1", "", ""],
        "type": ["GENERATION", "SPAN", "GENERATION", "GENERATION"],
        "session_id": ["s1", "s1", "", "s2"],
        "version": ["v2", "", "", ""],
        "release": ["r1", "r1", "", ""],
        "prompt_version": pa.array([None, None, 7, None], pa.int32()),
        "provided_model_name": ["gpt-x", "", "gpt-y", "gpt-y"],
        "input": ["Capital of France?", "", "2+2?", "Say null"],
        "output": [chat, "", "4", "null"],
        "metadata": pa.array(metadata, pa.map_(pa.string(), pa.string())),
        "usage_details": pa.array([[("input", 3)], [], [], []], pa.map_(pa.string(), pa.uint64())),
    }
    for name in ("observations_v2", "scores", "manifests"):
        (folder / "p" / name).mkdir(parents=True)
    pq.write_table(pa.table(table), folder / "p/observations_v2/2026-01-01T00-00-00Z.parquet")
    pq.write_table(pa.table(table).slice(0, 1), folder / "p/observations_v2/2026-01-02T00-00-00Z.parquet")
    scores = pa.table({"id": ["x"], "trace_id": ["t1"], "name": ["good"], "value": [1.0]})
    pq.write_table(scores, folder / "p/scores/2026-01-01T00-00-00Z.parquet")
    (folder / "p/manifests/2026-01-01T00-00-00Z.json").write_text("{}")
    lines = [
        {
            **{
                name: row
                for name, row in zip(table, values, strict=True)
                if name not in ("metadata", "usage_details")
            },
            "start_time": f"2026-01-0{index + 1} 00:00:00.000000",
            "metadata": dict(metadata[index]),
        }
        for index, values in enumerate(zip(*(_listed(column) for column in table.values()), strict=True))
    ]
    (folder / "observations.jsonl").write_text(
        "".join(json.dumps(line, default=str) + "\n" for line in lines)
    )


def _listed(column: Any) -> list[Any]:
    return column if isinstance(column, list) else list(column.to_pylist())


def langsmith() -> None:
    import pandas as pd

    folder = fresh("langsmith")
    outputs = [
        {"output": "Paris"},
        {"answer": "4"},
        {"choices": [{"message": {"role": "assistant", "content": "chosen"}}]},
        {"generations": [[{"text": "generated", "type": "ChatGeneration"}]]},
        {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello"}]},
        {"documents": ["d"]},
        None,
    ]
    inputs = [{"question": "Capital of France?"}, {"input": "2+2?"}, *({"other": n} for n in range(5))]
    extra = {"metadata": {"ls_model_name": "gpt-x", "thread_id": "th1", "revision_id": "abc"}}
    frame = pd.DataFrame(
        {
            "id": [f"r{n}" for n in range(7)],
            "trace_id": [f"t{n}" for n in range(7)],
            "run_type": "llm",
            "dotted_order": [f"2026.t{n}" for n in range(7)],
            "start_time": [datetime(2026, 1, 1 + n, tzinfo=UTC) for n in range(7)],
            "inputs": [json.dumps(value) for value in inputs],
            "outputs": [json.dumps(value) for value in outputs],
            "extra": json.dumps(extra),
            "reference_example_id": ["ex1", *[None] * 6],
        }
    )
    for day, part in (("01", frame[:1]), ("02", frame[1:])):
        hive = folder / f"export_id=e/tenant_id=t/session_id=project/runs/year=2026/month=01/day={day}"
        hive.mkdir(parents=True)
        part.to_parquet(hive / "data.parquet")


def braintrust() -> None:
    folder = fresh("braintrust")
    base = {"_xact_id": "1", "created": "2026-01-01T00:00:00.5Z", "experiment_id": "exp1", "tags": None}
    span = {"metadata": {"model": "gpt-x", "session_id": "s1"}, "origin": None}
    completion = [{"index": 0, "message": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}]
    lines: list[dict[str, Any]] = [
        {
            "id": "1",
            "span_id": "a",
            "root_span_id": "a",
            "input": "Capital of France?",
            "output": "Paris",
            "expected": "Paris",
            "metadata": {},
            "origin": {"object_type": "dataset", "id": "rec1"},
        },
        {
            "id": "2",
            "span_id": "b",
            "root_span_id": "a",
            **span,
            "input": [{"role": "user"}],
            "output": completion,
        },
        {
            "id": "3",
            "span_id": "c",
            "root_span_id": "c",
            **span,
            "input": {"n": 1},
            "output": {"n": [1, 2.5]},
        },
        {"id": "4", "span_id": "d", "root_span_id": "c", **span, "input": "no output", "output": None},
        {"id": "5", "span_id": "e", "root_span_id": "c", **span, "input": "the text null", "output": "null"},
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps({**base, **line}) + "\n" for line in lines))


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        globals()[chosen]()
