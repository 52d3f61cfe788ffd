"""A LangGraph agent traced by LangSmith's client to a fake of its server; the SDK's models make the exports.

The server itself cannot run here: runs are what the client sent, the bulk export has its documented
layout.
"""

import gzip
import json
import os
import sys
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from uuid import UUID, uuid4, uuid5

os.environ |= {"LANGSMITH_TRACING": "false"}

import polars as pl
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_core.tracers.langchain import LangChainTracer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langsmith import Client
from langsmith.schemas import Feedback, Run
from real.endpoint import serve
from real.scenario import ANSWERS, QUESTIONS, export, logged, reply, write_truth

folder = Path(sys.argv[1])
SOME = ("capital", "json", "failed", "weather", "alarm", "report", "turns")
KINDS = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
EXAMPLES = {question: str(uuid5(UUID(int=7), question)) for question in QUESTIONS}
sent = {}


class Server(BaseHTTPRequestHandler):
    """Keeps the runs that a client creates and updates."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/runs") and body:
            run = json.loads(body)
            key = run.get("id") or self.path.rsplit("/", 1)[-1]
            sent.setdefault(key, {}).update({k: v for k, v in run.items() if v is not None})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_PATCH = do_GET = answer  # noqa: N815

    def log_message(self, *_):
        """Say nothing."""


class Acme(BaseChatModel):
    """A chat model that says what the scenario says."""

    model: str

    @property
    def _llm_type(self):
        return "acme"

    @property
    def _identifying_params(self):
        return {"model": self.model}

    def _get_ls_params(self, stop=None, **kwargs):
        return {"ls_provider": "acme", "ls_model_type": "chat", "ls_model_name": self.model}

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        asked = [{"role": ROLES[message.type], "content": message.content} for message in messages]
        answer = reply(asked, self.model)
        if answer.error:
            raise RuntimeError(answer.error)
        tokens, reason = [answer.input_tokens, answer.output_tokens], answer.finish_reason
        called = []
        if answer.tool_calls and messages[-1].type != "tool":
            called = [
                {"name": call["name"], "args": json.loads(call["arguments"]), "id": f"call_{place}"}
                for place, call in enumerate(answer.tool_calls)
            ]
            reason = "tool_calls"
            if answer.output is not None:
                tokens = [8, 3]
        elif answer.tool_calls:
            tokens = [tokens[0] - 8, tokens[1] - 3]
        usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
        message = AIMessage(
            content="" if called else answer.output,
            tool_calls=called,
            usage_metadata=usage,
            response_metadata={"model_name": self.model, "finish_reason": reason},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


class Library(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        question = next(q for q in QUESTIONS.values() if q.text == query)
        return [
            Document(page_content=text, metadata={"source": f"doc-{i}"})
            for i, text in enumerate(question.contexts)
        ]


@tool
def get_weather(city: str) -> str:
    """Say how warm it is."""
    return "12"


def agent(model):
    """A graph of a model, a tool that it may call, and a retriever before both."""

    def retrieve(state, config):
        asked = state["messages"][-1].content
        if any(q.text == asked and q.contexts for q in QUESTIONS.values()):
            Library().invoke(asked, config)
        return {}

    def speak(state, config):
        return {"messages": [Acme(model=model).invoke(state["messages"], config)]}

    def further(state):
        called = state["messages"][-1].tool_calls
        return "tools" if called and called[0]["name"] == "get_weather" else END

    graph = StateGraph(MessagesState)
    graph.add_node("retrieve", retrieve)
    graph.add_node("speak", speak)
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "speak")
    graph.add_conditional_edges("speak", further, ["tools", END])
    graph.add_edge("tools", "speak")
    return graph.compile(name="assistant")


with serve(Server) as address:
    client = Client(api_url=address, api_key="none", auto_batch_tracing=False)
    roots = []
    for answer in ANSWERS:
        messages = [KINDS[m["role"]](m["content"]) for m in QUESTIONS[answer.question].messages]
        config = {
            "callbacks": [
                LangChainTracer(client=client, project_name="fixtures", example_id=EXAMPLES[answer.question])
            ],
            "metadata": {"model": answer.model, "revision_id": answer.version},
        }
        known = set(sent)
        try:
            agent(answer.model).invoke({"messages": messages}, config)
        except RuntimeError:
            if answer.error is None:
                raise
        roots += [key for key in sent if key not in known and not sent[key].get("parent_run_id")]

session = UUID(int=1)
runs = []
for key, held in sent.items():
    fields = {name: value for name, value in held.items() if name not in ("child_runs", "session_name")}
    fields |= {"id": key, "session_id": session, "app_path": f"/runs/{key}"}
    fields["status"] = "error" if held.get("error") else "success"
    usage = {}
    for line in (held.get("outputs") or {}).get("generations") or []:
        usage = line[0]["message"]["kwargs"].get("usage_metadata") or {} if line else {}
    fields |= {
        "prompt_tokens": usage.get("input_tokens", 0),
        "completion_tokens": usage.get("output_tokens", 0),
        "total_tokens": usage.get("total_tokens", 0),
    }
    runs.append(Run(**fields))
# The server sums the tokens of a trace in its root.
for root in (run for run in runs if run.parent_run_id is None):
    inside = [run for run in runs if run.trace_id == root.trace_id and run.run_type == "llm"]
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        setattr(root, name, sum(getattr(run, name) for run in inside))
assert len(roots) == len(ANSWERS)


def short(run):
    """A run as the API gives it, without what tells of this machine."""
    held = json.loads(run.model_dump_json(exclude={"child_runs", "serialized", "events", "attachments"}))
    held["extra"] = {"metadata": (held.get("extra") or {}).get("metadata") or {}}
    return held


def write(name, rows):
    (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


order = {UUID(key): place for place, key in enumerate(roots)}
runs.sort(key=lambda run: (order[run.trace_id], run.dotted_order))
some = [run for run in runs if ANSWERS[order[run.trace_id]].question in SOME]
with gzip.open(folder / "runs.jsonl.gz", "wt", encoding="utf-8") as file:
    file.writelines(json.dumps(short(run), ensure_ascii=False) + "\n" for run in some)
(folder / "with_feedback").mkdir()
write("roots.jsonl", [short(run) for run in runs if run.parent_run_id is None])
write("with_feedback/runs.jsonl", [short(run) for run in runs if run.parent_run_id is None])
now = datetime(2026, 11, 1, tzinfo=UTC)
notes = []
for key, answer in zip(roots, ANSWERS, strict=True):
    for name, value in answer.scores.items():
        note = Feedback(
            id=uuid4(), run_id=key, trace_id=key, key=name, score=value, created_at=now, modified_at=now
        )
        notes.append(json.loads(note.model_dump_json()))
write("with_feedback/feedback.jsonl", notes)

# The bulk export: Parquet under Hive folders, nested values as JSON text, feedback counted by name.
part = (
    folder
    / "bulk"
    / "export_id=e"
    / "tenant_id=t"
    / f"session_id={session}"
    / "runs"
    / "year=2026"
    / "month=11"
)
(part / "day=17").mkdir(parents=True)
table = []
for run in some:
    held = short(run)
    scores = ANSWERS[order[run.trace_id]].scores if run.parent_run_id is None else {}
    stats = {name: {"n": 1, "avg": value} for name, value in scores.items()}
    texts = {
        name: None if held.get(name) is None else json.dumps(held[name], ensure_ascii=False)
        for name in ("inputs", "outputs", "extra", "tags")
    }
    plain = {
        name: held.get(name)
        for name in ("id", "name", "run_type", "status", "error", "trace_id", "dotted_order")
    }
    counts = {name: held.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    table.append(
        {
            **plain,
            **texts,
            **counts,
            "is_root": run.parent_run_id is None,
            "parent_run_id": held.get("parent_run_id"),
            "reference_example_id": held.get("reference_example_id"),
            "session_id": str(session),
            "start_time": run.start_time,
            "end_time": run.end_time,
            "feedback_stats": json.dumps(stats) if stats else None,
        }
    )
pl.DataFrame(table, infer_schema_length=None).write_parquet(part / "day=17" / "data.parquet")

ROOT = ["model", "version", "input", "output", "error", "latency_ms", "input_tokens", "output_tokens"]
FULL = [*ROOT, "finish_reason", "tool_calls", "contexts"]
answers = [entry | {"id": EXAMPLES[entry["question"]]} for entry in logged(expected=None, cost=None)]
write_truth(
    folder,
    "langsmith 0.14.17 traces a langgraph 1.2.20 agent to a fake of its server; its models make the exports",
    [
        export("runs.jsonl.gz", FULL, questions=SOME, item="id"),
        export("roots.jsonl", [*ROOT, "finish_reason", "tool_calls"], item="id"),
        export("with_feedback", [*ROOT, "finish_reason", "tool_calls", "scores"], item="id"),
        export("bulk", [*FULL, "scores"], questions=SOME, item="id"),
    ],
    answers,
)
