"""Columns of a table that nobody knows: which look like answers, questions and references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

# How many rows are looked at.
_SAMPLE_ROWS = 200

# Names that say what a column is, best first. Each is the whole name, or the last words of it.
_OUTPUTS = (
    *("output", "model_output", "model_answer", "model_response", "llm_output", "llm_answer", "llm_response"),
    *("predicted_answer", "prediction", "pred", "predicted", "response", "completion", "actual_output"),
    *("generated_text", "generated_answer", "generated", "generation", "reply", "hypothesis", "candidate"),
    *("assistant", "output_text", "system_output", "raw_output", "predictions", "responses", "outputs"),
    *("generations", "completions", "model_prediction", "parsed_answer", "extracted_answer"),
)
_EXPECTED = (
    *("expected", "expected_output", "expected_answer", "ground_truth", "groundtruth", "gold", "golden"),
    *("gold_answer", "golden_answer", "reference_answer", "correct_answer", "reference", "target", "truth"),
    *("gt", "ideal", "references", "answer_key", "gold_label", "true_label", "example_answer"),
    *("best_answer", "human_answer"),
)
# What is a reference only where nothing is named better.
_PERHAPS_EXPECTED = ("label", "answers", "solution", "targets", "golds", "correct")
# How names of references begin: `target_output`, `gt_answer`.
_REFERENCE = re.compile(
    r"(?:gold|golden|expected|reference|target|correct|gt|true|ground_truth|human|ideal)_"
)
_INPUTS = (
    *("input", "prompt", "question", "query", "instruction", "user_input", "user_query", "problem"),
    *("user_prompt", "user_message", "request", "task", "input_text", "source", "statement", "text"),
)
_ITEMS = (
    *("item_id", "question_id", "sample_id", "example_id", "task_id", "instance_id", "problem_id", "qid"),
    *("uid", "uuid", "id"),
)
_MODELS = ("model", "model_name", "model_id", "generator", "engine", "llm", "model_name_or_path")
# What may be the answer or the reference, as the other columns say.
_EITHER = ("answer", "result", "content", "final_answer")

# Numbers and words that judge an answer and are none.
_NOT_TEXT = re.compile(r"(^|_)(score|scores|correct|accuracy|length|len|tokens?|latency|cost|rating|grade)$")


def propose_columns(frame: pl.DataFrame | pl.LazyFrame) -> dict[str, str]:
    """
    Propose which columns of a table hold `output`, `input`, `expected`, `item_id` and `model`.

    Names and contents of the first rows decide. A column with nested values is proposed as a path
    (`outputs.answer`, `responses[0]`), as `columns=` of [`scan_traces`][polars_evals.scan_traces] takes it.
    What no column looks like is missing. A proposal is for a person to confirm: it is not applied by itself.

    Examples
    --------
    >>> table = pl.DataFrame({"question": ["2 + 2?"], "answer": ["4"], "pred": ["5"]})
    >>> propose_columns(table)
    {'input': 'question', 'output': 'pred', 'expected': 'answer'}
    """
    return propose(frame.lazy().head(_SAMPLE_ROWS).collect().to_dicts())


def propose(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Propose columns from the first records of a table."""
    values = dict[str, list[Any]]()
    for record in records:
        for path, value in _leaves(record):
            values.setdefault(path, []).append(value)
    texts = {path: held for path, held in values.items() if _is_text(path, held)}
    outputs, expected = _named(texts, _OUTPUTS), _named(texts, _EXPECTED)
    expected += [path for path in texts if _REFERENCE.match(_last(path)) and path not in expected]
    sure = [path for path in outputs if _last(path) in _EXPECTED or _REFERENCE.match(_last(path))]
    expected = [path for path in expected if path not in outputs or path in sure]
    expected += [path for path in _named(texts, _PERHAPS_EXPECTED) if path not in [*expected, *outputs]]
    outputs = [path for path in outputs if path not in expected]
    # An answer beside a prediction is the reference; beside a reference it is the answer.
    for path in _named(texts, _EITHER):
        if path in outputs or path in expected:
            continue
        (outputs if expected or not outputs else expected).append(path)
    # Words such as `label` or `correct` are references only beside an answer.
    output = _closest(outputs, expected[:1], texts)
    items = [path for path in _named(values, _ITEMS) if not _OTHER_IDS.search(_last(path))]
    found: dict[str, Sequence[str | None]] = {
        "input": _named(texts, _INPUTS),
        "output": [output],
        "expected": expected if output else [],
        "item_id": [path for path in items if _is_unique(values[path], len(records))],
        "model": _named(texts, _MODELS),
    }
    best = {
        name: next((path for path in paths if name in ("output", "item_id") or path != output), None)
        for name, paths in found.items()
    }
    return {name: path for name, path in best.items() if path is not None}


def _leaves(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the values of a record, those of objects one level below, and the first of a list of texts."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            for inner, held in value.items():
                yield f"{name}.{inner}", held
        elif isinstance(value, list) and value and isinstance(value[0], str):
            # Several references stay a list.
            is_reference = _matches(name, _EXPECTED) is not None or _REFERENCE.match(_last(name))
            yield (name if is_reference else f"{name}[0]"), value[0]
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for inner, held in value[0].items():
                if isinstance(held, str):
                    yield f"{name}[0].{inner}", held
        elif not isinstance(value, list):
            yield name, value


# Ids that name a row and no question.
_OTHER_IDS = re.compile(
    r"(?:^|_)(?:trace|span|run|session|request|response|user|thread|conversation|model)_id$"
)


def _is_text(path: str, values: Sequence[Any]) -> bool:
    held = [value for value in values if value is not None]
    if not held or (_NOT_TEXT.search(_last(path)) and not all(isinstance(value, str) for value in held)):
        return False
    return all(isinstance(value, str | int | float | bool) for value in held)


def _last(path: str) -> str:
    """Return the words of the last key of a path, in lower case: `gpt-4.Response[0]` is `response`."""
    key = path.removesuffix("[0]")
    inner = key.rpartition(".")[2] or key
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", inner)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def _matches(path: str, names: Sequence[str]) -> int | None:
    """Say how well a column is named: 0 is best; None where the names do not fit."""
    last = _last(path)
    if last in names:
        return names.index(last)
    for place, name in enumerate(names):
        # `gpt4_pred`, and `pred_answer`, which DSPy and others write.
        if last.endswith(f"_{name}") or (name in ("pred", "generated") and last.startswith(f"{name}_")):
            return len(names) + place
    outer = path.rpartition(".")[0].removesuffix("[0]")
    if outer and last in ("text", "content", "answer", "value", "output", "response") and "." in path:
        inner = _matches(outer, names)
        return None if inner is None else 2 * len(names) + inner
    return None


def _named(values: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[str]:
    ranks = {path: rank for path in values if (rank := _matches(path, names)) is not None}
    return sorted(ranks, key=lambda path: ranks[path])


def _closest(outputs: Sequence[str], expected: Sequence[str], values: Mapping[str, list[Any]]) -> str | None:
    """Choose the answer: of several columns the one whose values are among the references, else the first."""
    for reference in expected:
        known = {str(value).strip().lower() for value in values[reference] if value is not None}
        for path in outputs:
            held = [str(value).strip().lower() for value in values[path] if value is not None]
            if held and sum(value in known for value in held) >= len(held) / 2:
                return path
    return next(iter(outputs), None)


def _is_unique(values: Sequence[Any], rows: int) -> bool:
    held = [value for value in values if isinstance(value, str | int)]
    return len(held) == rows and len(set(held)) == rows
