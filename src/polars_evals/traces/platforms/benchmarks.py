"""Benchmarks and their harnesses: a layout each, and what they write beside each answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from polars_evals.traces.platforms.base import Record, calling, held, layout, numbers_of, objects, read_object


@layout("""
    openai_evals: OpenAI evals log
    marks: run_id event_id sample_id type data, spec, spec run_id, run_id event_id
    item_id: sample_id  trace_id:  span_id: event_id  parent_id: parent  ts: created_at  model:
    input:  output:  expected:  kind:  error: failed
    input_tokens: usage.prompt_tokens  output_tokens: usage.completion_tokens  scores:  is: spans common
""").unpacked_by
def _openai_evals(record: Record, around: Record) -> Iterator[Record]:
    """Take what an event holds: a sample is asked in one and matched in another."""
    data = held(record, "data")
    kind = record.get("type")
    if "spec" in record:
        around["spec"] = record["spec"]
    spec = held(around, "spec")
    completions = spec.get("completion_fns")
    about = {
        "trace_id": "/".join(str(part) for part in (record.get("run_id"), record.get("sample_id")) if part),
        "model": completions[0] if isinstance(completions, list) and completions else data.get("model"),
    }
    event = record | about
    if kind == "sampling":
        sampled = data.get("sampled")
        sampled = sampled[0] if isinstance(sampled, list) and len(sampled) == 1 else sampled
        given = {"input": data.get("prompt"), "usage": data.get("usage")}
        yield event | given | {"output": sampled, "kind": "llm"}
    elif kind in ("match", "metrics", "cond_logp", "pick_option"):
        found = {"expected": data.get("expected"), "scores": numbers_of(data)}
        yield event | found | {"kind": "chain", "parent": "sampling"}
    elif kind == "error":
        yield event | {"failed": data.get("message") or data.get("error") or "error", "kind": "llm"}


# Arguments of a run that say how it was made, and nothing about the questions.
_RUN = re.compile(
    r"[,:-](?:model|model_deployment|max_train_instances|num_outputs|data_augmentation|groups)=[^,]*"
)


@lru_cache(maxsize=256)
def _scenario(file: str) -> str | None:
    """Name the scenario, without its model: by the run's folder, or by the specification beside the file."""
    path = Path(file)
    name = path.parent.name
    if "=" not in name:
        name = read_object(path.parent / "run_spec.json").get("name") or ""
    return _RUN.sub("", name.replace(":", "-", 1)) or None


@layout(r"""
    helm: HELM scenario state
    marks: instance request result, instance request train_trial_index, request_states
    item_id: item  trace_id: row|hash  ts:  latency_s: took  model:
    input:  output: output|text  expected: expected|references  error:  finish_reason: finish
    is: common several  lists: request_states
    leave_out: /(run_spec|scenario|stats|per_instance_stats|instances|display_requests|
        display_predictions)\.json$
""").unpacked_by
def _helm(record: Record, around: Record) -> Iterator[Record]:
    """Read a request state: its instance is the item, the reference tagged `correct` is expected."""
    instance = held(record, "instance")
    right = [
        held(reference, "output").get("text")
        for reference in objects(instance, "references")
        if "correct" in (reference.get("tags") or []) and isinstance(reference.get("output"), dict)
    ]
    request, result = held(record, "request"), held(record, "result")
    completion = (objects(result, "completions") or [{}])[0]
    said, mapping = completion.get("text"), held(record, "output_mapping")
    if isinstance(said, str):
        said = mapping.get(said.strip(), said)
    item, model = instance.get("id"), request.get("model")
    names = (_scenario(around.get("file", "")), instance.get("split"), item)
    yield {
        "item": "/".join(str(name) for name in names if name) if item else None,
        "row": [item, record.get("train_trial_index"), model, record.get("reference_index")],
        "input": held(instance, "input").get("text") or request.get("prompt"),
        "output": said,
        "expected": right or None,
        "model": model or held(around, "adapter_spec").get("model"),
        "error": result.get("error"),
        "finish": held(completion, "finish_reason").get("reason"),
        "took": result.get("request_time"),
        "ts": result.get("request_datetime"),
    }


_MMLU_PRO = layout("""
    mmlu_pro: MMLU-Pro results
    marks: question options answer answer_index pred
    item_id: question_id  model:  input: question|text  output: pred|text  expected: answer|text
""")


_IFEVAL = layout(
    """
    ifeval: IFEval responses
    item_id: key  model:  input: prompt|text  output: response|text
""",
    shows=lambda names, file: (
        {"prompt", "response"} if {"prompt", "response"} <= {*names} and "input_response_data" in file else ()
    ),
)


@layout("""
    rag_evaluator: results of the RAG evaluator of Azure's samples
    marks: question truth answer context
    item_id: id  latency_s: latency  model:  version:
    input: question|text  output: answer|text  expected: truth|text
    contexts: contexts|contexts  scores:
""").unpacked_by
def _rag_evaluator(record: Record, around: Record) -> Iterator[Record]:
    """Read a result of Azure's RAG evaluator, whose metrics stand beside the answer."""
    context = record.get("context")
    contexts = [context] if isinstance(context, str) else context
    yield record | {"contexts": contexts, "scores": numbers_of(record, "latency", "answer_length")}


