"""HELM: the state of a scenario."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from polars_evals.traces.platforms.base import Platform, Record, held, marks

# Arguments of a run that say how it was made, and nothing about the questions.
_RUN = re.compile(
    r"[,:-](?:model|model_deployment|max_train_instances|num_outputs|data_augmentation|groups)=[^,]*"
)


@lru_cache(maxsize=256)
def _scenario(file: str) -> str | None:
    """Name the scenario, without its model: by the run's folder, or by the specification beside the file."""
    path = Path(file)
    name = path.parent.name
    if "=" not in name:
        try:
            name = json.loads((path.parent / "run_spec.json").read_bytes()).get("name") or ""
        except (OSError, ValueError, AttributeError, RecursionError):
            name = ""
    return _RUN.sub("", name.replace(":", "-", 1)) or None


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
    names = (_scenario(around.get("file", "")), instance.get("split"), instance.get("id"))
    part = "/".join(str(p) for p in names if p) if instance.get("id") else ""
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
        "expected": right or None,
        "model": request.get("model") or spec.get("model"),
        "error": result.get("error"),
        "finish": (completions[0].get("finish_reason") or {}).get("reason") if completions else None,
        "took": result.get("request_time"),
        "ts": result.get("request_datetime"),
    }


HELM = Platform(
    "helm",
    "HELM scenario state",
    marks("instance request result, instance request train_trial_index, request_states"),
    """
    item_id: item  trace_id: row|hash
    ts:  latency_s: took  model:
    input:  output: output|text  expected: expected|references
    error:  finish_reason: finish
    """,
    unpack=_unpack,
    lists=(("request_states",),),
    leave_out=r"/(run_spec|scenario|stats|per_instance_stats|instances|display_requests|display_predictions)\.json$",
    common=True,
    several=True,
)
