"""DeepEval's test cases, saved by its data set as JSON, JSON lines and CSV."""

import os
import sys
from pathlib import Path

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "ERROR_REPORTING": "NO"}

import json

from deepeval.dataset import EvaluationDataset
from deepeval.test_case import LLMTestCase, ToolCall
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
ASKED = [question for question in QUESTIONS if question not in ("failed", "alarm")]
for version in ("v1", "v2"):
    cases = []
    for answer in ANSWERS:
        question = QUESTIONS[answer.question]
        if answer.version != version or question.id not in ASKED:
            continue
        called = [
            ToolCall(name=call["name"], input_parameters=json.loads(call["arguments"]))
            for call in answer.tool_calls
        ]
        cases.append(
            LLMTestCase(
                input=question.text,
                actual_output=answer.output,
                expected_output=question.expected,
                retrieval_context=list(question.contexts) or None,
                tools_called=called or None,
                token_cost=answer.cost,
                completion_time=0.25,
                name=question.id,
            )
        )
    data = EvaluationDataset()
    for case in cases:
        data.add_test_case(case)
    for kind in ("json", "jsonl"):
        data.save_as(kind, directory=str(folder / kind), file_name=version, include_test_cases=True)
    # A CSV cannot tell a blank answer from none.
    told = EvaluationDataset()
    for case in cases:
        if case.actual_output:
            told.add_test_case(case)
    told.save_as("csv", directory=str(folder / "csv"), file_name=version, include_test_cases=True)

FIELDS = ["input", "output", "expected"]
write_truth(
    folder,
    "deepeval 4.3.1: EvaluationDataset.save_as with test cases",
    [
        export("json", [*FIELDS, "contexts"], questions=ASKED, note="a file for each version"),
        export("jsonl", [*FIELDS, "contexts"], questions=ASKED, note="a file for each version"),
        export("csv", FIELDS, questions=[q for q in ASKED if q != "blank"], note="a file for each version"),
    ],
    logged(scores={}, finish_reason=None, input_tokens=None, output_tokens=None, cost=None),
)
