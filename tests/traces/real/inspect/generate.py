"""Inspect with its mock model: two tasks whose sample ids both start at 1, two models, two epochs."""

import json
import shutil
import sys
from pathlib import Path

import inspect_ai.model._model
from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.analysis import EvalModel, EvalTask, SampleColumn, SampleSummary, samples_df
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, mean, scorer
from inspect_ai.solver import generate, solver
from inspect_ai.tool import tool
from real.endpoint import calls
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, find, logged, reply, write_truth

folder = Path(sys.argv[1])
TASKS = {
    "facts": ("capital", "arabic", "failed", "weather", "alarm", "report", "turns"),
    "forms": ("lines", "json", "quote", "blank", "long"),
}
MESSAGES = {"user": ChatMessageUser, "system": ChatMessageSystem, "assistant": ChatMessageAssistant}


async def no_tokens(*_, **__):
    return 1


# Counting tokens would download an encoding.
inspect_ai.model._model.ModelAPI.count_tokens = no_tokens
inspect_ai.model._model.ModelAPI.count_text_tokens = no_tokens


def model_of(version):
    """A mock that answers as the scenario says, and calls the tool first where there is one."""

    def say(messages, _tools, _choice, _config):
        asked = [{"role": m.role, "content": m.text} for m in messages]
        answer = reply(asked, MODELS[version])
        if answer.error:
            raise RuntimeError(answer.error)
        name = f"mockllm/{MODELS[version]}"
        tokens = [answer.input_tokens, answer.output_tokens]
        called = [call["function"] for call in calls(answer)]
        if called and messages[-1].role != "tool":
            arguments = json.loads(called[0]["arguments"])
            output = ModelOutput.for_tool_call(name, called[0]["name"], arguments, content="")
            if answer.output is not None:
                tokens = [8, 3]
        else:
            content = answer.output
            if answer.reasoning:
                content = [ContentReasoning(reasoning=answer.reasoning), ContentText(text=content)]
            reason = {"length": "max_tokens"}.get(answer.finish_reason, answer.finish_reason)
            output = ModelOutput.from_content(name, content, stop_reason=reason)
            if called:
                tokens = [tokens[0] - 8, tokens[1] - 3]
        usage = ModelUsage(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens))
        output.usage = usage
        return output

    return get_model(f"mockllm/{MODELS[version]}", custom_outputs=say, memoize=False)


@tool
def get_weather():
    async def execute(city: str):
        """Say how warm it is.

        Args:
            city: Where.
        """
        return "12"

    return execute


@tool
def set_alarm():
    async def execute(time: str):
        """Set an alarm.

        Args:
            time: When.
        """
        return "done"

    return execute


@solver
def answering():
    loop, once = generate(tool_calls="loop"), generate(tool_calls="none")

    async def solve(state, generating):
        asks = state.metadata["question"]
        state.tools = {"weather": [get_weather()], "alarm": [set_alarm()]}.get(asks, [])
        return await (once if asks == "alarm" else loop)(state, generating)

    return solve


def logged_score(name):
    """A scorer that says what the scenario says."""

    @scorer(metrics=[mean()], name=name)
    def made():
        async def score(state, _target):
            version = next(v for v, model in MODELS.items() if state.model.name == model)
            return Score(value=find(state.metadata["question"], version).scores[name], explanation="so it is")

        return score

    return made()


@scorer(metrics=[accuracy()])
def correct():
    async def score(state, target):
        return Score(value=CORRECT if state.output.completion == target.text else INCORRECT)

    return score


def task_of(name, epochs):
    samples = [
        Sample(
            id=place,
            input=[MESSAGES[m["role"]](content=m["content"]) for m in QUESTIONS[question].messages]
            if len(QUESTIONS[question].messages) > 1
            else QUESTIONS[question].text,
            target=QUESTIONS[question].expected or "",
            metadata={"question": question},
        )
        for place, question in enumerate(TASKS[name], 1)
    ]
    scorers = [logged_score("helpfulness"), logged_score("human"), correct()]
    return Task(dataset=samples, solver=answering(), scorer=scorers, name=name, epochs=epochs)


def evaluate(log_format, tasks, epochs):
    for version in MODELS:
        run(
            [task_of(name, epochs) for name in tasks],
            model=model_of(version),
            log_dir=log_format,
            log_format=log_format,
            display="none",
            max_samples=1,
            fail_on_error=False,
            log_model_api=False,
            log_images=False,
        )


evaluate("eval", TASKS, 2)
evaluate("json", ["forms"], 1)
COLUMNS = [
    *SampleSummary,
    *EvalModel,
    *EvalTask,
    SampleColumn("output", path="output.choices[0].message.content", full=True),
    SampleColumn("stop_reason", path="output.choices[0].stop_reason", full=True),
]
samples_df("eval", columns=COLUMNS, quiet=True).to_parquet(folder / "samples.parquet")
for made in ("eval", "json"):
    shutil.copytree(made, folder / made, ignore=shutil.ignore_patterns(".*"))

answers = []
for answer in ANSWERS:
    right = float((answer.output or "") == (QUESTIONS[answer.question].expected or ""))
    entry = logged([answer], contexts=[], cost=None)[0]
    entry["model"] = f"mockllm/{answer.model}"
    entry["task"] = next(task for task, questions in TASKS.items() if answer.question in questions)
    entry["id"] = TASKS[entry["task"]].index(answer.question) + 1
    entry["finish_reason"] = {"length": "max_tokens"}.get(answer.finish_reason, answer.finish_reason)
    if answer.error is None:
        entry["scores"] = {**answer.scores, "correct": right}
    answers += [entry | {"epoch": epoch} for epoch in (1, 2)]

FIELDS = [
    "model",
    "input",
    "output",
    "expected",
    "error",
    "latency_ms",
    "input_tokens",
    "output_tokens",
    "scores",
]
write_truth(
    folder,
    "inspect_ai with mockllm, two tasks, two models, two epochs",
    [
        export("eval", [*FIELDS, "finish_reason", "tool_calls"], item="id", epochs=2),
        export("json", [*FIELDS, "finish_reason", "tool_calls"], item="id", questions=TASKS["forms"]),
        export("samples.parquet", [*FIELDS, "finish_reason"], item="id", epochs=2),
    ],
    answers,
)