_MODEL_ANSWER = layout("""
    model_answer: MT-bench or Arena-Hard answers
    marks: question_id model_id choices, uid model messages tstamp, uid ans_id model messages
    item_id: question_id uid  trace_id: answer_id ans_id  ts: tstamp  model: model_id model
    input: messages[0].content|text
    output: choices[0].turns[-1].content|text choices[0].turns[-1]|text messages[-1].content.answer|text
        messages|chat
""")


@layout(
    """
    swebench: SWE-bench predictions
    marks: instance_id model_patch
    item_id: instance_id  model: model_name_or_path  output: model_patch|text
""",
    shows=lambda names, _: [name for name in names if name.endswith(".model_patch")][:1],
).unpacked_by
def _swebench(record: Record, around: Record) -> Iterator[Record]:
    """Read predictions as rows, or as one object of all instances."""
    if "model_patch" in record:
        yield record
        return
    for name, about in record.items():
        if isinstance(about, dict):
            yield {"instance_id": name} | about


def _parts(file: str) -> list[str]:
    return re.split(r"[/\\]", file)


def _after(parts: list[str], folder: str) -> list[str]:
    """Return the folders below the last folder of a name."""
    inner = parts[:-1]
    return inner[len(inner) - inner[::-1].index(folder) :] if folder in inner else []


@layout("""
    bfcl: BFCL results
    marks: id result input_token_count, id result latency
    item_id: id  latency_s: latency  model:  output: answer|text
    input_tokens: input_token_count  output_tokens: output_token_count  tool_calls: calls|calls
""").unpacked_by
def _bfcl(record: Record, around: Record) -> Iterator[Record]:
    """Read a BFCL result: a text, or calls as `{name: arguments}`; the model is the folder."""
    said = record.get("result")
    calls = [
        {"name": name, "arguments": arguments}
        for call in objects(record, "result")
        for name, arguments in call.items()
    ]
    parts = _parts(around.get("file", ""))
    folders = _after(parts, "result") or parts[-2:-1]
    yield record | {
        # Turns of several steps are lists of lists.
        "answer": said if isinstance(said, str) else json.dumps(said) if said and not calls else None,
        "calls": calling(calls),
        "model": record.get("model") or (folders[0] if folders else None),
    }


@layout("""
    tau_bench: tau-bench trajectories
    marks: task_id traj reward, task_id messages reward_info, task_id messages termination_reason
    item_id: task_id  trace_id: id  ts: start_time timestamp  latency_s: duration  model: agent
    input: info.task.instruction|text  output: traj|said messages|said
    cost: agent_cost  tool_calls: traj|calls messages|calls  lists: simulations
""").unpacked_by
def _tau_bench(record: Record, around: Record) -> Iterator[Record]:
    """Give a simulation of tau2-bench the model of its run."""
    agent = held(held(around, "info"), "agent_info")
    yield {"agent": agent.get("llm")} | record


@layout("""
    lighteval: lighteval details
    marks: doc metric model_response
    item_id: item  ts:  model:  input: input|text  output: answer|text  expected: expected|references
    scores:  is: several
""").unpacked_by
def _lighteval(record: Record, around: Record) -> Iterator[Record]:
    """Read a detail of lighteval: the task and the document are the item, the folders the model."""
    doc, said = held(record, "doc"), held(record, "model_response")
    choices, gold = doc.get("choices") or [], doc.get("gold_index")
    golds = gold if isinstance(gold, list) else [gold]
    right = [choices[place] for place in golds if isinstance(place, int) and place < len(choices)]
    folders = _after(_parts(around.get("file", "")), "details")
    texts = said.get("text") or []
    yield {
        "item": f"{doc.get('task_name')}/{doc.get('id')}",
        "model": "/".join(folders[:-1]) or None,
        "ts": re.sub(r"T(\d+)-(\d+)-", r"T\1:\2:", folders[-1]) if folders else None,
        "input": doc.get("query"),
        "answer": texts[0] if texts else None,
        "expected": right or None,
        "scores": record.get("metric"),
    }


_EVERY_EVAL_EVER = layout("""
    every_eval_ever: Every Eval Ever samples
    marks: evaluation_id sample_id model_id input output
    item_id: sample_id  model: model_id
    input: input.raw|text  output: output.raw[0]|text output.raw|text
    expected: input.reference|references
    input_tokens: token_usage.input_tokens  output_tokens: token_usage.output_tokens
""")


_ALPACA_EVAL = layout("""
    alpaca_eval: AlpacaEval outputs
    marks: instruction output generator, instruction output_1 output_2, instruction output dataset
    item_id: instruction|item  model: generator generator_2  version:
    input: instruction|text  output: output|text output_2|text
    expected: expected|text reference|text output_1|text  is: common
""")


BENCHMARKS = (
    *(_openai_evals, _helm, _MMLU_PRO, _IFEVAL, _rag_evaluator, _MODEL_ANSWER, _swebench, _bfcl, _tau_bench),
    *(_lighteval, _EVERY_EVAL_EVER, _ALPACA_EVAL),
)
