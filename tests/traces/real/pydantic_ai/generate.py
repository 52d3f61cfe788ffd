"""Pydantic AI agents, instrumented by Logfire: spans as the console exporter has them."""

import gzip
import json
import os
import sys
from pathlib import Path

os.environ |= {"LOGFIRE_IGNORE_NO_CONFIG": "1", "LOGFIRE_SEND_TO_LOGFIRE": "false"}

import logfire
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
ASKED = [question for question in QUESTIONS if question not in ("alarm", "blank", "report")]
kept = InMemorySpanExporter()
logfire.configure(
    send_to_logfire=False,
    console=False,
    additional_span_processors=[SimpleSpanProcessor(kept)],
    service_name="assistant",
    inspect_arguments=False,
)
logfire.instrument_pydantic_ai()


def model_of(answer):
    def say(messages, _info):
        if answer.error:
            raise RuntimeError(answer.error)
        tokens = [answer.input_tokens, answer.output_tokens]
        asks = answer.tool_calls and len(messages) == len(history(answer)) + 1
        if asks:
            tokens = [8, 3]
            call = answer.tool_calls[0]
            parts = [ToolCallPart(call["name"], json.loads(call["arguments"]))]
        else:
            parts = [TextPart(answer.output)]
            if answer.tool_calls:
                tokens = [tokens[0] - 8, tokens[1] - 3]
        usage = RequestUsage(input_tokens=tokens[0], output_tokens=tokens[1])
        return ModelResponse(parts=parts, usage=usage, model_name=answer.model)

    return FunctionModel(say, model_name=answer.model)


def history(answer):
    """The turns before the question."""
    turns = []
    for message in QUESTIONS[answer.question].messages[:-1]:
        if message["role"] == "assistant":
            turns.append(ModelResponse(parts=[TextPart(message["content"])]))
        else:
            part = SystemPromptPart if message["role"] == "system" else UserPromptPart
            turns.append(ModelRequest(parts=[part(message["content"])]))
    return turns


# Without the lines of this machine's files, which spans of failed calls store.
sys.tracebacklimit = 0
for answer in ANSWERS:
    if answer.question in ASKED:
        agent = Agent(model_of(answer), name="assistant")

        @agent.tool_plain
        def get_weather(city: str) -> str:
            return "12"

        try:
            agent.run_sync(QUESTIONS[answer.question].text, message_history=history(answer))
        except RuntimeError:
            if answer.error is None:
                raise

lines = (span.to_json(indent=None) + "\n" for span in kept.get_finished_spans())
with gzip.open(folder / "spans.jsonl.gz", "wt", encoding="utf-8") as file:
    file.writelines(lines)
FIELDS = ["model", "input", "output", "error", "latency_ms", "input_tokens", "output_tokens", "tool_calls"]
write_truth(
    folder,
    "pydantic-ai-slim 2.60.0 with FunctionModel, instrumented by logfire 4.41.0",
    [export("spans.jsonl.gz", FIELDS, questions=ASKED)],
    logged(expected=None, scores={}, cost=None, contexts=[], finish_reason=None),
)
