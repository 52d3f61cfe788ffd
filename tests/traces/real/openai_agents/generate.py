"""The OpenAI Agents SDK: traces as a processor of one's own writes them, and as the SDK sends them."""

import asyncio
import json
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    function_tool,
    set_trace_processors,
)
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
from openai import AsyncOpenAI, BadRequestError
from real.endpoint import serve
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder, version = Path(sys.argv[1]), sys.argv[2]
ASKED = [question for question in QUESTIONS if question not in ("alarm", "report")]
sent = []


class Ingest(BaseHTTPRequestHandler):
    def do_POST(self):
        sent.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Lines:
    """What an application writes that keeps its traces: everything that ends, a line each."""

    def export(self, items):
        with (folder / "spans.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(item.export(), ensure_ascii=False) + "\n" for item in items)


@function_tool
def get_weather(city: str) -> str:
    """Say how warm it is."""
    return "12"


async def main(address):
    client = AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
    for answer in ANSWERS:
        if answer.question not in ASKED:
            continue
        question = QUESTIONS[answer.question]
        system = [m["content"] for m in question.messages if m["role"] == "system"]
        agent = Agent(
            name="assistant",
            instructions=system[0] if system else None,
            model=OpenAIChatCompletionsModel(answer.model, client),
            model_settings=ModelSettings(include_usage=True),
            tools=[get_weather] if answer.tool_calls else [],
        )
        turns = [dict(m) for m in question.messages if m["role"] != "system"]
        try:
            config = RunConfig(workflow_name="assistant", group_id=f"chat-{answer.version}")
            await Runner.run(agent, turns, run_config=config)
        except BadRequestError:
            if answer.error is None:
                raise


with serve() as address, serve(Ingest) as backend:
    own = BatchTraceProcessor(Lines())
    sends = BatchTraceProcessor(
        BackendSpanExporter(api_key="none", endpoint=f"{backend}/ingest"), max_batch_size=4
    )
    set_trace_processors([own, sends])
    asyncio.run(main(address))
    own.shutdown()
    sends.shutdown()

(folder / "sent.jsonl").write_text("".join(text + "\n" for text in sent), encoding="utf-8")
FIELDS = ["model", "input", "output", "error", "input_tokens", "output_tokens", "tool_calls"]
write_truth(
    folder,
    f"openai-agents {version} with chat completions, a trace processor and the SDK's own exporter",
    [export("spans.jsonl", FIELDS, questions=ASKED), export("sent.jsonl", FIELDS, questions=ASKED)],
    logged(expected=None, scores={}, cost=None, contexts=[], finish_reason=None),
)
