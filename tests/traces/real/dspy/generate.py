"""DSPy's `Evaluate`, with a program over a language model of one's own: its JSON and CSV files."""

import sys
from pathlib import Path

import dspy
from dspy.evaluate import Evaluate
from real.scenario import MODELS, QUESTIONS, export, find, logged, write_truth

folder, version = Path(sys.argv[1]), sys.argv[2]
ASKED = [q for q in QUESTIONS if q not in ("alarm", "turns", "failed", "blank", "weather", "report")]


class Fake(dspy.BaseLM):
    def __init__(self, name):
        super().__init__(model=MODELS[name], cache=False)
        self.name = name

    def forward(self, prompt=None, messages=None, **_):
        asked = messages[-1]["content"] if messages else prompt
        [question] = [q for q in QUESTIONS.values() if f"\n{q.text}\n" in asked]
        text = find(question.id, self.name).output
        return dspy.utils.dummies.dotdict(
            model=self.model,
            usage=dspy.utils.dummies.dotdict(prompt_tokens=1, completion_tokens=1, total_tokens=2),
            choices=[
                dspy.utils.dummies.dotdict(
                    finish_reason="stop",
                    message=dspy.utils.dummies.dotdict(
                        content=f"[[ ## answer ## ]]\n{text}\n\n[[ ## completed ## ]]", tool_calls=None
                    ),
                )
            ],
        )


def exact(example, prediction, _trace=None):
    return example.answer == prediction.answer


examples = [
    dspy.Example(question=QUESTIONS[name].text, answer=QUESTIONS[name].expected).with_inputs("question")
    for name in ASKED
]
for name, model in MODELS.items():
    dspy.configure(lm=Fake(name))
    options = {"devset": examples, "metric": exact, "num_threads": 1, "display_progress": False}
    for ending in ("json", "csv"):
        Evaluate(**options, **{f"save_as_{ending}": str(folder / f"{model}.{ending}")})(
            dspy.Predict("question -> answer")
        )

FIELDS = ["model", "input", "output", "expected"]
write_truth(
    folder,
    f"dspy {version} with a language model of one's own",
    [
        export(ending, FIELDS, files=[f"{m}.{ending}" for m in MODELS.values()], questions=ASKED)
        for ending in ("json", "csv")
    ],
    # DSPy strips the fields that it parses.
    [entry | {"output": entry["output"] and entry["output"].strip()} for entry in logged(scores={})],
)
