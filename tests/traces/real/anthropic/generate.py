"""Anthropic's batch results, made with the package's models, and the requests beside them."""

import json
import sys
from pathlib import Path

from anthropic.types import Message
from anthropic.types.messages import MessageBatchIndividualResponse
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def result(answer):
    if answer.error:
        refused = {"type": "invalid_request_error", "message": answer.error}
        return {"type": "errored", "error": {"type": "error", "error": refused, "request_id": "req_1"}}
    content = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": "s"})
    if answer.output is not None:
        content.append({"type": "text", "text": answer.output, "citations": None})
    else:
        content += [
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": call["name"],
                "input": json.loads(call["arguments"]),
            }
            for call in answer.tool_calls
        ]
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    message = Message(
        id=f"msg_{answer.question}_{answer.version}",
        type="message",
        role="assistant",
        model=answer.model,
        content=content,
        stop_reason=REASONS[answer.finish_reason],
        stop_sequence=None,
        usage=usage,
    )
    return {"type": "succeeded", "message": message}


def request(answer):
    """A request; its results of tools stand in the messages."""
    messages = [dict(message) for message in QUESTIONS[answer.question].messages]
    params = {"model": answer.model, "max_tokens": 64}
    if messages[0]["role"] == "system":
        params["system"] = messages.pop(0)["content"]
    return {"custom_id": f"{answer.question}-{answer.version}", "params": {**params, "messages": messages}}


asked = [answer for answer in ANSWERS if answer.question != "weather"]
lines = []
for answer in asked:
    response = MessageBatchIndividualResponse.model_validate(
        {"custom_id": f"{answer.question}-{answer.version}", "result": result(answer)}
    )
    lines.append(json.loads(response.model_dump_json(exclude_unset=True)))
(folder / "batch").mkdir()
requests = [request(answer) for answer in asked]
for name, rows in (
    ("batch/requests.jsonl", requests),
    ("batch/results.jsonl", lines),
    ("results.jsonl", lines),
):
    (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

FIELDS = ["model", "output", "error", "finish_reason", "input_tokens", "output_tokens", "tool_calls"]
SINGLE = [question for question in QUESTIONS if question != "weather"]
write_truth(
    folder,
    "anthropic 2.8.0: its models make the results; requests have the layout of its API",
    [
        export("batch", [*FIELDS, "input"], questions=SINGLE, note="requests and results belong together"),
        export(
            "results.jsonl",
            FIELDS,
            questions=SINGLE,
            note="without the requests, which custom_id names",
        ),
    ],
    logged(expected=None, scores={}, cost=None, contexts=[]),
)
