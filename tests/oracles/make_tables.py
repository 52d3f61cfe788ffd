"""Write what packages say that are too heavy for the test environment: python tests/oracles/make_tables.py.

It needs agentevals (it brings langchain-core and openai), autoevals and ir-measures in the environment that
runs it.
"""

import json
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def write(name: str, package: str, rows: list[dict[str, Any]]) -> None:
    lines = [{"package": package, "version": version(package)}, *rows]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    HERE.joinpath(name).write_text(text, "utf-8")


def tool_calls() -> list[dict[str, Any]]:
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    rng = random.Random(1)
    kinds = [{"name": name, "arguments": {"x": x}} for name in "fg" for x in (1, 2)]

    def trajectory(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        functions = [
            {"id": "", "type": "function", "function": call | {"arguments": json.dumps(call["arguments"])}}
            for call in calls
        ]
        # A message for each call: within a message, agentevals takes calls for parallel, in any order.
        calls = [{"role": "assistant", "content": "", "tool_calls": [function]} for function in functions]
        return [{"role": "user", "content": "q"}, *calls, {"role": "assistant", "content": "done"}]

    rows = []
    for number in range(80):
        # The last ones have no calls on one side or on both.
        least = 1 if number < 60 else 0
        output = rng.choices(kinds, k=rng.randint(least, 3))
        expected = rng.choice([rng.sample(output, len(output)), rng.choices(kinds, k=rng.randint(least, 3))])
        if number >= 76:
            output, expected = ([], kinds[:2]) if number % 2 else (kinds[:2], [])
        for mode in ("strict", "unordered", "subset", "superset"):
            for ours, theirs in {"exact": "exact", "names": "ignore", "subset": "superset"}.items():
                evaluate = create_trajectory_match_evaluator(
                    trajectory_match_mode=mode, tool_args_match_mode=theirs
                )
                result = evaluate(outputs=trajectory(output), reference_outputs=trajectory(expected))
                asked = {"mode": mode, "arguments": ours, "score": float(result["score"])}
                rows.append({"output": output, "expected": expected} | asked)
    return rows


def messages() -> list[dict[str, Any]]:
    """A call of f with x = 1 as the packages of LangChain and OpenAI write it, and answers without any."""
    from langchain_core.load import dumps
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_to_dict
    from langchain_core.outputs import ChatGeneration, LLMResult
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    blocks = [{"type": "text", "text": ""}, {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}]
    asks = AIMessage(content=blocks, tool_calls=[{"name": "f", "args": {"x": 1}, "id": "t"}])
    talk = [HumanMessage("q"), asks, ToolMessage("r", tool_call_id="t", name="f"), AIMessage("done")]
    call = {"name": "f", "arguments": '{"x": 1}'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": call}],
    }
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    chat = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    items = [
        {"type": "reasoning", "id": "1", "summary": []},
        {"type": "function_call", "call_id": "1", "id": "2", "status": "completed", **call},
    ]
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True}
    response |= {
        "tool_choice": "auto",
        "tools": [{"type": "function", "name": "g", "parameters": {}, "strict": True}],
    }
    texts = {
        "dumps": dumps(asks),
        "dumps of a conversation": dumps(talk),
        "model_dump": asks.model_dump_json(),
        "messages_to_dict": json.dumps(messages_to_dict(talk)),
        "dumps of a generation": dumps(ChatGeneration(message=asks)),
        "LLMResult": LLMResult(generations=[[ChatGeneration(message=asks)]]).model_dump_json(),
        "a state": json.dumps({"messages": [one.model_dump() for one in talk]}),
        "ChatCompletion": ChatCompletion.model_validate(chat).model_dump_json(),
        "Response": Response.model_validate(response | {"output": items}).model_dump_json(),
    }
    without = {
        "dumps without a call": dumps(AIMessage("hi")),
        "Response without a call": Response.model_validate(
            response | {"output": items[:1]}
        ).model_dump_json(),
    }
    return [
        {"what": what, "text": text, "calls": calls}
        for found, calls in ((texts, 1), (without, 0))
        for what, text in found.items()
    ]


def json_fields() -> list[dict[str, Any]]:
    """Where the definitions meet: flat objects whose leaves are equal or have nothing in common."""
    from autoevals.json import JSONDiff

    rng = random.Random(2)
    rows = []
    for _ in range(100):
        expected = {key: rng.choice(["aa", "bb"]) for key in "klmn"[: rng.randint(1, 4)]}
        output = {key: rng.choice([value, "zz"]) for key, value in expected.items()}
        rows.append({"output": output, "expected": expected, "score": JSONDiff()(output, expected).score})
    return rows


def retrieval() -> list[dict[str, Any]]:
    import ir_measures
    from ir_measures import RR, P, R, nDCG

    rng = random.Random(3)
    rows = []
    for _ in range(120):
        ids = [f"d{n}" for n in range(20)]
        output, expected = rng.sample(ids, rng.randint(1, 15)), rng.sample(ids, rng.randint(1, 6))
        run = {"q": {one: float(len(output) - place) for place, one in enumerate(output)}}
        measures = [measure @ k for k in (1, 3, 10) for measure in (R, P, nDCG)]
        found = ir_measures.calc_aggregate([*measures, RR], {"q": dict.fromkeys(expected, 1)}, run)
        scores = {str(measure): value for measure, value in found.items()}
        rows.append({"output": output, "expected": expected, "scores": scores})
    return rows


if __name__ == "__main__":
    write("tool_calls.jsonl", "agentevals", tool_calls())
    write("messages.jsonl", "langchain-core", messages())
    write("json_fields.jsonl", "autoevals", json_fields())
    write("retrieval.jsonl", "ir-measures", retrieval())
