"""OpenAI evals: the log of a run, an event a line."""

from __future__ import annotations

from collections.abc import Iterator

from polars_evals.traces.platforms.base import Platform, Record, held, marks, numbers_of


def _unpack(record: Record, around: Record) -> Iterator[Record]:
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
        yield event | {
            "expected": data.get("expected"),
            "scores": numbers_of(data),
            "kind": "chain",
            "parent": "sampling",
        }
    elif kind == "error":
        yield event | {"failed": data.get("message") or data.get("error") or "error", "kind": "llm"}


OPENAI_EVALS = Platform(
    "openai_evals",
    "OpenAI evals log",
    marks("run_id event_id sample_id type data, spec, spec run_id, run_id event_id"),
    """
    item_id: sample_id  trace_id:  span_id: event_id  parent_id: parent
    ts: created_at  model:
    input:  output:  expected:
    kind:  error: failed
    input_tokens: usage.prompt_tokens  output_tokens: usage.completion_tokens  scores:
    """,
    spans=True,
    unpack=_unpack,
    common=True,
)
