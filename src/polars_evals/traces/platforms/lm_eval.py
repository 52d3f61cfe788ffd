"""lm-evaluation-harness: the samples of `--log_samples`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from polars_evals.traces.platforms.base import Record, as_number, held, layout, number, read_object

_NAME = re.compile(
    r"samples_(?P<task>.+)_(?P<day>\d{4}-\d{2}-\d{2}T)(?P<clock>\d{2}-\d{2}-\d{2}(?:\.\d+)?)\.jsonl"
)

_KNOWN = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash"),
    *("prompt_hash", "target_hash", "task", "schema", "source"),
}


def _unpack(record: Record, around: Record) -> Iterator[Record]:
    """Add what the file's name says, the choice of a multiple-choice task, and the metrics."""
    name = _NAME.search(around["file"])
    task = record.get("task") or (name["task"] if name else None)
    ts = name["day"] + name["clock"].replace("-", ":") if name else None
    parts = re.split(r"[/\\]", around["file"])
    used = None if record.get("filter") == "none" else record.get("filter")
    item = "/".join(str(part) for part in (task, record.get("doc_id")) if part is not None)
    if record.get("doc_hash"):
        item += f"-{record['doc_hash']}"
    named = record.get("metrics")
    metrics = named if isinstance(named, list) else record.keys() - _KNOWN
    scores = {metric: score for metric in metrics if (score := number(record.get(metric))) is not None}
    yield record | {
        "item": f"{item}#{used}" if used else item,
        "row": json.dumps([parts[-2:], record.get("doc_id"), record.get("doc_hash"), used]),
        "span": used,
        "model": _model_beside(around["file"]) or (parts[-2] if len(parts) > 1 else None),
        "ts": ts,
        "scores": scores,
        **_chosen(record),
    }


@lru_cache(maxsize=256)
def _model_beside(file: str) -> str | None:
    """Read the model that the results beside the samples name: those of the same time, else the newest."""
    path = Path(file)
    stamp = path.stem[-len("2026-01-01T00-00-00.000000") :]
    found = sorted(path.parent.glob("results_*.json"), key=lambda each: (stamp in each.name, each.name))
    return read_object(found[-1]).get("model_name") if found else None


def _chosen(record: Record) -> Record:
    """Find what was answered: the text, or the choice that got the highest likelihood."""
    said = record.get("filtered_resps")
    said = said if isinstance(said, list) else [said]
    pairs = _pairs(record)
    target = record.get("target")
    found = {"asked": pairs[0][0] if pairs and pairs[0] else record.get("doc"), "expected": target}
    # `[value, is_greedy]`, both as text in older versions.
    likelihoods = [as_number(each[0] if isinstance(each, list) and each else each) for each in said]
    if len(said) < 2 or None in likelihoods:
        return found | {"answer": said[0] if said else None}
    best = max(range(len(said)), key=lambda place: likelihoods[place] or float("-inf"))
    choices = held(record, "doc").get("choices")
    choices = choices.get("text") if isinstance(choices, dict) else choices
    texts: Any = [pair[1] for pair in pairs if len(pair) > 1]
    if not texts or not all(isinstance(text, str) for text in texts):
        texts = choices
    if not isinstance(texts, list) or len(texts) != len(said):
        return found | {"answer": str(best)}
    if str(target).isdigit() and int(str(target)) < len(texts):
        found["expected"] = str(texts[int(str(target))]).strip()
    return found | {"answer": str(texts[best]).strip()}


def _pairs(record: Record) -> list[list[Any]]:
    """List the contexts and continuations that a model was given."""
    given = record.get("arguments")
    if isinstance(given, dict):
        return [
            [about.get("arg_0"), about.get("arg_1")] for about in given.values() if isinstance(about, dict)
        ]
    return [pair for pair in given if isinstance(pair, list)] if isinstance(given, list) else []


LM_EVAL = layout(r"""
    lm_eval: lm-eval samples
    marks: doc_id filtered_resps, doc_id resps target
    item_id: item  trace_id: row|hash  span_id: span  ts:  model:
    input: asked  output: answer|text  expected: expected|text  scores:
    leave_out: /results_[^/]*\.json$
""").unpacked_by(_unpack)
