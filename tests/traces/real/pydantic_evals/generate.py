"""Reports of pydantic-evals, one for each model, as its adapter writes them."""

import sys
from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected, Evaluator
from pydantic_evals.reporting import EvaluationReportAdapter
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, find, logged, write_truth

folder, version = Path(sys.argv[1]), sys.argv[2]
ASKED = [question for question in QUESTIONS if question not in ("alarm", "turns")]
# Without the lines of this machine's files, which failures store.
sys.tracebacklimit = 0


class Helpfulness(Evaluator):
    def evaluate(self, ctx):
        return {"helpfulness": find(ctx.name, ctx.metadata["version"]).scores["helpfulness"]}


class Human(Evaluator):
    def evaluate(self, ctx):
        return {"human": bool(find(ctx.name, ctx.metadata["version"]).scores["human"])}


for name, model in MODELS.items():
    cases = [
        Case(
            name=question.id,
            inputs=question.text,
            expected_output=question.expected,
            metadata={"version": name},
        )
        for question in QUESTIONS.values()
        if question.id in ASKED
    ]
    dataset = Dataset(name="scenario", cases=cases, evaluators=[EqualsExpected(), Helpfulness(), Human()])
    answers = {QUESTIONS[a.question].text: a for a in ANSWERS if a.version == name}

    def assistant(question, answers=answers):
        answer = answers[question]
        if answer.error:
            raise RuntimeError(answer.error)
        return answer.output

    report = dataset.evaluate_sync(assistant, name=model, progress=False)
    text = EvaluationReportAdapter.dump_json(report, indent=2)
    (folder / f"{model}.json").write_bytes(text)

files = [f"{model}.json" for model in MODELS.values()]
FIELDS = ["model", "input", "output", "expected", "error", "scores"]
write_truth(
    folder,
    f"pydantic-evals {version} with a function",
    [export("reports", FIELDS, files=files, questions=ASKED, item="id")],
    logged(cost=None, contexts=[], finish_reason=None, tool_calls=[], input_tokens=None, output_tokens=None),
)
