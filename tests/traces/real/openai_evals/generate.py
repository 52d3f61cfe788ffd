"""OpenAI evals: the logs that `oaieval` records, of two completion functions on the suite `Match`."""

import json
import os
import sys
from pathlib import Path

os.environ |= {"EVALS_SEQUENTIAL": "1", "EVALS_SHOW_EVAL_PROGRESS": "0", "OPENAI_API_KEY": "none"}

from evals.api import CompletionResult
from evals.cli.oaieval import get_parser, run
from evals.record import record_sampling
from evals.registry import Registry
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, logged, reply, write_truth

folder = Path(sys.argv[1])


class Said(CompletionResult):
    def __init__(self, text):
        self.text = text

    def get_completions(self):
        return [self.text]


class Assistant:
    """A completion function, as the package's own: it records what it was asked and what it said."""

    version = "v1"

    def __init__(self, **_options):
        pass

    def __call__(self, prompt, **_options):
        answer = reply(prompt, MODELS[self.version])
        usage = {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens}
        record_sampling(prompt=prompt, sampled=[answer.output], model=answer.model, usage=usage)
        return Said(answer.output)


class Newer(Assistant):
    version = "v2"


# A call that fails ends a run, and tools have no place in a log.
ASKED = [question for question in QUESTIONS if question not in ("alarm", "report", "failed", "weather")]


def matches(entry):
    """What `Match` calls correct."""
    return entry["output"].startswith(entry["expected"])


def main():
    registry = Path("registry")
    (registry / "evals").mkdir(parents=True)
    (registry / "completion_fns").mkdir()
    samples = Path("samples.jsonl").absolute()
    rows = [{"input": list(QUESTIONS[q].messages), "ideal": QUESTIONS[q].expected} for q in ASKED]
    samples.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    named = "questions:\n  id: questions.dev.v0\n  metrics: [accuracy]\nquestions.dev.v0:\n"
    options = f"  class: evals.elsuite.basic.match:Match\n  args:\n    samples_jsonl: {samples}\n"
    (registry / "evals" / "questions.yaml").write_text(named + options)
    functions = (f"{MODELS[c.version]}:\n  class: generate:{c.__name__}\n" for c in (Assistant, Newer))
    (registry / "completion_fns" / "assistant.yaml").write_text("".join(functions))
    for version, model in MODELS.items():
        asked = [model, "questions", "--record_path", str(folder / f"{version}.jsonl"), "--no-cache"]
        asked += ["--registry_path", str(registry)]
        run(get_parser().parse_args(asked), Registry())
    answers = logged(
        (answer for answer in ANSWERS if answer.question in ASKED), cost=None, contexts=[], finish_reason=None
    )
    fields = ["scores", "model", "input", "output", "expected", "input_tokens", "output_tokens"]
    write_truth(
        folder,
        "evals 3.0.1.post1 with completion functions of its own",
        [export("logs", fields, files=["v1.jsonl", "v2.jsonl"], questions=ASKED)],
        [entry | {"scores": {"correct": float(matches(entry))}} for entry in answers],
    )


if __name__ == "__main__":
    main()
