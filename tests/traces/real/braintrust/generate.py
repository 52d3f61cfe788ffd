"""Braintrust's SDK with its own in-memory logger: two experiments over one data set, and a project's logs.

The server cannot run here: rows are what the SDK would have sent, as its API gives them back.
"""

import json
import sys
from pathlib import Path

from braintrust import logger as bt
from braintrust.test_helpers import init_test_exp, init_test_logger, simulate_login
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])


def answer_in(root, answer):
    """Log the spans below a root: a retriever, a tool, and one or two model calls."""
    question = QUESTIONS[answer.question]
    messages = [dict(message) for message in question.messages]
    if question.contexts:
        with root.start_span(name="retrieve", type="function", input=question.text) as span:
            span.log(output=[{"content": text} for text in question.contexts])
    tokens, cost = [answer.input_tokens, answer.output_tokens], answer.cost
    called = [{"id": "call_0", "type": "function", "function": dict(call)} for call in answer.tool_calls]
    asks = {"role": "assistant", "content": None, "tool_calls": called}

    def model_call(said, reason, used, price):
        with root.start_span(name="Chat Completion", type="llm", input=messages) as span:
            span.log(metadata={"model": answer.model, "temperature": 0})
            if answer.error:
                raise RuntimeError(answer.error)
            counts = {"prompt_tokens": used[0], "completion_tokens": used[1], "tokens": sum(used)}
            span.log(
                output=[{"index": 0, "finish_reason": reason, "message": said}],
                metrics={**counts, "estimated_cost": price},
            )

    if called and answer.output is not None:
        model_call(asks, "tool_calls", [8, 3], 0.0)
        with root.start_span(
            name=called[0]["function"]["name"], type="tool", input=called[0]["function"]["arguments"]
        ) as span:
            span.log(output=question.tool_result)
        tokens = [tokens[0] - 8, tokens[1] - 3]
        messages = [
            *messages,
            asks,
            {"role": "tool", "tool_call_id": "call_0", "content": question.tool_result},
        ]
    said = asks if answer.output is None else {"role": "assistant", "content": answer.output}
    model_call(said, answer.finish_reason, tokens, cost)
    root.log(output=answer.output)


def collect(holder, answers, kind):
    """Ask in spans of an experiment or of a project's logs."""
    for answer in answers:
        question = QUESTIONS[answer.question]
        event = {
            "input": [dict(message) for message in question.messages],
            "metadata": {"model": answer.model},
        }
        if kind == "eval":
            event |= {"expected": question.expected, "tags": ["fixtures"]}
            record = {"object_type": "dataset", "object_id": "questions", "id": question.id, "_xact_id": "1"}
            event["origin"] = record
        root = holder.start_span(name=kind, type="eval" if kind == "eval" else "task", **event)
        try:
            with root:
                answer_in(root, answer)
                root.log(scores=dict(answer.scores))
        except RuntimeError:
            if answer.error is None:
                raise


def rows_of(memory):
    rows = json.loads(json.dumps(memory.pop(), default=str))
    for row in rows:
        context = row.get("context") or {}
        row["context"] = {key: held for key, held in context.items() if not key.startswith("caller_")}
    return sorted(rows, key=lambda row: row["metrics"]["start"])


def write(name, rows):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


SOME = ("capital", "json", "failed", "weather", "alarm", "report", "turns")
simulate_login()
with bt._internal_with_memory_background_logger() as memory:
    for version, model in MODELS.items():
        experiment = init_test_exp(model, "fixtures")
        collect(experiment, [answer for answer in ANSWERS if answer.version == version], "eval")
        experiment.flush()
        write(f"experiments/{model}.jsonl", rows_of(memory))
    logs = init_test_logger("fixtures")
    collect(logs, [answer for answer in ANSWERS if answer.question in SOME], "assistant")
    logs.flush()
    events = rows_of(memory)
    (folder / "fetch.json").write_text(json.dumps({"events": events, "cursor": None}, ensure_ascii=False))

FIELDS = ["model", "input", "output", "error", "finish_reason", "latency_ms", "input_tokens", "output_tokens"]
FIELDS += ["cost", "tool_calls", "contexts", "scores"]
write_truth(
    folder,
    "braintrust 0.46.0 with its in-memory logger",
    [
        export("experiments", [*FIELDS, "expected"], item="id", note="the data set's record names the item"),
        export("fetch.json", FIELDS, questions=SOME, expected=None, note="a page of the fetch API"),
    ],
    [entry | {"id": entry["question"]} for entry in logged()],
)
