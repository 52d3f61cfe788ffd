"""Experiments of ragas over a data set of its own, one for each model, as its backend of CSV keeps them."""

import asyncio
import os
import sys
from pathlib import Path

os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1"}

from ragas import Dataset, experiment
from real.scenario import MODELS, QUESTIONS, export, find, logged, write_truth

folder, version = Path(sys.argv[1]), sys.argv[2]
ASKED = [question for question in QUESTIONS if question not in ("alarm", "blank", "failed", "turns")]


@experiment()
async def run(row, key):
    answer = find(row["id"], key)
    return {
        **row,
        "response": answer.output,
        "helpfulness": answer.scores["helpfulness"],
        "model": answer.model,
    }


async def main():
    for backend in ("csv",):
        asked = Dataset(name="scenario", backend=f"local/{backend}", root_dir=str(folder / backend))
        for name in ASKED:
            asked.append({"id": name, "question": QUESTIONS[name].text, "expected": QUESTIONS[name].expected})
        for name, model in MODELS.items():
            await run.arun(asked, name=model, key=name)


asyncio.run(main())
FIELDS = ["model", "input", "output", "expected", "scores"]
write_truth(
    folder,
    f"ragas {version}: experiments with the local backend of CSV",
    [
        export(
            backend,
            FIELDS,
            files=[f"{backend}/experiments/{m}.{backend}" for m in MODELS.values()],
            questions=ASKED,
            item="id",
        )
        for backend in ("csv",)
    ],
    [entry | {"scores": {"helpfulness": entry["scores"].get("helpfulness")}} for entry in logged()],
)
