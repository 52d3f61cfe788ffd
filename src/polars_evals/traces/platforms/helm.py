"""HELM: the state of a scenario."""

from __future__ import annotations

from collections.abc import Iterator

from polars_evals.traces.platforms.base import Platform, Record, held, marks


def _unpack(record: Record, around: Record) -> Iterator[Record]:
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
    unpack=_unpack,
    lists=(("request_states",),),
    leave_out=r"/(run_spec|scenario|stats|per_instance_stats|instances|display_requests|display_predictions)\.json$",
    common=True,
)
