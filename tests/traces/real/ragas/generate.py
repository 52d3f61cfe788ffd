"""Ragas' evaluation data sets, as it writes them: JSON lines, CSV, and a frame as Parquet."""

import os
import sys
from pathlib import Path

os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1"}

from ragas import EvaluationDataset, SingleTurnSample
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
ASKED = [question for question in QUESTIONS if question not in ("failed", "alarm")]
for version in ("v1", "v2"):
    samples = [
        SingleTurnSample(
            user_input=QUESTIONS[answer.question].text,
            response=answer.output,
            reference=QUESTIONS[answer.question].expected,
            retrieved_contexts=list(QUESTIONS[answer.question].contexts),
        )
        for answer in ANSWERS
        if answer.version == version and answer.question in ASKED
    ]
    for kind in ("jsonl", "csv", "parquet"):
        (folder / kind).mkdir(exist_ok=True)
    told = EvaluationDataset(samples)
    told.to_jsonl(folder / "jsonl" / f"{version}.jsonl")
    told.to_pandas().to_parquet(folder / "parquet" / f"{version}.parquet")
    # A CSV cannot tell a blank answer from none.
    EvaluationDataset([sample for sample in samples if sample.response]).to_csv(
        folder / "csv" / f"{version}.csv"
    )

FIELDS = ["input", "output", "expected"]
write_truth(
    folder,
    "ragas 0.4.3: EvaluationDataset.to_jsonl, to_csv, to_pandas",
    [
        export("jsonl", [*FIELDS, "contexts"], questions=ASKED, note="a file for each version"),
        export("parquet", [*FIELDS, "contexts"], questions=ASKED, note="a file for each version"),
        export("csv", FIELDS, questions=[q for q in ASKED if q != "blank"], note="a file for each version"),
    ],
    logged(scores={}, finish_reason=None, input_tokens=None, output_tokens=None, cost=None, tool_calls=[]),
)
