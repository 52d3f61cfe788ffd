"""A fake of the chat endpoint on this machine, which answers as the scenario says, and how a client asks it.

It needs nothing but Python; `ask` takes any client that has the shape of OpenAI's.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .scenario import Answer, Question, reply


def _tool(name: str, argument: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


# The tools that a question offers.
TOOLS = {"weather": [_tool("get_weather", "city")], "alarm": [_tool("set_alarm", "time")]}


def calls(answer: Answer) -> list[dict[str, Any]]:
    """Return an answer's tool calls as the chat endpoint writes them."""
    return [
        {"id": f"call_{answer.question}_{answer.version}", "type": "function", "function": dict(call)}
        for call in answer.tool_calls
    ]


def completion(messages: Sequence[Mapping[str, Any]], model: str) -> dict[str, Any]:
    """Return the body of a chat completion. Tools are called first, and answered with their results."""
    answer = reply(messages, model)
    asks_tool = bool(answer.tool_calls) and messages[-1]["role"] != "tool"
    message: dict[str, Any] = {"role": "assistant", "content": None if asks_tool else answer.output}
    if asks_tool:
        message["tool_calls"] = calls(answer)
    reason = "tool_calls" if asks_tool else answer.finish_reason
    tokens = [answer.input_tokens or 0, answer.output_tokens or 0]
    if answer.tool_calls and answer.output is not None:
        # Two calls make this answer: together they take what it takes.
        tokens = [8, 3] if asks_tool else [tokens[0] - 8, tokens[1] - 3]
    return {
        "id": f"chatcmpl-{answer.question}-{answer.version}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
    }


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        error = reply(request["messages"], request["model"]).error
        if error is None:
            status, body = 200, completion(request["messages"], request["model"])
        else:
            status = 400
            body = {"error": {"message": error, "type": "invalid_request_error", "code": "refused"}}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing of each request."""


@contextmanager
def serve(handler: type[BaseHTTPRequestHandler] = _Handler) -> Iterator[str]:
    """Serve on a free port of this machine, and give the address.

    Meanwhile tracebacks are without the lines of this machine's files: tools store those of failed calls.
    """
    sys.tracebacklimit = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        sys.tracebacklimit = 1000


def ask(
    client: Any,
    question: Question,
    model: str,
    run_tool: Callable[[str, str], str | None] = lambda _name, _arguments: None,
) -> str | None:
    """Ask a model as an application does: run the tools that it calls and return its last text.

    A tool without a result ends the conversation, so that the call itself is the answer.
    """
    messages: list[dict[str, Any]] = [dict(message) for message in question.messages]
    tools = TOOLS.get(question.id)
    while True:
        options = {"tools": tools} if tools else {}
        response = client.chat.completions.create(model=model, messages=messages, **options)
        message = response.choices[0].message
        if not message.tool_calls:
            content: str | None = message.content
            return content
        called = message.tool_calls[0]
        result = run_tool(called.function.name, called.function.arguments)
        if result is None:
            return None
        call = {"name": called.function.name, "arguments": called.function.arguments}
        asked = {"id": called.id, "type": "function", "function": call}
        messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        messages.append({"role": "tool", "tool_call_id": called.id, "content": result})
