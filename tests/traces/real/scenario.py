"""What every generator logs: a dozen questions, asked of two models, with known right and wrong answers.

The generators run inside environments of their own, so this file needs nothing but Python.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

MODELS = {"v1": "acme-small-1", "v2": "acme-small-2"}


@dataclass(frozen=True)
class Question:
    """One question: its messages, what should come, and what a retriever finds for it."""

    id: str
    messages: tuple[dict[str, str], ...]
    expected: str | None
    contexts: tuple[str, ...] = ()
    tool_result: str | None = None

    @property
    def text(self) -> str:
        """The last thing that the user says."""
        return self.messages[-1]["content"]


@dataclass(frozen=True)
class Answer:
    """One answer of one model; a failed call has an error and no output, a mere tool call no output."""

    question: str
    version: str
    output: str | None
    error: str | None = None
    finish_reason: str | None = "stop"
    tool_calls: tuple[dict[str, str], ...] = ()
    reasoning: str | None = None
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost: float | None = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model's name."""
        return MODELS[self.version]


def _user(text: str) -> tuple[dict[str, str], ...]:
    return ({"role": "user", "content": text},)


QUESTIONS = {
    question.id: question
    for question in (
        Question("capital", _user("What is the capital of France?"), "Paris"),
        Question("arabic", _user("ما هي عاصمة مصر؟ 🐪"), "القاهرة"),
        Question("lines", _user("Write two lines.\nNothing else."), "Ruß und Maß\n\tnaïve — 日本語"),
        Question("json", _user('Return JSON, for {"a": 1}.'), '{"a" :  1,"b":[1, 2 ]}'),
        Question("quote", _user('Repeat, with the quotes: "Hello"'), '"Hello"'),
        Question("blank", _user("Say nothing."), "(silence)"),
        Question("failed", _user("What is six times seven?"), "42"),
        Question("long", _user("Tell a story."), "Once upon a time there was a model that stopped."),
        Question("weather", _user("How warm is it in Zürich?"), "12 °C", tool_result="12"),
        Question("alarm", _user("Wake me at seven."), None),
        Question(
            "report",
            _user("Who wrote the report?"),
            "Ada Lovelace",
            contexts=("The report was written by Ada Lovelace.", "Grace Hopper read it.\nTwice."),
        ),
        Question(
            "turns",
            (
                {"role": "system", "content": "Answer in one word."},
                {"role": "user", "content": "Which planet is the largest?"},
                {"role": "assistant", "content": "Jupiter"},
                {"role": "user", "content": "And the smallest?"},
            ),
            "Mercury",
        ),
    )
}


