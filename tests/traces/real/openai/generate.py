"""OpenAI's batch files: requests and results, checked by the package's models, and the errors beside them."""

import json
import sys
from pathlib import Path

from openai.types.chat import ChatCompletion
from real.endpoint import TOOLS, completion
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])


def body_of(answer):
    """The request, and the answer to all of it in one call: results of tools stand in the request."""
    question = QUESTIONS[answer.question]
    body = {"model": answer.model, "messages": [dict(message) for message in question.messages]}
    if question.id in TOOLS:
        body["tools"] = TOOLS[question.id]
    return body


def line(answer):
    response = {"status_code": 200, "request_id": f"req_{answer.question}_{answer.version}"}
    if answer.error is None:
        said = completion(QUESTIONS[answer.question].messages, answer.model)
        model = ChatCompletion.model_validate(said)
        response["body"] = json.loads(model.model_dump_json(exclude_unset=True))
    else:
        refused = {"error": {"message": answer.error, "type": "invalid_request_error", "code": "refused"}}
        response |= {"status_code": 400, "body": refused}
    name = f"{answer.question}-{answer.version}"
    return {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": None}


def write(name, rows):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


# The first of two calls would be the answer to this one.
asked = [answer for answer in ANSWERS if answer.question != "weather"]
requests = [
    {
        "custom_id": f"{answer.question}-{answer.version}",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body_of(answer),
    }
    for answer in asked
]
lines = [line(answer) for answer in asked]
write("batch/input.jsonl", requests)
write("batch/output.jsonl", [row for row in lines if row["response"]["status_code"] == 200])
write("batch/errors.jsonl", [row for row in lines if row["response"]["status_code"] != 200])
write("output.jsonl", lines)
FIELDS = ["model", "output", "error", "finish_reason", "input_tokens", "output_tokens", "tool_calls"]
SINGLE = [question for question in QUESTIONS if question != "weather"]
write_truth(
    folder,
    "openai 3.49.0: its models make the responses; requests and lines have the layout of batch files",
    [
        export("batch", [*FIELDS, "input"], questions=SINGLE, note="requests, results, errors: one export"),
        export("output.jsonl", FIELDS, questions=SINGLE, note="without the requests, which custom_id names"),
    ],
    logged(expected=None, scores={}, cost=None, contexts=[]),
)
