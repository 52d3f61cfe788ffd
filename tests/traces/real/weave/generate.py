"""Weave: calls of an application and of an evaluation, in the trace server that its package brings along."""

import asyncio
import base64
import gzip
import json
import os
import sys
from pathlib import Path

os.environ |= {
    "WEAVE_PRINT_CALL_LINK": "false",
    "WEAVE_CAPTURE_CODE": "false",
    "WEAVE_CAPTURE_SYSTEM_INFO": "false",
}

import weave
from openai import BadRequestError, OpenAI
from real.endpoint import ask, serve
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, find, logged, write_truth
from weave.integrations.openai.openai_sdk import get_openai_patcher
from weave.trace.context import weave_client_context
from weave.trace.weave_client import WeaveClient
from weave.trace_server import trace_server_interface as tsi
from weave.trace_server.external_to_internal_trace_server_adapter import ExternalTraceServer, IdConverter
from weave.trace_server.sqlite_trace_server import SqliteTraceServer

folder = Path(sys.argv[1])


class Ids(IdConverter):
    """The names that users see, and those inside."""

    def ext_to_int_project_id(self, project_id):
        return base64.b64encode(project_id.encode()).decode()

    def int_to_ext_project_id(self, project_id):
        return base64.b64decode(project_id.encode()).decode()

    def ext_to_int_run_id(self, run_id):
        return run_id

    int_to_ext_run_id = ext_to_int_user_id = int_to_ext_user_id = ext_to_int_run_id


class Server(ExternalTraceServer):
    """Someone is logged in."""

    def feedback_create(self, req):
        req.wb_user_id = "ada"
        return super().feedback_create(req)


store = SqliteTraceServer("file::memory:?cache=shared")
store.drop_tables()
store.setup_tables()
client = WeaveClient("acme", "assistant", Server(store, Ids()), ensure_project_exists=False)
weave_client_context.set_weave_client_global(client)
written = set()


def write(name, **query):
    """Write what the service streams, a call a line, of the calls since the last time."""
    client.flush()
    asked = tsi.CallsQueryReq(project_id="acme/assistant", include_feedback=True, **query)
    with gzip.open(folder / name, "wt", encoding="utf-8") as file:
        for call in client.server.calls_query_stream(asked):
            if call.id not in written:
                written.add(call.id)
                file.write(json.dumps(call.model_dump(mode="json"), ensure_ascii=False) + "\n")


ASKED = [question for question in QUESTIONS if question not in ("alarm", "report")]
SCORED = ("helpfulness", "human")
get_openai_patcher().attempt_patch()
with serve() as address:
    api = OpenAI(base_url=address, api_key="none", max_retries=0)

    @weave.op
    def get_weather(arguments: str) -> str:
        return "12"

    @weave.op
    def assistant(messages: list, model: str) -> str:
        question = next(q for q in QUESTIONS.values() if q.text == messages[-1]["content"])
        return ask(api, question, model, lambda _name, arguments: get_weather(arguments))

    for answer in ANSWERS:
        if answer.question in ASKED:
            messages = [dict(message) for message in QUESTIONS[answer.question].messages]
            try:
                _, call = assistant.call(messages, answer.model, __should_raise=True)
            except BadRequestError:
                continue

            @weave.op
            def helpfulness(output: str, value: float = answer.scores["helpfulness"]) -> float:
                return value

            asyncio.run(call.apply_scorer(helpfulness))
            call.feedback.add("human", {"value": answer.scores["human"]})
    write("calls.jsonl.gz")
    calls = [call.to_dict() for call in client.get_calls()]
    text = json.dumps(calls, ensure_ascii=False, default=str)
    (folder / "calls.json").write_text(text, encoding="utf-8")

    class Assistant(weave.Model):
        model_name: str

        @weave.op
        def predict(self, question: str) -> str:
            return ask(api, next(q for q in QUESTIONS.values() if q.text == question), self.model_name)

    asked = []

    @weave.op
    def helpfulness(case: str, output: str) -> float:
        return find(case, asked[-1]).scores["helpfulness"]

    @weave.op
    def human(case: str, output: str) -> dict:
        return {"correct": bool(find(case, asked[-1]).scores["human"])}

    EXAMPLES = [q for q in ASKED if len(QUESTIONS[q].messages) == 1 and q not in ("failed", "weather")]
    rows = [{"case": q, "question": QUESTIONS[q].text, "expected": QUESTIONS[q].expected} for q in EXAMPLES]
    evaluation = weave.Evaluation(name="questions", dataset=rows, scorers=[helpfulness, human])
    for version, name in MODELS.items():
        asked.append(version)
        asyncio.run(evaluation.evaluate(Assistant(model_name=name)))
    write("evaluation.jsonl.gz", expand_columns=["inputs.example"])

FIELDS = ["model", "input", "output", "error", "latency_ms", "input_tokens", "output_tokens", "tool_calls"]
FIELDS += ["finish_reason"]
EVALUATED = ["model", "input", "output", "expected", "latency_ms", "input_tokens", "output_tokens", "scores"]
write_truth(
    folder,
    "weave 0.52.10 with its SqliteTraceServer, openai 1.109.1 over a fake of the chat endpoint",
    [
        export("calls.jsonl.gz", [*FIELDS, "scores"], questions=ASKED, expected=None),
        export("calls.json", FIELDS, questions=ASKED, expected=None, note="call.to_dict() of the SDK"),
        export("evaluation.jsonl.gz", EVALUATED, questions=EXAMPLES),
    ],
    logged(cost=None, contexts=[]),
)
