"""Inspect: logs (`.eval` and `.json`), and `samples_df`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from polars_evals.traces.platforms.base import Record, held, layout, objects, opened

# How `samples_df` writes the messages of an input.
_TURN = re.compile(r"(?:^|\n)(system|user|assistant|tool):\n")


def _asked(text: Any) -> Any:
    """Read the messages that `samples_df` wrote as one text."""
    if not isinstance(text, str) or not _TURN.match(text):
        return text
    [_, *parts] = _TURN.split(text)
    return [
        {"role": role, "content": said.strip("\n")}
        for role, said in zip(parts[::2], parts[1::2], strict=True)
    ]


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Give a sample what its log says of all: the task, the model, the data set."""
    evaluated = held(around, "eval")
    known = ("task", "model", "eval_id", "created", "task_version")
    about = {f"eval_{name.split('_')[-1]}": evaluated.get(name) for name in known}
    output = record.get("output")
    usage = opened(record.get("model_usage"))
    counted = objects({"": list(usage.values())}, "") if isinstance(usage, dict) else []
    tokens = {
        name: sum(each.get(name) or 0 for each in counted) if counted else None
        for name in ("input_tokens", "output_tokens")
    }
    if output == "" and record.get("stop_reason") == "tool_calls":
        output = None
    calls = [
        message
        for message in objects(record, "messages")
        if message.get("role") == "assistant" and message.get("tool_calls")
    ]
    task = evaluated.get("task") or record.get("task_name")
    scores = {key.removeprefix("score_"): record[key] for key in record if key.startswith("score_")}
    whole = held(record, "output")
    yield {**about, **record} | {
        "item": f"{task}/{record.get('id')}" if task else record.get("id"),
        "input": _asked(record.get("input")),
        "answer": output
        if isinstance(output, str) or whole.get("choices")
        else whole.get("completion") or None,
        "scores": record.get("scores") or scores,
        "usage": tokens,
        "calls": calls,
    }


INSPECT = layout(
    """
    inspect: Inspect log or samples_df
    marks: sample_id eval_id epoch, id epoch messages scores, id epoch input target output
    item_id: item id  trace_id: uuid sample_id
    ts: started_at created eval_created  end: completed_at  latency_s: total_time working_time
    model: model eval_model output.model  version: task_version eval_version
    input:  output: answer  expected: target|target
    error: error.message error  finish_reason: output.choices[0].stop_reason stop_reason
    input_tokens: usage.input_tokens  output_tokens: usage.output_tokens  tool_calls: calls|calls  scores:
    is: several  lists: samples
""",
    grades={"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0},
    hint="samples_df leaves outputs out unless asked: add "
    "SampleColumn('output', path='output.choices[0].message.content', full=True) to its columns, or scan "
    "the log itself (logs/*.eval)",
).unpacked_by(_unpack)
