"""Weave: calls, and the examples of evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import EVALUATION, SCORER, Record, held, layout, objects

# What examples call the question, and the answer that they want.
ASKED = ("messages", "question", "input", "prompt", "query")
WANTED = ("expected", "target", "expected_output", "reference", "ground_truth")


_SIDES = ("prompt", "completion")

# Calls of a model's API, by what their names hold.
_WEAVE_MODELS = ("completion", "messages.create", "generate_content", "responses.create")


def _weave(record: Record, around: Record) -> Iterator[Record]:
    """Take usage out of the summary, where it stands under the model's name, and ops for their kind."""
    summary = held(record, "summary")
    weave = held(summary, "weave")
    [used, counted] = next(iter(held(summary, "usage").items()), (None, {}))
    given = held(record, "inputs")
    inputs = {key: value for key, value in given.items() if key not in ("self", "_keys")}
    model = inputs.get("model")
    # An object of Weave, such as a model of one's own, stands as a reference with its version.
    paths = [text for text in (model, given.get("self")) if isinstance(text, str) and "/object/" in text]
    versions = [text.partition("/object/")[2] for text in paths if "/attr/" not in text]
    name = str(record.get("op_name") or "").rpartition("/op/")[2].partition(":")[0]
    kind = "llm" if any(word in name.lower() for word in _WEAVE_MODELS) else "chain"
    costs = [costs for costs in (weave.get("costs") or {}).values() if isinstance(costs, dict)]
    call = record | {
        "inputs": inputs if given else record.get("inputs"),
        "model": model if isinstance(model, str) and model not in paths else used,
        "model_version": versions[0] if versions else None,
        "usage": counted,
        "kind": kind,
        "latency": weave.get("latency_ms"),
        "scores": {
            str(entry["feedback_type"]).rsplit(".", 1)[-1]: payload.get("output", payload.get("value"))
            for entry in objects(weave, "feedback") or objects(record, "feedback")
            if entry.get("feedback_type") and (payload := held(entry, "payload"))
        },
        "cost": sum(cost.get(f"{side}_tokens_total_cost") or 0 for cost in costs for side in _SIDES)
        if costs
        else None,
    }
    if name == "Evaluation.predict_and_score":
        yield call | _weave_example(inputs.get("example"), held(record, "output"), str(record.get("id")))
    elif name.startswith("Evaluation."):
        yield call | {"kind": EVALUATION}
    else:
        # What takes an output scores it.
        yield call | ({"kind": SCORER} if "output" in inputs else {})


def _weave_example(example: Any, output: Record, call: str) -> Record:
    """Make a trace of an example of an evaluation, all of which is one trace."""
    fields = example if isinstance(example, dict) else {"_ref": example}
    row = str(fields.get("_ref") or "").rpartition("/rows/id/")[2] or None
    latency = output.get("model_latency")
    asked = {key: value for key, value in fields.items() if key not in ("_ref", "id", *WANTED)}
    question = next((asked[name] for name in ASKED if name in asked), asked or None)
    return {
        "trace_id": call,
        "parent_id": None,
        "example": {"id": row} | fields,
        "inputs": question,
        "output": output.get("output"),
        "latency": latency * 1000 if isinstance(latency, float) else None,
        "scores": dict(_evaluated(held(output, "scores"))),
    }


def _evaluated(scores: Record) -> Iterator[tuple[str, Any]]:
    """Name the values of a scorer that returns several."""
    for name, value in scores.items():
        values = value if isinstance(value, dict) else {name: value}
        yield from ((f"{name}.{key}" if len(values) > 1 else name, each) for key, each in values.items())


WEAVE = layout(
    """
    weave: Weave calls
    marks: op_name trace_id inputs output, op_name project_id inputs output
    item_id: attributes.dataset_item_id example.id  trace_id:  span_id: id  parent_id:
    session_id: thread_id
    ts: started_at  end: ended_at  latency_ms: latency  model:  version: attributes.version model_version
    input: inputs  output:
    expected: example.expected example.target example.expected_output example.reference example.ground_truth
        inputs.expected inputs.target inputs.expected_output inputs.reference inputs.ground_truth
    kind:  error: exception  input_tokens: usage.prompt_tokens usage.input_tokens
    output_tokens: usage.completion_tokens usage.output_tokens  cost:  scores:  is: spans  lists: calls
""",
    hint='export the examples of an evaluation with expand_columns=["inputs.example"]',
).unpacked_by(_weave)
