"""Tables of answers: batch files, chats, and what evaluation libraries take and write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import (
    Platform,
    Record,
    Scores,
    held,
    marks,
    number,
    score,
    scores_by_name,
)

_CANONICAL = (
    *(
        "item_id",
        "trace_id",
        "span_id",
        "session_id",
        "ts",
        "model",
        "version",
        "input",
        "output",
        "expected",
    ),
    *("kind", "error", "finish_reason", "latency_ms", "input_tokens", "output_tokens", "cost"),
)

# A table with our own names. Texts are taken as they are.
GENERIC = Platform(
    "generic",
    "columns with the canonical names",
    marks("output", "input output", "output expected", "input output expected"),
    {name: (f"{name} as text",) for name in _CANONICAL}
    | {
        "question": ("input as item",),
        "tool_calls": ("tool_calls as json",),
        "contexts": ("contexts as json",),
    },
)


def _batch(record: Record, around: Record) -> Iterator[Record]:
    """Tell requests from results; what failed has a body that is no answer."""
    body = held(held(record, "response"), "body")
    failed = held(body, "error").get("message") or held(held(record, "response"), "error").get("message")
    yield record | {
        "answer": None if failed else body or held(record, "result").get("message"),
        "failed": failed,
        "part_of": None if "body" in record or "params" in record else record.get("custom_id"),
    }


BATCH = Platform(
    "batch",
    "OpenAI or Anthropic batch",
    marks("custom_id response", "custom_id result", "custom_id body url", "custom_id params"),
    {
        "trace_id": ("custom_id",),
        "span_id": ("id", "response.request_id", "result.message.id"),
        "parent_id": ("part_of",),
        "ts": ("response.body.created", "response.body.created_at"),
        "model": ("answer.model", "body.model", "params.model"),
        # The request says what was asked; without it the request's name has to do.
        "question": ("body as item", "params as item", "custom_id as text"),
        "input": ("body", "params"),
        "output": ("answer",),
        "error": (
            *("failed", "error.message", "result.error.error.message", "result.error.message", "error"),
        ),
        "finish_reason": ("answer as finish",),
        "input_tokens": ("answer.usage.prompt_tokens", "answer.usage.input_tokens"),
        "output_tokens": ("answer.usage.completion_tokens", "answer.usage.output_tokens"),
    },
    spans=True,
    unpack=_batch,
)

MESSAGES = Platform(
    "messages",
    "chats",
    marks("messages", "conversations", "conversation", "messages response"),
    {
        "item_id": ("item_id", "id", "custom_id"),
        "trace_id": ("trace_id",),
        "session_id": ("session_id", "conversation_id"),
        "ts": ("ts", "timestamp", "created_at", "created"),
        "model": ("model", "metadata.model", "generator"),
        "version": ("version",),
        "input": ("messages", "conversations", "conversation"),
        "output": (
            *(
                "output",
                "response",
                "completion",
                "messages as chat",
                "conversations as chat",
                "conversation as chat",
            ),
        ),
        "expected": ("expected", "reference", "ground_truth", "target"),
        "error": ("error",),
    },
)


def _ragas(record: Record, around: Record) -> Iterator[Record]:
    known = {
        *(
            "user_input",
            "response",
            "reference",
            "retrieved_contexts",
            "reference_contexts",
            "multi_responses",
        ),
        *("rubric", "rubrics", "reference_tool_calls", "reference_topics", "question", "answer", "contexts"),
    }
    scores = {
        name: value for name, value in record.items() if name not in known and number(value) is not None
    }
    yield record | {"scores": scores}


RAGAS = Platform(
    "ragas",
    "ragas samples",
    marks("user_input response", "user_input reference", "question answer contexts"),
    {
        "item_id": ("id", "sample_id"),
        "model": ("model",),
        "version": ("version",),
        "input": ("user_input", "question"),
        "output": ("response", "answer", "user_input as chat"),
        "expected": ("reference", "ground_truth"),
        "tool_calls": ("user_input",),
        "contexts": ("retrieved_contexts as contexts", "contexts as contexts"),
        "scores": ("scores",),
    },
    unpack=_ragas,
    lists=(("samples",), ("dataset",)),
    scores=scores_by_name,
)


def _deepeval(record: Record, around: Record) -> Iterator[Record]:
    """Bring `actualOutput` of saved runs and `actual_output` of data sets to one spelling."""
    calls = record.get("toolsCalled", record.get("tools_called"))
    called = [
        {"name": call.get("name"), "arguments": call.get("inputParameters", call.get("input_parameters"))}
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
    found = record.get("retrieval_context", record.get("retrievalContext"))
    yield record | {
        # Data sets that were saved as lines or as CSV have one text for all.
        "contexts": found.split("|") if isinstance(found, str) and found else found,
        "calls": [{"role": "assistant", "content": None, "tool_calls": called}] if called else None,
        "scores": record.get("metricsData", record.get("metrics_data")),
    }


def _deepeval_scores(held: Any) -> Scores:
    found = {}
    for entry in held if isinstance(held, list) else []:
        if isinstance(entry, dict) and entry.get("name"):
            passed = entry.get("success")
            label = None if passed is None else "pass" if passed else "fail"
            found[str(entry["name"])] = score(entry.get("score"), label)
    return found


DEEPEVAL = Platform(
    "deepeval",
    "DeepEval test cases",
    marks("input actual_output", "input actualOutput", "testCases", "input actual_output expected_output"),
    {
        "item_id": ("additionalMetadata.id", "additional_metadata.id", "id"),
        "model": ("model", "additionalMetadata.model", "additional_metadata.model"),
        "input": ("input",),
        "output": ("actualOutput as text", "actual_output as text"),
        "expected": ("expectedOutput as text", "expected_output as text"),
        "latency_s": ("completionTime", "completion_time"),
        "cost": ("tokenCost", "token_cost"),
        "tool_calls": ("calls",),
        "contexts": ("contexts as contexts",),
        "scores": ("scores",),
    },
    unpack=_deepeval,
    lists=(("testCases",), ("test_cases",), ("goldens",), ("testRunData", "testCases")),
    scores=_deepeval_scores,
)

ALPACA_EVAL = Platform(
    "alpaca_eval",
    "AlpacaEval outputs",
    marks("instruction output generator", "instruction output_1 output_2", "instruction output dataset"),
    {
        "item_id": ("instruction as item",),
        "model": ("generator", "generator_2"),
        "version": ("version",),
        "input": ("instruction as text",),
        "output": ("output as text", "output_2 as text"),
        "expected": ("expected as text", "reference as text", "output_1 as text"),
    },
)


def _openai_evals(record: Record, around: Record) -> Iterator[Record]:
    """Take what an event holds: a sample is asked in one and matched in another."""
    data = held(record, "data")
    kind = record.get("type")
    if "spec" in record:
        around["spec"] = record["spec"]
    spec = held(around, "spec")
    completions = spec.get("completion_fns")
    about = {
        "trace_id": "/".join(str(part) for part in (record.get("run_id"), record.get("sample_id")) if part),
        "model": completions[0] if isinstance(completions, list) and completions else data.get("model"),
    }
    event = record | about
    if kind == "sampling":
        sampled = data.get("sampled")
        sampled = sampled[0] if isinstance(sampled, list) and len(sampled) == 1 else sampled
        yield event | {
            "input": data.get("prompt"),
            "output": sampled,
            "kind": "llm",
            "usage": data.get("usage"),
        }
    elif kind in ("match", "metrics", "cond_logp", "pick_option"):
        found = {name: value for name, value in data.items() if number(value) is not None}
        yield event | {
            "expected": data.get("expected"),
            "scores": found,
            "kind": "chain",
            "parent": "sampling",
        }
    elif kind == "error":
        yield event | {"failed": data.get("message") or data.get("error") or "error", "kind": "llm"}


OPENAI_EVALS = Platform(
    "openai_evals",
    "OpenAI evals log",
    marks("run_id event_id sample_id type data", "spec", "spec run_id", "run_id event_id"),
    {
        "item_id": ("sample_id",),
        "trace_id": ("trace_id",),
        "span_id": ("event_id",),
        "parent_id": ("parent",),
        "ts": ("created_at",),
        "model": ("model",),
        "input": ("input",),
        "output": ("output",),
        "expected": ("expected",),
        "kind": ("kind",),
        "error": ("failed",),
        "input_tokens": ("usage.prompt_tokens",),
        "output_tokens": ("usage.completion_tokens",),
        "scores": ("scores",),
    },
    spans=True,
    unpack=_openai_evals,
    scores=scores_by_name,
)


def _helm(record: Record, around: Record) -> Iterator[Record]:
    """Read a request state: its instance is the item, the reference tagged `correct` is expected."""
    instance = held(record, "instance")
    references = [r for r in instance.get("references") or [] if isinstance(r, dict)]
    right = [
        r["output"].get("text")
        for r in references
        if "correct" in (r.get("tags") or []) and isinstance(r.get("output"), dict)
    ]
    request = held(record, "request")
    result = held(record, "result")
    completions = [c for c in result.get("completions") or [] if isinstance(c, dict)]
    said = completions[0].get("text") if completions else None
    mapping = record.get("output_mapping")
    if isinstance(mapping, dict) and isinstance(said, str) and said.strip() in mapping:
        said = mapping[said.strip()]
    asked = held(instance, "input")
    part = "/".join(str(p) for p in (instance.get("split"), instance.get("id")) if p)
    spec = held(around, "adapter_spec")
    yield {
        "item": part or None,
        "row": [
            instance.get("id"),
            record.get("train_trial_index"),
            request.get("model"),
            record.get("reference_index"),
        ],
        "input": asked.get("text") or request.get("prompt"),
        "output": said,
        "expected": right[0] if right else None,
        "model": request.get("model") or spec.get("model"),
        "error": result.get("error"),
        "finish": (completions[0].get("finish_reason") or {}).get("reason") if completions else None,
        "took": result.get("request_time"),
        "ts": result.get("request_datetime"),
    }


HELM = Platform(
    "helm",
    "HELM scenario state",
    marks("instance request result", "instance request train_trial_index", "request_states"),
    {
        "item_id": ("item",),
        "trace_id": ("row as hash",),
        "ts": ("ts",),
        "model": ("model",),
        "input": ("input",),
        "output": ("output as text",),
        "expected": ("expected as text",),
        "error": ("error",),
        "finish_reason": ("finish",),
        "latency_s": ("took",),
    },
    unpack=_helm,
    lists=(("request_states",),),
    leave_out=r"/(run_spec|scenario|stats|per_instance_stats|instances|display_requests|display_predictions)\.json$",
)

TABLES = (BATCH, MESSAGES, RAGAS, DEEPEVAL, ALPACA_EVAL, OPENAI_EVALS, HELM)