def _call(name: str, **arguments: str) -> tuple[dict[str, str], ...]:
    return ({"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},)


_ANSWERS = (
    Answer("capital", "v1", "Paris", reasoning="France's seat of government is Paris."),
    Answer("arabic", "v1", "القاهرة"),
    Answer("lines", "v1", "Ruß und Maß\n\tnaïve — 日本語"),
    Answer("json", "v1", '{"a" :  1,"b":[1, 2 ]}'),
    Answer("quote", "v1", '"Hello"'),
    Answer("blank", "v1", ""),
    Answer("failed", "v1", "42"),
    Answer("long", "v1", "Once upon a time there was a", finish_reason="length"),
    Answer("weather", "v1", "12 °C", tool_calls=_call("get_weather", city="Zürich")),
    Answer("alarm", "v1", None, finish_reason="tool_calls", tool_calls=_call("set_alarm", time="07:00")),
    Answer("report", "v1", "Ada Lovelace"),
    Answer("turns", "v1", "Mercury"),
    Answer("capital", "v2", "Paris"),
    Answer("arabic", "v2", "الجيزة 🇪🇬"),
    Answer("lines", "v2", "Ruß\n\nund\n"),
    Answer("json", "v2", '{"a": 1, "b": [1]}'),
    Answer("quote", "v2", "Goodbye"),
    Answer("blank", "v2", "(silence)"),
    Answer("failed", "v2", None, error="Error 400: the prompt was refused", finish_reason=None),
    Answer("long", "v2", "Once upon a time there was a model that stopped."),
    Answer("weather", "v2", "21 °C", tool_calls=_call("get_weather", city="Zug")),
    Answer("alarm", "v2", None, finish_reason="tool_calls", tool_calls=_call("set_alarm", time="19:00")),
    Answer("report", "v2", "Grace Hopper"),
    Answer("turns", "v2", "Mercury"),
)


def _measured(place: int, answer: Answer) -> Answer:
    """Give an answer tokens, a price and scores that tell it from all others; a failed call has none."""
    if answer.error is not None:
        return replace(answer, input_tokens=None, output_tokens=None, cost=None)
    return replace(
        answer,
        input_tokens=100 + place,
        output_tokens=10 + place,
        cost=round(0.001 + place / 10_000, 6),
        scores={"helpfulness": round(place / 32, 5), "human": float(place % 2)},
    )


ANSWERS = tuple(_measured(place, answer) for place, answer in enumerate(_ANSWERS))


def find(question: str, version: str) -> Answer:
    """Return the answer of a version to a question."""
    return next(a for a in ANSWERS if (a.question, a.version) == (question, version))


def reply(messages: Sequence[Mapping[str, Any]], model: str) -> Answer:
    """Return what a model says to messages: how a fake of a chat endpoint looks its answer up."""
    asked = [m["content"] for m in messages if m["role"] == "user"][-1]
    version = next(version for version, name in MODELS.items() if name == model)
    return find(next(q.id for q in QUESTIONS.values() if q.text == asked), version)


def logged(answers: Iterable[Answer] = ANSWERS, **changes: Any) -> list[dict[str, Any]]:
    """Turn answers into entries of `truth.json`; `changes` replace fields of all of them."""
    entries = []
    for answer in answers:
        question = QUESTIONS[answer.question]
        entry = asdict(answer) | {
            "model": answer.model,
            "input": question.text,
            "expected": question.expected,
            "contexts": list(question.contexts),
        }
        entries.append(entry | changes)
    return entries


def pass_rates(entries: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Count, for each version, the answers that can be judged and those that are as expected."""
    rates: dict[str, dict[str, int]] = {}
    for entry in entries:
        rate = rates.setdefault(entry["version"], {"judged": 0, "passed": 0})
        if entry["output"] is not None and entry["expected"] is not None:
            rate["judged"] += 1
            rate["passed"] += entry["output"] == entry["expected"]
    return rates


def export(
    name: str,
    fields: Sequence[str],
    *,
    files: Sequence[str] = (),
    questions: Sequence[str] | None = None,
    epochs: int = 1,
    item: str = "question",
    others: Mapping[str, int] | None = None,
    note: str = "",
    **changes: Any,
) -> dict[str, Any]:
    """Describe one export.

    Parameters
    ----------
    name
        What the export is called: its file or folder, relative to `truth.json`, unless `files` lists them.
    fields
        The columns that it holds. Others are not in it.
    files
        Files that make one export together.
    questions
        The questions that it holds, where these are not all that were logged.
    epochs
        How often each question was asked.
    item
        What names an item: `id` where the ids of the scenario stand in the export, else `question`.
    others
        The records that are no answers, by kind, where one answer is one row.
    note
        Anything that a reader of the export should know.
    changes
        Fields that all answers of this export share, against what was logged.
    """
    described: dict[str, Any] = {"name": name, "files": list(files) or [name], "fields": list(fields)}
    described["epochs"] = epochs
    described |= {"item": item, "others": dict(others or {}), "note": note, "changes": changes}
    if questions is not None:
        described["questions"] = list(questions)
    return described


def held(described: Mapping[str, Any], answers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers that an export holds, of all that were logged."""
    questions = described.get("questions", QUESTIONS)
    epochs = described["epochs"]
    return [
        {**answer, **described["changes"]}
        for answer in answers
        if answer["question"] in questions and answer.get("epoch", 1) <= epochs
    ]


def write_truth(
    folder: Path,
    made_by: str,
    exports: Sequence[dict[str, Any]],
    answers: Sequence[Mapping[str, Any]],
) -> None:
    """Write `truth.json`: what was logged, and what each export of it holds."""
    for described in exports:
        rows = held(described, answers)
        described["rows"] = len(rows)
        described["pass_rates"] = pass_rates(rows)
    head = {"tool": folder.parent.name, "version": folder.name, "made_by": made_by}
    head["python"] = platform.python_version()
    lists = {"exports": exports, "answers": answers}
    parts = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    for name, entries in lists.items():
        lines = ",\n ".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        parts.append(f"{json.dumps(name)}: [\n {lines}\n]")
    (folder / "truth.json").write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
