"""promptfoo with a provider of our own in two configurations, which only their labels tell apart."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from real.endpoint import calls
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
binaries = Path(os.environ["FIXTURES_ENVIRONMENT"]) / "node_modules" / ".bin"
SETTINGS = {
    **os.environ,
    "PATH": f"{binaries}:{os.environ['PATH']}",
    "PROMPTFOO_CONFIG_DIR": str(Path("state").absolute()),
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
}
PROVIDER = """
const answers = require('./answers.json');
module.exports = class {
  constructor(options) { this.config = options.config; this.label = options.label; }
  id() { return 'acme'; }
  async callApi(prompt, context) { return answers[this.config.version][context.vars.question]; }
};
"""


def response(answer):
    if answer.error:
        return {"error": answer.error}
    tokens = {"prompt": answer.input_tokens, "completion": answer.output_tokens}
    # As promptfoo's own chat providers: a message without text is its tool calls.
    output = calls(answer) if answer.output is None else answer.output
    return {
        "output": output,
        "tokenUsage": {**tokens, "total": answer.input_tokens + answer.output_tokens},
        "cost": answer.cost,
        "finishReason": answer.finish_reason,
        "metadata": dict(answer.scores),
    }


def test_of(question):
    """One test; every second expected answer is a template that promptfoo fills in."""
    asked = question.text
    if len(question.messages) > 1:
        asked = json.dumps(question.messages, ensure_ascii=False)
    asserts = [
        {"type": "javascript", "metric": name, "value": f"context.providerResponse.metadata.{name}"}
        for name in ("helpfulness", "human")
    ]
    held = {"prompt": asked, "question": question.id}
    if question.expected is not None:
        held["reference"] = question.expected
        rendered = list(QUESTIONS).index(question.id) % 2
        value = "{{reference}}" if rendered else question.expected
        asserts.insert(0, {"type": "equals", "value": value})
    return {"description": f"about {question.id}", "vars": held, "assert": asserts}


def evaluate(*options):
    command = [
        "promptfoo",
        "eval",
        "--no-cache",
        "--no-table",
        "--no-progress-bar",
        "--config",
        "config.json",
    ]
    done = subprocess.run([*command, *options], env=SETTINGS, check=False, capture_output=True, text=True)
    # 100 says that tests failed, as they should.
    if done.returncode not in (0, 100):
        raise RuntimeError(done.stdout + done.stderr)


answers = {version: {} for version in MODELS}
for answer in ANSWERS:
    answers[answer.version][answer.question] = response(answer)
Path("answers.json").write_text(json.dumps(answers))
Path("provider.js").write_text(PROVIDER)
config = {
    "description": "fixtures",
    "prompts": ["{{prompt}}"],
    "providers": [
        {"id": "file://provider.js", "label": model, "config": {"version": version}}
        for version, model in MODELS.items()
    ],
    "tests": [test_of(question) for question in QUESTIONS.values()],
}
Path("config.json").write_text(json.dumps(config))
RESULTS = ("results.jsonl", "results.json", "results.csv")
SOME = ("filtered.jsonl", "filtered.yaml")
FILTERED = ("json", "failed", "report", "turns")
evaluate(*(word for name in RESULTS for word in ("--output", name)))
evaluate("--filter-pattern", "|".join(FILTERED), *(word for name in SOME for word in ("--output", name)))
for name in (*RESULTS, *SOME):
    shutil.copy(name, folder)

for_promptfoo = []
for entry in logged(contexts=[]):
    if entry["output"] is not None:
        entry["tool_calls"] = []
    for_promptfoo.append(entry)
TABLE = ["model", "input", "output", "expected", "error"]
FIELDS = [
    *TABLE,
    "finish_reason",
    "latency_ms",
    "input_tokens",
    "output_tokens",
    "cost",
    "tool_calls",
    "scores",
]
write_truth(
    folder,
    "promptfoo with a custom provider in two configurations",
    [
        export("results.jsonl", FIELDS),
        export("results.json", FIELDS),
        export("results.csv", TABLE, note="a column for each configuration, with its label"),
        *(
            export(name, FIELDS, questions=FILTERED, note="testIdx counts only the tests that ran")
            for name in SOME
        ),
    ],
    for_promptfoo,
)
