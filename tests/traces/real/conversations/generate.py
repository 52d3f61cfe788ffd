"""Data sets of conversations, in the two layouts that training files have, and AlpacaEval's model outputs."""

import json
import sys
from pathlib import Path

import polars as pl
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
NAMES = {"system": "system", "user": "human", "assistant": "gpt"}
ASKED = [question for question in QUESTIONS if question not in ("failed", "alarm")]
asked = [answer for answer in ANSWERS if answer.question in ASKED]


def talk(answer):
    return [*QUESTIONS[answer.question].messages, {"role": "assistant", "content": answer.output}]


messages = [{"id": f"{a.question}", "model": a.model, "messages": talk(a)} for a in asked]
(folder / "messages.jsonl").write_text(
    "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in messages)
)
pl.DataFrame(messages).write_parquet(folder / "messages.parquet")
shared = [
    {
        "id": row["id"],
        "model": row["model"],
        "conversations": [{"from": NAMES[m["role"]], "value": m["content"]} for m in row["messages"]],
    }
    for row in messages
]
(folder / "sharegpt.json").write_text(json.dumps(shared, ensure_ascii=False, indent=2))
(folder / "alpaca_eval").mkdir()
for version, model in MODELS.items():
    outputs = [
        {
            "dataset": "fixtures",
            "instruction": QUESTIONS[a.question].text,
            "output": a.output,
            "generator": model,
        }
        for a in asked
        if a.version == version
    ]
    (folder / "alpaca_eval" / f"{model}.json").write_text(json.dumps(outputs, ensure_ascii=False, indent=2))

FIELDS = ["model", "input", "output"]
empty = {
    "expected": None,
    "contexts": [],
    "tool_calls": [],
    "scores": {},
    "finish_reason": None,
    "input_tokens": None,
    "output_tokens": None,
    "cost": None,
}
write_truth(
    folder,
    "no tool: the layouts of chat training files, and of AlpacaEval's model_outputs.json",
    [
        export("messages.jsonl", FIELDS, questions=ASKED, item="id"),
        export("messages.parquet", FIELDS, questions=ASKED, item="id"),
        export("sharegpt.json", FIELDS, questions=ASKED, item="id"),
        export("alpaca_eval", FIELDS, questions=ASKED),
    ],
    [entry | {"id": entry["question"]} for entry in logged(**empty)],
)
