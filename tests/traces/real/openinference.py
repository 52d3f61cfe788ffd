"""An application whose spans say what went in and out, as OpenInference's conventions have it."""

from __future__ import annotations

import json
from typing import Any

from .endpoint import ask
from .scenario import Question


def described(tracer: Any, client: Any, question: Question, model: str) -> None:
    """Answer a question in a chain with its input and output, its retriever, its tool and its model calls."""
    messages = json.dumps(question.messages, ensure_ascii=False)
    asked = {
        "openinference.span.kind": "CHAIN",
        "input.value": messages,
        "input.mime_type": "application/json",
    }
    with tracer.start_as_current_span("assistant", attributes=asked) as root:
        if question.contexts:
            found = {"openinference.span.kind": "RETRIEVER", "input.value": question.text}
            for place, text in enumerate(question.contexts):
                found[f"retrieval.documents.{place}.document.content"] = text
                found[f"retrieval.documents.{place}.document.id"] = f"doc-{place}"
            with tracer.start_as_current_span("retrieve", attributes=found):
                pass

        def run_tool(name: str, arguments: str) -> str | None:
            used = {"openinference.span.kind": "TOOL", "tool.name": name, "input.value": arguments}
            with tracer.start_as_current_span(name, attributes=used) as span:
                if name == "get_weather":
                    span.set_attribute("output.value", "12")
                    return "12"
            return None

        output = ask(client, question, model, run_tool)
        if output is not None:
            root.set_attribute("output.value", output)
