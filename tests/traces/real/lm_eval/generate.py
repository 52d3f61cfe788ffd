"""The evaluation harness with a model of our own: a task of texts with two filters, and one of choices."""

import json
import os
import shutil
import sys
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
os.environ["HF_HOME"] = str(Path("cache").absolute())

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, find, logged, write_truth

folder = Path(sys.argv[1])
ASKED = [q for q in QUESTIONS.values() if q.expected is not None and q.id != "failed"]
CHOICES = ("Paris", "Rome", "Mercury", "Ada Lovelace", "Grace Hopper")
CHOSEN = [question for question in ASKED if question.expected in CHOICES]
TEXTS = """
task: open_questions
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/open.jsonl}}}}
output_type: generate_until
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\0"], max_gen_toks: 64}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
filter_list:
  - {{name: strict, filter: [{{function: take_first}}]}}
  - {{name: first-word, filter: [{{function: regex, regex_pattern: '(\\S+)'}}, {{function: take_first}}]}}
"""
PICKED = """
task: multiple_choice_questions
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/choice.jsonl}}}}
output_type: multiple_choice
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{label}}}}"
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""


class Acme(LM):
    """Says what the scenario says, and finds that answer the most likely."""

    def __init__(self, version):
        super().__init__()
        self.version = version

    def said(self, prompt):
        return find(next(q.id for q in ASKED if q.text == prompt), self.version).output

    def generate_until(self, requests, **_):
        return [self.said(request.args[0]) for request in requests]

    def loglikelihood(self, requests, **_):
        scored = []
        for request in requests:
            prompt, choice = request.args
            right = choice.strip() == self.said(prompt)
            scored.append((-0.5 if right else -3.5, right))
        return scored

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError


tasks = Path("tasks").absolute()
tasks.mkdir()
with (tasks / "open.jsonl").open("w") as file:
    file.writelines(json.dumps({"question": q.text, "answer": q.expected}) + "\n" for q in ASKED)
with (tasks / "choice.jsonl").open("w") as file:
    for q in CHOSEN:
        row = {"question": q.text, "choices": list(CHOICES), "label": CHOICES.index(q.expected)}
        file.write(json.dumps(row) + "\n")
(tasks / "open.yaml").write_text(TEXTS.format(folder=tasks))
(tasks / "choice.yaml").write_text(PICKED.format(folder=tasks))

for version, model in MODELS.items():
    tracker = EvaluationTracker(output_path="out")
    results = simple_evaluate(
        model=Acme(version),
        tasks=["open_questions", "multiple_choice_questions"],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        log_samples=True,
        evaluation_tracker=tracker,
        bootstrap_iters=0,
    )
    samples = results.pop("samples")
    tracker.general_config_tracker.model_name_sanitized = f"acme__{model}"
    tracker.save_results_aggregated(results=results, samples=samples)
    for task, of_it in samples.items():
        tracker.save_results_samples(task_name=task, samples=of_it)
    made = folder / "out" / f"acme__{model}"
    made.mkdir(parents=True)
    for file in Path("out").rglob("samples_*.jsonl"):
        if f"acme__{model}" in str(file):
            shutil.copy(file, made)

FILTERS = ("strict", "first-word")
open_answers, chosen = [], []
for answer in ANSWERS:
    entry = logged([answer], contexts=[], tool_calls=[], scores={}, cost=None, finish_reason=None)[0]
    entry |= {"input_tokens": None, "output_tokens": None, "model": f"acme__{answer.model}"}
    if QUESTIONS[answer.question] in ASKED:
        for name in FILTERS:
            words = answer.output.split()
            said = answer.output if name == "strict" else (words[0] if words else "[invalid]")
            open_answers.append(
                entry
                | {
                    "task": "open_questions",
                    "filter": name,
                    "output": said,
                    "scores": {"exact_match": float(said == entry["expected"])},
                }
            )
    if QUESTIONS[answer.question] in CHOSEN:
        right = float(answer.output == entry["expected"])
        chosen.append(
            entry | {"task": "multiple_choice_questions", "filter": "none", "scores": {"acc": right}}
        )

names = [f"out/acme__{model}" for model in MODELS.values()]
FIELDS = ["model", "input", "output", "expected", "scores"]
write_truth(
    folder,
    "lm_eval 0.4.13 with a model class and two tasks of our own",
    [
        export(
            "out",
            FIELDS,
            note="a row for each document and filter; the folder names the model; a choice is its text",
        )
    ],
    open_answers + chosen,
)
